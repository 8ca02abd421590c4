package stripe

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"foyer/sale"
)

// paid is an order with its money, and the wish to return it.
func (f *fake) paid(t *testing.T, p *Provider) sale.RefundRequest {
	t.Helper()
	r, ref := f.started(t, p)
	f.complete(ref.ID, true)
	return sale.RefundRequest{
		ID: f.id(), Order: r.Order, Payment: ref.ID, Ref: (*f.find(f.sessions, ref.ID))["payment_intent"].(string), Amount: 8500, Currency: "EUR",
	}
}

func TestRefundReturnsTheMoneyOnce(t *testing.T) {
	for _, ref := range []bool{true, false} {
		f := newFake(t)
		p := f.provider()
		r := f.paid(t, p)
		if !ref {
			r.Ref = ""
		}
		one, err := p.Refund(t.Context(), r)
		if err != nil || !one.Done || one.ID == "" {
			t.Fatalf("got %+v, %v", one, err)
		}
		call := f.asked("POST", "/v1/refunds")[0]
		if call.key != "foyer:refund:"+r.ID.String() || call.form.Get("amount") != "8500" ||
			call.form.Get("metadata[refund_id]") != r.ID.String() || call.form.Get("metadata[order_id]") != r.Order.String() {
			t.Errorf("asked with key %q for %v", call.key, call.form)
		}
		f.pass(48 * time.Hour)
		f.lock(func() { clear(f.kept) }) // Stripe forgets keys
		if two, err := p.Refund(t.Context(), r); err != nil || two != one || len(f.refunds) != 1 {
			t.Errorf("again: got %+v, %v, want %+v; %d refunds", two, err, one, len(f.refunds))
		}
	}
}

func TestPartsOfAPaymentAreReturnedOneByOne(t *testing.T) {
	f := newFake(t)
	p := f.provider()
	r := f.paid(t, p)
	for i, amount := range []int64{4250, 4250} {
		r.ID, r.Amount = f.id(), amount
		if a, err := p.Refund(t.Context(), r); err != nil || !a.Done || len(f.refunds) != i+1 {
			t.Errorf("part %d: got %+v, %v; %d refunds", i, a, err, len(f.refunds))
		}
	}
	r.ID, r.Amount = f.id(), 1
	if _, err := p.Refund(t.Context(), r); !errors.Is(err, sale.ErrRefundRefused) {
		t.Errorf("more than was paid: got %v", err)
	}
}

func TestARefundStandsAsStripeSays(t *testing.T) {
	for status, want := range map[string]struct{ done, refused bool }{
		"succeeded": {done: true}, "pending": {}, "requires_action": {}, "failed": {refused: true}, "canceled": {refused: true},
	} {
		f := newFake(t)
		p := f.provider()
		r := f.paid(t, p)
		if _, err := p.Refund(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		f.turn(status)
		got, err := p.Refund(t.Context(), r)
		if got.Done != want.done || errors.Is(err, sale.ErrRefundRefused) != want.refused || (err == nil) == want.refused || len(f.refunds) != 1 {
			t.Errorf("%s: got %+v, %v; %d refunds", status, got, err, len(f.refunds))
		}
	}
}

func TestARefundThatStripeWillNeverMakeIsRefused(t *testing.T) {
	for name, change := range map[string]func(*fake, *sale.RefundRequest){
		"more than was paid":     func(_ *fake, r *sale.RefundRequest) { r.Amount++ },
		"nothing":                func(_ *fake, r *sale.RefundRequest) { r.Amount = 0 },
		"of an unknown payment":  func(_ *fake, r *sale.RefundRequest) { r.Ref = "pi_0" },
		"of an unknown page":     func(_ *fake, r *sale.RefundRequest) { r.Ref, r.Payment = "", "cs_0" },
		"without a name":         func(_ *fake, r *sale.RefundRequest) { r.Ref, r.Payment = "", "" },
		"in no currency":         func(_ *fake, r *sale.RefundRequest) { r.Currency = "" },
		"a third decimal of KWD": func(_ *fake, r *sale.RefundRequest) { r.Amount, r.Currency = 1005, "KWD" },
		"returned by hand": func(f *fake, r *sale.RefundRequest) {
			f.refunds = append(f.refunds, &object{"id": "re_hand", "amount": int64(8500), "payment_intent": r.Ref, "status": "succeeded", "metadata": object{}})
		},
		"of a page that nobody paid on": func(f *fake, r *sale.RefundRequest) {
			(*f.find(f.sessions, r.Payment))["payment_intent"] = nil
			r.Ref = ""
		},
	} {
		f := newFake(t)
		p := f.provider()
		r := f.paid(t, p)
		before := len(f.refunds)
		change(f, &r)
		for range 2 {
			if got, err := p.Refund(t.Context(), r); !errors.Is(err, sale.ErrRefundRefused) || got.Done {
				t.Errorf("%s: got %+v, %v", name, got, err)
			}
		}
		if name != "returned by hand" && len(f.refunds) != before {
			t.Errorf("%s: money went back", name)
		}
	}
}

func TestARefundThatMayWorkLaterIsNotRefused(t *testing.T) {
	for _, tr := range []trouble{brokenBefore, brokenAfter, lost, down, busy, limited, poor} {
		f := newFake(t)
		p := f.provider()
		r := f.paid(t, p)
		f.next(tr)
		_, err := p.Refund(t.Context(), r)
		if errors.Is(err, sale.ErrRefundRefused) || err == nil && tr != lost { // net/http may repeat a call whose connection ended
			t.Errorf("trouble %d: got %v", tr, err)
		}
		f.pass(2 * time.Hour)
		if got, err := p.Refund(t.Context(), r); err != nil || !got.Done || len(f.refunds) != 1 {
			t.Errorf("trouble %d, two hours later: got %+v, %v; %d refunds", tr, got, err, len(f.refunds))
		}
	}
	f := newFake(t)
	r := f.paid(t, f.provider())
	wrong := New(Config{Key: "sk_of_another", URL: f.url})
	if _, err := wrong.Refund(t.Context(), r); err == nil || errors.Is(err, sale.ErrRefundRefused) {
		t.Errorf("a wrong key: got %v", err)
	}
}

func TestARefundThatWasMadeAMomentBeforeIsOurs(t *testing.T) {
	f := newFake(t)
	p := f.provider()
	r := f.paid(t, p)
	f.next(beaten)
	if got, err := p.Refund(t.Context(), r); err != nil || !got.Done || len(f.refunds) != 1 {
		t.Errorf("got %+v, %v; %d refunds", got, err, len(f.refunds))
	}
}

func TestWhichAnswersRefuseARefundForGood(t *testing.T) {
	for _, c := range []struct {
		status     int
		kind, code string
		refused    bool
	}{
		{400, "invalid_request_error", "charge_disputed", true},
		{400, "invalid_request_error", "", true},
		{402, "card_error", "", true},
		{404, "invalid_request_error", "resource_missing", true},
		{400, "invalid_request_error", "balance_insufficient", false},
		{400, "idempotency_error", "", false},
		{401, "invalid_request_error", "", false},
		{403, "invalid_request_error", "", false},
		{409, "invalid_request_error", "", false},
		{429, "invalid_request_error", "lock_timeout", false},
		{500, "api_error", "", false},
		{503, "api_error", "", false},
	} {
		a := problem(c.status, c.kind, c.code, "", "no")
		p := New(Config{Key: "sk_test_x", URL: serve(t, rude{c.status, string(a.body)})})
		_, err := p.Refund(t.Context(), sale.RefundRequest{Ref: "pi_1", Amount: 1, Currency: "EUR"})
		if err == nil || errors.Is(err, sale.ErrRefundRefused) != c.refused {
			t.Errorf("%d %s %s: got %v, refused must be %v", c.status, c.kind, c.code, err, c.refused)
		}
	}
}

func TestAFailureThatStripeKeepsEndsAfterAnHour(t *testing.T) {
	f := newFake(t)
	p := f.provider()
	r := f.paid(t, p)
	f.next(brokenBefore)
	for i := range 12 { // each five minutes
		if _, err := p.Refund(t.Context(), r); err == nil || len(f.refunds) > 0 {
			t.Fatalf("after %d minutes: %v, %d refunds; Stripe may still mend it", 5*i, err, len(f.refunds))
		}
		f.pass(5 * time.Minute)
	}
	f.next(none, brokenBefore) // the first key's answer is kept; the second breaks too
	if _, err := p.Refund(t.Context(), r); err == nil {
		t.Error("after an hour, broken again: no error")
	}
	if got, err := p.Refund(t.Context(), r); err != nil || !got.Done || len(f.refunds) != 1 {
		t.Errorf("after an hour: got %+v, %v; %d refunds", got, err, len(f.refunds))
	}
}

func TestWhateverGoesWrongTheMoneyGoesBackOnce(t *testing.T) {
	f := newFake(t)
	p := f.provider()
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 1))
		r := f.paid(t, p)
		var troubles []trouble
		for range random.IntN(6) {
			troubles = append(troubles, trouble(random.IntN(int(poor)+1)))
		}
		f.lock(func() { f.troubles = troubles })
		done := false
		for try := 0; try < 60 && !done; try++ {
			f.pass(time.Duration(random.IntN(40)) * time.Minute)
			if random.IntN(8) == 0 {
				f.lock(func() { clear(f.kept) })
			}
			got, err := p.Refund(t.Context(), r)
			if errors.Is(err, sale.ErrRefundRefused) {
				t.Fatalf("seed %d, %v: %v", seed, troubles, err)
			}
			done = err == nil && got.Done
		}
		f.troubles = nil
		n, sum := 0, int64(0)
		for _, made := range f.refunds {
			if (*made)["payment_intent"] == r.Ref {
				n, sum = n+1, sum+(*made)["amount"].(int64)
			}
		}
		if !done || n != 1 || sum != 8500 {
			t.Fatalf("seed %d, %v: done %v, %d refunds of %d", seed, troubles, done, n, sum)
		}
	}
}

func TestManyWhoAskForOneRefundGetOne(t *testing.T) {
	f := newFake(t)
	p := f.provider()
	r := f.paid(t, p)
	r.Amount = 100 // Stripe would pay it many times
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got, err := p.Refund(t.Context(), r); err != nil || !got.Done {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	all.Wait()
	if n := len(f.refunds); n != 1 {
		t.Errorf("%d refunds, want 1", n)
	}
}

func TestOtherCurrenciesGoAllTheWay(t *testing.T) {
	for _, c := range []struct {
		currency     string
		ours, theirs int64
	}{{"JPY", 9000, 9000}, {"ISK", 9000, 900_000}, {"KWD", 25_500, 25_500}, {"MGA", 4_000_000, 40_000}, {"USD", 8500, 8500}} {
		f := newFake(t)
		p := f.provider()
		r := f.wish()
		r.Amount, r.Currency = c.ours, c.currency
		s, err := p.Start(t.Context(), r)
		if err != nil {
			t.Fatalf("%s: %v", c.currency, err)
		}
		if o := *f.find(f.sessions, s.ID); o["amount_total"] != c.theirs || o["currency"] != strings.ToLower(c.currency) {
			t.Errorf("%s: Stripe asks for %v %v, want %d", c.currency, o["amount_total"], o["currency"], c.theirs)
		}
		f.complete(s.ID, true)
		looked, err := p.Look(t.Context(), sale.PaymentRef{ID: s.ID})
		if err != nil || looked.Amount != c.ours || looked.Currency != c.currency {
			t.Errorf("%s: looked and saw %+v, %v", c.currency, looked, err)
		}
		if _, err := p.Refund(t.Context(), sale.RefundRequest{ID: f.id(), Ref: looked.Ref, Amount: c.ours, Currency: c.currency}); err != nil {
			t.Errorf("%s: %v", c.currency, err)
		}
		for _, e := range f.told() {
			fact, err := f.post(p, e)
			if err != nil || (fact.Kind == sale.FactSucceeded || fact.Kind == sale.FactRefunded) && (fact.Amount != c.ours || fact.Currency != c.currency) {
				t.Errorf("%s: told %+v, %v", c.currency, fact, err)
			}
		}
	}
}
