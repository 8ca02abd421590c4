package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"foyer/sale"
)

func TestEveryRowOfTheErrorTableIsReached(t *testing.T) {
	h := newHouse(t, func(c *Config) {
		c.Extra = map[string]http.Handler{"/broken/": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("kaboom") })}
	})
	seen := map[string]bool{}
	check := func(a *answer, code string) {
		t.Helper()
		a.refused(kinds[code].status, code)
		seen[code] = true
	}
	h.event("gala")
	h.event("other")
	const queue, holds = "/api/v1/events/gala/queue", "/api/v1/events/gala/holds"
	anybody := h.visitor()
	nobody := "6ba7b810-9dad-41d1-80b4-00c04fd430c8"

	// who speaks
	check(h.do("POST", queue, ""), "no_visitor")
	check(h.do("POST", holds, `{"seats":["A-1"]}`), "no_entry_token")
	check(h.do("POST", holds, `{"seats":["A-1"]}`, "X-Entry-Token", "forged"), "not_admitted")
	_, token := h.ready("other")
	check(h.do("POST", holds, `{"seats":["A-1"]}`, "X-Entry-Token", token), "wrong_event")
	check(h.do("GET", "/api/v1/admin/keys", ""), "no_key")
	check(h.do("GET", "/api/v1/admin/keys", "", "Authorization", "Bearer "+h.key("shop")), "wrong_role")
	check(h.do("POST", queue, "", "Cookie", "foyer_visitor="+anybody, "Sec-Fetch-Site", "cross-site"), "cross_site")

	// what is not there
	check(h.do("GET", "/api/v1/nothing", ""), "no_such_route")
	check(h.do("GET", "/api/v1/events/none", ""), "no_such_event")
	h.staff("POST", "/api/v1/admin/events", `{"id":"bare","name":"Bare"}`).want(201)
	check(h.do("GET", "/api/v1/events/bare/plan", ""), "no_plan")
	check(h.do("GET", queue+"/"+nobody, "", "X-Visitor", anybody), "not_entered")
	visitor, token := h.ready("gala")
	check(h.do("POST", holds, `{"seats":["Z-1"]}`, "X-Entry-Token", token), "no_such_seat")
	check(h.do("GET", "/api/v1/orders/"+nobody, "", "X-Visitor", visitor), "no_such_order")
	check(h.do("POST", "/api/v1/payments/none/webhook", "{}"), "no_such_provider")
	check(h.staff("DELETE", "/api/v1/admin/keys/none", ""), "no_such_key")
	check(h.do("POST", "/api/v1/visitors/return", `{"code":"x"}`), "no_such_code")
	here := h.do("GET", queue, "", "X-Visitor", visitor).text("queueId")
	link := h.do("POST", queue+"/"+here+"/link", "", "X-Visitor", visitor).want(201).text("code")
	h.do("DELETE", queue+"/"+here+"/link", "", "X-Visitor", visitor).want(204)
	check(h.do("POST", "/api/v1/visitors/return", `{"code":"`+link+`"}`), "link_used")
	check(h.staff("POST", "/api/v1/admin/outbox/none/retry", ""), "no_such_message")

	// a shop behind Foyer
	check(h.do("GET", "/api/v1/check?event=gala", ""), "not_your_turn")
	claims := func(name, body string) *answer {
		return h.staff("POST", "/api/v1/events/gala/tokens/"+name, body, "Idempotency-Key", name)
	}
	check(claims("consume", `{"token":"`+token+`"}`), "turn_not_claimed")
	check(claims("claim", `{"token":"`+token+`","customerId":"`+strings.Repeat("c", 201)+`"}`), "bad_customer")

	front := h.server.Protect(Protection{Upstream: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, Event: "gala", Exclude: Patterns{"/*"}})
	w := httptest.NewRecorder()
	front.ServeHTTP(w, httptest.NewRequest("GET", "/cart", nil))
	check(&answer{t: t, what: "a shop that does not answer", Status: w.Code, Header: w.Result().Header, Body: w.Body.Bytes()}, "shop_unavailable")

	// how it was asked
	check(h.do("GET", "/events/gala?return=//evil.example", ""), "bad_return")
	check(h.staff("GET", "/api/v1/admin/audit?limit=0", ""), "bad_request")
	check(h.staff("GET", "/api/v1/admin/audit?cursor=x", ""), "bad_cursor")
	check(h.do("POST", queue, "{", "X-Visitor", anybody), "bad_json")
	check(h.do("POST", queue, `{"x":1}`, "X-Visitor", anybody), "unknown_field")
	check(h.do("POST", "/api/v1/payments/demo/webhook", "{}"), "bad_signature")
	check(h.do("POST", "/api/v1/payments/demo/webhook", "{}", "Signature", "old"), "stale_event")
	check(h.do("POST", "/api/v1/payments/demo/webhook", "{", "Signature", "right"), "bad_event_body")
	check(h.do("PUT", queue, ""), "method_not_allowed")
	check(h.do("POST", queue, strings.Repeat(" ", maxBody+1), "X-Visitor", anybody), "body_too_large")
	check(h.do("POST", queue, "{}", "X-Visitor", anybody, "Content-Encoding", "gzip"), "unsupported_encoding")
	check(h.do("POST", queue, "{}", "X-Visitor", anybody, "Content-Type", "text/plain"), "unsupported_media_type")
	check(h.staff("PATCH", "/api/v1/admin/events/gala/pace", `{"maxActive":"many"}`), "bad_field")
	check(h.staff("POST", "/api/v1/admin/events/gala/announce", `{"message":"\u0000"}`), "bad_text")
	check(h.do("POST", holds, `{"seats":"A-1"}`, "X-Entry-Token", token), "bad_seats")
	check(h.do("POST", holds, `{"seats":[]}`, "X-Entry-Token", token), "no_seats")
	check(h.do("POST", holds, `{"best":{"count":5}}`, "X-Entry-Token", token), "too_many_seats")
	check(h.do("POST", holds, `{"seats":["A-1","A-1"]}`, "X-Entry-Token", token), "duplicate_seats")
	check(h.staff("POST", "/api/v1/admin/events", `{"id":"Gala!"}`), "bad_event")
	check(h.staff("PUT", "/api/v1/admin/events/gala/plan", `{"zones":[]}`), "bad_plan")
	check(h.staff("POST", "/api/v1/admin/keys", `{"role":"king"}`), "bad_key")

	// money
	_, order := h.held("gala", `["A-1"]`)
	confirm := "/api/v1/orders/" + order + "/confirm"
	check(h.staff("POST", confirm, `{"amount":4250,"currency":"EUR"}`), "idempotency_key_missing")
	check(h.staff("POST", confirm, `{"amount":4250,"currency":"EUR"}`, "Idempotency-Key", `"half`), "bad_idempotency_key")
	check(h.staff("POST", confirm, `{"amount":4249,"currency":"EUR"}`, "Idempotency-Key", "1"), "amount_mismatch")
	check(h.staff("POST", confirm, `{"amount":4250,"currency":"USD"}`, "Idempotency-Key", "1"), "currency_mismatch")
	h.staff("POST", confirm, `{"amount":4250,"currency":"EUR"}`, "Idempotency-Key", "1").want(200)
	check(h.staff("POST", confirm, `{"amount":4250,"currency":"EUR","reference":"x"}`, "Idempotency-Key", "1"), "idempotency_key_reused")
	paid := order
	buyer, order := h.held("gala", `["A-2"]`)
	h.till.down = true
	check(h.do("POST", "/api/v1/orders/"+order+"/pay", `{"provider":"demo"}`, "X-Visitor", buyer), "provider_unavailable")
	h.till.down = false
	h.staff("PATCH", "/api/v1/admin/events/gala", `{"rules":{"buyer":"required"}}`).want(200)
	check(h.do("POST", "/api/v1/orders/"+order+"/pay", `{"provider":"demo"}`, "X-Visitor", buyer), "buyer_required")
	check(h.do("POST", "/api/v1/orders/"+order+"/pay", `{"provider":"demo","name":"Eve","email":"@"}`, "X-Visitor", buyer), "bad_buyer")
	h.do("POST", "/api/v1/orders/"+order+"/pay", `{"provider":"demo","name":"Eve","email":"eve@example.org"}`, "X-Visitor", buyer).want(200)
	check(h.do("POST", "/api/v1/orders/"+order+"/cancel", "", "X-Visitor", buyer), "payment_running")
	place := h.do("GET", queue, "", "X-Visitor", buyer).want(200)
	check(h.do("POST", holds, `{"seats":["A-3"]}`, "X-Entry-Token", place.text("entryToken")), "turn_in_use")

	// what stands against it
	check(h.do("POST", holds, `{"seats":["A-2","A-3"]}`, "X-Entry-Token", token), "seats_taken")
	check(h.staff("POST", "/api/v1/admin/events", `{"id":"gala","name":"Gala"}`), "event_exists")
	check(h.staff("PATCH", "/api/v1/admin/events/gala", `{"currency":"USD"}`), "promise_made")
	check(h.staff("DELETE", "/api/v1/admin/events/gala", ""), "event_in_use")
	check(h.staff("PUT", "/api/v1/admin/events/gala/plan", strings.ReplaceAll(smallPlan, "A-2", "B-2")), "seats_in_use")
	check(h.staff("DELETE", "/api/v1/admin/keys/preset", ""), "last_admin")
	h.event("few", `"rules":{"maxSeatsPerOrder":7}`)
	_, few := h.ready("few")
	check(h.do("POST", "/api/v1/events/few/holds", `{"best":{"count":7}}`, "X-Entry-Token", few), "not_enough_seats")
	h.event("full", `"line":"always"`, `"rules":{"maxWaiting":1}`)
	h.do("POST", "/api/v1/events/full/queue", "", "X-Visitor", anybody).want(201)
	check(h.do("POST", "/api/v1/events/full/queue", "", "X-Visitor", h.visitor()), "line_full")
	h.staff("POST", "/api/v1/admin/events/full/close", `{"message":"Over."}`).want(200)
	check(h.do("POST", "/api/v1/events/full/queue", "", "X-Visitor", h.visitor()), "event_closed")
	h.event("sold", `"rules":{"maxSeatsPerOrder":6}`)
	_, all := h.held("sold", `["A-1","A-2","A-3","A-4","A-5","A-6"]`)
	h.staff("POST", "/api/v1/orders/"+all+"/confirm", `{"amount":25500,"currency":"EUR"}`, "Idempotency-Key", "1").want(200)
	check(h.do("POST", "/api/v1/events/sold/queue", "", "X-Visitor", anybody), "sold_out")
	check(h.do("GET", "/api/v1/events/sold/draw", ""), "not_drawn")

	// time
	buyer, late := h.held("few", `["A-1"]`)
	h.clock.pass(time.Hour)
	check(h.do("POST", "/api/v1/orders/"+late+"/pay", `{"provider":"demo"}`, "X-Visitor", buyer), "hold_expired")
	check(h.do("POST", holds, `{"seats":["A-4"]}`, "X-Entry-Token", token), "entry_token_expired")
	h.held("few", `["A-1"]`)
	check(h.staff("POST", "/api/v1/orders/"+late+"/confirm", `{"amount":4250,"currency":"EUR"}`, "Idempotency-Key", "1"), "refund_due")
	check(h.do("POST", "/api/v1/orders/"+paid+"/cancel", "", "X-Visitor", anybody), "no_such_order")
	owner, bought := h.held("other", `["A-1"]`)
	h.staff("POST", "/api/v1/orders/"+bought+"/confirm", `{"amount":4250,"currency":"EUR"}`, "Idempotency-Key", "1").want(200)
	check(h.do("DELETE", "/api/v1/orders/"+bought+"/hold", "", "X-Visitor", owner), "order_paid")

	// what does not work
	check(h.do("GET", "/broken/x", ""), "internal")
	h.server.conf.Ready = func() error { return errors.New("the disk is full") }
	if a := h.do("GET", "/readyz", ""); !strings.Contains(a.text("detail"), "the disk is full") {
		t.Errorf("readyz does not give the reason: %s", a.Body)
	} else {
		check(a, "unavailable")
	}
	streamer, _ := h.ready("other")
	id := h.do("GET", "/api/v1/events/other/queue", "", "X-Visitor", streamer).text("queueId")
	h.server.streams.all = maxStreams
	check(h.do("GET", "/api/v1/events/other/queue/"+id+"/stream", "", "X-Visitor", streamer), "streams_full")
	b, err := h.store.Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check(h.staff("GET", "/api/v1/admin/backup", ""), "backup_running")
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	h.server.conf.Backup = func(context.Context) (*Backup, error) {
		return nil, fmt.Errorf("store: backup: %w", &sale.Refusal{Code: "no_space", Detail: "The disk is full."})
	}
	check(h.staff("GET", "/api/v1/admin/backup", ""), "no_space")
	laneErrors(newHouse(t), check)
	moneyErrors(newHouse(t), check)
	forgetErrors(newHouse(t), check)
	h = newHouse(t)
	h.event("hard", `"challenge":"altcha"`)
	h.event("down", `"challenge":"hcaptcha"`)
	check(h.do("POST", "/api/v1/events/hard/queue", "", "X-Visitor", h.visitor()), "challenge_required")
	check(h.do("POST", "/api/v1/events/down/queue", "", "X-Visitor", h.visitor()), "challenge_unavailable")
	h.event("club", `"access":"code"`)
	check(h.do("POST", "/api/v1/events/club/queue", "", "X-Visitor", h.visitor()), "code_required")
	check(h.do("POST", "/api/v1/events/club/queue", `{"code":"x"}`, "X-Visitor", h.visitor()), "bad_code")
	code := h.codes("club", `{"count":1,"class":"public"}`)[0]
	h.do("POST", "/api/v1/events/club/queue", `{"code":"`+code+`"}`, "X-Visitor", h.visitor()).want(201)
	check(h.do("POST", "/api/v1/events/club/queue", `{"code":"`+code+`"}`, "X-Visitor", h.visitor()), "code_used")
	check(h.staff("POST", "/api/v1/admin/events/club/codes", `{"count":0,"class":"public"}`), "bad_batch")
	check(h.staff("DELETE", "/api/v1/admin/events/club/codes/9", ""), "no_such_batch")
	limited := newHouse(t, func(c *Config) { c.RateLimit = 1 })
	for range limitBurst {
		limited.visitor()
	}
	check(limited.do("POST", "/api/v1/visitors", ""), "too_many_requests")

	for code := range kinds {
		if !seen[code] {
			t.Errorf("no request reaches %q", code)
		}
	}
}

func TestProblemsCarryWhatTheirCodePromises(t *testing.T) {
	h := newHouse(t, func(c *Config) { c.RateLimit = 1 })
	h.event("gala")
	_, order := h.held("gala", `["A-1","A-3"]`)
	_, token := h.ready("gala")
	a := h.do("POST", "/api/v1/events/gala/holds", `{"seats":["A-3","A-2","A-1"]}`, "X-Entry-Token", token).refused(409, "seats_taken")
	if got := a.field("seats"); !slices.Equal(got.([]any), []any{"A-1", "A-3"}) {
		t.Errorf("lost seats: got %v", got)
	}
	a = h.do("POST", "/api/v1/events/gala/holds", `{"seats":["A-2","Z-9"]}`, "X-Entry-Token", token).refused(404, "no_such_seat")
	if got := a.field("seats"); !slices.Equal(got.([]any), []any{"Z-9"}) {
		t.Errorf("unknown seats: got %v", got)
	}
	for range limitBurst {
		a = h.do("POST", "/api/v1/visitors", "")
	}
	a.refused(429, "too_many_requests")
	if a.Header.Get("Retry-After") != "1" || a.field("retryAfterSeconds") != 1.0 {
		t.Errorf("got Retry-After %q, retryAfterSeconds %v", a.Header.Get("Retry-After"), a.field("retryAfterSeconds"))
	}
	h.clock.pass(time.Hour)
	h.server.limits = newLimits(0)
	h.held("gala", `["A-1"]`)
	a = h.staff("POST", "/api/v1/orders/"+order+"/confirm", `{"amount":8500,"currency":"EUR"}`, "Idempotency-Key", "1").refused(409, "refund_due")
	if a.text("order.orderId") != order || a.text("order.status") != "REFUND_DUE" {
		t.Errorf("refund_due without its order: %s", a.Body)
	}
	a = h.staff("PUT", "/api/v1/admin/events/gala/plan", "zone,row,seat,category\nStalls,A,1,\n").refused(422, "bad_plan")
	if a.text("problems.0.where") == "" || a.text("problems.0.what") == "" {
		t.Errorf("bad_plan without its problems: %s", a.Body)
	}
	a = h.do("PUT", "/api/v1/visitors", "").refused(405, "method_not_allowed")
	if got := a.Header.Get("Allow"); !strings.Contains(got, "POST") {
		t.Errorf("got Allow %q", got)
	}
}

func TestAPanicTellsTheClientNothing(t *testing.T) {
	h := newHouse(t, func(c *Config) {
		c.Extra = map[string]http.Handler{"/broken/": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("s3cret") })}
	})
	a := h.do("GET", "/broken/", "").refused(500, "internal")
	if strings.Contains(string(a.Body), "s3cret") || strings.Contains(string(a.Body), "goroutine") {
		t.Errorf("leaked: %s", a.Body)
	}
	if log := h.log.String(); !strings.Contains(log, "s3cret") || !strings.Contains(log, a.Header.Get("X-Request-Id")) {
		t.Errorf("the panic is not in the log: %s", log)
	}
}

func TestAnUnknownErrorIsInternal(t *testing.T) {
	s := newHouse(t).server
	for _, err := range []error{errors.New("x"), &sale.Refusal{Code: "made_up"}} {
		if p := s.problem(err); p.Status != 500 || p.Code != "internal" {
			t.Errorf("%v: got %d %s", err, p.Status, p.Code)
		}
	}
}
