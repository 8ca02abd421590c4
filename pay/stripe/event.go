package stripe

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"foyer/sale"
)

// read makes a fact of a signed body. Several events can tell of one refund, and
// charge.refunded of all refunds of a payment together: the refund's own events
// count, each with the sum of its refund.
func read(body []byte) (sale.Fact, error) {
	event := fieldsOf(body)
	kind := event.text("type")
	if kind == "" {
		return sale.Fact{}, sale.ErrBadFact
	}
	f := sale.Fact{Provider: name, EventID: eventID(event, body), Kind: sale.FactKind(kind), CreatedAt: event.time("created")}
	object := fieldsOf(fieldsOf(event["data"])["object"])
	f.Order = fieldsOf(object["metadata"]).text(metaOrder)
	switch {
	case strings.HasPrefix(kind, "payment."):
		f.Kind = sale.FactKind(name + "." + kind) // Stripe has none of these, and ours are named so
	case strings.HasPrefix(kind, "checkout.session."):
		readSession(&f, object)
	case strings.HasPrefix(kind, "refund."), kind == "charge.refund.updated":
		readRefund(&f, object)
	case strings.HasPrefix(kind, "payment_intent."):
		f.Ref = object.text("id")
	default:
		f.Ref = object.id("payment_intent")
	}
	return f, nil
}

// eventID is the name of an event. One without a name is the same event when its
// body is the same.
func eventID(event fields, body []byte) string {
	var id string
	if json.Unmarshal(event["id"], &id) == nil && id != "" && len(id) <= maxID {
		return id
	}
	sum := sha256.Sum256(body)
	return "body_" + hex.EncodeToString(sum[:])
}

func readSession(f *sale.Fact, object fields) {
	f.PaymentID, f.Ref = object.text("id"), object.id("payment_intent")
	if f.Order == "" {
		f.Order = object.text("client_reference_id")
	}
	switch f.Kind {
	case "checkout.session.completed":
		// "unpaid" is a method that takes days: async_payment_succeeded or _failed follows.
		if paid := object.text("payment_status"); paid == "paid" || paid == "no_payment_required" {
			f.Kind = sale.FactSucceeded
		}
	case "checkout.session.async_payment_succeeded":
		f.Kind = sale.FactSucceeded
	case "checkout.session.async_payment_failed", "checkout.session.expired":
		f.Kind = sale.FactFailed
	}
	if f.Kind == sale.FactSucceeded {
		readMoney(f, object, "amount_total")
	}
}

func readRefund(f *sale.Fact, object fields) {
	f.Ref, f.RefundID = object.id("payment_intent"), object.text("id")
	f.Refund = fieldsOf(object["metadata"]).text(metaRefund)
	status := object.text("status")
	switch {
	case f.Kind == "refund.failed", status == "failed", status == "canceled":
		f.Kind = sale.FactNotRefunded
	case status == "succeeded":
		f.Kind = sale.FactRefunded
	default:
		return // it is on its way
	}
	readMoney(f, object, "amount")
}

// readMoney reads a sum in Stripe's units. One that is no whole number of minor
// units is written down as it was sent.
func readMoney(f *sale.Fact, object fields, amount string) {
	raw := string(object[amount])
	f.Currency = currencyOf(object.text("currency"))
	sent, err := strconv.ParseInt(raw, 10, 64)
	whole := err == nil
	if whole {
		f.Amount, whole = fromStripe(sent, f.Currency)
	}
	switch {
	case whole:
	case raw == "":
		f.Odd = "nothing"
	default:
		f.Odd = clip(raw, 100)
	}
}

// currencyOf is a code as we write it; Stripe writes "eur".
func currencyOf(code string) string { return clip(strings.ToUpper(code), 100) }

// maxID is longer than any id of Stripe's, in bytes.
const maxID = 255

// fields are a JSON object, nil when it is none. Nothing in one can make the
// whole unreadable.
type fields map[string]json.RawMessage

func fieldsOf(raw json.RawMessage) fields {
	var f fields
	if json.Unmarshal(raw, &f) != nil {
		return nil
	}
	return f
}

// text reads a JSON string; anything else but null is given as it stands, so
// that a person can see it.
func (f fields) text(name string) string {
	raw := f[name]
	var s string
	if json.Unmarshal(raw, &s) != nil {
		s = string(raw)
	}
	return clip(s, maxID)
}

// id reads the name of another object, or of one that is written out.
func (f fields) id(name string) string {
	if sub := fieldsOf(f[name]); sub != nil {
		return sub.text("id")
	}
	return f.text(name)
}

// time reads seconds since 1970; it is zero when they are none.
func (f fields) time(name string) time.Time {
	seconds, err := strconv.ParseInt(string(f[name]), 10, 64)
	if err != nil || seconds <= 0 || seconds >= 1<<35 { // until the year 3058
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}
