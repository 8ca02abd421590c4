package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"foyer/sale"
	"foyer/store"
)

// memo is what the parent knows of one visitor.
type memo struct {
	number string // as acknowledged
	state  string // the last act acknowledged: place, turn, held, released, paid, left
	trying string // an act that may or may not have happened
	order  uuid.UUID
	seats  string
	former []uuid.UUID // orders that a later hold replaced
}

// ledger is everything that any child acknowledged.
type ledger map[uuid.UUID]*memo

func (l ledger) note(t *testing.T, line string) {
	w := strings.Fields(line)
	if line == "open\n" || line == "made\n" {
		return
	}
	if len(w) < 2 || w[0] == "broken" || w[0] == "panic:" {
		t.Errorf("the child says %s", line)
		return
	}
	id, err := uuid.Parse(w[1])
	if err != nil {
		t.Errorf("the child says %s", line)
		return
	}
	m := l[id]
	if m == nil {
		m = &memo{}
		l[id] = m
	}
	if w[0] == "try" {
		m.trying = w[2]
		return
	}
	m.trying = ""
	switch w[0] {
	case "refused":
		return
	case "place":
		m.number = w[2]
	case "held":
		if m.order != uuid.Nil {
			m.former = append(m.former, m.order)
		}
		m.order, m.seats = uuid.MustParse(w[2]), w[3]
	}
	m.state = w[0]
}

// check holds the store against the ledger and against itself.
func (l ledger) check(t *testing.T, s *store.Store) {
	t.Helper()
	o := killOffice(s)
	if _, _, err := o.Event("gala"); err != nil {
		if len(l) > 0 { // otherwise it ended before anything was acknowledged
			t.Errorf("the house is empty, and %d visitors were in it", len(l))
		}
		return
	}
	numbers := map[string]bool{}
	for id, m := range l {
		p, err := o.Poll("gala", id)
		if err != nil {
			t.Fatal(err)
		}
		l.checkPlace(t, id, m, p)
		if m.number != "" && numbers[m.number] {
			t.Errorf("number %s was given twice", m.number)
		}
		numbers[m.number] = true
		l.checkOrders(t, o, m)
	}
	l.checkHouse(t, o, s)
}

func (l ledger) checkPlace(t *testing.T, id uuid.UUID, m *memo, p sale.PlaceView) {
	t.Helper()
	gone := m.state == "left" || m.state == "paid"
	mayBeGone := gone || m.trying == "left" || m.trying == "paid" || m.state == "" // the join was not acknowledged
	is := p.Status == sale.NotEntered
	switch {
	case gone && !is, is && !mayBeGone:
		t.Errorf("visitor %s is %s after %q (trying %q)", id, p.Status, m.state, m.trying)
	case !is && m.number != "" && fmt.Sprint(p.Number) != m.number:
		t.Errorf("visitor %s has number %d, was told %s", id, p.Number, m.number)
	case !is && p.Status != sale.Ready && slices.Contains([]string{"turn", "held", "released"}, m.state):
		t.Errorf("visitor %s lost his turn: %s after %q", id, p.Status, m.state)
	case m.state == "held" && m.trying == "" && (p.TokenState != sale.TurnClaimed || p.OrderID != m.order):
		t.Errorf("visitor %s holds %s, his turn is %s with %s", id, m.order, p.TokenState, p.OrderID)
	}
}

func (l ledger) checkOrders(t *testing.T, o *sale.Office, m *memo) {
	t.Helper()
	for _, id := range m.former {
		if v, err := o.AnyOrder(id); err != nil || v.Status != sale.Cancelled {
			t.Errorf("the replaced order %s: %+v, %v", id, v, err)
		}
	}
	if m.order == uuid.Nil {
		return
	}
	v, err := o.AnyOrder(m.order)
	if err != nil {
		t.Errorf("an acknowledged order is lost: %v", err)
		return
	}
	var has []string
	for _, s := range v.Seats {
		has = append(has, s.ID)
	}
	slices.Sort(has)
	if got := strings.Join(has, ","); got != m.seats {
		t.Errorf("order %s has the seats %s, was told %s", m.order, got, m.seats)
	}
	may := []sale.OrderStatus{map[string]sale.OrderStatus{"held": sale.Pending, "released": sale.Cancelled, "paid": sale.Paid}[m.state]}
	switch m.trying {
	case "released", "hold":
		may = append(may, sale.Cancelled)
	case "paid":
		may = append(may, sale.Paid)
	}
	if !slices.Contains(may, v.Status) {
		t.Errorf("order %s is %s after %q (trying %q)", m.order, v.Status, m.state, m.trying)
	}
}

// checkHouse checks the rows against each other: seats, orders, turns, messages.
func (l ledger) checkHouse(t *testing.T, o *sale.Office, s *store.Store) {
	t.Helper()
	orders, err := s.Orders("gala", uuid.Nil, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	holder := map[string]uuid.UUID{}
	want := map[string]bool{} // topic and order or ticket
	sold := 0
	for _, n := range orders {
		p, err := o.Poll("gala", n.Visitor)
		if err != nil {
			t.Fatal(err)
		}
		if n.Status == sale.Pending && (p.TokenState != sale.TurnClaimed || p.OrderID != n.ID) {
			t.Errorf("order %s is PENDING and its turn is %s with %s", n.ID, p.TokenState, p.OrderID)
		}
		if n.Status == sale.Paid {
			want[sale.TopicOrderPaid+n.ID.String()] = true
			sold += len(n.Seats)
			if p.Status != sale.NotEntered {
				t.Errorf("order %s is PAID and its visitor %s", n.ID, p.Status)
			}
		}
		if !n.Status.Claims() {
			continue
		}
		for _, seat := range n.Seats {
			if other, taken := holder[seat.ID]; taken {
				t.Errorf("seat %s is claimed by %s and %s", seat.ID, other, n.ID)
			}
			holder[seat.ID] = n.ID
			if n.Status == sale.Paid {
				want[sale.TopicTicketIssued+seat.Ticket.String()] = true
			}
		}
	}
	_ = s.View(func(r sale.Reader) error {
		if n := r.Line("gala").Sold; n != sold {
			t.Errorf("%d seats are counted as sold, the orders have %d", n, sold)
		}
		for i := range killHall {
			id := fmt.Sprintf("%d-%d", 1+i/100, 1+i%100)
			if h, ok := r.Holder("gala", id); ok != (holder[id] != uuid.Nil) || ok && h.ID != holder[id] {
				t.Errorf("seat %s: holder %v, want %s", id, h, holder[id])
			}
		}
		return nil
	})
	messages, err := s.Messages("", 0, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, light := range messages {
		m, _, err := s.Load(light.Seq)
		if err != nil {
			t.Fatal(err)
		}
		subject := strings.TrimPrefix(m.Key, "order:")
		if m.Topic == sale.TopicTicketIssued {
			_, rest, _ := strings.Cut(string(m.Body), `"ticketId":"`)
			subject, _, _ = strings.Cut(rest, `"`)
		}
		if !want[m.Topic+subject] {
			t.Errorf("message %d about %s of %s: nothing of the kind happened, or it is told twice", m.Seq, m.Topic, subject)
		}
		delete(want, m.Topic+subject)
	}
	for w := range want {
		t.Errorf("nobody is told of %s", w)
	}
}
