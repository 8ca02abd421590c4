package contract

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestEveryUnknownRouteAndMethodIsAProblem(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 2, nil)
	for _, path := range []string{"/api/v1", "/api/v1/", "/api/v1/nowhere", "/api/v2/events", "/api/v1/events/" + e.id + "/nowhere", "/api/v1/admin/nowhere", "/api/v1/orders", "/api/v1/events/"} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			a := shared.call(t, method, path, nil).problem(t)
			if a.status != http.StatusNotFound && a.status != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: got %d, want 404 or 405", method, path, a.status)
			}
		}
	}
	for _, c := range [][2]string{{"DELETE", "/api/v1/events"}, {"PUT", "/api/v1/visitors"}, {"GET", "/api/v1/visitors"}, {"PATCH", e.path("/queue")}, {"GET", e.path("/holds")},
		{"POST", e.path("/status")}, {"PUT", "/api/v1/admin/events"}, {"BREW", "/api/v1/events"}, {"GET", "/api/v1/payments/demo/webhook"}, {"TRACE", "/api/v1/events"}} {
		a := shared.call(t, c[0], c[1], nil).problem(t).want(t, http.StatusMethodNotAllowed)
		if a.header.Get("Allow") == "" {
			t.Errorf("%s %s: no Allow header", c[0], c[1])
		}
	}
}

// changing is every route that takes a body, with what it takes to get as far as the body.
func changing(t *testing.T) []struct{ method, path string } {
	e := eventOf(t, shared, 2, nil)
	o := e.buyer(t).holds(t, "A-1")
	staff := "/api/v1/admin/events"
	return []struct{ method, path string }{
		{"POST", "/api/v1/visitors"}, {"POST", e.path("/queue")}, {"POST", e.path("/holds")}, {"POST", o.path("/pay")}, {"POST", o.path("/cancel")}, {"POST", o.path("/confirm")},
		{"POST", staff}, {"PATCH", staff + "/" + e.id}, {"PUT", staff + "/" + e.id + "/plan"}, {"POST", staff + "/" + e.id + "/open"}, {"POST", staff + "/" + e.id + "/pause"},
		{"POST", staff + "/" + e.id + "/announce"}, {"PATCH", staff + "/" + e.id + "/pace"}, {"POST", "/api/v1/admin/keys"}, {"POST", "/api/v1/payments/demo/webhook"},
		{"PUT", "/api/v1/lanes/" + e.id}, {"POST", "/api/v1/lanes/" + e.id + "/tasks"},
	}
}

func TestB104BrokenBigAndForeignBodiesAreRefusedOnEveryRoute(t *testing.T) {
	t.Parallel()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	fmt.Fprint(z, "{}")
	z.Close()
	p := eventOf(t, shared, 2, nil).buyer(t)
	for _, route := range changing(t) {
		call := func(body any, headers ...string) answer {
			t.Helper()
			a, err := shared.try(route.method, route.path, body, append([]string{"Authorization", "Bearer " + adminKey, "X-Visitor", p.credential, "X-Entry-Token", p.token, "Idempotency-Key", "k"}, headers...)...)
			if err != nil && !strings.Contains(err.Error(), "reset") && !strings.Contains(err.Error(), "broken pipe") { // a server may hang up on 10 MB
				t.Errorf("%s %s: %v", route.method, route.path, err)
			}
			return a
		}
		refuse := func(what string, a answer, statuses ...int) {
			t.Helper()
			for _, s := range statuses {
				if a.status == s {
					a.problem(t)
					return
				}
			}
			t.Errorf("%s %s with %s: got %d %s, want one of %v", route.method, route.path, what, a.status, short(a.body), statuses)
		}
		isHook, isPlan := strings.HasSuffix(route.path, "/webhook"), strings.HasSuffix(route.path, "/plan")
		refuse("gzip", call(zipped.String(), "Content-Encoding", "gzip"), 415)
		if !isPlan {
			refuse("65 KiB", call(`{"name":"`+strings.Repeat("x", 65<<10)+`"}`), 413)
			refuse("10 MB", call(`{"seats":["`+strings.Repeat("x", 10<<20)+`"]}`), 413, 0)
		}
		if isHook {
			continue // refused for their signature before anybody reads them
		}
		for _, broken := range []string{`{`, `{"a":`, `[]`, `{"surprise":1}`, `{}{}`, `nonsense`, "{\"name\":\"\xff\"}", strings.Repeat(`{"a":`, 10000)} {
			refuse(short(broken), call(broken), 400, 422)
		}
		if a := call(`{"surprise":1}`); !isPlan {
			refuse("an unknown field", a, 400)
		}
		if !isPlan {
			refuse("a form", call("a=b", "Content-Type", "application/x-www-form-urlencoded"), 415)
			refuse("text", call("{}", "Content-Type", "text/plain"), 415)
		}
	}
}

func TestB160B161OddPathsNeverBreakNorLeadAway(t *testing.T) {
	t.Parallel()
	own, err := url.Parse(shared.url())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/%5Cevil.example", "//evil.example", "//evil.example/..", "/%09/evil.example", `/\evil.example`, "///evil.example//", "/%2f%2fevil.example", "/evil.example%2f..", "//evil.example%2f..",
		"/.//evil.example", "/static//evil.example", "/static/..%2f..%2fetc/passwd", "/static/%2e%2e/%2e%2e/go.mod", "/static/..%5c..%5cgo.mod", "/events//evil.example/", "/events/%2f%2fevil.example/seats", "/api/v1//events", "/api/v1/./events", "/api/v1/../v1/events",
		"/admin%2f", "/%61dmin", "/admin/..", "/admin/%2e%2e/", "/admin;x", "/ADMIN", "/%00", "/%ff", "/%", "/%zz", "/?return=//evil.example", "/admin?return=https://evil.example", "/admin/login?return=//evil.example", "/admin/login?next=%5C%5Cevil.example",
		"/events/x?return=https:evil.example", "/orders/x", "/orders/%2e%2e", "/door", "/docs", "/metrics", "/favicon.ico", "/robots.txt", "/" + strings.Repeat("a", 7000), "/" + strings.Repeat("../", 500), "*", "http://evil.example/", "/@evil.example", "/events/@evil.example"} {
		for _, method := range []string{"GET", "POST", "HEAD"} {
			status, header := raw(t, method, path)
			if status >= 500 || status == 0 {
				t.Errorf("%s %.60s: got %d, want no 5xx", method, path, status)
			}
			if to := header.Get("Location"); to != "" {
				u, err := own.Parse(to)
				if err != nil || u.Host != own.Host || strings.HasPrefix(to, "//") || strings.HasPrefix(to, `/\`) || strings.Contains(to, "evil.example") && !strings.HasPrefix(to, "/") {
					t.Errorf("%s %.60s leads to %q", method, path, to)
				}
			}
		}
	}
}

// raw sends a path as it is, which net/http would mend.
func raw(t *testing.T, method, path string) (int, http.Header) {
	t.Helper()
	c, err := net.Dial("tcp", shared.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: %s\r\nAccept: text/html\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", method, path, shared.addr)
	res, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		t.Errorf("%s %.60s: %v", method, path, err)
		return 0, nil
	}
	res.Body.Close()
	return res.StatusCode, res.Header
}

func TestPagesAnswerWithHTMLAndAPolicy(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 2, nil)
	o := e.buyer(t).holds(t, "A-1")
	for path, want := range map[string]int{"/": 200, "/events/" + e.id: 200, "/admin": 0, "/events/nowhere": 404, "/orders/" + o.id: 0, "/nowhere": 404} {
		a := shared.call(t, "GET", path, nil, "Accept", "text/html")
		if want != 0 {
			a.want(t, want)
		}
		if a.status >= 500 || a.status < 300 && !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %d %s, want a page", path, a.status, a.header.Get("Content-Type"))
		}
		if csp := a.header.Get("Content-Security-Policy"); csp == "" || strings.Contains(csp, "script-src 'unsafe-inline'") {
			t.Errorf("%s: Content-Security-Policy %q", path, csp)
		}
	}
	for path, kind := range map[string]string{"/healthz": "", "/readyz": "", "/openapi.yaml": "yaml", "/metrics": "text/plain"} {
		if a := shared.call(t, "GET", path, nil).want(t, http.StatusOK); !strings.Contains(a.header.Get("Content-Type"), kind) {
			t.Errorf("%s is %s, want %s", path, a.header.Get("Content-Type"), kind)
		}
	}
}

func TestB171ClientsThatVanishOrDawdleHurtNobody(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "--rate-limit", "0")
	e := eventOf(t, h, 50, nil)
	people := e.buyers(t, 40)
	each(len(people), func(i int) { // gone in the middle of a request, and in the middle of the answer
		c, err := net.Dial("tcp", h.addr)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		body := fmt.Sprintf(`{"seats":["A-%d"]}`, i+1)
		request := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-Entry-Token: %s\r\nX-Visitor: %s\r\nContent-Length: %d\r\n\r\n%s", e.path("/holds"), people[i].token, people[i].credential, len(body), body)
		fmt.Fprint(c, request[:len(request)-(i%2)*5])
	})
	slow := make([]net.Conn, 200) // headers that never end
	for i := range slow {
		c, err := net.Dial("tcp", h.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: x\r\nX-A: ")
		slow[i] = c
	}
	p := e.buyer(t)
	p.holds(t, "A-50")
	// A hold whose request was cut is not there; one whose answer was not read is, and whole.
	for i, q := range people {
		if i%2 == 1 {
			if got := q.place(t).text("tokenState"); got != "READY" {
				t.Errorf("half a request made a hold: %s", got)
			}
		}
	}
	_ = slow[0].SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.ReadAll(slow[0]); err != nil {
		t.Errorf("headers that never end are waited for over 30 s: %v", err)
	}
	if log := h.log.String(); strings.Contains(log, "panic") || strings.Contains(log, "DATA RACE") {
		t.Errorf("the log speaks of a panic:\n%s", log)
	}
}
