package crash

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// stormDoc is an order as staff see it.
type stormDoc struct {
	orderDoc
	Refunds []struct {
		State  string
		Amount struct{ Amount int64 }
		Seats  []string
	}
	Tickets []struct{ Seat seatDoc }
}

// stormMatter is an entry of the attention list.
type stormMatter struct {
	ID, Kind, Attention, Type, OrderID, PaymentID string
	Amount                                        struct {
		Amount   int64
		Currency string
	}
	Refund struct {
		State string
		DueAt string
	}
}

// settles waits until the bank has told all, no order waits for money and all
// that goes back has gone.
func (s *storm) settles() {
	s.bank.news.Wait()
	open := ""
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Second) {
		if open = s.unsettled(); open == "" {
			return
		}
	}
	s.ledger.fault("money", "it does not settle: %s", open)
}

func (s *storm) unsettled() string {
	for _, status := range []string{"PENDING", "PAYING", "REFUND_DUE"} {
		a := s.asks("audit", "GET", "/api/v1/admin/orders?limit=1&query="+status, nil, s.staff...)
		if strings.Contains(string(a.body), `"status":"`+status) {
			return string(a.body)
		}
	}
	for _, m := range s.matters() {
		if m.Kind != "payment" || m.Refund.State == "SENT" || m.Refund.State == "REQUESTED" && m.Attention == "surplus_payment" {
			return fmt.Sprintf("%+v", m)
		}
	}
	told := map[string]bool{}
	for _, o := range s.allOrders() {
		told[o.OrderID] = o.Status != "EXPIRED" && o.Status != "CANCELLED"
	}
	for _, m := range s.matters() {
		told[m.OrderID] = true
	}
	s.bank.mu.Lock()
	defer s.bank.mu.Unlock()
	for _, p := range s.bank.sessions { // lost webhooks, which the poller has to find
		if p.status == "complete" && !told[p.order] {
			return "nobody knows of the money of " + p.order
		}
	}
	return ""
}

func (s *storm) matters() []stormMatter {
	return stormPages[stormMatter](s, "/api/v1/admin/attention?limit=500")
}

func (s *storm) allOrders() []stormDoc {
	return stormPages[stormDoc](s, "/api/v1/admin/orders?event=storm&limit=500")
}

// stormPages reads a list for staff to its end.
func stormPages[T any](s *storm, path string) (all []T) {
	for cursor := ""; ; {
		var page struct {
			Items []T
			Next  *string
		}
		a := s.asks("audit", "GET", path+"&cursor="+url.QueryEscape(cursor), nil, s.staff...)
		if a.decode(&page); a.status != http.StatusOK {
			s.ledger.fault("answer", "%s: %d %s", path, a.status, a.body)
			return all
		}
		all = append(all, page.Items...)
		if page.Next == nil {
			return all
		}
		cursor = *page.Next
	}
}

// stormBook is money in minor units: what came by currency, what went back in
// all, and what of each order's is not accounted for yet.
type stormBook struct {
	came     map[string]int64
	back     int64
	perOrder map[string]int64
}

// book is what the bank has written down.
func (b *bank) book() stormBook {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := stormBook{came: map[string]int64{}, perOrder: map[string]int64{}}
	for _, p := range b.sessions {
		if p.status == "complete" {
			k.came[strings.ToUpper(p.currency)] += p.amount
			k.perOrder[p.order] += p.amount
		}
	}
	for _, f := range b.refunds {
		k.back += f.amount
	}
	return k
}

// reckonStorm holds Foyer's books against the bank's.
func (s *storm) reckonStorm() {
	bank := s.bank.book()
	ours := stormBook{came: map[string]int64{}, perOrder: bank.perOrder}
	owner := s.reckonOrders(&ours)
	for _, m := range s.matters() {
		if m.Kind != "payment" || m.Type != "payment.succeeded" {
			s.ledger.fault("money", "the attention list has %+v", m)
			continue
		}
		s.counts.add(m.Attention, 1)
		ours.came[m.Amount.Currency] += m.Amount.Amount
		ours.perOrder[m.OrderID] -= m.Amount.Amount
		if m.Refund.State == "DONE" {
			ours.back += m.Amount.Amount
		}
	}
	if !maps.Equal(bank.came, ours.came) {
		s.ledger.fault("money", "%v came, %v are booked", bank.came, ours.came)
	}
	if bank.back != ours.back {
		s.ledger.fault("money", "the bank gave %d back, %d are booked", bank.back, ours.back)
	}
	for order, left := range ours.perOrder {
		if left != 0 {
			s.ledger.fault("money", "order %s: %d of its money is nowhere (negative: twice)", order, left)
		}
	}
	s.seesEnds(owner)
	s.provesStorm()
}

// reckonOrders books all orders, which must have come to an end, and gives the
// order that has the ticket of each seat.
func (s *storm) reckonOrders(ours *stormBook) (owner map[string]string) {
	owner = map[string]string{}
	for _, o := range s.allOrders() {
		s.counts.add("order "+o.Status, 1)
		if s.orders[o.OrderID] == nil { // its hold was not answered
			s.counts.add("order nobody knows", 1)
		}
		switch o.Status {
		case "PAID", "REFUNDED":
			ours.came["EUR"] += o.Total.Amount
			ours.perOrder[o.OrderID] -= o.Total.Amount
		case "EXPIRED", "CANCELLED":
		default:
			s.ledger.fault("money", "order %s is %s at the end", o.OrderID, o.Status)
		}
		back := map[string]bool{}
		for _, r := range o.Refunds {
			for _, seat := range r.Seats {
				back[seat] = true
			}
			if r.State != "DONE" {
				s.ledger.fault("money", "a refund of %s is %s at the end", o.OrderID, r.State)
			}
			ours.back += r.Amount.Amount
		}
		for _, t := range o.Tickets {
			if other := owner[t.Seat.ID]; other != "" || o.Status != "PAID" {
				s.ledger.fault("seats", "seat %s has tickets of %s and %s (%s)", t.Seat.ID, other, o.OrderID, o.Status)
			}
			if back[t.Seat.ID] {
				s.ledger.fault("seats", "seat %s of %s was taken back and has a ticket", t.Seat.ID, o.OrderID)
			}
			owner[t.Seat.ID] = o.OrderID
		}
		if all := len(o.orderDoc.Seats); o.Status == "PAID" && len(o.Tickets) != all-len(back) {
			s.ledger.fault("seats", "order %s has %d tickets for %d seats, %d of them taken back", o.OrderID, len(o.Tickets), all, len(back))
		}
	}
	return owner
}

// seesEnds asks as the buyers do, and looks at the map.
func (s *storm) seesEnds(owner map[string]string) {
	for _, o := range s.orders {
		d := s.asks("order", "GET", "/api/v1/orders/"+o.id, nil, "X-Visitor", o.credential).order()
		switch d.Status {
		case "PAID", "REFUNDED", "EXPIRED", "CANCELLED":
		default:
			s.ledger.fault("money", "the buyer of %s reads %q", o.id, d.Status)
		}
	}
	var seats struct{ States string }
	s.asks("map", "GET", stormEvent+"/seats", nil).decode(&seats)
	if sold := strings.Count(seats.States, "S"); sold != len(owner) {
		s.ledger.fault("seats", "%d seats are sold on the map, %d have tickets", sold, len(owner))
	}
}

// provesStorm fails a storm that was none.
func (s *storm) provesStorm() {
	for _, what := range []string{"paid", "lost", "told too late", "paid too late", "wrong sum", "money twice", "left", "gave up", "refund 2xx", "order PAID",
		"order REFUNDED", "order EXPIRED", "amount_mismatch", "surplus_payment"} {
		if s.counts.get(what) == 0 {
			s.t.Errorf("no %s in the whole storm; it proves too little", what)
		}
	}
	if s.kills < stormDeaths {
		s.t.Errorf("%d kills, want %d", s.kills, stormDeaths)
	}
}
