package sale

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

// Provider takes money for an order on a page of its own, and gives it back.
// Its methods are called from many goroutines, each with a time limit.
type Provider interface {
	// Name is how events and clients call it: "demo".
	Name() string
	// Start opens a payment. The same Attempt again gives the same payment.
	Start(ctx context.Context, r StartRequest) (StartedPayment, error)
	// Look asks how a payment stands.
	Look(ctx context.Context, p PaymentRef) (Looked, error)
	// Expire ends a payment that nobody has made yet, so that nobody can make
	// it any more. One that was made stays made; Look tells.
	Expire(ctx context.Context, p PaymentRef) error
	// Refund gives money back. The same ID again gives the same refund. An
	// error that is [ErrRefundRefused] is final, any other is tried again.
	Refund(ctx context.Context, r RefundRequest) (RefundAnswer, error)
}

// ErrRefundRefused says that a provider will not give money back, however often
// it is asked.
var ErrRefundRefused = errors.New("the provider refuses to return the money")

// StartRequest is what a provider must know to take money.
type StartRequest struct {
	Attempt  uuid.UUID // idempotency key
	Order    uuid.UUID
	Event    string // the event's name, for people
	Amount   int64  // minor units
	Currency string
	PayBy    time.Time
	Email    string // the buyer's, may be empty
	Back     string // where the provider sends the buyer afterwards; an address of ours
}

// StartedPayment is the provider's answer.
type StartedPayment struct {
	ID          string // the provider's name for the payment
	RedirectURL string // where the buyer pays
}

// PaymentRef names a payment to the provider that takes it.
type PaymentRef struct {
	Attempt uuid.UUID
	Order   uuid.UUID
	ID      string // the provider's name for it; empty when its answer to Start was lost
}

// LookState is how a payment stands at its provider.
type LookState string

// The states of a payment at its provider.
const (
	LookOpen      LookState = "open"      // not made yet, may still be
	LookSucceeded LookState = "succeeded" // made
	LookFailed    LookState = "failed"    // not made, and nobody can make it any more
)

// Looked is a provider's answer to Look.
type Looked struct {
	State    LookState
	ID       string // the provider's name for the payment
	Ref      string // a second name of it, see Fact.Ref
	Amount   int64  // minor units; of LookSucceeded
	Currency string
}

// RefundRequest asks a provider to give money back.
type RefundRequest struct {
	ID       uuid.UUID // idempotency key
	Order    uuid.UUID // may be uuid.Nil: money for an order we do not know
	Payment  string    // the provider's name for the payment
	Ref      string    // its second name, see Fact.Ref; may be empty
	Amount   int64     // minor units, at most what was paid
	Currency string
}

// RefundAnswer is a provider's answer to Refund.
type RefundAnswer struct {
	ID   string // the provider's name for the refund
	Done bool   // the money is on its way back; else an event tells later
}

// FactKind is what a provider says has happened.
type FactKind string

// The kinds of payment facts.
const (
	FactSucceeded FactKind = "payment.succeeded"
	FactFailed    FactKind = "payment.failed"
	FactRefunded  FactKind = "payment.refunded"
	// FactNotRefunded takes back what was said of a refund: the money could not be returned.
	FactNotRefunded FactKind = "payment.refund_failed"
)

// Fact is a verified statement of a provider about money.
type Fact struct {
	Provider  string   `json:"provider"`
	EventID   string   `json:"eventId"` // the provider's id of the statement, the same when repeated
	Kind      FactKind `json:"kind"`
	PaymentID string   `json:"paymentId"`
	Order     string   `json:"order"`  // as sent; may be no id of ours
	Amount    int64    `json:"amount"` // minor units
	Currency  string   `json:"currency"`
	Odd       string   `json:"odd,omitempty"` // the amount as sent when it was not a whole number of minor units
	// Ref is a second name of the payment, for providers that use one in their
	// page and another in refunds ("pi_..." beside "cs_..."); may be empty.
	Ref string `json:"ref,omitempty"`
	// RefundID is the provider's name for the refund, Refund ours when the
	// provider knows it; both may be empty. Amount is then that of the refund.
	RefundID  string    `json:"refundId,omitempty"`
	Refund    string    `json:"refund,omitempty"`
	CreatedAt time.Time `json:"createdAt,omitzero"`
}

// Receipt is a fact on disk and what became of it. A *Receipt that a Reader or
// Tx gives is a snapshot and must not be changed; use clone.
type Receipt struct {
	Seq        uint64    `json:"seq"` // given by the store
	Fact       Fact      `json:"fact"`
	ReceivedAt time.Time `json:"receivedAt"`
	Outcome    string    `json:"outcome"`             // "applied", "ignored", "attention"
	Reason     string    `json:"reason,omitempty"`    // a sentence
	Attention  string    `json:"attention,omitempty"` // code of what a person must decide: "amount_mismatch", "unknown_order", "surplus_payment", "unexpected_refund", "partial_refund"
	Expected   int64     `json:"expected,omitempty"`  // what the order asked for, minor units
	ExpectedIn string    `json:"expectedIn,omitempty"`
	Refund     *Refund   `json:"refund,omitempty"`  // of this money, when it goes back
	Settled    *Settled  `json:"settled,omitempty"` // by a person; it is off the list
}

// Settled is what a person decided about something on the attention list.
type Settled struct {
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	How    string    `json:"how"` // "complete", "refund", "dismiss"
	Reason string    `json:"reason,omitempty"`
}
