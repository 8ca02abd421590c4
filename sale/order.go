package sale

import (
	"time"

	"github.com/google/uuid"
)

// OrderStatus is where an order stands.
type OrderStatus string

// The states of an order. A hold is an order that is PENDING.
const (
	Pending   OrderStatus = "PENDING"
	Paying    OrderStatus = "PAYING"
	Paid      OrderStatus = "PAID"
	Expired   OrderStatus = "EXPIRED"
	Cancelled OrderStatus = "CANCELLED"
	RefundDue OrderStatus = "REFUND_DUE"
	Refunded  OrderStatus = "REFUNDED"
)

// Order is a hold with money. An *Order that a Reader or Tx gives is a snapshot
// and must not be changed; use clone.
type Order struct {
	ID            uuid.UUID   `json:"id"`
	Event         string      `json:"event"`
	Visitor       uuid.UUID   `json:"visitor"`
	Place         uint64      `json:"place"` // number of the place whose turn it uses
	Status        OrderStatus `json:"status"`
	Seats         []OrderSeat `json:"seats"`
	Currency      string      `json:"currency"`
	Total         int64       `json:"total"` // minor units
	CreatedAt     time.Time   `json:"createdAt"`
	UpdatedAt     time.Time   `json:"updatedAt"`
	HoldExpiresAt time.Time   `json:"holdExpiresAt"`
	Extended      bool        `json:"extended,omitempty"` // paying moved the deadline; it does so once
	Buyer         Buyer       `json:"buyer,omitzero"`
	Payments      []Payment   `json:"payments,omitempty"`
	PaidAt        time.Time   `json:"paidAt,omitzero"`
	Confirms      []Confirmed `json:"confirms,omitempty"`
}

// OrderSeat is one seat of an order with the price at the time of the hold.
type OrderSeat struct {
	ID       string    `json:"id"`
	Label    string    `json:"label"`
	Category string    `json:"category"`
	Price    int64     `json:"price"`           // minor units
	Ticket   uuid.UUID `json:"ticket,omitzero"` // set when PAID
}

// Buyer is who buys, as far as the event asks.
type Buyer struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
}

// Payment is one attempt to pay an order, or money that came by itself.
type Payment struct {
	Attempt     uuid.UUID    `json:"attempt"` // our name for it, the idempotency key towards the provider
	Provider    string       `json:"provider"`
	ID          string       `json:"id,omitempty"` // the provider's name for it
	RedirectURL string       `json:"redirectUrl,omitempty"`
	PayBy       time.Time    `json:"payBy,omitzero"`
	State       PaymentState `json:"state"`
	Amount      int64        `json:"amount"` // minor units, in the order's currency
	At          time.Time    `json:"at"`
	By          string       `json:"by,omitempty"` // who told us, when it was not the provider
}

// PaymentState is where one payment stands.
type PaymentState string

// The states of a payment.
const (
	PaymentStarted   PaymentState = "STARTED"
	PaymentSucceeded PaymentState = "SUCCEEDED"
	PaymentFailed    PaymentState = "FAILED"
	PaymentRefunded  PaymentState = "REFUNDED"
)

// Confirmed is the idempotency record of one POST confirm: hashes of the key and
// of the canonical body. How it ended is the order's own state.
type Confirmed struct {
	Key  []byte `json:"key"`
	Body []byte `json:"body"`
}

// Claims tells whether the order, as stored, has a claim on its seats.
func (s OrderStatus) Claims() bool { return s == Pending || s == Paying || s == Paid }

// Open tells whether the order still waits for money.
func (s OrderStatus) Open() bool { return s == Pending || s == Paying }

// Lapsed tells whether an open order's deadline has passed at now, swept or not.
func (o *Order) Lapsed(now time.Time) bool {
	return o.Status.Open() && !now.Before(o.HoldExpiresAt)
}

// Has tells whether the order keeps its seats from others at now.
func (o *Order) Has(now time.Time) bool { return o.Status.Claims() && !o.Lapsed(now) }

// StatusAt is the status as anybody sees it at now: a lapsed order is EXPIRED
// whether or not the sweep has come by.
func (o *Order) StatusAt(now time.Time) OrderStatus {
	if o.Lapsed(now) {
		return Expired
	}
	return o.Status
}

// HoldRequest asks for seats: by id, or the best Count of a Category ("" = any).
type HoldRequest struct {
	Event    string
	Token    string    // the entry token as sent; checked here
	Visitor  uuid.UUID // from the credential; uuid.Nil when only the token was sent
	Seats    []string
	Best     bool
	Count    int
	Category string

	avoid func(seat string) bool // seats to look past in a search
}
