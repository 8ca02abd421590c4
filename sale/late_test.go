package sale_test

import (
	"testing"

	"foyer/sale"
)

func TestLateMoneyTakesTheSeatsAgainWhenTheyAreFree(t *testing.T) {
	for _, swept := range []bool{true, false} {
		play(t, nil, func(h *house) {
			ann := h.buyer()
			ann.hold("A-1", "A-2")
			p := ann.pay()
			h.at(300 * sec) // the turn's end too
			if swept {
				h.tick()
			}
			h.outcome(h.says("e1", sale.FactSucceeded, p.PaymentID, ann.order, 8500), "applied", "")
			ann.orderIs(sale.Paid)
			h.seats("SS")
			h.line(0, 0)
			_, err := ann.try("A-3")
			h.refused(err, sale.ErrNotAdmitted)
		})
	}
}

func TestMoneyAtTheLastMomentNeedsNoTakingAgain(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		p := ann.pay()
		h.at(300*sec - ms)
		h.says("e1", sale.FactSucceeded, p.PaymentID, ann.order, 4250)
		h.at(301 * sec)
		h.tick()
		ann.orderIs(sale.Paid)
		h.wantTold(ann.order, sale.TopicOrderPaid, sale.TopicTicketIssued)
	})
}

func TestLateMoneyConsumesTheTurnThatWasGivenBack(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		h.at(120 * sec)
		h.tick()
		ann.has(sale.TurnReady)
		_, err := h.confirm(ann.order, "k", 4250)
		h.ok(err)
		ann.is(sale.NotEntered)
		h.line(0, 0)
		_, err = ann.try("A-2")
		h.refused(err, sale.ErrNotAdmitted) // one turn, one order
	})
}

func TestB39LateMoneyForLostSeatsIsARefundDue(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, bob := h.buyer(), h.buyer()
		ann.hold("A-1", "A-2")
		p := ann.pay()
		h.at(300*sec - ms)
		bob.poll()
		bob.hold("A-5")
		h.at(300 * sec)
		bob.hold("A-2")
		h.outcome(h.says("e1", sale.FactSucceeded, p.PaymentID, ann.order, 8500), "applied", "")
		ann.orderIs(sale.RefundDue)
		h.seats("AH")
		h.says("e2", sale.FactSucceeded, p.PaymentID, ann.order, 8500)
		h.wantTold(ann.order, sale.TopicOrderExpired, sale.TopicOrderRefundDue)
		_, err := h.confirm(bob.order, "k", 4250)
		h.ok(err)
		h.seats("AS")
		_, err = ann.tryPay()
		h.refused(err, sale.ErrOrderPaid)
		h.refused(h.Release(ann.id, ann.order), sale.ErrOrderPaid)

		h.outcome(h.says("r0", sale.FactRefunded, p.PaymentID, ann.order, 1), "attention", "unexpected_refund")
		h.outcome(h.says("r1", sale.FactRefunded, p.PaymentID, ann.order, 8500), "applied", "")
		h.outcome(h.says("r2", sale.FactRefunded, p.PaymentID, ann.order, 8500), "ignored", "")
		ann.orderIs(sale.Refunded)
		h.wantTold(ann.order, sale.TopicOrderExpired, sale.TopicOrderRefundDue, sale.TopicOrderRefunded)
		h.outcome(h.says("r3", sale.FactRefunded, "x", bob.order, 4250), "attention", "unexpected_refund")
		bob.orderIs(sale.Paid)
	})
}

func TestLateMoneyTakesSeatsOverFromAnotherLapsedHold(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, bob := h.buyer(), h.buyer()
		ann.hold("A-1")
		h.at(120 * sec)
		bob.hold("A-1")
		h.at(240 * sec) // Bob's lapsed too, unswept
		_, err := h.confirm(ann.order, "k", 4250)
		h.ok(err)
		ann.orderIs(sale.Paid)
		bob.orderIs(sale.Expired)
		h.wantTold(bob.order, sale.TopicOrderExpired)
		h.tick()
		h.seats("S")
		h.wantTold(bob.order, sale.TopicOrderExpired)
	})
}

func TestLateMoneyForACancelledOrderIsTreatedLikeAfterTheDeadline(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, bob := h.buyer(), h.buyer()
		ann.hold("A-1")
		h.ok(h.Release(ann.id, ann.order))
		bob.hold("A-2")
		h.ok(h.Release(bob.id, bob.order))
		ann2, lost := h.buyer(), bob.order
		ann2.hold("A-2")
		_, err := h.confirm(ann.order, "k", 4250)
		h.ok(err)
		ann.orderIs(sale.Paid)
		_, err = h.confirm(lost, "k", 4250)
		h.refused(err, sale.ErrRefundDue)
		h.orderIs(lost, sale.RefundDue)
		h.seats("SH")
		bob.has(sale.TurnReady) // he got nothing: his turn is still his
	})
}

func TestMoneyForADroppedSeatIsARefundDue(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-12")
		h.at(120 * sec)
		_, err := h.SetPlan("staff", gala, hall(11, 6), false)
		h.ok(err)
		_, err = h.confirm(ann.order, "k", 4250)
		h.refused(err, sale.ErrRefundDue)
		ann.has(sale.TurnReady)
	})
}

func TestLeavingWithARunningPaymentLosesNoMoney(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, bob := h.buyer(), h.buyer()
		ann.hold("A-1")
		p := ann.pay()
		h.ok(ann.leave())
		h.seats("")
		ann.orderIs(sale.Cancelled)
		h.says("e1", sale.FactSucceeded, p.PaymentID, ann.order, 4250)
		ann.orderIs(sale.Paid)
		h.seats("S")
		h.line(0, 1)

		bob.hold("A-2")
		q := bob.pay()
		h.ok(bob.leave())
		h.buyer().hold("A-2")
		h.says("e2", sale.FactSucceeded, q.PaymentID, bob.order, 4250)
		bob.orderIs(sale.RefundDue)
	})
}
