package sale_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

func TestPayingMovesTheDeadlineOnce(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		h.at(100 * sec)
		first := ann.pay()
		if o := ann.seen(); o.Status != sale.Paying || !o.HoldExpiresAt.Equal(h.began.Add(400*sec)) || !o.PayBy.Equal(h.began.Add(340*sec)) {
			h.Errorf("paying: %s until %s, pay by %s", o.Status, o.HoldExpiresAt, o.PayBy)
		}
		h.at(110 * sec)
		if again := ann.pay(); again != first || h.bank.starts != 1 {
			h.Errorf("paying again gives %+v after %d starts, want the same payment %+v", again, h.bank.starts, first)
		}
		h.outcome(h.says("e1", sale.FactFailed, first.PaymentID, ann.order, 4250), "applied", "")
		ann.orderIs(sale.Pending)
		h.at(200 * sec)
		second := ann.pay()
		if second.PaymentID == first.PaymentID || !second.PayBy.Equal(h.began.Add(340*sec)) {
			h.Errorf("second attempt %+v", second)
		}
		if o := ann.seen(); !o.HoldExpiresAt.Equal(h.began.Add(400 * sec)) {
			h.Errorf("the second attempt moved the deadline to %s", o.HoldExpiresAt)
		}
		h.at(400*sec - ms)
		h.tick()
		ann.orderIs(sale.Paying)
		h.at(400 * sec)
		ann.orderIs(sale.Expired)
		h.seats("")
		_, err := ann.tryPay()
		h.refused(err, sale.ErrHoldExpired)
	})
}

func TestLongHoldIsNotShortenedByPaying(t *testing.T) {
	long := func(s *sale.Settings) { s.Rules.HoldSeconds, s.Rules.PaySeconds = 600, 100 }
	play(t, long, func(h *house) {
		ann := h.buyer()
		o := ann.hold("A-1")
		if p := ann.pay(); !p.PayBy.Equal(h.began.Add(100 * sec)) {
			h.Errorf("pay by %s", p.PayBy)
		}
		if got := ann.seen(); !got.HoldExpiresAt.Equal(o.HoldExpiresAt) {
			h.Errorf("the deadline moved to %s", got.HoldExpiresAt)
		}
	})
}

func TestTooLittleTimeToPayIsSaidBeforeTheBankIsAsked(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		id := ann.pay().PaymentID // deadline 300 s, margin 60 s
		h.says("e1", sale.FactFailed, id, ann.order, 0)
		h.at(240*sec - ms)
		ann.pay()
		h.says("e2", sale.FactFailed, "p-"+ann.seen().Payments[1].Attempt.String(), ann.order, 0)
		h.at(240 * sec)
		_, err := ann.tryPay()
		h.refused(err, sale.ErrHoldExpired)
		if h.bank.starts != 2 {
			h.Errorf("the bank was asked %d times", h.bank.starts)
		}
		ann.orderIs(sale.Pending)
	})
}

func TestPaymentThatCannotStartGivesTheOrderBack(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		h.bank.down = true
		_, err := ann.tryPay()
		h.refused(err, sale.ErrProviderDown)
		ann.orderIs(sale.Pending)
		h.seats("H")
		h.bank.down = false
		ann.pay()
		ann.orderIs(sale.Paying)
		h.refused(h.Release(ann.id, ann.order), sale.ErrPaying)
		h.seats("H")
	})
}

func TestOnlyProvidersOfTheEventTakeMoney(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		for _, p := range []string{"shop", "door", "stripe", ""} {
			_, err := h.Pay(context.Background(), sale.PayRequest{Visitor: ann.id, Order: ann.order, Provider: p})
			h.refused(err, sale.ErrNoProvider)
		}
		_, err := h.Pay(context.Background(), sale.PayRequest{Visitor: uuid.New(), Order: ann.order, Provider: "bank"})
		h.refused(err, sale.ErrNoSuchOrder)
		ann.pay()
		_, err = h.Pay(context.Background(), sale.PayRequest{Visitor: ann.id, Order: ann.order, Provider: "shop"})
		h.refused(err, sale.ErrPaying)
	})
}

func TestProviderThatIsGoneAfterARestartIsARefusal(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		var err error
		poor := sale.New(sale.Config{Store: h.store, Secret: h.store.Secret()})
		h.bank.during = func(sale.StartRequest) { // as if the process had died while it asked
			_, err = poor.Pay(context.Background(), sale.PayRequest{Visitor: ann.id, Order: ann.order, Provider: "bank"})
		}
		ann.pay()
		h.refused(err, sale.ErrNoProvider)
	})
}

func TestFreeOrderIsPaidWithoutAProvider(t *testing.T) {
	free := func(s *sale.Settings) { s.Prices["Balcony"], s.Providers = 0, []string{"shop"} }
	play(t, free, func(h *house) {
		ann := h.buyer()
		ann.hold("B-1", "B-2")
		if p := ann.pay(); p != (sale.StartedPay{}) {
			h.Errorf("got %+v, want nothing to pay", p)
		}
		if o := ann.seen(); o.Status != sale.Paid || len(o.Codes) != 2 {
			h.Errorf("got %+v", o)
		}
		h.wantTold(ann.order, sale.TopicOrderPaid, sale.TopicTicketIssued, sale.TopicTicketIssued)
		bob := h.buyer()
		bob.hold("A-1", "B-3") // not really free
		_, err := bob.tryPay()
		h.refused(err, sale.ErrNoProvider)
	})
}

func TestBuyerIsAskedAsTheEventWants(t *testing.T) {
	for _, c := range []struct {
		rule string
		b    sale.Buyer
		want *sale.Refusal
		kept sale.Buyer
	}{
		{"none", sale.Buyer{Name: "Ann", Email: "ann@example.org"}, nil, sale.Buyer{}},
		{"optional", sale.Buyer{}, nil, sale.Buyer{}},
		{"optional", sale.Buyer{Name: "Zoë 👩‍👩‍👧 e\u0301", Email: "z@example.org"}, nil, sale.Buyer{Name: "Zoë 👩‍👩‍👧 e\u0301", Email: "z@example.org"}},
		{"optional", sale.Buyer{Name: "A\u202eB"}, sale.ErrBadBuyer, sale.Buyer{}},
		{"optional", sale.Buyer{Name: "A\x00"}, sale.ErrBadBuyer, sale.Buyer{}},
		{"optional", sale.Buyer{Name: "A\xff"}, sale.ErrBadBuyer, sale.Buyer{}},
		{"optional", sale.Buyer{Name: strings.Repeat("é", 201)}, sale.ErrBadBuyer, sale.Buyer{}},
		{"optional", sale.Buyer{Email: "no address"}, sale.ErrBadBuyer, sale.Buyer{}},
		{"optional", sale.Buyer{Email: "Ann <ann@example.org>"}, sale.ErrBadBuyer, sale.Buyer{}},
		{"required", sale.Buyer{Name: "Ann"}, sale.ErrBuyerRequired, sale.Buyer{}},
		{"required", sale.Buyer{Email: "ann@example.org"}, sale.ErrBuyerRequired, sale.Buyer{}},
		{"required", sale.Buyer{Name: "Ann", Email: "ann@example.org"}, nil, sale.Buyer{Name: "Ann", Email: "ann@example.org"}},
	} { // B105
		play(t, func(s *sale.Settings) { s.Rules.Buyer = c.rule }, func(h *house) {
			ann := h.buyer()
			ann.hold("A-1")
			_, err := h.Pay(context.Background(), sale.PayRequest{Visitor: ann.id, Order: ann.order, Provider: "bank", Buyer: c.b})
			if c.want != nil {
				h.refused(err, c.want)
				ann.orderIs(sale.Pending)
				return
			}
			h.ok(err)
			h.restart()
			if o := ann.seen(); o.Buyer != c.kept {
				h.Errorf("%s: kept %+q, want %+q", c.rule, o.Buyer, c.kept)
			}
		})
	}
}

func TestMoneyMakesTheOrderPaidAndTellsTheOutsideInOrder(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		h.sinks = func(topic string) []string {
			if topic == sale.TopicOrderPaid {
				return []string{"https://a.example/", "https://b.example/"}
			}
			return []string{"https://a.example/"}
		}
		ann, bob := h.buyer(), h.visitor()
		bob.join()
		ann.hold("A-1", "A-2")
		p := ann.pay()
		h.outcome(h.says("e1", sale.FactSucceeded, p.PaymentID, ann.order, 8500), "applied", "")
		o := ann.seen()
		if o.Status != sale.Paid || len(o.Codes) != 2 || o.Codes[0] != "code-"+o.Seats[0].Ticket.String() || o.PaidAt.IsZero() {
			h.Errorf("got %+v", o)
		}
		h.seats("SS")
		ann.is(sale.NotEntered) // CONSUMED
		_, err := ann.try("A-3")
		h.refused(err, sale.ErrNotAdmitted)
		h.line(1, 0) // the slot is free at once
		h.tick()
		bob.is(sale.Ready)

		h.wantTold(ann.order, sale.TopicOrderPaid, sale.TopicOrderPaid, sale.TopicTicketIssued, sale.TopicTicketIssued)
		list := h.messages()
		if list[0].ID != list[1].ID || list[0].Sink == list[1].Sink || !bytes.Equal(list[0].Body, list[1].Body) {
			h.Errorf("copies for two sinks: %+v and %+v", list[0], list[1])
		}
		ids := map[string]bool{}
		for i, m := range list {
			ids[m.ID] = true
			if i > 0 && m.Seq <= list[i-1].Seq {
				h.Errorf("the messages' numbers do not rise")
			}
			var doc struct{ ID, Topic, Key string }
			if err := json.Unmarshal(m.Body, &doc); err != nil || doc.ID != m.ID || doc.Topic != m.Topic || doc.Key != m.Key {
				h.Errorf("body %s of %+v: %v", m.Body, m, err)
			}
		}
		if len(ids) != 3 {
			h.Errorf("%d ids, want 3", len(ids))
		}
		if !strings.Contains(string(list[2].Body), o.Codes[0]) {
			h.Errorf("the ticket's message %s lacks its code", list[2].Body)
		}
	})
}

func TestIgnoredFactsTellNobodyAnything(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		p := ann.pay()
		h.says("e1", sale.FactSucceeded, p.PaymentID, ann.order, 4250)
		told := len(h.messages())
		h.outcome(h.says("e2", sale.FactSucceeded, p.PaymentID, ann.order, 4250), "ignored", "")
		h.outcome(h.says("e3", sale.FactFailed, p.PaymentID, ann.order, 4250), "ignored", "")
		h.outcome(h.says("e4", sale.FactFailed, "other", ann.order, 4250), "ignored", "")
		h.outcome(h.says("e5", "payment.created", p.PaymentID, ann.order, 4250), "ignored", "")
		h.outcome(h.says("e6", sale.FactFailed, "p", uuid.New(), 4250), "ignored", "")
		h.outcome(h.says("e1", sale.FactFailed, "whatever", ann.order, 1), "applied", "") // told before: the old receipt
		if n := len(h.messages()); n != told || len(h.Attention()) != 0 {
			h.Errorf("%d messages more, attention %v", n-told, h.Attention())
		}
		ann.orderIs(sale.Paid)
	})
}

func TestB32TheTransitionIssuesTicketsNotTheEvent(t *testing.T) {
	orders := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	play(t, nil, func(h *house) {
		for round, order := range orders {
			ann := h.buyer()
			ann.hold(fmt.Sprintf("A-%d", round+1))
			p := ann.pay()
			var fns []func()
			for _, i := range order {
				fns = append(fns, func() { h.says(fmt.Sprint(round, i), sale.FactSucceeded, p.PaymentID, ann.order, 4250) })
			}
			if round%2 == 0 {
				h.together(fns...)
			} else {
				for _, fn := range fns {
					fn()
				}
			}
			h.wantTold(ann.order, sale.TopicOrderPaid, sale.TopicTicketIssued)
		}
		if list := h.Attention(); len(list) != 0 {
			h.Errorf("attention for one payment told three times: %v", list)
		}
	})
}

func TestB34LateFailureDoesNotUndoALaterSuccess(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		card := ann.pay()
		h.at(10 * sec)
		_, err := h.confirm(ann.order, "k", 4250) // the second method, through the shop
		h.ok(err)
		h.at(30 * time.Minute)
		h.outcome(h.says("e1", sale.FactFailed, card.PaymentID, ann.order, 4250), "ignored", "")
		ann.orderIs(sale.Paid)
		h.wantTold(ann.order, sale.TopicOrderPaid, sale.TopicTicketIssued)
	})
}

func TestB34OldFailureDoesNotEndANewAttempt(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		first := ann.pay()
		h.says("e1", sale.FactFailed, first.PaymentID, ann.order, 4250)
		second := ann.pay()
		h.outcome(h.says("e2", sale.FactFailed, first.PaymentID, ann.order, 4250), "ignored", "")
		ann.orderIs(sale.Paying)
		h.outcome(h.says("e3", sale.FactSucceeded, second.PaymentID, ann.order, 4250), "applied", "")
		ann.orderIs(sale.Paid)
		h.outcome(h.says("e4", sale.FactFailed, second.PaymentID, ann.order, 4250), "ignored", "")
		ann.orderIs(sale.Paid)
	})
}

func TestB34SecondSuccessIsSurplusAndSeenByAPerson(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		first := ann.pay()
		h.says("e1", sale.FactFailed, first.PaymentID, ann.order, 4250)
		second := ann.pay()
		h.says("e2", sale.FactSucceeded, second.PaymentID, ann.order, 4250)
		h.outcome(h.says("e3", sale.FactSucceeded, first.PaymentID, ann.order, 4250), "attention", "surplus_payment")
		h.says("e3", sale.FactSucceeded, first.PaymentID, ann.order, 4250)
		if n := len(h.Attention()); n != 1 {
			h.Errorf("%d entries on the attention list, want 1", n)
		}
		h.wantTold(ann.order, sale.TopicOrderPaid, sale.TopicTicketIssued)
	})
}

func TestSuccessAfterFailureOfTheSamePaymentCounts(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		p := ann.pay()
		h.says("e1", sale.FactFailed, p.PaymentID, ann.order, 4250)
		h.outcome(h.says("e2", sale.FactSucceeded, p.PaymentID, ann.order, 4250), "applied", "")
		ann.orderIs(sale.Paid)
	})
}

func TestMoneyThatComesBeforeTheBankHasAnsweredIsBookedOnce(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		h.bank.during = func(r sale.StartRequest) {
			h.outcome(h.says("e1", sale.FactSucceeded, "p-"+r.Attempt.String(), ann.order, 4250), "applied", "")
		}
		p := ann.pay()
		h.outcome(h.says("e2", sale.FactSucceeded, p.PaymentID, ann.order, 4250), "ignored", "")
		if o := ann.seen(); o.Status != sale.Paid || len(o.Payments) != 1 || o.Payments[0].State != sale.PaymentSucceeded {
			h.Errorf("got %s with %+v", o.Status, o.Payments)
		}
	})
}

func TestB37WrongSumsConfirmNothingAndAreKeptOnce(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		p := ann.pay()
		fact := sale.Fact{Provider: "bank", Kind: sale.FactSucceeded, PaymentID: p.PaymentID, Order: ann.order.String(), Amount: 4250, Currency: "EUR"}
		n := 0
		wrong := func(change func(*sale.Fact)) {
			f := fact
			n++
			f.EventID = fmt.Sprint("e", n)
			change(&f)
			for range 2 {
				rc := h.receive(f)
				h.outcome(rc, "attention", "amount_mismatch")
				if rc.Expected != 4250 || rc.ExpectedIn != "EUR" || rc.Fact.Amount != f.Amount {
					h.Errorf("the receipt %+v lacks the two figures", rc)
				}
			}
		}
		for _, amount := range []int64{4249, 4251, 0, -1, -4250, 1<<63 - 1, -1 << 63} { // B103 too
			wrong(func(f *sale.Fact) { f.Amount = amount })
		}
		wrong(func(f *sale.Fact) { f.Currency = "USD" })
		wrong(func(f *sale.Fact) { f.Currency = "eur" })
		wrong(func(f *sale.Fact) { f.Odd = "42.5e2" })
		if got := len(h.Attention()); got != n {
			h.Errorf("%d entries on the attention list, want %d", got, n)
		}
		ann.orderIs(sale.Paying)
		h.wantTold(ann.order)
		h.at(300 * sec)
		ann.orderIs(sale.Expired) // the seats follow the normal rule
	})
}

func TestMoneyForUnknownOrdersWaitsForAPerson(t *testing.T) {
	play(t, nil, func(h *house) {
		for i, order := range []string{uuid.NewString(), "", "17", "not-an-id"} {
			for _, kind := range []sale.FactKind{sale.FactSucceeded, sale.FactRefunded} {
				rc := h.receive(sale.Fact{Provider: "bank", EventID: fmt.Sprint(i, kind), Kind: kind, Order: order, Amount: 1, Currency: "EUR"})
				h.outcome(rc, "attention", "unknown_order")
			}
		}
		h.restart()
		if n := len(h.Attention()); n != 8 {
			h.Errorf("%d on the attention list, want 8", n)
		}
	})
}

func TestOrderIsShownToItsOwnerOnly(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		_, err := h.Order(uuid.New(), ann.order)
		h.refused(err, sale.ErrNoSuchOrder)
		_, err = h.Order(uuid.Nil, ann.order)
		h.refused(err, sale.ErrNoSuchOrder)
		_, err = h.Order(ann.id, uuid.New())
		h.refused(err, sale.ErrNoSuchOrder)
	})
}
