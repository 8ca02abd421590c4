package crash

import (
	"fmt"
	"slices"
	"strings"
)

// orderFact is an order as acknowledged.
type orderFact struct {
	id, event string
	visitor   *visitor // nil while unknown
	turn      string   // queueId of its place
	seats     []string
	total     int64
	created   moment
	knownBy   moment // it had been acknowledged by then
	deadline  moment // the latest that was told
	first     moment // the first deadline

	mayPay, mayFail, mayCancel, mayMoney bool // somebody asked for it
	must                                 must
	inFlight                             int    // calls that may change it
	tickets                              string // of a PAID order: ids, codes and the time of payment
	shown                                string // the last status that was seen
}

// must is what was acknowledged of an order's state for good.
type must struct {
	paying, paid, refund, refunded, cancelled, expired, money bool
	deadline                                                  moment
}

// must is what has to be true in whatever is answered from now on.
func (l *ledger) mustOf(order string) must {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o := l.orders[order]; o != nil {
		m := o.must
		m.deadline = o.deadline
		return m
	}
	return must{}
}

// begin tells that a call is about to ask something of an order.
func (l *ledger) begin(order string, may func(*orderFact)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o := l.orders[order]; o != nil {
		o.inFlight++
		may(o)
	}
}

// end tells that the call is over; ack writes down what was acknowledged.
func (l *ledger) end(order string, ack func(*orderFact)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o := l.orders[order]; o != nil {
		o.inFlight--
		if ack != nil {
			ack(o)
		}
	}
}

// newOrder writes down an order that was acknowledged or found.
func (l *ledger) newOrder(c clock, d *orderDoc, v *visitor, turn string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.orders[d.OrderID] == nil {
		l.enter(c, d, v, turn)
	}
}

// enter is newOrder for who has the lock.
func (l *ledger) enter(c clock, d *orderDoc, v *visitor, turn string) {
	deadline := c.of(d.HoldExpiresAt)
	l.orders[d.OrderID] = &orderFact{
		id: d.OrderID, event: d.EventID, visitor: v, turn: turn, seats: d.seats(), total: d.Total.Amount,
		created: c.of(d.CreatedAt), knownBy: c.now(), deadline: deadline, first: deadline,
	}
	if v != nil {
		l.orders[d.OrderID].mayCancel = v.paid || v.tabs // by older money for the same seats, by a hold from another tab
		v.orders = append(v.orders, l.orders[d.OrderID])
	}
}

// mayCancel notes that a call may cancel any open order of a visitor.
func (l *ledger) mayCancel(v *visitor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range v.orders {
		o.mayCancel = true
	}
}

// observe compares an order that was shown in an answer with the ledger. was is
// mustOf at the time the question was asked.
func (l *ledger) observe(c clock, d *orderDoc, was must, a *answer, source string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.orders[d.OrderID]
	if o == nil {
		return
	}
	at, deadline := c.of(d.ServerTime), c.of(d.HoldExpiresAt)
	bad := func(format string, args ...any) {
		l.faultLocked("ledger", "order %s (%s, %s): %s", o.id, source, d.Status, fmt.Sprintf(format, args...))
	}
	if !slices.Equal(d.seats(), o.seats) || d.Total.Amount != o.total || d.EventID != o.event || c.of(d.CreatedAt) != o.created {
		bad("it changed: seats %v for %d, acknowledged were %v for %d", d.seats(), d.Total.Amount, o.seats, o.total)
	}
	if deadline < was.deadline || deadline != o.first && !o.mayPay {
		bad("its deadline is %v, acknowledged was %v", deadline, max(was.deadline, o.first))
	}
	if msg := o.contradiction(d.Status, was, at, deadline); msg != "" {
		bad("%s", msg)
	}
	o.deadline = max(o.deadline, deadline)
	o.learn(d)
	if t := d.proof(); d.Status == "PAID" {
		if o.tickets != "" && o.tickets != t {
			bad("its tickets changed from %s to %s", o.tickets, t)
		}
		o.tickets = t
		if len(d.Tickets) != len(o.seats) {
			bad("it has %d tickets for %d seats", len(d.Tickets), len(o.seats))
		}
	}
	if open := d.Status == "PENDING" || d.Status == "PAYING"; open || o.shown != d.Status {
		o.shown = d.Status
		l.ops = append(l.ops, op{kind: opSeen, event: o.event, order: o.id, turn: o.turn, visitor: o.visitor, seats: o.seats,
			status: d.Status, at: at, start: a.start, end: a.end, life: a.life, sure: true})
	}
}

// proof is what a PAID order shows at the door.
func (d *orderDoc) proof() string {
	var b strings.Builder
	fmt.Fprintf(&b, "paid at %s", d.PaidAt.UTC().Format("15:04:05.000"))
	for _, t := range d.Tickets {
		fmt.Fprintf(&b, " %s %s %s", t.Seat.ID, t.TicketID, t.Code)
	}
	return b.String()
}

// contradiction says why an order cannot have a status after what was
// acknowledged and asked for, or nothing.
func (o *orderFact) contradiction(status string, was must, at, deadline moment) string {
	open := status == "PENDING" || status == "PAYING"
	back := status == "REFUND_DUE" || status == "REFUNDED"
	has := status == "PAID" || back
	switch {
	case was.paid && status != "PAID":
		return "it was acknowledged as PAID"
	case was.refund && !back:
		return "it was acknowledged as REFUND_DUE"
	case was.refunded && status != "REFUNDED":
		return "it was acknowledged as REFUNDED"
	case was.money && !has:
		return "its money was acknowledged"
	case has && !o.mayMoney:
		return "nobody paid it"
	case was.cancelled && (open || status == "EXPIRED"):
		return "it was acknowledged as CANCELLED"
	case was.expired && (open || status == "CANCELLED"):
		return "it was acknowledged as EXPIRED"
	case status == "CANCELLED" && !o.mayCancel:
		return "nobody cancelled it"
	case status == "PAYING" && !o.mayPay:
		return "nobody began to pay it"
	case status == "PENDING" && was.paying && !o.mayFail:
		return "its payment was acknowledged and did not fail"
	case status == "EXPIRED" && at < deadline:
		return fmt.Sprintf("it expired at %v, its deadline is %v", at, deadline)
	case open && at >= deadline:
		return fmt.Sprintf("it is open at %v, its deadline was %v", at, deadline)
	}
	return ""
}

// learn takes over what an answer says for good.
func (o *orderFact) learn(d *orderDoc) {
	switch d.Status {
	case "PAYING":
		o.must.paying = true
	case "PAID":
		o.must.paid = true
	case "REFUND_DUE":
		o.must.refund = true
	case "REFUNDED":
		o.must.refund, o.must.refunded = true, true
	case "CANCELLED":
		o.must.cancelled = true
	case "EXPIRED":
		if o.inFlight == 0 { // a payment under way may have been quicker by the program's clock
			o.must.expired = true
		}
	}
}
