package stripe

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stripe/stripe-go/v85/webhook"

	"foyer/sale"
)

const fakeSecret = "whsec_the_secret_of_the_endpoint"

// provider is ours, at the fake and by its clock.
func (f *fake) provider() *Provider {
	return New(Config{Key: f.key, Secrets: []string{fakeSecret}, URL: f.url, Now: f.clock})
}

func (f *fake) clock() (now time.Time) {
	f.lock(func() { now = f.now })
	return now
}

// id makes a UUID of version 7 at the fake's time.
func (f *fake) id() uuid.UUID {
	id := uuid.New()
	ms := f.clock().UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (8 * (5 - i)))
	}
	id[6] = 7<<4 | id[6]&0xf
	return id
}

// wish is an attempt to pay 85.00 EUR within four minutes.
func (f *fake) wish() sale.StartRequest {
	return sale.StartRequest{
		Attempt: f.id(), Order: f.id(), Event: "Gala", Amount: 8500, Currency: "EUR",
		PayBy: f.clock().Add(4 * time.Minute), Email: "ann@example.org", Back: "https://tickets.example.org/orders/1",
	}
}

func (f *fake) started(t *testing.T, p *Provider) (sale.StartRequest, sale.PaymentRef) {
	t.Helper()
	r := f.wish()
	s, err := p.Start(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return r, sale.PaymentRef{Attempt: r.Attempt, Order: r.Order, ID: s.ID}
}

// complete is the buyer's end of a page: paid at once, or by a method that takes
// days.
func (f *fake) complete(id string, paid bool) {
	f.lock(func() {
		s := *f.find(f.sessions, id)
		s["status"], s["payment_intent"] = "complete", f.name("pi")
		if paid {
			s["payment_status"] = "paid"
		}
		f.tell("checkout.session.completed", &s)
		intent := object{"id": s["payment_intent"], "object": "payment_intent", "amount": s["amount_total"], "currency": s["currency"], "metadata": s["intent_metadata"]}
		if paid {
			f.tell("payment_intent.succeeded", &intent)
		}
	})
}

// settle ends a method that takes days.
func (f *fake) settle(id string, paid bool) {
	f.lock(func() {
		s := f.find(f.sessions, id)
		if paid {
			(*s)["payment_status"] = "paid"
			f.tell("checkout.session.async_payment_succeeded", s)
			return
		}
		f.tell("checkout.session.async_payment_failed", s)
	})
}

// turn changes how the newest refund stands.
func (f *fake) turn(status string) {
	f.lock(func() {
		r := f.refunds[len(f.refunds)-1]
		(*r)["status"] = status
		f.tell("refund.updated", r)
		if status == "failed" {
			f.tell("refund.failed", r)
		}
	})
}

func (f *fake) told() (events []*object) {
	f.lock(func() { events = append(events, f.events...) })
	return events
}

// lie is an event with another value in its object.
func lie(e *object, field string, value any) *object {
	told := maps.Clone(*e)
	o := maps.Clone(told["data"].(object)["object"].(object))
	o[field] = value
	told["data"] = object{"object": o}
	return &told
}

// post signs an event as Stripe does at each delivery, with the SDK's own
// signer, and hands it to the provider.
func (f *fake) post(p *Provider, e *object) (sale.Fact, error) {
	body, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	now := f.clock()
	signed := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: body, Secret: fakeSecret, Timestamp: now})
	return p.Verify(http.Header{"Stripe-Signature": {signed.Header}}, signed.Payload, now)
}

func serve(t *testing.T, h http.Handler) (url string) {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}
