package sale

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Ways to pay at the door.
const (
	Cash = "cash"
	Card = "card" // by the venue's own card machine
	Free = "free" // nothing is paid; the tickets cost nothing
)

// maxDoorSeats bounds the seats of one sale at the door.
const maxDoorSeats = 50

// DoorSale is what staff sell to somebody who stands before them.
type DoorSale struct {
	Actor    string
	Event    string
	Seats    []string // ids; or the best Count of a Category ("" = any)
	Best     bool
	Count    int
	Category string
	Method   string // [Cash], [Card] or [Free]
	Buyer    Buyer  // may be empty
	Key      string // Idempotency-Key; "" is none
}

// hash names the wish: who sells what, whatever the key. A sale with a key keeps
// it as the name of its payment, so that the key with another wish is noticed.
func (s DoorSale) hash() string {
	s.Key = ""
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // our own struct always encodes
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

// Sell sells seats at the door: the order is PAID at once, whether or not the
// line is open, with or without a name. Seats of the house ([BlockHouse]) can be
// sold by name. The same Key again gives the same order; for another sale it is
// refused with [ErrKeyReused].
func (o *Office) Sell(s DoorSale) (v *OrderView, err error) {
	if s.Method != Cash && s.Method != Card && s.Method != Free {
		return nil, ErrBadSale.say(`method is "cash", "card" or "free".`)
	}
	if err := s.Buyer.check(); err != nil {
		return nil, err
	}
	err = o.store.Update(func(tx Tx) error {
		key := s.Actor + " " + s.Key
		if s.Key != "" {
			if rc, known := tx.Receipt(door, key); known {
				v, err = o.soldBefore(tx, rc, s)
				return err
			}
		}
		h, err := o.planSale(tx, s)
		if err != nil {
			return err
		}
		n := o.sell(tx, h, s)
		if s.Key != "" {
			p := n.Payments[0]
			tx.PutReceipt(&Receipt{ReceivedAt: tx.Now(), Outcome: "applied", Fact: Fact{
				Provider: door, EventID: key, Kind: FactSucceeded, PaymentID: p.ID, Order: n.ID.String(), Amount: p.Amount, Currency: n.Currency, CreatedAt: tx.Now(),
			}})
		}
		v = o.view(tx, n)
		return nil
	})
	return v, err
}

func (o *Office) soldBefore(r Reader, rc *Receipt, s DoorSale) (*OrderView, error) {
	id, err := uuid.Parse(rc.Fact.Order)
	n, ok := r.Order(id)
	switch {
	case err != nil || !ok:
		return nil, ErrNoSuchOrder
	case rc.Fact.PaymentID != s.hash():
		return nil, ErrKeyReused
	}
	return o.view(r, n), nil
}

// planSale decides which seats are sold.
func (o *Office) planSale(tx Tx, s DoorSale) (*holdPlan, error) {
	e, ok := tx.Event(s.Event)
	switch {
	case !ok:
		return nil, ErrNoSuchEvent
	case !slices.Contains(e.Providers, door):
		return nil, ErrNoProvider.say(`This event is not sold at the door. Add "door" to its providers.`)
	}
	w := HoldRequest{Event: s.Event, Seats: s.Seats, Best: s.Best, Count: s.Count, Category: s.Category}
	if err := w.checkShape(maxDoorSeats); err != nil {
		return nil, err
	}
	h := &holdPlan{event: e, plan: tx.Plan(s.Event)}
	if s.Best {
		return h, h.chooseBest(tx, w, nil)
	}
	open := *e // seats of the house are on sale here
	open.Blocked = map[string]SeatBlock{}
	for id, b := range e.Blocked {
		if b.State != BlockHouse {
			open.Blocked[id] = b
		}
	}
	h.event = &open
	if err := h.chooseNamed(s.Seats); err != nil {
		return nil, err
	}
	err := h.checkFree(tx)
	h.event = e
	return h, err
}

// sell writes a decided sale.
func (o *Office) sell(tx Tx, h *holdPlan, s DoorSale) *Order {
	for _, l := range h.lapsed {
		o.lapse(tx, l)
	}
	n := o.newOrder(tx, h)
	n.HoldExpiresAt, n.Buyer = tx.Now(), s.Buyer
	p := Payment{Attempt: tx.NewID(), Provider: door, State: PaymentSucceeded, At: tx.Now(), By: s.Actor, Method: s.Method}
	if s.Key != "" {
		p.ID = s.hash()
	}
	if s.Method == Free {
		for i := range n.Seats {
			n.Seats[i].Price = 0
		}
		n.Total = 0
	}
	p.Amount = n.Total
	o.hadHold(tx, h.event)
	n = o.markPaid(tx, n, p)
	o.recount(tx, n)
	o.audit(tx, s.Actor, n.Event, "order.sell", s.Method+" "+n.ID.String())
	return n
}

// newOrder is an order of decided seats at their present prices.
func (o *Office) newOrder(tx Tx, h *holdPlan) *Order {
	now := tx.Now()
	n := &Order{
		ID: tx.NewID(), Event: h.event.ID, Visitor: h.place.Visitor, Place: h.place.Number, Status: Pending,
		Currency: h.event.Currency, CreatedAt: now, UpdatedAt: now,
	}
	for _, i := range h.seats {
		s := h.plan.Seat(i)
		price := h.event.Prices[s.Category]
		n.Seats = append(n.Seats, OrderSeat{ID: s.ID, Label: h.plan.Label(i), Category: s.Category, Price: price})
		n.Total += price // both are bounded, at maxPrice and 50 seats
	}
	return n
}

// hadHold notes in the event that it has had an order: from then on it cannot be
// removed, nor its currency changed.
func (o *Office) hadHold(tx Tx, e *Event) {
	if !e.HadHold {
		c := *e
		c.HadHold = true
		tx.PutEvent(&c)
	}
}

// Complete makes an order that waits for money, or did, PAID on the word of
// staff, when its seats can be had ([ErrSeatsTaken] if not): the buyer paid in
// another way. For an order whose money must go back it says that it was given
// back by hand, see [Office.SettleRefund]. On a PAID one it changes nothing.
func (o *Office) Complete(actor string, order uuid.UUID, method, reason string) (v *OrderView, err error) {
	if wrong := checkText("The reason", reason, 0, maxReason); wrong != "" {
		return nil, ErrBadReason.say(wrong)
	}
	err = o.store.Update(func(tx Tx) error {
		n, ok := tx.Order(order)
		if !ok {
			return ErrNoSuchOrder
		}
		switch n.Status {
		case Paid:
			p, _ := n.payer()
			if p == nil || n.Visitor == uuid.Nil || p.Provider != door || p.By != actor || p.Method != method {
				return ErrOrderPaid.say("This order was paid in another way meanwhile. Take no money for it, and give back what you took.")
			}
			v = o.view(tx, n)
			return nil
		case Refunded:
		case RefundDue:
			n = n.clone()
			for i, r := range n.Refunds {
				if r.State.Open() {
					if err := o.returnedByHand(tx, n, i, actor, reason); err != nil {
						return err
					}
				}
			}
		default:
			if method != Cash && method != Card {
				return ErrBadSale.say(`method is "cash" or "card": how the buyer has paid.`)
			}
			n = n.clone()
			if gone := o.takeSeats(tx, n); gone != "" {
				return notHad(gone)
			}
			n = o.markPaid(tx, n, Payment{Attempt: tx.NewID(), Provider: door, State: PaymentSucceeded, Amount: n.Total, At: tx.Now(), By: actor, Method: method})
		}
		o.audit(tx, actor, n.Event, "order.complete", n.ID.String()+" "+reason)
		v = o.view(tx, n)
		return nil
	})
	return v, err
}

// causeResent is the cause of a step that tells the outside again.
const causeResent = "resent"

// Resend tells the outside about a PAID order and its tickets again, in new
// messages, so that mails go out again.
func (o *Office) Resend(actor string, order uuid.UUID) (v *OrderView, err error) {
	err = o.store.Update(func(tx Tx) error {
		n, ok := tx.Order(order)
		switch {
		case !ok:
			return ErrNoSuchOrder
		case n.Status != Paid:
			return ErrNotPaid.say("Only the tickets of a paid order can be sent.")
		}
		n = n.clone()
		n.note(tx.Now(), causeResent, actor, "")
		tx.PutOrder(n)
		o.announcePaid(tx, n)
		o.audit(tx, actor, n.Event, "order.resend", n.ID.String())
		v = o.view(tx, n)
		return nil
	})
	return v, err
}

// Admission is a ticket that was shown at the door.
type Admission struct {
	Ticket, Order uuid.UUID
	Seat          OrderSeat
	Currency      string
	Buyer         Buyer
	At            time.Time
}

// CheckIn lets a ticket in, once. It refuses with [ErrNoSuchTicket],
// [ErrTicketVoid], and [ErrTicketUsed], which tells when it was let in before.
func (o *Office) CheckIn(actor, event, code string) (a Admission, err error) {
	ticket, ok := o.ticket(code)
	if !ok {
		return a, ErrNoSuchTicket
	}
	err = o.store.Update(func(tx Tx) error {
		n, ok := tx.Ticketed(ticket)
		if !ok || n.Event != event {
			return ErrNoSuchTicket
		}
		i := slices.IndexFunc(n.Seats, func(s OrderSeat) bool { return s.Ticket == ticket })
		switch {
		case i < 0:
			return ErrNoSuchTicket
		case n.Status != Paid || n.Seats[i].Refund != uuid.Nil:
			return ErrTicketVoid.with([]string{n.Seats[i].ID})
		case !n.Seats[i].UsedAt.IsZero():
			used := ErrTicketUsed.say("This ticket was shown at " + n.Seats[i].UsedAt.Format(time.RFC3339) + " (UTC) already.").with([]string{n.Seats[i].ID})
			used.UsedAt = n.Seats[i].UsedAt
			return used
		}
		n = n.clone()
		n.Seats[i].UsedAt, n.UpdatedAt = tx.Now(), tx.Now()
		n.note(tx.Now(), "ticket.used", actor, n.Seats[i].ID)
		tx.PutOrder(n)
		a = Admission{Ticket: ticket, Order: n.ID, Seat: n.Seats[i], Currency: n.Currency, Buyer: n.Buyer, At: tx.Now()}
		return nil
	})
	return a, err
}
