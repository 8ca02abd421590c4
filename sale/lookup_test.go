package sale_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"foyer/sale"
)

// looks has the providers asked as often as the office wants until a time.
func (h *house) looks(until time.Duration) {
	h.Helper()
	for time.Since(h.began) < until {
		pause, _ := h.LookUp(h.Context())
		if pause <= 0 || pause > sec {
			h.Fatalf("wants to be called again after %s", pause)
		}
		time.Sleep(min(pause, until-time.Since(h.began)))
	}
}

// took lets the bank say, when it is asked, that a payment was made.
func (h *house) took(payment string, amount int64) {
	h.bank.looks = map[string]sale.Looked{payment: {State: sale.LookSucceeded, ID: payment, Amount: amount, Currency: "EUR"}}
}

func TestALostWebhookIsFoundBeforeTheHoldIsGivenUp(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1") // to pay by 240 s, held until 300 s
		p := ann.pay()
		h.looks(239 * sec)
		ann.orderIs(sale.Paying)
		h.took(p.PaymentID, 4250)
		h.looks(241 * sec)
		ann.orderIs(sale.Paid)
		h.says("e1", sale.FactSucceeded, p.PaymentID, ann.order, 4250) // the webhook comes after all
		h.wantTold(ann.order, sale.TopicOrderPaid, sale.TopicTicketIssued)
		n := len(h.bank.asked)
		h.looks(300 * sec)
		if len(h.bank.asked) != n || len(h.Attention()) != 0 {
			h.Errorf("asked again %d times, attention %v", len(h.bank.asked)-n, h.Attention())
		}
	})
}

func TestALostWebhookIsFoundAfterTheHoldWasGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		taken bool
		want  sale.OrderStatus
	}{"seats free": {false, sale.Paid}, "seats gone": {true, sale.RefundDue}} {
		t.Run(name, func(t *testing.T) {
			play(t, nil, func(h *house) {
				ann := h.buyer()
				ann.hold("A-1")
				p := ann.pay()
				h.looks(301 * sec)
				h.tick()
				ann.orderIs(sale.Expired)
				if !slices.ContainsFunc(h.bank.expired, func(r sale.PaymentRef) bool { return r.ID == p.PaymentID }) {
					h.Error("people may still pay for an order that does not wait")
				}
				if c.taken {
					h.buyer().hold("A-1")
				}
				h.restart()
				h.took(p.PaymentID, 4250)
				h.looks(700 * sec)
				ann.orderIs(c.want)
			})
		})
	}
}

func TestPaymentsAreLookedUpAtTheirTimes(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		ann.pay()
		var at []time.Duration
		for range 3 * 3600 {
			n := len(h.bank.asked)
			_, err := h.LookUp(h.Context())
			h.ok(err)
			if len(h.bank.asked) > n {
				at = append(at, time.Since(h.began))
			}
			time.Sleep(sec)
		}
		want := []time.Duration{20 * sec, 40 * sec, 80 * sec, 160 * sec, 240 * sec, 480 * sec, 960 * sec, 1920 * sec, 3840 * sec, 7680 * sec}
		if !slices.Equal(at, want) {
			h.Errorf("looked at %v, want %v", at, want)
		}
		if len(h.bank.expired) != 6 {
			h.Errorf("ended %d times, want at 240 s and at each look after it", len(h.bank.expired))
		}
	})
}

func TestAPaymentThatFailedIsFound(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		p := ann.pay()
		h.bank.looks = map[string]sale.Looked{p.PaymentID: {State: sale.LookFailed, ID: p.PaymentID}}
		h.looks(21 * sec)
		ann.orderIs(sale.Pending)
		if again := ann.pay(); again.PaymentID == p.PaymentID {
			h.Error("the next payment is the failed one")
		}
	})
}

func TestAPaymentIsGivenUpAfterThreeDaysAndItsMoneyStillCounts(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		p := ann.pay()
		time.Sleep(301 * sec)
		h.tick()
		h.at(72*time.Hour - sec)
		h.restart() // looked up at once: this process never did
		h.looks(72*time.Hour - ms)
		if n := len(h.store.Unsettled()); n != 1 {
			h.Errorf("%d payments are looked up", n)
		}
		h.bank.down = true
		h.restart()
		h.looks(72*time.Hour + 25*sec)
		if n := len(h.store.Unsettled()); n != 1 {
			h.Error("a payment was given up although the bank did not answer")
		}
		h.bank.down = false
		h.looks(72*time.Hour + 50*sec)
		if n := len(h.store.Unsettled()); n != 0 {
			h.Errorf("%d payments are looked up", n)
		}
		h.restart()
		h.says("e1", sale.FactSucceeded, p.PaymentID, ann.order, 4250)
		ann.orderIs(sale.Paid)
	})
}

func TestABankThatErrsAtTheLastMomentIsAskedAgainInTime(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		p := ann.pay()
		h.looks(239 * sec)
		h.bank.down = true
		h.looks(250 * sec)
		if _, err := h.LookUp(h.Context()); err != nil {
			h.Errorf("nothing is due: %v", err)
		}
		h.bank.down = false
		h.took(p.PaymentID, 4250)
		h.looks(261 * sec)
		ann.orderIs(sale.Paid)
	})
}

func TestASecondPaymentThatIsFoundGoesBack(t *testing.T) {
	play(t, nil, func(h *house) {
		h.bank.answer = done
		ann := h.buyer()
		ann.hold("A-1")
		p := ann.pay()
		_, err := h.confirm(ann.order, "k", 4250)
		h.ok(err)
		h.took(p.PaymentID, 4250)
		h.looks(21 * sec)
		list := h.Attention()
		if len(list) != 1 || list[0].Attention != "surplus_payment" || len(h.store.Unsettled()) != 0 {
			h.Fatalf("attention %v, %d looked up", list, len(h.store.Unsettled()))
		}
		h.asks()
		if len(h.bank.refunds) != 1 || h.bank.refunds[0].Payment != p.PaymentID || len(h.undone()) != 0 {
			h.Errorf("asked %+v, attention %v", h.bank.refunds, h.Attention())
		}
		h.says("e1", sale.FactSucceeded, p.PaymentID, ann.order, 4250)
		h.asks()
		if ann.orderIs(sale.Paid); len(h.bank.refunds) != 1 {
			h.Errorf("asked %+v", h.bank.refunds)
		}
	})
}

func TestALookThatTellsAnotherSumIsSeenOnceAndFollowed(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		p := ann.pay()
		h.took(p.PaymentID, 4249)
		h.looks(100 * sec)
		if list := h.Attention(); len(list) != 1 || list[0].Attention != "amount_mismatch" {
			h.Fatalf("attention %v", list)
		}
		h.took(p.PaymentID, 4250) // a part came first
		h.looks(161 * sec)
		ann.orderIs(sale.Paid)
		time.Sleep(25 * time.Hour)
		if h.asks(); len(h.bank.refunds) != 0 || len(h.Attention()) != 0 {
			h.Errorf("the bank was asked for %+v of an order that is PAID, attention %v", h.bank.refunds, h.Attention())
		}
	})
}

// slowBank hangs until it is told to give up.
type slowBank struct{ *bank }

func (slowBank) Name() string { return "slow" }

func (slowBank) Look(ctx context.Context, _ sale.PaymentRef) (sale.Looked, error) {
	<-ctx.Done()
	return sale.Looked{}, ctx.Err()
}

func TestABankThatHangsHoldsUpNoOther(t *testing.T) {
	play(t, nil, func(h *house) {
		slow := slowBank{&bank{}}
		both := sale.New(sale.Config{Store: h.store, Secret: h.store.Secret(), Providers: []sale.Provider{slow, h.bank}, TicketCode: nil})
		_, err := both.ChangeEvent("staff", gala, func(s *sale.Settings) error { s.Providers = []string{"slow", "bank"}; return nil })
		h.ok(err)
		for n := range 10 {
			v := h.buyer()
			v.hold(fmt.Sprint("A-", n+1))
			_, err := both.Pay(h.Context(), sale.PayRequest{Visitor: v.id, Order: v.order, Provider: "slow"})
			h.ok(err)
		}
		ann := h.buyer()
		ann.hold("B-1")
		_, err = both.Pay(h.Context(), sale.PayRequest{Visitor: ann.id, Order: ann.order, Provider: "bank"})
		h.ok(err)
		time.Sleep(20 * sec)
		began := time.Now()
		if _, err := both.LookUp(h.Context()); err == nil {
			h.Error("a bank that hangs is no error")
		}
		if took := time.Since(began); took > 30*sec || len(h.bank.asked) != 1 {
			h.Errorf("it took %s, the other bank was asked %d times", took, len(h.bank.asked))
		}
		ctx, stop := context.WithCancel(h.Context())
		time.Sleep(20 * sec)
		time.AfterFunc(sec, stop)
		began = time.Now()
		if _, err := both.LookUp(ctx); time.Since(began) > 2*sec {
			h.Errorf("it goes on for %s when it is to end: %v", time.Since(began), err)
		}
	})
}

// Two tabs open the bank's page: one is told that the bank does not answer, the
// other shows the page when the order's time is over. Money that comes there
// counts, told or not.
func TestAPageThatOpensLateIsLookedUp(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		h.bank.during = func(sale.StartRequest) {
			h.bank.during = nil
			h.bank.down = true
			_, err := ann.tryPay()
			h.refused(err, sale.ErrProviderDown)
			h.bank.down = false
			time.Sleep(301 * sec)
			h.tick()
			ann.orderIs(sale.Expired)
		}
		p, err := ann.tryPay()
		h.ok(err)
		h.took(p.PaymentID, 4250)
		h.restart()
		h.looks(303 * sec)
		ann.orderIs(sale.Paid)
	})
}
