package stripe

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

func TestLookTellsHowAPageStands(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*fake, string)
		want   sale.Looked
	}{
		"not paid yet":            {func(*fake, string) {}, sale.Looked{State: sale.LookOpen}},
		"paid":                    {func(f *fake, id string) { f.complete(id, true) }, sale.Looked{State: sale.LookSucceeded, Ref: "pi", Amount: 8500, Currency: "EUR"}},
		"paid by a slow method":   {func(f *fake, id string) { f.complete(id, false) }, sale.Looked{State: sale.LookOpen, Ref: "pi"}},
		"and the money came":      {func(f *fake, id string) { f.complete(id, false); f.settle(id, true) }, sale.Looked{State: sale.LookSucceeded, Ref: "pi", Amount: 8500, Currency: "EUR"}},
		"left until Stripe ended": {func(f *fake, _ string) { f.pass(40 * time.Minute) }, sale.Looked{State: sale.LookFailed}},
		"free of charge": {func(f *fake, id string) {
			s := *f.find(f.sessions, id)
			s["status"], s["payment_status"], s["amount_total"] = "complete", "no_payment_required", int64(0)
		}, sale.Looked{State: sale.LookSucceeded, Currency: "EUR"}},
		"in a state of tomorrow": {func(f *fake, id string) { (*f.find(f.sessions, id))["status"] = "hibernating" }, sale.Looked{State: sale.LookOpen}},
	} {
		f := newFake(t)
		p := f.provider()
		_, ref := f.started(t, p)
		c.change(f, ref.ID)
		c.want.ID = ref.ID
		if c.want.Ref != "" {
			c.want.Ref = (*f.find(f.sessions, ref.ID))["payment_intent"].(string)
		}
		if got, err := p.Look(t.Context(), ref); err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, c.want)
		}
		ref.ID = "" // the answer to Start was lost
		if got, err := p.Look(t.Context(), ref); err != nil || got != c.want {
			t.Errorf("%s, without its name: got %+v, %v, want %+v", name, got, err, c.want)
		}
	}
}

func TestAPageWithoutItsNameIsFoundAmongMany(t *testing.T) {
	f := newFake(t)
	p := f.provider()
	r, ref := f.started(t, p)
	many := func(n int) {
		for range n {
			f.lock(func() {
				f.sessions = append(f.sessions, &object{"id": f.name("cs_test"), "created": f.now.Unix(), "metadata": object{}})
			})
		}
	}
	many(250)
	f.pass(14 * time.Minute)
	many(250)
	f.pass(2 * time.Minute)
	many(3000) // too late to matter
	got, err := p.Look(t.Context(), sale.PaymentRef{Attempt: r.Attempt, Order: r.Order})
	if err != nil || got.ID != ref.ID {
		t.Errorf("got %+v, %v, want %s", got, err, ref.ID)
	}
	if n := len(f.asked("GET", "/v1/checkout/sessions")); n != 6 {
		t.Errorf("asked for %d pages of 100, want 6", n)
	}
	f.pass(-10 * time.Minute)
	many(2000)
	if got, err := p.Look(t.Context(), sale.PaymentRef{Attempt: r.Attempt}); err == nil {
		t.Errorf("among too many: got %+v", got)
	}
}

func TestAPaymentThatStripeNeverHeardOfIsOpenAndHasNothingToClose(t *testing.T) {
	f := newFake(t)
	p := f.provider()
	f.started(t, p) // somebody else's
	ref := sale.PaymentRef{Attempt: f.id(), Order: f.id()}
	if got, err := p.Look(t.Context(), ref); err != nil || got != (sale.Looked{State: sale.LookOpen}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := p.Expire(t.Context(), ref); err != nil {
		t.Error(err)
	}
	ref.Attempt = uuid.New() // does not tell its time
	if got, err := p.Look(t.Context(), ref); err == nil {
		t.Errorf("an attempt without a time: got %+v", got)
	}
}

func TestExpireClosesWhatIsOpenAndLeavesTheRest(t *testing.T) {
	for name, c := range map[string]struct {
		before func(*fake, string)
		want   sale.LookState
	}{
		"open":                {func(*fake, string) {}, sale.LookFailed},
		"paid":                {func(f *fake, id string) { f.complete(id, true) }, sale.LookSucceeded},
		"paid, money to come": {func(f *fake, id string) { f.complete(id, false) }, sale.LookOpen},
		"ended by Stripe":     {func(f *fake, _ string) { f.pass(40 * time.Minute) }, sale.LookFailed},
	} {
		for _, named := range []bool{true, false} {
			f := newFake(t)
			p := f.provider()
			_, ref := f.started(t, p)
			c.before(f, ref.ID)
			if !named {
				ref.ID = ""
			}
			for range 2 {
				if err := p.Expire(t.Context(), ref); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if got, err := p.Look(t.Context(), ref); err != nil || got.State != c.want {
				t.Errorf("%s: got %+v, %v, want %s", name, got, err, c.want)
			}
		}
	}
}

func TestAPageThatCouldNotBeClosedIsAnError(t *testing.T) {
	for _, tr := range []trouble{brokenBefore, down, busy, limited, poor} {
		f := newFake(t)
		p := f.provider()
		_, ref := f.started(t, p)
		f.next(tr)
		if err := p.Expire(t.Context(), ref); err == nil {
			t.Errorf("trouble %d: no error", tr)
		}
		if err := p.Expire(t.Context(), ref); err != nil { // a kept failure does not stand in the way
			t.Errorf("trouble %d, again: %v", tr, err)
		}
	}
	f := newFake(t)
	if err := f.provider().Expire(t.Context(), sale.PaymentRef{ID: "cs_of_another_account"}); err == nil {
		t.Error("a page of another account: no error")
	}
	if got, err := f.provider().Look(t.Context(), sale.PaymentRef{ID: "cs_of_another_account"}); err == nil {
		t.Errorf("a page of another account: got %+v", got)
	}
}
