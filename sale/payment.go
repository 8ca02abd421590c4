package sale

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Provider takes money for an order on a page of its own.
type Provider interface {
	// Name is how events and clients call it: "demo".
	Name() string
	// Start opens a payment. The same Attempt again gives the same payment.
	Start(ctx context.Context, r StartRequest) (StartedPayment, error)
}

// StartRequest is what a provider must know to take money.
type StartRequest struct {
	Attempt  uuid.UUID // idempotency key
	Order    uuid.UUID
	Event    string // the event's name, for people
	Amount   int64  // minor units
	Currency string
	PayBy    time.Time
}

// StartedPayment is the provider's answer.
type StartedPayment struct {
	ID          string // the provider's name for the payment
	RedirectURL string // where the buyer pays
}

// FactKind is what a provider says has happened.
type FactKind string

// The kinds of payment facts.
const (
	FactSucceeded FactKind = "payment.succeeded"
	FactFailed    FactKind = "payment.failed"
	FactRefunded  FactKind = "payment.refunded"
)

// Fact is a verified statement of a provider about money.
type Fact struct {
	Provider  string    `json:"provider"`
	EventID   string    `json:"eventId"` // the provider's id of the statement, the same when repeated
	Kind      FactKind  `json:"kind"`
	PaymentID string    `json:"paymentId"`
	Order     string    `json:"order"`  // as sent; may be no id of ours
	Amount    int64     `json:"amount"` // minor units
	Currency  string    `json:"currency"`
	Odd       string    `json:"odd,omitempty"` // the amount as sent when it was not a whole number of minor units
	CreatedAt time.Time `json:"createdAt,omitzero"`
}

// Receipt is a fact on disk and what became of it.
type Receipt struct {
	Seq        uint64    `json:"seq"` // given by the store
	Fact       Fact      `json:"fact"`
	ReceivedAt time.Time `json:"receivedAt"`
	Outcome    string    `json:"outcome"`             // "applied", "ignored", "attention"
	Reason     string    `json:"reason,omitempty"`    // a sentence
	Attention  string    `json:"attention,omitempty"` // code of what a person must decide: "amount_mismatch", "unknown_order", "surplus_payment", "unexpected_refund"
	Expected   int64     `json:"expected,omitempty"`  // what the order asked for, minor units
	ExpectedIn string    `json:"expectedIn,omitempty"`
}
