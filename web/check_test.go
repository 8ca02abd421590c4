package web

import (
	"io"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

const shopCheck = "/api/v1/check?event=fair"

// fair makes an event without a plan, as a shop behind Foyer has it.
func (h *house) fair(more ...string) {
	h.t.Helper()
	h.staff("POST", "/api/v1/admin/events", `{"id":"fair","name":"Fair"`+strings.Join(append([]string{""}, more...), ",")+`}`).want(201)
}

func TestCheckLetsInWhoHasATurn(t *testing.T) {
	h := newHouse(t)
	h.fair()
	h.event("gala")
	visitor, token := h.ready("fair")
	id := h.do("POST", "/api/v1/events/fair/tokens/verify", `{"token":"`+token+`"}`, "Authorization", "Bearer "+h.key("shop")).want(200).text("customerId")
	for name, headers := range map[string][]string{
		"cookie": {"Cookie", "a=b; foyer_visitor=" + visitor}, "header": {"X-Visitor", visitor},
		"token": {"X-Entry-Token", token}, "older token": {"X-Queue-Token", token},
		"forged for the shop": {"X-Visitor", visitor, "X-Foyer-Visitor", "6ba7b810-9dad-41d1-80b4-00c04fd430c8", "X-Foyer-Token", "x"},
		"huge cookies":        {"Cookie", strings.Repeat("junk=1; ", 2000) + "foyer_visitor=" + visitor},
	} {
		if a := h.do("GET", shopCheck, "", headers...).want(204); a.Header.Get("X-Foyer-Token") != "" {
			t.Errorf("%s: the shop is told a token that nobody asked for", name)
		}
		for _, proxy := range []string{"&token=1", "&proxy=nginx&token=1"} {
			a := h.do("GET", shopCheck+proxy, "", headers...).want(204)
			if got := a.Header.Values("X-Foyer-Visitor"); len(got) != 1 || got[0] != id {
				t.Errorf("%s: the shop is told of %q, want %q", name, got, id)
			}
			if a.Header.Get("X-Foyer-Token") != token || len(a.Header.Values("Set-Cookie")) > 0 || a.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %v", name, a.Header)
			}
		}
	}
	h.do("GET", "/api/v1/check?event=gala", "", "X-Visitor", visitor).refused(429, "not_your_turn") // a turn elsewhere
	h.do("GET", "/api/v1/check?event=gala", "", "X-Entry-Token", token).refused(429, "not_your_turn")
	h.do("GET", shopCheck, "", "X-Visitor", h.visitor(), "X-Entry-Token", token).refused(429, "not_your_turn") // somebody else's
	h.staff("POST", "/api/v1/admin/events/fair/pause", "").want(200)
	h.do("GET", shopCheck, "", "X-Visitor", visitor).want(204)
	h.staff("POST", "/api/v1/admin/events/fair/close", "").want(200)
	h.do("GET", shopCheck, "", "X-Visitor", visitor).want(204) // turns run out their time
	h.clock.pass(5 * time.Minute)
	h.do("GET", shopCheck, "", "X-Visitor", visitor).refused(429, "not_your_turn")
}

func TestCheckTurnsAwayWithoutATurn(t *testing.T) {
	h := newHouse(t)
	h.fair(`"line":"always"`)
	waiting := h.visitor()
	h.do("POST", "/api/v1/events/fair/queue", "", "X-Visitor", waiting).want(201)
	page := []string{"Accept", "text/html,*/*;q=0.8"}
	for name, headers := range map[string][]string{
		"nobody": nil, "waiting": {"X-Visitor", waiting}, "malformed cookie": {"Cookie", `foyer_visitor="\x00; =;;`}, "forged": {"X-Visitor", strings.Repeat("A", 43)},
		"huge": {"Cookie", "foyer_visitor=" + strings.Repeat("x", 9000)}, "forged token": {"X-Entry-Token", strings.Repeat("A", 70)}, "says who he is": {"X-Foyer-Visitor", "me"},
	} {
		a := h.do("GET", shopCheck, "", headers...).refused(429, "not_your_turn")
		if a.Header.Get("Retry-After") == "" || a.Header.Get("X-Foyer-Visitor") != "" {
			t.Errorf("%s: %v", name, a.Header)
		}
		forwarded := append(append(page[:2:2], headers...), "X-Forwarded-Method", "GET", "X-Forwarded-Uri", "/cart?id=1&x=a%2Fb")
		a = h.do("GET", shopCheck, "", forwarded...).want(303)
		if got, want := a.Header.Get("Location"), "/events/fair?return=%2Fcart%3Fid%3D1%26x%3Da%252Fb"; got != want {
			t.Errorf("%s: sent to %s, want %s", name, got, want)
		}
		original := append(append(page[:2:2], headers...), "X-Original-Method", "GET", "X-Original-URI", "/cart")
		a = h.do("GET", shopCheck+"&proxy=nginx", "", original...).want(401)
		if got := a.Header.Get("X-Foyer-Location"); got != "/events/fair?return=%2Fcart" || a.Header.Get("X-Foyer-Status") != "303" || a.Header.Get("Location") != "" {
			t.Errorf("%s: nginx is told %v", name, a.Header)
		}
		a = h.do("GET", shopCheck, "", append(page[:2:2], "X-Forwarded-Method", "POST", "X-Forwarded-Uri", "/cart")...).refused(429, "not_your_turn")
		if a.Header.Get("X-Foyer-Location") != "/events/fair" || len(a.Header.Values("Set-Cookie")) > 0 {
			t.Errorf("%s: %v", name, a.Header)
		}
		a = h.do("GET", shopCheck+"&proxy=nginx", "", append(page[:2:2], "X-Original-Method", "POST")...).want(401)
		if a.Header.Get("X-Foyer-Status") != "429" {
			t.Errorf("%s: nginx is told %v", name, a.Header)
		}
	}
}

func TestCheckOfNothingIsAProblemAndNoRedirect(t *testing.T) {
	h := newHouse(t)
	h.fair()
	for _, proxy := range []string{"", "&proxy=nginx"} {
		h.do("GET", "/api/v1/check?event=none"+proxy, "", "Accept", "text/html").refused(404, "no_such_event")
		h.do("GET", "/api/v1/check?x=1"+proxy, "", "Accept", "text/html").refused(400, "bad_request")
	}
	h.do("GET", shopCheck+"&token=yes", "").refused(400, "bad_request")
	h.do("GET", shopCheck+"&proxy=apache", "").refused(400, "bad_request")
	h.do("GET", "/api/v1/check?event=fair&event=none", "").refused(400, "bad_request")
	h.do("GET", "/api/v1/check?event=&event=fair", "").refused(400, "bad_request")
}

// Some proxies ask with the method of the request they ask about, and take any 2xx
// for a yes.
func TestCheckAnswersEveryMethodAlike(t *testing.T) {
	h := newHouse(t)
	h.fair()
	visitor, token := h.ready("fair")
	page := []string{"Accept", "text/html"}
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "PURGE", "echo_route_not_found"} {
		looks := method == "GET" || method == "HEAD"
		// from a payment provider's page, by a form, with a body that the proxy kept to itself
		a := h.do(method, shopCheck+"&token=1", "", "Cookie", "foyer_visitor="+visitor, "Origin", "https://pay.example", "Sec-Fetch-Site", "cross-site",
			"Content-Type", "multipart/form-data", "Content-Encoding", "gzip").want(204)
		if a.Header.Get("X-Foyer-Visitor") == "" || a.Header.Get("X-Foyer-Token") != token || a.Header.Get("Allow") != "" || a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: let in with %v", method, a.Header)
		}
		for _, site := range []string{"same-origin", "cross-site"} {
			if a = h.do(method, shopCheck, "", append(page[:2:2], "Sec-Fetch-Site", site)...); looks {
				a.want(303)
			} else {
				a.refused(429, "not_your_turn")
			}
			if a.Header.Get("X-Request-Id") == "" {
				t.Errorf("%s: the denial has no name", method)
			}
		}
		a = h.do(method, shopCheck+"&proxy=nginx", "", page...).want(401)
		if got, want := a.Header.Get("X-Foyer-Status"), map[bool]string{true: "303", false: "429"}[looks]; got != want {
			t.Errorf("%s: nginx is told %s, want %s", method, got, want)
		}
		h.do(method, shopCheck, "", append(page[:2:2], "X-Forwarded-Method", "GET")...).want(303)
		h.do(method, shopCheck, "", append(page[:2:2], "X-Forwarded-Method", "POST")...).want(429)
		h.do(method, "/api/v1/check?event=none", "").want(404)
		h.do(method, "/api/v1/check", "").want(400)
	}
}

// unread is a body that fails a test when somebody reads it.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) { u.t.Error("the body is read"); return 0, io.EOF }

func TestCheckReadsNoBody(t *testing.T) {
	h := newHouse(t)
	h.fair()
	visitor, _ := h.ready("fair")
	for _, v := range []string{visitor, h.visitor()} {
		r := httptest.NewRequest("POST", shopCheck, unread{t})
		r.Header.Set("X-Visitor", v)
		h.server.ServeHTTP(httptest.NewRecorder(), r)
	}
}

func TestCheckReadsItsQueryAsOthersDo(t *testing.T) {
	h := newHouse(t)
	h.fair()
	h.event("gala")
	visitor, token := h.ready("fair")
	for query, want := range map[string]int{
		"event=f%61ir": 204, "ev%65nt=fair": 204, "event=%66%61%69%72&token=%31&prox%79=nginx": 204, "event=fair&event=f%61ir": 204,
		"event=fair&for=/cart%zz?x=%": 204, "%zz=1&event=fair": 204, "event=fair%00": 404, "event=%zz": 404, "event=fair+": 404,
		"event=fair&ev%65nt=gala": 400, "event=fair&for=/cart&event=gala": 400, "event=gala&event=fair": 400, "event=fair&event=": 400, "event=fair&token=%32": 400,
	} {
		a := h.do("GET", "/api/v1/check?"+query, "", "X-Visitor", visitor)
		if a.Status != want {
			t.Errorf("%s: got %d, want %d: %s", query, a.Status, want, a.Body)
		}
		if strings.Contains(query, "%31") && a.Header.Get("X-Foyer-Token") != token {
			t.Errorf("%s: the token is %q", query, a.Header.Get("X-Foyer-Token"))
		}
	}
	if got := testing.AllocsPerRun(100, func() { _, _ = readCheckQuery("event=fair&token=1&proxy=nginx") }); got != 0 {
		t.Errorf("a plain query costs %v allocations", got)
	}
}

func TestLineThatIsOffLetsEverybodyInWhileTheEventIsOpen(t *testing.T) {
	h := newHouse(t)
	h.fair(`"line":"off"`)
	a := h.do("GET", shopCheck, "", "X-Foyer-Visitor", "me").want(204)
	if len(a.Header.Values("X-Foyer-Visitor"))+len(a.Header.Values("X-Foyer-Token")) > 0 {
		t.Errorf("the shop is told %v", a.Header)
	}
	if a := h.do("GET", shopCheck, "", "X-Visitor", h.visitor()).want(204); a.Header.Get("X-Foyer-Visitor") == "" {
		t.Error("the shop is not told of a known visitor")
	}
	h.staff("POST", "/api/v1/admin/events/fair/pause", "").want(200)
	h.do("GET", shopCheck, "").refused(429, "not_your_turn")
	h.staff("POST", "/api/v1/admin/events/fair/close", "").want(200)
	h.do("GET", shopCheck, "").refused(429, "not_your_turn")
}

func TestComingToTheShopPicksTheTurnUp(t *testing.T) {
	h := newHouse(t)
	h.fair(`"line":"always"`, `"rules":{"pickupSeconds":10}`)
	came, lost := h.visitor(), h.visitor()
	for _, v := range []string{came, lost} {
		h.do("POST", "/api/v1/events/fair/queue", "", "X-Visitor", v).want(201)
	}
	if _, err := h.office.Tick("fair", time.Second); err != nil {
		t.Fatal(err)
	}
	h.do("GET", shopCheck, "", "X-Visitor", came).want(204)
	h.clock.pass(11 * time.Second)
	h.do("GET", shopCheck, "", "X-Visitor", came).want(204)
	h.do("GET", shopCheck, "", "X-Visitor", lost).want(429)
}

// hostile are addresses that must never be redirected to (B160, B161).
var hostile = []string{
	"//evil.example", "///evil.example", `/\evil.example`, `\evil.example`, "/%5Cevil.example", "/%5cevil.example", "/%255Cevil.example",
	"/%2F/evil.example", "/%2fevil.example", "/%09/evil.example", "/\t/evil.example", "/%0a/evil.example", "/x%0d%0aSet-Cookie:a=b", "https:evil.example", "https://evil.example/",
	"@evil.example", "evil.example", "javascript:alert(1)", "/..//evil.example", "/a/../b", "/%2e%2e//evil.example", "/a%2f..%2fb", "/" + strings.Repeat("a", 3000), "/a b", "/%zz", "/#x", "/\x00",
	"/x/;@evil.example/..", "", "?x", "/\u202e",
	"/a/..;/b", "/a/..;x=y/b", "/a/%2e%2e;/b", "/a/..%3b/b", "/a/.;/b", "/;x/b", "/a/..%20/b", "/a/.../b",
}

func TestHostileAddressesAreNoReturnTargets(t *testing.T) {
	h := newHouse(t)
	h.fair()
	for _, to := range hostile {
		a := h.do("GET", shopCheck, "", "Accept", "text/html", "X-Forwarded-Uri", to).want(303)
		if got := a.Header.Get("Location"); got != "/events/fair" {
			t.Errorf("%q is made a target: %s", to, got)
		}
		for _, path := range []string{"/events/fair", "/events/fair/line"} {
			h.do("GET", path+"?return="+url.QueryEscape(to), "").refused(400, "bad_return")
		}
		a = h.do("POST", "/events/fair/line?return="+url.QueryEscape(to), "", "Content-Type", "application/x-www-form-urlencoded").refused(400, "bad_return")
		if a.Header.Get("Location") != "" {
			t.Errorf("%q: sent to %s", to, a.Header.Get("Location"))
		}
	}
	h.do("GET", "/events/fair?return=/a&return=/b", "").refused(400, "bad_return")
	for _, to := range []string{"/", "/cart", "/cart?next=//x%2F..&y=%5C", "/a%20b/%C3%A4", "/a.b/c..d;v=1"} {
		a := h.do("GET", shopCheck, "", "Accept", "text/html", "X-Forwarded-Uri", to).want(303)
		h.do("GET", a.Header.Get("Location"), "").want(200)
	}
}

func TestTurnLeadsBackToTheShop(t *testing.T) {
	h := newHouse(t)
	h.fair(`"shopUrl":"/shop"`)
	b := h.browser()
	b.get("/events/fair").want(200).says(`href="/shop">Go to the shop`)
	const back = "/events/fair?return=%2Fcart%3Fa%3D1%26b%3D2"
	b.get(back).want(200).says(`href="/cart?a=1&amp;b=2">Go to the shop`, `action="/events/fair/line?return=%2fcart%3fa%3d1%26b%3d2"`)
	a := b.post("/events/fair/line?return=%2Fcart%3Fa%3D1%26b%3D2").want(303)
	b.follow(a).says("It is your turn", `<a class="b" href="/cart?a=1&amp;b=2">Go to the shop</a>`)
	b.get("/events/fair/line").want(200).says(`<a class="b" href="/shop">`)
	h.event("gala")
	b.get("/events/gala").want(200).says(`href="/events/gala/seats">Choose seats`)
	h.staff("PATCH", "/api/v1/admin/events/fair", `{"shopUrl":"https://shop.example.org/x"}`).want(200)
	b.get("/events/fair/line").want(200).says(`href="https://shop.example.org/x"`)
	for _, bad := range []string{"javascript:alert(1)", "//evil.example", "https://user:pw@shop.example", "ftp://x/", "shop", "https://shop.example//evil"} {
		h.staff("PATCH", "/api/v1/admin/events/fair", `{"shopUrl":"`+bad+`"}`).refused(422, "bad_event")
	}
}

func TestTokenRoutesAnswerAsWrittenDown(t *testing.T) {
	h := newHouse(t)
	h.fair()
	visitor, token := h.ready("fair")
	shop := []string{"Authorization", "Bearer " + h.key("shop")}
	act := func(name, key, body string) *answer {
		t.Helper()
		headers := shop
		if key != "" {
			headers = append(shop[:2:2], "Idempotency-Key", key)
		}
		return h.do("POST", "/api/v1/events/fair/tokens/"+name, body, headers...)
	}
	mine := `{"token":"` + token + `","customerId":"c-9"}`
	bad := act("verify", "", `{"token":"no"}`).want(200)
	if got := string(bad.Body); got != `{"valid":false,"tokenState":null,"customerId":null,"expiresAt":null}` {
		t.Errorf("a bad token is %s", got)
	}
	act("claim", "", mine).refused(400, "idempotency_key_missing")
	first := act("claim", "k", mine).want(200)
	if first.field("valid") != true || first.text("tokenState") != "CLAIMED" || first.text("customerId") != "c-9" || first.text("expiresAt") == "" {
		t.Errorf("claimed: %s", first.Body)
	}
	if again := act("claim", "k", mine).want(200); string(again.Body) != string(first.Body) {
		t.Errorf("again: %s, want %s", again.Body, first.Body)
	}
	act("claim", "k", `{"token":"`+token+`"}`).refused(422, "idempotency_key_reused")
	act("claim", "other", mine).refused(409, "turn_in_use")
	act("verify", "", `{"token":"`+token+`","more":1}`).refused(400, "unknown_field")
	place := h.do("GET", "/api/v1/events/fair/queue", "", "X-Visitor", visitor).want(200)
	if place.text("tokenState") != "CLAIMED" || place.field("orderId") != nil {
		t.Errorf("the visitor sees %s", place.Body)
	}
	h.do("GET", shopCheck, "", "X-Visitor", visitor).want(204)
	act("release", "l", mine).want(200)
	act("consume", "m", mine).refused(409, "turn_not_claimed")
	act("claim", "n", mine).want(200)
	for _, name := range []string{"release", "consume"} { // another shop
		foreign := h.do("POST", "/api/v1/events/fair/tokens/"+name, mine, "Authorization", "Bearer "+h.key("shop"), "Idempotency-Key", "n")
		if foreign.refused(409, "turn_in_use"); !strings.Contains(foreign.text("detail"), "another key") {
			t.Errorf("another shop reads %s", foreign.Body)
		}
	}
	h.staff("POST", "/api/v1/events/fair/tokens/release", mine, "Idempotency-Key", "n").want(200) // an admin may
	act("claim", "n2", mine).want(200)
	if used := act("consume", "o", mine).want(200); used.field("valid") != false || used.text("tokenState") != "CONSUMED" {
		t.Errorf("used: %s", used.Body)
	}
	h.do("GET", shopCheck, "", "X-Visitor", visitor).want(429)
	for _, name := range []string{"verify", "claim", "release", "consume"} {
		h.do("POST", "/api/v1/events/fair/tokens/"+name, mine).refused(401, "no_key")
		h.do("POST", "/api/v1/events/fair/tokens/"+name, mine, "Authorization", "Bearer "+h.key("door")).refused(403, "wrong_role")
	}
}

func TestCheckIsCountedAndSurvivesAPanic(t *testing.T) {
	h := newHouse(t, func(c *Config) { c.Metrics = true })
	h.fair()
	visitor, _ := h.ready("fair")
	for range 3 {
		h.do("GET", shopCheck, "", "X-Visitor", visitor).want(204)
	}
	h.do("HEAD", shopCheck, "", "X-Visitor", visitor).want(204)
	h.do("GET", shopCheck, "").refused(429, "not_your_turn")
	for _, method := range []string{"GET", "HEAD"} { // an address that is not the check's, whoever asks
		h.do(method, "/api/v1/%63heck?event=fair", "", "X-Visitor", visitor).want(404)
	}
	metrics := string(h.staff("GET", "/metrics", "").want(200).Body)
	for _, line := range []string{
		`foyer_http_requests_total{code="204",method="GET",route="/api/v1/check"} 3`,
		`foyer_http_requests_total{code="204",method="HEAD",route="/api/v1/check"} 1`,
		`foyer_http_requests_total{code="429",method="GET",route="/api/v1/check"} 1`,
	} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("%s is not in the metrics", line)
		}
	}
	h.server.office = nil // whatever asks it panics
	h.do("GET", shopCheck, "", "X-Visitor", visitor).refused(500, "internal")
}
