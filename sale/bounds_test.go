package sale_test

import (
	"testing"
	"time"

	"foyer/sale"
)

func TestPayingMovesTheDeadlineOnceWhateverIsHeldInBetween(t *testing.T) {
	play(t, func(s *sale.Settings) { s.Rules.HoldSeconds = 60 }, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		id := ann.pay().PaymentID
		first := ann.seen().HoldExpiresAt // pay window and margin: 300 s
		h.says("e1", sale.FactFailed, id, ann.order, 0)
		h.at(30 * sec)
		ann.hold("A-1", "A-2")
		ann.pay()
		if got := ann.seen().HoldExpiresAt; got.After(first) {
			h.Errorf("the deadline moved a second time, to %s after %s", got, first)
		}
	})
}

func TestPaymentThatOneClickOpenedRunsThoughAnotherClickFailed(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		h.bank.during = func(sale.StartRequest) { // the second click, answered with an error
			h.bank.during = nil
			h.bank.down = true
			_, err := ann.tryPay()
			h.refused(err, sale.ErrProviderDown)
			h.bank.down = false
		}
		ann.pay()
		ann.orderIs(sale.Paying)
		h.refused(h.Release(ann.id, ann.order), sale.ErrPaying)
	})
}

func TestFailureThatComesBeforeTheBankHasAnsweredGivesTheOrderBack(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		h.bank.during = func(r sale.StartRequest) {
			h.outcome(h.says("e1", sale.FactFailed, "p-"+r.Attempt.String(), ann.order, 0), "applied", "")
		}
		ann.pay()
		ann.orderIs(sale.Pending)
	})
}

func TestTurnHasAnEndOfHolds(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		for i := range 1000 {
			ann.hold([]string{"A-1", "A-2"}[i%2])
		}
		_, err := ann.try("A-1")
		h.refused(err, sale.ErrTooManyHolds)
		ann.pay() // what he holds he may still buy
		h.restart()
		_, err = ann.try("A-1")
		h.refused(err, sale.ErrTooManyHolds)
	})
}

func TestOrdersThatCameToNothingAreForgottenAfterAMonth(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, bob := h.buyer(), h.buyer()
		ann.hold("A-1")
		h.ok(h.Release(ann.id, ann.order))
		bob.hold("A-2")
		_, err := h.confirm(bob.order, "k", 4250)
		h.ok(err)
		h.at(30*24*time.Hour - sec)
		h.ok(h.Tidy())
		ann.orderIs(sale.Cancelled)
		h.at(30*24*time.Hour + sec)
		h.ok(h.Tidy())
		_, err = h.AnyOrder(ann.order)
		h.refused(err, sale.ErrNoSuchOrder)
		bob.orderIs(sale.Paid)
	})
}

func TestRefundsDueAreListedForStaff(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, bob := h.buyer(), h.buyer()
		ann.hold("A-1")
		h.at(121 * sec)
		bob.hold("A-1")
		if due := h.RefundsDue(); len(due) != 0 {
			h.Errorf("%d refunds are due before any money came", len(due))
		}
		h.says("e1", sale.FactSucceeded, "p", ann.order, 4250)
		h.restart()
		if due := h.RefundsDue(); len(due) != 1 || due[0].ID != ann.order || due[0].Status != sale.RefundDue {
			h.Errorf("refunds due are %v, want Ann's", due)
		}
	})
}

func TestBestSeatsOfOneCommitGoToDifferentPeople(t *testing.T) {
	play(t, nil, func(h *house) {
		const n = 6
		var all []*visitor
		var acts []func()
		for range n {
			v := h.buyer()
			all = append(all, v)
			acts = append(acts, func() {
				if _, err := v.best(2, "Stalls"); err != nil {
					h.Errorf("twelve seats are enough for six pairs: %v", err)
				}
			})
		}
		h.together(acts...)
		seen := map[string]bool{}
		for _, v := range all {
			for _, s := range v.seen().Seats {
				if seen[s.ID] {
					h.Errorf("%s is held twice", s.ID)
				}
				seen[s.ID] = true
			}
		}
	})
}

func TestBurstOfBestWishesIsServedWhileThereAreSeats(t *testing.T) {
	play(t, nil, func(h *house) {
		var acts []func()
		for range 9 { // eighteen seats in all
			v := h.buyer()
			acts = append(acts, func() {
				if _, err := v.best(2, ""); err != nil {
					h.Errorf("eighteen seats are enough for nine pairs: %v", err)
				}
			})
		}
		last := h.buyer()
		h.together(acts...)
		_, err := last.best(1, "")
		h.refused(err, sale.ErrNotEnough)
	})
}

func TestPaymentStandsOnTheAttentionListOnce(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		_, err := h.confirm(ann.order, "k", 4250)
		h.ok(err)
		h.outcome(h.says("e1", sale.FactSucceeded, "p1", ann.order, 4250), "attention", "surplus_payment")
		h.outcome(h.says("e2", sale.FactSucceeded, "p1", ann.order, 4250), "ignored", "")
		h.restart()
		h.outcome(h.says("e3", sale.FactSucceeded, "p1", ann.order, 4250), "ignored", "")
		h.outcome(h.says("e4", sale.FactSucceeded, "p2", ann.order, 4250), "attention", "surplus_payment")
		if n := len(h.Attention()); n != 2 {
			h.Errorf("%d payments need a person, want 2", n)
		}
	})
}
