package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/outbox"
	"foyer/sale"
)

// foreign is a JSON value that is passed on to somebody else: any text may be in it.
type foreign json.RawMessage

func (f *foreign) UnmarshalJSON(b []byte) error {
	*f = append((*f)[:0], b...)
	return nil
}

// period is a duration as the API writes it: "1m0s", "250ms", "0s".
type period time.Duration

func (p period) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(p).String()) }

// spanOf reads a field of a rule; nil when it was not sent.
func spanOf(field string, sent *json.RawMessage) (*time.Duration, error) {
	if sent == nil {
		return nil, nil
	}
	var text string
	err := json.Unmarshal(*sent, &text)
	d, bad := sale.ParseSpan(text)
	if err != nil || bad != nil {
		return nil, refuse("bad_lane", field+" is "+outbox.Escape(outbox.Clip(string(*sent)))+", but it "+sale.ErrBadSpan.Error()+".")
	}
	return &d, nil
}

// ruleDoc is the rule of a lane.
type ruleDoc struct {
	Interval    period `json:"interval"`
	Concurrency int    `json:"concurrency"`
	Paused      bool   `json:"paused"`
	Attempts    int    `json:"attempts"` // 0 is no limit
	Deadline    period `json:"deadline"` // "0s" is the usual patience
}

func ruleOf(r outbox.Rule) ruleDoc {
	return ruleDoc{period(r.Interval), max(r.Concurrency, 1), r.Paused, r.Attempts, period(r.Deadline)}
}

type laneDoc struct {
	Key        string `json:"key"`
	NextSlot   *stamp `json:"nextSlot"` // null in a paused lane
	QueueCount int    `json:"queueCount"`
	InFlight   int    `json:"inFlight"`
	ruleDoc
}

type taskDoc struct {
	TaskID     uuid.UUID         `json:"taskId"`
	Key        string            `json:"key"`
	State      string            `json:"state"`
	Position   *int              `json:"position,omitempty"`
	DueAt      *stamp            `json:"dueAt,omitempty"`
	CreatedAt  stamp             `json:"createdAt"`
	EndedAt    *stamp            `json:"endedAt,omitempty"`
	Attempts   int               `json:"attempts"`
	LastAnswer string            `json:"lastAnswer,omitempty"`
	ID         string            `json:"id,omitempty"`
	URL        string            `json:"url"` // without user, password and query
	Method     string            `json:"method"`
	Headers    map[string]string `json:"headers,omitempty"` // values that may be secret are "..."
	NotBefore  *stamp            `json:"notBefore,omitempty"`
	ServerTime stamp             `json:"serverTime"`
}

func taskOf(v sale.TaskView) taskDoc {
	d := taskDoc{
		TaskID: v.ID, Key: v.Key, State: v.State, CreatedAt: stamp(v.CreatedAt), EndedAt: stampOf(v.EndedAt), Attempts: v.Attempts,
		LastAnswer: v.LastAnswer, ID: v.Request.ID, URL: v.Request.URL, Method: v.Request.Method, Headers: v.Request.Headers,
		NotBefore: stampAt(v.Request.NotBefore), ServerTime: stamp(v.Now),
	}
	if v.State == sale.TaskWaiting {
		d.Position, d.DueAt = &v.Position, stampOf(v.Due)
	}
	return d
}

func (s *Server) addTask(c echo.Context, _ *sale.Key) error {
	var body struct {
		ID        *string           `json:"id"`
		URL       string            `json:"url"`
		Method    *string           `json:"method"`
		Headers   map[string]string `json:"headers"`
		Body      foreign           `json:"body"`
		NotBefore *time.Time        `json:"notBefore"`
	}
	if err := read(c, &body); err != nil {
		return err
	}
	switch {
	case body.ID != nil && *body.ID == "":
		return refuse("bad_task", "id is empty. Leave it out, or send 1 to 255 bytes.")
	case body.Method != nil && *body.Method == "":
		return refuse("bad_task", "method is empty. Leave it out for POST, or name one.")
	}
	task := sale.TaskRequest{NotBefore: body.NotBefore, Request: outbox.Request{URL: body.URL, Headers: body.Headers, Body: json.RawMessage(body.Body)}}
	put(&task.ID, body.ID)
	put(&task.Method, body.Method)
	v, fresh, err := s.office.AddTask(param(c, "key"), task)
	switch {
	case err != nil:
		return err
	case fresh:
		return write(c, http.StatusAccepted, taskOf(v))
	}
	return write(c, http.StatusOK, taskOf(v))
}

func (s *Server) listTasks(c echo.Context, _ *sale.Key) error {
	n, err := askPage(c)
	if err != nil {
		return err
	}
	after, err := numberCursor(c)
	if err != nil {
		return err
	}
	tasks, next, err := s.office.Tasks(param(c, "key"), after, n)
	if err != nil {
		return err
	}
	var docs []taskDoc
	for _, v := range tasks {
		docs = append(docs, taskOf(v))
	}
	return write(c, http.StatusOK, pageOf(docs, cursorOf(next)))
}

// taskID reads the task of the address; what can be none is not there.
func taskID(c echo.Context) (uuid.UUID, error) {
	id, err := uuid.Parse(param(c, "task"))
	if err != nil {
		return id, sale.ErrNoSuchTask
	}
	return id, nil
}

func (s *Server) showTask(c echo.Context, _ *sale.Key) error {
	id, err := taskID(c)
	if err != nil {
		return err
	}
	v, err := s.office.Task(id)
	if err != nil {
		return err
	}
	return write(c, http.StatusOK, taskOf(v))
}

func (s *Server) cancelTask(c echo.Context, by *sale.Key) error {
	id, err := taskID(c)
	if err != nil {
		return err
	}
	if err := s.office.CancelTask(actor(by), id); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (s *Server) showLane(c echo.Context, _ *sale.Key) error {
	v, err := s.office.Lane(param(c, "key"))
	if err != nil {
		return err
	}
	return write(c, http.StatusOK, laneDoc{v.Key, stampOf(v.Next), v.Waiting, v.InFlight, ruleOf(v.Rule)})
}

// namedRule is the rule of a key or pattern.
type namedRule struct {
	Key string `json:"key"`
	ruleDoc
}

// setLane changes the parts of a rule that are sent.
func (s *Server) setLane(c echo.Context, by *sale.Key) error {
	var body struct {
		Interval    *json.RawMessage `json:"interval"`
		Concurrency *int             `json:"concurrency"`
		Paused      *bool            `json:"paused"`
		Attempts    *int             `json:"attempts"`
		Deadline    *json.RawMessage `json:"deadline"`
	}
	if err := readSome(c, &body); err != nil {
		return err
	}
	interval, err := spanOf("interval", body.Interval)
	if err != nil {
		return err
	}
	deadline, err := spanOf("deadline", body.Deadline)
	if err != nil {
		return err
	}
	key := param(c, "key")
	if err := mayRule(by, key); err != nil {
		return err
	}
	rule, err := s.office.ChangeLane(actor(by), key, func(r *outbox.Rule) {
		put(&r.Interval, interval)
		put(&r.Concurrency, body.Concurrency)
		put(&r.Paused, body.Paused)
		put(&r.Attempts, body.Attempts)
		put(&r.Deadline, deadline)
	})
	if err != nil {
		return err
	}
	return write(c, http.StatusOK, namedRule{key, ruleOf(rule)})
}

// unsetLane takes a rule away.
func (s *Server) unsetLane(c echo.Context, by *sale.Key) error {
	key := param(c, "key")
	if err := mayRule(by, key); err != nil {
		return err
	}
	if err := s.office.UnsetLane(actor(by), key); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// mayRule refuses shops the rules of the house's own lanes.
func mayRule(by *sale.Key, key string) error {
	if by.Role != sale.RoleAdmin && ofTheHouse(key) {
		return refuse("wrong_role", "Messages about orders go in lanes that begin with order: and their rules are for admins; name a pattern of your own keys.")
	}
	return nil
}

// put sets what was sent.
func put[T any](to, sent *T) {
	if sent != nil {
		*to = *sent
	}
}

func (s *Server) listLanes(c echo.Context, _ *sale.Key) error {
	if err := askAll(c); err != nil {
		return err
	}
	rules, err := s.office.LaneRules()
	if err != nil {
		return err
	}
	var docs []namedRule
	for _, r := range rules {
		docs = append(docs, namedRule{r.Pattern, ruleOf(r.Rule)})
	}
	return write(c, http.StatusOK, pageOf(docs, ""))
}

// ofTheHouse tells whether a key or pattern fits the lanes of the house's own
// messages, which are about orders.
func ofTheHouse(key string) bool {
	const own = "order:"
	pattern, many := strings.CutSuffix(key, "*")
	return strings.HasPrefix(key, own) || many && strings.HasPrefix(own, pattern)
}
