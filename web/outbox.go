package web

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"foyer/outbox"
	"foyer/sale"
)

// messageDoc is a message that is not delivered, as staff may see it.
type messageDoc struct {
	ID        string       `json:"id"`
	Topic     string       `json:"topic"`
	Key       string       `json:"key"`
	Sink      string       `json:"sink"` // without user, password and query
	State     outbox.State `json:"state"`
	Attempts  int          `json:"attempts"`
	NextAt    *stamp       `json:"nextAt,omitempty"`
	LastError string       `json:"lastError,omitempty"`
	CreatedAt stamp        `json:"createdAt"`
}

// whyWords say to staff why a lane does not go on.
var whyWords = map[string]string{
	outbox.WhyFailed: "A delivery failed and is tried again.", outbox.WhyPaused: "It is paused.",
	outbox.WhyStopped: "The receiver wants no more (410).", outbox.WhyUnknown: "Its sink is not configured.",
}

func (s *Server) listMessages(c echo.Context, _ *sale.Key) error {
	n, err := askPage(c, "state")
	if err != nil {
		return err
	}
	state, ok := map[string]outbox.State{"": "", "dead": outbox.Dead, "waiting": outbox.Waiting}[c.QueryParam("state")]
	if !ok {
		return refuse("bad_request", `"state" must be dead or waiting.`)
	}
	after, err := numberCursor(c)
	if err != nil {
		return err
	}
	messages, err := s.office.Messages(state, after, n)
	if err != nil {
		return err
	}
	var docs []messageDoc
	for _, m := range messages {
		docs = append(docs, messageDoc{
			m.ID, m.Topic, m.Key, outbox.Mask(m.Sink), m.State, m.Attempts, stampOf(m.NextAt), m.LastError, stamp(m.CreatedAt),
		})
	}
	next := uint64(0)
	if len(messages) == n {
		next = messages[n-1].Seq
	}
	return write(c, http.StatusOK, pageOf(docs, cursorOf(next)))
}

// copyDoc is how a message stands at one sink that does not have it.
type copyDoc struct {
	Sink      string       `json:"sink"` // without user, password and query
	State     outbox.State `json:"state"`
	Running   bool         `json:"running"`
	Attempts  int          `json:"attempts"`
	Position  *int         `json:"position,omitempty"` // how many of its lane go before it
	NextAt    *stamp       `json:"nextAt,omitempty"`   // none in a paused lane
	LastError string       `json:"lastError,omitempty"`
}

func (s *Server) showMessage(c echo.Context, _ *sale.Key) error {
	v, err := s.office.Message(param(c, "message"))
	if err != nil {
		return err
	}
	var copies []copyDoc
	for _, m := range v.Copies {
		d := copyDoc{Sink: outbox.Mask(m.Sink), State: m.State, Attempts: m.Attempts, LastError: m.LastError}
		if m.Standing != nil {
			d.Running, d.Position, d.NextAt = m.Standing.Running, &m.Standing.Position, stampOf(m.Standing.Due)
		}
		copies = append(copies, d)
	}
	return write(c, http.StatusOK, struct {
		ID         string          `json:"id"`
		Topic      string          `json:"topic"`
		Key        string          `json:"key"`
		CreatedAt  stamp           `json:"createdAt"`
		Copies     []copyDoc       `json:"copies"`
		Body       json.RawMessage `json:"body"`
		ServerTime stamp           `json:"serverTime"`
	}{v.ID, v.Topic, v.Key, stamp(v.CreatedAt), copies, v.Body, stamp(v.Now)})
}

func (s *Server) retryDead(c echo.Context, by *sale.Key) error {
	return decideDead(c, by, s.office.RetryDead)
}

func (s *Server) dropDead(c echo.Context, by *sale.Key) error {
	return decideDead(c, by, s.office.DropDead)
}

func decideDead(c echo.Context, by *sale.Key, act func(string, sale.DeadMessages) (sale.Decided, error)) error {
	var body struct {
		State  string     `json:"state"`
		Before *time.Time `json:"before"`
		Cursor string     `json:"cursor"`
	}
	if err := read(c, &body); err != nil {
		return err
	}
	if body.State != "dead" { // so that an empty body does not drop everything
		return refuse("bad_field", `"state" must be "dead".`)
	}
	var which sale.DeadMessages
	if body.Before != nil {
		which.Before = *body.Before
	}
	var err error
	if which.After, err = cursorNumber(body.Cursor); err != nil {
		return err
	}
	done, err := act(actor(by), which)
	if err != nil {
		return err
	}
	answer := struct {
		Count int     `json:"count"`
		Next  *string `json:"next"` // the cursor that goes on; null when all are decided
	}{Count: done.Count}
	if next := cursorOf(done.Next); next != "" {
		answer.Next = &next
	}
	return write(c, http.StatusOK, answer)
}

func (s *Server) retryMessage(c echo.Context, by *sale.Key) error {
	return s.decide(c, by, s.office.RetryMessage)
}

func (s *Server) dropMessage(c echo.Context, by *sale.Key) error {
	return s.decide(c, by, s.office.DropMessage)
}

// messageForm is what staff decide on the page.
func (s *Server) messageForm(c echo.Context, by *sale.Key) error {
	act, how := s.office.RetryMessage, "retry"
	if c.FormValue("act") == "drop" {
		act, how = s.office.DropMessage, "drop"
	}
	if err := act(actor(by), param(c, "message")); err != nil {
		return err
	}
	return seeOther(c, "/admin?done="+how)
}

// deadForm is what staff decide about all dead messages on the page. A call
// decides about a few thousand; the page shows those that are left.
func (s *Server) deadForm(c echo.Context, by *sale.Key) error {
	act, how := s.office.RetryDead, "retryall"
	if c.FormValue("act") == "drop" {
		if c.FormValue("sure") == "" {
			return s.showAdmin(c, by, adminTry{trouble: sayBad("Tick the box first. No message was given up."), form: firstForm()})
		}
		act, how = s.office.DropDead, "dropall"
	}
	if _, err := act(actor(by), sale.DeadMessages{}); err != nil {
		return err
	}
	return seeOther(c, "/admin?done="+how)
}

func (s *Server) decide(c echo.Context, by *sale.Key, act func(actor, id string) error) error {
	if err := readNothing(c); err != nil {
		return err
	}
	if err := act(actor(by), param(c, "message")); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
