package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// patient is an answer that keeps the deadlines it was given.
type patient struct {
	*httptest.ResponseRecorder
	read, write time.Time
}

func (p *patient) SetReadDeadline(t time.Time) error  { p.read = t; return nil }
func (p *patient) SetWriteDeadline(t time.Time) error { p.write = t; return nil }

// net/http reads the rest of a body before it sends the answer: somebody who
// sends none must not hold a connection for ever.
func TestWhoIsKeptOutHasLimitedTime(t *testing.T) {
	h := newHouse(t)
	h.fair(`"line":"always"`)
	front := h.server.Protect(Protection{Upstream: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, Event: "fair"})
	w := &patient{ResponseRecorder: httptest.NewRecorder()}
	front.ServeHTTP(w, httptest.NewRequest("POST", "/cart", nil))
	if w.Code != 429 || w.read.IsZero() || w.write.IsZero() {
		t.Errorf("got %d, to read until %s, to write until %s", w.Code, w.read, w.write)
	}
}

// A visitor who waits needs no address that the shop would be asked for.
func TestWaitingRoomHasAllThatVisitorsNeed(t *testing.T) {
	h := newHouse(t)
	p := &protector{Server: h.server, Protection: Protection{Event: "fair"}}
	checked := 0
	for _, r := range h.server.routes() {
		if strings.HasPrefix(r.path, api+"/visitors") || strings.HasPrefix(r.path, api+"/events/:event") {
			checked++
			if at := strings.NewReplacer(":event", "fair", ":queueId", "6ba7b810-9dad-41d1-80b4-00c04fd430c8").Replace(r.path); !p.room(at) {
				t.Errorf("%s %s is left to the shop", r.method, at)
			}
		}
	}
	if checked < 15 {
		t.Errorf("only %d routes are a visitor's", checked)
	}
	for _, other := range []string{"/api/v1/visitors/", "/api/v1/visitors/return/x", "/api/v1/visitorsx", "/api/v1/events", "/api/v1/events/fairy", "/api/v1/keys", "/"} {
		if p.room(other) {
			t.Errorf("%s is taken from the shop", other)
		}
	}
}

func TestProtectCountsWhatBecameOfRequests(t *testing.T) {
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hang-up":
			panic(http.ErrAbortHandler)
		case "/switch": // to something that nobody asked for
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "other")
			w.WriteHeader(http.StatusSwitchingProtocols)
		}
	}))
	defer shop.Close()
	at, _ := url.Parse(shop.URL)
	h := newHouse(t)
	front := h.server.Protect(Protection{Upstream: at, Event: "fair", Exclude: Patterns{"/hooks/*"}})
	open := h.server.Protect(Protection{Upstream: at, Event: "nobody-made-it", FailOpen: true})
	ask := func(front http.Handler, method, path string, want int, headers ...string) {
		t.Helper()
		r := httptest.NewRequest(method, path, nil)
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		if front.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s %s: got %d, want %d: %s", method, path, w.Code, want, w.Body)
		}
	}
	ask(front, "GET", "/", 503) // there is no event yet
	ask(open, "GET", "/", 200)
	h.fair(`"line":"auto"`)
	credential, _ := h.ready("fair")
	for range 3 {
		ask(front, "GET", "/shop", 200, "X-Visitor", credential)
	}
	ask(front, "GET", "/hang-up", 502, "X-Visitor", credential)
	ask(front, "GET", "/switch", 502, "X-Visitor", credential, "Connection", "Upgrade", "Upgrade", "websocket")
	ask(front, "GET", "/hooks/pay", 200)
	ask(front, "GET", "/hooks/pay", 200)
	ask(front, "GET", "/", 303, "Accept", "text/html")
	ask(front, "POST", "/", 429, "Accept", "text/html")
	ask(front, "GET", "/api/v1/events/fair/status", 200) // the waiting room's
	gone, leave := context.WithCancel(t.Context())
	leave()
	front.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, "GET", "/hooks/pay", nil))
	metrics := string(h.staff("GET", "/metrics", "").want(200).Body)
	for outcome, want := range map[string]int{"passed": 3, "excluded": 2, "fail_open": 1, "waiting": 1, "refused": 1, "undecided": 1, "failed": 2, "broken": 1} {
		if line := fmt.Sprintf("foyer_protect_requests_total{outcome=%q} %d\n", outcome, want); !strings.Contains(metrics, line) {
			t.Errorf("no %s in %s", line, metrics)
		}
	}
	manual, err := os.ReadFile("../docs/protect.md")
	if err != nil {
		t.Fatal(err)
	}
	for o := range newOutcomes(prometheus.NewRegistry()) {
		if !strings.Contains(string(manual), "| `"+string(o)+"` |") {
			t.Errorf("the manual has no row of %s", o)
		}
	}
}

func TestPatternsTakeWhatTheySay(t *testing.T) {
	all := Patterns{"/hooks/pay", "/ipn/*", "/shops/*/done", "/files/*.txt"}
	for path, want := range map[string]bool{
		"/hooks/pay": true, "/hooks/pay/": false, "/hooks/payx": false, "/hooks": false, "/ipn/a": true, "/ipn/a/b/": true, "/ipn/": false, "/ipn": false, "/ipnx/a": false,
		"/shops/7/done": true, "/shops/7/8/done": false, "/shops/7/done/x": false, "/files/a.txt": true, "/files/a/b.txt": false, "/": false, "": false,
	} {
		if got := all.match(path); got != want {
			t.Errorf("%q: got %v, want %v", path, got, want)
		}
	}
	for pattern, good := range map[string]bool{"/*": true, "/a/*/b": true, "/a": true, "a": false, "": false, "//a": false, "/../a": false, "/[": false, `/\a`: false, "/a?b": false, "/%2e": false, "/a/**": false, "/a/..;x": false, "/a;x": false, "/a%20b": false, "/a{b}": false, "/a|b": false} {
		if err := CheckPattern(pattern); (err == nil) != good {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

// Whatever the shop could read as another path than it looks needs a turn.
func TestEncodedPathsAreNeverExcluded(t *testing.T) {
	shop := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer shop.Close()
	at, _ := url.Parse(shop.URL)
	h := newHouse(t)
	h.fair(`"line":"always"`)
	front := h.server.Protect(Protection{Upstream: at, Event: "fair", Exclude: Patterns{"/hooks/*", "/*.css", "/img/*.png"}})
	for path, want := range map[string]int{
		"/hooks/pay": 200, "/hooks/a+b@c:d,e=f!'()*$&": 200, "/a.css": 200, "/hooks/pay?x=%3b;%2f": 200,
		"/checkout;a.css": 429, "/checkout%3ba.css": 429, "/checkout%3fa.css": 429, "/checkout%23.css": 429, "/img/cart;x.png": 429, "/hooks%2fa": 429, "/hooks/%61": 429,
		"/hooks/a%20b": 429, "/hooks/a%2520": 429, "/hooks/\xc3\xa4": 429, "/hooks/<b>": 429, "/hooks/pay;v=1": 429, "/checkout#.css": 429,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		var err error
		if r.URL, err = url.ParseRequestURI(path); err != nil { // as net/http reads a request line
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		if front.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s: got %d, want %d", path, w.Code, want)
		}
	}
}

func TestSessionOfStaffDoesNotReachTheShop(t *testing.T) {
	for cookies, want := range map[string]string{
		"foyer_staff=s": "", "a=b; foyer_staff=s;c=d": "a=b; c=d", "__Host-foyer_staff=s; a=b": "a=b", "a=b;c=d": "a=b;c=d", "xfoyer_staff=1": "xfoyer_staff=1", "a=foyer_staff=s": "a=foyer_staff=s", "": "",
	} {
		h := http.Header{"Cookie": {cookies}}
		if dropStaff(h); h.Get("Cookie") != want {
			t.Errorf("%q: got %q, want %q", cookies, h.Get("Cookie"), want)
		}
	}
}

// In front of a shop only the addresses with a hash are Foyer's, in the recipes of examples too.
func TestScriptsImportWhatAProtectedShopLetsThrough(t *testing.T) {
	p, scripts := &protector{}, regexp.MustCompile(`'[^' ]*\.js'`)
	seen := 0
	for name, a := range assets {
		for _, quoted := range scripts.FindAllString(string(a.plain.body), -1) {
			seen++
			if at := strings.Trim(quoted, "'"); !p.room(at) {
				t.Errorf("%s imports %s, which is the shop's", name, at)
			}
		}
	}
	if seen < 7 {
		t.Errorf("%d imports were found", seen)
	}
}
