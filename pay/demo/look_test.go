package demo

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

func TestLookTellsOfAnEventThatNobodyTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for action, want := range map[string]sale.LookState{"pay": sale.LookSucceeded, "decline": sale.LookFailed} {
			s := &shop{fails: 5}
			p, order, page := counter(s)
			ref := sale.PaymentRef{Attempt: order.Payments[0].Attempt, Order: order.ID}
			if l, err := p.Look(t.Context(), ref); err != nil || l.State != sale.LookOpen {
				t.Errorf("before: %+v, %v", l, err)
			}
			choose(p, page, action)
			l, err := p.Look(t.Context(), ref)
			if err != nil || l.State != want || l.ID != order.Payments[0].ID || want == sale.LookSucceeded && (l.Amount != 8500 || l.Currency != "EUR") {
				t.Errorf("%s: %+v, %v; want %s", action, l, err, want)
			}
		}
		s := &shop{}
		p, order, page := counter(s)
		choose(p, page, "pay")
		if l, err := p.Look(t.Context(), sale.PaymentRef{Attempt: order.Payments[0].Attempt, Order: order.ID}); err != nil || l.State != sale.LookOpen {
			t.Errorf("after an event that was taken: %+v, %v", l, err)
		}
	})
}

func TestNobodyPaysAnHourLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, order, _ := counter(&shop{})
		attempt := uuid.Must(uuid.NewV7())
		at := time.Unix(attempt.Time().UnixTime()).Truncate(time.Millisecond)
		for after, want := range map[time.Duration]sale.LookState{openTime - time.Second: sale.LookOpen, openTime + time.Second: sale.LookFailed} {
			p.cfg.Now = func() time.Time { return at.Add(after) }
			if l, err := p.Look(t.Context(), sale.PaymentRef{Attempt: attempt, Order: order.ID}); err != nil || l.State != want {
				t.Errorf("%v later: %+v, %v; want %s", after, l, err, want)
			}
		}
	})
}

func TestRefundTakesAMomentAndIsTheSameAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, order, _ := counter(&shop{})
		r := sale.RefundRequest{ID: uuid.New(), Order: order.ID, Amount: 8500, Currency: "EUR"}
		began := time.Now()
		first, err := p.Refund(t.Context(), r)
		if took := time.Since(began); err != nil || !first.Done || first.ID == "" || took != refundTime {
			t.Errorf("%+v, %v after %v", first, err, took)
		}
		if again, err := p.Refund(t.Context(), r); err != nil || again != first {
			t.Errorf("again: %+v, %v", again, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), refundTime/2)
		defer cancel()
		if a, err := p.Refund(ctx, r); !errors.Is(err, context.DeadlineExceeded) || a.Done {
			t.Errorf("cut off: %+v, %v", a, err)
		}
	})
}
