package web

import (
	"cmp"
	"encoding/json"
	"math"
	"net/http"
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
	PresaleAt   *stamp                `json:"presaleAt"`
	Access      string                `json:"access"`
	TimeZone    string                `json:"timeZone"`
	Currency    string                `json:"currency"`
	Order       string                `json:"order"`
	Line        string                `json:"line"`
	Prices      map[string]sale.Money `json:"prices"`
	Rules       sale.Rules            `json:"rules"`
	Providers   []string              `json:"providers"`
	Challenge   string                `json:"challenge"`
	Phase       sale.Phase            `json:"phase"`
	PlanVersion string                `json:"planVersion,omitempty"`
	ShopURL     string                `json:"shopUrl,omitempty"`
	Message     string                `json:"message"`
	ServerTime  stamp                 `json:"serverTime"`
}

func eventOf(e *sale.Event, phase sale.Phase) eventDoc {
	d := eventDoc{
		ID: e.ID, Name: e.Name, Venue: e.Venue,
		StartsAt: stampAt(e.StartsAt), OpensAt: stampAt(e.OpensAt), ClosesAt: stampAt(e.ClosesAt), PresaleAt: stampAt(e.PresaleAt), Access: cmp.Or(e.Access, "open"),
		TimeZone: e.TimeZone, Currency: e.Currency, Order: e.Order, Line: e.Line,
		Prices: map[string]sale.Money{}, Rules: e.Rules, Providers: e.Providers, Challenge: e.Challenge,
		Phase: phase, PlanVersion: e.PlanVersion, ShopURL: e.ShopURL, Message: e.Message, ServerTime: stamp(time.Now()),
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
	if err := askAll(c); err != nil {
		return err
	}
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
	PaceReason string     `json:"paceReason,omitempty"` // why it is less than what staff have set
	Waiting    int        `json:"waiting"`
	Active     int        `json:"active"`
	SeatsLeft  int        `json:"seatsLeft"`
	SoldOut    bool       `json:"soldOut"`
	Returns    bool       `json:"seatsMayReturn,omitempty"` // none is left now; those that come back go to the line
	Override   string     `json:"soldOutOverride,omitempty"`
	Message    string     `json:"message"`
	OpensAt    *stamp     `json:"opensAt,omitempty"` // LOBBY only
	Presale    bool       `json:"presale,omitempty"` // LOBBY only: members are called
	Classes    bool       `json:"classes,omitempty"` // members wait: ask for the own place, numbers alone do not tell it
	Members    *uint64    `json:"memberFrontier,omitempty"`
	Draw       *drawDoc   `json:"draw,omitempty"`
	ServerTime stamp      `json:"serverTime"`
	Page       string     `json:"page"` // names the waiting page's program; an open page that runs another loads itself again

	PickupSeconds  int         `json:"pickupSeconds"`
	Rates          ratesDoc    `json:"rates"`
	EstimateReason string      `json:"estimateReason,omitempty"`
	Lowered        *loweredDoc `json:"lowered,omitempty"`
	Chance         *chanceDoc  `json:"chance,omitempty"`
}

// ratesDoc are turns per second: from them and his number a page tells its
// visitor's wait.
type ratesDoc struct {
	Low    float64 `json:"low"`
	Likely float64 `json:"likely"`
	High   float64 `json:"high"`
}

type loweredDoc struct {
	What string `json:"what"`
	From int    `json:"from"`
	To   int    `json:"to"`
	At   stamp  `json:"at"`
}

// chanceDoc says up to which rank a chance is good, fair and small; the latter
// two are missing while too few turns are over.
type chanceDoc struct {
	SeatsPerTurn float64 `json:"seatsPerTurn"`
	Good         int     `json:"good"`
	Fair         *int    `json:"fair,omitempty"`
	Small        *int    `json:"small,omitempty"`
}

func outlookOf(v sale.Outlook) (rates ratesDoc, chance *chanceDoc) {
	round := func(x float64) float64 { return math.Round(x*1e4) / 1e4 }
	rates = ratesDoc{round(v.Slow), round(v.Rate), round(v.Fast)}
	if v.SeatsPerTurn < 0 {
		return rates, nil
	}
	chance = &chanceDoc{SeatsPerTurn: round(v.SeatsPerTurn), Good: v.Good}
	if v.Known {
		chance.Fair, chance.Small = &v.Fair, &v.Small
	}
	return rates, chance
}

func statusOf(v sale.Status) statusDoc {
	d := statusDoc{
		Phase: v.Phase, Frontier: v.Frontier, Pace: v.Pace, PaceReason: v.PaceReason, Waiting: v.Waiting, Active: v.Active, SeatsLeft: v.SeatsLeft,
		SoldOut: v.SoldOut, Returns: v.Returns, Override: v.Override, Message: v.Message, Draw: drawOf(v.Draw), ServerTime: stamp(v.Now),
		Page: assets["wait.js"].hash, PickupSeconds: v.Pickup, EstimateReason: v.Slower,
	}
	if v.Phase == sale.PhaseLobby {
		d.OpensAt, d.Presale = stampAt(v.OpensAt), v.Presale
	}
	if v.Members > 0 {
		d.Classes, d.Members = true, &v.MemberFrontier
	}
	d.Rates, d.Chance = outlookOf(v.Outlook)
	if l := v.Slowed; l != nil {
		d.Lowered = &loweredDoc{l.What, l.From, l.To, stamp(l.At)}
	}
	return d
}

func (s *Server) showStatus(c echo.Context) error {
	event := param(c, "event")
	d, err := s.statuses.find(event, s.exists(event), s.office.Changed, func() (*sheet, error) {
		v, err := s.office.Status(event)
		if err != nil {
			return nil, err
		}
		body, err := json.Marshal(statusOf(v))
		return newSheet(body, nil), err
	})
	if err != nil {
		return err
	}
	return d.send(c, sheetCaching)
}

type houseDoc struct {
	PlanVersion string       `json:"planVersion"`
	AsOf        stamp        `json:"asOf"`
	Counts      seats.Counts `json:"counts"`
	States      string       `json:"states"` // one letter per seat in plan order
}

func (s *Server) showSeats(c echo.Context) error {
	d, err := s.house(param(c, "event"))
	if err != nil {
		return err
	}
	return d.send(c, sheetCaching)
}

// house is the picture of the house that all share, at most sheetAge old.
func (s *Server) house(event string) (*sheet, error) {
	return s.houses.find(event, s.exists(event), s.office.Changed, func() (*sheet, error) {
		v, err := s.office.Seats(event)
		if err != nil {
			return nil, err
		}
		states := make([]byte, len(v.States))
		for i, st := range v.States {
			states[i] = byte(st)
		}
		body, err := json.Marshal(houseDoc{v.PlanVersion, stamp(v.AsOf), v.Counts, string(states)})
		if err != nil {
			return nil, err
		}
		d := newSheet(body, squeeze(body))
		d.house = v
		return d, nil
	})
}

// planBook keeps each event's current plan ready to be sent.
type planBook struct {
	mu      sync.Mutex
	byEvent map[string]*planSlot
}

type planSlot struct {
	version string
	once    sync.Once // compressing a big house takes a while, and must not hold up the others
	doc     *document
}

// showPlan sends the plan: under its versioned address for a year, under the
// plain one, or under one of a version that is no more, to be asked for again.
func (s *Server) showPlan(c echo.Context) error {
	event := param(c, "event")
	p, err := s.office.Plan(event)
	if err != nil {
		return err
	}
	caching := revalidate
	if c.Request().URL.RawQuery != "" && c.QueryParam("v") == p.Version() {
		caching = forAYear
	}
	return s.plans.document(event, p).send(c, caching)
}

func (b *planBook) document(event string, p *seats.Plan) *document {
	b.mu.Lock()
	slot := b.byEvent[event]
	if slot == nil || slot.version != p.Version() {
		if b.byEvent == nil {
			b.byEvent = map[string]*planSlot{}
		}
		slot = &planSlot{version: p.Version()}
		b.byEvent[event] = slot
	}
	b.mu.Unlock()
	slot.once.Do(func() { slot.doc = newDocument("application/json", p.Version(), p.JSON(), pack(p.JSON())) })
	return slot.doc
}
