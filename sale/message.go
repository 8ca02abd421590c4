package sale

import (
	"time"

	"github.com/google/uuid"
)

// The topics of messages.
const (
	TopicOrderPaid      = "order.paid"
	TopicTicketIssued   = "ticket.issued"
	TopicOrderExpired   = "order.expired"
	TopicOrderRefundDue = "order.refund_due"
	TopicOrderRefunded  = "order.refunded"
)

// Topics are all topics that are sent.
var Topics = []string{TopicOrderPaid, TopicTicketIssued, TopicOrderExpired, TopicOrderRefundDue, TopicOrderRefunded}

// Money is an amount in minor units of an ISO 4217 currency.
type Money struct {
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
}

// OrderDoc is an order as the outside is told of it.
type OrderDoc struct {
	OrderID  uuid.UUID   `json:"orderId"`
	EventID  string      `json:"eventId"`
	Status   OrderStatus `json:"status"`
	Seats    []SeatDoc   `json:"seats"`
	Total    Money       `json:"total"`
	Provider string      `json:"provider,omitempty"`
	PaidAt   *time.Time  `json:"paidAt,omitempty"`
	Buyer    *Buyer      `json:"buyer,omitempty"`
	Refunded *Money      `json:"refunded,omitempty"` // what was returned so far
	Refund   *RefundDoc  `json:"refund,omitempty"`   // what the message is about
}

// RefundDoc is a refund as the outside is told of it.
type RefundDoc struct {
	RefundID uuid.UUID   `json:"refundId"`
	State    RefundState `json:"state"`
	Amount   Money       `json:"amount"`
	Reason   string      `json:"reason,omitempty"`
	Seats    []string    `json:"seats,omitempty"`   // ids
	Tickets  []uuid.UUID `json:"tickets,omitempty"` // that are dead with it
}

// SeatDoc is one seat of an order as the outside is told of it.
type SeatDoc struct {
	ID       string `json:"id"`
	Label    string `json:"label"`
	Category string `json:"category"`
	Price    Money  `json:"price"`
	Refunded bool   `json:"refunded,omitempty"` // it was taken back: its ticket is dead
}

// TicketDoc is one ticket as the outside is told of it.
type TicketDoc struct {
	TicketID uuid.UUID `json:"ticketId"`
	OrderID  uuid.UUID `json:"orderId"`
	EventID  string    `json:"eventId"`
	Seat     SeatDoc   `json:"seat"`
	Code     string    `json:"code"`
	Buyer    *Buyer    `json:"buyer,omitempty"` // so that a ticket can be mailed
}

// orderKey is the lane of everything about one order.
func orderKey(o *Order) string { return "order:" + o.ID.String() }

func orderDoc(o *Order) OrderDoc {
	d := OrderDoc{OrderID: o.ID, EventID: o.Event, Status: o.Status, Total: Money{o.Total, o.Currency}}
	for _, s := range o.Seats {
		d.Seats = append(d.Seats, seatDoc(o, s))
	}
	if !o.PaidAt.IsZero() {
		d.PaidAt = &o.PaidAt
	}
	if o.Buyer != (Buyer{}) {
		d.Buyer = &o.Buyer
	}
	if p, ok := o.payer(); ok {
		d.Provider = p.Provider
	}
	if done, _ := o.Returned(); done > 0 {
		d.Refunded = &Money{done, o.Currency}
	}
	return d
}

// refundDoc is an order with the refund that is to be told of.
func refundDoc(o *Order, i int) OrderDoc {
	d, r := orderDoc(o), o.Refunds[i]
	d.Refund = &RefundDoc{RefundID: r.ID, State: r.State, Amount: Money{r.Amount, o.Currency}, Reason: r.Reason, Seats: r.Seats}
	for _, s := range o.Seats {
		if s.Refund == r.ID && s.Ticket != uuid.Nil {
			d.Refund.Tickets = append(d.Refund.Tickets, s.Ticket)
		}
	}
	return d
}

func seatDoc(o *Order, s OrderSeat) SeatDoc {
	return SeatDoc{ID: s.ID, Label: s.Label, Category: s.Category, Price: Money{s.Price, o.Currency}, Refunded: s.Refund != uuid.Nil}
}

// announcePaid tells the outside about a paid order: the order first, then its
// tickets, all in one lane.
func (o *Office) announcePaid(tx Tx, n *Order) {
	order := orderDoc(n)
	o.send(tx, TopicOrderPaid, orderKey(n), order)
	for i, s := range n.Seats {
		if !n.Keeps(i) {
			continue
		}
		o.send(tx, TopicTicketIssued, orderKey(n), TicketDoc{
			TicketID: s.Ticket, OrderID: n.ID, EventID: n.Event, Seat: seatDoc(n, s), Code: o.ticketCode(s.Ticket), Buyer: order.Buyer,
		})
	}
}
