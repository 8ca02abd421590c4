package web

import (
	"encoding/json"
	"strings"
	"testing"
)

// A whole purchase, and then some mistakes; nothing secret is in the log.
func TestNothingSecretIsLogged(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	visitor, token := h.ready("gala")
	shop := h.key("shop")
	secrets := map[string]string{"the admin key": adminKey, "the shop's key": shop, "a credential": visitor, "an entry token": token, "an Idempotency-Key": "idem-4711", "a signature": "sig-0815", "the e-mail": "eve@example.org", "the name": "Eve Adams"}
	h.do("GET", "/api/v1/events/gala/queue?X-Visitor="+visitor, "", "Cookie", "foyer_visitor="+visitor).want(200)
	place := "/api/v1/events/gala/queue/" + h.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", visitor).text("queueId")
	way := h.do("POST", place+"/link", "", "X-Visitor", visitor).want(201).text("code")
	secrets["a return code"] = way
	b := h.browser()
	b.post("/events/gala/return", "code", way).want(303)
	b.get("/events/gala/travel").want(200)
	b.post("/events/gala/return?code="+way, "code", way, "instead", place[len(place)-36:]).want(410)
	h.do("POST", "/api/v1/visitors/return", `{"code":"`+way+`"}`).want(410)
	order := h.do("POST", "/api/v1/events/gala/holds", `{"best":{"count":1}}`, "X-Visitor", visitor, "X-Entry-Token", token).want(201).text("orderId")
	pay := h.do("POST", "/api/v1/orders/"+order+"/pay", `{"provider":"demo","name":"Eve Adams","email":"eve@example.org"}`, "X-Visitor", visitor).want(200)
	secrets["a payment's address"] = pay.text("redirectUrl")
	h.do("POST", "/api/v1/orders/"+order+"/confirm", `{"amount":4250,"currency":"EUR"}`, "Authorization", "Bearer "+shop, "Idempotency-Key", "idem-4711").want(200)
	code := h.do("GET", "/api/v1/orders/"+order, "", "X-Visitor", visitor).want(200).text("tickets.0.code")
	secrets["a ticket's code"] = code
	h.do("POST", "/api/v1/payments/demo/webhook", "{}", "Signature", "sig-0815").want(400)
	for _, s := range []string{visitor, token, adminKey, shop, code, way} { // secrets in the place of ids
		h.do("GET", "/api/v1/orders/"+s, "")
		h.do("GET", "/api/v1/events/"+s, "")
		h.do("GET", "/api/v1/"+s, "")
		h.do("GET", "/"+s, "")
		h.do("GET", "/api/v1/events/gala/queue/"+s, "", "X-Visitor", visitor)
		h.staff("DELETE", "/api/v1/admin/keys/"+s, "")
		h.do(strings.ToUpper(s), "/", "")
		h.do("GET", "/api/v1/admin/keys", "", "Authorization", "Basic "+s)
	}
	delete(secrets, "a ticket's code") // our test's code looks like an id; real ones do not
	log := h.log.String()
	for what, secret := range secrets {
		if secret == "" || strings.Contains(strings.ToLower(log), strings.ToLower(secret)) {
			t.Errorf("%s is in the log", what)
		}
	}
}

func TestEveryRequestHasOneLine(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	h.log.b.Reset()
	a := h.do("GET", "/api/v1/events/gala?x=1", "").want(200)
	var line struct {
		Level, Msg, ID, Method, Route, Path, Addr string
		Status, Bytes                             int
		DurMicros                                 *int
	}
	if err := json.Unmarshal([]byte(h.log.String()), &line); err != nil {
		t.Fatalf("%v: %s", err, h.log.String())
	}
	if line.Level != "INFO" || line.Msg != "request" || line.ID != a.Header.Get("X-Request-Id") || len(line.ID) != 16 || line.Method != "GET" ||
		line.Route != "/api/v1/events/:event" || line.Path != "/api/v1/events/gala" || line.Status != 200 || line.Bytes != len(a.Body) || line.DurMicros == nil || line.Addr != "192.0.2.1" {
		t.Errorf("got %+v", line)
	}
	h.log.b.Reset()
	h.do("GET", "/api/v1/events/gala/status", "").want(200)
	if n := strings.Count(h.log.String(), "\n"); n != 1 {
		t.Errorf("a poll leaves %d lines: %s", n, h.log.String())
	}
	h.log.b.Reset()
	h.do("GET", "/api/v1/events/none/status", "").want(404)
	if !strings.Contains(h.log.String(), `"level":"INFO"`) {
		t.Errorf("a refusal is hidden: %s", h.log.String())
	}
}

func TestEveryAnswerIsGuarded(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	for _, path := range []string{"/api/v1/events", "/api/v1/nothing", "/healthz", "/nothing", "/openapi.yaml"} {
		a := h.do("GET", path, "")
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"} {
			if got := a.Header.Get(name); got != want {
				t.Errorf("%s: got %s %q, want %q", path, name, got, want)
			}
		}
		if csp := a.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") {
			t.Errorf("%s: got Content-Security-Policy %q", path, csp)
		}
		if a.Header.Get("Cache-Control") == "" || a.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: got %v", path, a.Header)
		}
	}
	if a := h.do("GET", "/nothing", "", "Accept", "text/html"); a.Status != 404 || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
		t.Errorf("a person gets %d %s", a.Status, a.Header.Get("Content-Type"))
	}
	h.do("GET", "/api/v1/nothing", "", "Accept", "text/html").refused(404, "no_such_route")
}
