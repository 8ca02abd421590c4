package sale_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"

	"foyer/sale"
)

func TestConfirmIsIdempotentByKeyAndByOrder(t *testing.T) { // B09, B10, B45, B118
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		first, err := h.confirm(ann.order, "key", 4250)
		h.ok(err)
		for range 2 {
			again, err := h.confirm(ann.order, "key", 4250)
			h.ok(err)
			again.Confirms, first.Confirms = nil, nil // another key is remembered meanwhile
			if !same(again.Order, first.Order) || !same(again.Codes, first.Codes) {
				h.Errorf("the same key and body give %+v, first %+v", again.Order, first.Order)
			}
			_, err = h.Confirm(ann.order, sale.Confirmation{Key: "key", Amount: 4250, Currency: "EUR", Reference: "till 2"})
			h.refused(err, sale.ErrKeyReused)
			_, err = h.confirm(ann.order, "key", 1)
			h.refused(err, sale.ErrKeyReused)
			other, err := h.confirm(ann.order, "another key", 4250)
			h.ok(err)
			if other.ID != first.ID || other.Status != sale.Paid {
				h.Errorf("another key: %+v", other)
			}
			h.restart()
		}
		h.wantTold(ann.order, sale.TopicOrderPaid, sale.TopicTicketIssued)
		_, err = h.confirm(uuid.New(), "key", 4250)
		h.refused(err, sale.ErrNoSuchOrder)
	})
}

func TestRefusedConfirmationsAreNotRemembered(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		for _, amount := range []int64{0, -1, -4250, 4249, 4251} {
			_, err := h.confirm(ann.order, "key", amount)
			h.refused(err, sale.ErrAmount)
		}
		_, err := h.Confirm(ann.order, sale.Confirmation{Key: "key", Amount: 4250, Currency: "USD"})
		h.refused(err, sale.ErrCurrency)
		ann.orderIs(sale.Pending)
		if o := ann.seen(); len(o.Confirms) != 0 || len(o.Payments) != 0 || len(h.messages()) != 0 {
			h.Errorf("refusals left %+v", o.Order)
		}
		_, err = h.confirm(ann.order, "key", 4250)
		h.ok(err)
	})
}

func TestRefundDueIsReplayedWithItsOrder(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, bob := h.buyer(), h.buyer()
		ann.hold("A-1")
		h.at(120 * sec)
		bob.hold("A-1")
		for i, key := range []string{"k", "k", "other"} {
			o, err := h.confirm(ann.order, key, 4250)
			h.refused(err, sale.ErrRefundDue)
			if o == nil || o.Status != sale.RefundDue || len(o.Payments) != 1 {
				h.Errorf("try %d: %+v", i, o)
			}
		}
		h.wantTold(ann.order, sale.TopicOrderExpired, sale.TopicOrderRefundDue)
	})
}

func TestManyKeysForOneOrderStaySmall(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		for i := range 100 {
			_, err := h.confirm(ann.order, fmt.Sprint(i), 4250)
			h.ok(err)
		}
		if n := len(ann.seen().Confirms); n != 64 {
			h.Errorf("%d records are kept, want 64", n)
		}
	})
}

func TestB116WhoBoughtMayQueueAgainAtTheEnd(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		ann, bob := h.buyer(), h.visitor()
		bob.join()
		ann.hold("A-1")
		old := ann.token
		_, err := h.confirm(ann.order, "k", 4250)
		h.ok(err)
		if p := ann.join(); p.Status != sale.Waiting || p.Rank != 1 || p.Number != 3 {
			h.Errorf("again: %+v, want the end of the line", p)
		}
		h.tick()
		h.ok(bob.leave())
		h.tick()
		ann.is(sale.Ready)
		if ann.token == old {
			h.Error("the new turn has the old token")
		}
		_, err = h.Hold(sale.HoldRequest{Event: gala, Token: old, Seats: []string{"A-2"}})
		h.refused(err, sale.ErrNotAdmitted)
		ann.hold("A-2")
	})
}

func TestB118TwoTabsWithTwoKeysMakeOneSale(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		tab := func(key string) func() {
			return func() {
				if o, err := h.confirm(ann.order, key, 4250); err != nil || o.Status != sale.Paid {
					h.Errorf("%s: %+v, %v", key, o, err)
				}
			}
		}
		h.together(tab("one"), tab("two"))
		h.wantTold(ann.order, sale.TopicOrderPaid, sale.TopicTicketIssued)
	})
}

func TestB16MoneyAndReleaseInOneCommitAgree(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, bob := h.buyer(), h.buyer()
		ann.hold("A-1")
		h.together(
			func() { _, err := h.confirm(ann.order, "k", 4250); h.ok(err) },
			func() { h.refused(h.Release(ann.id, ann.order), sale.ErrOrderPaid) },
			func() { h.refused(ann.leave(), sale.ErrNotEntered) },
		)
		ann.orderIs(sale.Paid)
		bob.hold("A-2")
		h.at(120 * sec)
		h.together(func() { h.tick() }, func() { _, err := h.confirm(bob.order, "k", 4250); h.ok(err) })
		bob.orderIs(sale.Paid)
		h.seats("SS")
	})
}

func TestB30ConfirmAndWebhookAtOnceMakeOneSale(t *testing.T) {
	play(t, nil, func(h *house) {
		for round := range 6 {
			ann := h.buyer()
			ann.hold(fmt.Sprintf("A-%d", round+1), fmt.Sprintf("A-%d", round+7))
			p := ann.pay()
			var wg sync.WaitGroup
			for i := range 20 {
				wg.Go(func() {
					if i%2 == 0 {
						if o, err := h.confirm(ann.order, fmt.Sprint("key-", i%4), 8500); err != nil || o.Status != sale.Paid {
							h.Errorf("confirm: %+v, %v", o, err)
						}
						return
					}
					rc := h.says(fmt.Sprint(round, "-", i/3), sale.FactSucceeded, p.PaymentID, ann.order, 8500)
					if rc.Outcome == "attention" && rc.Attention != "surplus_payment" {
						h.Errorf("webhook: %+v", rc)
					}
				})
			}
			wg.Wait()
			ann.orderIs(sale.Paid)
			h.wantTold(ann.order, sale.TopicOrderPaid, sale.TopicTicketIssued, sale.TopicTicketIssued)
		}
		h.seats("SSSS SSSS SSSS")
	})
}
