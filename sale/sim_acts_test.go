package sale_test

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"foyer/sale"
)

// simTold is which messages a change of an order must cause, per sink; was is nil
// for a new one.
func simTold(was, is *sale.Order) map[string]int {
	told := map[string]int{}
	before, refunds := map[uuid.UUID]sale.RefundState{}, 0
	status := sale.OrderStatus("")
	due := func(o *sale.Order) (n int) { // what somebody does in the bank's pages was never due
		for _, r := range o.Refunds {
			if r.By != "bank" {
				n++
			}
		}
		return n
	}
	if was != nil {
		status, refunds = was.Status, due(was)
		for _, r := range was.Refunds {
			before[r.ID] = r.State
		}
	}
	switch {
	case is.Status == status:
	case is.Status == sale.Paid:
		told[sale.TopicOrderPaid], told[sale.TopicTicketIssued] = 1, len(is.Seats)
	case is.Status == sale.Expired:
		told[sale.TopicOrderExpired] = 1
	}
	if n := due(is) - refunds; n > 0 {
		told[sale.TopicOrderRefundDue] = n
	}
	for _, r := range is.Refunds {
		if r.State == sale.RefundDone && before[r.ID] != sale.RefundDone {
			told[sale.TopicOrderRefunded]++
		}
	}
	return told
}

// simCheckI9: what belongs to one act is in one transaction: the order's step,
// its messages and the record of the confirmation.
func simCheckI9(l *simLedger) (wrong []string) {
	l.replay(func(a *simAct, before *simHistory) {
		type count struct{ sink, key, topic string }
		sent := map[count]int{}
		sinks := map[string]bool{}
		for _, m := range a.sent {
			if m.Sink != sale.RefundSink {
				sent[count{m.Sink, m.Key, m.Topic}]++
				sinks[m.Sink] = true
			}
		}
		done := map[uuid.UUID]bool{}
		for _, o := range a.orders {
			if done[o.ID] {
				continue
			}
			done[o.ID] = true
			was, is := before.orders[o.ID], a.order(o.ID)
			want := simTold(was, is)
			if len(want) > 0 && len(sinks) == 0 {
				wrong = append(wrong, fmt.Sprintf("I9: order %s became %s without a message", is.ID, is.Status))
			}
			for sink := range sinks {
				for topic, n := range want {
					c := count{sink, "order:" + is.ID.String(), topic}
					if got := sent[c]; got != n && (topic != sale.TopicOrderExpired || got > 0) {
						wrong = append(wrong, fmt.Sprintf("I9: order %s became %s with %d of %d messages %s", is.ID, is.Status, got, n, topic))
					}
					delete(sent, c)
				}
			}
			if p := is.Payments; is.Status == sale.Paid && len(p) > 0 && p[len(p)-1].Provider == "shop" && len(is.Confirms) == 0 {
				wrong = append(wrong, fmt.Sprintf("I9: order %s was confirmed without its idempotency record", is.ID))
			}
		}
		for c, n := range sent {
			wrong = append(wrong, fmt.Sprintf("I9: %d messages %s about %s without a cause", n, c.topic, c.key))
		}
	})
	return wrong
}

// simCheckI10: every committed message came at least once with the same id and
// body, the first copies of a key in order, and the messages are those that the
// orders call for.
func simCheckI10(e *evening, end simEnd) (wrong []string) {
	for _, m := range end.pending {
		wrong = append(wrong, fmt.Sprintf("I10: message %d %s for %s is still %s", m.Seq, m.Topic, m.Sink, m.State))
	}
	order := map[string]int{} // of commit, by id
	for i := range e.ledger.acts {
		for _, m := range e.ledger.acts[i].sent {
			order[m.ID] = len(order)
		}
	}
	for _, s := range e.sinks {
		first := map[string]simDelivery{}
		last := map[string]simDelivery{} // by key
		for _, d := range s.deliveries() {
			known, again := first[d.id]
			if again {
				if !bytes.Equal(known.body, d.body) || known.key != d.key {
					wrong = append(wrong, fmt.Sprintf("I10: copies of message %s differ", d.id))
				}
				continue
			}
			first[d.id] = d
			if l, ok := last[d.key]; ok && (order[d.id] < order[l.id] || d.seq <= l.seq) {
				wrong = append(wrong, fmt.Sprintf("I10: message %d of %s came after %d", d.seq, d.key, l.seq))
			}
			last[d.key] = d
		}
		for id, p := range e.messages[s.name] {
			if _, ok := first[id]; !ok {
				wrong = append(wrong, fmt.Sprintf("I10: message %d of %s was committed and never came to %s", p.seq, p.key, s.name))
			}
		}
		wrong = append(wrong, simCheckTold(s, first, end)...)
	}
	return wrong
}

// simCheckTold compares what one sink was told with the orders.
func simCheckTold(s *simSink, first map[string]simDelivery, end simEnd) (wrong []string) {
	type count struct {
		order uuid.UUID
		topic string
	}
	got := map[count]int{}
	tickets := map[uuid.UUID]int{}
	for id, d := range first {
		var doc struct {
			ID, Topic string
			Data      struct {
				OrderID, TicketID uuid.UUID
			}
		}
		if err := json.Unmarshal(d.body, &doc); err != nil || doc.ID != id {
			wrong = append(wrong, fmt.Sprintf("I10: message %s has the id %s inside (%v)", id, doc.ID, err))
		}
		got[count{doc.Data.OrderID, doc.Topic}]++
		if doc.Topic == sale.TopicTicketIssued {
			tickets[doc.Data.TicketID]++
		}
	}
	for _, o := range end.orders {
		want := simTold(nil, o)
		if !o.PaidAt.IsZero() {
			want[sale.TopicOrderPaid], want[sale.TopicTicketIssued] = 1, len(o.Seats)
		}
		for topic, n := range want {
			if g := got[count{o.ID, topic}]; g != n && (topic != sale.TopicOrderExpired || s == s.evening.sinks[0]) {
				wrong = append(wrong, fmt.Sprintf("I10: %s was told %d of %d messages %s about order %s", s.name, g, n, topic, o.ID))
			}
		}
		for _, seat := range o.Seats {
			if o.Status == sale.Paid && tickets[seat.Ticket] != 1 {
				wrong = append(wrong, fmt.Sprintf("I10: %s was told %d times of the ticket for seat %s", s.name, tickets[seat.Ticket], seat.ID))
			}
		}
		if n := got[count{o.ID, sale.TopicOrderExpired}]; n > 1 {
			wrong = append(wrong, fmt.Sprintf("I10: order %s expired %d times", o.ID, n))
		}
	}
	return wrong
}

// simCheckI11: what visitors were told is there at the end.
func simCheckI11(l *simLedger, end simEnd) (wrong []string) {
	made := map[simToldPlace]bool{}
	for _, p := range l.joined {
		made[simToldPlace{simKey(p), p.Number}] = true
	}
	for _, t := range l.toldPlaces {
		if !made[t] {
			wrong = append(wrong, fmt.Sprintf("I11: a visitor of %s was told number %d, which was never committed", t.event, t.number))
		}
	}
	for _, v := range l.toldHolds {
		if o := end.orders[v.ID]; o == nil || len(o.Seats) != len(v.Seats) || o.Total != v.Total {
			wrong = append(wrong, fmt.Sprintf("I11: hold %s was acknowledged and is not there as it was", v.ID))
		}
	}
	for _, v := range l.toldPaid {
		if o := end.orders[v.ID]; o == nil || o.PaidAt.IsZero() {
			wrong = append(wrong, fmt.Sprintf("I11: order %s was shown PAID and is not any more", v.ID))
		}
	}
	return wrong
}

// simCheckI12: nobody holds seats without a turn that was given and is not over,
// and nobody is PAID without money of exactly that sum.
func simCheckI12(e *evening, end simEnd) (wrong []string) {
	l := e.ledger
	l.replay(func(a *simAct, before *simHistory) {
		for _, step := range a.steps(before) {
			was, is := step[0], step[1]
			if was != nil {
				continue
			}
			p := before.places[simPlaceKey{is.Event, is.Visitor}]
			holds := before.orders[p.Turn.Order]
			active := p.Turn.State == sale.TurnReady && a.at.Before(p.Turn.ExpiresAt) ||
				p.Turn.State == sale.TurnClaimed && (a.at.Before(p.Turn.ExpiresAt) || holds != nil && holds.Has(a.at))
			if p.Number != is.Place || !active || !before.called[simPlaceNumber{is.Event, is.Place}] {
				wrong = append(wrong, fmt.Sprintf("I12: hold %s at place %d of %s has no turn: %q until %s", is.ID, is.Place, is.Event, p.Turn.State, p.Turn.ExpiresAt))
			}
		}
	})
	paid := map[simMoney]bool{}
	for _, m := range e.bank.taken {
		paid[m] = true
	}
	for _, m := range l.shop {
		paid[m] = true
	}
	for _, o := range end.orders {
		if o.Status == sale.Paid && o.Total > 0 && !paid[simMoney{o.ID.String(), o.Total, o.Currency}] {
			wrong = append(wrong, fmt.Sprintf("I12: order %s is PAID and nobody paid %d %s for it", o.ID, o.Total, o.Currency))
		}
	}
	return wrong
}

// simCheckFIFO: in each class first calls come in the order of numbers. Whoever was set aside
// comes back with his old number and does not count.
func simCheckFIFO(l *simLedger) (wrong []string) {
	for event, tau := range simTau(l) {
		if tau < 1 {
			wrong = append(wrong, fmt.Sprintf("FIFO: turns of %s were not given in order of numbers, tau %.6f", event, tau))
		}
	}
	return wrong
}

// simTau is Kendall's rank correlation between numbers and first calls, per
// event and class: 1 when no two visitors changed places.
func simTau(l *simLedger) map[string]float64 {
	calls := map[string][]uint64{}
	for _, c := range l.calls {
		if !c.again {
			line := c.event + " " + c.class.String()
			calls[line] = append(calls[line], c.number)
		}
	}
	taus := map[string]float64{}
	for event, numbers := range calls {
		pairs, swapped := 0, 0
		for i := range numbers {
			for _, later := range numbers[i+1:] {
				pairs++
				if later <= numbers[i] {
					swapped++
				}
			}
		}
		taus[event] = 1
		if pairs > 0 {
			taus[event] = 1 - 2*float64(swapped)/float64(pairs)
		}
	}
	return taus
}
