package sale

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"foyer/seats"
)

// OrderView is what the buyer is shown of an order at one moment.
type OrderView struct {
	Order           // Status is the status at Now, swept or not
	Now   time.Time // the server's clock
	PayBy time.Time // zero unless a payment runs
	Codes []string  // what the tickets show at the door, by seat, "" for one that was refunded; nil unless PAID
}

func (o *Office) view(r Reader, n *Order) *OrderView {
	v := &OrderView{Order: *n, Now: r.Now()}
	v.Status = n.StatusAt(v.Now)
	switch v.Status {
	case Paying:
		v.PayBy = n.Payments[len(n.Payments)-1].PayBy
	case Paid:
		for i, s := range n.Seats {
			code := ""
			if n.Keeps(i) {
				code = o.ticketCode(s.Ticket)
			}
			v.Codes = append(v.Codes, code)
		}
	}
	return v
}

// Steps are the steps of the order up to Now, the hold first, lapsed or not
// whether or not the sweep has come by. What was sold at the door was not held.
func (v *OrderView) Steps() []Change {
	var all []Change
	if v.Visitor != uuid.Nil {
		all = append(all, Change{At: v.CreatedAt, Status: Pending, Cause: "hold.made", By: visitorActor})
	}
	all = append(all, v.History...)
	if v.Status == Expired && len(all) > 0 && all[len(all)-1].Status.Open() {
		all = append(all, Change{At: v.HoldExpiresAt, Status: Expired, Cause: "hold.lapsed", By: houseActor})
	}
	return all
}

// GaveWay tells whether the order ended because the money for an older one of the
// same buyer's had come, which has the seats; its id is empty in older files.
func (v *OrderView) GaveWay() (older string, did bool) {
	if n := len(v.History); n > 0 && v.History[n-1].Cause == causeGaveWay {
		return v.History[n-1].Detail, true
	}
	return "", false
}

// Valid tells whether seat i has a ticket that is good at the door.
func (v *OrderView) Valid(i int) bool { return v.Status == Paid && v.Keeps(i) }

// Gone tells whether seat i was taken back and its price is returned.
func (v *OrderView) Gone(i int) bool { return v.Seats[i].Refund != uuid.Nil }

// Paid finds the payment whose money the order has, returned or not.
func (v *OrderView) Paid() (Payment, bool) {
	p, ok := v.payer()
	if !ok {
		return Payment{}, false
	}
	return *p, true
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

// Find finds the order that has this id, or a ticket that has it.
func (o *Office) Find(id uuid.UUID) (v *OrderView, ok bool) {
	_ = o.store.View(func(r Reader) error {
		n, found := r.Order(id)
		if !found {
			n, found = r.Ticketed(id)
		}
		if ok = found; ok {
			v = o.view(r, n)
		}
		return nil
	})
	return v, ok
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

// Attention lists the payment facts that a person must decide, oldest first:
// also those whose money should be back by now and of which nobody has heard.
func (o *Office) Attention() (list []*Receipt) {
	_ = o.store.View(func(r Reader) error {
		list = r.Matters(func(rc *Receipt) bool { return rc.undecided(r.Now()) })
		return nil
	})
	return list
}

// Stray lists the money that came for an order and did not fit it, oldest first:
// of the wrong sum, or a second time.
func (o *Office) Stray(order uuid.UUID) (found []*Receipt) {
	_ = o.store.View(func(r Reader) error {
		name := order.String()
		found = r.Matters(func(rc *Receipt) bool { return rc.Fact.Kind == FactSucceeded && rc.Fact.Order == name })
		return nil
	})
	return found
}

// Decided lists the payment facts about which was decided, the newest fact first,
// before a number (0: from the newest), at most n.
func (o *Office) Decided(before uint64, n int) (list []*Receipt) {
	_ = o.store.View(func(r Reader) error {
		list = r.Matters(func(rc *Receipt) bool { return rc.Settled != nil && (before == 0 || rc.Seq < before) })
		return nil
	})
	slices.Reverse(list)
	return list[:min(n, len(list))]
}

// Audit lists what staff and the house did, newest first, before seq (0: from
// the newest), at most n.
func (o *Office) Audit(before uint64, n int) ([]Entry, error) { return o.store.Entries(before, n) }

// Changed returns a channel that is closed at the next commit that touches the event.
func (o *Office) Changed(event string) <-chan struct{} { return o.store.Changed(event) }

// Calendar is the time by which events are planned.
func (o *Office) Calendar() (now time.Time) {
	_ = o.store.View(func(r Reader) error {
		now = r.Calendar()
		return nil
	})
	return now
}

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
	err = o.store.View(func(r Reader) (err error) {
		_, p, err = planned(r, id)
		return err
	})
	return p, err
}

// planned finds an event that has a plan.
func planned(r Reader, id string) (*Event, *seats.Plan, error) {
	e, ok := r.Event(id)
	if !ok {
		return nil, nil, ErrNoSuchEvent
	}
	p := r.Plan(id)
	if p == nil {
		return nil, nil, ErrNoPlan
	}
	return e, p, nil
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
		e, p, err := planned(r, id)
		if err != nil {
			return err
		}
		v = seatsView(r, e, p)
		return nil
	})
	return v, err
}

func seatsView(r Reader, e *Event, p *seats.Plan) SeatsView {
	v := SeatsView{PlanVersion: e.PlanVersion, AsOf: r.Now(), States: make([]seats.State, p.Len())}
	for i := range v.States {
		v.States[i] = seatState(r, e, p.Seat(i))
	}
	v.Counts = seats.Count(v.States)
	return v
}

func seatState(r Reader, e *Event, s *seats.Seat) seats.State {
	h, ok := r.Holder(e.ID, s.ID)
	switch {
	case ok && h.Status == Paid:
		return seats.Sold
	case ok && h.Has(r.Now()):
		return seats.Held
	case !e.sells(s.ID, s.Category):
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
		v = Live{Status: o.status(r, e), Orders: map[OrderStatus]int{}, Currency: e.Currency}
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
				done, open := h.Returned()
				v.Taken += h.Received() - done - open
			}
		}
		v.Counts = seats.Count(states)
		return nil
	})
	return v, err
}
