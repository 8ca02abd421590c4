package sale_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"foyer/sale"
)

// The provider's own word about a refund that its answer has closed, or that is
// under way, is no other refund; what it says once more is for a person.
func TestARefundThatIsToldWithoutAName(t *testing.T) {
	for _, answer := range []sale.RefundAnswer{{ID: "re_1", Done: true}, {ID: "re_1"}} {
		play(t, nil, func(h *house) {
			ann, payment := h.bought("A-1", "A-2")
			ann.takeBack(sale.RefundWish{Seats: []string{"A-1"}})
			h.bank.answer = answer
			h.asks()
			want := "applied"
			if answer.Done {
				want = "ignored"
			}
			h.outcome(h.back("c1", sale.FactRefunded, payment, ann.order, 4250, nil), want, "")
			h.restart()
			ann.orderIs(sale.Paid)
			if ann.refund(0, sale.RefundDone, 4250).ToldAt.IsZero() {
				h.Error("nobody told of the refund")
			}
			h.outcome(h.back("c2", sale.FactRefunded, payment, ann.order, 4250, nil), "attention", "unexpected_refund")
			h.seats("AS")
			if done, open := ann.seen().Returned(); done != 4250 || open != 0 {
				h.Errorf("%d returned, %d open", done, open)
			}
			// With a name it is another one.
			h.outcome(h.back("c3", sale.FactRefunded, payment, ann.order, 4250, func(f *sale.Fact) { f.RefundID = "con_1" }), "applied", "")
			ann.orderIs(sale.Refunded)
		})
	}
}

// Two seats of one price, taken back one after the other: each is told of once.
func TestTwoRefundsOfOneSizeAreToldWithoutNames(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, payment := h.bought("A-1", "A-2", "A-3")
		h.bank.answer = sale.RefundAnswer{Done: true}
		for _, seat := range []string{"A-1", "A-2"} {
			ann.takeBack(sale.RefundWish{Seats: []string{seat}})
			h.asks()
		}
		for _, event := range []string{"c1", "c2"} {
			h.outcome(h.back(event, sale.FactRefunded, payment, ann.order, 4250, nil), "ignored", "")
		}
		h.outcome(h.back("c3", sale.FactRefunded, payment, ann.order, 4250, nil), "attention", "unexpected_refund")
		h.seats("AAS")
	})
}

// What staff gave back by hand, no event of the provider's tells of.
func TestARefundByHandAbsorbsNoEvent(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, payment := h.bought("A-1", "A-2")
		ann.takeBack(sale.RefundWish{Seats: []string{"A-1"}})
		h.bank.refuses = sale.ErrRefundRefused
		h.asks()
		h.ok(h.SettleRefund(ann.order, ann.refund(0, sale.RefundFailed, 4250).ID, complete("in cash")))
		h.outcome(h.back("c", sale.FactRefunded, payment, ann.order, 4250, nil), "attention", "unexpected_refund")
		h.seats("AS")
	})
}

// A refund that fails may be left at that only while the buyer has all his seats.
func TestMoneyThatIsOwedCannotBeDismissed(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, payment := h.bought("A-1", "A-2")
		first := func(f *sale.Fact) { f.RefundID = "con_1" }
		h.back("c", sale.FactRefunded, payment, ann.order, 1000, first)
		h.bank.answer = done
		ann.takeBack(sale.RefundWish{Seats: []string{"A-1"}})
		h.asks()
		ann.refund(1, sale.RefundDone, 3250)
		h.back("f", sale.FactNotRefunded, payment, ann.order, 1000, first)
		failed := ann.refund(0, sale.RefundFailed, 1000)
		h.refused(h.SettleRefund(ann.order, failed.ID, seen), sale.ErrNotThatWay)
		o := ann.seen()
		if ways := h.RefundWays(&o.Order, 0); !same(ways, []string{sale.HowComplete, sale.HowRefund}) {
			h.Errorf("the ways are %q", ways)
		}
		h.report(time.Time{}, time.Time{})
		// An older version let it pass; the report notices.
		h.ok(h.store.Update(func(tx sale.Tx) error {
			n, _ := tx.Order(ann.order)
			c := *n
			c.Refunds = slices.Clone(n.Refunds)
			c.Refunds[0].State = sale.RefundWithdrawn
			tx.PutOrder(&c)
			return nil
		}))
		r, err := h.Report(gala, time.Time{}, time.Time{})
		h.ok(err)
		if r.Balanced || !strings.Contains(r.Differences[0], "seats of 4250 were taken back, and 3250 are to be given back") {
			h.Errorf("the report says %q", r.Differences)
		}
	})
}

// Events may come in any order: a refund that is told before the payment is booked
// with it.
func TestARefundThatIsToldBeforeItsPayment(t *testing.T) {
	for name, named := range map[string]func(*sale.Fact){
		"of the order": nil, "with a name": func(f *sale.Fact) { f.RefundID = "con_1" }, "without the order": func(f *sale.Fact) { f.Order = "" },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, nil, func(h *house) {
				ann := h.buyer()
				ann.hold("A-1", "A-2")
				payment := ann.pay().PaymentID
				h.back("c", sale.FactRefunded, payment, ann.order, 8500, named)
				h.back("other", sale.FactRefunded, "p2", ann.order, 8500, named)
				h.outcome(h.says("e", sale.FactSucceeded, payment, ann.order, 8500), "applied", "")
				h.restart()
				ann.orderIs(sale.Refunded)
				h.seats("")
				if list := h.Attention(); len(list) != 1 || list[0].Fact.EventID != "other" {
					h.Errorf("on the attention list are %v", list)
				}
				h.wantTold(ann.order, sale.TopicOrderPaid, sale.TopicTicketIssued, sale.TopicTicketIssued, sale.TopicOrderRefunded)
			})
		})
	}
}

func TestMoneyThatWentBackPaysNothing(t *testing.T) {
	play(t, nil, func(h *house) {
		h.bank.answer = done
		ann := h.buyer()
		ann.hold("A-1")
		payment := ann.pay().PaymentID
		h.says("e1", sale.FactSucceeded, payment, ann.order, 4249)
		h.ok(h.SettlePayment(h.matter("amount_mismatch").Seq, giveBack))
		h.asks()
		h.outcome(h.says("e2", sale.FactSucceeded, payment, ann.order, 4250), "attention", "surplus_payment")
		h.restart()
		h.asks()
		if ann.seen().Status == sale.Paid || len(h.bank.refunds) != 1 {
			h.Errorf("%s, the bank was asked %+v", ann.seen().Status, h.bank.refunds)
		}
		if rc := h.matter("surplus_payment"); rc.Refund != nil || !strings.Contains(rc.Reason, "went back already") {
			h.Errorf("the list says %+v", rc)
		}
	})
}

// An event without a name comes before the answer that names the refund, and one
// with the name later: all three are of one refund.
func TestARefundThatGetsItsNameLaterIsOne(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, payment := h.bought("A-1", "A-2")
		ann.takeBack(sale.RefundWish{Seats: []string{"A-1"}})
		h.bank.answer = sale.RefundAnswer{ID: "re_1", Done: true}
		h.bank.back = func() {
			h.outcome(h.back("c1", sale.FactRefunded, payment, ann.order, 4250, nil), "applied", "")
		}
		h.asks()
		h.outcome(h.back("c2", sale.FactRefunded, payment, ann.order, 4250, func(f *sale.Fact) { f.RefundID = "re_1" }), "ignored", "")
		h.seats("AS")
	})
}
