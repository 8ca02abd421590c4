package contract

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// paidBy is an order that the demo provider took the money of.
func (p *person) paidBy(t *testing.T, seats ...string) order {
	t.Helper()
	o := p.holds(t, seats...)
	o.e.h.tell(t, o.news("succeeded", o.pays(t))).want(t, http.StatusOK)
	o.becomes(t, "PAID")
	return o
}

// staff is a staff act on the order: staff(t, "/refund", nil).
func (o order) staff(t *testing.T, act string, body any) answer {
	t.Helper()
	return o.e.h.staff(t, "POST", "/admin/orders/"+o.id+act, body)
}

// seen is the order for staff.
func (o order) seen(t *testing.T) answer {
	t.Helper()
	return o.e.h.staff(t, "GET", "/admin/orders/"+o.id, nil).want(t, http.StatusOK)
}

// codes are the codes at the door of the tickets that the order shows.
func (o order) codes(t *testing.T) []string {
	t.Helper()
	return o.get(t).texts("tickets", "code")
}

// checkIn shows a code at the door.
func (e event) checkIn(t *testing.T, code string) answer {
	t.Helper()
	return e.staff(t, "POST", "/checkin", object{"code": code})
}

// item is the one entry of the attention list that speaks of an order.
func (h *house) item(t *testing.T, orderID string) (id string, item map[string]any) {
	t.Helper()
	for _, v := range h.staff(t, "GET", "/admin/attention", nil).want(t, http.StatusOK).list("items") {
		m, _ := v.(map[string]any)
		if m["orderId"] == orderID {
			id, _ = m["id"].(string)
			return id, m
		}
	}
	t.Errorf("nothing on the attention list speaks of %s", orderID)
	return "", nil
}

func TestB48B52RefundOfOneSeatLeavesTheOthers(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, nil)
	o := e.buyer(t).paidBy(t, "A-1", "A-2", "A-3", "A-4")
	codes := o.codes(t)
	a := o.staff(t, "/refund", object{"seats": []string{"A-2"}, "reason": "Ill"}).want(t, http.StatusOK)
	if a.text("status") != "PAID" || a.number("refunded", "amount") != 4250 || a.number("total", "amount") != 17000 || a.number("refund", "amount", "amount") != 4250 {
		t.Errorf("refunded one of four: %s", a.body)
	}
	if got := o.get(t).texts("tickets", "seat", "id"); !slices.Equal(got, []string{"A-1", "A-3", "A-4"}) {
		t.Errorf("tickets of %v are left", got)
	}
	e.count(t, "available", 1)
	e.count(t, "sold", 3)
	e.checkIn(t, codes[1]).refused(t, http.StatusConflict, "ticket_void")
	for _, i := range []int{0, 2, 3} {
		e.checkIn(t, codes[i]).want(t, http.StatusOK)
	}
	// The seat is sold to somebody else while the money is still on its way.
	e.buyer(t).bought(t, "A-2")
	e.checkIn(t, codes[1]).refused(t, http.StatusConflict, "ticket_void")
	until(t, "the money is back", patience, func() bool { return o.get(t).text("refund", "state") == "DONE" })
	a = o.get(t).want(t, http.StatusOK)
	if a.text("status") != "PAID" || a.number("refunded", "amount") != 4250 || a.text("refund", "doneAt") == "" || a.text("refund", "seats", 0) != "A-2" || a.at("seats", 1, "refunded") != true || a.at("seats", 0, "refunded") != nil {
		t.Errorf("after the refund: %s", a.body)
	}
	states := map[string]string{}
	all := e.staff(t, "GET", "/tickets", nil).want(t, http.StatusOK)
	for i, state := range all.texts("items", "state") {
		if all.text("items", i, "orderId") == o.id {
			states[all.text("items", i, "seat", "id")] = state
		}
	}
	if want := map[string]string{"A-1": "USED", "A-2": "VOID", "A-3": "USED", "A-4": "USED"}; fmt.Sprint(states) != fmt.Sprint(want) {
		t.Errorf("at the door %v, want %v", states, want)
	}
}

func TestB49B54RefundOfAWholeOrder(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 2, nil)
	o := e.buyer(t).paidBy(t, "A-1", "A-2")
	codes := o.codes(t)
	a := o.staff(t, "/refund", nil).want(t, http.StatusOK)
	if a.text("status") != "REFUND_DUE" || a.at("tickets") != nil || a.text("provider") != "demo" || a.text("paymentId") == "" {
		t.Errorf("right after: %s", a.body)
	}
	for _, code := range codes {
		e.checkIn(t, code).refused(t, http.StatusConflict, "ticket_void")
	}
	if page := o.call(t, "GET", "/orders/"+o.id, nil, "Accept", "text/html", "Cookie", "foyer_visitor="+o.credential); strings.Contains(page.body, codes[0]) || !strings.Contains(page.body, "on its way back") {
		t.Errorf("the buyer's page: %d %s", page.status, short(page.body))
	}
	next := e.buyer(t).bought(t, "A-1", "A-2") // on sale again at once
	o.becomes(t, "REFUNDED")
	o.staff(t, "/refund", nil).want(t, http.StatusOK)
	if got := o.get(t); got.number("refunded", "amount") != 8500 || len(got.list("refunds")) != 1 {
		t.Errorf("refunded twice: %s", got.body)
	}
	for _, code := range codes {
		e.checkIn(t, code).refused(t, http.StatusConflict, "ticket_void")
	}
	e.checkIn(t, next.codes(t)[0]).want(t, http.StatusOK)
	until(t, "order.refunded", patience, func() bool {
		got := e.h.sink.of(o.id)
		return len(got) > 0 && got[len(got)-1].Topic == "order.refunded"
	})
	var topics []string
	for _, m := range e.h.sink.of(o.id) {
		topics = append(topics, m.Topic)
	}
	if want := []string{"order.paid", "ticket.issued", "ticket.issued", "order.refund_due", "order.refunded"}; !slices.Equal(topics, want) {
		t.Errorf("messages %v, want %v", topics, want)
	}
	if got := e.h.attention(t, o.id); len(got) != 0 {
		t.Errorf("a refund that is done needs attention: %v", got)
	}
	e.count(t, "sold", 2)
}

func TestB54RefundInTheProvidersOwnPages(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 2, nil)
	o := e.buyer(t).holds(t, "A-1")
	payment := o.pays(t)
	e.h.tell(t, o.news("succeeded", payment)).want(t, http.StatusOK)
	code := o.codes(t)[0]
	for range 3 { // three statements about one refund
		e.h.tell(t, o.news("refunded", payment)).want(t, http.StatusOK)
	}
	a := o.becomes(t, "REFUNDED")
	if a.number("refunded", "amount") != 4250 || len(a.list("refunds")) != 1 || a.at("tickets") != nil {
		t.Errorf("got %s", a.body)
	}
	e.checkIn(t, code).refused(t, http.StatusConflict, "ticket_void")
	e.buyer(t).bought(t, "A-1")
}

func TestB53RefundThatKeepsTheSeatsOffSale(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 3, nil)
	o := e.buyer(t).bought(t, "A-1", "A-2")
	if a := o.staff(t, "/refund", object{"release": false}).want(t, http.StatusOK); a.text("status") != "REFUND_DUE" {
		t.Errorf("got %s", a.body)
	}
	e.count(t, "offSale", 2)
	e.buyer(t).hold(t, "A-1").refused(t, http.StatusConflict, "seats_taken")
	e.staff(t, "POST", "/seats", object{"seats": []string{"A-1", "A-2"}, "state": "AVAILABLE"}).want(t, http.StatusOK)
	e.count(t, "available", 3)
	// The venue's own shop has the money and returns it; staff say so.
	id, item := e.h.item(t, o.id)
	if item["kind"] != "refund_due" || fmt.Sprint(item["actions"]) != "[complete]" {
		t.Errorf("on the list: %v", item)
	}
	e.h.staff(t, "POST", "/admin/attention/"+id+"/dismiss", object{"reason": "no"}).refused(t, http.StatusConflict, "not_that_way")
	e.h.staff(t, "POST", "/admin/attention/"+id+"/refund", nil).refused(t, http.StatusConflict, "not_that_way")
	e.h.staff(t, "POST", "/admin/attention/"+id+"/complete", nil).want(t, http.StatusNoContent)
	e.h.staff(t, "POST", "/admin/attention/"+id+"/complete", nil).refused(t, http.StatusNotFound, "no_such_matter")
	o.becomes(t, "REFUNDED")
}

func TestB39LateMoneyIsReturnedAndTheBuyerReadsIt(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 1, object{"holdSeconds": 2, "paySeconds": 1, "payMarginSeconds": 1})
	o := e.buyer(t).holds(t, "A-1")
	payment := o.pays(t)
	o.becomes(t, "EXPIRED")
	e.buyer(t).bought(t, "A-1")
	e.h.tell(t, o.news("succeeded", payment)).want(t, http.StatusOK)
	a := o.becomes(t, "REFUNDED")
	causes := a.texts("history", "cause")
	for _, want := range []string{"hold.made", "payment.started", "hold.lapsed", "payment.too_late", "refund.done"} {
		if !slices.Contains(causes, want) {
			t.Errorf("the history %v lacks %s", causes, want)
		}
	}
	if a.number("refunded", "amount") != 4250 || a.moment(t, "refund", "doneAt").IsZero() {
		t.Errorf("got %s", a.body)
	}
}

func TestHistoryTellsEverythingAndNamesStaffToStaffOnly(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 2, nil)
	o := e.buyer(t).paidBy(t, "A-1", "A-2")
	code := o.codes(t)[0]
	e.checkIn(t, code).want(t, http.StatusOK)
	o.staff(t, "/resend", nil).want(t, http.StatusOK)
	o.staff(t, "/refund", object{"seats": []string{"A-2"}}).want(t, http.StatusOK)
	mine, theirs := o.get(t), o.seen(t)
	want := []string{"hold.made", "payment.started", "payment.succeeded", "ticket.used", "resent", "refund.requested"}
	for _, a := range []answer{mine, theirs} {
		if got := a.texts("history", "cause"); len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("history %v, want %v", got, want)
		}
		if a.text("history", 0, "at") != a.text("createdAt") || a.text("history", 0, "by") != "visitor" || a.text("history", 2, "by") != "demo" {
			t.Errorf("the beginning of %s", a.body)
		}
		last := time.Time{}
		for i := range a.list("history") {
			at := a.moment(t, "history", i, "at")
			if at.Before(last) {
				t.Errorf("step %d is before the one before it", i)
			}
			last = at
		}
	}
	if mine.text("history", 3, "by") != "staff" || theirs.text("history", 3, "by") != "staff:preset" || mine.at("payments") != nil || theirs.at("payments") == nil {
		t.Errorf("the buyer reads %s, staff %s", mine.body, theirs.body)
	}
	got := e.h.sink.sold(t, o.id, 2+3) // and both tickets again; no other message has the same id
	ids := map[string]bool{}
	for _, m := range got {
		ids[m.ID] = true
	}
	if len(ids) != len(got) {
		t.Errorf("messages sent again have old ids: %v", got)
	}
}

func TestB34B37StrayMoneyIsDecidedOrGoesBack(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 3, nil)
	// Of the wrong sum: staff take it as it is.
	o := e.buyer(t).holds(t, "A-1")
	wrong := o.news("succeeded", o.pays(t))
	wrong["amount"] = 4000
	e.h.tell(t, wrong).want(t, http.StatusOK)
	id, item := e.h.item(t, o.id)
	refund, _ := item["refund"].(map[string]any)
	if fmt.Sprint(item["actions"]) != "[complete refund dismiss]" || refund["state"] != "REQUESTED" || refund["dueAt"] == nil {
		t.Errorf("on the list: %v", item)
	}
	path := "/admin/attention/" + id
	e.h.staff(t, "POST", path+"/dismiss", nil).refused(t, http.StatusUnprocessableEntity, "bad_reason")
	e.h.staff(t, "POST", path+"/complete", object{"x": 1}).refused(t, http.StatusBadRequest, "unknown_field")
	codes := make([]int, 8)
	together(len(codes), func(i int) { codes[i] = e.h.staff(t, "POST", path+"/complete", nil).status })
	slices.Sort(codes)
	if codes[0] != http.StatusNoContent || codes[1] != http.StatusNotFound {
		t.Errorf("eight decided at once: %v, want one 204", codes)
	}
	o.becomes(t, "PAID")
	// A second time: it goes back by itself.
	e.h.tell(t, o.news("succeeded", "dp_again_"+o.id)).want(t, http.StatusOK) // of the right sum, which the order does not need any more
	var state any
	until(t, "the second payment is back", patience, func() bool {
		id, item = e.h.item(t, o.id)
		refund, _ = item["refund"].(map[string]any)
		state = refund["state"]
		return state == "DONE"
	})
	e.h.staff(t, "POST", "/admin/attention/"+id+"/refund", nil) // there is nothing left to return
	e.h.staff(t, "POST", "/admin/attention/"+id+"/complete", object{"reason": "seen"})
	if got := e.h.attention(t, o.id); len(got) != 0 {
		t.Errorf("decided, and still on the list: %v", got)
	}
	if got := o.get(t).text("status"); got != "PAID" {
		t.Errorf("order %s, want PAID", got)
	}
}

func TestMoneyOfAnUnknownOrderIsBookedReturnedOrDismissed(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 1, nil)
	o := e.buyer(t).holds(t, "A-1")
	stray := func(name string) (path string) {
		id := fmt.Sprintf("lost-%s-%s", name, e.id)
		e.h.tell(t, object{"type": "payment.succeeded", "paymentId": "dp_" + id, "orderId": id, "amount": 4250, "currency": "EUR", "createdAt": "2026-01-01T00:00:00.000Z"}).want(t, http.StatusOK)
		matter, _ := e.h.item(t, id)
		return "/admin/attention/" + matter
	}
	booked, returned, dismissed := stray("booked"), stray("returned"), stray("dismissed")
	e.h.staff(t, "POST", booked+"/complete", object{"orderId": "5c8e1f0a-0000-4000-8000-000000000000"}).refused(t, http.StatusNotFound, "no_such_order")
	e.h.staff(t, "POST", booked+"/complete", object{"orderId": o.id}).want(t, http.StatusNoContent)
	if a := o.becomes(t, "PAID"); len(a.list("tickets")) != 1 {
		t.Errorf("booked: %s", a.body)
	}
	e.h.staff(t, "POST", returned+"/refund", nil).want(t, http.StatusNoContent)
	e.h.staff(t, "POST", dismissed+"/dismiss", nil).refused(t, http.StatusUnprocessableEntity, "bad_reason")
	e.h.staff(t, "POST", dismissed+"/dismiss", object{"reason": "a test of " + e.id}).want(t, http.StatusNoContent)
	for _, path := range []string{booked, returned, dismissed} {
		e.h.staff(t, "POST", path+"/dismiss", object{"reason": "again"}).refused(t, http.StatusNotFound, "no_such_matter")
	}
	var line map[string]any
	for _, v := range e.h.staff(t, "GET", "/admin/audit?limit=500", nil).want(t, http.StatusOK).list("items") {
		if m, _ := v.(map[string]any); strings.Contains(fmt.Sprint(m["detail"]), "a test of "+e.id) {
			line = m
		}
	}
	if line["actor"] != "staff:preset" || line["act"] != "attention.dismiss" {
		t.Errorf("the audit has %v", line)
	}
}
