package contract

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// rush is a crowd that wants a house while the program dies again and again,
// and a provider that repeats what was not taken.
type rush struct {
	e      event
	stop   chan struct{} // closed when a buyer must give up
	orders sync.Map      // paid by the buyer: order id -> *purchase
	sold   atomic.Int64
}

// purchase is what a buyer knows of what he paid.
type purchase struct {
	order
	email, payment string
	event          string // id of the provider's event
	news           object
}

// again repeats a request until it is answered by the program itself; a refusal
// is an answer, what the program cannot do at present is none.
func (r *rush) again(method, path string, body any, headers ...string) (answer, bool) {
	for {
		a, err := r.e.h.try(method, path, body, headers...)
		if err == nil && a.status < 500 {
			return a, true
		}
		select {
		case <-r.stop:
			return a, false
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// buy goes from the door to the provider. It asks again where an answer was
// lost, which must never cost a second seat or a second payment.
func (r *rush) buy(i int) error {
	v, ok := r.again("POST", "/api/v1/visitors", nil)
	if !ok {
		return fmt.Errorf("no visitor: %d", v.status)
	}
	p := &person{e: r.e, credential: v.text("credential")}
	mine := []string{"X-Visitor", p.credential}
	var a answer
	for {
		a, ok = r.again("POST", r.e.path("/queue"), nil, mine...)
		if p.learn(a); !ok || a.text("status") == "READY" {
			break
		}
		if a.status/100 != 2 {
			return fmt.Errorf("join: %d %s", a.status, a.body)
		}
		if !ok {
			return fmt.Errorf("never called: %s", a.body)
		}
		time.Sleep(20 * time.Millisecond) // between polls
	}
	seat := object{"seats": []string{fmt.Sprintf("A-%d", i+1)}}
	a, ok = r.again("POST", r.e.path("/holds"), seat, append(mine, "X-Entry-Token", p.token)...)
	if !ok || a.status != http.StatusCreated {
		return fmt.Errorf("hold: %d %s", a.status, a.body)
	}
	s := &purchase{order: order{p, a.text("orderId"), a.number("total", "amount")}, email: fmt.Sprintf("buyer-%d@example.org", i)}
	a, ok = r.again("POST", s.path("/pay"), object{"provider": "demo", "name": fmt.Sprintf("Buyer %d", i), "email": s.email}, mine...)
	if !ok || a.status != http.StatusOK {
		return fmt.Errorf("pay: %d %s", a.status, a.body)
	}
	s.payment, s.event = a.text("paymentId"), "evt_"+s.id
	s.news = s.order.news("succeeded", s.payment)
	r.orders.Store(s.id, s)
	r.tell(s, s.event)
	r.sold.Add(1)
	return nil
}

// tell is the provider's delivery: again until it is taken.
func (r *rush) tell(s *purchase, id string) {
	for {
		a, err := r.e.h.tryTell(id, time.Now(), s.news)
		if err == nil && a.status/100 == 2 {
			return
		}
		select {
		case <-r.stop:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// find searches as staff do and wants exactly this order.
func (r *rush) find(t *testing.T, s *purchase, query string) {
	t.Helper()
	a := r.e.h.staff(t, "GET", "/admin/orders?event="+r.e.id+"&query="+query, nil).want(t, http.StatusOK)
	for _, item := range a.list("items") {
		o, _ := item.(object)
		if o["orderId"] == s.id {
			return
		}
	}
	t.Errorf("staff who search for %s do not find order %s but %s", query, s.id, short(a.body))
}

// statuses counts all orders of the event, as staff list them.
func (r *rush) statuses(t *testing.T) map[string]int {
	t.Helper()
	count, cursor := map[string]int{}, ""
	for {
		a := r.e.h.staff(t, "GET", "/admin/orders?limit=500&event="+r.e.id+"&cursor="+cursor, nil).want(t, http.StatusOK)
		for _, status := range a.texts("items", "status") {
			count[status]++
		}
		if cursor = a.text("next"); cursor == "" {
			return count
		}
	}
}

func TestB90RushWithTwentyCrashesLeavesNoPayingBuyerWithoutATicket(t *testing.T) {
	t.Parallel()
	const seats, crashes = 650, 20
	h := newHouse(t, "--rate-limit", "0", "--log-requests=false")
	r := &rush{e: eventOf(t, h, seats, object{"maxActive": 100}), stop: make(chan struct{})}
	giveUp := time.AfterFunc(2*time.Minute, func() { close(r.stop) })
	defer giveUp.Stop()
	var failed sync.Map
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		each(seats, func(i int) {
			if err := r.buy(i); err != nil {
				failed.Store(i, err)
			}
		})
	}()
	for n := range crashes {
		until(t, "the rush goes on", time.Minute, func() bool { return int(r.sold.Load()) >= n*seats/(crashes+1) })
		h.kill()
		if err := h.start(); err != nil {
			t.Fatal(err)
		}
	}
	<-finished
	failed.Range(func(i, err any) bool { t.Errorf("buyer %v: %v", i, err); return true })

	// The provider repeats itself for days, under old and under new ids.
	var all []*purchase
	r.orders.Range(func(_, s any) bool { all = append(all, s.(*purchase)); return true })
	each(2*len(all), func(i int) {
		s := all[i/2]
		r.tell(s, []string{s.event, fmt.Sprintf("again_%d", i)}[i%2])
	})
	count := r.statuses(t)
	attention := h.staff(t, "GET", "/admin/attention?limit=500", nil).list("items")
	if count["PAID"]+count["REFUND_DUE"] != len(all) || len(all) != seats || len(attention) != count["REFUND_DUE"] || count["PENDING"]+count["PAYING"] != 0 {
		b, _ := json.Marshal(attention)
		t.Errorf("%d were paid for; orders are %v, attention is %s; want %d PAID or REFUND_DUE and none pending", len(all), count, short(string(b)), seats)
	}
	each(len(all), func(i int) {
		s := all[i]
		if a := s.get(t); a.text("status") != "PAID" || len(a.list("tickets")) != 1 {
			t.Errorf("%s paid for %s", s.email, short(a.body))
		}
		query := []string{s.id, s.payment, strings.ToUpper(s.email)}[i%3]
		r.find(t, s, query)
		h.sink.sold(t, s.id, 1)
	})
	t.Logf("%d crashes, orders %v", crashes, count)
}
