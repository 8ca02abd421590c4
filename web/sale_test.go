package web

import (
	"strings"
	"sync"
	"testing"
	"time"
)

func TestAnEveningFromTheDoorToTheTicket(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	visitor, token := h.ready("gala")
	a := h.do("POST", "/api/v1/events/gala/holds", `{"best":{"count":2,"category":"Stalls"}}`, "X-Entry-Token", token).want(201)
	if got := a.fields(); got != "createdAt eventId history holdExpiresAt orderId seats serverTime status total" {
		t.Errorf("got fields %s", got)
	}
	order := a.text("orderId")
	for path, want := range map[string]any{
		"eventId": "gala", "status": "PENDING", "total.amount": 8500.0, "total.currency": "EUR", "holdExpiresAt": "2026-12-01T19:05:00.000Z",
		"seats.0.category": "Stalls", "seats.0.price.amount": 4250.0, "seats.0.price.currency": "EUR", "seats.2": nil,
	} {
		if got := a.field(path); got != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
	if a.Header.Get("Location") != "/api/v1/orders/"+order || a.text("seats.0.label") == "" {
		t.Errorf("got Location %q, %s", a.Header.Get("Location"), a.Body)
	}
	// The credential or the turn's token opens the order; nobody else's does.
	path := "/api/v1/orders/" + order
	h.do("GET", path, "", "X-Visitor", visitor).want(200)
	h.do("GET", path, "", "X-Entry-Token", token).want(200)
	h.do("GET", path, "", "Authorization", "Bearer "+h.key("boxoffice")).want(200)
	h.do("GET", path, "", "Authorization", "Bearer "+h.key("shop")).want(200)
	h.do("GET", path, "", "Authorization", "Bearer "+h.key("door")).refused(403, "wrong_role")
	h.do("GET", path, "", "Authorization", "Bearer x").refused(401, "no_key")
	foreign := h.do("GET", path, "", "X-Visitor", h.visitor()).refused(404, "no_such_order")
	unknown := h.do("GET", "/api/v1/orders/"+strings.Repeat("0", 8)+"-0000-0000-0000-000000000000", "", "X-Visitor", visitor).refused(404, "no_such_order")
	if string(foreign.Body) != string(unknown.Body) {
		t.Errorf("foreign %s, unknown %s", foreign.Body, unknown.Body)
	}
	for _, odd := range []string{"x", strings.ReplaceAll(order, "-", ""), "{" + order + "}", "urn:uuid:" + order, order + "x"} {
		if got := h.do("GET", "/api/v1/orders/"+odd, "", "X-Visitor", visitor).Status; got != 404 {
			t.Errorf("%s: got %d", odd, got)
		}
	}
	h.do("GET", path, "").refused(404, "no_such_order")
	h.do("POST", path+"/pay", `{"provider":"demo"}`, "X-Visitor", h.visitor()).refused(404, "no_such_order")
	h.do("POST", path+"/pay", `{"provider":"none"}`, "X-Visitor", visitor).refused(404, "no_such_provider")

	pay := h.do("POST", path+"/pay", `{"provider":"demo","name":"Eve","email":"eve@example.org"}`, "X-Visitor", visitor).want(200)
	if pay.fields() != "payBy paymentId redirectUrl" || pay.text("payBy") != "2026-12-01T19:04:00.000Z" {
		t.Errorf("got %s", pay.Body)
	}
	if !strings.HasPrefix(pay.text("redirectUrl"), "http://example.com/demo/pay/") {
		t.Errorf("got redirectUrl %s", pay.text("redirectUrl"))
	}
	if again := h.do("POST", path+"/pay", `{"provider":"demo"}`, "X-Visitor", visitor).want(200); again.text("paymentId") != pay.text("paymentId") {
		t.Errorf("another payment: %s", again.Body)
	}
	if a = h.do("GET", path, "", "X-Visitor", visitor); a.text("status") != "PAYING" || a.text("payBy") == "" || a.text("buyer.name") != "Eve" {
		t.Errorf("got %s", a.Body)
	}
	event := `{"id":"evt_1","type":"payment.succeeded","paymentId":"` + pay.text("paymentId") + `","orderId":"` + order + `","amount":8500,"currency":"EUR"}`
	for range 2 {
		a = h.do("POST", "/api/v1/payments/demo/webhook", event, "Signature", "right").want(200)
		if string(a.Body) != `{"outcome":"applied"}` {
			t.Errorf("got %s", a.Body)
		}
	}
	a = h.do("GET", path, "", "X-Visitor", visitor).want(200)
	if a.text("status") != "PAID" || a.text("tickets.0.code") == "" || a.text("tickets.1.ticketId") == "" || a.text("tickets.0.seat.id") != a.text("seats.0.id") || a.field("tickets.2") != nil {
		t.Errorf("got %s", a.Body)
	}
	list := h.staff("GET", "/api/v1/admin/orders?event=gala&query=EVE@example", "").want(200)
	if list.text("items.0.orderId") != order || list.field("items.1") != nil || list.field("next") != nil {
		t.Errorf("got %s", list.Body)
	}
	if list = h.staff("GET", "/api/v1/admin/orders?query=nobody", "").want(200); string(list.Body) != `{"items":[],"next":null}` {
		t.Errorf("got %s", list.Body)
	}
}

func TestReleasingFreesSeatsAndTurn(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	visitor, order := h.held("gala", `["A-1"]`)
	h.do("DELETE", "/api/v1/orders/"+order+"/hold", "", "X-Visitor", h.visitor()).refused(404, "no_such_order")
	h.do("DELETE", "/api/v1/orders/"+order+"/hold", "", "X-Visitor", visitor).want(204)
	if a := h.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", visitor); a.text("tokenState") != "READY" {
		t.Errorf("got %s", a.Body)
	}
	if a := h.do("POST", "/api/v1/orders/"+order+"/cancel", "{}", "X-Visitor", visitor).want(200); a.text("status") != "CANCELLED" {
		t.Errorf("got %s", a.Body)
	}
}

// B09, B118: one key is one request, whatever way it is written.
func TestB09IdempotencyKeysAreCanonical(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	_, order := h.held("gala", `["A-1"]`)
	path := "/api/v1/orders/" + order + "/confirm"
	shop := "Bearer " + h.key("shop")
	confirm := func(key, body string) *answer {
		return h.do("POST", path, body, "Authorization", shop, "Idempotency-Key", key)
	}
	h.do("POST", path, `{}`, "Idempotency-Key", "k").refused(401, "no_key")
	h.do("POST", path, `{}`, "Idempotency-Key", "k", "Authorization", "Bearer "+h.key("boxoffice")).refused(403, "wrong_role")
	confirm(`"a\"b"`, `{"amount":4250,"currency":"EUR","reference":"r"}`).want(200)
	confirm(`a"b`, ` { "reference":"r", "currency":"EUR", "amount":4250 } `).want(200)
	confirm(`a"b`, `{"amount":4250,"currency":"EUR","reference":"other"}`).refused(422, "idempotency_key_reused")
	confirm(`other`, `{"amount":4250,"currency":"EUR","reference":"other"}`).want(200)
	for _, bad := range []string{`"`, `""`, `"a`, `"a"b`, `"a\b"`, `"a";p=1`, "a\x01", "ä", strings.Repeat("k", 256)} {
		confirm(bad, `{"amount":4250,"currency":"EUR"}`).refused(400, "bad_idempotency_key")
	}
	confirm(strings.Repeat("k", 255), `{"amount":4250,"currency":"EUR"}`).want(200)
	confirm(" ", `{"amount":4250,"currency":"EUR"}`).refused(400, "idempotency_key_missing")
	h.do("POST", path, `{"amount":4250,"currency":"EUR"}`, "Authorization", shop, "Idempotency-Key", "a", "Idempotency-Key", "b").refused(400, "bad_idempotency_key")
}

// B21: of many who reach for one seat, one gets it and the rest are told which.
func TestB21OneWinnerPerSeat(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"rules":{"admitPerSecond":100}`)
	const buyers = 30
	tokens := make([]string, buyers)
	for i := range tokens {
		_, tokens[i] = h.ready("gala")
	}
	got := make([]*answer, buyers)
	var wg sync.WaitGroup
	for i, token := range tokens {
		wg.Go(func() {
			got[i] = h.do("POST", "/api/v1/events/gala/holds", `{"seats":["A-1"]}`, "X-Entry-Token", token)
		})
	}
	wg.Wait()
	won := 0
	for _, a := range got {
		if a.Status == 201 {
			won++
			continue
		}
		if a.refused(409, "seats_taken").text("seats.0") != "A-1" {
			t.Errorf("got %s", a.Body)
		}
	}
	if won != 1 {
		t.Errorf("%d winners", won)
	}
}

// B37: money that does not fit is kept with both figures.
func TestB37WrongMoneyGoesToAttention(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	_, order := h.held("gala", `["A-1"]`)
	event := `{"id":"evt_1","type":"payment.succeeded","paymentId":"p","orderId":"` + order + `","amount":4249,"currency":"EUR"}`
	a := h.do("POST", "/api/v1/payments/demo/webhook", event, "Signature", "right").want(200)
	if a.text("outcome") != "attention" {
		t.Errorf("got %s", a.Body)
	}
	a = h.staff("GET", "/api/v1/admin/attention", "").want(200)
	for path, want := range map[string]any{
		"items.0.attention": "amount_mismatch", "items.0.amount.amount": 4249.0, "items.0.expected.amount": 4250.0, "items.0.expected.currency": "EUR",
		"items.0.orderId": order, "items.0.type": "payment.succeeded", "items.1": nil,
	} {
		if got := a.field(path); got != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
}

func TestStaffMakeChangeAndRemoveEvents(t *testing.T) {
	h := newHouse(t)
	a := h.staff("POST", "/api/v1/admin/events", `{"id":"gala-2027","name":"Gala","venue":"Town Hall","startsAt":"2027-03-01T19:00:00Z",
		"timeZone":"Europe/Berlin","currency":"EUR","opensAt":"2027-01-10T09:00:00Z","closesAt":"2027-03-01T18:00:00Z","order":"fifo","line":"auto",
		"rules":{"admitPerSecond":50,"maxActive":500,"turnSeconds":300,"pickupSeconds":60,"returnSeconds":600,"holdSeconds":300,"paySeconds":240,
		"payMarginSeconds":60,"maxSeatsPerOrder":4,"maxWaiting":2000000,"buyer":"optional"},
		"prices":{"Stalls":4250,"Balcony":2900},"providers":["demo","shop","door"]}`).want(201)
	if a.Header.Get("Location") != "/api/v1/admin/events/gala-2027" || a.text("phase") != "LOBBY" || a.field("prices.Balcony.amount") != 2900.0 {
		t.Errorf("got %s", a.Body)
	}
	const path = "/api/v1/admin/events/gala-2027"
	a = h.staff("PATCH", path, `{"venue":"Hall","rules":{"maxActive":7},"prices":{"Box":9900,"Balcony":null},"closesAt":null}`).want(200)
	for field, want := range map[string]any{
		"venue": "Hall", "name": "Gala", "rules.maxActive": 7.0, "rules.turnSeconds": 300.0, "prices.Box.amount": 9900.0,
		"prices.Stalls.amount": 4250.0, "prices.Balcony": nil, "closesAt": nil, "opensAt": "2027-01-10T09:00:00.000Z",
	} {
		if got := a.field(field); got != want {
			t.Errorf("%s: got %v, want %v", field, got, want)
		}
	}
	h.staff("PATCH", path, `{"rules":{"maxActive":0}}`).refused(422, "bad_event")
	h.staff("PATCH", path, `{"rules":null}`).refused(422, "bad_field")
	h.staff("PATCH", path, `{"startsAt":"tomorrow"}`).refused(422, "bad_field")
	h.staff("PATCH", path, ``).want(200)
	if got := h.staff("GET", path, "").want(200).field("rules.maxActive"); got != 7.0 {
		t.Errorf("a refused change is kept: %v", got)
	}
	h.staff("PATCH", path, `{"id":"other"}`).refused(409, "promise_made")
	h.staff("PATCH", path+"/pace", `{"admitPerSecond":9}`).want(200)
	for _, step := range []struct{ act, body, phase, message string }{
		{"open", "", "OPEN", ""},
		{"pause", `{"message":"Back soon."}`, "PAUSED", "Back soon."},
		{"announce", `{"message":"Very soon."}`, "PAUSED", "Very soon."},
		{"resume", "{}", "OPEN", ""},
		{"close", "", "CLOSED", ""},
	} {
		a := h.staff("POST", path+"/"+step.act, step.body).want(200)
		if a.text("phase") != step.phase || a.text("message") != step.message {
			t.Errorf("%s: got %s", step.act, a.Body)
		}
	}
	if a = h.staff("GET", "/api/v1/admin/events", "").want(200); a.field("items.0.rules.admitPerSecond") != 9.0 {
		t.Errorf("got %s", a.Body)
	}
	h.staff("DELETE", path, "").want(204)
	h.staff("GET", path, "").refused(404, "no_such_event")
	h.staff("DELETE", path, "").refused(404, "no_such_event")
	a = h.staff("GET", "/api/v1/admin/audit?limit=2", "").want(200)
	if a.text("items.0.act") != "event.remove" || a.text("items.0.actor") != "staff:preset" || a.text("next") == "" {
		t.Errorf("got %s", a.Body)
	}
	seen := 2
	for next := a.text("next"); next != ""; {
		a = h.staff("GET", "/api/v1/admin/audit?limit=2&cursor="+next, "").want(200)
		seen += len(a.field("items").([]any))
		next = a.text("next")
	}
	if seen != 11 { // the preset key, the event, two changes, the pace, five acts, the removal
		t.Errorf("%d entries", seen)
	}
}

func TestPlansAreTakenWhateverTheyAreCalled(t *testing.T) {
	h := newHouse(t)
	h.staff("POST", "/api/v1/admin/events", `{"id":"gala","name":"Gala","prices":{"Stalls":4250}}`).want(201)
	const path = "/api/v1/admin/events/gala/plan"
	dry := h.staff("PUT", path+"?dryRun=1", smallPlan).want(200)
	if dry.field("seats") != 6.0 || len(dry.field("added").([]any)) != 6 || dry.field("removed") == nil {
		t.Errorf("got %s", dry.Body)
	}
	h.do("GET", "/api/v1/events/gala/plan", "").refused(404, "no_plan")
	for typ, doc := range map[string]string{"": smallPlan, "application/json": smallPlan, "text/csv": csvPlan, "application/octet-stream": csvPlan} {
		h.staff("PUT", path, doc, "Content-Type", typ).want(200)
	}
	a := h.staff("PUT", path, "zone,row,seat,category\nBalcony,B,1,Balcony\n").want(200)
	if a.text("unpriced.0") != "Balcony" || a.field("seats") != 1.0 || a.text("version") == "" {
		t.Errorf("got %s", a.Body)
	}
	if got := h.do("GET", "/api/v1/events/gala/seats", "").want(200); got.text("states") != "O" || got.text("planVersion") != a.text("version") {
		t.Errorf("got %s", got.Body)
	}
	h.staff("PUT", path+"?dryRun=perhaps", smallPlan).refused(400, "bad_request")
	h.staff("PUT", path, "").refused(422, "bad_plan")
	h.staff("PUT", "/api/v1/admin/events/none/plan", smallPlan).refused(404, "no_such_event")
	big := "zone,row,seat,category\n" + strings.Repeat("Stalls,A,1,Stalls\n", 5000)
	a = h.staff("PUT", path, big).refused(422, "bad_plan")
	if n := len(a.field("problems").([]any)); n != 100 {
		t.Errorf("%d problems", n)
	}
}

const csvPlan = "zone,row,seat,category\nStalls,A,1,Stalls\nStalls,A,2,Stalls\n"

func TestAPlanMayBeLargerThanOtherBodies(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	plan := smallPlan + strings.Repeat(" ", maxBody)
	h.staff("PUT", "/api/v1/admin/events/gala/plan", plan).want(200)
	h.staff("PUT", "/api/v1/admin/events/gala/plan", strings.Repeat(" ", maxPlan+1)).refused(413, "body_too_large")
}

func TestRevokingTakesPlaceTurnAndSeats(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	a := h.do("POST", "/api/v1/visitors", "").want(201)
	queue := h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", a.text("credential")).want(201)
	h.do("POST", "/api/v1/events/gala/holds", `{"seats":["A-1"]}`, "X-Entry-Token", queue.text("entryToken")).want(201)
	h.staff("POST", "/api/v1/admin/events/gala/revoke", `{"visitorId":"`+a.text("visitorId")+`"}`).want(204)
	h.do("POST", "/api/v1/events/gala/holds", `{"seats":["A-2"]}`, "X-Entry-Token", queue.text("entryToken")).refused(403, "not_admitted")
	if got := h.do("GET", "/api/v1/events/gala/seats", "").text("states"); got != "AAAAAA" {
		t.Errorf("got %s", got)
	}
	h.staff("POST", "/api/v1/admin/events/gala/revoke", `{"visitorId":"x"}`).refused(422, "bad_field")
	h.staff("POST", "/api/v1/admin/events/gala/revoke", `{}`).refused(422, "bad_field")
}

func TestOrdersArePagedOverEvents(t *testing.T) {
	h := newHouse(t)
	want := map[string]bool{}
	for _, event := range []string{"one", "two"} {
		h.event(event)
		for _, seat := range []string{"A-1", "A-2", "A-3"} {
			_, order := h.held(event, `["`+seat+`"]`)
			want[order] = true
			h.clock.pass(time.Millisecond)
		}
	}
	next, pages := "", 0
	for {
		a := h.staff("GET", "/api/v1/admin/orders?limit=2&cursor="+next, "").want(200)
		for _, item := range a.field("items").([]any) {
			id := item.(map[string]any)["orderId"].(string)
			if !want[id] {
				t.Errorf("%s is there twice or not ours", id)
			}
			delete(want, id)
		}
		if next = a.text("next"); next == "" {
			break
		}
		if pages++; pages > 10 {
			t.Fatal("the pages never end")
		}
	}
	if len(want) > 0 {
		t.Errorf("missing %v", want)
	}
	for _, bad := range []string{"x", "one.x", "none.00000000-0000-0000-0000-000000000001"} {
		h.staff("GET", "/api/v1/admin/orders?cursor="+bad, "").refused(400, "bad_cursor")
	}
	h.staff("GET", "/api/v1/admin/orders?event=none", "").refused(404, "no_such_event")
}
