package sale

import (
	"cmp"
	"context"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"foyer/queue"
	"foyer/seats"
)

// PayRequest is a buyer's wish to pay.
type PayRequest struct {
	Visitor, Order uuid.UUID
	Provider       string
	Buyer          Buyer
	Back           string // where the provider sends the buyer afterwards; an address of ours
}

// StartedPay answers the wish to pay. RedirectURL is empty when nothing is to
// be paid: the order is PAID then.
type StartedPay struct {
	RedirectURL string
	PayBy       time.Time
	PaymentID   string
}

// Pay starts a payment with a provider and moves the hold's deadline, once, so
// that it outlasts the provider's page. Paying again while the payment runs
// gives the same payment. The provider is asked between two transactions: the
// attempt is on disk before, its name after.
func (o *Office) Pay(ctx context.Context, w PayRequest) (StartedPay, error) {
	var req StartRequest
	var done *StartedPay
	event := ""
	err := o.store.Update(func(tx Tx) error {
		req, done = StartRequest{}, nil
		n, err := own(tx, w.Visitor, w.Order)
		if err != nil {
			return err
		}
		event = n.Event
		req, done, err = o.beginPayment(tx, n, w.Provider, w.Buyer)
		req.Back = w.Back
		return err
	})
	if err != nil {
		return StartedPay{}, err
	}
	if done != nil {
		return *done, nil
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	began := o.now()
	started, err := o.providers[w.Provider].Start(ctx, req)
	if err != nil || o.now().Sub(began) > slow { // one that only began has not done well yet
		o.saw(event, queue.Payments, 0, 1)
	}
	if err != nil {
		o.paymentNotStarted(w.Order, req.Attempt)
		return StartedPay{}, ErrProviderDown.Because(err)
	}
	err = o.store.Update(func(tx Tx) error {
		n, ok := tx.Order(w.Order)
		if !ok {
			return ErrNoSuchOrder
		}
		n = n.clone()
		if n.named(req.Attempt, started) {
			tx.PutOrder(n)
		}
		return nil
	})
	return StartedPay{RedirectURL: started.RedirectURL, PayBy: req.PayBy, PaymentID: started.ID}, err
}

// startTime is how long a provider may take to open a payment.
const startTime = 10 * time.Second

// named writes a provider's answer into an attempt. A second call for the same
// attempt may have failed meanwhile and given the order back: the buyer has a
// page to pay at all the same, so the payment runs.
func (o *Order) named(attempt uuid.UUID, s StartedPayment) (changed bool) {
	i := o.attempt(attempt)
	if i < 0 || o.Payments[i].ID != "" {
		return false
	}
	p := &o.Payments[i]
	p.ID, p.RedirectURL = s.ID, s.RedirectURL
	if p.State == PaymentFailed {
		p.State = PaymentStarted // also when the order's time is over: its money is looked for
		if i == len(o.Payments)-1 && o.Status == Pending {
			o.Status = Paying
		}
	}
	return true
}

// beginPayment decides and writes down a new attempt, or finds the running one.
func (o *Office) beginPayment(tx Tx, n *Order, provider string, b Buyer) (StartRequest, *StartedPay, error) {
	e, ok := tx.Event(n.Event)
	if !ok {
		return StartRequest{}, nil, ErrNoSuchOrder
	}
	now := tx.Now()
	switch n.StatusAt(now) {
	case Paid, RefundDue, Refunded:
		return StartRequest{}, nil, ErrOrderPaid
	case Expired, Cancelled:
		return StartRequest{}, nil, ErrHoldExpired
	case Paying:
		p := n.Payments[len(n.Payments)-1]
		switch _, known := o.providers[provider]; {
		case p.Provider != provider:
			return StartRequest{}, nil, ErrPaying
		case !known: // it was when the payment began
			return StartRequest{}, nil, ErrNoProvider
		case p.ID != "":
			return StartRequest{}, &StartedPay{p.RedirectURL, p.PayBy, p.ID}, nil
		}
		return startRequest(e, n, p), nil, nil // the first try did not come to its end
	}
	if _, ok := o.providers[provider]; n.Total > 0 && (!ok || !slices.Contains(e.Providers, provider)) {
		return StartRequest{}, nil, ErrNoProvider
	}
	b, err := e.checkBuyer(b)
	if err != nil {
		return StartRequest{}, nil, err
	}
	n = n.clone()
	n.Buyer = b
	if n.Total == 0 {
		o.markPaid(tx, n, Payment{Attempt: tx.NewID(), Provider: free, State: PaymentSucceeded, At: now})
		return StartRequest{}, &StartedPay{}, nil
	}
	p := Payment{Attempt: tx.NewID(), Provider: provider, State: PaymentStarted, Amount: n.Total, At: now, PayBy: now.Add(seconds(e.Rules.PaySeconds))}
	margin := seconds(e.Rules.PayMarginSeconds)
	if end := p.PayBy.Add(margin); !n.Extended && end.After(n.HoldExpiresAt) {
		n.HoldExpiresAt, n.Extended = end, true
	}
	if last := n.HoldExpiresAt.Add(-margin); p.PayBy.After(last) {
		p.PayBy = last
	}
	if !p.PayBy.After(now) {
		return StartRequest{}, nil, ErrHoldExpired.say("There is too little time left to pay for these seats. Give them back and choose again.")
	}
	n.Status, n.UpdatedAt = Paying, now
	n.Payments = append(n.Payments, p)
	n.note(now, "payment.started", visitorActor, provider)
	tx.PutOrder(n)
	return startRequest(e, n, p), nil, nil
}

func startRequest(e *Event, n *Order, p Payment) StartRequest {
	return StartRequest{
		Attempt: p.Attempt, Order: n.ID, Event: e.Name, Amount: n.Total, Currency: n.Currency, PayBy: p.PayBy, Email: n.Buyer.Email,
	}
}

// paymentNotStarted gives the order back its PENDING state.
func (o *Office) paymentNotStarted(order, attempt uuid.UUID) {
	_ = o.store.Update(func(tx Tx) error { // when this fails too, the deadline ends the attempt
		n, ok := tx.Order(order)
		if !ok || n.Status != Paying {
			return nil
		}
		n = n.clone()
		if i := n.attempt(attempt); i == len(n.Payments)-1 && n.Payments[i].ID == "" {
			n.Payments[i].State = PaymentFailed
			n.Status, n.UpdatedAt = Pending, tx.Now()
			n.note(tx.Now(), "payment.failed", n.Payments[i].Provider, "the provider did not answer")
			tx.PutOrder(n)
		}
		return nil
	})
}

func (o *Order) attempt(id uuid.UUID) int {
	return slices.IndexFunc(o.Payments, func(p Payment) bool { return p.Attempt == id })
}

func (e *Event) checkBuyer(b Buyer) (Buyer, error) {
	if e.Rules.Buyer == "none" {
		return Buyer{}, nil
	}
	if e.Rules.Buyer == "required" && (strings.TrimSpace(b.Name) == "" || b.Email == "") {
		return b, ErrBuyerRequired
	}
	return b, b.check()
}

// check refuses a name or an address that cannot be one; empty ones are none.
func (b Buyer) check() error {
	if wrong := checkText("The name", b.Name, 0, 200) + checkText("The e-mail address", b.Email, 0, 254); wrong != "" {
		return ErrBadBuyer.say(wrong)
	}
	if b.Email != "" {
		if a, err := mail.ParseAddress(b.Email); err != nil || a.Address != b.Email {
			return ErrBadBuyer.say("The e-mail address must look like name@example.org.")
		}
	}
	return nil
}

// settle books money for an order without any: PAID when the order has its
// seats or can take them again, from nobody or from the buyer's own newer hold;
// REFUND_DUE when any is gone.
func (o *Office) settle(tx Tx, n *Order, p Payment) *Order {
	if gone := o.takeSeats(tx, n); gone != "" {
		return o.markRefundDue(tx, n, p, gone)
	}
	return o.markPaid(tx, n, p)
}

// takeSeats sees to it that an order without money can be PAID: it has its
// seats, or they are free, or only the buyer's own newer hold has them, which
// gives way. Else it writes nothing and tells why not: [lateTaken] or
// [lateOffSale].
func (o *Office) takeSeats(tx Tx, n *Order) (gone string) {
	now := tx.Now()
	if n.Has(now) {
		return ""
	}
	var lapsed []*Order
	var newer *Order // the buyer's own hold of these seats; it never blocks him
	plan := tx.Plan(n.Event)
	for _, s := range n.Seats {
		h, ok := tx.Holder(n.Event, s.ID)
		switch {
		case plan == nil || !planHas(plan, s.ID) || o.blocked(tx, n.Event, s.ID): // a new plan or staff took the free seat
			return lateOffSale
		case !ok || h.ID == n.ID:
		case h.Has(now) && h.Status == Pending && h.Visitor == n.Visitor:
			newer = h
		case h.Has(now):
			return lateTaken
		case h.Status.Open() && !slices.Contains(lapsed, h):
			lapsed = append(lapsed, h)
		}
	}
	for _, h := range lapsed {
		o.lapse(tx, h)
	}
	if newer != nil {
		o.giveWay(tx, newer, n)
	}
	return ""
}

// Why money that came too late goes back; the reason of its refund.
const (
	lateTaken   = "the seats were gone when the money came"
	lateOffSale = "the seats were not on sale any more when the money came"
)

// SeatsOffSale tells, of an order whose money came too late, that nobody else has
// its seats: they were not on sale any more.
func (o *Order) SeatsOffSale() bool {
	return o.PaidAt.IsZero() && len(o.Refunds) > 0 && o.Refunds[0].Reason == lateOffSale
}

// causeGaveWay is the cause of the last step of an order whose seats went to an
// older one of the same buyer; its detail is the id of that one.
const causeGaveWay = "hold.gave_way"

// giveWay ends the buyer's newer hold in favour of n, whose money has come. A
// turn that both share is n's then.
func (o *Office) giveWay(tx Tx, newer, n *Order) {
	o.cancelOrder(tx, newer, causeGaveWay, houseActor, n.ID.String())
	pl, ok := tx.Place(n.Event, n.Visitor)
	switch {
	case !ok || pl.Turn.Order != newer.ID:
	case newer.Place == n.Place:
		pl.Turn.Order = n.ID
		tx.PutPlace(pl)
	default:
		o.unclaim(tx, newer)
	}
}

func planHas(p *seats.Plan, id string) bool {
	_, ok := p.Index(id)
	return ok
}

// lapse ends the lapsed hold of somebody else, and his turn as far as the clock
// says.
func (o *Office) lapse(tx Tx, h *Order) {
	e, ok := tx.Event(h.Event)
	p, found := tx.Place(h.Event, h.Visitor)
	if ok && found && p.Turn.Order == h.ID && p.Turn.State == TurnClaimed {
		o.refresh(tx, e, p)
		return
	}
	o.expire(tx, h)
}

// markPaid makes n (a private copy) PAID: seats SOLD, turn CONSUMED, messages
// written, all in this transaction.
func (o *Office) markPaid(tx Tx, n *Order, p Payment) *Order {
	n.Status, n.PaidAt, n.UpdatedAt = Paid, tx.Now(), tx.Now()
	n.book(p)
	n.note(tx.Now(), "payment.succeeded", cmp.Or(p.By, p.Provider), p.ID)
	for i := range n.Seats {
		n.Seats[i].Ticket = tx.NewID()
	}
	tx.PutOrder(n)
	o.announcePaid(tx, n)
	if pl, ok := tx.Place(n.Event, n.Visitor); ok && pl.Number == n.Place && pl.Turn.Order == n.ID {
		switch pl.Turn.State {
		case TurnReady, TurnClaimed, TurnExpired:
			pl.Turn.State, pl.Turn.EndedAt = TurnConsumed, tx.Now()
			tx.PutPlace(pl)
		}
	}
	return n
}

func (o *Office) markRefundDue(tx Tx, n *Order, p Payment, why string) *Order {
	open := n.Status.Open()
	n.Status, n.UpdatedAt = RefundDue, tx.Now()
	n.book(p)
	n.note(tx.Now(), "payment.too_late", cmp.Or(p.By, p.Provider), p.ID)
	r := Refund{ID: tx.NewID(), Amount: p.Amount, State: RefundRequested, Reason: why, By: houseActor, At: tx.Now()}
	n.Refunds = append(n.Refunds, r)
	o.askRefund(tx, n, len(n.Refunds)-1)
	if open {
		o.unclaim(tx, n)
	}
	return n
}

// book writes a payment into the order: over the attempt it belongs to, or as
// money that came by itself.
func (o *Order) book(p Payment) {
	if i := o.attempt(p.Attempt); i >= 0 {
		o.Payments[i] = p
		return
	}
	o.Payments = append(o.Payments, p)
}
