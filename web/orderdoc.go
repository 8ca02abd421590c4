package web

import (
	"strings"

	"github.com/google/uuid"

	"foyer/sale"
)

// orderDoc is an order as its buyer may see it; the shop and staff see more.
type orderDoc struct {
	OrderID       uuid.UUID        `json:"orderId"`
	EventID       string           `json:"eventId"`
	Status        sale.OrderStatus `json:"status"`
	Seats         []orderSeatDoc   `json:"seats"`
	Total         sale.Money       `json:"total"`
	HoldExpiresAt stamp            `json:"holdExpiresAt"`
	PayBy         *stamp           `json:"payBy,omitempty"` // while a payment runs
	PaidAt        *stamp           `json:"paidAt,omitempty"`
	Buyer         *sale.Buyer      `json:"buyer,omitempty"`
	Tickets       []ticketDoc      `json:"tickets,omitempty"`  // those that are valid, when PAID
	Refunded      *sale.Money      `json:"refunded,omitempty"` // of all refunds, done or still to be made
	Refund        *orderRefundDoc  `json:"refund,omitempty"`   // the latest
	Refunds       []orderRefundDoc `json:"refunds,omitempty"`  // oldest first
	History       []stepDoc        `json:"history"`            // oldest first
	CreatedAt     stamp            `json:"createdAt"`
	Provider      string           `json:"provider,omitempty"`  // who has the money; to staff and the shop
	PaymentID     string           `json:"paymentId,omitempty"` // as above
	Payments      []paymentDoc     `json:"payments,omitempty"`  // as above
	ServerTime    stamp            `json:"serverTime"`
}

type seatDoc struct {
	ID       string     `json:"id"`
	Label    string     `json:"label"`
	Category string     `json:"category"`
	Price    sale.Money `json:"price"`
}

type orderSeatDoc struct {
	seatDoc
	Refunded bool `json:"refunded,omitempty"` // taken back; its ticket is dead
}

type ticketDoc struct {
	TicketID uuid.UUID `json:"ticketId"`
	Seat     seatDoc   `json:"seat"`
	Code     string    `json:"code"`
}

// orderRefundDoc is money of an order on its way back.
type orderRefundDoc struct {
	RefundID    uuid.UUID        `json:"refundId"`
	State       sale.RefundState `json:"state"`
	Amount      sale.Money       `json:"amount"`
	Seats       []string         `json:"seats,omitempty"` // ids
	Reason      string           `json:"reason,omitempty"`
	RequestedAt stamp            `json:"requestedAt"`
	DoneAt      *stamp           `json:"doneAt,omitempty"`
	Answer      string           `json:"answer,omitempty"` // why it failed; to staff and the shop
}

// stepDoc is a step of an order.
type stepDoc struct {
	At     stamp            `json:"at"`
	Status sale.OrderStatus `json:"status"` // after it
	Cause  string           `json:"cause"`
	By     string           `json:"by,omitempty"`
	Detail string           `json:"detail,omitempty"`
}

// paymentDoc is one attempt to pay, or money that came by itself.
type paymentDoc struct {
	PaymentID string            `json:"paymentId,omitempty"`
	Provider  string            `json:"provider"`
	Method    string            `json:"method,omitempty"` // at the door
	State     sale.PaymentState `json:"state"`
	Amount    sale.Money        `json:"amount"`
	At        stamp             `json:"at"`
	By        string            `json:"by,omitempty"`
}

func seatOf(s sale.OrderSeat, currency string) seatDoc {
	return seatDoc{s.ID, s.Label, s.Category, sale.Money{Amount: s.Price, Currency: currency}}
}

// orderOf is the order for its buyer: who of the staff did something and why, and
// what a provider said of a refund, is not for him.
func orderOf(v *sale.OrderView) *orderDoc {
	d := staffOrderOf(v)
	d.Provider, d.PaymentID, d.Payments = "", "", nil
	for i := range d.Refunds {
		d.Refunds[i].Answer = ""
	}
	for i := range d.History {
		h := &d.History[i]
		if strings.HasPrefix(h.By, staffActor) {
			h.By, h.Detail = "staff", ""
		}
		if h.Cause == "refund.failed" {
			h.Detail = ""
		}
	}
	return d
}

// staffOrderOf is the order for staff and the shop.
func staffOrderOf(v *sale.OrderView) *orderDoc {
	money := func(minor int64) sale.Money { return sale.Money{Amount: minor, Currency: v.Currency} }
	d := &orderDoc{
		OrderID: v.ID, EventID: v.Event, Status: v.Status, Total: money(v.Total),
		HoldExpiresAt: stamp(v.HoldExpiresAt), PayBy: stampOf(v.PayBy), PaidAt: stampOf(v.PaidAt),
		CreatedAt: stamp(v.CreatedAt), ServerTime: stamp(v.Now),
	}
	if v.Buyer != (sale.Buyer{}) {
		d.Buyer = &v.Buyer
	}
	for i, seat := range v.Seats {
		s := seatOf(seat, v.Currency)
		d.Seats = append(d.Seats, orderSeatDoc{s, v.Gone(i)})
		if v.Valid(i) && i < len(v.Codes) {
			d.Tickets = append(d.Tickets, ticketDoc{seat.Ticket, s, v.Codes[i]})
		}
	}
	for _, r := range v.Refunds {
		doc := orderRefundDoc{RefundID: r.ID, State: r.State, Amount: money(r.Amount), Seats: r.Seats, Reason: r.Reason, RequestedAt: stamp(r.At), Answer: r.Answer}
		if r.State == sale.RefundDone {
			doc.DoneAt = stampOf(r.EndedAt)
		}
		d.Refunds = append(d.Refunds, doc)
	}
	if n := len(d.Refunds); n > 0 {
		d.Refund = &d.Refunds[n-1]
		done, open := v.Returned()
		sum := money(done + open)
		d.Refunded = &sum
	}
	for _, h := range v.Steps() {
		d.History = append(d.History, stepDoc{stamp(h.At), h.Status, h.Cause, h.By, h.Detail})
	}
	if p, paid := v.Paid(); paid {
		d.Provider, d.PaymentID = p.Provider, p.ID
	}
	for _, p := range v.Payments {
		d.Payments = append(d.Payments, paymentDoc{p.ID, p.Provider, p.Method, p.State, money(p.Amount), stamp(p.At), p.By})
	}
	return d
}
