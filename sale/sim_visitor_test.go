package sale_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
	"foyer/seats"
)

// simVisitor is one person with a character.
type simVisitor struct {
	evening  *evening
	rng      *rand.Rand
	key      simPlaceKey
	arrives  time.Duration
	patience time.Duration
	sleeps   time.Duration // how long he does not look at the line after he joined
	tabs     int           // how many tabs do everything at the same time
	buy      func(*simVisitor) error
	code     string // of a member
	view     sale.PlaceView
}

// errSimGaveUp ends a visit in which nothing went wrong.
var errSimGaveUp = errors.New("gave up")

// simCharacters are the ways to behave, and how many in a hundred do.
var simCharacters = []struct {
	share int
	apply func(*simVisitor)
}{
	{21, func(v *simVisitor) { v.buy = simBuy }},
	{10, func(v *simVisitor) { v.buy, v.patience = simBuy, v.span(20, 300) }},
	{13, func(v *simVisitor) { v.buy, v.sleeps = simBuy, v.span(60, 900) }},
	{6, func(v *simVisitor) { v.buy = simDawdle }},
	{10, func(v *simVisitor) { v.buy = simChoose }},
	{3, func(v *simVisitor) { v.buy = simHoldAgainAtTheDeadline }},
	{7, func(v *simVisitor) { v.buy = simDecline }},
	{8, func(v *simVisitor) { v.buy = simPayLate }},
	{4, func(v *simVisitor) { v.buy = simPayTwice }},
	{4, func(v *simVisitor) { v.buy = simLie }},
	{6, func(v *simVisitor) { v.buy, v.tabs = simBuy, 3 }},
	{5, func(v *simVisitor) { v.buy = simBuyInTheShop }},
	{3, func(v *simVisitor) { v.buy = simLeaveWhilePaying }},
}

// newSimVisitor casts visitor i of an event.
func newSimVisitor(e *evening, event string, i int) *simVisitor {
	v := &simVisitor{
		evening: e, key: simPlaceKey{event, e.visitor(event, i)}, patience: 24 * time.Hour, tabs: 1,
		rng: rand.New(rand.NewPCG(e.seed, e.hash(event, i))),
	}
	v.arrives = time.Duration(v.rng.Int64N(int64(e.size.length * 8 / 10)))
	if v.rng.IntN(2) == 0 { // half the crowd comes at the opening
		v.arrives = v.span(1, 120)
	}
	v.arrives = v.arrives.Truncate(100 * time.Millisecond)
	if i%8 == 0 { // one of eight is a member; two share a code
		v.code = e.codes[event][i/16]
	}
	roll := v.rng.IntN(100)
	for _, c := range simCharacters {
		if roll -= c.share; roll < 0 {
			c.apply(v)
			break
		}
	}
	return v
}

// span is a length between so many seconds, in tenths.
func (v *simVisitor) span(low, high int) time.Duration {
	return time.Duration(10*low+v.rng.IntN(10*(high-low)+1)) * 100 * time.Millisecond
}

// live is the visitor's evening.
func (v *simVisitor) live() {
	time.Sleep(v.arrives)
	for range 3 {
		if v.join() != nil || v.waitForTurn() != nil {
			return
		}
		if err := v.buy(v); err != nil && !errors.Is(err, errSimGaveUp) {
			v.evening.ledger.observe(fmt.Sprintf("unexpected: a visitor was told: %v", err))
		}
		if v.rng.IntN(3) > 0 {
			return
		}
		time.Sleep(v.span(5, 60)) // and comes back for more
	}
}

// ask makes one call and lets the refusals pass that may meet anybody who plays
// by the rules; they end the visit.
func (v *simVisitor) ask(fn func(*sale.Office) error, mayMeet ...error) error {
	err := v.evening.ask(fn)
	for _, m := range mayMeet {
		if err != nil && errors.Is(err, m) {
			return errSimGaveUp
		}
	}
	return err
}

// everyTab runs fn in all of the visitor's tabs at the same time.
func (v *simVisitor) everyTab(fn func() error) (err error) {
	if v.tabs == 1 {
		return fn()
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range v.tabs {
		wg.Go(func() {
			e := fn()
			mu.Lock()
			defer mu.Unlock()
			if e != nil {
				err = e
			}
		})
	}
	wg.Wait()
	return err
}

// join stands in line, or comes back to it.
func (v *simVisitor) join() error {
	var mu sync.Mutex
	numbers := map[uint64]bool{}
	err := v.everyTab(func() error {
		var view sale.PlaceView
		err := v.ask(func(o *sale.Office) (err error) {
			view, _, err = o.JoinWith(v.key.event, v.key.visitor, v.code)
			return err
		}, sale.ErrEventClosed, sale.ErrSoldOut, sale.ErrLineFull, sale.ErrCodeUsed)
		if err != nil {
			return err
		}
		v.evening.ledger.tellPlace(v.key, view)
		mu.Lock()
		defer mu.Unlock()
		numbers[view.Number] = true
		v.view = view
		return nil
	})
	if len(numbers) > 1 {
		v.evening.ledger.observe(fmt.Sprintf("I5: one visitor's tabs were given the places %v", numbers))
	}
	return v.unexpected("join", err)
}

// unexpected notes an error that is none of the refusals a visitor may meet.
func (v *simVisitor) unexpected(what string, err error) error {
	if err != nil && !errors.Is(err, errSimGaveUp) {
		v.evening.ledger.observe(fmt.Sprintf("unexpected: %s: %v", what, err))
		return errSimGaveUp
	}
	return err
}

// waitForTurn stands in line until it is his turn, his patience ends or there is
// nothing left to wait for.
func (v *simVisitor) waitForTurn() error {
	until := time.Now().Add(v.patience)
	if v.sleeps > 0 {
		v.sleep()
		if err := v.join(); err != nil { // as a page does that is opened again
			return err
		}
	}
	for v.view.Status != sale.Ready {
		phase := v.evening.phase(v.key.event)
		if time.Now().After(until) || phase == sale.PhaseSoldOut || phase == sale.PhaseClosed {
			v.leave()
			return errSimGaveUp
		}
		time.Sleep(v.nap())
		if err := v.look(); err != nil {
			return err
		}
	}
	return nil
}

// nap is short near the front, so that nobody misses his turn who looks.
func (v *simVisitor) nap() time.Duration {
	if v.view.Rank < 60 {
		return v.span(2, 4)
	}
	return v.span(8, 14)
}

// look asks the line once; who finds himself out of it joins again.
func (v *simVisitor) look() error {
	var view sale.PlaceView
	err := v.ask(func(o *sale.Office) (err error) { view, err = o.Poll(v.key.event, v.key.visitor); return err })
	if err != nil {
		return v.unexpected("poll", err)
	}
	if view.Status != sale.NotEntered {
		v.evening.ledger.tellPlace(v.key, view)
		v.view = view
		return nil
	}
	if p, ok := v.evening.ledger.place(v.key); ok && p.Turn.State == sale.TurnNone {
		v.evening.ledger.observe(fmt.Sprintf("I6: place %d of %s waits and its visitor was told NOT_ENTERED", p.Number, p.Event))
	}
	return v.join()
}

func (v *simVisitor) leave() {
	err := v.ask(func(o *sale.Office) error { return o.Leave(v.key.event, v.key.visitor, v.view.QueueID) }, sale.ErrNotEntered)
	_ = v.unexpected("leave", err)
}

// wish chooses free seats from the picture: one or two, in the event of pairs
// one or two pairs.
func (v *simVisitor) wish() (ids []string) {
	var picture sale.SeatsView
	if err := v.ask(func(o *sale.Office) (err error) { picture, err = o.Seats(v.key.event); return err }); err != nil {
		return nil
	}
	plan, step := v.evening.plans[v.key.event], 1
	if v.key.event == simTwins {
		step = 2
	}
	var free []int
	for i := 0; i < len(picture.States); i += step {
		if picture.States[i] == seats.Available {
			free = append(free, i)
		}
	}
	for n := 1 + v.rng.IntN(2); n > 0 && len(free) > 0; n-- {
		k := v.rng.IntN(len(free))
		for s := range step {
			ids = append(ids, plan.Seat(free[k]+s).ID)
		}
		free = append(free[:k], free[k+1:]...)
	}
	return ids
}

// hold takes seats. It gives up when there are none or the turn is over.
func (v *simVisitor) hold() (held *sale.OrderView, err error) {
	for range 5 {
		r := sale.HoldRequest{Event: v.key.event, Token: v.view.Token, Visitor: v.key.visitor}
		if v.key.event == simGala && v.rng.IntN(4) == 0 {
			r.Best, r.Count = true, 1+v.rng.IntN(3)
		} else if r.Seats = v.wish(); r.Seats == nil {
			break
		}
		held, err = v.holdThese(r)
		if !errors.Is(err, sale.ErrSeatsTaken) && !errors.Is(err, sale.ErrNotEnough) {
			return held, err
		}
		time.Sleep(v.span(1, 3))
	}
	v.leave()
	return nil, errSimGaveUp
}

// holdThese asks for these seats, in every tab; the last answer counts.
func (v *simVisitor) holdThese(r sale.HoldRequest) (held *sale.OrderView, err error) {
	var mu sync.Mutex
	err = v.everyTab(func() error {
		var o *sale.OrderView
		err := v.ask(func(of *sale.Office) (err error) { o, err = of.Hold(r); return err },
			sale.ErrTokenExpired, sale.ErrNotAdmitted, sale.ErrTurnInUse)
		if err != nil {
			return err
		}
		v.evening.ledger.tellHold(o)
		mu.Lock()
		defer mu.Unlock()
		if held == nil || held.ID.String() < o.ID.String() {
			held = o
		}
		return nil
	})
	if held != nil {
		err = nil
	}
	return held, err
}

// pay opens the bank's page, in every tab; all of them must see one payment.
func (v *simVisitor) pay(o *sale.OrderView) (started sale.StartedPay, err error) {
	for range 4 {
		var mu sync.Mutex
		pages := map[string]bool{}
		err = v.everyTab(func() error {
			var s sale.StartedPay
			err := v.ask(func(of *sale.Office) (err error) {
				s, err = of.Pay(context.Background(), sale.PayRequest{Visitor: v.key.visitor, Order: o.ID, Provider: "bank", Buyer: sale.Buyer{Name: "Ann", Email: "ann@example.org"}})
				return err
			}, sale.ErrHoldExpired, sale.ErrOrderPaid)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			pages[s.PaymentID], started = true, s
			return nil
		})
		if len(pages) > 1 {
			v.evening.ledger.observe(fmt.Sprintf("I9: one order's payment was started as %v", pages))
		}
		if !errors.Is(err, sale.ErrProviderDown) {
			return started, err
		}
		time.Sleep(v.span(1, 3))
	}
	return started, errSimGaveUp
}

// total is what an order costs.
func (v *simVisitor) total(o *sale.OrderView) simMoney {
	return simMoney{o.ID.String(), o.Total, o.Currency}
}

// follow looks at an order until money has decided it, and for a while at most.
func (v *simVisitor) follow(o *sale.OrderView, patience time.Duration) error {
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(v.span(1, 3)) {
		var now *sale.OrderView
		err := v.ask(func(of *sale.Office) (err error) { now, err = of.Order(v.key.visitor, o.ID); return err })
		if err != nil {
			return err
		}
		switch now.Status {
		case sale.Paid:
			v.evening.ledger.tellPaid(now)
			return nil
		case sale.RefundDue, sale.Refunded, sale.Cancelled:
			return errSimGaveUp
		}
	}
	return errSimGaveUp
}

// simID is an id that nobody has.
func simID(v *simVisitor) string {
	return uuid.NewSHA1(v.key.visitor, fmt.Append(nil, v.rng.Uint64())).String()
}
