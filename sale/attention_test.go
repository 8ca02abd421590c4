package sale_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

func complete(reason string) sale.Decision {
	return sale.Decision{Actor: "staff", How: sale.HowComplete, Reason: reason}
}

var seen = sale.Decision{Actor: "staff", How: sale.HowDismiss, Reason: "seen"}

var giveBack = sale.Decision{Actor: "staff", How: sale.HowRefund}

// matter gives the only fact on the attention list.
func (h *house) matter(code string) *sale.Receipt {
	h.Helper()
	list := h.undone()
	if len(list) != 1 || list[0].Attention != code {
		h.Fatalf("on the attention list are %v, want one %s", list, code)
	}
	return list[0]
}

// nothing wants an empty attention list.
// undone is the attention list without the money that went back by itself, which
// only waits for somebody to see it.
func (h *house) undone() []*sale.Receipt {
	return slices.DeleteFunc(h.Attention(), func(rc *sale.Receipt) bool { return rc.Refund != nil && rc.Refund.State == sale.RefundDone })
}

func (h *house) nothing() {
	h.Helper()
	if list := h.undone(); len(list) != 0 {
		h.Errorf("on the attention list are %v", list)
	}
}

func TestB34TheSurplusOfTwoSuccessesGoesBackOnce(t *testing.T) {
	play(t, nil, func(h *house) {
		h.bank.answer = done
		ann := h.buyer()
		ann.hold("A-1")
		first := ann.pay()
		h.says("e1", sale.FactFailed, first.PaymentID, ann.order, 4250)
		second := ann.pay()
		h.says("e2", sale.FactSucceeded, second.PaymentID, ann.order, 4250)
		for n := range 3 {
			h.says(fmt.Sprint("e3", n), sale.FactSucceeded, first.PaymentID, ann.order, 4250)
		}
		h.matter("surplus_payment")
		h.restart()
		h.asks()
		h.restart()
		h.asks()
		if r := h.bank.refunds; len(r) != 1 || r[0].Payment != first.PaymentID || r[0].Amount != 4250 || r[0].Order != ann.order {
			h.Errorf("the bank was asked %+v", r)
		}
		h.nothing()
		h.outcome(h.back("b", sale.FactRefunded, first.PaymentID, ann.order, 4250, nil), "ignored", "")
		ann.orderIs(sale.Paid)
		h.seats("S")
		h.wantTold(ann.order, sale.TopicOrderPaid, sale.TopicTicketIssued)
		// It fails after all: somebody must see to it.
		h.outcome(h.back("f", sale.FactNotRefunded, first.PaymentID, ann.order, 4250, nil), "applied", "")
		rc := h.matter("surplus_payment")
		h.ok(h.SettlePayment(rc.Seq, giveBack))
		h.nothing()
		h.asks()
		if r := h.bank.refunds; len(r) != 2 || r[1].ID == r[0].ID {
			h.Errorf("the bank was asked %+v", r)
		}
	})
}

func TestB37MoneyOfTheWrongSumGoesBackAfterADay(t *testing.T) {
	play(t, nil, func(h *house) {
		h.bank.answer = done
		ann := h.buyer()
		ann.hold("A-1")
		p := ann.pay()
		h.says("e1", sale.FactSucceeded, p.PaymentID, ann.order, 4251)
		h.says("e2", sale.FactSucceeded, p.PaymentID, ann.order, 4251)
		time.Sleep(24*time.Hour - sec)
		h.asks()
		if len(h.bank.refunds) != 0 {
			h.Error("staff had no day to decide")
		}
		h.restart()
		time.Sleep(sec)
		h.asks()
		if r := h.bank.refunds; len(r) != 1 || r[0].Amount != 4251 {
			h.Errorf("the bank was asked %+v", r)
		}
		h.nothing()
		rc := h.receive(sale.Fact{Provider: "bank", EventID: "e1"})
		h.refused(h.SettlePayment(rc.Seq, complete("")), sale.ErrNotThatWay)
		if list := h.Attention(); len(list) != 1 || list[0].Refund.State != sale.RefundDone {
			h.Errorf("money that went back by itself is not shown: %+v", list)
		}
		h.ok(h.SettlePayment(rc.Seq, seen))
		if list := h.Attention(); len(list) != 0 {
			h.Errorf("it is not ticked off: %+v", list)
		}
		h.refused(h.SettlePayment(rc.Seq, seen), sale.ErrNoSuchMatter)
	})
}

func TestB37TwoSumsToldOfOnePaymentGoBackOnce(t *testing.T) {
	play(t, nil, func(h *house) {
		h.bank.answer = done
		ann := h.buyer()
		ann.hold("A-1")
		p := ann.pay()
		h.says("e1", sale.FactSucceeded, p.PaymentID, ann.order, 4251)
		h.says("e2", sale.FactSucceeded, p.PaymentID, ann.order, 4249)
		time.Sleep(25 * time.Hour)
		h.asks()
		if len(h.bank.refunds) != 1 {
			h.Errorf("the bank was asked %+v", h.bank.refunds)
		}
		h.matter("amount_mismatch") // the second figure is for a person
	})
}

func TestAnotherSumIsAcceptedByStaff(t *testing.T) {
	for name, c := range map[string]struct {
		amount int64
		late   bool
	}{"too little": {8000, false}, "too much": {9000, false}, "late": {8499, true}} {
		t.Run(name, func(t *testing.T) {
			play(t, nil, func(h *house) {
				h.bank.answer = done
				ann := h.buyer()
				ann.hold("A-1", "A-2")
				p := ann.pay()
				if h.says("e1", sale.FactSucceeded, p.PaymentID, ann.order, c.amount); c.late {
					time.Sleep(301 * sec)
					h.tick()
				}
				rc := h.matter("amount_mismatch")
				h.ok(h.SettlePayment(rc.Seq, complete("")))
				h.nothing()
				h.refused(h.SettlePayment(rc.Seq, complete("")), sale.ErrNoSuchMatter)
				if o := ann.seen(); o.Status != sale.Paid || o.Waived != 8500-c.amount || len(o.Payments) != 1 {
					h.Errorf("%s, waived %d, %+v", o.Status, o.Waived, o.Payments)
				}
				h.restart()
				time.Sleep(25 * time.Hour) // the return of the money was withdrawn
				if h.asks(); len(h.bank.refunds) != 0 {
					h.Errorf("the bank was asked %+v", h.bank.refunds)
				}
				h.says("e2", sale.FactSucceeded, p.PaymentID, ann.order, c.amount)
				h.nothing()
				ann.takeBack(sale.RefundWish{Seats: []string{"A-1"}})
				ann.refund(0, sale.RefundRequested, 4250)
				ann.takeBack(sale.RefundWish{})
				ann.refund(1, sale.RefundRequested, c.amount-4250) // never more or less than came
				h.asks()
				ann.orderIs(sale.Refunded)
			})
		})
	}
}

func TestAnotherSumThatCannotBeAccepted(t *testing.T) {
	play(t, nil, func(h *house) {
		h.bank.answer = done
		ann := h.buyer()
		ann.hold("A-1")
		p := ann.pay()
		h.receive(sale.Fact{Provider: "bank", EventID: "usd", Kind: sale.FactSucceeded, PaymentID: p.PaymentID, Order: ann.order.String(), Amount: 4250, Currency: "USD"})
		h.refused(h.SettlePayment(h.matter("amount_mismatch").Seq, complete("ok")), sale.ErrNotThatWay)
		h.ok(h.SettlePayment(h.matter("amount_mismatch").Seq, giveBack))
		h.asks()
		if r := h.bank.refunds; len(r) != 1 || r[0].Currency != "USD" {
			h.Errorf("the bank was asked %+v", r)
		}
		time.Sleep(25 * time.Hour)
		if h.asks(); len(h.bank.refunds) != 1 { // the message of the day after
			h.Errorf("the bank was asked %+v", h.bank.refunds)
		}
		bob := h.buyer()
		bob.hold("A-1")
		q := bob.pay()
		h.says("b", sale.FactSucceeded, q.PaymentID, bob.order, 1)
		time.Sleep(301 * sec)
		h.buyer().hold("A-1")
		h.refused(h.SettlePayment(h.matter("amount_mismatch").Seq, complete("ok")), sale.ErrSeatsTaken)
	})
}

// While the bank is being asked nobody can take the money for the order.
func TestCompletionAndTheRunningRefundExcludeEachOther(t *testing.T) {
	play(t, nil, func(h *house) {
		h.bank.answer = done
		ann := h.buyer()
		ann.hold("A-1")
		p := ann.pay()
		h.says("e1", sale.FactSucceeded, p.PaymentID, ann.order, 4000)
		rc := h.matter("amount_mismatch")
		time.Sleep(24 * time.Hour)
		h.bank.back = func() { h.refused(h.SettlePayment(rc.Seq, complete("")), sale.ErrRefundRuns) }
		h.asks()
		h.nothing()
		h.orderIs(ann.order, sale.Expired)
		h.bank.back = nil

		bob := h.buyer()
		bob.hold("A-2")
		q := bob.pay()
		h.says("e2", sale.FactSucceeded, q.PaymentID, bob.order, 4000)
		h.bank.down = true
		rc = h.matter("amount_mismatch")
		h.ok(h.SettlePayment(rc.Seq, giveBack))
		if h.asks() != 1 {
			h.Error("the refund counts as sent")
		}
		h.restart()
		h.nothing()
		h.refused(h.SettlePayment(rc.Seq, complete("")), sale.ErrNoSuchMatter)
		time.Sleep(72 * time.Hour) // nobody ever answered: a person must know
		h.ok(h.SettlePayment(h.matter("amount_mismatch").Seq, complete("the bank says that it is back")))
		h.nothing()
	})
}

func TestMoneyOfAnUnknownOrderIsBookedWhereStaffSay(t *testing.T) {
	play(t, nil, func(h *house) {
		h.bank.answer = done
		ann := h.buyer()
		ann.hold("A-1")
		lost := func(event string, amount int64) *sale.Receipt {
			h.Helper()
			return h.receive(sale.Fact{Provider: "bank", EventID: event, Kind: sale.FactSucceeded, PaymentID: event, Order: "lost", Amount: amount, Currency: "EUR"})
		}
		lost("p1", 4250)
		rc := h.matter("unknown_order")
		there := complete("")
		h.refused(h.SettlePayment(rc.Seq, there), sale.ErrBadReason)
		there.Order = uuid.New()
		h.refused(h.SettlePayment(rc.Seq, there), sale.ErrNoSuchOrder)
		there.Order = ann.order
		h.ok(h.SettlePayment(rc.Seq, there))
		ann.orderIs(sale.Paid)
		h.nothing()
		told := sale.Fact{Provider: "bank", EventID: "again", Kind: sale.FactSucceeded, PaymentID: "p1", Order: "lost", Amount: 4250, Currency: "EUR"}
		h.outcome(h.receive(told), "ignored", "")
		h.restart()
		told.EventID = "after a restart"
		h.outcome(h.receive(told), "ignored", "")
		// The same once more is too much, and goes back without anybody's help.
		lost("p2", 4250)
		h.ok(h.SettlePayment(h.matter("unknown_order").Seq, there))
		h.matter("surplus_payment")
		h.asks()
		h.nothing()
		lost("p3", 1)
		h.ok(h.SettlePayment(h.matter("unknown_order").Seq, giveBack))
		h.asks()
		if r := h.bank.refunds; len(r) != 2 || r[0].Payment != "p2" || r[1].Payment != "p3" || r[1].Amount != 1 {
			h.Errorf("the bank was asked %+v", r)
		}
		h.nothing()
	})
}

// Money that came before its order is known is booked when it is, as after a
// backup was put back.
func TestMoneyOfAnOrderThatTurnsUpIsBooked(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		var o *sale.Order
		h.ok(h.store.View(func(r sale.Reader) error { o, _ = r.Order(ann.order); return nil }))
		id := uuid.Must(uuid.NewV7())
		h.says("e1", sale.FactSucceeded, "p1", id, 4250)
		h.matter("unknown_order")
		_, err := h.LookUp(h.Context())
		h.ok(err)
		h.matter("unknown_order")
		h.ok(h.store.Update(func(tx sale.Tx) error {
			c := *o
			c.ID, c.Status = id, sale.Cancelled
			c.Seats = []sale.OrderSeat{{ID: "A-2", Label: "A 2", Category: "Stalls", Price: 4250}}
			tx.PutOrder(&c)
			return nil
		}))
		h.looks(59 * sec)
		h.matter("unknown_order")
		h.looks(61 * sec)
		h.nothing()
		h.orderIs(id, sale.Paid)
	})
}

func TestDismissingNeedsAReasonAndDoesNothing(t *testing.T) {
	play(t, nil, func(h *house) {
		h.says("e1", sale.FactSucceeded, "p1", uuid.New(), 4250)
		rc := h.matter("unknown_order")
		for _, d := range []sale.Decision{{How: sale.HowDismiss}, {How: sale.HowDismiss, Reason: " "}, {How: sale.HowDismiss, Reason: "a\x00"}} {
			h.refused(h.SettlePayment(rc.Seq, d), sale.ErrBadReason)
		}
		h.refused(h.SettlePayment(rc.Seq, sale.Decision{How: "burn", Reason: "x"}), sale.ErrNotThatWay)
		h.refused(h.SettlePayment(rc.Seq+1, complete("x")), sale.ErrNoSuchMatter)
		h.ok(h.SettlePayment(rc.Seq, sale.Decision{Actor: "staff:7", How: sale.HowDismiss, Reason: "another shop's"}))
		h.nothing()
		list, err := h.Audit(0, 1)
		h.ok(err)
		if list[0].Act != "attention.dismiss" || list[0].Actor != "staff:7" || list[0].Detail != "unknown_order bank p1 4250 EUR (minor units) another shop's" {
			h.Errorf("the audit says %+v", list[0])
		}
		if h.asks(); len(h.bank.refunds) != 0 {
			h.Error("the bank was asked")
		}
	})
}

// Somebody may be quicker than staff, in the provider's own pages.
func TestUnknownMoneyThatWentBackInTheBanksPagesIsSettled(t *testing.T) {
	play(t, nil, func(h *house) {
		order := uuid.New()
		h.says("e1", sale.FactSucceeded, "p1", order, 4250)
		h.outcome(h.back("b1", sale.FactRefunded, "p1", order, 4250, nil), "applied", "")
		h.nothing()
		h.outcome(h.back("b2", sale.FactRefunded, "p1", order, 4250, nil), "ignored", "")
		h.outcome(h.back("b3", sale.FactRefunded, "p2", order, 4250, nil), "attention", "unknown_order")
	})
}

func TestMoneyOfTheShopIsReturnedByAPerson(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, _ := h.bought("A-1")
		_, err := h.confirm(ann.order, "k", 4250)
		h.ok(err)
		rc := h.matter("surplus_payment")
		h.refused(h.SettlePayment(rc.Seq, giveBack), sale.ErrNotThatWay)
		h.ok(h.SettlePayment(rc.Seq, complete("by the shop")))
		h.nothing()
		if h.asks(); len(h.bank.refunds) != 0 {
			h.Error("the bank was asked")
		}
	})
}

func TestB38OnlyTheExactSumOfACurrencyConfirms(t *testing.T) {
	for currency, total := range map[string]int64{"JPY": 1050, "KRW": 10000, "EUR": 1050, "KWD": 1005} {
		play(t, func(s *sale.Settings) { s.Currency, s.Prices = currency, map[string]int64{"Stalls": total} }, func(h *house) {
			h.bank.answer = done
			ann := h.buyer()
			ann.hold("A-1")
			p := ann.pay()
			say := func(event string, amount int64) *sale.Receipt {
				return h.receive(sale.Fact{Provider: "bank", EventID: event, Kind: sale.FactSucceeded, PaymentID: p.PaymentID, Order: ann.order.String(), Amount: amount, Currency: currency})
			}
			for _, amount := range []int64{total / 100, total * 100, total - 1} {
				h.outcome(say(fmt.Sprint(amount), amount), "attention", "amount_mismatch")
				ann.orderIs(sale.Paying)
			}
			h.outcome(say("exact", total), "applied", "")
			h.nothing() // of one payment one sum is true
			time.Sleep(25 * time.Hour)
			if h.asks(); len(h.bank.refunds) != 0 {
				h.Errorf("the bank was asked %+v", h.bank.refunds)
			}
			ann.takeBack(sale.RefundWish{})
			h.asks()
			if r := h.bank.refunds; len(r) != 1 || r[0].Amount != total || r[0].Currency != currency {
				h.Errorf("the bank was asked %+v", r)
			}
		})
	}
}

func TestThreeTimesAThirdIsExact(t *testing.T) {
	play(t, func(s *sale.Settings) { s.Prices["Stalls"] = 3333 }, func(h *house) {
		h.bank.answer = done
		ann, _ := h.bought("A-1", "A-2", "A-3")
		if o := ann.seen(); o.Total != 9999 {
			h.Errorf("three cost %d", o.Total)
		}
		for n, seat := range []string{"A-1", "A-2", "A-3"} {
			ann.takeBack(sale.RefundWish{Seats: []string{seat}})
			ann.refund(n, sale.RefundRequested, 3333)
		}
		h.asks()
		ann.orderIs(sale.Refunded)
		_, err := h.ChangeEvent("staff", gala, func(s *sale.Settings) error { s.Prices["Stalls"] = 1<<63 - 1; return nil })
		h.refused(err, sale.ErrBadEvent)
	})
}
