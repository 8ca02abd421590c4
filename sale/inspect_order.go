package sale

import (
	"crypto/sha256"
	"slices"

	"github.com/google/uuid"
)

// inspectedOrder is what is kept of an order that has a claim or money.
type inspectedOrder struct {
	event             string
	visitor           uuid.UUID
	place             uint64
	status            OrderStatus
	received          int64
	currency          string
	provider, payment string // of the money that it has
	ref               string // the payment's second name
	facts             int    // applied facts that say it came
	told              int    // refunds of which the provider's events told
	toldBack          int    // facts that tell of refunds
	paid              bool   // it was PAID once
	returns           bool   // money goes back or has gone
	resent            bool   // its messages were written again
}

// is tells where the order stands, also of one that is not there.
func (o *inspectedOrder) is() string {
	if o == nil {
		return "not there, or came to nothing"
	}
	return string(o.status)
}

// hasMoney tells whether an order in this state has taken money, or was free.
func (s OrderStatus) hasMoney() bool { return s == Paid || s == RefundDue || s == Refunded }

// wasPaid tells whether the order is or was PAID, and so has tickets.
func (o *Order) wasPaid() bool {
	return o.Status == Paid || (o.Status == RefundDue || o.Status == Refunded) && !o.PaidAt.IsZero()
}

// Order is fed an order. closed tells that it lies among those that came to
// nothing.
func (i *Inspection) Order(o *Order, closed bool) {
	i.count.Orders[o.Status]++
	i.stamp(o.CreatedAt)
	i.stamp(o.UpdatedAt)
	i.stamp(o.PaidAt)
	ie, ok := i.byName[o.Event]
	if !ok {
		i.Add("row", "order %s is of an event %q, and there is no such event", o.ID, o.Event)
		return
	}
	switch o.Status {
	case Pending, Paying, Paid, RefundDue, Refunded, Expired, Cancelled:
	default:
		i.Add("row", "order %s has the unknown status %q", o.ID, o.Status)
		return
	}
	if o.Live() == closed && !(closed && o.Running()) { // older files have those with a payment under way among the closed ones
		i.Add("row", "order %s is %s and lies in the wrong bucket", o.ID, o.Status)
	}
	i.inspectShape(ie, o)
	kept := i.inspectMoney(o)
	i.inspectRecords(ie, o)
	i.inspectSeats(ie, o)
	if !closed {
		i.orders[o.ID] = kept
	}
}

// inspectShape looks at an order by itself.
func (i *Inspection) inspectShape(ie *inspectedEvent, o *Order) {
	sum := int64(0)
	for n, s := range o.Seats {
		sum += s.Price
		if slices.ContainsFunc(o.Seats[:n], func(t OrderSeat) bool { return t.ID == s.ID }) {
			i.Add("I2", "order %s has the seat %s twice", o.ID, s.ID)
		}
	}
	if len(o.Seats) == 0 {
		i.Add("I2", "order %s has no seats", o.ID)
	}
	if sum != o.Total {
		i.Add("I8", "order %s costs %d %s, its seats %d", o.ID, o.Total, o.Currency, sum)
	}
	if o.Currency != ie.event.Currency {
		i.Add("I8", "order %s is in %s, its event in %s", o.ID, o.Currency, ie.event.Currency)
	}
	if atDoor := o.Visitor == uuid.Nil; atDoor != (o.Place == 0) || !atDoor && ie.next > 0 && o.Place >= ie.next {
		i.Add("I4", "order %s is of place %d, and event %q has given numbers below %d", o.ID, o.Place, o.Event, ie.next)
	}
	if o.HoldExpiresAt.IsZero() {
		i.Add("I7", "order %s has no deadline", o.ID)
	}
}

// inspectMoney holds an order's status against its payments.
func (i *Inspection) inspectMoney(o *Order) *inspectedOrder {
	kept := &inspectedOrder{event: o.Event, visitor: o.Visitor, place: o.Place, status: o.Status, received: o.Received(), currency: o.Currency}
	want := PaymentSucceeded
	if o.Status == Refunded {
		want = PaymentRefunded
	}
	whole, other := 0, 0
	for n, p := range o.Payments {
		switch p.State {
		case PaymentStarted, PaymentFailed:
		case PaymentSucceeded, PaymentRefunded:
			if o.Status.hasMoney() && p.State == want && p.Amount == o.Total-o.Waived {
				whole++
				kept.provider, kept.payment, kept.ref = p.Provider, p.ID, p.Ref
			} else {
				other++
			}
		default:
			i.Add("I8", "a payment of order %s has the unknown state %q", o.ID, p.State)
		}
		if p.Attempt == uuid.Nil || slices.ContainsFunc(o.Payments[:n], func(q Payment) bool { return q.Attempt == p.Attempt }) {
			i.Add("I8", "two payments of order %s are the same attempt, or one is none", o.ID)
		}
	}
	switch {
	case o.Status.hasMoney() && (whole != 1 || other != 0):
		i.Add("I8", "order %s is %s by %d payments of its sum and %d others", o.ID, o.Status, whole, other)
	case other != 0:
		i.Add("I8", "order %s is %s and %d of its payments have succeeded", o.ID, o.Status, other)
	}
	if kept.provider == "free" && o.Total != 0 {
		i.Add("I8", "order %s costs %d %s and was given away", o.ID, o.Total, o.Currency)
	}
	i.inspectRefunds(o)
	for _, r := range o.Refunds {
		if !r.ToldAt.IsZero() {
			kept.told++
		}
	}
	kept.paid, kept.returns = o.wasPaid(), o.Status == RefundDue || o.Status == Refunded || len(o.Refunds) > 0
	kept.resent = slices.ContainsFunc(o.History, func(c Change) bool { return c.Cause == causeResent })
	m := i.count.Money[o.Currency]
	done, open := o.Returned()
	switch {
	case o.Status == Paid:
		i.add(&m.Paid, o.Received()-done-open, o.Currency)
		i.add(&m.RefundDue, open, o.Currency)
		i.add(&m.Refunded, done, o.Currency)
	case o.Status == RefundDue:
		i.add(&m.RefundDue, o.Received()-done, o.Currency)
		i.add(&m.Refunded, done, o.Currency)
	case o.Status == Refunded:
		i.add(&m.Refunded, o.Received(), o.Currency)
	}
	i.count.Money[o.Currency] = m
	return kept
}

// inspectRefunds holds an order's refunds against its money and its seats.
func (i *Inspection) inspectRefunds(o *Order) {
	done, open := o.Returned()
	ids := map[uuid.UUID]bool{}
	for _, r := range o.Refunds {
		if ids[r.ID] || r.ID == uuid.Nil || r.Amount < 0 {
			i.Add("I8", "order %s has two refunds of one name, or one that is none", o.ID)
		}
		ids[r.ID] = true
	}
	left := 0
	for _, s := range o.Seats {
		switch {
		case s.Refund == uuid.Nil:
			left++
		case !ids[s.Refund]:
			i.Add("I8", "seat %s of order %s was taken back by a refund that is not there", s.ID, o.ID)
		}
	}
	switch {
	case len(o.Refunds) > 0 && !o.Status.hasMoney():
		i.Add("I8", "order %s is %s and has refunds", o.ID, o.Status)
	case done+open > o.Received():
		i.Add("I8", "order %s returns %d %s of %d", o.ID, done+open, o.Currency, o.Received())
	case o.Status == Refunded && done < o.Received() && len(o.Refunds) > 0:
		i.Add("I8", "order %s is REFUNDED, and %d of its %d %s are back", o.ID, done, o.Received(), o.Currency)
	case o.Status == Paid && left == 0:
		i.Add("I8", "order %s is PAID and has no seat left", o.ID)
	}
}

// inspectRecords looks at what one act must have written into an order together.
func (i *Inspection) inspectRecords(ie *inspectedEvent, o *Order) {
	last := PaymentState("")
	if n := len(o.Payments); n > 0 {
		last = o.Payments[n-1].State
	}
	if (o.Status == Paying) != (last == PaymentStarted) && o.Status.Open() {
		i.Add("I9", "order %s is %s and its last payment is %q", o.ID, o.Status, last)
	}
	if o.Status == Paid && o.PaidAt.IsZero() || !o.Status.hasMoney() && !o.PaidAt.IsZero() {
		i.Add("I9", "order %s is %s and was paid at %v", o.ID, o.Status, o.PaidAt)
	}
	if !ie.event.HadHold {
		i.Add("I9", "event %q knows of no hold, and order %s is one", o.Event, o.ID)
	}
	if len(o.Confirms) > 0 && !o.Status.hasMoney() {
		i.Add("I9", "order %s was confirmed and is %s", o.ID, o.Status)
	}
	if len(o.Confirms) > maxConfirms {
		i.Add("I9", "order %s has %d records of confirmations, at most %d are kept", o.ID, len(o.Confirms), maxConfirms)
	}
	for n, c := range o.Confirms {
		again := slices.ContainsFunc(o.Confirms[:n], func(d Confirmed) bool { return slices.Equal(c.Key, d.Key) })
		if again || len(c.Key) != sha256.Size || len(c.Body) != sha256.Size {
			i.Add("I9", "record %d of a confirmation of order %s is there twice, or is none", n+1, o.ID)
		}
	}
	byShop := slices.ContainsFunc(o.Payments, func(p Payment) bool {
		return p.Provider == shop && p.State.Received()
	})
	if byShop && len(o.Confirms) == 0 {
		i.Add("I9", "order %s was paid by a confirmation, and there is no record of one", o.ID)
	}
}

// inspectSeats holds an order's seats against the plan and the other orders: a
// seat is claimed by one order at most, also by one whose time is over.
func (i *Inspection) inspectSeats(ie *inspectedEvent, o *Order) {
	for n, s := range o.Seats {
		i.inspectTicket(o, s)
		if !o.Keeps(n) {
			continue
		}
		if o.Status == Paid && (ie.plan == nil || !planHas(ie.plan, s.ID)) {
			i.Add("I1", "order %s is PAID, and its seat %s is not in the plan of %q", o.ID, s.ID, o.Event)
		}
		other, taken := ie.holders[s.ID]
		ie.holders[s.ID] = o.ID
		if !taken || other == o.ID {
			continue
		}
		if k := i.orders[other]; k != nil && k.status == Paid && o.Status == Paid {
			i.Add("I1", "seat %s of %q is sold to the orders %s and %s", s.ID, o.Event, other, o.ID)
		} else {
			i.Add("I2", "seat %s of %q is claimed by the orders %s and %s", s.ID, o.Event, other, o.ID)
		}
	}
	if !o.Status.Open() || o.Visitor == uuid.Nil {
		return
	}
	k := visitorOf{o.Event, o.Visitor}
	if other, twice := i.holds[k]; twice {
		i.Add("I5", "visitor %s has the holds %s and %s in %q", o.Visitor, other, o.ID, o.Event)
	}
	i.holds[k] = o.ID
}

func (i *Inspection) inspectTicket(o *Order, s OrderSeat) {
	if o.wasPaid() != (s.Ticket != uuid.Nil) {
		i.Add("I1", "order %s is %s, and seat %s has the ticket %s", o.ID, o.Status, s.ID, s.Ticket)
		return
	}
	if s.Ticket == uuid.Nil {
		return
	}
	if other, twice := i.tickets[s.Ticket]; twice {
		i.Add("I1", "ticket %s is of the orders %s and %s", s.Ticket, other, o.ID)
	}
	i.tickets[s.Ticket] = o.ID
}

// closeOrders looks for open orders without a turn.
func (i *Inspection) closeOrders() {
	for id, o := range i.orders {
		if t, ok := i.turns[id]; o.status.Open() && (!ok || t.state != TurnClaimed) {
			i.Add("I7", "order %s of place %d of %q is %s, and no turn is claimed by it", id, o.place, o.event, o.status)
		}
	}
}
