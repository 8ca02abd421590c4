package demo

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"foyer/outbox/webhook"
	"foyer/sale"
)

var secret = webhook.Secret("a secret of at least 24 bytes")

// shop is who receives what the provider posts.
type shop struct {
	mu     sync.Mutex
	events []sale.Fact
	fails  int // so many answers are 500 first
}

func (s *shop) got() []sale.Fact {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.events
}

// RoundTrip stands for the network between the provider and the shop.
func (s *shop) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	answer := func(code int) (*http.Response, error) {
		return &http.Response{StatusCode: code, Status: strconv.Itoa(code), Body: http.NoBody}, nil
	}
	if s.fails > 0 {
		s.fails--
		return answer(http.StatusInternalServerError)
	}
	f, err := New(Config{Secret: secret}).Verify(r.Header, body, time.Now())
	if err != nil {
		return answer(http.StatusBadRequest)
	}
	s.events = append(s.events, f)
	return answer(http.StatusOK)
}

// counter is a provider with one order to pay.
func counter(s *shop) (p *Provider, order *sale.OrderView, page string) {
	attempt := uuid.New()
	order = &sale.OrderView{Order: sale.Order{ID: uuid.New(), Currency: "EUR", Total: 8500, HoldExpiresAt: time.Now().Add(5 * time.Minute)}}
	p = New(Config{Secret: secret, Notify: "http://shop.test/hook", Log: slog.New(slog.DiscardHandler), Lookup: func(id uuid.UUID) (*sale.OrderView, error) {
		if id != order.ID {
			return nil, sale.ErrNoSuchOrder
		}
		return order, nil
	}})
	p.client.Transport = s
	started, _ := p.Start(context.Background(), sale.StartRequest{Attempt: attempt, Order: order.ID})
	order.Payments = []sale.Payment{{Attempt: attempt, Provider: "demo", ID: started.ID, State: sale.PaymentStarted, Amount: 8500}}
	return p, order, started.RedirectURL
}

func choose(p *Provider, page, action string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, page, strings.NewReader(url.Values{"action": {action}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

func TestEachChoiceSendsItsSignedEvents(t *testing.T) {
	for action, want := range map[string][]sale.FactKind{
		"pay":     {sale.FactSucceeded},
		"decline": {sale.FactFailed},
		"twice":   {sale.FactSucceeded, sale.FactSucceeded, sale.FactSucceeded},
	} {
		s := &shop{}
		p, order, page := counter(s)
		w := choose(p, page, action)
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/orders/"+order.ID.String() {
			t.Errorf("%s: answered %d to %q", action, w.Code, w.Header().Get("Location"))
		}
		got := s.got()
		if len(got) != len(want) {
			t.Fatalf("%s: sent %d events, want %d", action, len(got), len(want))
		}
		for i, f := range got {
			if f.Kind != want[i] || f.Order != order.ID.String() || f.Amount != 8500 || f.Currency != "EUR" || f.PaymentID != order.Payments[0].ID {
				t.Errorf("%s: event %d is %+v", action, i, f)
			}
		}
		if action == "twice" && (got[0].EventID != got[1].EventID || got[1].EventID == got[2].EventID) {
			t.Errorf("twice: ids %s, %s, %s; want the same, then another", got[0].EventID, got[1].EventID, got[2].EventID)
		}
	}
}

func TestEventIsSentAgainWhileTheShopFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{fails: 3}
		p, _, page := counter(s)
		choose(p, page, "pay")
		if n := len(s.got()); n != 1 {
			t.Errorf("%d events arrived, want 1", n)
		}
	})
}

func TestLatePaymentComesAfterTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{}
		p, order, page := counter(s)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { p.Run(ctx); close(ended) }()
		choose(p, page, "late")
		time.Sleep(5*time.Minute + time.Second)
		synctest.Wait()
		if n := len(s.got()); n != 0 {
			t.Errorf("%d events before it is late, want 0", n)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := s.got(); len(got) != 1 || got[0].Order != order.ID.String() {
			t.Errorf("late events: %v", got)
		}
		stop()
		<-ended
	})
}

func TestOneLatePaymentOfAnAttemptIsPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shop{}
		p, _, page := counter(s)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { p.Run(ctx); close(ended) }()
		for range 2000 { // more than the channel takes
			if w := choose(p, page, "late"); w.Code != http.StatusSeeOther {
				t.Fatalf("got %d", w.Code)
			}
			synctest.Wait()
		}
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		if n := len(s.got()); n != 1 {
			t.Errorf("%d late events, want 1", n)
		}
		choose(p, page, "late") // the first has come: there may be another
		synctest.Wait()
		if n := len(s.got()); n != 2 {
			t.Errorf("%d late events after another choice, want 2", n)
		}
		stop()
		<-ended
	})
}

func TestPageShowsAmountAndRefusesWhatIsNotThere(t *testing.T) {
	p, order, page := counter(&shop{})
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	if w := get(page); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "Pay 85.00 EUR") {
		t.Errorf("got %d, %s", w.Code, w.Body)
	}
	for _, path := range []string{Prefix, Prefix + "x/y", Prefix + uuid.NewString() + "/" + uuid.NewString(), Prefix + order.ID.String() + "/" + uuid.NewString()} {
		if w := get(path); w.Code != http.StatusNotFound {
			t.Errorf("%s: got %d, want 404", path, w.Code)
		}
	}
	if w := choose(p, page, "steal"); w.Code != http.StatusBadRequest {
		t.Errorf("unknown choice: got %d, want 400", w.Code)
	}
	order.Payments[0].State = sale.PaymentSucceeded
	if w := get(page); !strings.Contains(w.Body.String(), "is over") || strings.Contains(w.Body.String(), "<button") {
		t.Errorf("a payment that is over is offered again: %s", w.Body)
	}
}

func TestAmountsForPeople(t *testing.T) {
	for want, c := range map[string]struct {
		minor    int64
		currency string
	}{"0.05 EUR": {5, "EUR"}, "42.50 EUR": {4250, "EUR"}, "1050 JPY": {1050, "JPY"}, "1.005 KWD": {1005, "KWD"}, "0 JPY": {0, "JPY"}, "0.00 EUR": {0, "EUR"}} {
		if got := amount(c.minor, c.currency); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// sent makes the request that carries a body, signed at a time.
func sent(body string, at time.Time) http.Header {
	h := http.Header{}
	h.Set("webhook-id", "evt_1")
	h.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	h.Set("webhook-signature", webhook.Sign([]webhook.Secret{secret}, "evt_1", at, []byte(body)))
	return h
}

func TestSignedMoneyIsNeverThrownAway(t *testing.T) {
	p, now := New(Config{Secret: secret}), time.Now()
	for body, want := range map[string]sale.Fact{
		`{"type":"payment.succeeded","orderId":"o","amount":8500,"currency":"EUR"}`:                      {Order: "o", Amount: 8500, Currency: "EUR"},
		`{"type":"payment.succeeded","orderId":7,"amount":8500,"currency":"EUR","createdAt":"nonsense"}`: {Order: "7", Amount: 8500, Currency: "EUR"},
		`{"type":"payment.succeeded","orderId":"o","amount":"8500","currency":"EUR"}`:                    {Order: "o", Odd: `"8500"`, Currency: "EUR"},
		`{"type":"payment.succeeded","orderId":"o","amount":8500.0,"currency":"EUR"}`:                    {Order: "o", Odd: "8500.0", Currency: "EUR"},
		`{"type":"payment.succeeded","orderId":"o","amount":85e2,"currency":null}`:                       {Order: "o", Odd: "85e2"},
		`{"type":"payment.succeeded","orderId":"o","currency":"EUR"}`:                                    {Order: "o", Odd: "nothing", Currency: "EUR"},
		`{"type":"payment.succeeded","orderId":"o","amount":1,"Amount":2,"currency":"EUR"}`:              {Order: "o", Amount: 1, Currency: "EUR"},
		`{"type":"payment.succeeded","orderId":"o","amount":99999999999999999999,"currency":"EUR"}`:      {Order: "o", Odd: "99999999999999999999", Currency: "EUR"},
	} {
		want.Provider, want.EventID, want.Kind = "demo", "evt_1", sale.FactSucceeded
		got, err := p.Verify(sent(body, now), []byte(body), now)
		if err != nil || got != want {
			t.Errorf("%s:\ngot  %+v, %v\nwant %+v", body, got, err, want)
		}
	}
}

func TestWhatIsNotSignedNowIsRefused(t *testing.T) {
	p, now := New(Config{Secret: secret}), time.Now()
	body := `{"type":"payment.succeeded","orderId":"o","amount":8500,"currency":"EUR"}`
	for name, c := range map[string]struct {
		h    http.Header
		body string
		want error
	}{
		"no signature":    {http.Header{}, body, sale.ErrBadSignature},
		"changed body":    {sent(body, now), strings.Replace(body, "8500", "8501", 1), sale.ErrBadSignature},
		"too old":         {sent(body, now.Add(-301*time.Second)), body, sale.ErrStaleEvent},
		"from the future": {sent(body, now.Add(301*time.Second)), body, sale.ErrStaleEvent},
		"no JSON":         {sent("x", now), "x", sale.ErrBadFact},
		"no type":         {sent("{}", now), "{}", sale.ErrBadFact},
	} {
		if _, err := p.Verify(c.h, []byte(c.body), now); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	if _, err := p.Verify(sent(body, now.Add(-299*time.Second)), []byte(body), now); err != nil {
		t.Errorf("299 s old: %v", err)
	}
	if !json.Valid([]byte(body)) {
		t.Fatal("the test's own body is broken")
	}
}
