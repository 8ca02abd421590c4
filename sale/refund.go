package sale

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
)

// Refund is money on its way back: of an order, or of a payment that fits no
// order.
type Refund struct {
	ID       uuid.UUID   `json:"id"`              // our name for it, the idempotency key towards the provider
	Seats    []string    `json:"seats,omitempty"` // ids of the seats whose price it is; nil when it is not about seats
	Amount   int64       `json:"amount"`          // minor units
	State    RefundState `json:"state"`
	Reason   string      `json:"reason,omitempty"`
	By       string      `json:"by"` // who asked for it
	At       time.Time   `json:"at"`
	EndedAt  time.Time   `json:"endedAt,omitzero"`
	Provider string      `json:"provider,omitempty"` // the provider's name for it
	Answer   string      `json:"answer,omitempty"`   // why it failed
	ToldAt   time.Time   `json:"toldAt,omitzero"`    // when, by the provider's clock, it was so as its event said
	ByHand   bool        `json:"byHand,omitempty"`   // a person said that it is done: no event needs to tell of it
}

// RefundState is where a refund stands.
type RefundState string

// The states of a refund.
const (
	RefundRequested RefundState = "REQUESTED" // the provider is to be asked, or a person gives the money back
	RefundSent      RefundState = "SENT"      // the provider has taken it on and will tell
	RefundDone      RefundState = "DONE"
	RefundFailed    RefundState = "FAILED" // the provider will not; a person must decide
	RefundWithdrawn RefundState = "WITHDRAWN"
)

// Open tells whether the money is still to be returned.
func (s RefundState) Open() bool {
	return s == RefundRequested || s == RefundSent || s == RefundFailed
}

// TopicRefund is the topic of what asks a provider to return money; it goes to
// [RefundSink] and to nobody outside.
const (
	TopicRefund = "refund"
	RefundSink  = "refund:"
)

// Returned sums the refunds of an order in minor units: those that are done, and
// those that are still to be made.
func (o *Order) Returned() (done, open int64) {
	for _, r := range o.Refunds {
		switch {
		case r.State == RefundDone:
			done += r.Amount
		case r.State.Open():
			open += r.Amount
		}
	}
	return done, open
}

// payer finds the payment whose money the order has: the one to be returned.
func (o *Order) payer() (p *Payment, ok bool) {
	for i := range o.Payments {
		if o.Payments[i].State.Received() {
			return &o.Payments[i], true
		}
	}
	return nil, false
}

// RefundWish is what staff want returned.
type RefundWish struct {
	Actor   string
	Seats   []string // ids; empty is all that are left
	OffSale bool     // the seats do not go back on sale
	Reason  string   // for the buyer and the audit; may be empty
}

// maxReason bounds what staff give as a reason, in characters.
const maxReason = 300

// Refund takes seats of a PAID order back and has their price returned by
// whoever took it. Their tickets are dead and the seats on sale again at once,
// but for those that were used at the door. Without any seat left the order is
// REFUND_DUE, and REFUNDED when the money is back. Asking again for seats that
// were taken back changes nothing. It refuses with [ErrNoSuchOrder],
// [ErrNotPaid], [ErrNoSuchSeat] and [ErrBadReason].
func (o *Office) Refund(order uuid.UUID, w RefundWish) (v *OrderView, err error) {
	if wrong := checkText("The reason", w.Reason, 0, maxReason); wrong != "" {
		return nil, ErrBadReason.say(wrong)
	}
	err = o.store.Update(func(tx Tx) error {
		n, ok := tx.Order(order)
		if !ok {
			return ErrNoSuchOrder
		}
		chosen, err := n.refundable(w.Seats)
		if err != nil {
			return err
		}
		if len(chosen) > 0 {
			n = n.clone()
			o.takeBack(tx, n, chosen, w)
		}
		v = o.view(tx, n)
		return nil
	})
	return v, err
}

// refundable finds the seats, by index, that a wish takes back.
func (o *Order) refundable(wish []string) (chosen []int, err error) {
	var unknown []string
	for _, id := range wish {
		if !slices.ContainsFunc(o.Seats, func(s OrderSeat) bool { return s.ID == id }) {
			unknown = append(unknown, id)
		}
	}
	switch {
	case !o.Status.hasMoney():
		return nil, ErrNotPaid
	case unknown != nil:
		return nil, ErrNoSuchSeat.say("The order does not have these seats.").with(unknown)
	}
	for i, s := range o.Seats {
		if s.Refund == uuid.Nil && o.Status == Paid && (len(wish) == 0 || slices.Contains(wish, s.ID)) {
			chosen = append(chosen, i)
		}
	}
	return chosen, nil
}

// takeBack ends the claim of a private copy of a PAID order on some of its seats
// and has their price returned.
func (o *Office) takeBack(tx Tx, n *Order, chosen []int, w RefundWish) {
	r := Refund{ID: tx.NewID(), Amount: n.worth(chosen), State: RefundRequested, Reason: w.Reason, By: w.Actor, At: tx.Now()}
	keep := n.endClaims(chosen, &r) // off sale
	if w.OffSale {
		keep = r.Seats
	}
	n.Refunds = append(n.Refunds, r)
	n.UpdatedAt = tx.Now()
	n.note(tx.Now(), "refund.requested", w.Actor, strings.Join(append([]string{w.Reason}, r.Seats...), " "))
	o.askRefund(tx, n, len(n.Refunds)-1)
	o.audit(tx, w.Actor, n.Event, "order.refund", n.ID.String()+" "+strings.Join(r.Seats, " "))
	o.seatsCameBack(tx, n, keep, w.Actor)
}

// endClaims ends the claim of a private copy on some of its seats, by index, for
// a refund that is not in the order yet. It gives those that were used at the
// door: they do not go back on sale.
func (o *Order) endClaims(chosen []int, r *Refund) (used []string) {
	for _, i := range chosen {
		s := &o.Seats[i]
		s.Refund = r.ID
		r.Seats = append(r.Seats, s.ID)
		if !s.UsedAt.IsZero() {
			used = append(used, s.ID)
		}
	}
	if !slices.ContainsFunc(o.Seats, func(s OrderSeat) bool { return s.Refund == uuid.Nil }) {
		o.Status = RefundDue
	}
	return used
}

// seatsCameBack puts seats of an order that it has no claim on any more back on
// sale, all but those to keep. The order is written before.
func (o *Office) seatsCameBack(tx Tx, n *Order, keep []string, by string) {
	if len(keep) > 0 {
		o.block(tx, n.Event, keep, SeatBlock{State: BlockOffSale, Reason: "refunded", By: by, At: tx.Now()})
	}
	o.recount(tx, n)
}

// worth is what is returned for some seats, by index, that are still to be taken
// back: all that is left with the last of them.
func (o *Order) worth(chosen []int) int64 {
	done, open := o.Returned()
	left, price, whole := o.Received()-done-open, int64(0), true
	for i, s := range o.Seats {
		if s.Refund != uuid.Nil || slices.Contains(chosen, i) {
			price += s.Price
		} else {
			whole = false
		}
	}
	if whole {
		return left
	}
	// What went back without a word about seats, in the provider's pages, is for
	// these; and staff may have let a part of the price go, or taken more.
	return max(0, min(price-done-open, left))
}

// askRefund has refund i of a private copy returned by whoever has the money,
// and tells the outside. Money that was taken at the door is given back at the
// door; what the venue's own shop has taken, the shop returns, and staff say so.
func (o *Office) askRefund(tx Tx, n *Order, i int) {
	p, _ := n.payer()
	switch {
	case p == nil || p.Provider == free || p.Provider == door || n.Refunds[i].Amount <= 0:
		o.send(tx, TopicOrderRefundDue, orderKey(n), refundDoc(n, i))
		o.returned(tx, n, i)
		return
	case p.Provider != shop:
		o.sendRefund(tx, refundRef{Refund: n.Refunds[i].ID, Order: n.ID}, n.ID, time.Time{})
	}
	tx.PutOrder(n)
	o.send(tx, TopicOrderRefundDue, orderKey(n), refundDoc(n, i))
}

// returned books that the money of refund i of a private copy is back.
func (o *Office) returned(tx Tx, n *Order, i int) { o.returnedAs(tx, n, i, "") }

// returnedAs is returned with what staff know about it.
func (o *Office) returnedAs(tx Tx, n *Order, i int, detail string) {
	r := &n.Refunds[i]
	r.State, r.EndedAt, r.Answer = RefundDone, tx.Now(), ""
	n.UpdatedAt = tx.Now()
	if done, _ := n.Returned(); n.Status == RefundDue && done >= n.Received() {
		n.Status = Refunded
		for i := range n.Payments {
			if n.Payments[i].State == PaymentSucceeded {
				n.Payments[i].State = PaymentRefunded
			}
		}
		settleReturned(tx, n)
	}
	n.note(tx.Now(), "refund.done", r.By, detail)
	tx.PutOrder(n)
	o.send(tx, TopicOrderRefunded, orderKey(n), refundDoc(n, i))
}

// notReturned books that the provider will not return the money of refund i of a
// private copy: a person must decide.
func (o *Office) notReturned(tx Tx, n *Order, i int, why string) {
	r := &n.Refunds[i]
	r.State, r.EndedAt, r.Answer, r.ByHand = RefundFailed, tx.Now(), outbox.Clip(why), false
	if n.Status == Refunded { // it was said to be done
		n.Status = RefundDue
		for i := range n.Payments {
			if n.Payments[i].State == PaymentRefunded {
				n.Payments[i].State = PaymentSucceeded
			}
		}
	}
	n.UpdatedAt = tx.Now()
	n.note(tx.Now(), "refund.failed", houseActor, r.Answer)
	tx.PutOrder(n)
}

// refundRef is the body of the message that asks for a refund.
type refundRef struct {
	Refund   uuid.UUID `json:"refundId"`
	Order    uuid.UUID `json:"orderId,omitzero"`
	Provider string    `json:"provider,omitempty"` // with Event: the receipt whose money goes back
	Event    string    `json:"eventId,omitempty"`
}

// sendRefund writes the message that asks a provider, to be sent at a time or,
// when that is zero, at once. Each order has a lane of its own.
func (o *Office) sendRefund(tx Tx, ref refundRef, lane uuid.UUID, at time.Time) {
	body, err := json.Marshal(ref)
	if err != nil {
		panic(err) // our own struct always encodes
	}
	tx.Send(outbox.Message{
		ID: tx.NewID().String(), Topic: TopicRefund, Key: "order:" + lane.String(), Sink: RefundSink,
		CreatedAt: tx.Now(), NextAt: at, Body: body, State: outbox.Waiting,
	})
}

// findRefund finds a refund of the order by our name for it; -1 without one.
func (o *Order) findRefund(id uuid.UUID) int {
	return slices.IndexFunc(o.Refunds, func(r Refund) bool { return r.ID == id })
}
