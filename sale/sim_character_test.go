package sale_test

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"foyer/sale"
)

// simBuy holds seats and pays at once.
func simBuy(v *simVisitor) error {
	o, err := v.hold()
	if err != nil {
		return err
	}
	time.Sleep(v.span(2, 30))
	return v.finish(o)
}

// finish pays for an order and waits for the tickets.
func (v *simVisitor) finish(o *sale.OrderView) error {
	s, err := v.pay(o)
	if err != nil {
		return err
	}
	if o.Total > 0 {
		v.evening.bank.charge(v.span(3, 30), s.PaymentID, v.total(o), v.tabs)
	}
	return v.follow(o, 3*time.Minute)
}

// simDawdle comes for his turn and never takes a seat, or takes one at the last
// moment and lets it lapse.
func simDawdle(v *simVisitor) error {
	if v.rng.IntN(2) == 0 {
		time.Sleep(v.span(160, 200))
		return errSimGaveUp
	}
	time.Sleep(time.Until(v.view.TokenExpiresAt) - v.span(0, 2))
	_, err := v.hold()
	return err
}

// simChoose holds, changes his seats, gives them back, and may buy after all.
func simChoose(v *simVisitor) error {
	o, err := v.hold()
	if err != nil {
		return err
	}
	for range 1 + v.rng.IntN(2) {
		time.Sleep(v.span(3, 25))
		if o, err = v.hold(); err != nil {
			return err
		}
	}
	time.Sleep(v.span(1, 20))
	if v.rng.IntN(2) == 0 {
		return v.finish(o)
	}
	err = v.everyTab(func() error {
		return v.ask(func(of *sale.Office) error { return of.Release(v.key.visitor, o.ID) })
	})
	if err != nil {
		return err
	}
	if v.rng.IntN(2) == 0 {
		v.leave()
		return errSimGaveUp
	}
	time.Sleep(v.span(1, 20))
	return simBuy(v)
}

// simHoldAgainAtTheDeadline lets a hold lapse and takes other seats in the very
// moment, before any sweep has come by.
func simHoldAgainAtTheDeadline(v *simVisitor) error {
	o, err := v.hold()
	if err != nil {
		return err
	}
	time.Sleep(time.Until(o.HoldExpiresAt))
	return simBuy(v)
}

// simDecline fails to pay, and pays again.
func simDecline(v *simVisitor) error {
	o, err := v.hold()
	if err != nil {
		return err
	}
	for range 1 + v.rng.IntN(2) {
		s, err := v.pay(o)
		if err != nil {
			return err
		}
		time.Sleep(v.span(1, 15))
		if o.Total > 0 {
			v.evening.bank.decline(s.PaymentID, o.ID.String())
		}
		if v.rng.IntN(4) == 0 { // the failed payment succeeds after all, while the next one runs
			v.evening.bank.charge(v.span(0, 40), s.PaymentID, v.total(o), 1)
		}
		time.Sleep(v.span(1, 5))
	}
	return v.finish(o)
}

// simPayLate pays so that the money comes around or after the deadline.
func simPayLate(v *simVisitor) error {
	o, err := v.hold()
	if err != nil {
		return err
	}
	time.Sleep(v.span(1, 40))
	s, err := v.pay(o)
	if err != nil {
		return err
	}
	if o.Total == 0 {
		return v.follow(o, time.Minute)
	}
	deadline := s.PayBy.Add(20 * time.Second)
	late := time.Until(deadline) + v.span(0, 4) - 2*time.Second
	switch v.rng.IntN(3) {
	case 0:
		late = time.Until(deadline)
	case 1:
		late = time.Until(deadline) + v.span(1, 300)
	}
	v.evening.bank.charge(late, s.PaymentID, v.total(o), 1+v.rng.IntN(2))
	return v.follow(o, late+time.Minute)
}

// simPayTwice pays, and a second charge comes for the same order: from the bank
// again or from the venue's own shop, before or after the first.
func simPayTwice(v *simVisitor) error {
	o, err := v.hold()
	if err != nil {
		return err
	}
	s, err := v.pay(o)
	if err != nil {
		return err
	}
	if o.Total == 0 {
		return v.follow(o, time.Minute)
	}
	v.evening.bank.charge(v.span(3, 20), s.PaymentID, v.total(o), 1)
	if v.rng.IntN(2) == 0 {
		v.evening.bank.charge(v.span(3, 200), s.PaymentID+"_second", v.total(o), 1)
		return v.follow(o, 3*time.Minute)
	}
	time.Sleep(v.span(1, 40))
	c := sale.Confirmation{Actor: "staff:shop", Key: simID(v), Amount: o.Total, Currency: o.Currency, Reference: simID(v)}
	v.confirm(o, c)
	c.Key = simID(v) // the same money told again
	v.confirm(o, c)
	return v.follow(o, time.Minute)
}

// simLie sends the wrong sum, the wrong currency, money for an order that is
// not there, asks for seats without a turn, and lets his own hold lapse.
func simLie(v *simVisitor) error {
	v.holdWithoutTurn()
	o, err := v.hold()
	if err != nil {
		return err
	}
	s, err := v.pay(o)
	if err != nil {
		return err
	}
	m := v.total(o)
	switch v.rng.IntN(5) {
	case 0:
		m.amount--
	case 1:
		m.amount *= 100
	case 2:
		m.currency = "USD"
	case 3, 4:
		m.order = simID(v)
	}
	if m.amount > 0 {
		v.evening.bank.charge(v.span(1, 60), s.PaymentID, m, 1)
	}
	confirm := sale.Confirmation{Actor: "staff:shop", Key: simID(v), Amount: o.Total + 1, Currency: o.Currency, Reference: simID(v)}
	err = v.evening.ask(func(of *sale.Office) error { _, err := of.Confirm(o.ID, confirm); return err })
	if !errors.Is(err, sale.ErrAmount) {
		v.evening.ledger.observe(fmt.Sprintf("I12: a confirmation of the wrong sum was answered with %v", err))
	}
	return errSimGaveUp
}

// holdWithoutTurn tries tokens that give no turn.
func (v *simVisitor) holdWithoutTurn() {
	forged := []byte(v.view.Token)
	forged[len(forged)/2] ^= 1
	other := simGala
	if v.key.event == simGala {
		other = simTwins
	}
	for _, r := range []sale.HoldRequest{
		{Event: v.key.event, Visitor: v.key.visitor},
		{Event: v.key.event, Visitor: v.key.visitor, Token: string(forged)},
		{Event: other, Visitor: v.key.visitor, Token: v.view.Token},
		{Event: v.key.event, Visitor: v.evening.visitor("nobody", 0), Token: v.view.Token},
	} {
		r.Seats = []string{"1-1", "1-2"}
		if err := v.evening.ask(func(o *sale.Office) error { _, err := o.Hold(r); return err }); err == nil {
			v.evening.ledger.observe("I12: seats were held without a turn")
		}
	}
}

// simBuyInTheShop pays at the venue's own shop, which confirms with repeats and
// at times too late.
func simBuyInTheShop(v *simVisitor) error {
	o, err := v.hold()
	if err != nil {
		return err
	}
	time.Sleep(v.span(5, 60))
	if v.rng.IntN(3) == 0 {
		time.Sleep(v.span(30, 200))
	}
	if o.Total == 0 {
		return v.finish(o)
	}
	c := sale.Confirmation{Actor: "staff:shop", Key: simID(v), Amount: o.Total, Currency: o.Currency, Reference: simID(v)}
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			if i == 2 {
				time.Sleep(time.Second)
			}
			v.confirm(o, c)
		})
	}
	wg.Wait()
	other := c
	other.Key = simID(v) // the shop has forgotten its key
	v.confirm(o, other)
	other.Amount++
	err = v.evening.ask(func(of *sale.Office) error { _, err := of.Confirm(o.ID, other); return err })
	if !errors.Is(err, sale.ErrKeyReused) {
		v.evening.ledger.observe(fmt.Sprintf("I9: a key was used again with another body and answered with %v", err))
	}
	return errSimGaveUp
}

// confirm is one call of the shop. Its answer is PAID, or the sentence that the
// money must go back; either way Foyer has taken note of the money.
func (v *simVisitor) confirm(o *sale.OrderView, c sale.Confirmation) {
	var after *sale.OrderView
	err := v.evening.ask(func(of *sale.Office) (err error) { after, err = of.Confirm(o.ID, c); return err })
	switch {
	case errors.Is(err, sale.ErrRefundDue):
	case err != nil:
		v.evening.ledger.observe(fmt.Sprintf("unexpected: confirm: %v", err))
		return
	default:
		v.evening.ledger.tellPaid(after)
	}
	v.evening.ledger.tellShop(c.Reference, v.total(o))
}

// simLeaveWhilePaying goes away while the bank's page is open; the money comes.
func simLeaveWhilePaying(v *simVisitor) error {
	o, err := v.hold()
	if err != nil {
		return err
	}
	s, err := v.pay(o)
	if err != nil {
		return err
	}
	if o.Total > 0 {
		err := v.evening.ask(func(of *sale.Office) error { _, err := of.Cancel(v.key.visitor, o.ID); return err })
		if !errors.Is(err, sale.ErrPaying) && v.stillMine(o) {
			v.evening.ledger.observe(fmt.Sprintf("I8: an order that waits for money may be cancelled: %v", err))
		}
		v.evening.bank.charge(v.span(2, 90), s.PaymentID, v.total(o), 1)
	}
	time.Sleep(v.span(0, 3))
	v.leave()
	return errSimGaveUp
}

// stillMine tells whether staff have left the visitor's turn alone.
func (v *simVisitor) stillMine(o *sale.OrderView) bool {
	p, ok := v.evening.ledger.place(v.key)
	return ok && p.Turn.State == sale.TurnClaimed && p.Turn.Order == o.ID
}
