package crash

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// visitor is one browser, with one or two tabs, and what he does.
type visitor struct {
	r          *rig
	rng        *rand.Rand
	event      *event
	id         string
	credential string
	code       *codeFact // nil: he has none
	place      *placeFact
	orders     []*orderFact // guarded by the ledger
	paid       bool         // money of his is on its way; guarded by the ledger
	asking     int          // holds without an answer; guarded by the ledger
	tabs       bool         // there were two at once; guarded by the ledger
}

// evening is a visitor from the door to the end.
func (v *visitor) evening() {
	a, _ := v.r.insist(func() *answer { return v.r.call("visitor", "POST", "/api/v1/visitors", nil) })
	if !v.comes(a) {
		return
	}
	if v.event.invited || v.event.presale && v.rng.IntN(3) > 0 {
		v.code = v.r.code(v.event, v.rng)
	}
	if !v.join() || v.event.id == "long" {
		return
	}
	if !v.waits() {
		return
	}
	if v.event.shop {
		v.buysElsewhere()
		return
	}
	for range 2 + v.rng.IntN(4) {
		order := v.hold()
		if order == nil {
			if v.place == nil {
				return
			}
			continue
		}
		v.think()
		if v.rng.IntN(5) == 0 { // changes his mind: the next hold replaces this one
			continue
		}
		if v.decides(order) {
			return
		}
	}
	v.leave()
}

// comes takes a new visitor's name and credential from the answer.
func (v *visitor) comes(a *answer) bool {
	var d struct{ VisitorID, Credential string }
	a.decode(&d)
	v.id, v.credential = d.VisitorID, d.Credential
	return a.status == http.StatusCreated
}

// think is the time a visitor takes when the load is high enough.
func (v *visitor) think() {
	if v.r.busy.Load() {
		time.Sleep(time.Duration(v.rng.IntN(30)) * time.Millisecond)
	}
}

// secondTab runs look again and again beside act.
func (v *visitor) secondTab(look, act func()) {
	if v.rng.IntN(2) == 0 {
		act()
		return
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 6 {
			look()
			select {
			case <-done:
				return
			default:
			}
		}
	})
	act()
	close(done)
	wg.Wait()
}

// join takes a place, from two tabs at times.
func (v *visitor) join() bool {
	one := func() *answer {
		a, first := v.r.insist(v.joinOnce)
		if a.status == http.StatusCreated || a.status == http.StatusOK {
			d := a.place()
			p := v.r.ledger.observePlace(v.r.clock, v.event, v, &d, a)
			v.r.ledger.joined(joined{v.event.id, d.Number, min(first, a.start), a.end})
			v.r.ledger.mu.Lock()
			v.place = p
			v.r.ledger.mu.Unlock()
		}
		return a
	}
	v.secondTab(func() { v.poll() }, func() {
		if v.rng.IntN(6) > 0 {
			one()
			return
		}
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { one() })
		}
		wg.Wait()
	})
	return v.place != nil
}

// joinOnce makes one try, with the code that he has.
func (v *visitor) joinOnce() *answer {
	if v.code == nil {
		return v.r.call("join", "POST", v.event.path("/queue"), nil, "X-Visitor", v.credential)
	}
	v.r.ledger.shows(v.code)
	a := v.r.call("join with a code", "POST", v.event.path("/queue"), object{"code": v.code.text}, "X-Visitor", v.credential)
	v.r.ledger.shown(v.code, a)
	if a.code() == "code_used" {
		v.r.counts.add("code_used", 1)
	}
	return a
}

// poll looks at the place; nil when there was no answer.
func (v *visitor) poll() *placeDoc {
	v.r.ledger.mu.Lock()
	before := v.place
	var left bool
	if before != nil {
		left = before.left
	}
	v.r.ledger.mu.Unlock()
	a := v.r.call("poll", "GET", v.event.path("/queue"), nil, "X-Visitor", v.credential)
	if a.status != http.StatusOK {
		return nil
	}
	d := a.place()
	switch {
	case d.Status == "NOT_ENTERED" && before != nil:
		v.r.ledger.gone(before, a, "poll")
	case d.Status == "NOT_ENTERED":
	case left && d.QueueID == before.queueID:
		v.r.ledger.fault("ledger", "place %s is there after its leaving was acknowledged", d.QueueID)
	default:
		v.r.ledger.observePlace(v.r.clock, v.event, v, &d, a)
	}
	return &d
}

// seatMap looks at the house.
func (v *visitor) seatMap() {
	a := v.r.call("map", "GET", v.event.path("/seats"), nil)
	var d struct{ States string }
	a.decode(&d)
	v.r.ledger.mu.Lock()
	defer v.r.ledger.mu.Unlock()
	for i, state := range d.States {
		if state == 'S' {
			v.r.ledger.sold[fmt.Sprintf("%s A-%d", v.event.id, i+1)] = true
		}
	}
}

// waits polls until the turn comes. Some give up before.
func (v *visitor) waits() bool {
	for range 200 {
		switch v.rng.IntN(60) {
		case 0:
			v.leave()
			return false
		case 1, 2:
			if !v.event.shop {
				v.seatMap()
			}
		}
		switch d := v.poll(); {
		case d == nil:
			v.r.waitUp()
		case d.Status == "READY":
			return true
		case d.Status == "NOT_ENTERED":
			return false
		}
		if v.r.ending() || v.event.presale && v.class() == "" && v.rng.IntN(4) == 0 { // he will not be called
			break
		}
		time.Sleep(time.Duration(5+v.rng.IntN(40)) * time.Millisecond)
	}
	v.leave()
	return false
}

// hold asks for seats, from two tabs at times, and returns the order that came
// of it, or nil.
func (v *visitor) hold() (got *orderFact) {
	if v.rng.IntN(12) > 0 {
		return v.holdOnce(v.event.choose(v.rng))
	}
	one, two := v.event.choose(v.rng), v.event.choose(v.rng)
	var wg sync.WaitGroup
	var other *orderFact
	wg.Go(func() { got = v.holdOnce(one) })
	wg.Go(func() { other = v.holdOnce(two) })
	wg.Wait()
	if got == nil {
		return other
	}
	return got // perhaps replaced by the other: he will find out
}

func (v *visitor) holdOnce(seats []string) *orderFact {
	r := v.r
	r.waitUp()
	ask := &asked{visitor: v, event: v.event.id, seats: seats, start: r.clock.now(), turn: v.place.queueID}
	r.ledger.asking(ask) // before mayCancel, and answered after newOrder: another tab sees the hold or its order
	r.ledger.mayCancel(v)
	a := r.call("hold", "POST", v.event.path("/holds"), object{"seats": seats}, "X-Entry-Token", v.place.token, "X-Visitor", v.credential)
	h := op{kind: opHold, event: v.event.id, turn: v.place.queueID, visitor: v, seats: seats, start: a.start, end: a.end, life: a.life, sure: true}
	if !a.known() && !a.unsent {
		v.discover()
		return nil
	}
	if d := a.order(); a.status == http.StatusCreated {
		r.ledger.newOrder(r.clock, &d, v, v.place.queueID)
	}
	found := r.ledger.answered(ask)
	switch {
	case a.unsent:
	case a.status == http.StatusCreated:
		d := a.order()
		h.order, h.at, h.deadline = d.OrderID, r.clock.of(d.ServerTime), r.clock.of(d.HoldExpiresAt)
		if !found {
			r.ledger.add(h)
		}
		return r.ledger.order(d.OrderID)
	case a.code() == "seats_taken":
		h.kind, h.lost = opLost, a.lost()
		r.ledger.add(h)
		r.counts.add("seats_taken", 1)
	case a.code() == "entry_token_expired":
		r.ledger.gone(v.place, a, "hold refused: entry_token_expired")
	case a.code() == "not_admitted":
		h.kind = opRefused
		r.ledger.add(h)
		r.ledger.gone(v.place, a, "hold refused: not_admitted")
	case a.status >= 500 || a.code() == "turn_in_use":
	default:
		r.ledger.fault("answer", "hold: %d %s", a.status, a.body)
	}
	return nil
}

// discover finds the order of a hold that nobody answered.
func (v *visitor) discover() {
	v.r.waitUp()
	if d := v.poll(); d != nil && d.OrderID != "" {
		v.look(d.OrderID)
	}
}

// look reads an order and holds it to the ledger.
func (v *visitor) look(order string) *orderDoc {
	was := v.r.ledger.mustOf(order)
	a := v.r.call("order", "GET", "/api/v1/orders/"+order, nil, "X-Visitor", v.credential)
	switch {
	case a.status == http.StatusOK:
		d := a.order()
		v.r.found(&d)
		v.r.ledger.observe(v.r.clock, &d, was, a, "its buyer looks")
		return &d
	case a.known() && a.status < 500:
		v.r.ledger.fault("ledger", "order %s: its buyer gets %d %s at %v..%v; known of it is %+v", order, a.status, a.code(), a.start, a.end, *v.r.ledger.order(order))
	}
	return nil
}

// leave gives the place back; it is repeated until it is answered.
func (v *visitor) leave() {
	if v.place == nil {
		return
	}
	r := v.r
	a, _ := r.insist(func() *answer {
		r.ledger.ending(v.place.queueID, r.clock.now())
		r.ledger.mayCancel(v)
		a := r.call("leave", "DELETE", v.event.path("/queue/"+v.place.queueID), nil, "X-Visitor", v.credential)
		if !a.unsent && a.status < 500 && a.status != http.StatusNotFound {
			r.ledger.add(op{kind: opLeave, event: v.event.id, turn: v.place.queueID, visitor: v, start: a.start, end: a.end, life: a.life, sure: a.known()})
		}
		return a
	})
	if a.status == http.StatusNoContent {
		r.ledger.mu.Lock()
		v.place.left = true
		r.ledger.mu.Unlock()
		v.poll()
	}
}
