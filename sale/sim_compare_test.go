package sale_test

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"foyer/queue"
	"foyer/sale"
	"foyer/seats"
	"foyer/store"
)

// compare holds the store against the ledger at one moment: places (I5, I6),
// counts, orders (I7, I11) and whoever has their seats (I1, I2). After a reopen
// it also asks for everything that was acknowledged before (I10, I11).
func (e *evening) compare(st *store.Store, reopened bool) (wrong []string) {
	e.bank.mu.Lock()
	facts := make([]string, 0, len(e.bank.answers))
	for id := range e.bank.answers {
		facts = append(facts, id)
	}
	e.bank.mu.Unlock()
	l := e.ledger
	_ = st.Update(func(tx sale.Tx) error {
		wrong = nil
		l.mu.Lock()
		defer l.mu.Unlock()
		wrong = append(wrong, simComparePlaces(l, tx, reopened)...)
		wrong = append(wrong, simCompareOrders(l, tx, reopened)...)
		for _, id := range facts {
			if _, ok := tx.Receipt(e.bank.Name(), id); reopened && !ok {
				wrong = append(wrong, fmt.Sprintf("I11: fact %s was answered and is not there after the reopen", id))
			}
		}
		return nil
	})
	if reopened {
		wrong = append(wrong, e.comparePending(st)...)
	}
	return wrong
}

// simComparePlaces looks for every place of the ledger in the store. What was
// written in this very moment may still be on its way to the line's index.
func simComparePlaces(l *simLedger, tx sale.Tx, reopened bool) (wrong []string) {
	stands := map[simPlaceKey]bool{}
	for _, event := range []string{simGala, simTwins} {
		for _, p := range tx.Front(event, 1<<30, queue.Cycle{Share: 7}) {
			stands[simKey(p)] = true
		}
		for p := range tx.Turns(event) {
			stands[simKey(p)] = true
		}
	}
	waiting, active := map[string]int{}, map[string]int{}
	for k, want := range l.places {
		got, ok := tx.Place(k.event, k.visitor)
		live := want.Turn.State.Live()
		switch {
		case !ok && live && reopened:
			wrong = append(wrong, fmt.Sprintf("I11: place %d of %s was %q before the reopen and is gone", want.Number, k.event, want.Turn.State))
		case !ok && live:
			wrong = append(wrong, fmt.Sprintf("I6: place %d of %s was %q and is lost", want.Number, k.event, want.Turn.State))
		case ok && live && got.Number != want.Number:
			wrong = append(wrong, fmt.Sprintf("I5: place %d of %s has become %d", want.Number, k.event, got.Number))
		case ok && got != want && want.Turn.Order != uuid.Nil:
			wrong = append(wrong, fmt.Sprintf("I7: place %d of %s has the turn %+v, it should be %+v", want.Number, k.event, got.Turn, want.Turn))
		case ok && got != want:
			wrong = append(wrong, fmt.Sprintf("I6: place %d of %s is %+v, it should be %+v", want.Number, k.event, got.Turn, want.Turn))
		case live && !stands[k] && l.since[k].Before(tx.Now()):
			wrong = append(wrong, fmt.Sprintf("I6: place %d of %s is %q and neither in the line nor among the turns", want.Number, k.event, want.Turn.State))
		}
		if want.Turn.State == sale.TurnNone {
			waiting[k.event]++
		}
		if want.Turn.State.Active() {
			active[k.event]++
		}
	}
	for _, event := range []string{simGala, simTwins} {
		line := tx.Line(event)
		if line.Waiting != waiting[event] {
			wrong = append(wrong, fmt.Sprintf("I6: %s counts %d waiting, %d wait", event, line.Waiting, waiting[event]))
		}
		if line.Active != active[event] {
			wrong = append(wrong, fmt.Sprintf("I3: %s counts %d active, %d are", event, line.Active, active[event]))
		}
	}
	return wrong
}

// simCompareOrders looks for the orders of the ledger in the store: those that
// are open or paid, after a reopen all of them.
func simCompareOrders(l *simLedger, tx sale.Tx, all bool) (wrong []string) {
	for id, want := range l.orders {
		if !all && !want.Status.Claims() {
			continue
		}
		got, ok := tx.Order(id)
		if !ok {
			wrong = append(wrong, fmt.Sprintf("I11: order %s was %s and is not there", id, want.Status))
			continue
		}
		if got.Status != want.Status || got.Total != want.Total || !got.HoldExpiresAt.Equal(want.HoldExpiresAt) || len(got.Payments) != len(want.Payments) {
			wrong = append(wrong, fmt.Sprintf("I11: order %s is %s until %s, it should be %s until %s", id, got.Status, got.HoldExpiresAt, want.Status, want.HoldExpiresAt))
		}
		if want.Status.Open() && tx.Now().Sub(want.HoldExpiresAt) > 5*time.Second {
			wrong = append(wrong, fmt.Sprintf("I7: order %s lapsed %s ago and is still %s", id, tx.Now().Sub(want.HoldExpiresAt), want.Status))
		}
		if !want.Has(tx.Now()) {
			continue
		}
		for n, s := range want.Seats {
			h, ok := tx.Holder(want.Event, s.ID)
			switch {
			case ok && h.ID == id, !want.Keeps(n):
			case want.Status == sale.Paid:
				wrong = append(wrong, fmt.Sprintf("I1: seat %s of the PAID order %s is not its own", s.ID, id))
			default:
				wrong = append(wrong, fmt.Sprintf("I2: seat %s of the hold %s is not its own", s.ID, id))
			}
		}
	}
	return wrong
}

// comparePending asks for every committed message that no sink has taken.
func (e *evening) comparePending(st *store.Store) (wrong []string) {
	stored, err := st.Messages("", 0, 1<<30)
	if err != nil {
		return []string{fmt.Sprintf("I11: the outbox cannot be read after the reopen: %v", err)}
	}
	type name struct{ sink, id string }
	there := map[name]bool{}
	for _, m := range stored {
		there[name{m.Sink, m.ID}] = true
	}
	for _, s := range e.sinks {
		for _, d := range s.deliveries() {
			there[name{s.name, d.id}] = true
		}
	}
	e.refunds.mu.Lock()
	for id := range e.refunds.got {
		there[name{sale.RefundSink, id}] = true
	}
	e.refunds.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	for sink, promises := range e.messages {
		for id, p := range promises {
			if !there[name{sink, id}] {
				wrong = append(wrong, fmt.Sprintf("I10: message %d of %s is lost at the reopen", p.seq, p.key))
			}
		}
	}
	return wrong
}

// watch looks at the evening once a second until stop is closed: the public
// picture and the holds behind it (I2), the phase, and every tenth time all of
// the store.
func (e *evening) watch(stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-time.After(time.Second):
		}
		h := e.house.Load()
		for _, event := range []string{simGala, simTwins} {
			e.lookAt(h, event)
		}
		if n%10 == 0 {
			wrong := e.compare(h.store, false)
			if !h.closing.Load() {
				e.ledger.observe(wrong...)
			}
		}
	}
}

func (e *evening) lookAt(h *simHouse, event string) {
	_, phase, err := h.office.Event(event)
	if err != nil || h.closing.Load() {
		return
	}
	e.phases.Store(event, phase)
	var pairs []seats.State
	if event == simTwins {
		picture, err := h.office.Seats(event)
		if err != nil {
			e.ledger.observe(fmt.Sprintf("unexpected: seats: %v", err))
		}
		pairs = picture.States
	}
	_ = h.store.View(func(r sale.Reader) error {
		e.ledger.observe(simCheckI2(r, e.plans[event], event, pairs)...)
		return nil
	})
}
