package web

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/sale"
	"foyer/seats"
)

// partSize is how many seats one list shows at most; bigger houses are listed
// in parts, for a page of 50,000 boxes helps nobody.
const partSize = 1500

// mine is the state of a seat that the visitor himself holds or has chosen,
// beside the public ones.
const mine seats.State = 'M'

type seatsData struct {
	page
	Event    *sale.Event
	Place    sale.PlaceView
	Left     string // of the turn
	LeftFor  int64  // milliseconds
	Money    moneyStyle
	Prices   map[string]int64
	Kinds    []kindView
	Counts   seats.Counts
	Parts    []partView // empty when one list shows the house
	Zones    []zoneView
	Mine     []string        // ids of the seats the visitor holds
	Order    *sale.OrderView // his hold, if there is one
	Running  bool            // a payment runs for it
	Trouble  *problem        // what went wrong with the last try
	Lost     []string        // labels of the seats that were lost
	Numbers  []int           // 1 to the most seats of an order
	Wheels   bool            // the house has places for wheelchairs
	Along    bool            // and seats for those who come along
	PlanPath string
	Version  string // of the plan
}

type kindView struct {
	Name, Color, Price string
	Free               int
}

type partView struct {
	Name string
	Path string
	Here bool
}

type zoneView struct {
	Name string
	Open bool
	Free int
	Rows []rowView
}

type rowView struct {
	Name  string
	Seats []seatView
}

type seatView struct {
	ID, Number, Word, Label string
	Kind                    string // "wheelchair", "companion" or ""
	State                   string // one letter
	Checked, Off            bool
}

// stateWords are the states in words, as they stand under a seat's number.
var stateWords = map[seats.State]string{
	seats.Available: "free", seats.Held: "held", seats.Sold: "sold", seats.OffSale: "not on sale", mine: "yours", kept: "kept",
}

func (s *Server) seatsPage(c echo.Context) error {
	return s.showHouse(c, nil, nil)
}

// holdAgain is where a browser ends that loads the answer to a form once more.
func (s *Server) holdAgain(c echo.Context) error {
	return seeOther(c, eventPath(param(c, "event"))+"/seats")
}

// holdForm takes the seats chosen, or shows the house again and says which are lost.
func (s *Server) holdForm(c echo.Context) error {
	event := param(c, "event")
	visitor, ok := s.visitor(c)
	if !ok {
		return seeOther(c, eventPath(event)+"/seats")
	}
	form, err := c.FormParams()
	if err != nil {
		return errBadRequest
	}
	place, err := s.office.Poll(event, visitor)
	if err != nil {
		return err
	}
	if place.Status != sale.Ready {
		return seeOther(c, eventPath(event)+"/seats")
	}
	w := sale.HoldRequest{Event: event, Token: place.Token, Visitor: visitor, Seats: form["seat"]}
	if form.Get("best") != "" {
		w.Best, w.Seats, w.Category = true, nil, form.Get("category")
		w.Count, _ = strconv.Atoi(form.Get("best")) // no number is zero, which is refused
	} else {
		slices.Sort(w.Seats)
		w.Seats = slices.Compact(w.Seats) // the map and the list may both send a seat
	}
	order, err := s.office.Hold(w)
	if err != nil {
		return s.showHouse(c, err, w.Seats)
	}
	return seeOther(c, "/orders/"+order.ID.String())
}

// showHouse shows the house to a visitor whose turn it is; trouble and chosen
// are what came of his last try.
func (s *Server) showHouse(c echo.Context, trouble error, chosen []string) error {
	e, phase, err := s.office.Event(param(c, "event"))
	if err != nil {
		return err
	}
	v := &seatsData{page: page{Title: "Choose seats – " + e.Name, Locale: localeOf(c.Request())}, Event: e}
	visitor, known := s.visitor(c)
	if known {
		if v.Place, err = s.office.Poll(e.ID, visitor); err != nil {
			return err
		}
	}
	if v.Place.Status != sale.Ready {
		return s.render(c, http.StatusForbidden, "notyet", struct {
			page
			Event *sale.Event
			Phase sale.Phase
			Place sale.PlaceView
		}{page{Title: "Not your turn yet", Narrow: true}, e, phase, v.Place})
	}
	plan, err := s.office.Plan(e.ID)
	if err != nil {
		return err
	}
	shared, err := s.house(e.ID)
	if err != nil {
		return err
	}
	house := shared.house
	if house.PlanVersion != plan.Version() { // a new plan came in between; the next try sees one of them
		return sale.ErrUnavailable
	}
	v.Script = "seats.js"
	v.turn(s, visitor)
	status := http.StatusOK
	if trouble != nil {
		p := s.problem(trouble)
		if p.Code == "internal" {
			return trouble
		}
		status, v.Trouble = p.Status, &p
		for _, id := range p.Seats {
			if i, ok := plan.Index(id); ok {
				v.Lost = append(v.Lost, plan.Label(i))
			}
		}
		chosen = slices.DeleteFunc(slices.Clone(chosen), func(id string) bool { return slices.Contains(p.Seats, id) })
	} else {
		chosen = v.Mine
	}
	v.house(plan, house, chosen, c.QueryParam("part"))
	return s.render(c, status, "seats", v)
}

// turn fills in the visitor's turn and hold.
func (v *seatsData) turn(s *Server, visitor uuid.UUID) {
	left := v.Place.TokenExpiresAt.Sub(v.Place.Now)
	v.Left, v.LeftFor = clock(left), max(0, left.Milliseconds())
	if v.Place.OrderID == uuid.Nil {
		return
	}
	order, err := s.office.Order(visitor, v.Place.OrderID)
	if err != nil || !order.Status.Open() {
		return
	}
	v.Order, v.Running = order, order.Status == sale.Paying
	for _, seat := range order.Seats {
		v.Mine = append(v.Mine, seat.ID)
	}
}

// house fills in the seats: all in numbers, one part as a list.
func (v *seatsData) house(plan *seats.Plan, house sale.SeatsView, chosen []string, part string) {
	e := v.Event
	v.Money, v.Prices, v.Counts = styleOf(e.Currency, v.Locale), e.Prices, house.Counts
	v.Version = plan.Version()
	v.PlanPath = api + "/events/" + e.ID + "/plan?v=" + v.Version
	for n := range e.Rules.MaxSeatsPerOrder {
		v.Numbers = append(v.Numbers, n+1)
	}
	free := map[string]int{}
	for i, state := range house.States {
		seat := plan.Seat(i)
		if state == seats.Available {
			free[seat.Category]++
		}
		v.Wheels = v.Wheels || seat.Accessible
		v.Along = v.Along || seat.Companion
	}
	prices := pricesOf(e, v.Locale)
	for _, k := range plan.Categories {
		if _, ok := e.Prices[k.Name]; ok {
			v.Kinds = append(v.Kinds, kindView{k.Name, k.Color, prices[k.Name], free[k.Name]})
		}
	}
	l := lister{plan: plan, states: house.States, chosen: chosen, mine: v.Mine, event: e, prices: prices, path: "/events/" + e.ID + "/seats?"}
	v.Zones, v.Parts = l.list(part)
}

// lister makes the list of seats.
type lister struct {
	plan         *seats.Plan
	states       []seats.State
	chosen, mine []string
	event        *sale.Event
	prices       map[string]string // of the categories, as they are shown
	path         string            // of a page that shows a part, up to its parameters
}

// pricesOf are the prices of an event by category, as they are shown.
func pricesOf(e *sale.Event, in locale) map[string]string {
	shown := map[string]string{}
	for category, price := range e.Prices {
		shown[category] = formatMoney(price, e.Currency, in)
	}
	return shown
}

// list gives the zones of one part, and the parts when there are several.
func (l *lister) list(part string) (zones []zoneView, parts []partView) {
	want, _ := strconv.Atoi(part) // no number is the first part
	type chunk struct{ zone, from, to, first int }
	var chunks []chunk // runs of rows of one zone
	seat := 0
	whole := l.plan.Len() <= partSize
	for z, zone := range l.plan.Zones {
		ch := chunk{zone: z, first: seat}
		size := 0
		for r, row := range zone.Rows {
			if !whole && size > 0 && size+len(row.Seats) > partSize {
				ch.to = r
				chunks = append(chunks, ch)
				ch, size = chunk{zone: z, from: r, first: seat}, 0
			}
			size += len(row.Seats)
			seat += len(row.Seats)
		}
		ch.to = len(zone.Rows)
		chunks = append(chunks, ch)
	}
	if want < 0 || want >= len(chunks) {
		want = 0
	}
	for n, ch := range chunks {
		zone := l.plan.Zones[ch.zone]
		if !whole {
			name := zone.Name
			if ch.from > 0 || ch.to < len(zone.Rows) {
				name += ", rows " + zone.Rows[ch.from].Name + " to " + zone.Rows[ch.to-1].Name
			}
			parts = append(parts, partView{name, l.path + "part=" + strconv.Itoa(n) + "#list", n == want})
			if n != want {
				continue
			}
		}
		zones = append(zones, l.zone(zone.Name, zone.Rows[ch.from:ch.to], ch.first, len(chunks) == 1 || !whole || n == 0))
	}
	return zones, parts
}

func (l *lister) zone(name string, rows []seats.Row, seat int, open bool) zoneView {
	v := zoneView{Name: name, Open: open}
	for _, row := range rows {
		r := rowView{Name: row.Name}
		for range row.Seats {
			s := l.seat(seat, row.Name)
			if s.State == "A" {
				v.Free++
			}
			v.Open = v.Open || s.Checked
			r.Seats = append(r.Seats, s)
			seat++
		}
		v.Rows = append(v.Rows, r)
	}
	return v
}

func (l *lister) seat(i int, row string) seatView {
	seat, state := l.plan.Seat(i), l.states[i]
	if slices.Contains(l.mine, seat.ID) {
		state = mine
	}
	price := l.prices[seat.Category]
	v := seatView{ID: seat.ID, Number: seat.Number, State: string(state), Word: stateWords[state]}
	v.Off = state != seats.Available && state != mine && state != kept
	v.Checked = !v.Off && slices.Contains(l.chosen, seat.ID)
	v.Label = "Row " + row + ", seat " + seat.Number
	if seat.Companion {
		v.Kind = "companion"
	}
	if seat.Accessible {
		v.Kind = "wheelchair"
		v.Label += ", wheelchair place"
	}
	if seat.Companion {
		v.Label += ", companion seat"
	}
	v.Label += ", " + seat.Category
	switch state {
	case seats.Available:
		v.Word = price
	case kept:
		v.Word = price + " kept"
	}
	if state != seats.OffSale {
		v.Label += ", " + price
	}
	v.Label += ", " + stateWords[state]
	return v
}
