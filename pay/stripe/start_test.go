package stripe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

func TestStartOpensAPageForTheWholeOrder(t *testing.T) {
	f := newFake(t)
	r := f.wish()
	got, err := f.provider().Start(t.Context(), r)
	if err != nil || got.ID == "" || got.RedirectURL != "https://checkout.stripe.test/"+got.ID {
		t.Fatalf("got %+v, %v", got, err)
	}
	calls := f.asked("POST", "/v1/checkout/sessions")
	if len(calls) != 1 {
		t.Fatalf("%d calls, want 1", len(calls))
	}
	if want := "foyer:" + r.Attempt.String() + ":checkout"; calls[0].key != want {
		t.Errorf("idempotency key %q, want %q", calls[0].key, want)
	}
	want := map[string]string{
		"mode": "payment", "client_reference_id": r.Order.String(), "customer_email": "ann@example.org",
		"success_url": r.Back, "cancel_url": r.Back, "expires_at": fmt.Sprint(r.PayBy.Add(35 * time.Minute).Unix()),
		"metadata[order_id]": r.Order.String(), "metadata[attempt]": r.Attempt.String(),
		"payment_intent_data[metadata][order_id]": r.Order.String(), "payment_intent_data[metadata][attempt]": r.Attempt.String(),
		"line_items[0][quantity]": "1", "line_items[0][price_data][currency]": "eur", "line_items[0][price_data][unit_amount]": "8500",
		"line_items[0][price_data][product_data][name]": "Tickets: Gala", "adaptive_pricing[enabled]": "false",
	}
	sent := map[string]string{}
	for k := range calls[0].form {
		sent[k] = calls[0].form.Get(k)
	}
	if !maps.Equal(sent, want) {
		t.Errorf("sent %v\nwant %v", sent, want)
	}
}

func TestTheSameAttemptIsTheSamePage(t *testing.T) {
	f := newFake(t)
	p, r := f.provider(), f.wish()
	f.next(lost)
	if _, err := p.Start(t.Context(), r); err == nil {
		t.Fatal("an answer that was lost is no error")
	}
	f.pass(3 * time.Minute)
	one, err1 := p.Start(t.Context(), r)
	two, err2 := p.Start(t.Context(), r)
	if err1 != nil || err2 != nil || one != two || len(f.sessions) != 1 {
		t.Errorf("got %+v, %v, then %+v, %v; %d pages", one, err1, two, err2, len(f.sessions))
	}
}

func TestAPageThatIsAskedForLateIsStillOpenLongEnough(t *testing.T) {
	for _, window := range []time.Duration{time.Second, 4 * time.Minute, time.Hour, 23 * time.Hour, 24 * time.Hour} {
		for _, late := range []time.Duration{0, window / 20, min(window, 23*time.Hour) + time.Minute} {
			f := newFake(t)
			p, r := f.provider(), f.wish()
			r.PayBy = f.clock().Add(window)
			f.next(down)
			_, _ = p.Start(t.Context(), r)
			f.pass(late)
			if window == 24*time.Hour && late > window/2 {
				continue // its page is closed an hour sooner
			}
			if _, err := p.Start(t.Context(), r); err != nil {
				t.Errorf("to be paid in %s, asked after %s: %v", window, late, err)
			}
		}
	}
}

func TestAnAttemptThatWasStartedByAnotherAddressIsFoundAgain(t *testing.T) {
	f := newFake(t)
	p, r := f.provider(), f.wish()
	one, err := p.Start(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	f.started(t, p)
	r.Back = "https://other.example.org/orders/1"
	if two, err := p.Start(t.Context(), r); err != nil || two != one {
		t.Errorf("got %+v, %v, want %+v", two, err, one)
	}
	if n := len(f.sessions); n != 2 {
		t.Errorf("%d pages, want 2", n)
	}
}

func TestAnAddressThatStripeRefusesIsLeftOut(t *testing.T) {
	f := newFake(t)
	p, r := f.provider(), f.wish()
	r.Email = "ann@localhost"
	one, err := p.Start(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if two, err := p.Start(t.Context(), r); err != nil || two != one || len(f.sessions) != 1 {
		t.Errorf("again: got %+v, %v, want %+v", two, err, one)
	}
}

func TestStartRefusesWhatStripeCannotTake(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*sale.StartRequest)
		say    string
	}{
		"a third decimal":  {func(r *sale.StartRequest) { r.Amount, r.Currency = 1005, "KWD" }, "KWD in steps of 10 minor units, and 1005 is none"},
		"part of an MGA":   {func(r *sale.StartRequest) { r.Amount, r.Currency = 150, "MGA" }, "MGA in steps of 100"},
		"no currency":      {func(r *sale.StartRequest) { r.Currency = "XXY" }, `"XXY" is no currency`},
		"nothing":          {func(r *sale.StartRequest) { r.Amount = 0 }, "no sum to pay"},
		"less":             {func(r *sale.StartRequest) { r.Amount = -8500 }, "no sum to pay"},
		"no way back":      {func(r *sale.StartRequest) { r.Back = "" }, "no address to send the buyer back to"},
		"a page till 2100": {func(r *sale.StartRequest) { r.Attempt, r.PayBy = uuid.New(), r.PayBy.AddDate(70, 0, 0) }, "Stripe answered 400 parameter_invalid expires_at"},
	} {
		f := newFake(t)
		r := f.wish()
		c.change(&r)
		if _, err := f.provider().Start(t.Context(), r); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: got %v, want %q", name, err, c.say)
		}
		if len(f.sessions) > 0 {
			t.Errorf("%s: there is a page", name)
		}
	}
}

func TestAnAttemptThatStripeBrokeFailsAndTheNextOneWorks(t *testing.T) {
	for _, tr := range []trouble{brokenBefore, brokenAfter} {
		f := newFake(t)
		p, r := f.provider(), f.wish()
		f.next(tr)
		for range 2 { // the second answer is the kept one
			if _, err := p.Start(t.Context(), r); err == nil {
				t.Errorf("%v: no error", tr)
			}
		}
		if _, err := p.Start(t.Context(), f.wish()); err != nil {
			t.Errorf("%v: the next attempt: %v", tr, err)
		}
	}
	for _, tr := range []trouble{down, busy, limited} { // nothing is kept
		f := newFake(t)
		p, r := f.provider(), f.wish()
		f.next(tr)
		if _, err := p.Start(t.Context(), r); err == nil {
			t.Errorf("%v: no error", tr)
		}
		if _, err := p.Start(t.Context(), r); err != nil {
			t.Errorf("%v: again: %v", tr, err)
		}
	}
}

// rude answers everything with one body.
type rude struct {
	status int
	body   string
}

func (r rude) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(r.status)
	_, _ = w.Write([]byte(r.body))
}

func TestErrorsHoldNoSecretAndNoAddressOfABuyer(t *testing.T) {
	const key = "sk_live_hunter2"
	for name, h := range map[string]http.Handler{
		"the key said back": rude{401, `{"error":{"type":"invalid_request_error","message":"Invalid API Key provided: sk_live_hunter2"}}`},
		"a client secret":   rude{402, `{"error":{"type":"card_error","message":"declined","payment_intent":{"id":"pi_1","client_secret":"pi_1_secret_hunter2"}}}`},
		"a page of a proxy": rude{502, `<h1>hunter2</h1>`},
		"an odd error":      rude{500, `{"error":"hunter2"}`},
		"no error":          rude{500, `{"hunter2":1}`},
		"an odd success":    rude{200, `hunter2`},
		"an address":        rude{400, `{"error":{"type":"invalid_request_error","param":"customer_email","message":"Invalid email address: hunter2"}}`},
	} {
		url := serve(t, h)
		f := newFake(t)
		p := New(Config{Key: key, Secrets: []string{"whsec_hunter2"}, URL: strings.Replace(url, "://", "://ann:hunter2@", 1)})
		_, err := p.Start(t.Context(), f.wish())
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
		_, err = p.Refund(t.Context(), sale.RefundRequest{ID: f.id(), Ref: "pi_1", Amount: 1, Currency: "EUR"})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: refund: %v", name, err)
		}
	}
}

func TestACallEndsWithItsContext(t *testing.T) {
	hang := make(chan struct{})
	url := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}))
	defer close(hang)
	p, f := New(Config{Key: "sk_test_x", URL: url}), newFake(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := p.Start(ctx, f.wish()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want a deadline", err)
	}
}
