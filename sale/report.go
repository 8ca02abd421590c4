package sale

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Report tells what was sold, what money came and what went back, of one event
// and within a window of time. Money counts at the moment when it came or went,
// tickets when they were sold and taken back; Orders and Attention are those of
// now, whatever the window. The JSON form is the API's.
//
// A Report is fed with orders and receipts and then closed. It checks itself:
// each order against its own sums, and the sums by provider, category and
// operator against the total.
type Report struct {
	At         time.Time           `json:"-"` // now
	Total      Sums                `json:"total"`
	Waived     Money               `json:"waived"` // what staff let go of the price of tickets; negative when more was accepted
	Late       Money               `json:"late"`   // received for orders that never got their seats; part of Total.Gross
	Providers  []ProviderSums      `json:"providers"`
	Categories []CategorySums      `json:"categories"`
	Operators  []OperatorSums      `json:"operators"`
	Orders     map[OrderStatus]int `json:"orders"`
	Attention  AttentionSums       `json:"attention"`
	// Balanced tells that everything fits; Differences are sentences about what
	// does not, at most maxDifferences.
	Balanced    bool     `json:"balanced"`
	Differences []string `json:"differences"`

	currency     string
	since, until time.Time
	providers    map[string]*Sums
	categories   map[string]*CategorySums
	operators    map[[2]string]*Sums
	names        map[string]string // of operators
	overflow     bool
}

// maxDifferences bounds what a report lists.
const maxDifferences = 100

// Sums are tickets sold and money received and given back.
type Sums struct {
	Orders   int   `json:"orders"`   // with money, or paid although they cost nothing
	Tickets  int   `json:"tickets"`  // sold
	Returned int   `json:"returned"` // tickets taken back
	Gross    Money `json:"gross"`    // received
	Refunded Money `json:"refunded"` // given back
	Net      Money `json:"net"`      // Gross less Refunded
	// Refunding is to be given back and not there yet; Failed was refused by the
	// provider and needs a person. Both are still in Net.
	Refunding Money `json:"refunding"`
	Failed    Money `json:"failed"`
}

// ProviderSums are those of one payment provider, or "shop", "door" and "free".
type ProviderSums struct {
	Provider string `json:"provider"`
	Sums
}

// OperatorSums are those of somebody who sold or gave back, by the way of the
// money: "cash", "card" and "free" at the door, else the name of the provider
// that was asked to give it back.
type OperatorSums struct {
	Operator string `json:"operator"` // "staff:<key id>", "house"
	Name     string `json:"name"`     // of the key, when there still is one
	Method   string `json:"method"`
	Sums
}

// CategorySums are tickets of one category at their prices.
type CategorySums struct {
	Category string `json:"category"`
	Tickets  int    `json:"tickets"`  // sold
	Returned int    `json:"returned"` // tickets taken back
	Sold     Money  `json:"sold"`     // prices of Tickets
	Back     Money  `json:"back"`     // prices of Returned
	Kept     Money  `json:"kept"`     // Sold less Back
}

// AttentionSums are payments that fitted no order: each sum by currency, since
// such money may come in any.
type AttentionSums struct {
	Open      int     `json:"open"`      // facts that a person must still decide about, refunds too
	Unsettled []Money `json:"unsettled"` // money that nobody has decided about
	Refunding []Money `json:"refunding"` // on its way back, by a decision
	Returned  []Money `json:"returned"`  // given back
	Kept      []Money `json:"kept"`      // settled without Foyer giving it back
	Unplaced  []Money `json:"unplaced"`  // not part of the event: undecided money of the whole house for orders that nobody knows
}

// NewReport makes an empty report of an event in a currency. Money counts from
// since on and before until; zero times are no bounds. now is for the statuses.
func NewReport(currency string, since, until, now time.Time) *Report {
	r := &Report{
		Orders: map[OrderStatus]int{}, At: now, currency: currency, since: since, until: until,
		providers: map[string]*Sums{}, categories: map[string]*CategorySums{}, operators: map[[2]string]*Sums{},
		Waived: Money{0, currency}, Late: Money{0, currency}, Differences: []string{},
		Providers: []ProviderSums{}, Categories: []CategorySums{}, Operators: []OperatorSums{},
		Attention: AttentionSums{Unsettled: []Money{}, Refunding: []Money{}, Returned: []Money{}, Kept: []Money{}, Unplaced: []Money{}},
	}
	r.Total = r.sums()
	return r
}

func (r *Report) sums() Sums {
	zero := Money{0, r.currency}
	return Sums{Gross: zero, Refunded: zero, Net: zero, Refunding: zero, Failed: zero}
}

func (r *Report) within(at time.Time) bool {
	return (r.since.IsZero() || !at.Before(r.since)) && (r.until.IsZero() || at.Before(r.until))
}

// add sums minor units, and remembers when that was too much for an int64.
func (r *Report) add(to *Money, n int64) {
	sum := to.Amount + n
	if (sum > to.Amount) != (n > 0) && n != 0 {
		r.overflow = true
	}
	to.Amount = sum
}

func (r *Report) differ(format string, args ...any) {
	if len(r.Differences) < maxDifferences {
		r.Differences = append(r.Differences, fmt.Sprintf(format, args...))
	}
}

// accounts are the sums that money of a provider is part of. The operator is
// empty when nobody of the house handled it.
func (r *Report) accounts(provider, operator, method string) []*Sums {
	list := []*Sums{&r.Total, kept(r.providers, provider, r.sums)}
	if operator != "" {
		list = append(list, kept(r.operators, [2]string{operator, method}, r.sums))
	}
	return list
}

func kept[K comparable, V any](m map[K]*V, k K, fresh func() V) *V {
	v, ok := m[k]
	if !ok {
		n := fresh()
		v = &n
		m[k] = v
	}
	return v
}

// Order books one order of the event; each is to be fed once.
func (r *Report) Order(o *Order) {
	r.Orders[o.StatusAt(r.At)]++
	r.inspect(o)
	payer, _ := o.payer()
	for i := range o.Payments {
		p := &o.Payments[i]
		if !p.State.Received() || !r.within(p.At) {
			continue
		}
		operator := ""
		if p.Provider == door {
			operator = p.By
		}
		for _, s := range r.accounts(p.Provider, operator, p.Method) {
			s.Orders++
			r.add(&s.Gross, p.Amount)
			if p == payer && !o.PaidAt.IsZero() {
				s.Tickets += len(o.Seats)
			}
		}
		switch {
		case p != payer: // inspect has said so
		case o.PaidAt.IsZero():
			r.add(&r.Late, p.Amount)
		default:
			r.add(&r.Waived, o.Waived)
			for _, seat := range o.Seats {
				c := r.category(seat)
				c.Tickets++
				r.add(&c.Sold, seat.Price)
			}
		}
	}
	for i := range o.Refunds {
		r.refund(o, payer, &o.Refunds[i])
	}
}

func (r *Report) category(s OrderSeat) *CategorySums {
	zero := Money{0, r.currency}
	return kept(r.categories, s.Category, func() CategorySums { return CategorySums{Category: s.Category, Sold: zero, Back: zero, Kept: zero} })
}

func (r *Report) refund(o *Order, payer *Payment, f *Refund) {
	if payer == nil {
		return // inspect has said so
	}
	moved, method := f.At, payer.Provider
	if f.State == RefundDone {
		moved = f.EndedAt
	}
	if payer.Provider == door {
		method = payer.Method
	}
	money, tickets := r.within(moved), r.within(f.At)
	if !money && !tickets {
		return
	}
	var seats []OrderSeat
	for _, s := range o.Seats {
		if tickets && s.Refund == f.ID {
			seats = append(seats, s)
		}
	}
	for _, s := range r.accounts(payer.Provider, f.By, method) {
		s.Returned += len(seats)
		switch {
		case !money:
		case f.State == RefundDone:
			r.add(&s.Refunded, f.Amount)
		case f.State == RefundFailed:
			r.add(&s.Failed, f.Amount)
		case f.State.Open():
			r.add(&s.Refunding, f.Amount)
		}
	}
	for _, s := range seats {
		c := r.category(s)
		c.Returned++
		r.add(&c.Back, s.Price)
	}
}

// Receipt books a payment fact that came onto the attention list; placed tells
// that it is about an order of the event, else of none that is known.
func (r *Report) Receipt(rc *Receipt, placed bool) {
	f, a := rc.Fact, &r.Attention
	money := f.Kind == FactSucceeded && f.Odd == "" && f.Amount > 0
	if !placed {
		if money && rc.Settled == nil && !rc.returned() {
			r.addIn(&a.Unplaced, f)
		}
		return
	}
	if rc.Settled == nil && !rc.returned() {
		a.Open++
	}
	switch {
	case !money:
	case rc.returned():
		r.addIn(&a.Returned, f)
	case rc.Settled == nil:
		r.addIn(&a.Unsettled, f)
	case rc.Refund != nil && rc.Refund.waits():
		r.addIn(&a.Refunding, f)
	default:
		r.addIn(&a.Kept, f)
	}
}

// returned tells whether the money of the receipt was given back.
func (rc *Receipt) returned() bool { return rc.Refund != nil && rc.Refund.State == RefundDone }

func (r *Report) addIn(list *[]Money, f Fact) {
	i := slices.IndexFunc(*list, func(m Money) bool { return m.Currency == f.Currency })
	if i < 0 {
		i = len(*list)
		*list = append(*list, Money{0, f.Currency})
	}
	m := &(*list)[i]
	if m.Amount > math.MaxInt64-f.Amount { // whoever sends such sums must not take the report away
		m.Amount = math.MaxInt64
		r.differ("On the attention list are larger sums of %s than numbers can be here.", f.Currency)
		return
	}
	m.Amount += f.Amount
}

var errReportOverflow = errors.New("sale: the sums of the report are larger than numbers can be here")

// Close sums up, sorts and checks. It returns an error when a sum does not fit
// an int64; there is no report then.
func (r *Report) Close() error {
	for _, p := range slices.Sorted(maps.Keys(r.providers)) {
		r.net(r.providers[p])
		r.Providers = append(r.Providers, ProviderSums{p, *r.providers[p]})
	}
	for _, k := range slices.SortedFunc(maps.Keys(r.operators), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		r.net(r.operators[k])
		r.Operators = append(r.Operators, OperatorSums{Operator: k[0], Name: r.names[k[0]], Method: k[1], Sums: *r.operators[k]})
	}
	for _, name := range slices.Sorted(maps.Keys(r.categories)) {
		c := r.categories[name]
		r.add(&c.Kept, c.Sold.Amount)
		r.add(&c.Kept, -c.Back.Amount)
		r.Categories = append(r.Categories, *c)
	}
	r.net(&r.Total)
	r.balance()
	r.Balanced = len(r.Differences) == 0
	if r.overflow {
		return errReportOverflow
	}
	return nil
}

func (r *Report) net(s *Sums) {
	r.add(&s.Net, s.Gross.Amount)
	r.add(&s.Net, -s.Refunded.Amount)
}

// Report sums up an event: money from since on and before until; zero times are
// no bounds. Orders that change while it reads are in it as they were at one
// moment each. It refuses with [ErrNoSuchEvent].
func (o *Office) Report(event string, since, until time.Time) (*Report, error) {
	var r *Report
	err := o.store.View(func(rd Reader) error {
		e, ok := rd.Event(event)
		if !ok {
			return ErrNoSuchEvent
		}
		r = NewReport(e.Currency, since, until, rd.Now())
		r.names = map[string]string{}
		for _, k := range rd.Keys() {
			r.names["staff:"+k.ID] = k.Name
		}
		for _, rc := range rd.Matters(nil) {
			id, err := uuid.Parse(rc.Fact.Order)
			n, known := rd.Order(id)
			switch {
			case err != nil || !known:
				r.Receipt(rc, false)
			case n.Event == event:
				r.Receipt(rc, true)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = o.eachOrders(event, func(some []*Order) error {
		for _, n := range some {
			r.Order(n)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, r.Close()
}

// ordersAtOnce is how many orders are read at once for a report, and changed in
// one transaction when buyers are forgotten.
const ordersAtOnce = 500

// eachOrders hands over all orders of an event, newest first, some at a time, and
// ends with the first error of fn.
func (o *Office) eachOrders(event string, fn func(some []*Order) error) error {
	for before, page := (uuid.UUID{}), ordersAtOnce; page == ordersAtOnce; {
		some, err := o.store.Orders(event, before, ordersAtOnce)
		if err != nil {
			return err
		}
		if page = len(some); page > 0 {
			before = some[page-1].ID
		}
		if err := fn(some); err != nil {
			return err
		}
	}
	return nil
}
