package sale_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/sale"
)

var annBell = sale.Buyer{Name: "Ann Bell", Email: "ann.bell@example.org"}

// quiet is a house whose messages go nowhere and whose event asks for the buyer.
func quiet(t *testing.T, script func(h *house)) {
	t.Helper()
	play(t, func(s *sale.Settings) { s.Rules.Buyer = "optional" }, func(h *house) {
		h.sinks = func(string) []string { return nil }
		script(h)
	})
}

func (v *visitor) payAs(b sale.Buyer) sale.StartedPay {
	v.h.Helper()
	p, err := v.h.Pay(context.Background(), sale.PayRequest{Visitor: v.id, Order: v.order, Provider: "bank", Buyer: b})
	v.h.ok(err)
	return p
}

// forget erases the buyers of the gala from so many orders.
func (h *house) forget(want int) {
	h.Helper()
	n, err := h.Forget("staff:eve", gala)
	h.ok(err)
	if n != want {
		h.Errorf("%s in: buyers were erased from %d orders, want %d", time.Since(h.began), n, want)
	}
	orders, err := h.store.Orders(gala, uuid.Nil, 1000)
	h.ok(err)
	for _, o := range orders {
		if o.Buyer != (sale.Buyer{}) {
			h.Errorf("order %s (%s) still knows %v", o.ID, o.Status, o.Buyer)
		}
	}
}

func (h *house) closeGala() {
	h.Helper()
	_, err := h.CloseEvent("staff", gala, "")
	h.ok(err)
}

func TestForgettingErasesEveryBuyerAndKeepsTheSums(t *testing.T) {
	quiet(t, func(h *house) {
		_, err := h.Forget("staff:eve", gala) // open, and nobody has bought
		h.refused(err, sale.ErrStillSelling)
		ann := h.buyer() // pays
		ann.hold("A-1")
		p := ann.payAs(annBell)
		h.says("e1", sale.FactSucceeded, p.PaymentID, ann.order, 4250)
		bob := h.buyer() // begins to pay and goes
		bob.hold("A-2")
		q := bob.payAs(annBell)
		gone := h.buyer() // fails to pay; his order ends in the drawer of those that came to nothing
		gone.hold("A-3")
		f := gone.payAs(annBell)
		h.says("e2", sale.FactFailed, f.PaymentID, gone.order, 4250)
		_, err = h.Sell(sale.DoorSale{Actor: "staff:eve", Event: gala, Seats: []string{"A-4"}, Method: sale.Cash, Buyer: annBell})
		h.ok(err)

		_, err = h.Forget("staff:eve", gala)
		h.refused(err, sale.ErrStillSelling)
		h.closeGala()
		_, err = h.Forget("staff:eve", gala) // the seats of bob are held for his money
		h.refused(err, sale.ErrStillSelling)
		h.at(299 * sec)
		_, err = h.Forget("staff:eve", gala)
		h.refused(err, sale.ErrStillSelling)
		h.at(300 * sec)
		h.tick()
		before := h.report(time.Time{}, time.Time{}).Total
		h.forget(4)
		if after := h.report(time.Time{}, time.Time{}).Total; after != before {
			h.Errorf("the sums were %+v and are %+v", before, after)
		}
		if e, _, _ := h.Event(gala); !e.Forgotten.Equal(time.Now()) {
			h.Errorf("the event says it was %v", e.Forgotten)
		}
		h.forget(0)
		lines, err := h.Audit(0, 100)
		h.ok(err)
		said := ""
		for _, l := range lines {
			if l.Act == "event.forget" {
				said += l.Actor + " " + l.Event + " " + l.Detail + "|"
			}
		}
		if said != "staff:eve gala the buyers of 4 orders|" {
			h.Errorf("the audit says %q", said)
		}
		h.restart()
		h.forget(0)

		h.outcome(h.says("e3", sale.FactSucceeded, q.PaymentID, bob.order, 4250), "applied", "") // late money still has its order
		bob.orderIs(sale.Paid)
		_, err = h.Sell(sale.DoorSale{Actor: "staff:eve", Event: gala, Seats: []string{"A-5"}, Method: sale.Cash, Buyer: annBell})
		h.ok(err)
		h.forget(1) // what came since
	})
}

func TestForgettingWaitsForMessagesThatTellOfBuyers(t *testing.T) {
	quiet(t, func(h *house) {
		h.sinks = func(string) []string { return []string{"log:"} }
		h.event("other", func(s *sale.Settings) { s.Rules.Buyer = "optional" })
		ann := h.buyer()
		ann.hold("A-1")
		p := ann.payAs(annBell)
		h.says("e1", sale.FactSucceeded, p.PaymentID, ann.order, 4250)
		_, err := h.Sell(sale.DoorSale{Actor: "staff:eve", Event: gala, Seats: []string{"A-2"}, Method: sale.Cash}) // tells of nobody
		h.ok(err)
		_, err = h.Sell(sale.DoorSale{Actor: "staff:eve", Event: "other", Seats: []string{"A-2"}, Method: sale.Cash, Buyer: annBell})
		h.ok(err)
		h.closeGala()
		_, err = h.Forget("staff:eve", gala)
		h.refused(err, sale.ErrMessagesLeft)
		if !strings.Contains(err.Error(), ": 2.") {
			h.Errorf("it does not say that two messages are left: %v", err)
		}
		for _, m := range h.messages() {
			if m.Key == "order:"+ann.order.String() {
				h.ok(h.store.Settle([]outbox.Outcome{{Seq: m.Seq, Delivered: true}}))
			}
		}
		h.forget(1)
	})
}

func TestForgettingGoesThroughAllPages(t *testing.T) {
	quiet(t, func(h *house) {
		_, err := h.SetPlan("staff", gala, hall(1100, 6), false)
		h.ok(err)
		for i := range 1100 {
			_, err := h.Sell(sale.DoorSale{Actor: "staff:eve", Event: gala, Seats: []string{fmt.Sprintf("A-%d", i+1)}, Method: sale.Cash, Buyer: annBell})
			h.ok(err)
		}
		if r := h.report(time.Time{}, time.Time{}); r.Total.Tickets != 1100 || r.Total.Gross.Amount != 1100*4250 {
			h.Errorf("the report has %+v", r.Total)
		}
		h.closeGala()
		n, err := h.Forget("staff:eve", gala)
		h.ok(err)
		if n != 1100 {
			h.Errorf("%d buyers were erased", n)
		}
		_, err = h.Forget("staff:eve", "none")
		h.refused(err, sale.ErrNoSuchEvent)
	})
}
