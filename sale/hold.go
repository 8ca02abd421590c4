package sale

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"foyer/queue"
	"foyer/seats"
)

// holdPlan is a hold that may be made: everything is decided, nothing written.
type holdPlan struct {
	event  *Event
	place  Place
	plan   *seats.Plan
	seats  []int    // indexes in the plan, sorted
	old    *Order   // the visitor's own hold, to be replaced
	lapsed []*Order // holds whose time is over, to be ended first
}

// Hold takes all the seats asked for or none, until one deadline. A visitor's
// new hold replaces his old one in the same transaction; seats he keeps do not
// get more time, and no chain of holds outlives the turn by more than one
// holdSeconds. The refusals, in this order: token, shape of the wish, unknown
// seats, a running payment, taken seats (with exactly the lost ones).
func (o *Office) Hold(r HoldRequest) (*OrderView, error) {
	began := o.now()
	v, err := o.take(r)
	if worked(err) && o.now().Sub(began) <= slow {
		o.saw(r.Event, queue.Holds, 1, 0)
	} else {
		o.saw(r.Event, queue.Holds, 0, 1)
	}
	return v, err
}

// take is Hold, unseen by what steers the pace.
func (o *Office) take(r HoldRequest) (v *OrderView, err error) {
	for try := range bestTries {
		found, done, err := o.look(r)
		if err != nil {
			return nil, err
		}
		if try == bestTries-1 {
			found = nil // look again in the writer, where nobody can be quicker
		}
		err = o.store.Update(func(tx Tx) error {
			h, err := o.planHold(tx, r, found)
			if err == nil {
				v = o.view(tx, o.hold(tx, h))
			}
			return err
		})
		done()
		if !errors.Is(err, errOutrun) {
			return v, err
		}
	}
	return nil, errOutrun // not reached: the last try cannot be outrun
}

// planHold decides. found is what was decided a moment before: the seats of a
// "best" wish are looked for when it is nil, and otherwise taken from it or, if
// they are gone, refused with errOutrun.
func (o *Office) planHold(r Reader, w HoldRequest, found *holdPlan) (*holdPlan, error) {
	h := &holdPlan{}
	if err := o.checkTurn(r, w, h); err != nil {
		return nil, err
	}
	if err := w.checkShape(h.event.Rules.MaxSeatsPerOrder); err != nil {
		return nil, err
	}
	if h.place.Turn.State == TurnClaimed {
		h.old, _ = r.Order(h.place.Turn.Order)
	}
	h.plan = r.Plan(w.Event)
	if w.Best {
		return h, h.chooseBest(r, w, found)
	}
	if err := h.chooseNamed(w.Seats); err != nil {
		return nil, err
	}
	if err := h.checkUse(); err != nil {
		return nil, err
	}
	return h, h.checkFree(r)
}

// checkTurn finds the turn that the token gives, or refuses (fail closed).
func (o *Office) checkTurn(r Reader, w HoldRequest, h *holdPlan) error {
	e, ok := r.Event(w.Event)
	if !ok {
		return ErrNoSuchEvent
	}
	if w.Token == "" {
		return ErrNoEntryToken
	}
	claim, ok := o.parseToken(w.Token)
	switch {
	case !ok:
		return ErrNotAdmitted
	case claim.ordinal != e.Ordinal:
		return ErrWrongEvent
	case w.Visitor != uuid.Nil && w.Visitor != claim.visitor:
		return ErrNotAdmitted.say("This entry token was given to another visitor.")
	}
	p, ok := r.Place(w.Event, claim.visitor)
	if !ok || p.Number != claim.number {
		return ErrNotAdmitted
	}
	stored := p
	p = place(r, e, p)
	switch p.Turn.State {
	case TurnReady, TurnClaimed:
		if !r.Now().Before(latest(e, p)) {
			return ErrTokenExpired.say("Your turn is over. You may still pay for the seats you hold, but not choose others.")
		}
		if p.Turn.Holds >= maxHolds {
			return ErrTooManyHolds
		}
		h.event, h.place = e, p
		if stored.Turn.State == TurnClaimed && p.Turn.State == TurnReady { // his own hold is over and no sweep came by
			if own, ok := r.Order(stored.Turn.Order); ok && own.Lapsed(r.Now()) {
				h.lapsed = append(h.lapsed, own)
			}
		}
		return nil
	case TurnExpired, TurnAside:
		return ErrTokenExpired
	case TurnConsumed:
		return ErrNotAdmitted.say("This turn has bought its tickets. Join the line again to buy more.")
	}
	return ErrNotAdmitted
}

// maxHolds bounds the holds of one turn: nobody changes his mind so often, and
// each leaves an order on disk.
const maxHolds = 1000

// latest is the time at which every chain of holds of one turn is over.
func latest(e *Event, p Place) time.Time {
	return p.Turn.ExpiresAt.Add(seconds(e.Rules.HoldSeconds))
}

func (w *HoldRequest) checkShape(most int) error {
	if w.Best {
		switch {
		case w.Count < 1:
			return ErrNoSeats
		case w.Count > most:
			return ErrTooMany.say("One order may have at most " + strconv.Itoa(most) + " seats.")
		}
		return nil
	}
	switch err := seats.CheckWish(w.Seats, most); {
	case errors.Is(err, seats.ErrNone):
		return ErrNoSeats
	case errors.Is(err, seats.ErrTooMany):
		return ErrTooMany.say("One order may have at most " + strconv.Itoa(most) + " seats.")
	case errors.Is(err, seats.ErrDuplicate):
		return ErrDuplicate
	default:
		return err
	}
}

// chooseNamed finds the seats named, in the order of the plan.
func (h *holdPlan) chooseNamed(ids []string) error {
	var unknown []string
	for _, id := range ids {
		i, ok := -1, false
		if h.plan != nil {
			i, ok = h.plan.Index(id)
		}
		if !ok || !h.priced(i) {
			unknown = append(unknown, id)
			continue
		}
		h.seats = append(h.seats, i)
	}
	if unknown != nil {
		return ErrNoSuchSeat.with(unknown)
	}
	slices.Sort(h.seats)
	return nil
}

func (h *holdPlan) priced(i int) bool {
	_, ok := h.event.Prices[h.plan.Seat(i).Category]
	return ok
}

// offSale tells whether staff keep seat i from buyers.
func (h *holdPlan) offSale(i int) bool {
	_, blocked := h.event.Blocked[h.plan.Seat(i).ID]
	return blocked
}

// holder finds whoever keeps seat i from this visitor.
func (h *holdPlan) holder(r Reader, i int) (o *Order, keeps bool) {
	o, ok := r.Holder(h.event.ID, h.plan.Seat(i).ID)
	if !ok || h.old != nil && o.ID == h.old.ID {
		return nil, false
	}
	return o, o.Has(r.Now())
}

// checkUse refuses while a payment runs for the turn or a shop claims it.
func (h *holdPlan) checkUse() error {
	switch {
	case h.old != nil && h.old.Status == Paying:
		return ErrTurnInUse
	case h.place.Turn.byShop():
		return ErrTurnInUse.say("The shop is using your turn for an order of its own. Finish or cancel that one first.")
	}
	return nil
}

func (h *holdPlan) checkFree(r Reader) error {
	var lost []string
	for _, i := range h.seats {
		o, keeps := h.holder(r, i)
		switch {
		case keeps, h.offSale(i) && (h.old == nil || !h.old.claims(h.plan.Seat(i).ID)):
			lost = append(lost, h.plan.Seat(i).ID)
		case o != nil && o.Status.Open() && !slices.Contains(h.lapsed, o):
			h.lapsed = append(h.lapsed, o)
		}
	}
	if lost != nil {
		return ErrSeatsTaken.with(lost)
	}
	return nil
}

// hold writes a decided hold.
func (o *Office) hold(tx Tx, h *holdPlan) *Order {
	for _, l := range h.lapsed {
		o.lapse(tx, l)
	}
	n := o.newOrder(tx, h)
	n.HoldExpiresAt = n.CreatedAt.Add(seconds(h.event.Rules.HoldSeconds))
	if last := latest(h.event, h.place); n.HoldExpiresAt.After(last) {
		n.HoldExpiresAt = last
	}
	if h.old != nil && h.old.Has(tx.Now()) {
		if n.sharesSeats(h.old) {
			n.Extended = h.old.Extended
			if h.old.Extended || h.old.HoldExpiresAt.Before(n.HoldExpiresAt) {
				n.HoldExpiresAt = h.old.HoldExpiresAt
			}
		}
		o.cancelOrder(tx, h.old, "hold.replaced", visitorActor, "")
	}
	tx.PutOrder(n)
	p := h.place
	p.Turn.State, p.Turn.Order, p.Turn.PickedUp = TurnClaimed, n.ID, true
	p.Turn.Holds++
	tx.PutPlace(p)
	o.hadHold(tx, h.event)
	return n
}

func (o *Order) sharesSeats(other *Order) bool {
	return slices.ContainsFunc(o.Seats, func(s OrderSeat) bool {
		return slices.ContainsFunc(other.Seats, func(t OrderSeat) bool { return s.ID == t.ID })
	})
}

// Release gives held seats back; the turn is READY again while it has time
// left. Giving back twice is no fault.
func (o *Office) Release(visitor, order uuid.UUID) error {
	_, err := o.Cancel(visitor, order)
	return err
}

// Cancel is Release with a look at the order. It refuses with [ErrOrderPaid]
// when money has come and with [ErrPaying] while it may be on its way.
func (o *Office) Cancel(visitor, order uuid.UUID) (v *OrderView, err error) {
	err = o.store.Update(func(tx Tx) error {
		n, err := own(tx, visitor, order)
		if err != nil {
			return err
		}
		switch n.StatusAt(tx.Now()) {
		case Pending:
			n = o.cancel(tx, n, "hold.released", visitorActor)
		case Paying:
			return ErrPaying
		case Paid, RefundDue, Refunded:
			return ErrOrderPaid
		}
		v = o.view(tx, n)
		return nil
	})
	return v, err
}

// visitorActor stands for the buyer in an order's history.
const visitorActor = "visitor"

// cancel ends an open order and gives its turn back.
func (o *Office) cancel(tx Tx, order *Order, cause, by string) *Order {
	n := o.cancelOrder(tx, order, cause, by, "")
	o.unclaim(tx, n)
	return n
}

func (o *Office) cancelOrder(tx Tx, order *Order, cause, by, detail string) *Order {
	n := order.clone()
	n.Status = Cancelled
	n.UpdatedAt = tx.Now()
	n.note(tx.Now(), cause, by, detail)
	tx.PutOrder(n)
	o.recount(tx, n)
	return n
}

// own finds an order of this visitor. Unknown and foreign look alike.
func own(r Reader, visitor, order uuid.UUID) (*Order, error) {
	n, ok := r.Order(order)
	if !ok || n.Visitor != visitor || visitor == uuid.Nil {
		return nil, ErrNoSuchOrder
	}
	return n, nil
}

func (o *Order) clone() *Order {
	c := *o
	c.Seats = slices.Clone(o.Seats)
	c.Payments = slices.Clone(o.Payments)
	c.Confirms = slices.Clone(o.Confirms)
	c.Refunds = slices.Clone(o.Refunds)
	c.History = slices.Clone(o.History)
	return &c
}
