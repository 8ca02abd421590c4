package sale

import (
	"bytes"
	"slices"
	"time"

	"github.com/google/uuid"
)

// inspectedTurn is a turn that names an order.
type inspectedTurn struct {
	event   *inspectedEvent
	number  uint64
	visitor uuid.UUID
	state   TurnState
}

// Place is fed a place and the ordinal of its event.
func (i *Inspection) Place(ordinal uint32, p Place) {
	ie, ok := i.events[ordinal]
	if !ok {
		i.strays[ordinal]++
		return
	}
	ie.highest = max(ie.highest, p.Number)
	if p.Class > Member {
		i.Add("row", "event %q: place %d is of the unknown class %d", ie.event.ID, p.Number, p.Class)
		p.Class = Public
	}
	if p.Number == 0 {
		i.Add("I4", "event %q has a place with the number 0", ie.event.ID)
	}
	if !i.quick {
		ie.visitors = append(ie.visitors, p.Visitor)
	}
	if p.Turn.State == TurnNone {
		i.count.Waiting++
		return
	}
	i.count.Called++
	i.inspectTurn(ie, p)
	t := &p.Turn
	if !t.CalledAt.IsZero() {
		ie.highestCalled[p.Class] = max(ie.highestCalled[p.Class], p.Number)
		ie.calls = append(ie.calls, t.CalledAt.UnixMilli())
	}
	if t.State.Active() {
		ie.active++
	}
	if t.Order == uuid.Nil {
		return
	}
	if other, twice := i.turns[t.Order]; twice {
		i.Add("I7", "the turns of places %d and %d name the same order %s", other.number, p.Number, t.Order)
	}
	i.turns[t.Order] = inspectedTurn{ie, p.Number, p.Visitor, t.State}
}

// inspectTurn holds the stamps of a turn against its state: whoever left the
// line has been called, set aside, or sent away, and it is written down when.
func (i *Inspection) inspectTurn(ie *inspectedEvent, p Place) {
	t := &p.Turn
	for _, at := range []time.Time{t.CalledAt, t.AsideAt, t.EndedAt} {
		i.stamp(at)
	}
	wrong := ""
	switch called := !t.CalledAt.IsZero() && t.ExpiresAt.After(t.CalledAt); {
	case t.State.Live() && !t.EndedAt.IsZero():
		wrong = "has ended and goes on"
	case !t.State.Live() && t.EndedAt.IsZero():
		wrong = "has no end"
	case t.State == TurnLeft || t.State == TurnRevoked:
	case !called:
		wrong = "was never given"
	case t.State == TurnAside && (t.PickedUp || t.AsideAt.Before(t.CalledAt)):
		wrong = "was set aside before it began, or with somebody there"
	case t.State.Active() && !t.AsideAt.IsZero():
		wrong = "is active and set aside"
	case t.State == TurnClaimed && (!t.PickedUp || t.Holds == 0):
		wrong = "is claimed and nobody was there to claim it"
	}
	if t.byShop() && wrong == "" && t.Shop.Until.Before(t.ExpiresAt) {
		wrong = "is claimed by a shop for less than its own time"
	}
	if wrong != "" {
		i.Add("I6", "event %q: the turn of place %d is %s and %s", ie.event.ID, p.Number, t.State, wrong)
	}
	if (t.State == TurnClaimed || t.State == TurnConsumed) && t.Order == uuid.Nil && t.Shop == nil {
		i.Add("I7", "event %q: the turn of place %d is %s by no order", ie.event.ID, p.Number, t.State)
	}
}

// closeLine looks at all places of one event together.
func (i *Inspection) closeLine(ie *inspectedEvent) {
	e := ie.event
	slices.SortFunc(ie.visitors, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	for n := 1; n < len(ie.visitors); n++ {
		if ie.visitors[n] == ie.visitors[n-1] {
			i.Add("I5", "event %q: visitor %s has more than one place", e.ID, ie.visitors[n])
		}
	}
	ie.visitors = nil
	if e.Line == "off" || i.quick { // whether the rules were changed stands in the audit
		return
	}
	// Rules may be tightened while turns run; the audit tells whether they were
	// changed. A clock that was set back makes two seconds look like one.
	if most := e.Rules.MaxActive; ie.active > most && ie.changed {
		i.Add(codeNote, "event %q has %d active turns, and by now at most %d are allowed", e.ID, ie.active, most)
	} else if ie.active > most {
		i.Add("I3", "event %q has %d active turns, and at most %d were ever allowed", e.ID, ie.active, most)
	}
	if n, at := busiestSecond(ie.calls); n > e.Rules.AdmitPerSecond && !ie.changed {
		i.Add(codeNote, "event %q gave %d turns in the second before %s, and at most %d were ever allowed: a clock was set back, or its pace was not kept",
			e.ID, n, time.UnixMilli(at).UTC().Format(time.RFC3339), e.Rules.AdmitPerSecond)
	}
}

// busiestSecond finds the most stamps that lie within a second, both ends
// included, and the last of them. Stamps are Unix milliseconds.
func busiestSecond(stamps []int64) (most int, at int64) {
	slices.Sort(stamps)
	first := 0
	for n, t := range stamps {
		for stamps[first] < t-1000 {
			first++
		}
		if n-first+1 > most {
			most, at = n-first+1, t
		}
	}
	return most, at
}

// closeTurns holds the turns against the orders they name.
func (i *Inspection) closeTurns() {
	for id, t := range i.turns {
		o, ok := i.orders[id]
		event := t.event.event.ID
		if ok && (o.event != event || o.place != t.number || o.visitor != t.visitor) {
			i.Add("I7", "event %q: the turn of place %d names order %s, which is of another place", event, t.number, id)
			continue
		}
		switch {
		case t.state == TurnClaimed && (!ok || !o.status.Open()):
			i.Add("I7", "event %q: the turn of place %d is claimed by order %s, which is %s", event, t.number, id, o.is())
		case t.state == TurnConsumed && (!ok || !o.paid):
			i.Add("I7", "event %q: the turn of place %d has bought order %s, which is %s", event, t.number, id, o.is())
		case ok && o.status == Paid && t.state != TurnConsumed && t.state != TurnLeft && t.state != TurnRevoked:
			i.Add("I7", "event %q: order %s is PAID and the turn of place %d is %s", event, id, t.number, t.state)
		}
	}
}
