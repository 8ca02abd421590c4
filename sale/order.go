package sale

import (
	"slices"
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
	Waived        int64       `json:"waived,omitempty"` // minor units that staff let go: Total less the money that came; negative when too much did
	Refunds       []Refund    `json:"refunds,omitempty"`
	History       []Change    `json:"history,omitempty"` // after the hold, oldest first
}

// Change is a step of an order.
type Change struct {
	At     time.Time   `json:"at"`
	Status OrderStatus `json:"status"`           // after it
	Cause  string      `json:"cause"`            // code, such as "payment.succeeded"
	By     string      `json:"by,omitempty"`     // "visitor", "staff:<key id>", "house", or the name of a provider
	Detail string      `json:"detail,omitempty"` // for people
}

// maxHistory bounds the steps that an order remembers; later ones take the place of the last.
const maxHistory = 200

// note remembers a step of a private copy.
func (o *Order) note(now time.Time, cause, by, detail string) {
	c := Change{now, o.Status, cause, by, detail}
	if len(o.History) >= maxHistory {
		o.History[maxHistory-1] = c
		return
	}
	o.History = append(o.History, c)
}

// OrderSeat is one seat of an order with the price at the time of the hold.
type OrderSeat struct {
	ID       string    `json:"id"`
	Label    string    `json:"label"`
	Category string    `json:"category"`
	Price    int64     `json:"price"`           // minor units
	Ticket   uuid.UUID `json:"ticket,omitzero"` // set when PAID
	Refund   uuid.UUID `json:"refund,omitzero"` // the refund that took the seat back: its ticket is dead
	UsedAt   time.Time `json:"usedAt,omitzero"` // when the ticket was shown at the door
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
	ID          string       `json:"id,omitempty"`  // the provider's name for it
	Ref         string       `json:"ref,omitempty"` // the provider's second name for it, see Fact.Ref
	RedirectURL string       `json:"redirectUrl,omitempty"`
	PayBy       time.Time    `json:"payBy,omitzero"`
	State       PaymentState `json:"state"`
	Amount      int64        `json:"amount"` // minor units, in the order's currency
	At          time.Time    `json:"at"`
	By          string       `json:"by,omitempty"`     // who told us, when it was not the provider
	Method      string       `json:"method,omitempty"` // at the door: "cash", "card", "free"
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

// Received tells whether the money came, returned since or not.
func (s PaymentState) Received() bool { return s == PaymentSucceeded || s == PaymentRefunded }

// Confirmed is the idempotency record of one POST confirm: hashes of the key and
// of the canonical body. How it ended is the order's own state.
type Confirmed struct {
	Key  []byte `json:"key"`
	Body []byte `json:"body"`
}

// Claims tells whether the order, as stored, has a claim on its seats.
func (s OrderStatus) Claims() bool { return s == Pending || s == Paying || s == Paid }

// Keeps tells whether the order, as stored, has a claim on its seat i.
func (o *Order) Keeps(i int) bool { return o.Status.Claims() && o.Seats[i].Refund == uuid.Nil }

// claims tells whether the order, as stored, has a claim on a seat.
func (o *Order) claims(seat string) bool {
	i := slices.IndexFunc(o.Seats, func(s OrderSeat) bool { return s.ID == seat })
	return i >= 0 && o.Keeps(i)
}

// Sold counts the seats that are SOLD by this order.
func (o *Order) Sold() (n int) {
	for i := range o.Seats {
		if o.Status == Paid && o.Keeps(i) {
			n++
		}
	}
	return n
}

// Live tells whether more may become of the order by itself: it has a claim or
// money, or money may be on its way.
func (o *Order) Live() bool {
	return o.Status != Expired && o.Status != Cancelled || o.Running()
}

// Running tells whether a payment was started and has not ended.
func (o *Order) Running() bool {
	return slices.ContainsFunc(o.Payments, func(p Payment) bool { return p.State == PaymentStarted })
}

// HasPayment tells whether the order has a payment of this provider and name, or
// second name; empty ones fit nothing.
func (o *Order) HasPayment(provider, id, ref string) bool {
	f := Fact{Provider: provider, PaymentID: id, Ref: ref}
	return slices.ContainsFunc(o.Payments, func(p Payment) bool { return p.is(f) })
}

// Received is the money that came for the order, in minor units, returned or not.
func (o *Order) Received() (sum int64) {
	for _, p := range o.Payments {
		if p.State.Received() {
			sum += p.Amount
		}
	}
	return sum
}

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
