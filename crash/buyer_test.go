package crash

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// decides is what a visitor does with the seats he holds. It tells whether his
// turn is used up.
func (v *visitor) decides(o *orderFact) (over bool) {
	switch n := v.rng.IntN(100); {
	case n < 13:
		v.cancel(o, "release")
	case n < 24:
		v.cancel(o, "cancel")
	case n < 32:
		v.secondTab(func() { v.look(o.id) }, v.leave)
		return true
	case n < 46:
		v.lapses(o)
	case n < 72:
		v.shop(o)
		v.look(o.id)
	default:
		v.pays(o)
	}
	v.look(o.id)
	return false
}

// cancel gives the seats back.
func (v *visitor) cancel(o *orderFact, act string) {
	r := v.r
	method, path := "POST", "/api/v1/orders/"+o.id+"/cancel"
	if act == "release" {
		method, path = "DELETE", "/api/v1/orders/"+o.id+"/hold"
	}
	v.secondTab(func() { v.look(o.id) }, func() {
		r.insist(func() *answer {
			r.ledger.begin(o.id, func(o *orderFact) { o.mayCancel = true })
			a := r.call(act, method, path, nil, "X-Visitor", v.credential)
			h := op{kind: opGive, event: o.event, turn: o.turn, order: o.id, visitor: v, seats: o.seats, start: a.start, end: a.end, life: a.life, sure: a.known()}
			r.ledger.end(o.id, func(o *orderFact) {
				if a.status/100 == 2 && act == "cancel" {
					d := a.order()
					o.learn(&d)
					h.status = d.Status
				}
			})
			switch {
			case a.unsent || a.status >= 500:
			case !a.known() || a.status/100 == 2:
				r.ledger.add(h)
			case a.code() == "order_paid" || a.code() == "payment_running":
			default:
				r.ledger.fault("answer", "%s of %s: %d %s", act, o.id, a.status, a.body)
			}
			return a
		})
	})
}

// lapses lets the deadline pass, watching, and sees that it did.
func (v *visitor) lapses(o *orderFact) {
	for v.r.clock.now() < o.first+slack && !v.r.ending() {
		v.look(o.id)
		v.poll()
		time.Sleep(time.Duration(40+v.rng.IntN(80)) * time.Millisecond)
	}
	time.Sleep(time.Duration(v.rng.IntN(400)) * time.Millisecond) // others may take the seats meanwhile
}

// pays opens a payment with the demo provider. What the provider does then is
// decided here: it tells at once, twice, after a failure, too late, or never.
func (v *visitor) pays(o *orderFact) {
	r := v.r
	var a *answer
	v.secondTab(func() { v.look(o.id) }, func() {
		a, _ = r.insist(func() *answer {
			r.ledger.begin(o.id, func(o *orderFact) { o.mayPay = true })
			a := r.call("pay", "POST", "/api/v1/orders/"+o.id+"/pay", object{"provider": "demo"}, "X-Visitor", v.credential)
			r.ledger.end(o.id, func(o *orderFact) { o.must.paying = o.must.paying || a.status == http.StatusOK })
			if !a.unsent && (!a.known() || a.status == http.StatusOK) {
				r.ledger.add(op{kind: opPay, event: o.event, order: o.id, visitor: v, seats: o.seats, start: a.start, end: a.end, life: a.life, sure: a.known(),
					deadline: a.paysUntil(r.clock, v.event)})
			}
			return a
		})
	})
	if a.status != http.StatusOK {
		if c := a.code(); c != "hold_expired" && c != "order_paid" && a.known() {
			r.ledger.fault("answer", "pay %s: %d %s", o.id, a.status, a.body)
		}
		return
	}
	var d struct{ PaymentID string }
	a.decode(&d)
	now := r.clock.now()
	n := news{payment: d.PaymentID, order: o, amount: o.total, kind: "succeeded", again: v.rng.IntN(3)}
	switch k := v.rng.IntN(20); {
	case k < 2: // it never comes
	case k < 5:
		r.provider.later(news{payment: d.PaymentID, order: o, amount: o.total, kind: "failed"}, now, true)
	case k < 9: // late
		n.again = v.rng.IntN(2)
		r.provider.later(n, now+moment(v.event.hold+v.event.pay+v.event.margin)*second+moment(v.rng.IntN(1500))*second/1000, false)
	default:
		r.provider.later(n, now+moment(v.rng.IntN(60))*second/1000, v.rng.IntN(4) > 0)
	}
}

// paysUntil is the least deadline of an order whose payment began with this
// answer, or never.
func (a *answer) paysUntil(c clock, e *event) moment {
	var d struct{ PayBy time.Time }
	if a.decode(&d); d.PayBy.IsZero() {
		return never
	}
	return c.of(d.PayBy) + moment(e.margin)*second
}

func (a *answer) decode(to any) { _ = json.NewDecoder(bytes.NewReader(a.body)).Decode(to) }

// shop says that the money has come, until it is answered, always with the same
// key; at times from two servers at once, and again afterwards.
func (v *visitor) shop(o *orderFact) {
	key := fmt.Sprintf("key-%d", v.rng.Uint64())
	reference := "ref-" + key
	first := o.total
	var all [3]*answer
	v.secondTab(func() { v.look(o.id) }, func() {
		if v.rng.IntN(4) > 0 {
			all[0] = v.confirm(o, key, reference, first)
			return
		}
		var wg sync.WaitGroup
		wg.Go(func() { all[0] = v.confirm(o, key, reference, first) })
		wg.Go(func() { all[1] = v.confirm(o, key, reference, first) })
		wg.Wait()
	})
	switch v.rng.IntN(8) {
	case 0, 1:
		all[2] = v.confirm(o, key, reference, first)
	case 2:
		v.confirm(o, key+"-other", reference, first) // the same money under another key
	case 3:
		v.confirm(o, key+"-more", reference+"-more", first) // more money
	case 4:
		if a, _ := v.r.insist(func() *answer { return v.r.confirm(o, key, reference, first+1) }); a.code() != "idempotency_key_reused" {
			v.r.ledger.fault("ledger", "order %s: key %s with another body: %d %s", o.id, key, a.status, a.body)
		}
	}
	for _, a := range all[1:] {
		if a != nil && a.known() && all[0].known() && (a.status != all[0].status || a.outcome() != all[0].outcome()) {
			v.r.ledger.fault("ledger", "order %s: one key, two answers: %d %s, %d %s", o.id, all[0].status, all[0].outcome(), a.status, a.outcome())
		}
	}
}

// outcome is what a confirmation says that must be the same each time.
func (a *answer) outcome() string {
	d := a.order()
	if a.code() == "refund_due" {
		return "refund_due"
	}
	return d.Status + " " + d.proof()
}

func (r *rig) confirm(o *orderFact, key, reference string, amount int64) *answer {
	return r.call("confirm", "POST", "/api/v1/orders/"+o.id+"/confirm", object{"amount": amount, "currency": "EUR", "reference": reference},
		"Authorization", "Bearer "+adminKey, "Idempotency-Key", key)
}

// confirm repeats a confirmation until it is answered.
func (v *visitor) confirm(o *orderFact, key, reference string, amount int64) *answer {
	r := v.r
	r.ledger.pays(reference, o, amount, r.clock.now())
	a, _ := r.insist(func() *answer {
		r.ledger.begin(o.id, func(o *orderFact) { o.mayMoney = true })
		was := r.ledger.mustOf(o.id)
		a := r.confirm(o, key, reference, amount)
		h := op{kind: opMoney, event: o.event, turn: o.turn, order: o.id, visitor: v, seats: o.seats, start: a.start, end: a.end, life: a.life, sure: a.known()}
		r.ledger.end(o.id, func(o *orderFact) { o.must.refund = o.must.refund || a.code() == "refund_due" })
		switch {
		case a.unsent || a.status >= 500:
			return a
		case a.status == http.StatusOK:
			d := a.order()
			if d.Status != "PAID" {
				r.ledger.fault("answer", "confirm of %s answers 200 %s", o.id, d.Status)
			}
			r.ledger.observe(r.clock, &d, was, a, "confirm")
		case a.known() && a.code() != "refund_due":
			r.ledger.fault("answer", "confirm of %s: %d %s", o.id, a.status, a.body)
		}
		r.ledger.add(h)
		return a
	})
	if a.status == http.StatusOK || a.code() == "refund_due" {
		r.ledger.told(reference, o)
		r.ledger.confirmed(confirmed{o, key, reference, a.status, a.outcome()})
	}
	return a
}

// found takes in an order that somebody was shown. One that the ledger does not
// know must be that of a hold nobody answered; its owner is who may see it.
func (r *rig) found(d *orderDoc) {
	if r.ledger.order(d.OrderID) != nil {
		return
	}
	for _, h := range r.ledger.candidates(r.clock, d) {
		a := r.call("order", "GET", "/api/v1/orders/"+d.OrderID, nil, "X-Visitor", h.visitor.credential)
		if !a.known() || a.status >= 500 {
			return // the next audit finds it again
		}
		if a.status == http.StatusOK && r.ledger.claim(r.clock, h, d) {
			r.ledger.add(op{kind: opHold, event: d.EventID, turn: h.turn, order: d.OrderID, visitor: h.visitor, seats: d.seats(),
				at: r.clock.of(d.CreatedAt), deadline: r.clock.of(d.HoldExpiresAt), start: h.start, end: a.end, sure: true, late: true})
			return
		}
	}
	if r.ledger.order(d.OrderID) == nil { // another tab may have found it meanwhile
		r.ledger.fault("ledger", "order %s of %v in %s, made at %v: nobody asked for it", d.OrderID, d.seats(), d.EventID, r.clock.of(d.CreatedAt))
	}
}
