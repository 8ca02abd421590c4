package contract

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// as is a key of a role.
func (h *house) as(t *testing.T, role string) []string {
	t.Helper()
	a := h.staff(t, "POST", "/admin/keys", object{"role": role, "name": t.Name()}).want(t, http.StatusCreated)
	return []string{"Authorization", "Bearer " + a.text("key")}
}

func TestTicketIsLetInOnceHoweverManyScanIt(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 2, nil)
	other := eventOf(t, shared, 1, nil)
	o := e.buyer(t).bought(t, "A-1")
	code := o.codes(t)[0]
	door := e.h.as(t, "door")
	scans := make([]answer, 20)
	together(len(scans), func(i int) {
		scans[i] = e.h.call(t, "POST", "/api/v1/admin/events/"+e.id+"/checkin", object{"code": code}, door...)
	})
	in := 0
	for _, a := range scans {
		if a.status == http.StatusOK {
			in++
			if a.text("orderId") != o.id || a.text("seat", "id") != "A-1" || a.text("ticketId") == "" || a.moment(t, "checkedInAt").IsZero() {
				t.Errorf("let in with %s", a.body)
			}
			continue
		}
		a.refused(t, http.StatusConflict, "ticket_used")
	}
	if in != 1 {
		t.Errorf("let in %d times", in)
	}
	other.checkIn(t, code).refused(t, http.StatusNotFound, "no_such_ticket")
	for _, bad := range []string{"x", strings.Repeat("A", 52), code[:51], code + "A", strings.Repeat("x", 60000), "' OR 1=1"} {
		e.checkIn(t, bad).refused(t, http.StatusNotFound, "no_such_ticket")
	}
	for _, body := range []string{"", "{}", `{"code":""}`, `{"code":5}`, `{"code":null}`, `{"code":"x","y":1}`, `[]`, `{"code":["x"]}`} {
		e.h.staff(t, "POST", "/admin/events/"+e.id+"/checkin", body).problem(t)
	}
}

func TestSaleAtTheDoor(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 6, nil)
	box := e.h.as(t, "boxoffice")
	sell := func(body object, headers ...string) answer {
		return e.h.call(t, "POST", "/api/v1/admin/events/"+e.id+"/sell", body, slices.Concat(box, headers)...)
	}
	a := sell(object{"seats": []string{"A-1", "A-2"}, "method": "cash", "name": "Ann", "email": "ann@example.org"}).want(t, http.StatusCreated)
	if a.text("status") != "PAID" || a.number("total", "amount") != 8500 || len(a.list("tickets")) != 2 || a.text("buyer", "name") != "Ann" {
		t.Errorf("sold: %s", a.body)
	}
	e.checkIn(t, a.text("tickets", 0, "code")).want(t, http.StatusOK)
	if got := len(e.h.sink.sold(t, a.text("orderId"), 2)); got != 3 {
		t.Errorf("%d messages, want order.paid and two tickets", got)
	}
	keyed := make([]string, 10)
	together(len(keyed), func(i int) {
		keyed[i] = sell(object{"best": object{"count": 2}, "method": "card"}, "Idempotency-Key", "till").text("orderId")
	})
	for _, id := range keyed {
		if id == "" || id != keyed[0] {
			t.Errorf("one key sold %v", keyed)
			break
		}
	}
	sell(object{"best": object{"count": 1}, "method": "card"}, "Idempotency-Key", "till").refused(t, http.StatusUnprocessableEntity, "idempotency_key_reused")
	sell(object{"seats": []string{"A-1"}, "method": "cash"}).refused(t, http.StatusConflict, "seats_taken")
	if gift := sell(object{"seats": []string{"A-5"}, "method": "free"}).want(t, http.StatusCreated); gift.number("total", "amount") != 0 {
		t.Errorf("a free ticket: %s", gift.body)
	}
	for _, body := range []object{{}, {"seats": []string{"A-6"}}, {"seats": []string{"A-6"}, "method": "barter"}, {"method": "cash"}, {"seats": []string{}, "method": "cash"},
		{"seats": []string{"A-6", "A-6"}, "method": "cash"}, {"best": object{"count": -1}, "method": "cash"}, {"best": object{"count": 1e300}, "method": "cash"}, {"best": object{"count": 0.5}, "method": "cash"},
		{"seats": []string{"A-6"}, "method": "cash", "price": 1}, {"seats": []string{"A-6"}, "method": "cash", "email": "x"}, {"seats": []string{"Z-1"}, "method": "cash"}} {
		sell(body).problem(t)
	}
	e.count(t, "sold", 5)
	e.staff(t, "POST", "/close", nil).want(t, http.StatusOK)
	sell(object{"seats": []string{"A-6"}, "method": "cash"}).want(t, http.StatusCreated) // the door sells when the line is closed
}

func TestOneSeatGoesToTheDoorOrToABuyer(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 20, nil)
	buyers := e.buyers(t, 20)
	won := make([]int, 40)
	together(len(won), func(i int) {
		seat := fmt.Sprintf("A-%d", i/2+1)
		if i%2 == 0 {
			won[i] = buyers[i/2].hold(t, seat).status
		} else {
			won[i] = e.staff(t, "POST", "/sell", object{"seats": []string{seat}, "method": "cash"}).status
		}
	})
	for i := 0; i < len(won); i += 2 {
		if got := []int{won[i], won[i+1]}; !slices.Contains(got, 201) || !slices.Contains(got, 409) {
			t.Errorf("seat %d: %v, want 201 and 409", i/2+1, got)
		}
	}
}

func TestSeatsOfTheHouse(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, nil)
	block := func(state string, seats ...string) answer {
		return e.staff(t, "POST", "/seats", object{"seats": seats, "state": state, "reason": "The mayor"})
	}
	a := block("HOUSE", "A-1", "A-2").want(t, http.StatusOK)
	if a.number("counts", "available") != 2 || a.text("blocked", 0, "seat") != "A-1" || a.text("blocked", 0, "state") != "HOUSE" ||
		a.text("blocked", 0, "reason") != "The mayor" || a.text("blocked", 0, "by") != "staff:preset" || a.moment(t, "blocked", 0, "at").IsZero() {
		t.Errorf("blocked: %s", a.body)
	}
	block("OFF_SALE", "A-3").want(t, http.StatusOK)
	block("OFF_SALE", "A-3").want(t, http.StatusOK)
	until(t, "the public sees three seats off sale", patience, func() bool { return e.get(t, "/seats").text("states") == "OOOA" })
	if got := e.staff(t, "GET", "/seats", nil).want(t, http.StatusOK); got.text("states") != "BBOA" || got.number("counts", "house") != 2 {
		t.Errorf("staff see %s", got.body)
	}
	p := e.buyer(t)
	p.hold(t, "A-1", "A-4").refused(t, http.StatusConflict, "seats_taken")
	p.ask(t, object{"best": object{"count": 2}}).refused(t, http.StatusConflict, "not_enough_seats")
	e.staff(t, "POST", "/sell", object{"seats": []string{"A-3"}, "method": "cash"}).refused(t, http.StatusConflict, "seats_taken")
	e.staff(t, "POST", "/sell", object{"seats": []string{"A-1"}, "method": "cash"}).want(t, http.StatusCreated)
	block("OFF_SALE", "A-1").refused(t, http.StatusConflict, "seats_taken")
	o := p.holds(t, "A-4")
	if lost := block("HOUSE", "A-2", "A-4").refused(t, http.StatusConflict, "seats_taken"); lost.text("seats", 0) != "A-4" || len(lost.list("seats")) != 1 {
		t.Errorf("lost %s", lost.body)
	}
	o.release(t).want(t, http.StatusNoContent)
	block("AVAILABLE", "A-2", "A-3").want(t, http.StatusOK)
	p.hold(t, "A-2", "A-3").want(t, http.StatusCreated)
	for _, body := range []any{object{}, object{"seats": []string{"A-4"}}, object{"seats": []string{}, "state": "HOUSE"}, object{"seats": []string{"A-4"}, "state": "SOLD"}, object{"seats": "A-4", "state": "HOUSE"},
		object{"seats": []string{"Z-9"}, "state": "HOUSE"}, object{"seats": []any{"A-4", nil}, "state": "HOUSE"}, object{"seats": []string{"A-4"}, "state": "HOUSE", "until": "x"},
		object{"seats": []string{"A-4"}, "state": "HOUSE", "reason": strings.Repeat("r", 5000)}, strings.Repeat(" ", 65537)} {
		e.staff(t, "POST", "/seats", body).problem(t)
	}
}

func TestB90OrderIsFoundByEveryNameStaffMayHave(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 2, nil)
	o := e.buyer(t).paidBy(t, "A-1", "A-2")
	ticket := o.get(t).text("tickets", 1, "ticketId")
	refund := o.staff(t, "/refund", object{"seats": []string{"A-1"}}).want(t, http.StatusOK)
	for name, query := range map[string]string{"order": o.id, "ticket": ticket, "payment": refund.text("paymentId"), "refund": refund.text("refund", "refundId")} {
		if got := e.h.staff(t, "GET", "/admin/orders?event="+e.id+"&query="+query, nil).want(t, http.StatusOK).texts("items", "orderId"); query == "" || !slices.Equal(got, []string{o.id}) {
			t.Errorf("by %s %q: %v", name, query, got)
		}
	}
}

func TestCompleteBooksMoneyThatCameAnotherWay(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 2, object{"holdSeconds": 2})
	o := e.buyer(t).holds(t, "A-1")
	o.becomes(t, "EXPIRED")
	card := object{"method": "card", "reason": "Paid at the counter"}
	a := o.staff(t, "/complete", card).want(t, http.StatusOK)
	if a.text("status") != "PAID" || len(a.list("tickets")) != 1 || a.text("provider") != "door" {
		t.Errorf("completed: %s", a.body)
	}
	o.staff(t, "/complete", nil).refused(t, http.StatusConflict, "order_paid") // cash, which would be swallowed
	again := o.staff(t, "/complete", card).want(t, http.StatusOK)
	if got, want := again.text("tickets", 0, "ticketId"), a.text("tickets", 0, "ticketId"); got != want {
		t.Errorf("completing again made the ticket %s of %s", got, want)
	}
	p := e.buyer(t).holds(t, "A-2")
	p.becomes(t, "EXPIRED")
	e.buyer(t).bought(t, "A-2")
	p.staff(t, "/complete", nil).refused(t, http.StatusConflict, "seats_taken")
	p.staff(t, "/refund", nil).refused(t, http.StatusConflict, "order_not_paid")
	p.staff(t, "/resend", nil).refused(t, http.StatusConflict, "order_not_paid")
}

func TestRolesReachWhatIsTheirs(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 1, nil)
	o := e.buyer(t).bought(t, "A-1")
	keys := map[string][]string{"nobody": nil, "admin": {"Authorization", "Bearer " + adminKey}}
	for _, role := range []string{"boxoffice", "door", "shop"} {
		keys[role] = e.h.as(t, role)
	}
	event, order := "/api/v1/admin/events/"+e.id, "/api/v1/admin/orders/"+o.id
	for route, own := range map[string]string{
		"GET /api/v1/admin/orders": "boxoffice", "GET " + order: "boxoffice", "POST " + order + "/refund": "boxoffice", "POST " + order + "/resend": "boxoffice", "POST " + order + "/complete": "boxoffice",
		"GET " + event + "/seats": "boxoffice", "POST " + event + "/seats": "boxoffice", "POST " + event + "/sell": "boxoffice",
		"POST " + event + "/checkin": "door", "GET " + event + "/tickets": "door",
		"GET /api/v1/admin/attention": "", "POST /api/v1/admin/attention/payment-1/complete": "", "POST /api/v1/admin/attention/payment-1/refund": "", "POST /api/v1/admin/attention/payment-1/dismiss": "",
		"GET /api/v1/admin/audit": "", "GET /api/v1/admin/keys": "", "POST " + event + "/pause": "", "PATCH " + event + "/pace": "", "DELETE " + event: "", "GET /api/v1/admin/outbox": "",
	} {
		method, path, _ := strings.Cut(route, " ")
		for role, key := range keys {
			if role == "admin" || role == own {
				if method == "GET" {
					e.h.call(t, method, path, nil, key...).want(t, http.StatusOK)
				} else if a := e.h.call(t, method, path, "{", key...); method != "DELETE" && a.text("code") != "bad_json" { // its body is judged, so it may act
					t.Errorf("%s as %s: got %d %s", route, role, a.status, short(a.body))
				}
				continue
			}
			a := e.h.call(t, method, path, "{}", key...)
			if role == "nobody" {
				a.refused(t, http.StatusUnauthorized, "no_key")
			} else {
				a.refused(t, http.StatusForbidden, "wrong_role")
			}
		}
	}
}
