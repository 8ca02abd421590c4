package web

import (
	"testing"
	"time"
)

// restart closes the house and opens it again over the same file.
func (h *house) restart() {
	h.t.Helper()
	h.server.EndStreams()
	if err := h.store.Close(); err != nil {
		h.t.Fatal(err)
	}
	h.open()
}

// B45: key and sale are one transaction, so no key can be left in use by a
// request that died; whenever the retry comes, it completes.
func TestB45RetryWithTheSameKeyCompletesAtOnceAfterAMinuteAndAfterEleven(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	_, known := h.held("gala", `["A-1"]`)
	_, lost := h.held("gala", `["A-2"]`)
	confirm := func(order string) *answer {
		return h.staff("POST", "/api/v1/orders/"+order+"/confirm", `{"amount":4250,"currency":"EUR","reference":"r"}`, "Idempotency-Key", "key", "Content-Type", "application/json")
	}
	first := confirm(known).want(200)
	h.restart() // lost was never asked for: its request died with the house
	codes := map[string]string{}
	for i, after := range []time.Duration{0, time.Minute, 10 * time.Minute} {
		h.clock.pass(after)
		if i > 0 {
			h.restart()
		}
		for _, order := range []string{known, lost} {
			a := confirm(order).want(200)
			if a.text("status") != "PAID" || a.text("tickets.0.code") == "" || a.field("tickets.1") != nil {
				t.Fatalf("%v later: %s", after, a.Body)
			}
			if code := codes[order]; code != "" && code != a.text("tickets.0.code") {
				t.Errorf("%v later the ticket is %s, was %s", after, a.text("tickets.0.code"), code)
			}
			codes[order] = a.text("tickets.0.code")
		}
	}
	if got := codes[known]; got != first.text("tickets.0.code") {
		t.Errorf("the retry gives ticket %s, the first gave %s", got, first.text("tickets.0.code"))
	}
	// A first try whose retry comes when the hold is over: the seat is free, so the money still buys it.
	_, late := h.held("gala", `["A-3"]`)
	h.clock.pass(11 * time.Minute)
	if a := confirm(late).want(200); a.text("status") != "PAID" {
		t.Errorf("after the hold: %s", a.Body)
	}
	if got := len(h.staff("GET", "/api/v1/admin/orders?query=PAID", "").want(200).field("items").([]any)); got != 3 {
		t.Errorf("%d orders are paid, want 3", got)
	}
}
