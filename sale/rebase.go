package sale

import (
	"slices"
	"time"
)

// What a clock that was set does to stamps. Deadlines and what they are reckoned
// from belong to running turns, holds and payments alone: an end, a creation, a
// payment that came, and what was planned by the calendar never move.

// Moved is the place after the clock was set by step: a turn that has not ended
// keeps the time it had left. Pure.
func (p Place) Moved(step time.Duration) Place {
	if p.Turn.State == TurnNone || !p.Turn.State.Live() {
		return p
	}
	for _, at := range []*time.Time{&p.Turn.CalledAt, &p.Turn.ExpiresAt, &p.Turn.AsideAt} {
		if !at.IsZero() {
			*at = at.Add(step)
		}
	}
	if s := p.Turn.Shop; s != nil && step != 0 && !s.Until.IsZero() {
		p.Turn.Shop = s.until(s.Until.Add(step))
	}
	return p
}

// Bounded is the place with no stamp of its turn further in the future than the
// rules allow for one that began at now. It is for a start where nobody knows
// how long ago the stamps were written. Pure.
func (p Place) Bounded(r Rules, now time.Time) Place {
	if p.Turn.State == TurnNone || !p.Turn.State.Live() {
		return p
	}
	t := &p.Turn
	t.CalledAt, t.AsideAt = earlier(t.CalledAt, now), earlier(t.AsideAt, now)
	t.ExpiresAt = earlier(t.ExpiresAt, now.Add(seconds(r.TurnSeconds)))
	if last := now.Add(seconds(max(r.TurnSeconds, r.HoldSeconds))); t.Shop != nil && t.Shop.Until.After(last) {
		t.Shop = t.Shop.until(last)
	}
	return p
}

// Moved is the event after the clock was set by step: what staff left to whoever was
// called before a moment goes with the stamps of those. One to which that does
// nothing is returned itself. Pure.
func (e *Event) Moved(step time.Duration) *Event {
	if step == 0 {
		return e
	}
	return e.grantedUntil(func(until time.Time) time.Time { return until.Add(step) })
}

// Bounded is the event with no such moment in the future: just after now, for the
// stamps that [Place.Bounded] puts back are now. Pure.
func (e *Event) Bounded(now time.Time) *Event {
	if !slices.ContainsFunc(e.Granted, func(g Granted) bool { return g.Until.After(now) }) {
		return e
	}
	return e.grantedUntil(func(until time.Time) time.Time { return earlier(until, now.Add(time.Millisecond)) })
}

func (e *Event) grantedUntil(at func(time.Time) time.Time) *Event {
	if len(e.Granted) == 0 {
		return e
	}
	n := *e
	n.Granted = slices.Clone(e.Granted)
	for i := range n.Granted {
		n.Granted[i].Until = at(n.Granted[i].Until)
	}
	return &n
}

// Moved is the order after the clock was set by step: one that waits for money
// keeps the time it had left. One to which that does nothing is returned
// itself. Pure.
func (o *Order) Moved(step time.Duration) *Order {
	if !o.Status.Open() || step == 0 {
		return o
	}
	n := o.clone()
	n.HoldExpiresAt = n.HoldExpiresAt.Add(step)
	for i := range n.Payments {
		if p := &n.Payments[i]; p.State == PaymentStarted && !p.PayBy.IsZero() {
			p.PayBy = p.PayBy.Add(step)
		}
	}
	return n
}

// Bounded is the order with a deadline no further in the future than the rules
// allow for a hold or a payment that began at now; changed tells whether it was.
// The time to pay ends its margin before that, as ever. Pure.
func (o *Order) Bounded(r Rules, now time.Time) (n *Order, changed bool) {
	most := seconds(r.HoldSeconds)
	if o.Extended {
		most = max(most, seconds(r.PaySeconds+r.PayMarginSeconds))
	}
	last := now.Add(most)
	if !o.Status.Open() || !o.HoldExpiresAt.After(last) {
		return o, false
	}
	n = o.clone()
	n.HoldExpiresAt = last
	for i := range n.Payments {
		if p := &n.Payments[i]; p.State == PaymentStarted {
			p.PayBy = earlier(p.PayBy, last.Add(-seconds(r.PayMarginSeconds)))
		}
	}
	return n, true
}

// Outranks tells which of two orders that both claim a seat has it: the one with
// money, else the one that took it over, whose deadline is the later one, since
// it could only do so when the other's had passed. Ids decide between equals.
func (o *Order) Outranks(other *Order) bool {
	switch {
	case (o.Status == Paid) != (other.Status == Paid):
		return o.Status == Paid
	case o.Status != Paid && !o.HoldExpiresAt.Equal(other.HoldExpiresAt):
		return o.HoldExpiresAt.After(other.HoldExpiresAt)
	}
	return slices.Compare(o.ID[:], other.ID[:]) > 0
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
