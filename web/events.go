package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"foyer/sale"
	"foyer/seats"
)

// eventDoc is an event as everybody may see it.
type eventDoc struct {
	ID          string                `json:"id"`
	Name        string                `json:"name"`
	Venue       string                `json:"venue"`
	StartsAt    *stamp                `json:"startsAt"`
	OpensAt     *stamp                `json:"opensAt"`
	ClosesAt    *stamp                `json:"closesAt"`
	TimeZone    string                `json:"timeZone"`
	Currency    string                `json:"currency"`
	Order       string                `json:"order"`
	Line        string                `json:"line"`
	Prices      map[string]sale.Money `json:"prices"`
	Rules       sale.Rules            `json:"rules"`
	Providers   []string              `json:"providers"`
	Phase       sale.Phase            `json:"phase"`
	PlanVersion string                `json:"planVersion,omitempty"`
	Message     string                `json:"message"`
	ServerTime  stamp                 `json:"serverTime"`
}

func eventOf(e *sale.Event, phase sale.Phase) eventDoc {
	d := eventDoc{
		ID: e.ID, Name: e.Name, Venue: e.Venue,
		StartsAt: stampAt(e.StartsAt), OpensAt: stampAt(e.OpensAt), ClosesAt: stampAt(e.ClosesAt),
		TimeZone: e.TimeZone, Currency: e.Currency, Order: e.Order, Line: e.Line,
		Prices: map[string]sale.Money{}, Rules: e.Rules, Providers: e.Providers,
		Phase: phase, PlanVersion: e.PlanVersion, Message: e.Message, ServerTime: stamp(time.Now()),
	}
	for category, price := range e.Prices {
		d.Prices[category] = sale.Money{Amount: price, Currency: e.Currency}
	}
	if d.Providers == nil {
		d.Providers = []string{}
	}
	return d
}

func (s *Server) listEvents(c echo.Context) error {
	var docs []eventDoc
	for _, e := range s.office.Events() {
		if e, phase, err := s.office.Event(e.ID); err == nil { // else removed meanwhile
			docs = append(docs, eventOf(e, phase))
		}
	}
	return write(c, http.StatusOK, pageOf(docs, ""))
}

func (s *Server) showEvent(c echo.Context) error {
	e, phase, err := s.office.Event(param(c, "event"))
	if err != nil {
		return err
	}
	return write(c, http.StatusOK, eventOf(e, phase))
}

func (s *Server) exists(event string) func() error {
	return func() error {
		_, _, err := s.office.Event(event)
		return err
	}
}

type statusDoc struct {
	Phase      sale.Phase `json:"phase"`
	Frontier   uint64     `json:"frontier"`
	Pace       int        `json:"pace"`
	Waiting    int        `json:"waiting"`
	SeatsLeft  int        `json:"seatsLeft"`
	SoldOut    bool       `json:"soldOut"`
	Message    string     `json:"message"`
	OpensAt    *stamp     `json:"opensAt,omitempty"` // LOBBY only
	ServerTime stamp      `json:"serverTime"`
}

func statusOf(v sale.Status) statusDoc {
	d := statusDoc{
		Phase: v.Phase, Frontier: v.Frontier, Pace: v.Pace, Waiting: v.Waiting, SeatsLeft: v.SeatsLeft,
		SoldOut: v.SoldOut, Message: v.Message, ServerTime: stamp(v.Now),
	}
	if v.Phase == sale.PhaseLobby {
		d.OpensAt = stampAt(v.OpensAt)
	}
	return d
}

func (s *Server) showStatus(c echo.Context) error {
	event := param(c, "event")
	return s.statuses.show(c, event, s.exists(event), s.office.Changed, func() ([]byte, error) {
		v, err := s.office.Status(event)
		if err != nil {
			return nil, err
		}
		return json.Marshal(statusOf(v))
	})
}

type houseDoc struct {
	PlanVersion string       `json:"planVersion"`
	AsOf        stamp        `json:"asOf"`
	Counts      seats.Counts `json:"counts"`
	States      string       `json:"states"` // one letter per seat in plan order
}

func (s *Server) showSeats(c echo.Context) error {
	event := param(c, "event")
	return s.houses.show(c, event, s.exists(event), s.office.Changed, func() ([]byte, error) {
		v, err := s.office.Seats(event)
		if err != nil {
			return nil, err
		}
		states := make([]byte, len(v.States))
		for i, st := range v.States {
			states[i] = byte(st)
		}
		return json.Marshal(houseDoc{v.PlanVersion, stamp(v.AsOf), v.Counts, string(states)})
	})
}

// planBook keeps each event's current plan ready to be sent.
type planBook struct {
	mu      sync.Mutex
	byEvent map[string]planSheet
}

type planSheet struct {
	version string
	sheet   *sheet
}

var (
	forAYear   = []string{"public, max-age=31536000, immutable"}
	revalidate = []string{"public, no-cache"}
)

// showPlan sends the plan: under its versioned address for a year, under the
// plain one, or under one of a version that is no more, to be asked for again.
func (s *Server) showPlan(c echo.Context) error {
	event := param(c, "event")
	p, err := s.office.Plan(event)
	if err != nil {
		return err
	}
	if p == nil {
		return sale.ErrNoPlan
	}
	caching := revalidate
	if c.Request().URL.RawQuery != "" && c.QueryParam("v") == p.Version() {
		caching = forAYear
	}
	return s.plans.sheet(event, p).send(c, caching)
}

func (b *planBook) sheet(event string, p *seats.Plan) *sheet {
	b.mu.Lock()
	defer b.mu.Unlock()
	if kept, ok := b.byEvent[event]; ok && kept.version == p.Version() {
		return kept.sheet
	}
	d := newSheet(p.JSON())
	d.etag = []string{`"` + p.Version() + `"`}
	if b.byEvent == nil {
		b.byEvent = map[string]planSheet{}
	}
	b.byEvent[event] = planSheet{p.Version(), d}
	return d
}

// matches is the weak comparison of If-None-Match (RFC 9110, 13.1.2).
func matches(values []string, etag string) bool {
	for _, v := range values {
		for tag := range strings.SplitSeq(v, ",") {
			tag = strings.TrimSpace(tag)
			if tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
				return true
			}
		}
	}
	return false
}
