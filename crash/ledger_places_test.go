package crash

import (
	"fmt"
)

// placeFact is a place as acknowledged.
type placeFact struct {
	event    *event
	queueID  string
	visitor  *visitor
	number   int
	token    string
	expires  moment // of the token
	calledAt moment
	readyBy  moment  // its turn had been shown by then
	holdsOn  moment  // it cannot end by itself before this
	mayEnd   bool    // somebody asked for its end
	left     bool    // and that was acknowledged
	endedBy  moment  // start of the first call that may have ended it
	acts     actFact // what a shop did with its turn
}

// observePlace compares a place that was shown with the ledger; known is the
// place the visitor had when he asked, or nil.
func (l *ledger) observePlace(c clock, e *event, v *visitor, d *placeDoc, a *answer) *placeFact {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.places[d.QueueID]
	if p == nil {
		p = &placeFact{event: e, queueID: d.QueueID, visitor: v, number: d.Number, endedBy: never}
		l.places[d.QueueID] = p
		n := numbered{e.id, d.Number}
		if other := l.number[n]; other != "" {
			l.faultLocked("ledger", "number %d of %s was given to %s and %s", d.Number, e.id, other, d.QueueID)
		}
		l.number[n] = d.QueueID
	}
	bad := func(format string, args ...any) {
		l.faultLocked("ledger", "place %s of %s: %s", d.QueueID, e.id, fmt.Sprintf(format, args...))
	}
	at := c.of(d.ServerTime)
	l.behind, l.before = max(l.behind, a.start-at), max(l.before, at-a.end)
	switch {
	case d.Number != p.number || p.visitor != v:
		bad("its number is %d, acknowledged was %d", d.Number, p.number)
	case d.Status == "READY" && p.token != "" && (d.EntryToken != p.token || c.of(d.EntryTokenExpiresAt) != p.expires):
		bad("its token changed")
	case d.Status == "WAITING" && p.token != "" && a.start > p.readyBy:
		bad("it waits again after its turn was shown")
	case d.Class != v.class():
		bad("its class is %q, its code was for %q", d.Class, v.class())
	}
	if e.presale && d.Status == "READY" && d.Class == "" {
		l.faultLocked("turns", "place %s of %s has a turn before the opening", d.QueueID, e.id)
	}
	if d.Status == "READY" && p.token == "" {
		p.token, p.expires, p.readyBy = d.EntryToken, c.of(d.EntryTokenExpiresAt), a.end
		p.calledAt = p.expires - moment(e.turn)*second
		p.holdsOn = p.expires
	}
	if p.token == "" { // it has not been called yet
		p.holdsOn = max(p.holdsOn, at+moment(e.turn)*second)
	}
	for _, o := range v.orders { // an open order has its turn
		if d.TokenState == "READY" && o.turn == p.queueID && o.knownBy < a.start && !o.mayCancel && !o.mayMoney && at+slack < o.deadline {
			bad("its turn is free at %v, though order %s has it until %v", at, o.id, o.deadline)
		}
	}
	if e.shop && d.TokenState != "" {
		l.ops = append(l.ops, op{kind: opSeen, event: e.id, turn: p.queueID, visitor: v, status: d.TokenState,
			at: at, start: a.start, end: a.end, life: a.life, sure: true})
	} else if d.TokenState == "CLAIMED" {
		l.ops = append(l.ops, op{kind: opSeen, event: e.id, turn: p.queueID, order: d.OrderID, visitor: v, status: "CLAIMED",
			at: at, start: a.start, end: a.end, life: a.life, sure: true})
	}
	return p
}

// gone is told when a place is not there.
func (l *ledger) gone(p *placeFact, a *answer, source string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !p.mayEnd && a.end+slack < p.holdsOn {
		l.faultLocked("ledger", "place %s of %s, number %d, is gone (%s) at %v; nobody ended it, and it lasts until %v at least",
			p.queueID, p.event.id, p.number, source, a.end, p.holdsOn)
	}
}

// ending notes a call that may end a place.
func (l *ledger) ending(queueID string, start moment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.places[queueID]; p != nil {
		p.mayEnd = true
		p.endedBy = min(p.endedBy, start)
	}
}
