package sale

import (
	"time"

	"github.com/google/uuid"

	"foyer/seats"
)

// OrderView is what the buyer is shown of an order at one moment.
type OrderView struct {
	Order           // Status is the status at Now, swept or not
	Now   time.Time // the server's clock
	PayBy time.Time // zero unless a payment runs
	Codes []string  // what the tickets show at the door, by seat; nil unless PAID
}

func (o *Office) view(r Reader, n *Order) *OrderView {
	v := &OrderView{Order: *n, Now: r.Now()}
	v.Status = n.StatusAt(v.Now)
	switch v.Status {
	case Paying:
		v.PayBy = n.Payments[len(n.Payments)-1].PayBy
	case Paid:
		for _, s := range n.Seats {
			v.Codes = append(v.Codes, o.ticketCode(s.Ticket))
		}
	}
	return v
}

// Order shows a visitor his order. Unknown and foreign ones are both
// [ErrNoSuchOrder].
func (o *Office) Order(visitor, order uuid.UUID) (v *OrderView, err error) {
	err = o.store.View(func(r Reader) error {
		n, err := own(r, visitor, order)
		if err == nil {
			v = o.view(r, n)
		}
		return err
	})
	return v, err
}

// AnyOrder shows staff an order.
func (o *Office) AnyOrder(order uuid.UUID) (v *OrderView, err error) {
	err = o.store.View(func(r Reader) error {
		n, ok := r.Order(order)
		if !ok {
			return ErrNoSuchOrder
		}
		v = o.view(r, n)
		return nil
	})
	return v, err
}

// Orders lists an event's orders for staff, newest first, starting before an
// order's id (uuid.Nil: from the newest), at most n.
func (o *Office) Orders(event string, before uuid.UUID, n int) ([]*OrderView, error) {
	if _, _, err := o.Event(event); err != nil {
		return nil, err
	}
	orders, err := o.store.Orders(event, before, n)
	if err != nil {
		return nil, err
	}
	var views []*OrderView
	_ = o.store.View(func(r Reader) error {
		for _, n := range orders {
			views = append(views, o.view(r, n))
		}
		return nil
	})
	return views, nil
}

// RefundsDue lists the orders of all events whose money must go back, oldest first.
func (o *Office) RefundsDue() (views []*OrderView) {
	due := o.store.RefundsDue()
	_ = o.store.View(func(r Reader) error {
		for _, n := range due {
			views = append(views, o.view(r, n))
		}
		return nil
	})
	return views
}

// keepClosed is how long an order that came to nothing is kept: longer than any
// provider repeats its events.
const keepClosed = 30 * 24 * time.Hour

// Tidy forgets orders that came to nothing long ago.
func (o *Office) Tidy() error {
	var before time.Time
	_ = o.store.View(func(r Reader) error {
		before = r.Now().Add(-keepClosed)
		return nil
	})
	for more := true; more; {
		var err error
		if more, err = o.store.ForgetOrders(before); err != nil {
			return err
		}
	}
	before = before.Add(keepClosed - KeepTasks)
	for more := true; more; {
		var err error
		if more, err = o.store.ForgetTasks(before); err != nil {
			return err
		}
	}
	return nil
}

// Attention lists the payment facts that a person must decide, oldest first.
func (o *Office) Attention() []*Receipt { return o.store.Attention() }

// Audit lists what staff and the house did, newest first, before seq (0: from
// the newest), at most n.
func (o *Office) Audit(before uint64, n int) ([]Entry, error) { return o.store.Entries(before, n) }

// Changed returns a channel that is closed at the next commit that touches the event.
func (o *Office) Changed(event string) <-chan struct{} { return o.store.Changed(event) }

// Event finds an event and its phase.
func (o *Office) Event(id string) (e *Event, phase Phase, err error) {
	err = o.store.View(func(r Reader) error {
		var ok bool
		if e, ok = r.Event(id); !ok {
			return ErrNoSuchEvent
		}
		phase = e.Phase(r.Calendar(), r.Line(id).Sold)
		return nil
	})
	return e, phase, err
}

// Events gives all events in the order of their creation.
func (o *Office) Events() (events []*Event) {
	_ = o.store.View(func(r Reader) error {
		events = r.Events()
		return nil
	})
	return events
}

// Plan gives an event's plan ([ErrNoPlan] when there is none yet).
func (o *Office) Plan(id string) (p *seats.Plan, err error) {
	err = o.store.View(func(r Reader) error {
		if _, ok := r.Event(id); !ok {
			return ErrNoSuchEvent
		}
		if p = r.Plan(id); p == nil {
			return ErrNoPlan
		}
		return nil
	})
	return p, err
}

// Status is the public state of one event, the same for everybody.
type Status struct {
	Phase     Phase
	Frontier  uint64 // everybody with a smaller number has been called
	Pace      int    // turns per second
	Waiting   int
	Active    int
	SeatsLeft int // not sold: free or held
	Sold      int // seats in PAID orders
	SoldOut   bool
	Message   string
	OpensAt   *time.Time
	Now       time.Time // by the calendar, as OpensAt
}

// Status gives the public state of an event.
func (o *Office) Status(id string) (s Status, err error) {
	err = o.store.View(func(r Reader) error {
		e, ok := r.Event(id)
		if !ok {
			return ErrNoSuchEvent
		}
		s = status(r, e)
		return nil
	})
	return s, err
}

func status(r Reader, e *Event) Status {
	l := r.Line(e.ID)
	return Status{
		Phase: e.Phase(r.Calendar(), l.Sold), Frontier: r.Frontier(e.ID), Pace: e.Rules.AdmitPerSecond, Waiting: l.Waiting,
		Active: l.Active, SeatsLeft: max(0, e.Sellable-l.Sold), Sold: l.Sold, SoldOut: e.Sellable > 0 && l.Sold >= e.Sellable,
		Message: e.Message, OpensAt: e.OpensAt, Now: r.Calendar(),
	}
}

// SeatsView is the picture of the house at AsOf: one state per seat in plan order.
type SeatsView struct {
	PlanVersion string
	AsOf        time.Time
	Counts      seats.Counts
	States      []seats.State
}

// Seats paints the picture of the house.
func (o *Office) Seats(id string) (v SeatsView, err error) {
	err = o.store.View(func(r Reader) error {
		e, ok := r.Event(id)
		if !ok {
			return ErrNoSuchEvent
		}
		p := r.Plan(id)
		if p == nil {
			return ErrNoPlan
		}
		v = SeatsView{PlanVersion: e.PlanVersion, AsOf: r.Now(), States: make([]seats.State, p.Len())}
		for i := range v.States {
			v.States[i] = seatState(r, e, p.Seat(i))
		}
		v.Counts = seats.Count(v.States)
		return nil
	})
	return v, err
}

func seatState(r Reader, e *Event, s *seats.Seat) seats.State {
	h, ok := r.Holder(e.ID, s.ID)
	_, priced := e.Prices[s.Category]
	switch {
	case ok && h.Status == Paid:
		return seats.Sold
	case ok && h.Has(r.Now()):
		return seats.Held
	case !priced:
		return seats.OffSale
	}
	return seats.Available
}

// Live is what staff watch of an event.
type Live struct {
	Status   Status
	Counts   seats.Counts
	Orders   map[OrderStatus]int // orders that have seats now
	Taken    int64               // minor units in PAID orders
	Currency string
}

// Live gives the numbers that staff watch.
func (o *Office) Live(id string) (v Live, err error) {
	err = o.store.View(func(r Reader) error {
		e, ok := r.Event(id)
		if !ok {
			return ErrNoSuchEvent
		}
		v = Live{Status: status(r, e), Orders: map[OrderStatus]int{}, Currency: e.Currency}
		p := r.Plan(id)
		if p == nil {
			return nil
		}
		states := make([]seats.State, p.Len())
		seen := map[uuid.UUID]bool{}
		for i := range states {
			states[i] = seatState(r, e, p.Seat(i))
			h, ok := r.Holder(id, p.Seat(i).ID)
			if !ok || seen[h.ID] || !h.Has(r.Now()) {
				continue
			}
			seen[h.ID] = true
			v.Orders[h.Status]++
			if h.Status == Paid {
				v.Taken += h.Total
			}
		}
		v.Counts = seats.Count(states)
		return nil
	})
	return v, err
}
