package sale_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/sale"
)

// asks sends the messages about refunds whose time has come, once each, and
// tells how many must be sent again.
func (h *house) asks() (left int) {
	h.Helper()
	for _, m := range h.messages() {
		if m.Sink != sale.RefundSink || m.NextAt.After(time.Now()) {
			continue
		}
		if err := h.SendRefund(h.Context(), m.Body); err != nil {
			left++
			continue
		}
		h.ok(h.store.Settle([]outbox.Outcome{{Seq: m.Seq, Delivered: true}}))
	}
	return left
}

// bought is a buyer whose order is PAID by the bank, and the payment.
func (h *house) bought(seats ...string) (v *visitor, payment string) {
	h.Helper()
	v = h.buyer()
	o := v.hold(seats...)
	payment = v.pay().PaymentID
	h.outcome(h.says("paid "+payment, sale.FactSucceeded, payment, v.order, o.Total), "applied", "")
	return v, payment
}

// tooLate is a buyer whose money comes when somebody else has his seat.
func (h *house) tooLate(seat string) (v *visitor, payment string) {
	h.Helper()
	v = h.buyer()
	v.hold(seat)
	payment = v.pay().PaymentID
	time.Sleep(300 * sec)
	h.buyer().hold(seat)
	h.says("late "+payment, sale.FactSucceeded, payment, v.order, 4250)
	v.orderIs(sale.RefundDue)
	return v, payment
}

// refund wants the order's n-th refund to stand like this.
func (v *visitor) refund(n int, want sale.RefundState, amount int64) sale.Refund {
	v.h.Helper()
	o := v.seen()
	if len(o.Refunds) <= n {
		v.h.Fatalf("the order has %d refunds, want more than %d", len(o.Refunds), n)
	}
	if r := o.Refunds[n]; r.State != want || r.Amount != amount {
		v.h.Errorf("refund %d is %+v, want %s of %d", n, r, want, amount)
	}
	return o.Refunds[n]
}

// back is a fact about money that went back.
func (h *house) back(event string, kind sale.FactKind, payment string, order uuid.UUID, amount int64, change func(*sale.Fact)) *sale.Receipt {
	h.Helper()
	f := sale.Fact{Provider: "bank", EventID: event, Kind: kind, PaymentID: payment, Order: order.String(), Amount: amount, Currency: "EUR"}
	if change != nil {
		change(&f)
	}
	return h.receive(f)
}

var done = sale.RefundAnswer{ID: "re_1", Done: true}

func TestB39LateMoneyIsAskedBackOnceThroughTheLane(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, payment := h.tooLate("A-1")
		if due := h.RefundsDue(); len(due) != 1 || due[0].ID != ann.order {
			h.Errorf("refunds due: %v", due)
		}
		h.restart()
		h.bank.answer = done
		r := ann.refund(0, sale.RefundRequested, 4250)
		for range 3 {
			h.asks()
		}
		want := sale.RefundRequest{ID: r.ID, Order: ann.order, Payment: payment, Amount: 4250, Currency: "EUR"}
		if len(h.bank.refunds) != 1 || h.bank.refunds[0] != want {
			h.Errorf("the bank was asked %+v, want once %+v", h.bank.refunds, want)
		}
		ann.orderIs(sale.Refunded)
		ann.refund(0, sale.RefundDone, 4250)
		h.wantTold(ann.order, sale.TopicOrderExpired, sale.TopicOrderRefundDue, sale.TopicOrderRefunded)
		h.outcome(h.says("again", sale.FactSucceeded, payment, ann.order, 4250), "ignored", "")
		h.outcome(h.back("b", sale.FactRefunded, payment, ann.order, 4250, nil), "ignored", "")
		h.seats("H")
		if due := h.RefundsDue(); len(due) != 0 {
			h.Errorf("refunds due: %v", due)
		}
	})
}

func TestACrashAfterTheBanksAnswerReturnsTheMoneyOnce(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, _ := h.tooLate("A-1")
		h.bank.answer, h.bank.back = done, func() { h.ok(h.store.Close()) }
		if h.asks2() == nil {
			h.Error("a refund that could not be written down counts as sent")
		}
		h.bank.back = nil
		h.open()
		ann.refund(0, sale.RefundRequested, 4250)
		h.asks()
		if got := h.bank.refunds; len(got) != 2 || got[0] != got[1] {
			h.Errorf("the bank was asked %+v, want the same twice", got)
		}
		ann.orderIs(sale.Refunded)
	})
}

// asks2 sends the only message about a refund and gives what became of it.
func (h *house) asks2() error {
	h.Helper()
	for _, m := range h.messages() {
		if m.Sink == sale.RefundSink {
			return h.SendRefund(h.Context(), m.Body)
		}
	}
	h.Fatal("no refund is asked for")
	return nil
}

type refundSink func(context.Context, []byte) error

func (s refundSink) Deliver(ctx context.Context, m outbox.Message) error { return s(ctx, m.Body) }

func TestABankThatIsDownForTwoDaysIsAskedAgain(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, _ := h.tooLate("A-1")
		h.bank.until, h.bank.answer = time.Now().Add(48*time.Hour), done
		relay := outbox.NewRelay(outbox.Config{Book: h.store, Sinks: map[string]outbox.Sink{sale.RefundSink: refundSink(h.SendRefund)}, Now: h.store.Now,
			Rand: func() float64 { return 0.5 }})
		h.ok(h.store.ServeOutbox(relay.Offer))
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = relay.Run(ctx) }()
		time.Sleep(48*time.Hour - ms)
		ann.orderIs(sale.RefundDue)
		time.Sleep(23 * time.Hour)
		stop()
		<-ended
		ann.orderIs(sale.Refunded)
		for _, r := range h.bank.refunds {
			if r != h.bank.refunds[0] {
				h.Errorf("the bank was asked %+v and %+v", h.bank.refunds[0], r)
			}
		}
	})
}

func TestARefusedRefundIsDecidedByAPerson(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, payment := h.tooLate("A-1")
		first := ann.refund(0, sale.RefundRequested, 4250)
		hand := sale.Decision{Actor: "staff", How: sale.HowComplete, Reason: "cash"}
		h.refused(h.SettleRefund(ann.order, first.ID, hand), sale.ErrRefundRuns)
		h.bank.refuses = fmt.Errorf("%w: account closed", sale.ErrRefundRefused)
		if h.asks() != 0 {
			h.Error("a refusal is asked for again")
		}
		if r := ann.refund(0, sale.RefundFailed, 4250); r.Answer == "" {
			h.Error("nobody can read why")
		}
		h.restart()
		ann.orderIs(sale.RefundDue)
		h.refused(h.SettleRefund(ann.order, first.ID, sale.Decision{How: sale.HowDismiss, Reason: "no"}), sale.ErrNotThatWay)
		h.ok(h.SettleRefund(ann.order, first.ID, sale.Decision{Actor: "staff", How: sale.HowRefund}))
		second := ann.refund(0, sale.RefundRequested, 4250)
		if second.ID == first.ID {
			h.Error("the bank would give the same answer to the same name")
		}
		h.refused(h.SettleRefund(ann.order, first.ID, hand), sale.ErrNoSuchMatter)
		h.asks()
		h.restart()
		h.ok(h.SettleRefund(ann.order, second.ID, hand))
		ann.orderIs(sale.Refunded)
		h.refused(h.SettleRefund(ann.order, second.ID, hand), sale.ErrNoSuchMatter)
		h.wantTold(ann.order, sale.TopicOrderExpired, sale.TopicOrderRefundDue, sale.TopicOrderRefunded)
		h.outcome(h.back("b", sale.FactRefunded, payment, ann.order, 4250, func(f *sale.Fact) { f.Refund = first.ID.String() }), "attention", "unexpected_refund")
	})
}

// What the provider says of a refund comes in any order, and once or twice.
func TestRefundsThatAreToldLater(t *testing.T) {
	const asked, yes, no = "asked", "yes", "no"
	for name, c := range map[string]struct {
		steps []string
		want  sale.RefundState
	}{
		"later":                     {[]string{asked, yes, yes}, sale.RefundDone},
		"before the answer":         {[]string{yes, asked}, sale.RefundDone},
		"failed later":              {[]string{asked, no, no}, sale.RefundFailed},
		"failed before the answer":  {[]string{no, asked}, sale.RefundFailed},
		"failed after all":          {[]string{asked, yes, no}, sale.RefundFailed},
		"failed and then done":      {[]string{asked, no, yes}, sale.RefundDone},
		"nobody tells":              {[]string{asked}, sale.RefundSent},
		"an old event comes late":   {[]string{asked, no, "old yes"}, sale.RefundFailed},
		"an old failure comes late": {[]string{asked, yes, "old no"}, sale.RefundDone},
	} {
		for _, names := range []string{"ours", "theirs", "none"} {
			t.Run(name+", name: "+names, func(t *testing.T) {
				play(t, nil, func(h *house) {
					ann, payment := h.tooLate("A-1")
					h.bank.answer = sale.RefundAnswer{ID: "re_1"}
					for n, step := range c.steps {
						time.Sleep(sec)
						kind, at := sale.FactRefunded, time.Now()
						switch step {
						case asked:
							h.asks()
							h.restart()
							continue
						case "old yes":
							at = at.Add(-time.Minute)
						case no:
							kind = sale.FactNotRefunded
						case "old no":
							kind, at = sale.FactNotRefunded, at.Add(-time.Minute)
						}
						h.back(fmt.Sprint(n), kind, payment, ann.order, 4250, func(f *sale.Fact) {
							f.CreatedAt = at.UTC()
							switch names {
							case "ours":
								f.Refund = ann.seen().Refunds[0].ID.String()
							case "theirs":
								f.RefundID = "re_1"
							}
						})
					}
					ann.refund(0, c.want, 4250)
					if len(ann.seen().Refunds) != 1 || len(h.bank.refunds) > 1 {
						h.Errorf("%d refunds, the bank was asked %d times", len(ann.seen().Refunds), len(h.bank.refunds))
					}
					if status := ann.seen().Status; (status == sale.Refunded) != (c.want == sale.RefundDone) {
						h.Errorf("the order is %s", status)
					}
				})
			})
		}
	}
}

func TestARefundThatNobodyTellsOfIsDecidedByAPersonAfterThreeDays(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, _ := h.tooLate("A-1")
		h.bank.answer = sale.RefundAnswer{ID: "re_1"}
		h.asks()
		r := ann.refund(0, sale.RefundSent, 4250)
		hand := sale.Decision{Actor: "staff", How: sale.HowComplete}
		time.Sleep(72*time.Hour - ms)
		h.refused(h.SettleRefund(ann.order, r.ID, hand), sale.ErrRefundRuns)
		if len(h.RefundsDue()) != 1 {
			h.Error("nobody sees it")
		}
		time.Sleep(ms)
		h.refused(h.SettleRefund(ann.order, r.ID, hand), sale.ErrBadReason)
		hand.Reason = "seen in the bank's list"
		h.ok(h.SettleRefund(ann.order, r.ID, hand))
		ann.orderIs(sale.Refunded)
	})
}

func TestASumOfAnotherSizeThanWasAskedForIsNotBooked(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, payment := h.tooLate("A-1")
		h.bank.answer = sale.RefundAnswer{ID: "re_1"}
		h.asks()
		h.outcome(h.back("b", sale.FactRefunded, payment, ann.order, 42, func(f *sale.Fact) { f.RefundID = "re_1" }), "attention", "unexpected_refund")
		ann.refund(0, sale.RefundSent, 4250)
		if h.back("n", sale.FactRefunded, payment, ann.order, 4250, func(f *sale.Fact) { f.RefundID = "" }); ann.refund(0, sale.RefundDone, 4250).Provider != "re_1" {
			h.Error("the refund has lost its name")
		}
	})
}

func TestTheProviderThatTookTheMoneyIsAsked(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, _ := h.tooLate("A-1")
		poor := sale.New(sale.Config{Store: h.store, Secret: h.store.Secret()})
		for _, m := range h.messages() {
			if m.Sink == sale.RefundSink && poor.SendRefund(h.Context(), m.Body) == nil {
				h.Error("a refund by a provider that is not set up counts as sent")
			}
		}
		ann.refund(0, sale.RefundRequested, 4250)
		h.bank.down = true
		if h.asks() != 1 {
			h.Error("a bank that does not answer is not asked again")
		}
	})
}

func TestAMessageAboutNothingIsDone(t *testing.T) {
	play(t, nil, func(h *house) {
		for _, body := range []string{`{"refundId":"` + uuid.NewString() + `","orderId":"` + uuid.NewString() + `"}`, `{"refundId":"` + uuid.NewString() + `","provider":"bank","eventId":"e"}`} {
			h.ok(h.SendRefund(h.Context(), []byte(body)))
		}
		if err := h.SendRefund(h.Context(), []byte("?")); err == nil || errors.Is(err, sale.ErrUnavailable) {
			h.Errorf("got %v", err)
		}
	})
}
