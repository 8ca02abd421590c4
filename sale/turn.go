package sale

import (
	"slices"
	"time"
)

// call gives a place its turn.
func call(e *Event, p Place, now time.Time, present bool) Place {
	p.Turn = Turn{State: TurnReady, CalledAt: now, ExpiresAt: now.Add(seconds(e.Rules.TurnSeconds)), PickedUp: present}
	return p
}

// at tells where a place stands at now, whether or not the sweep has come by:
// claimed is the order that claims the turn, or nil. Pure.
func (p Place) at(e *Event, claimed *Order, now time.Time) Place {
	t := &p.Turn
	if t.State == TurnClaimed && !t.shopHas(now) && (claimed == nil || !claimed.Has(now)) {
		t.State = TurnReady // the hold lapsed or was given back; the turn may have time left
	}
	if t.State == TurnReady {
		switch end := p.ends(e); {
		case now.Before(end):
		case end.Before(t.ExpiresAt):
			t.State, t.AsideAt = TurnAside, end
		default:
			t.State, t.EndedAt = TurnExpired, now
		}
	}
	if t.State == TurnAside {
		if !now.Before(p.keptUntil(e)) {
			t.State, t.EndedAt = TurnExpired, now
		}
	}
	return p
}

// ends is when a READY turn frees its slot by itself: its time is over, or before
// that nobody has come to pick it up.
func (p Place) ends(e *Event) time.Time {
	t := &p.Turn
	if pickup := t.CalledAt.Add(e.pickup(t.CalledAt)); !t.PickedUp && pickup.Before(t.ExpiresAt) {
		return pickup
	}
	return t.ExpiresAt
}

// frees is when an active turn will free its slot by itself: a claim on it keeps it
// as long as that lasts.
func frees(r Reader, e *Event, p Place) time.Time {
	end, claim := p.ends(e), time.Time{}
	if p.Turn.byShop() {
		claim = p.Turn.Shop.Until
	} else if order, ok := r.Order(p.Turn.Order); ok && p.Turn.State == TurnClaimed {
		claim = order.HoldExpiresAt
	}
	if claim.After(end) {
		return claim
	}
	return end
}

// Granted is what the rules were until staff shortened one of these times: whoever
// was called before keeps the longer one, to come and, once he is set aside, to come
// back.
type Granted struct {
	Until  time.Time `json:"until"`  // of calls
	Pickup int       `json:"pickup"` // seconds
	Return int       `json:"return"` // seconds
}

// maxGranted bounds the list: the oldest two are taken together, for the best of both.
const maxGranted = 16

// grantedBy is what a change of the rules must leave as it was: before is what earlier
// ones left. What can matter to nobody any more is dropped.
func grantedBy(old, now Rules, at time.Time, before []Granted) []Granted {
	if now.PickupSeconds >= old.PickupSeconds && now.ReturnSeconds >= old.ReturnSeconds {
		return before
	}
	last := Granted{Until: at, Pickup: old.PickupSeconds, Return: old.ReturnSeconds}
	pickup, back := last.Pickup, last.Return
	for _, g := range before {
		pickup, back = max(pickup, g.Pickup), max(back, g.Return)
	}
	var all []Granted
	for _, g := range before {
		if at.Sub(g.Until) < seconds(pickup+back) {
			all = append(all, g)
		}
	}
	if len(all) == maxGranted {
		all[1].Pickup, all[1].Return = max(all[0].Pickup, all[1].Pickup), max(all[0].Return, all[1].Return)
		all = all[1:]
	}
	return append(all, last)
}

// granted are the times to come and to come back, in seconds, of whoever was called
// then: the longest that the rules have said since.
func (e *Event) granted(called time.Time) (pickup, back int) {
	pickup, back = e.Rules.PickupSeconds, e.Rules.ReturnSeconds
	for _, g := range e.Granted {
		if called.Before(g.Until) {
			pickup, back = max(pickup, g.Pickup), max(back, g.Return)
		}
	}
	return pickup, back
}

// pickup is how long a turn waits for its visitor.
func (e *Event) pickup(called time.Time) time.Duration {
	pickup, _ := e.granted(called)
	return seconds(pickup)
}

// keptUntil is when a place that was set aside ends.
func (p Place) keptUntil(e *Event) time.Time {
	_, back := e.granted(p.Turn.CalledAt)
	return p.Turn.AsideAt.Add(seconds(back))
}

// place finds a visitor's place as it stands now.
func place(r Reader, e *Event, p Place) Place {
	var claimed *Order
	if p.Turn.State == TurnClaimed {
		claimed, _ = r.Order(p.Turn.Order)
	}
	return p.at(e, claimed, r.Now())
}

// refresh writes down what the clock has done to a place: a lapsed hold becomes
// EXPIRED and the outside is told, a turn nobody picked up is set aside, one
// whose time is over ends. It returns the place as it stands now.
func (o *Office) refresh(tx Tx, e *Event, p Place) Place {
	q := place(tx, e, p)
	if p.Turn.State == TurnClaimed {
		if order, ok := tx.Order(p.Turn.Order); ok && order.Lapsed(tx.Now()) {
			o.expire(tx, order)
		}
	}
	if q != p {
		tx.PutPlace(q)
	}
	return q
}

// expire ends a lapsed order. Its seats are free already: a lapsed order does
// not have them.
func (o *Office) expire(tx Tx, order *Order) {
	n := order.clone()
	n.Status = Expired
	n.UpdatedAt = tx.Now()
	n.note(n.HoldExpiresAt, "hold.lapsed", houseActor, "")
	tx.PutOrder(n)
	o.recount(tx, n)
	o.send(tx, TopicOrderExpired, orderKey(n), orderDoc(n))
}

// recount counts the seats on sale again when an order takes or gives back seats
// that are on sale only as long as somebody has them.
func (o *Office) recount(tx Tx, order *Order) {
	e, ok := tx.Event(order.Event)
	if !ok || !slices.ContainsFunc(order.Seats, func(s OrderSeat) bool { return !e.sells(s.ID, s.Category) }) {
		return
	}
	c := *e
	c.Sellable = sellable(tx, e, tx.Plan(e.ID))
	tx.PutEvent(&c)
}

// unclaim gives a turn back after its order ended without money.
func (o *Office) unclaim(tx Tx, order *Order) {
	e, ok := tx.Event(order.Event)
	if !ok {
		return
	}
	p, ok := tx.Place(order.Event, order.Visitor)
	if !ok || p.Turn.State != TurnClaimed || p.Turn.Order != order.ID {
		return
	}
	p.Turn.State = TurnReady
	tx.PutPlace(p.at(e, nil, tx.Now()))
}
