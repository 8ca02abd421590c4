package contract

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestPayStartsOnePayment(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, object{"holdSeconds": 100, "paySeconds": 240, "payMarginSeconds": 60})
	p := e.buyer(t)
	o := p.holds(t, "A-1")
	a := o.pay(t).want(t, http.StatusOK)
	if a.text("redirectUrl") == "" || a.text("paymentId") == "" {
		t.Errorf("pay: %s, want redirectUrl and paymentId", a.body)
	}
	if b := o.pay(t).want(t, http.StatusOK); b.body != a.body {
		t.Errorf("paying again: %s, want the same payment %s", b.body, a.body)
	}
	bodies := make([]string, 20)
	together(len(bodies), func(i int) { bodies[i] = o.pay(t).text("paymentId") })
	for _, id := range bodies {
		if id != a.text("paymentId") {
			t.Errorf("payment %s, want %s", id, a.text("paymentId"))
		}
	}
	got := o.get(t)
	if got.text("status") != "PAYING" || got.text("payBy") != a.text("payBy") {
		t.Errorf("order %s, want PAYING by %s", got.body, a.text("payBy"))
	}
	if d := got.moment(t, "holdExpiresAt").Sub(got.moment(t, "payBy")); d != time.Minute {
		t.Errorf("the hold outlasts the payment by %v, want the margin of 1m0s", d)
	}
}

func TestPayKeepsALongerHold(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, object{"holdSeconds": 300, "paySeconds": 2, "payMarginSeconds": 1})
	o := e.buyer(t).holds(t, "A-1")
	was := o.get(t).text("holdExpiresAt")
	o.pays(t)
	if got := o.get(t).text("holdExpiresAt"); got != was {
		t.Errorf("held until %s, want %s: the longer of the two", got, was)
	}
}

func TestBuyerRules(t *testing.T) {
	t.Parallel()
	ann := object{"provider": "demo", "name": "Ann Ó'Brien \U0001F469\u200d\U0001F52C", "email": "ann@example.org"}
	for _, c := range []struct {
		rule string
		body object
		ok   bool
	}{
		{"none", object{"provider": "demo"}, true}, {"optional", object{"provider": "demo"}, true}, {"optional", ann, true},
		{"required", object{"provider": "demo"}, false}, {"required", object{"provider": "demo", "name": "Ann"}, false},
		{"required", object{"provider": "demo", "name": " ", "email": "a@example.org"}, false}, {"required", ann, true},
		{"optional", object{"provider": "demo", "email": "not an address"}, false}, {"optional", object{"provider": "demo", "email": "a@b.c\r\nBcc: x@y.z"}, false},
		{"optional", object{"provider": "demo", "name": strings.Repeat("n", 5000)}, false}, {"optional", object{"provider": "demo", "name": "A\u0000B"}, false},
		{"optional", object{"provider": "nobody"}, false}, {"optional", object{}, false}, {"optional", object{"provider": "demo", "amount": 1}, false},
		{"optional", object{"provider": 5}, false}, {"optional", object{"provider": "shop"}, false}, {"optional", object{"provider": "door"}, false},
	} {
		e := eventOf(t, shared, 1, object{"buyer": c.rule})
		o := e.buyer(t).holds(t, "A-1")
		a := o.call(t, "POST", o.path("/pay"), c.body)
		if c.ok {
			a.want(t, http.StatusOK)
			if name := c.body["name"]; name != nil && o.get(t).text("buyer", "name") != name {
				t.Errorf("buyer %v, want %v", o.get(t).at("buyer"), name)
			}
			continue
		}
		a.problem(t)
		if got := o.get(t).text("status"); got != "PENDING" {
			t.Errorf("buyer %s, %v: order %s after a refusal, want PENDING", c.rule, c.body, got)
		}
	}
}

func TestConfirmIsIdempotentByKeyAndByOrder(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, nil)
	o := e.buyer(t).holds(t, "A-1", "A-2")
	o.confirm(t, "", o.money()).problem(t).want(t, http.StatusBadRequest)
	e.h.staff(t, "POST", "/orders/"+o.id+"/confirm", o.money()).problem(t).want(t, http.StatusBadRequest)
	o.confirm(t, strings.Repeat("k", 256), o.money()).problem(t).want(t, http.StatusBadRequest)

	// Refusals are not stored: the key is free for the right body afterwards.
	for _, c := range []struct{ body, code string }{
		{`{"amount":8499,"currency":"EUR"}`, "amount_mismatch"}, {`{"amount":8501,"currency":"EUR"}`, "amount_mismatch"}, {`{"amount":0,"currency":"EUR"}`, "amount_mismatch"},
		{`{"amount":-8500,"currency":"EUR"}`, "amount_mismatch"}, {`{"amount":8500,"currency":"USD"}`, "currency_mismatch"},
	} {
		o.confirm(t, "k", c.body).refused(t, http.StatusUnprocessableEntity, c.code)
	}
	for _, body := range []string{`{"amount":"8500","currency":"EUR"}`, `{"amount":8500.5,"currency":"EUR"}`, `{"amount":8500}`, `{"currency":"EUR"}`, `{}`, ``, `[]`,
		`{"amount":null,"currency":"EUR"}`, `{"amount":8500,"currency":"EUR","tip":1}`, `{"amount":8500,"currency":null}`, `{"amount":99999999999999999999,"currency":"EUR"}`, `{"amount":8500,"currency":"EUR","reference":5}`} {
		o.confirm(t, "k", body).problem(t)
	}
	if got := o.get(t).text("status"); got != "PENDING" {
		t.Fatalf("after refusals the order is %s, want PENDING", got)
	}

	long := strings.Repeat("k", 255)
	first := o.confirm(t, long, `{"amount":8500,"currency":"EUR","reference":"r-1"}`).want(t, http.StatusOK)
	if first.text("status") != "PAID" || len(first.list("tickets")) != 2 || first.text("tickets", 0, "code") == "" || first.text("tickets", 0, "ticketId") == "" {
		t.Errorf("confirmed: %s, want PAID with two tickets", first.body)
	}
	same := o.confirm(t, long, "{ \"reference\":\"r-1\",\n\"currency\" : \"EUR\", \"amount\":8500 }").want(t, http.StatusOK)
	if got, want := withoutServerTime(same.body), withoutServerTime(first.body); got != want {
		t.Errorf("the same key and body answer\n%s, want\n%s", got, want)
	}
	o.confirm(t, long, `{"amount":8500,"currency":"EUR","reference":"r-2"}`).refused(t, http.StatusUnprocessableEntity, "idempotency_key_reused")
	o.confirm(t, long, `{"amount":1,"currency":"EUR","reference":"r-1"}`).refused(t, http.StatusUnprocessableEntity, "idempotency_key_reused")
	if other := o.confirm(t, "other", o.money()).want(t, http.StatusOK); other.text("orderId") != o.id || len(other.list("tickets")) != 2 {
		t.Errorf("another key: %s, want the same order", other.body)
	}
	// Keys are per order.
	p := e.buyer(t).holds(t, "A-3")
	p.confirm(t, long, p.money()).want(t, http.StatusOK)
	e.h.staff(t, "POST", "/orders/5c8e1f0a-0000-4000-8000-000000000000/confirm", o.money(), "Idempotency-Key", "k").problem(t).want(t, http.StatusNotFound)
	if got := len(e.h.sink.sold(t, o.id, 2)); got != 3 {
		t.Errorf("%d messages, want order.paid and two tickets", got)
	}
}

// withoutServerTime is an answer without the moment at which it was given.
func withoutServerTime(body string) string {
	before, _, _ := strings.Cut(body, `,"serverTime"`)
	return before
}

func TestB118B30ConfirmsAndWebhooksAtOnceMakeOneOrder(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 40, nil)
	for round := range 10 {
		o := e.buyer(t).holds(t, fmt.Sprintf("A-%d", 2*round+1), fmt.Sprintf("A-%d", 2*round+2))
		news := o.news("succeeded", o.pays(t))
		together(20, func(i int) {
			switch i % 4 {
			case 0:
				if got := o.confirm(t, "same", o.money()); got.status != http.StatusConflict || got.text("code") != "idempotency_key_in_use" {
					got.want(t, http.StatusOK)
				}
			case 1:
				o.confirm(t, fmt.Sprint("tab", i), o.money()).want(t, http.StatusOK)
			case 2:
				e.h.tell(t, news).want(t, http.StatusOK)
			case 3:
				o.get(t).want(t, http.StatusOK)
			}
		})
		if a := o.get(t); a.text("status") != "PAID" || len(a.list("tickets")) != 2 {
			t.Errorf("order %s, want PAID with two tickets", a.body)
		}
		if got := len(e.h.sink.sold(t, o.id, 2)); got != 3 {
			t.Errorf("%d messages, want order.paid and two tickets", got)
		}
	}
}
