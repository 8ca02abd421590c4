package crash

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
)

// reckonNumbers: numbers rise with commits. Of two joins of one event the one
// that was answered before the other was asked has the smaller number.
func (r *rig) reckonNumbers() {
	byEvent := map[string][]joined{}
	for _, j := range r.ledger.joins {
		byEvent[j.event] = append(byEvent[j.event], j)
	}
	for e, joins := range byEvent {
		if a, b, ok := outOfOrder(joins); ok {
			r.ledger.fault("numbers", "in %s number %d was answered at %v, and number %d asked for at %v", e, a.number, a.end, b.number, b.start)
		}
	}
}

// outOfOrder finds two joins a, b with a before b and number(a) not below
// number(b). Several joins of one place are one, from the first try to the
// first answer.
func outOfOrder(joins []joined) (a, b joined, found bool) {
	one := map[int]joined{}
	for _, j := range joins {
		k, ok := one[j.number]
		if ok {
			j.start, j.end = min(j.start, k.start), min(j.end, k.end)
		}
		one[j.number] = j
	}
	var byStart, byEnd []joined
	for _, j := range one {
		byStart, byEnd = append(byStart, j), append(byEnd, j)
	}
	slices.SortFunc(byStart, func(a, b joined) int { return cmp.Compare(a.start, b.start) })
	slices.SortFunc(byEnd, func(a, b joined) int { return cmp.Compare(a.end, b.end) })
	var highest joined
	for i := 0; len(byStart) > 0; byStart = byStart[1:] {
		for ; i < len(byEnd) && byEnd[i].end < byStart[0].start; i++ {
			if byEnd[i].number > highest.number {
				highest = byEnd[i]
			}
		}
		if highest.number > byStart[0].number {
			return highest, byStart[0], true
		}
	}
	return a, b, false
}

// reckonTurns: never more inside than maxActive, never more called in any second
// than admitPerSecond. The ledger knows some of the turns, and of those a time in
// which they were active for certain, so what it finds is a fault for certain.
func (r *rig) reckonTurns() {
	type change struct {
		at moment
		by int
	}
	changes := map[*event][]change{}
	calls := map[*event][]moment{}
	for _, p := range r.ledger.places {
		if p.token == "" {
			continue
		}
		calls[p.event] = append(calls[p.event], p.calledAt)
		from, to := p.calledAt+slack, min(p.expires, p.endedBy)-slack
		if from < to {
			changes[p.event] = append(changes[p.event], change{from, 1}, change{to, -1})
		}
	}
	for e, all := range changes {
		slices.SortFunc(all, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
		n, most := 0, 0
		for _, c := range all {
			n += c.by
			most = max(most, n)
		}
		if most > e.active {
			r.ledger.fault("turns", "%d were inside of %s at once, %d may be", most, e.id, e.active)
		}
	}
	for e, all := range calls {
		slices.Sort(all)
		for i := e.perSecond; i < len(all); i++ {
			if all[i]-all[i-e.perSecond] < second {
				r.ledger.fault("turns", "%d were called into %s within %v, %d may be in a second", e.perSecond+1, e.id, all[i]-all[i-e.perSecond], e.perSecond)
				break
			}
		}
	}
}

// reckonSeats: a seat is in one PAID order at most; the map shows these as sold
// and no other; what the map showed as sold is sold.
func (r *rig) reckonSeats() {
	owner := map[string]string{}
	for id, o := range r.ledger.orders {
		r.counts.add("order "+o.final(), 1)
		if !o.must.paid {
			continue
		}
		for _, s := range o.seats {
			if other := owner[o.event+" "+s]; other != "" {
				r.ledger.fault("seats", "seat %s of %s is sold in %s and %s", s, o.event, other, id)
			}
			owner[o.event+" "+s] = id
		}
	}
	for _, e := range r.events {
		if e.shop {
			continue
		}
		a := r.call("audit", "GET", e.path("/seats"), nil)
		var d struct{ States string }
		if a.decode(&d); len(d.States) != e.seats {
			r.ledger.fault("answer", "seats of %s: %d %s", e.id, a.status, a.body)
			continue
		}
		for i, state := range d.States {
			seat := fmt.Sprintf("%s A-%d", e.id, i+1)
			if (state == 'S') != (owner[seat] != "") {
				r.ledger.fault("seats", "seat %s is %c on the map, its order is %q", seat, state, owner[seat])
			}
		}
	}
	for seat := range r.ledger.sold {
		if owner[seat] == "" {
			r.ledger.fault("seats", "seat %s was shown as sold, and is in no paid order", seat)
		}
	}
}

// final is the status in which an order ended.
func (o *orderFact) final() string {
	switch {
	case o.must.paid:
		return "PAID"
	case o.must.refunded:
		return "REFUNDED"
	case o.must.refund:
		return "REFUND_DUE"
	case o.must.cancelled:
		return "CANCELLED"
	case o.shown == "EXPIRED":
		return "EXPIRED"
	}
	return "open"
}

// reckonMoney: money told = PAID + REFUND_DUE + REFUNDED + the attention list.
func (r *rig) reckonMoney() {
	var told, booked, listed int64
	payments := map[string]int64{}
	for payment, m := range r.ledger.money {
		if !m.told {
			r.ledger.fault("money", "payment %s of %s was never acknowledged", payment, m.order)
		}
		told += m.amount
		payments[m.order] += m.amount
	}
	for id, o := range r.ledger.orders {
		if s := o.final(); s == "PAID" || s == "REFUND_DUE" || s == "REFUNDED" {
			booked += o.total
			payments[id] -= o.total
		}
		if o.final() == "open" {
			r.ledger.fault("money", "order %s is still open", id)
		}
	}
	a := r.call("audit", "GET", "/api/v1/admin/attention?limit=500", nil, "Authorization", "Bearer "+adminKey)
	var d struct {
		Items []struct {
			Kind, OrderID string
			Amount        struct{ Amount int64 }
		}
	}
	if a.decode(&d); a.status != http.StatusOK {
		r.ledger.fault("answer", "attention: %d %s", a.status, a.body)
		return
	}
	refunds := 0
	for _, i := range d.Items {
		if i.Kind == "refund_due" {
			refunds++
			continue
		}
		r.counts.add("attention", 1)
		listed += i.Amount.Amount
		payments[i.OrderID] -= i.Amount.Amount
	}
	if told != booked+listed {
		r.ledger.fault("money", "%d was told, %d is booked and %d on the attention list", told, booked, listed)
	}
	for order, left := range payments {
		if left != 0 {
			r.ledger.fault("money", "order %s: %d of its money is nowhere (negative: twice)", order, left)
		}
	}
	if want := r.counts.get("order REFUND_DUE"); refunds != want {
		r.ledger.fault("money", "%d refunds on the attention list, %d orders are REFUND_DUE", refunds, want)
	}
}

// reckonMessages: every order told the outside what it had to, and no other did.
func (r *rig) reckonMessages() {
	for id, o := range r.ledger.orders {
		topics := map[string]int{}
		for _, m := range r.sink.of(id) {
			topics[m.topic]++
			if !m.taken {
				r.ledger.fault("messages", "%s of %s was never taken", m.topic, id)
			}
		}
		want := map[string]int{}
		switch o.final() {
		case "PAID":
			want = map[string]int{"order.paid": 1, "ticket.issued": len(o.seats), "order.expired": topics["order.expired"]}
		case "REFUND_DUE":
			want = map[string]int{"order.refund_due": 1, "order.expired": topics["order.expired"]}
		case "REFUNDED":
			want = map[string]int{"order.refund_due": 1, "order.refunded": 1, "order.expired": topics["order.expired"]}
		case "EXPIRED":
			want["order.expired"] = 1
		}
		for _, topic := range []string{"order.paid", "ticket.issued", "order.refund_due", "order.refunded", "order.expired"} {
			if topics[topic] != want[topic] || topics["order.expired"] > 1 {
				r.ledger.fault("messages", "order %s is %s, and came as %d %s; want %d", id, o.final(), topics[topic], topic, want[topic])
			}
		}
		if all := r.sink.of(id); o.must.paid {
			at := slices.IndexFunc(all, func(m *received) bool { return m.topic == "order.paid" })
			if ticket := slices.IndexFunc(all, func(m *received) bool { return m.topic == "ticket.issued" }); ticket >= 0 && at > ticket {
				r.ledger.fault("messages", "a ticket of %s came before its order.paid", id)
			}
		}
	}
	for key, all := range r.sink.byKey {
		if r.ledger.orders[key[len("order:"):]] == nil {
			r.ledger.fault("messages", "%s speaks of an order that is not there: %s", key, all[0].body)
		}
	}
	for _, f := range r.sink.faults {
		r.ledger.fault("messages", "%s", f)
	}
}
