package contract

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestB32B62WebhookTenTimesMakesOneOrderAndOneSetOfMessages(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, nil)
	o := e.buyer(t).holds(t, "A-1", "A-2")
	news := o.news("succeeded", o.pays(t))
	for range 3 {
		e.h.tellAs(t, "msg_same_"+o.id, time.Now(), news).want(t, http.StatusOK)
	}
	together(7, func(i int) { e.h.tellAs(t, fmt.Sprintf("msg_%d_%s", i, o.id), time.Now(), news).want(t, http.StatusOK) })
	a := o.becomes(t, "PAID")
	if got := len(a.list("tickets")); got != 2 {
		t.Errorf("%d tickets, want 2", got)
	}
	before := len(e.h.sink.sold(t, o.id, 2))
	e.h.tellAs(t, "msg_same_"+o.id, time.Now(), news).want(t, http.StatusOK)
	sentinel := e.buyer(t).bought(t, "A-3")
	e.h.sink.sold(t, sentinel.id, 1) // by now a surplus message would have come
	if got := len(e.h.sink.of(o.id)); before != 3 || got != 3 {
		t.Errorf("%d messages, %d after one more webhook, want 3", before, got)
	}
	if got := e.h.attention(t, o.id); len(got) != 0 {
		t.Errorf("repeats of one payment need attention: %v", got)
	}
}

func TestB163WebhookSignatureAndTolerance(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 40, nil)
	seat := 0
	fresh := func() (o order, body string) {
		seat++
		o = e.buyer(t).holds(t, fmt.Sprintf("A-%d", seat))
		return o, fmt.Sprintf(`{"type":"payment.succeeded","paymentId":%q,"orderId":%q,"amount":%d,"currency":"EUR","createdAt":"2026-01-01T00:00:00.000Z"}`, o.pays(t), o.id, o.total)
	}
	for _, off := range []int{298, -298, 0} {
		o, body := fresh()
		e.h.tellAs(t, "ok-"+o.id, time.Now().Add(time.Duration(off)*time.Second), body).want(t, http.StatusOK)
		o.becomes(t, "PAID")
	}
	o, body := fresh()
	for _, off := range []int{302, -302, 86400, -86400} {
		e.h.tellAs(t, "late-"+o.id, time.Now().Add(time.Duration(off)*time.Second), body).refused(t, http.StatusBadRequest, "stale_event")
	}
	id := "msg_" + o.id
	now := strconv.FormatInt(time.Now().Unix(), 10)
	good := sign(demoSecret, id, now, body)
	wrong := sign(hookSecret, id, now, body)
	for name, c := range map[string][4]string{
		"none":                {body, id, now, ""},
		"garbage":             {body, id, now, "v1,AAAA"},
		"not base64":          {body, id, now, "v1,%%%"},
		"other secret":        {body, id, now, wrong},
		"other version":       {body, id, now, "v0" + strings.TrimPrefix(good, "v1")},
		"asymmetric version":  {body, id, now, "v1a" + strings.TrimPrefix(good, "v1")},
		"no version":          {body, id, now, strings.TrimPrefix(good, "v1,")},
		"other id":            {body, id + "2", now, good},
		"no id":               {body, "", now, good},
		"other body":          {body + " ", id, now, good},
		"body with byte":      {strings.Replace(body, "4250", "4251", 1), id, now, good},
		"other timestamp":     {body, id, now + "0", good},
		"no timestamp":        {body, id, "", good},
		"NaN":                 {body, id, "NaN", good},
		"signed NaN":          {body, id, "NaN", sign(demoSecret, id, "NaN", body)},
		"signed fraction":     {body, id, now + ".5", sign(demoSecret, id, now+".5", body)},
		"signed plus":         {body, id, "+" + now, sign(demoSecret, id, "+"+now, body)},
		"signed huge":         {body, id, "99999999999999999999", sign(demoSecret, id, "99999999999999999999", body)},
		"signed without id":   {body, "", now, sign(demoSecret, "", now, body)},
		"signed with no time": {body, id, "", sign(demoSecret, id, "", body)},
	} {
		a, err := e.h.deliver(c[0], c[1], c[2], c[3])
		if err != nil || a.problem(t).status != http.StatusBadRequest {
			t.Errorf("%s: got %d, %v, want 400", name, a.status, err)
		}
	}
	if got := o.get(t).text("status"); got != "PAYING" {
		t.Errorf("after refused webhooks the order is %s, want PAYING", got)
	}
	if a, err := e.h.deliver(body, id, now, wrong+" v2,xyz "+good); err != nil || a.status != http.StatusOK { // rotation: one of several
		t.Errorf("several signatures with a good one: got %d, %v, want 200", a.status, err)
	}
	o.becomes(t, "PAID")
	e.h.call(t, "POST", "/api/v1/payments/nobody/webhook", body).problem(t)
}

func TestB37SignedEventWithAWrongSumPaysNothingAndIsListed(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, nil)
	for _, started := range []bool{true, false} {
		o := e.buyer(t).holds(t, map[bool]string{true: "A-1", false: "A-2"}[started])
		payment := "dp_of_nobody_" + o.id
		if started {
			payment = o.pays(t)
		}
		shapes := []string{`4249,"currency":"EUR"`, `4251,"currency":"EUR"`, `0,"currency":"EUR"`, `-4250,"currency":"EUR"`, `4250,"currency":"USD"`, `425000,"currency":"EUR"`, `4250,"currency":"eur "`,
			`"4250","currency":"EUR"`, `4250.5,"currency":"EUR"`, `4.25e3,"currency":"USD"`, `null,"currency":"EUR"`, `42500000000000000000000,"currency":"EUR"`, `4250,"currency":null`, `4250`, `[4250],"currency":"EUR"`, `true,"currency":"EUR"`}
		for _, shape := range shapes {
			body := fmt.Sprintf(`{"type":"payment.succeeded","paymentId":%q,"orderId":%q,"amount":%s,"createdAt":"2026-01-01T00:00:00.000Z"}`, payment, o.id, shape)
			if a := e.h.tell(t, body); a.status/100 != 2 {
				t.Errorf("amount %s: got %d %s, want 2xx", shape, a.status, a.body)
			}
			if got := o.get(t).text("status"); got == "PAID" {
				t.Fatalf("amount %s paid the order", shape)
			}
		}
		if got := e.h.attention(t, o.id); len(got) == 0 {
			t.Error("no wrong sum is on the attention list")
		} else if started && !strings.Contains(strings.Join(got, ""), "4249") {
			t.Errorf("the attention list does not name the sum: %v", got)
		}
		e.h.tell(t, o.news("succeeded", payment)).want(t, http.StatusOK)
		o.becomes(t, "PAID")
	}
}

func TestMoneyForAnUnknownOrderIsKept(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"5c8e1f0a-0000-4000-8000-00000000beef", "no uuid at all", strings.Repeat("x", 3000), "<script>alert(1)</script>"} {
		payment := fmt.Sprintf("dp_lost_%d.", hooks.Add(1))
		body := object{"type": "payment.succeeded", "paymentId": payment, "orderId": id, "amount": 100, "currency": "EUR", "createdAt": "2026-01-01T00:00:00.000Z"}
		if a := shared.tell(t, body); a.status/100 != 2 {
			t.Errorf("order %.20s: got %d %s, want 2xx", id, a.status, a.body)
		}
		if got := shared.attention(t, payment); len(got) != 1 {
			t.Errorf("order %.20s: %d on the attention list, want 1", id, len(got))
		}
	}
	for _, body := range []string{`{}`, `[]`, `null`, `{"type":"payment.exploded"}`, `{"type":5}`, `{"type":"payment.succeeded"}`, `not JSON`, ``, "\xff"} {
		if a := shared.tell(t, body); a.status >= 500 {
			t.Errorf("signed %q: got %d, want no 5xx", body, a.status)
		}
	}
}

func TestB33B34FailureNeverUndoesASuccess(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, nil)
	o := e.buyer(t).holds(t, "A-1")
	first := o.pays(t)
	e.h.tell(t, o.news("failed", first)).want(t, http.StatusOK)
	if got := o.get(t).text("status"); got != "PENDING" {
		t.Fatalf("after a failed payment %s, want PENDING", got)
	}
	second := o.pays(t)
	if second == first {
		t.Error("after a failure the payment is the failed one")
	}
	e.h.tell(t, o.news("failed", first)).want(t, http.StatusOK)
	if got := o.get(t).text("status"); got != "PAYING" {
		t.Errorf("the old failure again: %s, want PAYING", got)
	}
	e.h.tell(t, o.news("succeeded", second)).want(t, http.StatusOK)
	for _, id := range []string{first, second} {
		e.h.tell(t, o.news("failed", id)).want(t, http.StatusOK)
	}
	if got := o.get(t).text("status"); got != "PAID" {
		t.Errorf("after late failures %s, want PAID", got)
	}
	if got := e.h.attention(t, o.id); len(got) != 0 {
		t.Errorf("attention before any surplus money: %v", got)
	}
	e.h.tell(t, o.news("succeeded", first)).want(t, http.StatusOK) // a double charge
	if got := e.h.attention(t, o.id); len(got) != 1 {
		t.Errorf("a double charge has %d entries on the attention list, want 1: %v", len(got), got)
	}
	if got := len(e.h.sink.sold(t, o.id, 1)); got != 2 {
		t.Errorf("%d messages, want order.paid and one ticket", got)
	}
}

func TestEventWithoutTheDemoProviderTakesNoDemoMoney(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, nil, object{"providers": []string{"shop"}})
	o := e.buyer(t).holds(t, "A-1")
	o.pay(t).problem(t)
	if got := o.get(t).text("status"); got != "PENDING" {
		t.Errorf("order %s, want PENDING", got)
	}
}
