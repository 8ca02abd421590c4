package web

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/sale"
	"foyer/seats"
)

// staffEventDoc is an event with what only staff see.
type staffEventDoc struct {
	eventDoc
	Paused    bool  `json:"paused"`
	Closed    bool  `json:"closed"`
	Sellable  int   `json:"sellable"` // seats whose category has a price
	Cost      int   `json:"challengeCost"`
	CreatedAt stamp `json:"createdAt"`
}

func (s *Server) staffEventOf(e *sale.Event) (staffEventDoc, error) {
	_, phase, err := s.office.Event(e.ID)
	return staffEventDoc{eventOf(e, phase), e.Paused, e.Closed, e.Sellable, e.Ask().Cost, stamp(e.CreatedAt)}, err
}

func (s *Server) staffEvents(c echo.Context, _ *sale.Key) error {
	if err := askAll(c); err != nil {
		return err
	}
	var docs []staffEventDoc
	for _, e := range s.office.Events() {
		if d, err := s.staffEventOf(e); err == nil { // else removed meanwhile
			docs = append(docs, d)
		}
	}
	return write(c, http.StatusOK, pageOf(docs, ""))
}

func (s *Server) staffEvent(c echo.Context, _ *sale.Key) error {
	e, _, err := s.office.Event(param(c, "event"))
	return s.answerEvent(c, http.StatusOK, e, err)
}

func (s *Server) answerEvent(c echo.Context, status int, e *sale.Event, err error) error {
	if err != nil {
		return err
	}
	d, err := s.staffEventOf(e)
	if err != nil {
		return err
	}
	return write(c, status, d)
}

func (s *Server) createEvent(c echo.Context, by *sale.Key) error {
	settings := sale.DefaultSettings()
	if err := read(c, &settings); err != nil {
		return err
	}
	e, err := s.office.CreateEvent(actor(by), settings)
	if err == nil {
		c.Response().Header().Set(echo.HeaderLocation, api+"/admin/events/"+e.ID)
	}
	return s.answerEvent(c, http.StatusCreated, e, err)
}

// changeEvent merges the parts that are sent; a price of null takes the category
// off sale (RFC 7396).
func (s *Server) changeEvent(c echo.Context, by *sale.Key) error {
	body, err := readBody(c, maxBody)
	if err != nil {
		return err
	}
	if err := checkType(c.Request()); len(body) > 0 && err != nil {
		return err
	}
	scratch := sale.DefaultSettings()
	if err := merge(body, &scratch); err != nil { // what cannot be read is not the one writer's work
		return err
	}
	e, err := s.office.ChangeEvent(actor(by), param(c, "event"), func(settings *sale.Settings) error {
		return merge(body, settings)
	})
	return s.answerEvent(c, http.StatusOK, e, err)
}

func merge(body []byte, settings *sale.Settings) error {
	if len(body) == 0 {
		return nil
	}
	patch := struct {
		*sale.Settings
		Prices map[string]*int64 `json:"prices"`
	}{Settings: settings}
	if err := decode(body, &patch); err != nil {
		return err
	}
	prices := map[string]int64{}
	for category, price := range settings.Prices {
		prices[category] = price
	}
	for category, price := range patch.Prices {
		if price == nil {
			delete(prices, category)
			continue
		}
		prices[category] = *price
	}
	settings.Prices = prices
	return nil
}

func (s *Server) removeEvent(c echo.Context, by *sale.Key) error {
	if err := s.office.RemoveEvent(actor(by), param(c, "event")); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

const planPatience = 2 * time.Minute

// setPlan takes the document as it is, whatever type the client calls it.
func (s *Server) setPlan(c echo.Context, by *sale.Key) error {
	event := param(c, "event")
	if _, _, err := s.office.Event(event); err != nil { // before reading 32 MiB
		return err
	}
	dry, err := flag(c, "dryRun")
	if err != nil {
		return err
	}
	// 32 MiB over a slow line take longer than the server gives other bodies.
	_ = http.NewResponseController(c.Response()).SetReadDeadline(time.Now().Add(planPatience))
	doc, err := readBody(c, maxPlan)
	if err != nil {
		return err
	}
	p, err := seats.Parse(doc)
	if err != nil {
		return err
	}
	change, err := s.office.SetPlan(actor(by), event, p, dry)
	if err != nil {
		return err
	}
	return write(c, http.StatusOK, struct {
		Version  string          `json:"version"`
		Seats    int             `json:"seats"`
		Added    []string        `json:"added"`
		Removed  []string        `json:"removed"`
		Unpriced []string        `json:"unpriced"` // categories without a price
		Notices  []seats.Problem `json:"notices,omitempty"`
		DryRun   bool            `json:"dryRun,omitempty"`
	}{change.Version, change.Seats, some(change.Added), some(change.Removed), some(change.Unpriced), seats.Notices(doc), dry})
}

func some(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// flag reads a yes-or-no query parameter.
func flag(c echo.Context, name string) (bool, error) {
	v := c.QueryParam(name)
	if v == "" {
		return false, nil
	}
	yes, err := strconv.ParseBool(v)
	if err != nil {
		return false, refuse("bad_request", "The parameter "+name+" must be 1 or 0.")
	}
	return yes, nil
}

func (s *Server) openEvent(c echo.Context, by *sale.Key) error {
	if err := readNothing(c); err != nil {
		return err
	}
	e, err := s.office.OpenEvent(actor(by), param(c, "event"))
	return s.answerEvent(c, http.StatusOK, e, err)
}

func (s *Server) resumeEvent(c echo.Context, by *sale.Key) error {
	if err := readNothing(c); err != nil {
		return err
	}
	e, err := s.office.ResumeEvent(actor(by), param(c, "event"))
	return s.answerEvent(c, http.StatusOK, e, err)
}

func (s *Server) pauseEvent(c echo.Context, by *sale.Key) error {
	return s.speak(c, by, s.office.PauseEvent)
}

func (s *Server) closeEvent(c echo.Context, by *sale.Key) error {
	return s.speak(c, by, s.office.CloseEvent)
}

func (s *Server) announce(c echo.Context, by *sale.Key) error {
	return s.speak(c, by, s.office.Announce)
}

func (s *Server) speak(c echo.Context, by *sale.Key, act func(actor, event, message string) (*sale.Event, error)) error {
	var body struct {
		Message string `json:"message"`
	}
	if err := read(c, &body); err != nil {
		return err
	}
	e, err := act(actor(by), param(c, "event"), body.Message)
	return s.answerEvent(c, http.StatusOK, e, err)
}

func (s *Server) setSoldOut(c echo.Context, by *sale.Key) error {
	var body struct {
		Override string  `json:"override"`
		Message  *string `json:"message"`
	}
	if err := read(c, &body); err != nil {
		return err
	}
	e, err := s.office.SetSoldOut(actor(by), param(c, "event"), body.Override, body.Message)
	return s.answerEvent(c, http.StatusOK, e, err)
}

func (s *Server) setPace(c echo.Context, by *sale.Key) error {
	var body struct {
		AdmitPerSecond *int `json:"admitPerSecond"`
		MaxActive      *int `json:"maxActive"`
	}
	if err := read(c, &body); err != nil {
		return err
	}
	e, err := s.office.ChangeEvent(actor(by), param(c, "event"), func(settings *sale.Settings) error {
		if body.AdmitPerSecond != nil {
			settings.Rules.AdmitPerSecond = *body.AdmitPerSecond
		}
		if body.MaxActive != nil {
			settings.Rules.MaxActive = *body.MaxActive
		}
		return nil
	})
	return s.answerEvent(c, http.StatusOK, e, err)
}

func (s *Server) revoke(c echo.Context, by *sale.Key) error {
	var body struct {
		VisitorID string `json:"visitorId"`
	}
	if err := read(c, &body); err != nil {
		return err
	}
	visitor, err := uuid.Parse(body.VisitorID)
	if err != nil || len(body.VisitorID) != 36 {
		return refuse("bad_field", `"visitorId" must be the id of a visitor.`)
	}
	if err := s.office.Revoke(actor(by), param(c, "event"), visitor); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// liveDoc is what staff watch.
type liveDoc struct {
	statusDoc
	Badge  string                   `json:"badge"` // the phase, presale and invitation in words
	Counts seats.Counts             `json:"counts"`
	Orders map[sale.OrderStatus]int `json:"orders"`
	Taken  sale.Money               `json:"taken"` // in PAID orders
}

func (s *Server) live(event string) ([]byte, error) {
	v, err := s.office.Live(event)
	if err != nil {
		return nil, err
	}
	e, _, err := s.office.Event(event)
	if err != nil {
		return nil, err
	}
	d := liveDoc{statusOf(v.Status), s.badge(e, v.Status.Phase).Word, v.Counts, v.Orders, sale.Money{Amount: v.Taken, Currency: v.Currency}}
	return json.Marshal(d)
}
