package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"foyer/sale"
)

// moneyErrors reaches the rows of the error table about orders, tickets and the
// attention list.
func moneyErrors(h *house, check func(*answer, string)) {
	h.event("gala")
	_, held := h.held("gala", `["A-1"]`)
	_, order, codes := h.bought("gala", `["A-2","A-3"]`)
	const events, orders, matters = "/api/v1/admin/events/gala/", "/api/v1/admin/orders/", "/api/v1/admin/attention/"
	checkIn := func(code string) *answer { return h.staff("POST", events+"checkin", `{"code":"`+code+`"}`) }
	check(h.staff("POST", orders+held+"/refund", ""), "order_not_paid")
	check(h.staff("POST", orders+order+"/refund", `{"reason":"`+strings.Repeat("x", 301)+`"}`), "bad_reason")
	check(h.staff("POST", orders+held+"/complete", `{"method":"barter"}`), "bad_sale")
	check(checkIn("code-of-nobody"), "no_such_ticket")
	checkIn(codes[0]).want(200)
	check(checkIn(codes[0]), "ticket_used")
	h.till.slow = true
	h.staff("POST", orders+order+"/refund", `{"seats":["A-3"]}`).want(200)
	check(checkIn(codes[1]), "ticket_void")
	check(h.staff("POST", matters+"payment-7/complete", ""), "no_such_matter")
	item := h.matter(0)
	check(h.staff("POST", matters+item.text("id")+"/dismiss", `{"reason":"no"}`), "not_that_way")
	h.giveBack()
	check(h.staff("POST", matters+item.text("id")+"/complete", ""), "refund_running")
}

func TestB48RefundOfAPartAndOfTheRest(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	visitor, order, _ := h.bought("gala", `["A-1","A-2","A-3"]`)
	path := "/api/v1/admin/orders/" + order
	h.clock.pass(time.Minute)
	a := h.staff("POST", path+"/refund", `{"seats":["A-2"],"reason":"Ill"}`).want(200)
	a.holds(map[string]any{
		"status": "PAID", "total.amount": 12750.0, "refunded.amount": 4250.0, "refunded.currency": "EUR", "refund.state": "REQUESTED",
		"refund.amount.amount": 4250.0, "refund.seats.0": "A-2", "refund.seats.1": nil, "refund.reason": "Ill", "refund.requestedAt": "2026-12-01T19:01:00.000Z",
		"refund.doneAt": nil, "seats.0.refunded": nil, "seats.1.refunded": true, "tickets.0.seat.id": "A-1", "tickets.1.seat.id": "A-3", "tickets.2": nil,
		"provider": "demo", "payments.0.state": "SUCCEEDED", "payments.0.amount.amount": 12750.0, "payments.1": nil,
	})
	if a.text("paymentId") == "" || a.text("refund.refundId") == "" || a.text("refund.refundId") != a.text("refunds.0.refundId") {
		t.Errorf("got %s", a.Body)
	}
	if got := h.do("GET", "/api/v1/events/gala/seats", "").text("states"); got != "SASAAA" {
		t.Errorf("the house is %s", got)
	}
	h.staff("POST", path+"/refund", `{"seats":["A-2"]}`).want(200).holds(map[string]any{"refunded.amount": 4250.0, "refunds.1": nil})
	h.giveBack()
	a = h.staff("GET", path, "").want(200).holds(map[string]any{"status": "PAID", "refunded.amount": 4250.0, "refund.state": "DONE", "refund.doneAt": "2026-12-01T19:01:00.000Z"})
	if got := a.each("history", "cause"); !slices.Equal(got, []string{"hold.made", "payment.started", "payment.succeeded", "refund.requested", "refund.done"}) {
		t.Errorf("history %v", got)
	}
	a.holds(map[string]any{"history.0.by": "visitor", "history.0.status": "PENDING", "history.0.at": "2026-12-01T19:00:00.000Z", "history.2.by": "demo", "history.3.by": "staff:preset"})
	mine := h.do("GET", "/api/v1/orders/"+order, "", "X-Visitor", visitor).want(200)
	mine.holds(map[string]any{"history.3.by": "staff", "provider": nil, "paymentId": nil, "payments": nil, "refunded.amount": 4250.0, "tickets.2": nil, "refund.reason": "Ill"})
	if strings.Contains(string(mine.Body), "preset") {
		t.Errorf("the buyer reads a key's id: %s", mine.Body)
	}
	h.clock.pass(time.Minute)
	h.staff("POST", path+"/refund", `{"release":false}`).want(200).holds(map[string]any{
		"status": "REFUND_DUE", "refunded.amount": 12750.0, "refund.amount.amount": 8500.0, "tickets": nil, "seats.0.refunded": true})
	if got := h.do("GET", "/api/v1/events/gala/seats", "").text("states"); got != "OAOAAA" {
		t.Errorf("the house is %s", got)
	}
	h.giveBack()
	h.do("GET", "/api/v1/orders/"+order, "", "X-Visitor", visitor).holds(map[string]any{"status": "REFUNDED", "refunds.1.state": "DONE", "refunds.2": nil})
	h.staff("POST", path+"/refund", "").want(200).holds(map[string]any{"status": "REFUNDED", "refunds.2": nil})
	if a := h.staff("GET", "/api/v1/admin/attention", ""); a.field("items.0") != nil {
		t.Errorf("a refund that is done needs attention: %s", a.Body)
	}
	if a := h.staff("GET", "/api/v1/admin/audit", ""); a.text("items.0.act") != "order.refund" || a.text("items.0.actor") != "staff:preset" {
		t.Errorf("the audit has %s", a.Body)
	}
}

func TestBadWishesOfStaffAreRefused(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	_, held := h.held("gala", `["A-5"]`)
	_, order, _ := h.bought("gala", `["A-1"]`)
	const events, orders = "/api/v1/admin/events/gala/", "/api/v1/admin/orders/"
	big := `{"reason":"` + strings.Repeat("x", maxBody) + `"}`
	for _, c := range []struct {
		path, body string
		status     int
		code       string
	}{
		{orders + order + "/refund", `{"seats":[]}`, 422, "no_seats"},
		{orders + order + "/refund", `{"seats":null}`, 422, "bad_seats"},
		{orders + order + "/refund", `{"seats":"A-1"}`, 422, "bad_seats"},
		{orders + order + "/refund", `{"seats":[1]}`, 422, "bad_seats"},
		{orders + order + "/refund", `{"seats":["A-1",null]}`, 422, "bad_seats"},
		{orders + order + "/refund", `{"seats":["A-2"]}`, 404, "no_such_seat"},
		{orders + order + "/refund", `{"release":"no"}`, 422, "bad_field"},
		{orders + order + "/refund", `{"amount":NaN}`, 400, "bad_json"},
		{orders + order + "/refund", `{"amount":5}`, 400, "unknown_field"},
		{orders + order + "/refund", `{"reason":"\u0007"}`, 422, "bad_text"},
		{orders + order + "/refund", big, 413, "body_too_large"},
		{orders + "x/refund", "", 404, "no_such_order"},
		{orders + held + "/refund", "", 409, "order_not_paid"},
		{orders + held + "/resend", "", 409, "order_not_paid"},
		{orders + held + "/resend", `{"x":1}`, 400, "unknown_field"},
		{orders + held + "/complete", `{"method":""}`, 422, "bad_sale"},
		{orders + held + "/complete", `{"method":"free"}`, 422, "bad_sale"},
		{orders + held + "/complete", `{"method":null}`, 422, "bad_field"},
		{events + "seats", "", 422, "bad_sale"},
		{events + "seats", `{"seats":["A-2"]}`, 422, "bad_sale"},
		{events + "seats", `{"seats":["A-2"],"state":"house"}`, 422, "bad_sale"},
		{events + "seats", `{"state":"HOUSE"}`, 422, "no_seats"},
		{events + "seats", `{"seats":["A-2","Z-1"],"state":"HOUSE"}`, 404, "no_such_seat"},
		{events + "seats", `{"seats":["A-2","A-1"],"state":"HOUSE"}`, 409, "seats_taken"},
		{events + "seats", `{"seats":["A-5"],"state":"OFF_SALE"}`, 409, "seats_taken"},
		{events + "seats", `{"seats":["A-2"],"state":"HOUSE","reason":"` + strings.Repeat("x", 301) + `"}`, 422, "bad_reason"},
		{events + "sell", "", 422, "bad_sale"},
		{events + "sell", `{"method":"cash"}`, 422, "no_seats"},
		{events + "sell", `{"seats":["A-2"]}`, 422, "bad_sale"},
		{events + "sell", `{"seats":["A-2"],"best":{"count":1},"method":"cash"}`, 422, "bad_seats"},
		{events + "sell", `{"best":{"count":-1},"method":"cash"}`, 422, "no_seats"},
		{events + "sell", `{"best":{"count":1.5},"method":"cash"}`, 422, "bad_seats"},
		{events + "sell", `{"best":{"count":1e300},"method":"cash"}`, 422, "too_many_seats"},
		{events + "sell", `{"best":{"count":6},"method":"cash"}`, 409, "not_enough_seats"},
		{events + "sell", `{"seats":["A-2","A-2"],"method":"cash"}`, 422, "duplicate_seats"},
		{events + "sell", `{"seats":["A-1"],"method":"cash"}`, 409, "seats_taken"},
		{events + "sell", `{"seats":["A-2"],"method":"cash","email":"x"}`, 422, "bad_buyer"},
		{events + "sell", `{"seats":["A-2"],"method":"cash","price":1}`, 400, "unknown_field"},
		{events + "checkin", "", 422, "bad_field"},
		{events + "checkin", `{"code":5}`, 422, "bad_field"},
		{events + "checkin", `{"code":"x","ticket":"y"}`, 400, "unknown_field"},
		{"/api/v1/admin/events/none/checkin", `{"code":"x"}`, 404, "no_such_event"},
		{"/api/v1/admin/events/none/seats", `{"seats":["A-1"],"state":"HOUSE"}`, 404, "no_such_event"},
		{"/api/v1/admin/events/none/sell", `{"seats":["A-1"],"method":"cash"}`, 404, "no_such_event"},
	} {
		h.staff("POST", c.path, c.body).refused(c.status, c.code)
	}
	if got := h.do("GET", "/api/v1/events/gala/seats", "").text("states"); got != "SAAAHA" {
		t.Errorf("a refused wish has changed the house: %s", got)
	}
}

func TestStaffRoutesByRole(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	_, order, _ := h.bought("gala", `["A-1"]`)
	keys := map[string]string{"admin": adminKey}
	for _, role := range []string{"boxoffice", "door", "shop"} {
		keys[role] = h.key(role)
	}
	const events, orders, matters = "/api/v1/admin/events/gala", "/api/v1/admin/orders", "/api/v1/admin/attention"
	for _, c := range []struct{ method, path, roles string }{
		{"GET", orders, "boxoffice"}, {"GET", orders + "/" + order, "boxoffice"}, {"POST", orders + "/" + order + "/refund", "boxoffice"},
		{"POST", orders + "/" + order + "/resend", "boxoffice"}, {"POST", orders + "/" + order + "/complete", "boxoffice"},
		{"GET", events + "/seats", "boxoffice"}, {"POST", events + "/seats", "boxoffice"}, {"POST", events + "/sell", "boxoffice"},
		{"POST", events + "/checkin", "door"}, {"GET", events + "/tickets", "door"},
		{"GET", matters, ""}, {"POST", matters + "/payment-1/complete", ""}, {"POST", matters + "/payment-1/refund", ""}, {"POST", matters + "/payment-1/dismiss", ""},
		{"GET", "/api/v1/admin/events", ""}, {"POST", events + "/close", ""}, {"GET", "/api/v1/admin/keys", ""}, {"GET", "/api/v1/admin/audit", ""},
		{"GET", "/api/v1/admin/outbox", ""}, {"GET", "/api/v1/admin/backup", ""},
	} {
		h.do(c.method, c.path, `{"x":1}`).refused(401, "no_key")
		for role, key := range keys {
			a := h.do(c.method, c.path, `{"x":1}`, "Authorization", "Bearer "+key) // no act: an unknown field
			if allowed := role == "admin" || role == c.roles; allowed == (a.Status == http.StatusForbidden) {
				t.Errorf("%s %s as %s: got %d", c.method, c.path, role, a.Status)
			}
		}
	}
}

func TestSeatsOfTheHouseAreSoldAtTheDoorOnly(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	box := "Bearer " + h.key("boxoffice")
	const path = "/api/v1/admin/events/gala/"
	a := h.do("POST", path+"seats", `{"seats":["A-2","A-1"],"state":"HOUSE","reason":"The mayor"}`, "Authorization", box).want(200)
	a.holds(map[string]any{"states": "BBAAAA", "counts.house": 2.0, "counts.available": 4.0, "counts.offSale": 0.0, "blocked.0.seat": "A-1",
		"blocked.0.state": "HOUSE", "blocked.0.reason": "The mayor", "blocked.0.at": "2026-12-01T19:00:00.000Z", "blocked.2": nil})
	if !strings.HasPrefix(a.text("blocked.1.by"), "staff:") {
		t.Errorf("blocked by %s", a.text("blocked.1.by"))
	}
	h.staff("POST", path+"seats", `{"seats":["A-3"],"state":"OFF_SALE"}`).want(200).holds(map[string]any{"states": "BBOAAA", "counts.offSale": 1.0})
	if got := h.do("GET", "/api/v1/events/gala/seats", ""); got.text("states") != "OOOAAA" || got.field("counts.offSale") != 3.0 {
		t.Errorf("the public sees %s", got.Body)
	}
	_, token := h.ready("gala")
	h.do("POST", "/api/v1/events/gala/holds", `{"seats":["A-1"]}`, "X-Entry-Token", token).refused(409, "seats_taken")
	h.staff("POST", path+"sell", `{"seats":["A-3"],"method":"cash"}`).refused(409, "seats_taken")
	sold := h.do("POST", path+"sell", `{"seats":["A-1"],"method":"card","name":"Mayor"}`, "Authorization", box, "Idempotency-Key", "till-1").want(201)
	sold.holds(map[string]any{"status": "PAID", "total.amount": 4250.0, "tickets.0.seat.id": "A-1", "tickets.1": nil, "buyer.name": "Mayor", "provider": "door", "payments.0.method": "card",
		"history.0.cause": "payment.succeeded", "history.1": nil})
	if sold.Header.Get("Location") != "/api/v1/admin/orders/"+sold.text("orderId") {
		t.Errorf("Location %s", sold.Header.Get("Location"))
	}
	again := h.do("POST", path+"sell", `{"seats":["A-1"],"method":"card","name":"Mayor"}`, "Authorization", box, "Idempotency-Key", `"till-1"`).want(201)
	if again.text("orderId") != sold.text("orderId") {
		t.Errorf("the same key sold twice: %s", again.Body)
	}
	for _, who := range []string{"", h.visitor()} { // it is nobody's but the staff's
		h.do("GET", "/api/v1/orders/"+sold.text("orderId"), "", "X-Visitor", who).refused(404, "no_such_order")
		h.do("POST", "/api/v1/orders/"+sold.text("orderId")+"/cancel", "", "X-Visitor", who).refused(404, "no_such_order")
	}
	h.do("POST", path+"sell", `{"seats":["A-4"],"method":"card"}`, "Authorization", box, "Idempotency-Key", "till-1").refused(422, "idempotency_key_reused")
	h.do("POST", path+"sell", `{"seats":["A-4"],"method":"card"}`, "Authorization", box, "Idempotency-Key", "").refused(400, "idempotency_key_missing")
	h.staff("POST", path+"sell", `{"best":{"count":2,"category":"Stalls"},"method":"free"}`).want(201).holds(map[string]any{"total.amount": 0.0, "seats.1.price.amount": 0.0})
	h.staff("POST", path+"close", `{"message":"Over."}`).want(200)
	h.staff("POST", path+"seats", `{"seats":["A-1","A-2","A-3"],"state":"AVAILABLE"}`).want(200).holds(map[string]any{"blocked.0": nil, "counts.sold": 3.0})
	h.staff("POST", path+"sell", `{"seats":["A-2"],"method":"cash"}`).want(201)
	h.event("shut", `"providers":["demo"]`)
	h.staff("POST", "/api/v1/admin/events/shut/sell", `{"seats":["A-2"],"method":"cash"}`).refused(404, "no_such_provider")
	// What was paid at the door is given back at the door, at once.
	h.staff("POST", "/api/v1/admin/orders/"+sold.text("orderId")+"/refund", "").want(200).holds(map[string]any{"status": "REFUNDED", "refund.state": "DONE"})
}

func TestTicketsAtTheDoor(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	h.event("other")
	door := "Bearer " + h.key("door")
	h.bought("gala", `["A-5"]`)
	h.clock.pass(time.Second)
	_, first, codes := h.bought("gala", `["A-1","A-2","A-3"]`)
	h.clock.pass(time.Second)
	_, second, more := h.bought("gala", `["A-4"]`)
	h.held("gala", `["A-6"]`)
	const path = "/api/v1/admin/events/gala/"
	checkIn := func(event, code string) *answer {
		return h.do("POST", "/api/v1/admin/events/"+event+"/checkin", `{"code":"`+code+`"}`, "Authorization", door)
	}
	a := checkIn("gala", codes[0]).want(200).holds(map[string]any{"orderId": first, "seat.id": "A-1", "seat.price.amount": 4250.0, "buyer.name": "Eve", "checkedInAt": "2026-12-01T19:00:02.000Z"})
	if a.text("ticketId") == "" || a.fields() != "buyer checkedInAt orderId seat ticketId" {
		t.Errorf("got %s", a.Body)
	}
	a = checkIn("gala", codes[0]).refused(409, "ticket_used").holds(map[string]any{"usedAt": "2026-12-01T19:00:02.000Z", "seats.0": "A-1"})
	if !strings.Contains(a.text("detail"), "2026-12-01T19:00:02Z") {
		t.Errorf("no word of when: %s", a.Body)
	}
	checkIn("other", codes[1]).refused(404, "no_such_ticket")
	h.staff("POST", "/api/v1/admin/orders/"+first+"/refund", `{"seats":["A-2"]}`).want(200)
	checkIn("gala", codes[1]).refused(409, "ticket_void").holds(map[string]any{"usedAt": nil, "seats.0": "A-2"})
	checkIn("gala", codes[2]).want(200)
	h.staff("POST", "/api/v1/admin/orders/"+first+"/refund", "").want(200)
	if got := h.do("GET", "/api/v1/events/gala/seats", "").text("states"); got != "OAOSSH" { // used seats are not sold again
		t.Errorf("the house is %s", got)
	}
	for limit := 1; limit <= 5; limit++ {
		if got := h.doorList(door, "gala", limit); !slices.Equal(got, []string{"A-4 VALID", "A-1 VOID used", "A-2 VOID", "A-3 VOID used", "A-5 VALID"}) {
			t.Errorf("%d on a page: %v", limit, got)
		}
	}
	checkIn("gala", more[0]).want(200)
	h.do("GET", path+"tickets?limit=1", "", "Authorization", door).holds(map[string]any{"items.0.state": "USED", "items.0.orderId": second})
	for _, bad := range []string{"x", first, first + ".x", first + ".-1", "00000000-0000-0000-0000-000000000001.0"} {
		h.do("GET", path+"tickets?cursor="+bad, "", "Authorization", door).refused(400, "bad_cursor")
	}
	h.do("GET", "/api/v1/admin/events/other/tickets?cursor="+first+".0", "", "Authorization", door).refused(400, "bad_cursor")
	h.do("GET", "/api/v1/admin/events/none/tickets", "", "Authorization", door).refused(404, "no_such_event")
}

// doorList is the list of tickets, page by page.
func (h *house) doorList(key, event string, limit int) (all []string) {
	h.t.Helper()
	for next := ""; ; {
		a := h.do("GET", "/api/v1/admin/events/"+event+"/tickets?limit="+strconv.Itoa(limit)+"&cursor="+next, "", "Authorization", key).want(200)
		items := a.field("items").([]any)
		for i := range items {
			item := &answer{t: h.t, what: "ticket", decoded: items[i].(map[string]any)}
			line := item.text("seat.id") + " " + item.text("state")
			if item.text("usedAt") != "" {
				line += " used"
			}
			all = append(all, line)
		}
		next = a.text("next")
		if len(items) > limit || next != "" && len(items) < limit || len(all) > 20 {
			h.t.Fatalf("a page of %d: %s", len(items), a.Body)
		}
		if next == "" {
			return all
		}
	}
}

// B90: whatever name of a purchase somebody has, the order is found.
func TestB90OrdersAreFoundByEveryName(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	h.bought("gala", `["A-4"]`)
	_, order, _ := h.bought("gala", `["A-1"]`)
	ticket := h.staff("GET", "/api/v1/orders/"+order, "").text("tickets.0.ticketId")
	a := h.staff("POST", "/api/v1/admin/orders/"+order+"/refund", "").want(200)
	h.giveBack()
	for name, query := range map[string]string{
		"order": order, "ticket": ticket, "payment": a.text("paymentId"), "refund": a.text("refund.refundId"), "provider's refund": "re_" + a.text("refund.refundId"),
	} {
		if got := h.staff("GET", "/api/v1/admin/orders?query="+query, "").want(200).each("items", "orderId"); !slices.Equal(got, []string{order}) {
			t.Errorf("by %s: %v", name, got)
		}
	}
	h.event("other")
	for _, query := range []string{order, ticket, a.text("refund.refundId")} {
		if got := h.staff("GET", "/api/v1/admin/orders?event=other&query="+query, "").want(200).each("items", "orderId"); got != nil {
			t.Errorf("in another event: %v", got)
		}
	}
	if got := h.staff("GET", "/api/v1/admin/orders?query=00000000-0000", "").each("items", "orderId"); got != nil {
		t.Errorf("what has no ticket is found by nothing: %v", got)
	}
}

func TestResendAndComplete(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	_, order, _ := h.bought("gala", `["A-1"]`)
	count := func() (n int) {
		all, err := h.office.Messages("", 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			if m.Topic == sale.TopicOrderPaid {
				n++
			}
		}
		return n
	}
	before := count()
	a := h.staff("POST", "/api/v1/admin/orders/"+order+"/resend", "{}").want(200).holds(map[string]any{"status": "PAID", "history.3.by": "staff:preset"})
	if count() != before+1 {
		t.Errorf("%d messages, then %d: %s", before, count(), a.Body)
	}
	visitor, late := h.held("gala", `["A-2"]`)
	h.clock.pass(time.Hour)
	a = h.do("GET", "/api/v1/orders/"+late, "", "X-Visitor", visitor).holds(map[string]any{"status": "EXPIRED", "history.1.cause": "hold.lapsed", "history.1.status": "EXPIRED", "history.1.by": "house", "history.2": nil})
	if a.text("history.1.at") != a.text("holdExpiresAt") {
		t.Errorf("lapsed at another time: %s", a.Body)
	}
	h.staff("POST", "/api/v1/admin/orders/"+late+"/complete", `{"method":"card","reason":"Paid at the counter"}`).want(200).holds(map[string]any{
		"status": "PAID", "provider": "door", "payments.0.method": "card", "payments.0.by": "staff:preset", "tickets.0.seat.id": "A-2"})
	_, gone := h.held("gala", `["A-3"]`)
	h.clock.pass(time.Hour)
	h.held("gala", `["A-3"]`)
	h.staff("POST", "/api/v1/admin/orders/"+gone+"/complete", "").refused(409, "seats_taken")
	_, cash := h.held("gala", `["A-4"]`)
	h.staff("POST", "/api/v1/admin/orders/"+cash+"/complete", "").want(200).holds(map[string]any{"status": "PAID", "payments.0.method": "cash"})
	// Money that the venue's shop took is returned there; staff say so.
	_, shop := h.held("gala", `["A-5"]`)
	h.staff("POST", "/api/v1/orders/"+shop+"/confirm", `{"amount":4250,"currency":"EUR"}`, "Idempotency-Key", "1").want(200)
	h.staff("POST", "/api/v1/admin/orders/"+shop+"/refund", "").want(200).holds(map[string]any{"status": "REFUND_DUE"})
	h.staff("POST", "/api/v1/admin/orders/"+shop+"/complete", "").want(200).holds(map[string]any{"status": "REFUNDED", "refund.state": "DONE"})
}

// The provider learns where the buyer comes back to, and his address.
func TestPayTellsTheProviderTheWayBack(t *testing.T) {
	h := newHouse(t, func(c *Config) { c.BaseURL = "https://tickets.example/" })
	h.event("gala")
	_, order, _ := h.bought("gala", `["A-1"]`)
	if got := h.till.started; got.Back != "https://tickets.example/orders/"+order || got.Email != "eve@example.org" {
		t.Errorf("the provider was told %q, %q", got.Back, got.Email)
	}
}
