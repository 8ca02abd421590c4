package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/sale"
)

func TestMattersAreNamedInOneWay(t *testing.T) {
	const a, b = "01a232fa-6380-7000-beda-5f3c5b446d27", "01a232fa-6380-7003-9878-92cf79cbf0ad"
	for _, name := range []string{"payment-1", "payment-18446744073709551615", "refund-" + a + "-" + b, "message-" + a, "message-x-1"} {
		if id, err := matterOf(name); err != nil || id.String() != name {
			t.Errorf("%s reads as %v, %v", name, id, err)
		}
	}
	for _, name := range []string{"", "payment", "payment-", "payment-0", "payment-01", "payment--1", "payment-18446744073709551616", "message-", "refund-", "refund-" + a, "refund-" + a + "-x",
		"refund-" + a + "_" + b, "refund-{" + a[:34] + "}-" + b, "refund-01A232FA-6380-7000-BEDA-5F3C5B446D27-" + b, "Payment-1", "7"} {
		if id, err := matterOf(name); err != sale.ErrNoSuchMatter {
			t.Errorf("%s reads as %v, %v", name, id, err)
		}
	}
}

const matters = "/api/v1/admin/attention/"

func (h *house) settle(item *answer, how, body string) *answer {
	h.t.Helper()
	return h.staff("POST", matters+item.text("id")+"/"+how, body)
}

func (a *answer) can(ways ...string) *answer {
	a.t.Helper()
	if got := a.each("actions", ""); !slices.Equal(got, ways) {
		a.t.Errorf("%s %s: can %v, want %v", a.text("kind"), a.text("id"), got, ways)
	}
	return a
}

func TestStaffDecideAboutMoneyOfTheWrongSum(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	_, order := h.held("gala", `["A-1"]`)
	h.money(order, "p1", 4000)
	m := h.matter(0).can("complete", "refund", "dismiss").holds(map[string]any{
		"kind": "payment", "attention": "amount_mismatch", "expected.amount": 4250.0, "refund.state": "REQUESTED", "refund.amount.amount": 4000.0,
		"refund.requestedAt": "2026-12-01T19:00:00.000Z", "refund.dueAt": "2026-12-02T19:00:00.000Z", "refund.doneAt": nil})
	h.settle(m, "dismiss", "").refused(422, "bad_reason")
	h.settle(m, "dismiss", `{"reason":"  "}`).refused(422, "bad_reason")
	h.settle(m, "complete", `{"order":"x"}`).refused(400, "unknown_field")
	h.settle(m, "complete", `{"orderId":"x"}`).refused(422, "bad_field")
	h.settle(m, "burn", "").refused(404, "no_such_route")
	h.settle(m, "complete", "").want(204)
	h.settle(m, "complete", "").refused(404, "no_such_matter")
	h.staff("GET", "/api/v1/admin/orders/"+order, "").holds(map[string]any{"status": "PAID", "total.amount": 4250.0, "payments.0.amount.amount": 4000.0})
	h.clock.pass(25 * time.Hour)
	h.giveBack()
	if a := h.staff("GET", matters[:len(matters)-1], ""); string(a.Body) != `{"items":[],"next":null}` {
		t.Errorf("money that was taken goes back: %s", a.Body)
	}
	a := h.staff("GET", "/api/v1/admin/audit", "")
	if a.text("items.0.act") != "attention.complete" || a.text("items.0.actor") != "staff:preset" {
		t.Errorf("the audit has %s", a.Body)
	}

	_, other := h.held("gala", `["A-2"]`)
	h.money(other, "p2", 4000)
	m = h.matter(0)
	h.till.stubborn = true
	h.settle(m, "refund", "").want(204)
	h.giveBack()
	m = h.matter(0).can("complete", "refund", "dismiss").holds(map[string]any{"refund.state": "FAILED", "refund.dueAt": nil})
	if m.text("refund.answer") == "" {
		t.Errorf("no word of why: %s", m.Body)
	}
	h.settle(m, "dismiss", `{"reason":"given in cash"}`).want(204)
	if a := h.staff("GET", "/api/v1/admin/attention", ""); a.field("items.0") != nil {
		t.Errorf("what is dismissed is on the list: %s", a.Body)
	}
}

func TestStaffDecideAboutMoneyOfAnUnknownOrder(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	visitor, order := h.held("gala", `["A-1"]`)
	h.money("nobody", "p1", 4250)
	h.money("nobody else", "p2", 1)
	first, second := h.matter(0).can("complete", "refund", "dismiss"), h.matter(1)
	h.settle(first, "complete", `{"orderId":"6ba7b810-9dad-41d1-80b4-00c04fd430c8"}`).refused(404, "no_such_order")
	h.settle(first, "complete", "").refused(422, "bad_reason")
	h.settle(first, "complete", `{"orderId":"`+order+`"}`).want(204)
	h.do("GET", "/api/v1/orders/"+order, "", "X-Visitor", visitor).holds(map[string]any{"status": "PAID"})
	h.settle(second, "complete", `{"reason":"Found its owner"}`).want(204)
	// A second payment goes back by itself, and stays on the list to be seen.
	h.money(order, "p3", 4250)
	h.giveBack()
	m := h.matter(0).can("complete", "dismiss").holds(map[string]any{"attention": "surplus_payment", "refund.state": "DONE", "refund.doneAt": "2026-12-01T19:00:00.000Z"})
	h.settle(m, "complete", `{"reason":"Seen"}`).want(204)
}

func TestStaffDecideAboutRefundsThatFail(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	visitor, order, _ := h.bought("gala", `["A-1","A-2"]`)
	h.till.stubborn = true
	h.staff("POST", "/api/v1/admin/orders/"+order+"/refund", `{"seats":["A-1"]}`).want(200)
	m := h.matter(0).can("refund").holds(map[string]any{
		"kind": "refund_due", "orderId": order, "orderStatus": "PAID", "event": "gala", "state": "REQUESTED", "amount.amount": 4250.0, "seats.0": "A-1", "provider": "demo"})
	h.settle(m, "complete", "").refused(409, "refund_running")
	h.settle(m, "dismiss", `{"reason":"no"}`).refused(409, "not_that_way")
	h.giveBack()
	m = h.matter(0).can("complete", "refund").holds(map[string]any{"kind": "refund_failed", "state": "FAILED", "orderStatus": "PAID"})
	if m.text("answer") == "" || m.text("reason") == "" {
		t.Errorf("no word of why: %s", m.Body)
	}
	const why = "the card is closed"
	mine := h.do("GET", "/api/v1/orders/"+order, "", "X-Visitor", visitor).holds(map[string]any{"refund.state": "FAILED", "history.4.cause": "refund.failed"})
	theirs := h.staff("GET", "/api/v1/orders/"+order, "")
	if strings.Contains(string(mine.Body), why) || !strings.Contains(theirs.text("refund.answer"), why) || !strings.Contains(theirs.text("history.4.detail"), why) {
		t.Errorf("the buyer reads %s, staff %s", mine.Body, theirs.Body)
	}
	h.settle(m, "refund", "").want(204)
	again := h.matter(0).can("refund").holds(map[string]any{"kind": "refund_due"})
	if again.text("id") == m.text("id") {
		t.Error("a new refund has the old name")
	}
	h.settle(m, "refund", "").refused(404, "no_such_matter")
	h.giveBack()
	h.settle(h.matter(0), "complete", `{"reason":"In cash"}`).want(204)
	h.staff("GET", "/api/v1/admin/orders/"+order, "").holds(map[string]any{"status": "PAID", "refund.state": "DONE", "refunds.1": nil, "refunded.amount": 4250.0})
	// The provider has taken it on and will tell.
	h.till.stubborn, h.till.slow = false, true
	h.staff("POST", "/api/v1/admin/orders/"+order+"/refund", "").want(200)
	h.giveBack()
	m = h.matter(0).can().holds(map[string]any{"kind": "refund_due", "state": "SENT", "orderStatus": "REFUND_DUE"})
	h.settle(m, "complete", "").refused(409, "refund_running")
	h.staff("POST", "/api/v1/admin/orders/"+order+"/complete", "").refused(409, "refund_running")
}

func TestStaffDecideAboutDeadMessages(t *testing.T) {
	h := newHouse(t)
	h.deadMessage()
	m := h.matter(0).can("complete", "dismiss").holds(map[string]any{"kind": "dead_message"})
	h.settle(m, "refund", "").refused(409, "not_that_way")
	h.settle(m, "dismiss", "").refused(422, "bad_reason")
	h.settle(m, "dismiss", `{"reason":"The shop is gone"}`).want(204)
	h.settle(m, "dismiss", `{"reason":"The shop is gone"}`).refused(404, "no_such_matter")
	if left, _ := h.office.Messages("", 0, 9); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	if a := h.staff("GET", "/api/v1/admin/audit", ""); a.text("items.0.act") != "message.drop" {
		t.Errorf("the audit has %s", a.Body)
	}
	h.many(2)
	h.settle(h.matter(0), "complete", "").want(204)
	left, _ := h.office.Messages(outbox.Dead, 0, 9)
	if len(left) != 1 {
		t.Fatalf("left %v", left)
	}
	// One that waits is none that needs a person.
	h.staff("POST", "/api/v1/admin/outbox/"+left[0].ID+"/retry", "").want(204)
	h.staff("POST", matters+"message-"+left[0].ID+"/complete", "").refused(404, "no_such_matter")
}

func TestWhatWasDecidedStaysToBeSeen(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	for n := range 3 {
		h.tells(sale.FactSucceeded, uuid.NewString(), fmt.Sprint("p", n), 100+n, "")
	}
	for range 2 {
		h.settle(h.matter(0), "dismiss", `{"reason":"another shop's"}`).want(204)
	}
	a := h.staff("GET", "/api/v1/admin/attention?settled=1&limit=1", "").want(200)
	a.holds(map[string]any{"items.0.paymentId": "p1", "items.0.amount.amount": 101.0, "items.0.settled.by": "staff:preset", "items.0.settled.how": "dismiss",
		"items.0.settled.reason": "another shop's", "items.0.settled.at": "2026-12-01T19:00:00.000Z"})
	a = h.staff("GET", "/api/v1/admin/attention?settled=1&limit=1&cursor="+a.text("next"), "").want(200)
	a.holds(map[string]any{"items.0.paymentId": "p0", "next": nil})
	if list := h.staff("GET", "/api/v1/admin/attention", "").want(200).each("items", "paymentId"); !slices.Equal(list, []string{"p2"}) {
		t.Errorf("undecided are %v", list)
	}
	for _, odd := range []string{"settled=0", "settled=1&cursor=0", "settled=1&cursor=x", "settled=1&settled=1"} {
		h.staff("GET", "/api/v1/admin/attention?"+odd, "").want(400)
	}
	h.staff("GET", "/api/v1/admin/audit?limit=1", "").want(200).says("p1 101 EUR (minor units) another shop")
}
