package contract

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// whole holds an order and its turn to each other after a crash and tells
// whether it is paid; then it confirms again, as one does who got no answer.
// first is the answer there was, if any.
func (o order) whole(t *testing.T, first answer) (paid bool) {
	t.Helper()
	a := o.get(t).want(t, http.StatusOK)
	place := o.call(t, "GET", o.e.path("/queue"), nil)
	switch a.text("status") {
	case "PAID":
		paid = true
		if place.text("status") != "NOT_ENTERED" || len(a.list("tickets")) != 1 {
			t.Errorf("a PAID order has %d tickets and a turn that is %s", len(a.list("tickets")), short(place.body))
		}
	case "PENDING":
		if place.text("tokenState") != "CLAIMED" || place.text("orderId") != o.id {
			t.Errorf("the turn of a PENDING order is %s", short(place.body))
		}
		if first.status == http.StatusOK {
			t.Errorf("order %s was confirmed and is %s", o.id, short(a.body))
		}
	default:
		t.Errorf("order %s is %s", o.id, a.text("status"))
	}
	again := o.confirm(t, "key-"+o.id, o.money()).want(t, http.StatusOK) // at once, whatever became of the first
	if again.text("status") != "PAID" || len(again.list("tickets")) != 1 {
		t.Errorf("the retry gives %s", short(again.body))
	}
	if first.status == http.StatusOK && withoutServerTime(first.body) != withoutServerTime(again.body) {
		t.Errorf("the retry gives\n%s, the first gave\n%s", again.body, first.body)
	}
	if third := o.confirm(t, "key-"+o.id, o.money()); withoutServerTime(third.body) != withoutServerTime(again.body) {
		t.Errorf("one more retry gives\n%s, want\n%s", third.body, again.body)
	}
	o.confirm(t, "key-"+o.id, object{"amount": o.total, "currency": "EUR", "reference": "other"}).refused(t, http.StatusUnprocessableEntity, "idempotency_key_reused")
	return paid
}

// toldOnce waits for the messages of an order of one seat; a start after a crash
// lets receivers finish first. What is delivered again has the same id.
func (o order) toldOnce(t *testing.T) {
	t.Helper()
	ids := map[string]string{}
	until(t, "order.paid and one ticket.issued of order "+o.id, 2*patience, func() bool {
		for _, m := range o.e.h.sink.of(o.id) {
			ids[m.ID] = m.Topic
		}
		return len(ids) >= 2
	})
	if len(ids) != 2 {
		t.Errorf("order %s has messages %v, want order.paid and one ticket.issued", o.id, ids)
	}
}

// B17, B45: order, turn, key and messages of one confirmation are one
// transaction, so a crash leaves all of them or none, and a retry with the same
// key always completes.
func TestB17B45CrashAmidConfirmationsLeavesOrderAndTurnTogetherAndTheKeyUsable(t *testing.T) {
	t.Parallel()
	const rounds, buyers = 8, 24
	h := newHouse(t, "--rate-limit", "0")
	e := eventOf(t, h, rounds*buyers, nil)
	amid := 0
	var all []order
	for round := range rounds {
		people := e.buyers(t, buyers)
		orders := make([]order, buyers)
		each(buyers, func(i int) { orders[i] = people[i].holds(t, fmt.Sprintf("A-%d", round*buyers+i+1)) })
		var answered [buyers]answer
		var done atomic.Int32
		finished := make(chan struct{})
		go func() {
			defer close(finished)
			together(buyers, func(i int) {
				a, err := h.try("POST", "/api/v1/orders/"+orders[i].id+"/confirm", orders[i].money(), "Authorization", "Bearer "+adminKey, "Idempotency-Key", "key-"+orders[i].id)
				if err == nil {
					answered[i] = a
					done.Add(1)
				}
			})
		}()
		// Right at the first answers, or after a moment that differs from round to round.
		for begun := time.Now(); int(done.Load()) < round%3*4 && time.Since(begun) < patience || time.Since(begun) < time.Duration(round)*300*time.Microsecond; {
			time.Sleep(50 * time.Microsecond)
		}
		h.kill()
		<-finished
		if err := h.start(); err != nil {
			t.Fatal(err)
		}
		paid := 0
		for i, o := range orders {
			if o.whole(t, answered[i]) {
				paid++
			}
		}
		if paid > 0 && paid < buyers {
			amid++
		}
		all = append(all, orders...)
	}
	for _, o := range all {
		o.toldOnce(t)
	}
	e.count(t, "sold", rounds*buyers)
	t.Logf("%d of %d crashes fell between the first and the last confirmation", amid, rounds)
}
