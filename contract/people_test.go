package contract

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

type object = map[string]any

// event is an event of one test, with rows of seats, ... in Stalls.
type event struct {
	h  *house
	id string
}

var events atomic.Int64

// eventOf makes an event with a wide door; settings and rules go over that.
func eventOf(t *testing.T, h *house, seats int, rules object, settings ...object) event {
	t.Helper()
	e := event{h, fmt.Sprintf("e-%d", events.Add(1))}
	all := object{"admitPerSecond": 5000, "maxActive": 20000}
	maps.Copy(all, rules)
	body := object{"id": e.id, "name": t.Name(), "venue": "Town Hall", "startsAt": "2099-03-01T19:00:00Z", "timeZone": "Europe/Berlin",
		"currency": "EUR", "prices": object{"Stalls": 4250, "Balcony": 2900}, "rules": all}
	for _, s := range settings {
		maps.Copy(body, s)
	}
	h.staff(t, "POST", "/admin/events", body).want(t, http.StatusCreated)
	if seats > 0 {
		e.plan(t, rows(seats)).want(t, http.StatusOK)
	}
	if t.Failed() {
		t.FailNow()
	}
	return e
}

// rows is a plan with seats A-1 to A-n.
func rows(n int) string {
	var b strings.Builder
	b.WriteString("zone,row,seat,category\n")
	for i := range n {
		fmt.Fprintf(&b, "Stalls,A,%d,Stalls\n", i+1)
	}
	return b.String()
}

func (e event) plan(t *testing.T, csv string) answer {
	t.Helper()
	return e.h.staff(t, "PUT", "/admin/events/"+e.id+"/plan", csv, "Content-Type", "text/csv")
}

func (e event) path(rest string) string { return "/api/v1/events/" + e.id + rest }

func (e event) get(t *testing.T, rest string, headers ...string) answer {
	t.Helper()
	return e.h.call(t, "GET", e.path(rest), nil, headers...)
}

// staff is a staff act on the event: staff(t, "POST", "/pause", nil).
func (e event) staff(t *testing.T, method, rest string, body any) answer {
	t.Helper()
	return e.h.staff(t, method, "/admin/events/"+e.id+rest, body)
}

// count waits until the seats document counts so many in a state; the document may be a second old.
func (e event) count(t *testing.T, state string, want int) {
	t.Helper()
	until(t, fmt.Sprintf("%d seats %s", want, state), patience, func() bool {
		return e.get(t, "/seats").number("counts", state) == want
	})
}

// person is a visitor at an event.
type person struct {
	e          event
	id         string
	credential string
	queueId    string
	token      string
}

func (h *house) visitor(t *testing.T) (id, credential string) {
	t.Helper()
	a := h.call(t, "POST", "/api/v1/visitors", nil).want(t, http.StatusCreated)
	return a.text("visitorId"), a.text("credential")
}

func (e event) person(t *testing.T) *person {
	t.Helper()
	id, c := e.h.visitor(t)
	return &person{e: e, id: id, credential: c}
}

// joined is a visitor in the line, wherever that put him.
func (e event) joined(t *testing.T) *person {
	t.Helper()
	p := e.person(t)
	p.join(t).want(t, http.StatusCreated)
	return p
}

// buyer is a visitor whose turn it is.
func (e event) buyer(t *testing.T) *person {
	t.Helper()
	p := e.joined(t)
	p.ready(t, patience)
	return p
}

func (e event) buyers(t *testing.T, n int) []*person {
	t.Helper()
	all := make([]*person, n)
	each(n, func(i int) { all[i] = e.joined(t) })
	for _, p := range all {
		if p.token == "" {
			p.ready(t, patience)
		}
	}
	return all
}

func (p *person) call(t *testing.T, method, path string, body any, headers ...string) answer {
	t.Helper()
	return p.e.h.call(t, method, path, body, append([]string{"X-Visitor", p.credential}, headers...)...)
}

func (p *person) join(t *testing.T) answer {
	t.Helper()
	return p.learn(p.call(t, "POST", p.e.path("/queue"), nil))
}

// place polls the own place by its name.
func (p *person) place(t *testing.T) answer {
	t.Helper()
	return p.learn(p.call(t, "GET", p.e.path("/queue/"+p.queueId), nil))
}

func (p *person) learn(a answer) answer {
	if id := a.text("queueId"); id != "" {
		p.queueId = id
	}
	if token := a.text("entryToken"); token != "" {
		p.token = token
	}
	return a
}

func (p *person) leave(t *testing.T) answer {
	t.Helper()
	return p.call(t, "DELETE", p.e.path("/queue/"+p.queueId), nil)
}

// ready polls until it is the visitor's turn.
func (p *person) ready(t *testing.T, within time.Duration) answer {
	t.Helper()
	var a answer
	until(t, "READY", within, func() bool {
		a = p.place(t)
		return a.text("status") == "READY"
	})
	return a
}

func (p *person) hold(t *testing.T, seats ...string) answer {
	t.Helper()
	return p.ask(t, object{"seats": seats})
}

// ask holds with a body of any shape.
func (p *person) ask(t *testing.T, body any) answer {
	t.Helper()
	return p.call(t, "POST", p.e.path("/holds"), body, "X-Entry-Token", p.token)
}

// order is one order and its buyer.
type order struct {
	*person
	id    string
	total int
}

// holds is hold for those who must get the seats.
func (p *person) holds(t *testing.T, seats ...string) order {
	t.Helper()
	a := p.hold(t, seats...).want(t, http.StatusCreated)
	if a.status != http.StatusCreated {
		t.FailNow()
	}
	return order{p, a.text("orderId"), a.number("total", "amount")}
}

func (o order) path(rest string) string { return "/api/v1/orders/" + o.id + rest }

func (o order) get(t *testing.T) answer {
	t.Helper()
	return o.call(t, "GET", o.path(""), nil)
}

func (o order) release(t *testing.T) answer {
	t.Helper()
	return o.call(t, "DELETE", o.path("/hold"), nil)
}

func (o order) cancel(t *testing.T) answer {
	t.Helper()
	return o.call(t, "POST", o.path("/cancel"), nil)
}

func (o order) pay(t *testing.T) answer {
	t.Helper()
	return o.call(t, "POST", o.path("/pay"), object{"provider": "demo"})
}

func (o order) pays(t *testing.T) (paymentID string) {
	t.Helper()
	return o.pay(t).want(t, http.StatusOK).text("paymentId")
}

// becomes polls the order until it has a status.
func (o order) becomes(t *testing.T, status string) answer {
	t.Helper()
	var a answer
	until(t, "order "+status, patience, func() bool {
		a = o.get(t)
		return a.text("status") == status
	})
	return a
}

// confirm is the venue's own server that says that it has the money.
func (o order) confirm(t *testing.T, key string, body any) answer {
	t.Helper()
	return o.e.h.staff(t, "POST", "/orders/"+o.id+"/confirm", body, "Idempotency-Key", key)
}

func (o order) money() object {
	return object{"amount": o.total, "currency": "EUR", "reference": "r-1"}
}

// bought is an order of these seats that is paid.
func (p *person) bought(t *testing.T, seats ...string) order {
	t.Helper()
	o := p.holds(t, seats...)
	o.confirm(t, "k", o.money()).want(t, http.StatusOK)
	return o
}
