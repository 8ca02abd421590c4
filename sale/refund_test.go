package sale_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

func (v *visitor) takeBack(w sale.RefundWish) *sale.OrderView {
	v.h.Helper()
	w.Actor = "staff"
	o, err := v.h.Refund(v.order, w)
	v.h.ok(err)
	return o
}

// let tells whether the door lets the order's n-th ticket in.
func (v *visitor) let(n int) error {
	_, err := v.h.CheckIn("door", v.event, "code-"+v.seen().Seats[n].Ticket.String())
	return err
}

func TestB48ASeatOfAnOrderIsRefundedAlone(t *testing.T) {
	play(t, nil, func(h *house) {
		h.bank.answer = done
		ann, payment := h.bought("A-1", "A-2", "B-1", "B-2")
		_, err := h.ChangeEvent("staff", gala, func(s *sale.Settings) error { s.Prices["Balcony"] = 99; return nil })
		h.ok(err) // prices may change at any time; an order keeps its own
		for range 2 {
			o := ann.takeBack(sale.RefundWish{Seats: []string{"B-1"}, Reason: "ill"})
			if o.Status != sale.Paid || o.Codes[2] != "" || o.Codes[3] == "" {
				h.Errorf("%s with %q", o.Status, o.Codes)
			}
		}
		h.seats("SS AAAAAAAAAA AS")
		if s := h.status(); s.Sold != 3 {
			h.Errorf("%d sold, want 3", s.Sold)
		}
		h.restart()
		h.asks()
		if r := h.bank.refunds; len(r) != 1 || r[0].Amount != 2900 || r[0].Payment != payment {
			h.Errorf("the bank was asked %+v", r)
		}
		r := ann.refund(0, sale.RefundDone, 2900)
		if !slices.Equal(r.Seats, []string{"B-1"}) {
			h.Errorf("the refund is for %v", r.Seats)
		}
		ann.orderIs(sale.Paid)
		h.refused(ann.let(2), sale.ErrTicketVoid) // B52
		for _, n := range []int{0, 1, 3} {
			h.ok(ann.let(n))
		}
		l, err := h.Live(gala)
		h.ok(err)
		if l.Taken != 2*4250+2900 {
			h.Errorf("%d taken", l.Taken)
		}
		bob := h.buyer()
		bob.hold("B-1")
		_, err = h.Resend("staff", ann.order)
		h.ok(err)
		h.wantTold(ann.order, sale.TopicOrderPaid, sale.TopicTicketIssued, sale.TopicTicketIssued, sale.TopicTicketIssued, sale.TopicTicketIssued,
			sale.TopicOrderRefundDue, sale.TopicOrderRefunded, sale.TopicOrderPaid, sale.TopicTicketIssued, sale.TopicTicketIssued, sale.TopicTicketIssued)
		ann.takeBack(sale.RefundWish{}) // the rest
		h.asks()
		ann.refund(1, sale.RefundDone, 2*4250+2900)
		ann.orderIs(sale.Refunded)
		h.seats("OO AAAAAAAAAA HO") // B53: what was used is not sold again
		_, err = bob.try("B-2")
		h.refused(err, sale.ErrSeatsTaken, "B-2")
	})
}

func TestB49EachWayOfGivingBackFreesTheSeatOnce(t *testing.T) {
	play(t, nil, func(h *house) {
		staff, _ := h.bought("A-1")
		console, payment := h.bought("A-2")
		h.buyer().hold("A-3")
		cancels := h.buyer()
		cancels.hold("A-4")
		h.seats("SSHH")
		staff.takeBack(sale.RefundWish{})
		h.back("c", sale.FactRefunded, payment, console.order, 4250, nil)
		h.ok(h.Release(cancels.id, cancels.order))
		time.Sleep(120 * sec)
		h.tick()
		h.seats("")
		staff.takeBack(sale.RefundWish{})
		h.back("d", sale.FactRefunded, payment, console.order, 4250, nil)
		h.ok(h.Release(cancels.id, cancels.order))
		if s := h.status(); s.Sold != 0 || s.SeatsLeft != 18 {
			h.Errorf("%d sold, %d left", s.Sold, s.SeatsLeft)
		}
		for n := range 4 {
			h.buyer().hold(fmt.Sprint("A-", n+1))
		}
		h.seats("HHHH")
	})
}

func TestB53WhereRefundedSeatsGo(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, _ := h.bought("A-1", "A-2", "A-3")
		h.ok(ann.let(1))
		ann.takeBack(sale.RefundWish{Seats: []string{"A-1"}, OffSale: true})
		ann.takeBack(sale.RefundWish{})
		h.seats("OOA")
		h.restart()
		_, err := h.BlockSeats("staff", gala, []string{"A-2"}, "", "mended")
		h.ok(err)
		h.seats("OAA")
		_, err = h.CloseEvent("staff", gala, "")
		h.ok(err)
		p, _, err := h.Join(gala, uuid.New())
		h.refused(err, sale.ErrEventClosed)
		if p.Token != "" {
			h.Error("a closed event gives turns")
		}
	})
}

func TestB53AUsedSeatIsNotSoldAgainWhoeverReturnsTheMoney(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, payment := h.bought("A-1", "A-2")
		h.ok(ann.let(1))
		h.back("c", sale.FactRefunded, payment, ann.order, 8500, nil)
		ann.orderIs(sale.Refunded)
		h.seats("AO")
	})
}

func TestB54TheTicketsOfARefundedOrderAreDeadEverywhere(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, _ := h.bought("A-1")
		ann.takeBack(sale.RefundWish{})
		h.refused(ann.let(0), sale.ErrTicketVoid)
		if o := ann.seen(); o.Codes != nil {
			h.Errorf("the buyer is shown %q", o.Codes)
		}
		h.wantTold(ann.order, sale.TopicOrderPaid, sale.TopicTicketIssued, sale.TopicOrderRefundDue)
		var doc struct{ Data sale.OrderDoc }
		list := h.messages()
		h.ok(json.Unmarshal(list[len(list)-1].Body, &doc))
		if r := doc.Data.Refund; r == nil || len(r.Tickets) != 1 || r.Tickets[0] != ann.seen().Seats[0].Ticket || r.Amount.Amount != 4250 {
			h.Errorf("the outside is told %+v", r)
		}
		_, err := h.Resend("staff", ann.order)
		h.refused(err, sale.ErrNotPaid)
		h.restart()
		h.refused(ann.let(0), sale.ErrTicketVoid)
	})
}

func TestRefundsThatCannotBe(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, _ := h.bought("A-1")
		bob := h.buyer()
		bob.hold("A-2")
		_, err := h.Refund(bob.order, sale.RefundWish{})
		h.refused(err, sale.ErrNotPaid)
		_, err = h.Refund(uuid.New(), sale.RefundWish{})
		h.refused(err, sale.ErrNoSuchOrder)
		_, err = h.Refund(ann.order, sale.RefundWish{Seats: []string{"A-1", "A-2", "Z-9"}})
		h.refused(err, sale.ErrNoSuchSeat, "A-2", "Z-9")
		_, err = h.Refund(ann.order, sale.RefundWish{Reason: "a\x00b"})
		h.refused(err, sale.ErrBadReason)
		h.seats("SH")
		late, _ := h.tooLate("A-3")
		if o := late.takeBack(sale.RefundWish{}); len(o.Refunds) != 1 {
			h.Errorf("%d refunds of one payment", len(o.Refunds))
		}
	})
}

func TestWhereNoProviderHasTheMoney(t *testing.T) {
	free := func(s *sale.Settings) { s.Prices["Balcony"] = 0 }
	play(t, free, func(h *house) {
		ann := h.buyer()
		ann.hold("B-1", "B-2")
		ann.pay()
		ann.takeBack(sale.RefundWish{Seats: []string{"B-1"}})
		ann.orderIs(sale.Paid)
		ann.takeBack(sale.RefundWish{})
		ann.orderIs(sale.Refunded)

		cash, err := h.Sell(sale.DoorSale{Actor: "ann", Event: gala, Seats: []string{"A-1", "A-2"}, Method: sale.Cash})
		h.ok(err)
		cash, err = h.Refund(cash.ID, sale.RefundWish{Actor: "ann", Seats: []string{"A-1"}})
		h.ok(err)
		if cash.Status != sale.Paid || cash.Refunds[0].State != sale.RefundDone {
			h.Errorf("%s, %+v", cash.Status, cash.Refunds)
		}
		_, err = h.Refund(cash.ID, sale.RefundWish{Actor: "ann"})
		h.ok(err)
		h.orderIs(cash.ID, sale.Refunded)

		bob := h.buyer()
		bob.hold("A-3")
		_, err = h.confirm(bob.order, "k", 4250)
		h.ok(err)
		bob.takeBack(sale.RefundWish{})
		bob.orderIs(sale.RefundDue)
		if left := h.asks(); left != 0 || len(h.bank.refunds) != 0 {
			h.Errorf("the bank was asked for money that it never had: %+v", h.bank.refunds)
		}
		h.restart()
		_, err = h.Complete("staff", bob.order, "", "by bank transfer")
		h.ok(err)
		bob.orderIs(sale.Refunded)
		h.wantTold(bob.order, sale.TopicOrderPaid, sale.TopicTicketIssued, sale.TopicOrderRefundDue, sale.TopicOrderRefunded)
	})
}

func TestMoneyThatWentBackInTheBanksOwnPages(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, payment := h.bought("A-1", "A-2")
		first := func(f *sale.Fact) { f.RefundID = "con_1" }
		h.outcome(h.back("c1", sale.FactRefunded, payment, ann.order, 4250, first), "attention", "partial_refund")
		h.outcome(h.back("c2", sale.FactRefunded, payment, ann.order, 4250, first), "ignored", "")
		h.seats("SS")
		h.restart()
		// Which seat it was for, staff say; it is not paid for twice.
		ann.takeBack(sale.RefundWish{Seats: []string{"A-1"}})
		ann.refund(1, sale.RefundDone, 0)
		h.seats("AS")
		h.ok(h.SettlePayment(h.Attention()[0].Seq, sale.Decision{Actor: "staff", How: sale.HowComplete, Reason: "A-1"}))
		h.outcome(h.back("c3", sale.FactRefunded, payment, ann.order, 4251, nil), "attention", "unexpected_refund")
		h.outcome(h.back("c4", sale.FactRefunded, payment, ann.order, 4250, func(f *sale.Fact) { f.RefundID = "con_2" }), "applied", "")
		ann.orderIs(sale.Refunded)
		h.seats("")
		h.outcome(h.back("c5", sale.FactRefunded, payment, ann.order, 4250, func(f *sale.Fact) { f.RefundID = "con_3" }), "attention", "unexpected_refund")
		if h.asks(); len(h.bank.refunds) != 0 {
			h.Errorf("the bank was asked: %+v", h.bank.refunds)
		}
		h.refused(ann.let(1), sale.ErrTicketVoid)
	})
}

// Two refunds of one size in the provider's pages are two, each seen by a person.
func TestTwoRefundsOfOneSizeInTheBanksOwnPagesAreTwo(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, payment := h.bought("A-1", "A-2")
		for _, id := range []string{"con_1", "con_2"} {
			h.outcome(h.back(id, sale.FactRefunded, payment, ann.order, 1000, func(f *sale.Fact) { f.RefundID = id }), "attention", "partial_refund")
		}
		if done, open := ann.seen().Returned(); done != 2000 || open != 0 {
			h.Errorf("%d returned, %d open", done, open)
		}
		// One of them fails after all; the buyer has his seats, so it may be left at that.
		h.outcome(h.back("f", sale.FactNotRefunded, payment, ann.order, 1000, func(f *sale.Fact) { f.RefundID = "con_2" }), "applied", "")
		r := ann.refund(1, sale.RefundFailed, 1000)
		if ways := h.RefundWays(&ann.seen().Order, 1); !slices.Equal(ways, []string{sale.HowComplete, sale.HowRefund, sale.HowDismiss}) {
			h.Errorf("the ways are %v", ways)
		}
		h.ok(h.SettleRefund(ann.order, r.ID, sale.Decision{Actor: "staff", How: sale.HowDismiss, Reason: "a mistake"}))
		ann.takeBack(sale.RefundWish{})
		ann.refund(2, sale.RefundRequested, 7500)
		h.outcome(h.back("g", sale.FactRefunded, payment, ann.order, 1000, func(f *sale.Fact) { f.RefundID = "con_2" }), "attention", "unexpected_refund")
		h.bank.answer = done
		h.asks()
		ann.orderIs(sale.Refunded)
	})
}

func TestARefundThatFailsAfterItWasDoneIsDueAgain(t *testing.T) {
	play(t, nil, func(h *house) {
		h.bank.answer = done
		ann, payment := h.bought("A-1", "A-2")
		ann.takeBack(sale.RefundWish{Seats: []string{"A-1"}})
		ann.takeBack(sale.RefundWish{})
		h.bank.back = func() { h.bank.answer = sale.RefundAnswer{ID: fmt.Sprint("re_", len(h.bank.refunds)), Done: true} }
		h.asks()
		ann.orderIs(sale.Refunded)
		h.outcome(h.back("f", sale.FactNotRefunded, payment, ann.order, 4250, func(f *sale.Fact) { f.RefundID = "re_2" }), "applied", "")
		ann.refund(0, sale.RefundDone, 4250)
		r := ann.refund(1, sale.RefundFailed, 4250)
		ann.orderIs(sale.RefundDue)
		h.restart()
		h.ok(h.SettleRefund(ann.order, r.ID, sale.Decision{Actor: "staff", How: sale.HowRefund}))
		h.asks()
		ann.orderIs(sale.Refunded)
		if n := len(h.bank.refunds); n != 3 {
			h.Errorf("the bank was asked %d times", n)
		}
	})
}

// B40: of twenty who pay too late for one seat each has it or his money.
func TestB40TwentyLatePayersAndOneSeat(t *testing.T) {
	play(t, nil, func(h *house) {
		h.bank.answer = done
		type late struct {
			v       *visitor
			payment string
		}
		var all []late
		for range 20 {
			v := h.buyer()
			v.hold("A-1")
			all = append(all, late{v, v.pay().PaymentID})
			time.Sleep(300 * sec)
			h.tick()
		}
		slices.SortFunc(all, func(a, b late) int { return int(a.v.id[0]) - int(b.v.id[0]) })
		paid, back := 0, 0
		for n, l := range all {
			h.says(fmt.Sprint(n), sale.FactSucceeded, l.payment, l.v.order, 4250)
			if n == 7 { // the seat is free again in between
				_, err := h.Refund(all[0].v.order, sale.RefundWish{Actor: "staff"})
				h.ok(err)
			}
			h.asks()
		}
		for _, l := range all {
			switch o := l.v.seen(); o.Status {
			case sale.Paid:
				paid++
			case sale.Refunded:
				back++
			default:
				h.Errorf("a payer's order is %s", o.Status)
			}
		}
		if paid != 1 || back != 19 || len(h.bank.refunds) != 19 {
			h.Errorf("%d have the seat, %d their money, the bank was asked %d times", paid, back, len(h.bank.refunds))
		}
		h.seats("S")
	})
}

func TestOrderRemembersEachChange(t *testing.T) {
	play(t, nil, func(h *house) {
		h.bank.answer = done
		ann, _ := h.bought("A-1")
		h.says("odd", sale.FactSucceeded, "p2", ann.order, 1)
		h.says("twice", sale.FactSucceeded, "p3", ann.order, 4250)
		_, err := h.Resend("staff:1", ann.order)
		h.ok(err)
		h.wantTold(ann.order, sale.TopicOrderPaid, sale.TopicTicketIssued, sale.TopicOrderPaid, sale.TopicTicketIssued)
		_, err = h.Refund(ann.order, sale.RefundWish{Actor: "staff:2", Reason: "ill"})
		h.ok(err)
		h.asks()
		var got []string
		for _, c := range ann.seen().History {
			if c.At.IsZero() {
				h.Errorf("%+v has no time", c)
			}
			got = append(got, fmt.Sprint(c.Status, " ", c.Cause, " ", c.By))
		}
		want := []string{
			"PAYING payment.started visitor", "PAID payment.succeeded bank", "PAID payment.amount_mismatch bank", "PAID payment.surplus_payment bank", "PAID resent staff:1", "REFUND_DUE refund.requested staff:2", "REFUNDED refund.done staff:2",
		}
		if !slices.Equal(got, want) {
			h.Errorf("got %q, want %q", got, want)
		}
	})
}

// Somebody returns money in the bank's pages in the very moment in which the bank
// is asked for the same sum: both were made, and both are in the books.
func TestARefundThatWasMadeTwiceIsBookedTwice(t *testing.T) {
	for _, later := range []bool{false, true} {
		play(t, nil, func(h *house) {
			ann, payment := h.bought("A-1", "A-2")
			ann.takeBack(sale.RefundWish{Seats: []string{"A-1"}})
			h.bank.answer = sale.RefundAnswer{ID: "re_1", Done: !later}
			h.bank.back = func() {
				h.outcome(h.back("c", sale.FactRefunded, payment, ann.order, 4250, func(f *sale.Fact) { f.RefundID = "con_1" }), "applied", "")
			}
			h.asks()
			if later {
				ours := ann.seen().Refunds[0].ID.String()
				h.back("e", sale.FactRefunded, payment, ann.order, 4250, func(f *sale.Fact) { f.RefundID, f.Refund = "re_1", ours })
			}
			h.restart()
			if done, open := ann.seen().Returned(); done != 8500 || open != 0 || len(h.bank.refunds) != 1 {
				h.Errorf("%d returned, %d open: %+v", done, open, ann.seen().Refunds)
			}
			ann.orderIs(sale.Refunded) // the buyer has all his money
			h.seats("")
		})
	}
}
