package sale

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
)

// When payments that nobody has told us the end of are looked up: after
// firstLook, then at ever longer intervals, and in any case when the time to pay
// is over, which is a margin before the seats are given up. A provider that does
// not answer is asked again after firstLook.
const (
	firstLook = 20 * time.Second
	lastLook  = 72 * time.Hour   // a payment that is still open then has come to nothing
	longLook  = time.Second      // the shortest margin
	lookTime  = 10 * time.Second // for one answer
	passTime  = 30 * time.Second // no look begins later in one call: others may be due by then
	looksAtA  = 8                // answers of one provider waited for at a time
	retryTime = time.Minute      // between two tries to find the orders of unknown money
)

// looks remembers when payments were looked up. It is memory only: after a
// restart each is looked up once and has its schedule again.
type looks struct {
	last  map[uuid.UUID]looked // by attempt
	tried time.Time            // unknown money
}

// looked is the last look at a payment; zero: none by this process.
type looked struct {
	at     time.Time
	failed bool // there was no answer
}

// nextLook is when a payment is to be looked up that was looked up last.
func (p *Payment) nextLook(last looked) time.Time {
	next := p.At.Add(firstLook)
	switch {
	case last.failed:
		next = last.at.Add(firstLook)
	case !last.at.IsZero():
		next = last.at.Add(max(firstLook, last.at.Sub(p.At)))
	}
	if p.PayBy.After(last.at) {
		next = earlier(next, p.PayBy)
	}
	return next
}

// dueLook is a payment that is to be looked up now.
type dueLook struct {
	order *Order
	i     int // of the payment
}

// LookUp asks the providers about the payments whose time has come, and books
// what they say: a webhook that was lost costs nothing. It returns after how
// long it wants to be called again. It must not run twice at once.
func (o *Office) LookUp(ctx context.Context) (pause time.Duration, err error) {
	var now time.Time
	if err := o.store.View(func(r Reader) error { now = r.Now(); return nil }); err != nil {
		return longLook, err
	}
	next, seen, due := now.Add(longLook), map[uuid.UUID]looked{}, []dueLook{}
	for _, n := range o.store.Unsettled() {
		for i := range n.Payments {
			p := &n.Payments[i]
			if p.State != PaymentStarted {
				continue
			}
			last, known := o.looks.last[p.Attempt]
			if known {
				seen[p.Attempt] = last
			}
			if at := p.nextLook(last); at.After(now) {
				next = earlier(next, at)
			} else {
				due = append(due, dueLook{n, i})
			}
		}
	}
	errs := o.lookUpAll(ctx, due, seen, now)
	o.looks.last = seen
	if now.Sub(o.looks.tried) >= retryTime {
		o.looks.tried = now
		errs = append(errs, o.findOrders(now), o.startRefunds())
	}
	return max(next.Sub(now), 100*time.Millisecond), errors.Join(errs...)
}

// lookUpAll makes the looks that are due, some of each provider at a time so that
// one that hangs holds up no other, and notes them in seen. What does not begin
// within passTime, or before ctx ends, stays due.
func (o *Office) lookUpAll(ctx context.Context, due []dueLook, seen map[uuid.UUID]looked, now time.Time) (errs []error) {
	pass, cancel := context.WithTimeout(ctx, passTime)
	defer cancel()
	slots := map[string]chan struct{}{}
	for _, d := range due {
		slots[d.order.Payments[d.i].Provider] = make(chan struct{}, looksAtA)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, d := range due {
		p := d.order.Payments[d.i]
		wg.Go(func() {
			select {
			case slots[p.Provider] <- struct{}{}:
				defer func() { <-slots[p.Provider] }()
			case <-pass.Done():
			}
			if pass.Err() != nil {
				return
			}
			err := o.lookUp(ctx, d.order, d.i, now)
			mu.Lock()
			defer mu.Unlock()
			seen[p.Attempt] = looked{now, err != nil}
			errs = append(errs, err)
		})
	}
	wg.Wait()
	return errs
}

// lookUp asks about payment i of an order. Nobody may make it any more when the
// time to pay is over, or the order does not wait for it.
func (o *Office) lookUp(ctx context.Context, n *Order, i int, now time.Time) error {
	p := n.Payments[i]
	provider, known := o.providers[p.Provider]
	if !known {
		return nil // its payments wait until it is set up again
	}
	ref := PaymentRef{Attempt: p.Attempt, Order: n.ID, ID: p.ID}
	waits := n.Status == Paying && i == len(n.Payments)-1 && now.Before(p.PayBy)
	var expired error
	if !waits {
		limited, cancel := context.WithTimeout(ctx, lookTime)
		expired = provider.Expire(limited, ref)
		cancel()
	}
	limited, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	look, err := provider.Look(limited, ref)
	switch {
	case err == nil && look.State == LookSucceeded:
		return o.receiveLook(n, p, look, now, waits)
	case err == nil && look.State == LookFailed, err == nil && expired == nil && now.Sub(p.At) >= lastLook:
		return o.endPayment(n.ID, p.Attempt, "payment.failed")
	}
	if err = errors.Join(expired, err); err != nil {
		return fmt.Errorf("payment of order %s at %s: %w", n.ID, p.Provider, err)
	}
	return nil
}

// receiveLook books a payment that its provider calls made. What cannot be booked
// is on the attention list, and is not looked up any longer than the order waits.
func (o *Office) receiveLook(n *Order, p Payment, look Looked, now time.Time, waits bool) error {
	_, err := o.Receive(Fact{
		Provider: p.Provider, EventID: fmt.Sprintf("look:%s %d %s", p.Attempt, look.Amount, look.Currency), Kind: FactSucceeded,
		PaymentID: cmp.Or(look.ID, p.ID), Ref: look.Ref, Order: n.ID.String(), Amount: look.Amount, Currency: look.Currency, CreatedAt: now,
	})
	if err != nil || waits {
		return err
	}
	return o.endPayment(n.ID, p.Attempt, "payment.not_booked")
}

// endPayment books that an attempt that still runs has ended, and why.
func (o *Office) endPayment(order, attempt uuid.UUID, cause string) error {
	return o.store.Update(func(tx Tx) error {
		n, ok := tx.Order(order)
		if !ok {
			return nil
		}
		if i := n.attempt(attempt); i >= 0 && n.Payments[i].State == PaymentStarted {
			o.failPayment(tx, n.clone(), i, cause, houseActor)
		}
		return nil
	})
}

// findOrders tries again to find the orders of money that came for unknown ones.
func (o *Office) findOrders(now time.Time) error {
	var found []*Receipt
	err := o.store.View(func(r Reader) error {
		lost := func(rc *Receipt) bool {
			return rc.Attention == unknownOrder && rc.Settled == nil && now.Sub(rc.ReceivedAt) <= lastLook
		}
		for _, rc := range r.Matters(lost) {
			id, err := uuid.Parse(rc.Fact.Order)
			if err != nil {
				continue
			}
			if _, ok := r.Order(id); ok {
				found = append(found, rc)
			}
		}
		return nil
	})
	for _, rc := range found {
		err = errors.Join(err, o.store.Update(func(tx Tx) error {
			old, ok := tx.Receipt(rc.Fact.Provider, rc.Fact.EventID)
			if !ok || old.Attention != unknownOrder || old.Settled != nil {
				return nil
			}
			o.applyAgain(tx, old.clone())
			return nil
		}))
	}
	return err
}

// applyAgain takes a private copy of a receipt off the list and applies its fact.
func (o *Office) applyAgain(tx Tx, rc *Receipt) {
	rc.Outcome, rc.Attention, rc.Reason = "applied", "", ""
	o.apply(tx, rc.Fact, rc)
	tx.PutReceipt(rc)
}

// startRefunds asks for refunds that nobody has asked for: those of orders from
// before Foyer did so by itself.
func (o *Office) startRefunds() error {
	var err error
	for _, due := range o.store.RefundsDue() {
		if len(due.Refunds) > 0 {
			continue
		}
		err = errors.Join(err, o.store.Update(func(tx Tx) error {
			n, ok := tx.Order(due.ID)
			if !ok || n.Status != RefundDue || len(n.Refunds) > 0 {
				return nil
			}
			n = n.clone()
			n.Refunds = append(n.Refunds, Refund{ID: tx.NewID(), Amount: n.Received(), State: RefundRequested, By: houseActor, At: tx.Now()})
			o.askRefund(tx, n, 0)
			return nil
		}))
	}
	return err
}
