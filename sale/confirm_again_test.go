package sale_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"foyer/sale"
)

// The shop's answer to a repeated confirmation is the order that it has paid,
// also when the money went back since.
func TestAPaidOrderIsConfirmedAgainWhateverBecameOfIt(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		_, err := h.confirm(ann.order, "key", 4250)
		h.ok(err)
		ann.takeBack(sale.RefundWish{})
		for _, want := range []sale.OrderStatus{sale.RefundDue, sale.Refunded} {
			for _, key := range []string{"key", "other"} {
				o, err := h.confirm(ann.order, key, 4250)
				h.ok(err)
				if o.Status != want {
					h.Errorf("%s: the order is %s, want %s", key, o.Status, want)
				}
			}
			h.nothing()
			_, err := h.Complete("staff", ann.order, "", "by bank transfer")
			h.ok(err)
		}
		_, err = h.Confirm(ann.order, sale.Confirmation{Key: "third", Amount: 4250, Currency: "EUR", Reference: "another"})
		h.ok(err)
		h.matter("surplus_payment")
	})
}

func TestMoneyTooLateSaysWhoHasTheSeats(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, bob := h.buyer(), h.buyer()
		ann.hold("A-1")
		bob.hold("A-2")
		time.Sleep(300 * sec)
		h.buyer().hold("A-1")
		_, err := h.BlockSeats("staff", gala, []string{"A-2"}, sale.BlockOffSale, "broken")
		h.ok(err)
		for order, want := range map[*visitor]string{ann: "somebody else has them", bob: "they are not on sale any more"} {
			_, err := h.confirm(order.order, "k", 4250)
			h.refused(err, sale.ErrRefundDue)
			if detail := "refund_due: The money came when the time for these seats was over, and " + want + ". The money must be returned."; err.Error() != detail {
				h.Errorf("got %q, want %q", err, detail)
			}
		}
		if ann.seen().SeatsOffSale() || !bob.seen().SeatsOffSale() {
			h.Error("the orders do not know why")
		}
	})
}

// A shop's surplus is told as a provider's is; keys beyond those that are
// remembered make none.
func TestAShopsSurplusIsInTheOrdersHistory(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, _ := h.bought("A-1")
		_, err := h.confirm(ann.order, "k", 4250)
		h.ok(err)
		h.matter("surplus_payment")
		for range 2 {
			for n := range 70 {
				_, err := h.confirm(ann.order, fmt.Sprint("key ", n), 4250)
				h.ok(err)
			}
		}
		h.matter("surplus_payment")
		var causes []string
		for _, c := range ann.seen().History {
			causes = append(causes, c.Cause+" "+c.By)
		}
		if want := []string{"payment.started visitor", "payment.succeeded bank", "payment.surplus_payment shop"}; !slices.Equal(causes, want) {
			h.Errorf("got %q, want %q", causes, want)
		}
	})
}

// While the bank returns money, and has not answered, nobody can say that it is settled.
func TestMoneyOnItsWayBackCannotBeTickedOff(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, _ := h.bought("A-1")
		h.says("twice", sale.FactSucceeded, "p2", ann.order, 4250)
		rc := h.matter("surplus_payment")
		h.asks()
		for _, d := range []sale.Decision{complete("in cash"), seen} {
			h.refused(h.SettlePayment(rc.Seq, d), sale.ErrRefundRuns)
		}
		if ways := h.PaymentWays(h.matter("surplus_payment")); ways != nil {
			h.Errorf("the ways are %q", ways)
		}
		time.Sleep(72 * time.Hour)
		if ways := h.PaymentWays(h.matter("surplus_payment")); !slices.Equal(ways, []string{sale.HowComplete}) {
			h.Errorf("after three days the ways are %q", ways)
		}
		h.refused(h.SettlePayment(rc.Seq, seen), sale.ErrRefundRuns)
		h.ok(h.SettlePayment(rc.Seq, complete("the bank says that it is back")))
		h.nothing()
	})
}

// Money without a name may be one payment told twice: it does not go back by itself.
func TestMoneyWithoutANameWaitsForAPerson(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		for n := range 3 {
			h.says(fmt.Sprint("e", n), sale.FactSucceeded, "", ann.order, 4250)
		}
		h.says("odd", sale.FactSucceeded, "", ann.order, 1)
		ann.orderIs(sale.Paid)
		time.Sleep(25 * time.Hour)
		if h.asks(); len(h.bank.refunds) != 0 || len(h.undone()) != 3 {
			h.Errorf("the bank was asked %+v, and the list has %v", h.bank.refunds, h.undone())
		}
		h.refused(h.SettlePayment(h.undone()[0].Seq, giveBack), sale.ErrNotThatWay)
	})
}

func TestRefundsOfAnOrderThatIsWhollyReturnedSettleThemselves(t *testing.T) {
	play(t, nil, func(h *house) {
		h.bank.answer = done
		ann, payment := h.bought("A-1", "A-2")
		h.outcome(h.back("c1", sale.FactRefunded, payment, ann.order, 1000, nil), "attention", "partial_refund")
		h.outcome(h.back("c2", sale.FactRefunded, payment, ann.order, 1000, nil), "attention", "unexpected_refund")
		h.says("other", sale.FactRefunded, "p2", ann.order, 1000)
		ann.takeBack(sale.RefundWish{})
		h.asks()
		ann.orderIs(sale.Refunded)
		h.restart()
		if list := h.Attention(); len(list) != 1 || list[0].Fact.EventID != "other" {
			h.Errorf("on the attention list are %v", list)
		}
		list := h.Decided(0, 9)
		if len(list) != 2 || list[0].Settled.By != "house" || list[0].Settled.Reason != "the whole order is returned" {
			h.Errorf("decided are %v", list)
		}
	})
}
