package sale_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/sale"
	"foyer/seats"
	"foyer/store"
)

// simEnd is what the file holds when everybody has gone.
type simEnd struct {
	orders    map[uuid.UUID]*sale.Order
	pictures  map[string]sale.SeatsView
	lines     map[string]sale.Line
	turns     int             // places READY, CLAIMED or ASIDE
	attention []*sale.Receipt // settled ones too
	pending   []outbox.Message
	misfits   []string // what the reports of the events list
}

// simGather reads the end of the evening from the store itself.
func simGather(e *evening, st *store.Store) simEnd {
	end := simEnd{orders: map[uuid.UUID]*sale.Order{}, pictures: map[string]sale.SeatsView{}, lines: map[string]sale.Line{}}
	office := sale.New(sale.Config{Store: st, Secret: st.Secret(), TicketCode: uuid.UUID.String})
	for _, event := range []string{simGala, simTwins} {
		orders, err := st.Orders(event, uuid.Nil, 1<<20)
		if err != nil {
			e.t.Errorf("orders of %s: %v", event, err)
		}
		for _, o := range orders {
			end.orders[o.ID] = o
		}
		if r, err := office.Report(event, time.Time{}, time.Time{}); err != nil {
			e.t.Errorf("report of %s: %v", event, err)
		} else {
			end.misfits = append(end.misfits, r.Differences...)
		}
		if end.pictures[event], err = office.Seats(event); err != nil {
			e.t.Errorf("seats of %s: %v", event, err)
		}
		_ = st.Update(func(tx sale.Tx) error {
			end.lines[event] = tx.Line(event)
			for range tx.Turns(event) {
				end.turns++
			}
			return nil
		})
	}
	_ = st.View(func(r sale.Reader) error { end.attention = r.Matters(nil); return nil })
	var err error
	if end.pending, err = st.Messages("", 0, 1<<20); err != nil {
		e.t.Errorf("messages: %v", err)
	}
	return end
}

// check runs all checks over a finished evening.
func (e *evening) check(end simEnd) []string {
	l := e.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	found := append(slices.Clone(l.seen), end.misfits...)
	for _, some := range [][]string{
		simCheckI1(e, end), simCheckI3(l), simCheckI4(l), simCheckI5(l), simCheckI6(end), simCheckI7(l, end), simCheckI8(e, end),
		simCheckI9(l), simCheckI10(e, end), simCheckI11(l, end), simCheckI12(e, end), simCheckFIFO(l),
	} {
		found = append(found, some...)
	}
	return found
}

// simCheckI1: a seat is SOLD in at most one PAID order, and every SOLD seat is
// in exactly one; nor were two visitors told that they have it.
func simCheckI1(e *evening, end simEnd) (wrong []string) {
	type seat struct{ event, id string }
	paid := map[seat]uuid.UUID{}
	for _, o := range end.orders {
		for _, s := range o.Seats {
			if o.Status != sale.Paid {
				break
			}
			if s.Refund != uuid.Nil {
				continue
			}
			if other, twice := paid[seat{o.Event, s.ID}]; twice {
				wrong = append(wrong, fmt.Sprintf("I1: seat %s of %s is in the PAID orders %s and %s", s.ID, o.Event, other, o.ID))
			}
			paid[seat{o.Event, s.ID}] = o.ID
		}
	}
	for event, p := range e.plans {
		for i, state := range end.pictures[event].States {
			id := p.Seat(i).ID
			if _, sold := paid[seat{event, id}]; sold != (state == seats.Sold) {
				wrong = append(wrong, fmt.Sprintf("I1: seat %s of %s shows %c; in a PAID order: %v", id, event, state, sold))
			}
		}
	}
	told := map[seat]uuid.UUID{}
	for _, o := range e.ledger.toldPaid {
		for i, s := range o.Seats {
			if end.orders[o.ID].Seats[i].Refund != uuid.Nil {
				continue // he was told that it is his no longer
			}
			if other, ok := told[seat{o.Event, s.ID}]; ok && other != o.ID {
				wrong = append(wrong, fmt.Sprintf("I1: two visitors were told that seat %s of %s is theirs", s.ID, o.Event))
			}
			told[seat{o.Event, s.ID}] = o.ID
		}
	}
	return wrong
}

// simCheckI2 looks at one moment: every hold is whole. In the event of pairs the
// public picture tells it alone.
func simCheckI2(r sale.Reader, plan *seats.Plan, event string, pairs []seats.State) (wrong []string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] != pairs[i+1] {
			wrong = append(wrong, fmt.Sprintf("I2: seats %s and %s are sold together and show %c%c", plan.Seat(i).ID, plan.Seat(i+1).ID, pairs[i], pairs[i+1]))
		}
	}
	for i := range plan.Len() {
		o, ok := r.Holder(event, plan.Seat(i).ID)
		if !ok || !o.Has(r.Now()) {
			continue
		}
		for n, s := range o.Seats {
			if h, ok := r.Holder(event, s.ID); o.Keeps(n) && (!ok || h.ID != o.ID) {
				wrong = append(wrong, fmt.Sprintf("I2: order %s has seat %s and not its seat %s", o.ID, plan.Seat(i).ID, s.ID))
			}
		}
	}
	return wrong
}

// simCheckI3: no call fills more than maxActive slots, and no second that ends
// with a call has more calls than the pace then in force. Both ends count.
func simCheckI3(l *simLedger) (wrong []string) {
	recent := map[string][]time.Time{}
	for _, c := range l.calls {
		if c.active > c.max {
			wrong = append(wrong, fmt.Sprintf("I3: %s called number %d into %d active turns, at most %d", c.event, c.number, c.active, c.max))
		}
		w := append(recent[c.event], c.at)
		for w[0].Before(c.at.Add(-time.Second)) {
			w = w[1:]
		}
		recent[c.event] = w
		if len(w) > c.pace {
			wrong = append(wrong, fmt.Sprintf("I3: %s gave %d turns in the second before %s, at most %d", c.event, len(w), c.at.Format(time.TimeOnly), c.pace))
		}
	}
	return wrong
}

// simCheckI4: numbers are unique and rise in the order of committed joins.
func simCheckI4(l *simLedger) (wrong []string) {
	last := map[string]uint64{}
	for _, p := range l.joined {
		if p.Number <= last[p.Event] {
			wrong = append(wrong, fmt.Sprintf("I4: %s gave number %d after %d", p.Event, p.Number, last[p.Event]))
		}
		last[p.Event] = max(last[p.Event], p.Number)
	}
	owner := map[simPlaceNumber]uuid.UUID{}
	for _, t := range l.toldPlaces {
		n := simPlaceNumber{t.event, t.number}
		if other, ok := owner[n]; ok && other != t.visitor {
			wrong = append(wrong, fmt.Sprintf("I4: two visitors of %s were told number %d", t.event, t.number))
		}
		owner[n] = t.visitor
	}
	return wrong
}

// simCheckI5: a visitor has at most one place and at most one live hold per
// event.
func simCheckI5(l *simLedger) (wrong []string) {
	open := map[simPlaceKey]map[uuid.UUID]*sale.Order{}
	l.replay(func(a *simAct, before *simHistory) {
		for _, p := range a.places {
			old, had := before.places[simKey(p)]
			if had && old.Number != p.Number && l.lives(old, a.at) {
				wrong = append(wrong, fmt.Sprintf("I5: the visitor of %s at place %d was given place %d too", p.Event, old.Number, p.Number))
			}
		}
		for _, o := range a.orders {
			k := simPlaceKey{o.Event, o.Visitor}
			if open[k] == nil {
				open[k] = map[uuid.UUID]*sale.Order{}
			}
			open[k][o.ID] = o
			if !o.Status.Open() {
				delete(open[k], o.ID)
			}
		}
		for _, o := range a.orders {
			live := 0
			for _, other := range open[simPlaceKey{o.Event, o.Visitor}] {
				if !other.Lapsed(a.at) {
					live++
				}
			}
			if live > 1 {
				wrong = append(wrong, fmt.Sprintf("I5: a visitor of %s has %d live holds", o.Event, live))
			}
		}
	})
	return wrong
}

// lives tells whether a visitor at this place had to keep it at the time: he
// waited, used his turn, or was set aside and came back within the grace.
func (l *simLedger) lives(p sale.Place, at time.Time) bool {
	grace := time.Duration(l.events[p.Event].Rules.ReturnSeconds) * time.Second
	switch p.Turn.State {
	case sale.TurnNone:
		return true
	case sale.TurnReady:
		return p.Turn.PickedUp && at.Before(p.Turn.ExpiresAt)
	case sale.TurnAside:
		return at.Before(p.Turn.AsideAt.Add(grace))
	}
	return false
}

// simCheckI6: when all have gone, nobody is left between the line and a turn.
// The rest of I6 is looked at while the evening runs; see compare.
func simCheckI6(end simEnd) (wrong []string) {
	for event, n := range end.lines {
		if n.Waiting+n.Active > 0 {
			wrong = append(wrong, fmt.Sprintf("I6: %s ends with %d waiting and %d active", event, n.Waiting, n.Active))
		}
	}
	if end.turns > 0 {
		wrong = append(wrong, fmt.Sprintf("I6: %d turns never end", end.turns))
	}
	return wrong
}

// simCheckI7: an order takes a turn from READY to CLAIMED, money takes it to
// CONSUMED, everything else gives it back, and nothing before its time.
func simCheckI7(l *simLedger, end simEnd) (wrong []string) {
	l.replay(func(a *simAct, before *simHistory) {
		for _, step := range a.steps(before) {
			was, is := step[0], step[1]
			k := simPlaceKey{is.Event, is.Visitor}
			p, had := before.places[k]
			claims := had && p.Turn.Order == is.ID && p.Turn.State == sale.TurnClaimed
			if now, ok := a.place(k); ok {
				p = now
			}
			still := p.Turn.State == sale.TurnClaimed && p.Turn.Order == is.ID
			switch {
			case is.Status == sale.Pending && was == nil && !still:
				wrong = append(wrong, fmt.Sprintf("I7: hold %s did not claim the turn of place %d", is.ID, is.Place))
			case is.Status == sale.Paid && claims && p.Turn.State != sale.TurnConsumed:
				wrong = append(wrong, fmt.Sprintf("I7: order %s was paid and its turn is %q", is.ID, p.Turn.State))
			case !is.Status.Claims() && still:
				wrong = append(wrong, fmt.Sprintf("I7: order %s became %s and keeps its turn", is.ID, is.Status))
			}
			if is.Status == sale.Expired && a.at.Before(was.HoldExpiresAt) {
				wrong = append(wrong, fmt.Sprintf("I7: order %s expired %s before its deadline", is.ID, was.HoldExpiresAt.Sub(a.at)))
			}
		}
		for _, p := range a.places {
			old := before.places[simKey(p)]
			if o := a.order(old.Turn.Order); old.Turn.State == sale.TurnClaimed && !p.Turn.State.Live() && (o == nil || o.Status.Open()) {
				wrong = append(wrong, fmt.Sprintf("I7: the turn of place %d of %s became %s and its order went on", p.Number, p.Event, p.Turn.State))
			}
			if o := a.order(p.Turn.Order); p.Turn.State == sale.TurnConsumed && (o == nil || o.Status != sale.Paid) {
				if old.Turn.State != sale.TurnConsumed {
					wrong = append(wrong, fmt.Sprintf("I7: the turn of place %d of %s is consumed and nothing was paid", p.Number, p.Event))
				}
			}
		}
	})
	for _, o := range end.orders {
		if o.Status.Open() {
			wrong = append(wrong, fmt.Sprintf("I7: order %s is %s when everybody has gone; its deadline was %s", o.ID, o.Status, o.HoldExpiresAt.Format(time.TimeOnly)))
		}
	}
	return wrong
}

// simCheckI8: money in = PAID + REFUND_DUE + REFUNDED + attention list, to the
// minor unit and per currency, and each fact is booked once.
func simCheckI8(e *evening, end simEnd) (wrong []string) {
	in, out := map[string]int64{}, map[string]int64{}
	for _, m := range e.bank.taken {
		in[m.currency] += m.amount
	}
	for _, m := range e.ledger.shop {
		in[m.currency] += m.amount
	}
	for _, o := range end.orders {
		if o.Status == sale.Paid || o.Status == sale.RefundDue || o.Status == sale.Refunded {
			out[o.Currency] += o.Received()
			wrong = append(wrong, simCheckPayments(o)...)
		}
	}
	for _, rc := range end.attention {
		if rc.Fact.Kind == sale.FactSucceeded {
			out[rc.Fact.Currency] += rc.Fact.Amount
		}
	}
	for _, c := range []string{"EUR", "USD"} {
		if in[c] != out[c] {
			wrong = append(wrong, fmt.Sprintf("I8: %d %s came in, %d is booked", in[c], c, out[c]))
		}
	}
	booked := map[string]int{}
	for i := range e.ledger.acts {
		for _, rc := range e.ledger.acts[i].receipts {
			again := rc.Settled != nil || rc.Refund != nil && rc.Refund.State != sale.RefundRequested // something became of it since
			if !again && rc.ReceivedAt.Equal(e.ledger.acts[i].at) {
				booked[rc.Fact.EventID]++
			}
		}
	}
	for id, n := range booked {
		if n > 1 {
			wrong = append(wrong, fmt.Sprintf("I8: fact %s was booked %d times", id, n))
		}
	}
	return append(wrong, simCheckReturned(e, end)...)
}

// simCheckPayments: an order that has money has it from one payment, which
// nothing that came later has undone.
func simCheckPayments(o *sale.Order) (wrong []string) {
	want, n := sale.PaymentSucceeded, 0
	if o.Status == sale.Refunded {
		want = sale.PaymentRefunded
	}
	for _, p := range o.Payments {
		if p.State == want && p.Amount == o.Total {
			n++
		}
	}
	if n != 1 {
		wrong = append(wrong, fmt.Sprintf("I8: order %s is %s by %d payments %s of its sum", o.ID, o.Status, n, want))
	}
	return wrong
}
