package contract

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestB83WithoutAValidTokenNobodyHolds(t *testing.T) {
	t.Parallel()
	e, other := eventOf(t, shared, 4, nil), eventOf(t, shared, 4, nil)
	p, foreign := e.buyer(t), other.buyer(t)
	stranger := e.person(t)
	body := object{"seats": []string{"A-1"}}
	hold := func(token string) answer {
		return e.h.call(t, "POST", e.path("/holds"), body, "X-Entry-Token", token)
	}
	e.h.call(t, "POST", e.path("/holds"), body).refused(t, http.StatusUnauthorized, "no_entry_token")
	stranger.call(t, "POST", e.path("/holds"), body).refused(t, http.StatusUnauthorized, "no_entry_token")
	hold("").refused(t, http.StatusUnauthorized, "no_entry_token")
	hold(foreign.token).refused(t, http.StatusForbidden, "wrong_event")
	flipped := p.token[:len(p.token)-2] + map[bool]string{true: "B", false: "A"}[p.token[len(p.token)-2] == 'A'] + p.token[len(p.token)-1:]
	for _, bad := range []string{"x", "null", flipped, p.token + "A", p.token[1:], p.token[:len(p.token)-4], p.queueId, p.credential, strings.Repeat("A", 3000), "AAAA", "\u00e4"} {
		if a := hold(bad).problem(t); a.status != http.StatusUnauthorized && a.status != http.StatusForbidden {
			t.Errorf("token %.20q: got %d, want 401 or 403", bad, a.status)
		}
	}
	stranger.token = p.token
	stranger.hold(t, "A-1").refused(t, http.StatusForbidden, "not_admitted") // the token of another visitor
	e.count(t, "held", 0)
	e.h.call(t, "POST", e.path("/holds"), body, "X-Queue-Token", p.token, "X-Visitor", p.credential).want(t, http.StatusCreated)
}

func TestHoldIsAnOrderWithItsDeadline(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, nil)
	p := e.buyer(t)
	a := p.hold(t, "A-2", "A-1").want(t, http.StatusCreated)
	if a.text("status") != "PENDING" || a.text("eventId") != e.id || a.number("total", "amount") != 8500 || a.text("total", "currency") != "EUR" {
		t.Errorf("order %s, want PENDING, 8500 EUR", a.body)
	}
	if got := a.texts("seats", "id"); !slices.Contains(got, "A-1") || !slices.Contains(got, "A-2") || len(got) != 2 {
		t.Errorf("seats %v, want A-1 and A-2", got)
	}
	if a.number("seats", 0, "price", "amount") != 4250 || a.text("seats", 0, "category") != "Stalls" || a.text("seats", 0, "label") == "" {
		t.Errorf("seat %v, want label, category, price", a.at("seats", 0))
	}
	if got := a.moment(t, "holdExpiresAt").Sub(a.moment(t, "serverTime")); got != 5*time.Minute {
		t.Errorf("held for %v, want 5m0s", got)
	}
	turn := p.place(t)
	if turn.text("tokenState") != "CLAIMED" || turn.text("orderId") != a.text("orderId") {
		t.Errorf("place %s, want CLAIMED by the order", turn.body)
	}
	again := p.call(t, "GET", "/api/v1/orders/"+a.text("orderId"), nil).want(t, http.StatusOK)
	if again.text("holdExpiresAt") != a.text("holdExpiresAt") || again.text("status") != "PENDING" {
		t.Errorf("the order reads %s, want what the hold said", again.body)
	}
}

func TestRefusalsOfHoldsComeInTheirOrder(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 10, nil)
	p, q := e.buyer(t), e.buyer(t)
	q.holds(t, "A-9", "A-10")
	stranger := e.person(t)
	stranger.token = "nonsense"

	stranger.hold(t, "Z-1", "Z-1").problem(t)
	if a := stranger.hold(t); a.status != 401 && a.status != 403 {
		t.Errorf("no token and no seats: got %d, want the token first", a.status)
	}
	p.hold(t, "Z-1", "A-9", "A-1", "A-1").refused(t, http.StatusUnprocessableEntity, "duplicate_seats")
	p.hold(t, "Z-1", "A-9", "A-1", "A-2", "A-3").refused(t, http.StatusUnprocessableEntity, "too_many_seats")
	p.hold(t).refused(t, http.StatusUnprocessableEntity, "no_seats")
	a := p.hold(t, "A-9", "Z-1", "A-1", "Z-2").refused(t, http.StatusNotFound, "no_such_seat")
	if got := a.texts("seats"); !slices.Equal(got, []string{"Z-1", "Z-2"}) {
		t.Errorf("unknown seats %v, want [Z-1 Z-2]", got)
	}
	a = p.hold(t, "A-1", "A-10", "A-2", "A-9").refused(t, http.StatusConflict, "seats_taken")
	got := a.texts("seats")
	slices.Sort(got)
	if !slices.Equal(got, []string{"A-10", "A-9"}) {
		t.Errorf("lost seats %v, want A-9 and A-10", got)
	}
	e.count(t, "held", 2)
}

func TestB102B103B104OddWishesAreRefusedAndHoldNothing(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 700, nil)
	p := e.buyer(t)
	var many []string
	for i := range 600 {
		many = append(many, fmt.Sprintf("A-%d", i+1))
	}
	p.hold(t, many...).refused(t, http.StatusUnprocessableEntity, "too_many_seats")
	p.hold(t, "A-1", "A-2", "A-3", "A-4", "A-5").refused(t, http.StatusUnprocessableEntity, "too_many_seats")
	p.hold(t, "A-1", "A-1").refused(t, http.StatusUnprocessableEntity, "duplicate_seats")
	for _, seat := range []string{" A-1", "a-1", "A-1 ", "A-1\u0000", "A‑1", "", "A-01", strings.Repeat("A", 10000), "\u202eA-1"} {
		if a := p.hold(t, "A-2", seat).problem(t); a.status != http.StatusNotFound && a.status != http.StatusUnprocessableEntity {
			t.Errorf("seat %.20q: got %d, want 404", seat, a.status)
		}
	}
	for _, count := range []string{"-1", "0", "5", "1000000000", "99999999999999999999", "-99999999999999999999", "1.5", "1e3", `"2"`, "null", "[1]", "true", "{}", "-0", "1e-7", "NaN"} {
		a := p.ask(t, `{"best":{"count":`+count+`}}`).problem(t)
		if a.status != http.StatusUnprocessableEntity && a.status != http.StatusBadRequest {
			t.Errorf("count %s: got %d %s, want 422 or 400", count, a.status, a.text("code"))
		}
	}
	for _, count := range []string{"-1", "0", "5", "1000000000"} {
		p.ask(t, `{"best":{"count":`+count+`}}`).want(t, http.StatusUnprocessableEntity)
	}
	for _, body := range []string{
		`{"seats":"A-1"}`, `{"seats":null}`, `{"seats":[1]}`, `{"seats":[null]}`, `{"seats":[["A-1"]]}`, `{"seats":[{"id":"A-1"}]}`, `{"seats":true}`, `{"seats":{}}`,
		`{"seats":["A-1"],"best":{"count":1}}`, `{"seats":["A-1"],"count":1}`, `{"Seats":["A-1"]}`, `{"best":1}`, `{"best":null}`, `{"best":[]}`, `{"best":{}}`, `{"best":{"count":1,"seats":["A-1"]}}`,
		`{}`, `[]`, `null`, `1`, `"A-1"`, ``, ` `, `{`, `{"seats":["A-1"]`, `{"seats":["A-1"]}x`, `{"seats":["A-1"]}{"seats":["A-2"]}`, `{"seats":["A-1"],}`, `{'seats':['A-1']}`,
		`{"seats":["A-1"],"seats":["A-2"]}`, `{"seats":[` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `]}`, "\ufeff" + `{"seats":["A-1"]}`, "{\"seats\":[\"\xff\"]}",
		`{"best":{"count":1,"category":5}}`, `{"best":{"count":1,"category":["Stalls"]}}`, `{"best":{"count":1,"category":"Nowhere"}}`,
	} {
		p.ask(t, body).problem(t)
	}
	e.count(t, "held", 0)
	if got := p.place(t).text("tokenState"); got != "READY" {
		t.Errorf("after refusals the turn is %s, want READY", got)
	}
}

func TestBestSeatsComeTogetherInTheirCategory(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 0, nil)
	e.plan(t, "zone,row,seat,category\nS,A,1,Stalls\nS,A,2,Stalls\nS,A,3,Stalls\nB,C,1,Balcony\nB,C,2,Balcony\n").want(t, http.StatusOK)
	p, q := e.buyer(t), e.buyer(t)
	a := p.ask(t, object{"best": object{"count": 2, "category": "Balcony"}}).want(t, http.StatusCreated)
	if got := a.texts("seats", "id"); !slices.Equal(got, []string{"C-1", "C-2"}) || a.number("total", "amount") != 5800 {
		t.Errorf("best Balcony: %v for %d, want C-1 and C-2 for 5800", got, a.number("total", "amount"))
	}
	q.ask(t, object{"best": object{"count": 1, "category": "Balcony"}}).refused(t, http.StatusConflict, "not_enough_seats")
	q.ask(t, object{"best": object{"count": 4}}).refused(t, http.StatusConflict, "not_enough_seats")
	q.ask(t, object{"best": object{"count": 3}}).want(t, http.StatusCreated)
	e.count(t, "held", 5)
}

func TestB27NewHoldReplacesTheOldOneInOneStep(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 8, nil)
	p, other := e.buyer(t), e.buyer(t)
	other.holds(t, "A-8")
	first := p.holds(t, "A-1", "A-2", "A-3", "A-4")
	p.hold(t, "A-1", "A-2", "A-3", "A-4", "A-5").refused(t, http.StatusUnprocessableEntity, "too_many_seats")
	a := p.hold(t, "A-1", "A-2", "A-8").refused(t, http.StatusConflict, "seats_taken")
	if got := a.texts("seats"); !slices.Equal(got, []string{"A-8"}) {
		t.Errorf("lost seats %v, want only A-8: the own hold is not in the way", got)
	}
	if got := first.get(t).text("status"); got != "PENDING" {
		t.Errorf("after a refused change the hold is %s, want PENDING", got)
	}
	second := p.holds(t, "A-2", "A-3", "A-4", "A-5")
	if second.id == first.id {
		t.Error("a new hold has the order of the old one")
	}
	if got := first.get(t).text("status"); got != "CANCELLED" {
		t.Errorf("the replaced order is %s, want CANCELLED", got)
	}
	other.holds(t, "A-1")
	if got := p.place(t).text("orderId"); got != second.id {
		t.Errorf("the place names order %s, want %s", got, second.id)
	}
}

func TestRenewingAHoldDoesNotExtendIt(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, object{"holdSeconds": 4})
	p := e.buyer(t)
	a := p.hold(t, "A-1", "A-2").want(t, http.StatusCreated)
	deadline := a.moment(t, "holdExpiresAt")
	for _, seats := range [][]string{{"A-1", "A-2"}, {"A-2", "A-1"}, {"A-1", "A-2"}} {
		until(t, "a moment later", patience, func() bool { return p.place(t).moment(t, "serverTime").After(a.moment(t, "serverTime")) })
		if got := p.hold(t, seats...).want(t, http.StatusCreated).moment(t, "holdExpiresAt"); got.After(deadline) {
			t.Errorf("renewed until %v, want %v", got, deadline)
		}
	}
}

func TestB28HoldIsAllOrNothing(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, nil)
	p, q := e.buyer(t), e.buyer(t)
	q.holds(t, "A-3")
	p.hold(t, "A-1", "A-2", "A-3", "A-4").refused(t, http.StatusConflict, "seats_taken")
	p.hold(t, "A-1", "nowhere").refused(t, http.StatusNotFound, "no_such_seat")
	e.count(t, "held", 1)
	e.buyer(t).holds(t, "A-1", "A-2", "A-4")
}

func TestB24AllSeatsAreFreeAfterLapseCancelReleaseLeaveAndFailedPayment(t *testing.T) {
	t.Parallel()
	ends := map[string]func(t *testing.T, o order){
		"lapse": func(t *testing.T, o order) { o.becomes(t, "EXPIRED") },
		"cancel": func(t *testing.T, o order) {
			if got := o.cancel(t).want(t, http.StatusOK).text("status"); got != "CANCELLED" {
				t.Errorf("cancelled order is %s", got)
			}
		},
		"release": func(t *testing.T, o order) {
			o.release(t).want(t, http.StatusNoContent)
			o.release(t).want(t, http.StatusNoContent)
			if got := o.place(t).text("tokenState"); got != "READY" {
				t.Errorf("after release the turn is %s, want READY", got)
			}
		},
		"leave": func(t *testing.T, o order) { o.leave(t).want(t, http.StatusNoContent) },
		"failed payment": func(t *testing.T, o order) {
			id := o.pays(t)
			o.e.h.tell(t, o.news("failed", id)).want(t, http.StatusOK)
			if got := o.get(t).text("status"); got != "PENDING" {
				t.Errorf("after payment.failed the order is %s, want PENDING", got)
			}
			o.becomes(t, "EXPIRED")
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := object{"holdSeconds": 2, "paySeconds": 1, "payMarginSeconds": 1}
			if name == "cancel" || name == "release" || name == "leave" {
				rules = nil
			}
			e := eventOf(t, shared, 0, rules)
			e.plan(t, "zone,row,seat,category\nS,A,1,Stalls\nS,A,2,Stalls\nS,A,3,Stalls\nB,B,1,Balcony\n").want(t, http.StatusOK)
			p := e.buyer(t)
			o := p.holds(t, "A-1", "A-2", "A-3", "B-1")
			if o.total != 3*4250+2900 {
				t.Errorf("total %d, want %d", o.total, 3*4250+2900)
			}
			end(t, o)
			e.buyer(t).holds(t, "A-1", "A-2", "A-3", "B-1").cancel(t)
			e.count(t, "available", 4)
		})
	}
}

func TestLapsedHoldGivesTheTurnBackWhileItLasts(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, object{"holdSeconds": 2})
	p := e.buyer(t)
	o := p.holds(t, "A-1")
	deadline := o.get(t).moment(t, "holdExpiresAt")
	a := o.becomes(t, "EXPIRED")
	if a.moment(t, "serverTime").Before(deadline) {
		t.Errorf("expired at %v, before %v", a.moment(t, "serverTime"), deadline)
	}
	if got := p.place(t).text("tokenState"); got != "READY" {
		t.Errorf("after the lapse the turn is %s, want READY", got)
	}
	o.pay(t).refused(t, http.StatusGone, "hold_expired")
	p.holds(t, "A-2")
}

func TestReleaseAndHoldAreRefusedWhileAPaymentRuns(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, nil)
	p := e.buyer(t)
	o := p.holds(t, "A-1")
	o.pays(t)
	o.release(t).refused(t, http.StatusConflict, "payment_running")
	p.hold(t, "A-2").refused(t, http.StatusConflict, "turn_in_use")
	p.hold(t, "A-1").refused(t, http.StatusConflict, "turn_in_use")
	o.confirm(t, "k", o.money()).want(t, http.StatusOK)
	o.release(t).refused(t, http.StatusConflict, "order_paid")
	o.cancel(t).problem(t).want(t, http.StatusConflict)
	o.pay(t).refused(t, http.StatusConflict, "order_paid")
	p.hold(t, "A-2").refused(t, http.StatusForbidden, "not_admitted")
}
