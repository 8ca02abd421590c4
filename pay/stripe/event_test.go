package stripe

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"foyer/sale"
)

// body is an event about an object.
func body(kind, object string) string {
	return fmt.Sprintf(`{"id":"evt_1","type":%q,"created":1800000000,"api_version":"2030-01-01.tomorrow","data":{"object":%s}}`, kind, object)
}

// verified reads a body that Stripe signed.
func verified(t *testing.T, body string) (sale.Fact, error) {
	t.Helper()
	now := time.Unix(1_800_000_000, 0)
	stamp := fmt.Sprint(now.Unix())
	return New(Config{Secrets: []string{newSecret}}).Verify(header("t="+stamp+",v1="+sign(newSecret, stamp, body)), []byte(body), now)
}

func TestEachEventSaysWhatHappenedToMoney(t *testing.T) {
	session := func(more string) string {
		return `{"id":"cs_1","object":"checkout.session","amount_total":8500,"currency":"eur","payment_intent":"pi_1","client_reference_id":"o","metadata":{"order_id":"o"}` + more + `}`
	}
	refund := func(status string) string {
		return `{"id":"re_1","object":"refund","amount":4250,"currency":"eur","payment_intent":"pi_1","status":"` + status + `","metadata":{"order_id":"o","refund_id":"r"}}`
	}
	came := sale.Fact{Kind: sale.FactSucceeded, PaymentID: "cs_1", Ref: "pi_1", Order: "o", Amount: 8500, Currency: "EUR"}
	failed := sale.Fact{Kind: sale.FactFailed, PaymentID: "cs_1", Ref: "pi_1", Order: "o"}
	waits := sale.Fact{PaymentID: "cs_1", Ref: "pi_1", Order: "o"} // its kind is the event's type
	went := sale.Fact{Kind: sale.FactRefunded, Ref: "pi_1", RefundID: "re_1", Refund: "r", Order: "o", Amount: 4250, Currency: "EUR"}
	stayed := went
	stayed.Kind = sale.FactNotRefunded
	moving := sale.Fact{Ref: "pi_1", RefundID: "re_1", Refund: "r", Order: "o"}
	for _, c := range []struct {
		kind, object string
		want         sale.Fact
	}{
		{"checkout.session.completed", session(`,"payment_status":"paid"`), came},
		{"checkout.session.completed", session(`,"payment_status":"no_payment_required"`), came},
		{"checkout.session.completed", session(`,"payment_status":"unpaid"`), waits},
		{"checkout.session.completed", session(``), waits},
		{"checkout.session.async_payment_succeeded", session(`,"payment_status":"paid"`), came},
		{"checkout.session.async_payment_failed", session(`,"payment_status":"unpaid"`), failed},
		{"checkout.session.expired", session(`,"payment_status":"unpaid"`), failed},
		{"checkout.session.tomorrow", session(`,"payment_status":"paid"`), waits},
		{"refund.created", refund("succeeded"), went},
		{"refund.updated", refund("succeeded"), went},
		{"charge.refund.updated", refund("succeeded"), went},
		{"refund.created", refund("pending"), moving},
		{"refund.updated", refund("requires_action"), moving},
		{"refund.updated", refund("failed"), stayed},
		{"charge.refund.updated", refund("canceled"), stayed},
		{"refund.failed", refund("failed"), stayed},
		{"refund.failed", refund("succeeded"), stayed},
		{"charge.refunded", `{"id":"ch_1","amount":8500,"amount_refunded":4250,"payment_intent":"pi_1","metadata":{"order_id":"o"}}`, sale.Fact{Ref: "pi_1", Order: "o"}},
		{"payment_intent.succeeded", `{"id":"pi_1","amount":8500,"currency":"eur","metadata":{"order_id":"o"}}`, sale.Fact{Ref: "pi_1", Order: "o"}},
		{"payment_intent.payment_failed", `{"id":"pi_1","metadata":{"order_id":"o"}}`, sale.Fact{Ref: "pi_1", Order: "o"}},
		{"charge.dispute.created", `{"id":"dp_1","amount":8500,"payment_intent":"pi_1","metadata":{}}`, sale.Fact{Ref: "pi_1"}},
		{"payout.paid", `{"id":"po_1","amount":8500}`, sale.Fact{}},
		{"payment.succeeded.tomorrow", `null`, sale.Fact{Kind: "stripe.payment.succeeded.tomorrow"}},
	} {
		c.want.Provider, c.want.EventID, c.want.CreatedAt = "stripe", "evt_1", time.Unix(1_800_000_000, 0).UTC()
		if c.want.Kind == "" {
			c.want.Kind = sale.FactKind(c.kind)
		}
		if got, err := verified(t, body(c.kind, c.object)); err != nil || got != c.want {
			t.Errorf("%s %s\ngot  %+v, %v\nwant %+v", c.kind, c.object, got, err, c.want)
		}
	}
}

// A type of Stripe's must never be read as one of our kinds.
func TestNoEventOfStripesIsNamedAsOurKinds(t *testing.T) {
	for _, kind := range []sale.FactKind{sale.FactSucceeded, sale.FactFailed, sale.FactRefunded, sale.FactNotRefunded} {
		got, err := verified(t, body(string(kind), `{"id":"pi_1","metadata":{"order_id":"o"}}`))
		if err != nil || got.Kind == kind {
			t.Errorf("%s: got %+v, %v", kind, got, err)
		}
	}
}

func TestSignedMoneyIsNeverThrownAway(t *testing.T) {
	const paid = `"payment_status":"paid"`
	for object, want := range map[string]sale.Fact{
		`{` + paid + `,"id":"cs_1","amount_total":"8500","currency":"eur"}`:                   {PaymentID: "cs_1", Odd: `"8500"`, Currency: "EUR"},
		`{` + paid + `,"id":"cs_1","amount_total":8500.0,"currency":"eur"}`:                   {PaymentID: "cs_1", Odd: "8500.0", Currency: "EUR"},
		`{` + paid + `,"id":"cs_1","amount_total":85e2,"currency":null}`:                      {PaymentID: "cs_1", Odd: "85e2"},
		`{` + paid + `,"id":"cs_1","amount_total":null,"currency":"eur"}`:                     {PaymentID: "cs_1", Odd: "null", Currency: "EUR"},
		`{` + paid + `,"id":"cs_1","currency":"eur"}`:                                         {PaymentID: "cs_1", Odd: "nothing", Currency: "EUR"},
		`{` + paid + `,"id":"cs_1","amount_total":550,"currency":"isk"}`:                      {PaymentID: "cs_1", Odd: "550", Currency: "ISK"},
		`{` + paid + `,"id":"cs_1","amount_total":500,"currency":"isk"}`:                      {PaymentID: "cs_1", Amount: 5, Currency: "ISK"},
		`{` + paid + `,"id":"cs_1","amount_total":5,"currency":"mga"}`:                        {PaymentID: "cs_1", Amount: 500, Currency: "MGA"},
		`{` + paid + `,"id":"cs_1","amount_total":500,"currency":"jpy"}`:                      {PaymentID: "cs_1", Amount: 500, Currency: "JPY"},
		`{` + paid + `,"id":"cs_1","amount_total":1,"Amount_Total":2,"currency":"eur"}`:       {PaymentID: "cs_1", Amount: 1, Currency: "EUR"},
		`{` + paid + `,"id":"cs_1","amount_total":99999999999999999999,"currency":"eur"}`:     {PaymentID: "cs_1", Odd: "99999999999999999999", Currency: "EUR"},
		`{` + paid + `,"id":7,"amount_total":1,"currency":"eur","metadata":"none"}`:           {PaymentID: "7", Amount: 1, Currency: "EUR"},
		`{` + paid + `,"amount_total":1,"currency":"eur","metadata":{"order_id":["o"]}}`:      {Order: `["o"]`, Amount: 1, Currency: "EUR"},
		`{` + paid + `,"amount_total":1,"currency":"eur","client_reference_id":"o"}`:          {Order: "o", Amount: 1, Currency: "EUR"},
		`{` + paid + `,"amount_total":1,"currency":"eur","payment_intent":{"id":"pi_1"}}`:     {Ref: "pi_1", Amount: 1, Currency: "EUR"},
		`{` + paid + `,"amount_total":1,"currency":"` + strings.Repeat("x", 500) + `"}`:       {Amount: 1, Currency: strings.Repeat("X", 100)},
		`{` + paid + `,"amount_total":1,"currency":"eur","metadata":null,"anything":[1,{}]} `: {Amount: 1, Currency: "EUR"},
	} {
		want.Provider, want.EventID, want.Kind, want.CreatedAt = "stripe", "evt_1", sale.FactSucceeded, time.Unix(1_800_000_000, 0).UTC()
		if got, err := verified(t, body("checkout.session.completed", object)); err != nil || got != want {
			t.Errorf("%s\ngot  %+v, %v\nwant %+v", object, got, err, want)
		}
	}
	for _, id := range []string{``, `"id":"",`, `"id":null,`, `"id":7,`, `"id":"` + strings.Repeat("x", 300) + `",`} {
		b := `{` + id + `"type":"refund.updated","created":"soon","data":{"object":{"id":"re_1","status":"succeeded","amount":1,"currency":"eur"}}}`
		one, err := verified(t, b)
		two, _ := verified(t, b)
		other, _ := verified(t, strings.Replace(b, "re_1", "re_2", 1))
		if err != nil || !strings.HasPrefix(one.EventID, "body_") || one != two || one.EventID == other.EventID || one.RefundID != "re_1" {
			t.Errorf("an event with %q: got %+v, %v, then %s", id, one, err, other.EventID)
		}
	}
}

// An evening at the fake: what its events say is what happened, in whatever
// order, however often and however late they come.
func TestEventsSayTheSameHoweverTheyCome(t *testing.T) {
	f := newFake(t)
	p := f.provider()
	paid, ended := map[string]string{}, map[string]string{} // order by page
	var pages []string
	for i := range 24 {
		r, ref := f.started(t, p)
		pages = append(pages, ref.ID)
		switch i % 4 {
		case 0:
			f.complete(ref.ID, true)
			paid[ref.ID] = r.Order.String()
		case 1:
			f.complete(ref.ID, false)
			f.pass(time.Minute)
			f.settle(ref.ID, i%8 == 1)
			if i%8 == 1 {
				paid[ref.ID] = r.Order.String()
			} else {
				ended[ref.ID] = r.Order.String()
			}
		case 2:
			ended[ref.ID] = r.Order.String()
			if err := p.Expire(t.Context(), ref); err != nil {
				t.Fatal(err)
			}
		case 3:
			ended[ref.ID] = r.Order.String() // Stripe's own end
		}
	}
	f.pass(40 * time.Minute)
	wish := sale.RefundRequest{ID: f.id(), Payment: pages[0], Amount: 8500, Currency: "EUR"}
	made, err := p.Refund(t.Context(), wish)
	if err != nil {
		t.Fatal(err)
	}
	f.turn("failed")
	events := f.told()
	random := rand.New(rand.NewPCG(3, 4))
	first := map[string]sale.Fact{} // by event
	for range 20 {
		random.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		for _, e := range events {
			fact, err := f.post(p, e)
			if err != nil {
				t.Fatalf("%v: %v", e, err)
			}
			if old, ok := first[fact.EventID]; ok && old != fact {
				t.Errorf("said %+v, then %+v", old, fact)
			}
			first[fact.EventID] = fact
		}
		f.pass(4 * time.Hour) // more than three days in all; Stripe signs each delivery anew
	}
	if len(first) != len(events) {
		t.Errorf("%d facts of %d events", len(first), len(events))
	}
	check := func(kind sale.FactKind, want map[string]string, amount int64) {
		got := map[string]string{}
		for _, fact := range first {
			if fact.Kind == kind {
				got[fact.PaymentID] = fact.Order
				if fact.Amount != amount || fact.Odd != "" || fact.Provider != "stripe" {
					t.Errorf("got %+v", fact)
				}
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", kind, got, want)
		}
	}
	check(sale.FactSucceeded, paid, 8500)
	check(sale.FactFailed, ended, 0)
	var refunds []string
	for _, fact := range first {
		if fact.RefundID != "" {
			refunds = append(refunds, fmt.Sprint(fact.Kind, " ", fact.RefundID == made.ID, " ", fact.Refund == wish.ID.String(), " ", fact.Amount))
		}
	}
	slices.Sort(refunds)
	if want := []string{"payment.refund_failed true true 8500", "payment.refund_failed true true 8500", "payment.refunded true true 8500"}; !slices.Equal(refunds, want) {
		t.Errorf("refunds: got %q, want %q", refunds, want)
	}
}

// What is signed is reported as it was said, so that the order can disagree.
func TestWhatStripeSaysIsNotMended(t *testing.T) {
	f := newFake(t)
	p := f.provider()
	_, ref := f.started(t, p)
	f.complete(ref.ID, true)
	e := f.told()[0]
	for field, value := range map[string]any{"amount_total": 1, "currency": "usd", "payment_intent": "pi_other", "id": "cs_other"} {
		fact, err := f.post(p, lie(e, field, value))
		said := map[string]any{"amount_total": int(fact.Amount), "currency": strings.ToLower(fact.Currency), "payment_intent": fact.Ref, "id": fact.PaymentID}
		if err != nil || said[field] != value || fact.Kind != sale.FactSucceeded {
			t.Errorf("%s = %v: got %+v, %v", field, value, fact, err)
		}
	}
	if _, err := New(Config{Secrets: []string{oldSecret}}).Verify(header("t=1"), nil, f.clock()); !errors.Is(err, sale.ErrBadSignature) {
		t.Errorf("got %v", err)
	}
}
