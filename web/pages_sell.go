package web

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/sale"
	"foyer/seats"
)

// counterMost is up to how many seats the box office has a button; more are sold
// by their names.
const counterMost = 10

// sellData is the page on which a clerk sells.
type sellData struct {
	staffPage
	Event *sale.Event
	badge
	Starts  string
	Door    bool   // the event may be sold at the door
	Named   bool   // seats by their names, not the best ones
	Once    string // one sale for each page that was shown
	Numbers []int
	Kinds   []sellKind
	Form    sellForm
	Zones   []zoneView
	Parts   []partView
	Free    int
	Kept    int      // seats of the house, to be sold by name
	Lost    []string // labels of seats that cannot be had
	Sold    string   // the order that this form sold before
}

// sellKind is a category with the price of 1, 2, ... seats.
type sellKind struct {
	Name, Price string
	Free        int
	Sums        []string
}

// sellForm is what was typed.
type sellForm struct{ Count, Category, Names, Name, Email string }

// sellTry is a sale that did not come through; zero for a page that is new.
type sellTry struct {
	trouble error
	form    sellForm
	chosen  []string // ids of seats
}

func (s *Server) sellPage(c echo.Context, by *sale.Key) error {
	return s.showSell(c, by, c.QueryParam("by") == "seats", sellTry{})
}

// sellForm sells what was chosen. A page sells once: sent again it leads to the
// same sale.
func (s *Server) sellForm(c echo.Context, by *sale.Key) error {
	form, err := c.FormParams()
	if err != nil {
		return errBadRequest
	}
	f := sellForm{form.Get("count"), form.Get("category"), form.Get("names"), strings.TrimSpace(form.Get("name")), strings.TrimSpace(form.Get("email"))}
	named := form.Get("by") == "seats"
	once := form.Get("once")
	if u, err := uuid.Parse(once); err != nil || u.String() != once {
		return errBadRequest
	}
	w := sale.DoorSale{Actor: actor(by), Event: param(c, "event"), Method: form.Get("method"), Buyer: sale.Buyer{Name: f.Name, Email: f.Email}, Key: once}
	chosen := form["seat"]
	if named {
		w.Seats = s.typedSeats(w.Event, f.Names, chosen)
	} else {
		w.Best, w.Category = true, f.Category
		w.Count, _ = strconv.Atoi(f.Count) // no number is zero, which is refused
	}
	v, err := s.office.Sell(w)
	if err != nil {
		return s.showSell(c, by, named, sellTry{err, f, w.Seats})
	}
	path := "/admin" + eventPath(w.Event) + "/door/" + v.ID.String()
	if !v.CreatedAt.Equal(v.Now) {
		path += "?again=1"
	}
	return seeOther(c, path)
}

// typedSeats are the seats that were typed or scanned, with commas, breaks or
// blanks between them, and those that were marked, each once. Ids may have
// blanks, and nobody types capitals at the counter: the plan knows what is meant.
func (s *Server) typedSeats(event, text string, marked []string) []string {
	known := func(id string) (string, bool) { return id, false }
	if plan, err := s.office.Plan(event); err == nil {
		known = func(id string) (string, bool) {
			for _, try := range []string{id, strings.ToUpper(id)} {
				if _, ok := plan.Index(try); ok {
					return try, true
				}
			}
			return id, false
		}
	}
	var ids []string
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",;\n\r\t", r) }) {
		part = strings.Join(strings.Fields(part), " ")
		if id, ok := known(part); ok {
			ids = append(ids, id)
			continue
		}
		for _, word := range strings.Fields(part) {
			id, _ := known(word)
			ids = append(ids, id)
		}
	}
	ids = append(ids, marked...)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// showSell offers the seats by their names or, when they are not named, the best.
func (s *Server) showSell(c echo.Context, by *sale.Key, named bool, try sellTry) error {
	e, phase, err := s.office.Event(param(c, "event"))
	if err != nil {
		return err
	}
	once, err := uuid.NewRandom()
	if err != nil {
		return err
	}
	v := &sellData{
		staffPage: staffFrame(c, by, "Sell – "+e.Name, upTo(by, e)...), Event: e, badge: s.badge(e, phase), Starts: zoned(e.StartsAt, e.TimeZone),
		Door: slices.Contains(e.Providers, "door"), Named: named, Once: once.String(), Form: try.form,
	}
	if errors.Is(try.trouble, sale.ErrKeyReused) {
		try.trouble = refuse(sale.ErrKeyReused.Code, "This page had sold something already, so nothing was sold now. Look below at what you chose, and sell it now.")
	}
	status, err := v.fail(s, try.trouble)
	if err != nil {
		return err
	}
	house, err := s.office.House(e.ID)
	if errors.Is(err, sale.ErrNoPlan) {
		return s.render(c, status, "sell", v) // and says so
	}
	if err != nil {
		return err
	}
	plan, err := s.office.Plan(e.ID)
	if err != nil {
		return err
	}
	if house.PlanVersion != plan.Version() { // a new plan came in between
		return sale.ErrUnavailable
	}
	if v.Trouble != nil {
		v.Lost = planLabels(plan, v.Trouble.Seats)
		try.chosen = slices.DeleteFunc(slices.Clone(try.chosen), func(id string) bool { return slices.Contains(v.Trouble.Seats, id) })
	}
	v.house(plan, house, try.chosen, c.QueryParam("part"))
	return s.render(c, status, "sell", v)
}

func planLabels(plan *seats.Plan, ids []string) (labels []string) {
	for _, id := range ids {
		if i, ok := plan.Index(id); ok {
			labels = append(labels, plan.Label(i))
			continue
		}
		labels = append(labels, id+" (no such seat)")
	}
	return labels
}

// house fills in what can be sold.
func (v *sellData) house(plan *seats.Plan, house sale.House, chosen []string, part string) {
	e, free, states := v.Event, map[string]int{}, slices.Clone(house.States)
	for i, state := range states {
		switch {
		case house.Kept[i]:
			states[i] = kept
			v.Kept++
		case state == seats.Available:
			free[plan.Seat(i).Category]++
			v.Free++
		}
	}
	for n := range counterMost {
		v.Numbers = append(v.Numbers, n+1)
	}
	for _, k := range plan.Categories {
		price, ok := e.Prices[k.Name]
		if !ok {
			continue
		}
		kind := sellKind{Name: k.Name, Price: formatMoney(price, e.Currency, v.Locale), Free: free[k.Name]}
		for _, n := range v.Numbers {
			kind.Sums = append(kind.Sums, formatMoney(int64(n)*price, e.Currency, v.Locale))
		}
		v.Kinds = append(v.Kinds, kind)
	}
	if v.Form.Count == "" {
		v.Form.Count = "1"
		for _, k := range v.Kinds {
			if k.Free > 0 {
				v.Form.Category = k.Name
				break
			}
		}
	}
	if !v.Named {
		return
	}
	l := lister{plan: plan, states: states, chosen: chosen, event: e, prices: pricesOf(e, v.Locale), path: "/admin/events/" + e.ID + "/door?by=seats&"}
	zones, parts := l.list(part)
	v.Parts = parts
	for _, z := range zones { // only what can be sold
		z.Rows = slices.DeleteFunc(z.Rows, func(r rowView) bool {
			return !slices.ContainsFunc(r.Seats, func(s seatView) bool { return !s.Off })
		})
		for i := range z.Rows {
			z.Rows[i].Seats = slices.DeleteFunc(z.Rows[i].Seats, func(s seatView) bool { return s.Off })
		}
		if len(z.Rows) > 0 {
			v.Zones = append(v.Zones, z)
		}
	}
}

// soldPage shows what was sold, with the tickets.
func (s *Server) soldPage(c echo.Context, by *sale.Key) error {
	o, e, err := s.deskOrder(c)
	if err != nil {
		return err
	}
	if e.ID != param(c, "event") {
		return sale.ErrNoSuchOrder
	}
	in := localeOf(c.Request())
	list, err := ticketsOf(o, in)
	if err != nil {
		return err
	}
	p, _ := o.Paid()
	sum := formatMoney(o.Received(), o.Currency, in)
	up := "/admin/events/" + e.ID + "/door"
	v := struct {
		staffPage
		Order       *sale.OrderView
		Event       *sale.Event
		Starts      string
		Sum, Method string
		At          string
		Again       bool
		Tickets     []ticketView
	}{
		staffPage: staffFrame(c, by, "Sold: "+count(len(o.Seats), "seat")+", "+sum+" – "+e.Name, link{up, "Sell " + e.Name}),
		Order:     o, Event: e, Starts: zoned(e.StartsAt, e.TimeZone), Sum: sum, Method: p.Method,
		At: inZone(o.CreatedAt, e.TimeZone, "15:04:05"), Again: c.QueryParam("again") != "", Tickets: list,
	}
	return s.render(c, http.StatusOK, "sold", v)
}
