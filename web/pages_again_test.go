package web

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// gate is a proxy in front of a house: it passes requests on, or answers itself
// as proxies do while the house is away, and counts what browsers ask for.
type gate struct {
	*house
	url string

	mu    sync.Mutex
	fault http.HandlerFunc // nil passes on
	asked int              // requests since the last change
}

func newGate(t *testing.T) *gate {
	t.Helper()
	g := &gate{house: newHouse(t)}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		fault, server := g.fault, g.server
		g.asked++
		g.mu.Unlock()
		if fault != nil {
			fault(w, r)
			return
		}
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		g.server.EndStreams()
		srv.Close()
	})
	g.url = srv.URL
	return g
}

// set puts a fault in front, or takes it away, and returns how many requests
// came since the last change.
func (g *gate) set(fault http.HandlerFunc) (asked int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	asked, g.asked, g.fault = g.asked, 0, fault
	return asked
}

// restart restarts the house behind the gate.
func (g *gate) restart() {
	g.t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.house.restart()
}

// says is a proxy that answers everything with one status, type and body.
func says(status int, kind, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // a 204 has none
	}
}

// reset breaks the connection without an answer.
func reset(w http.ResponseWriter, _ *http.Request) {
	if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
}

// toLogin sends everybody to a page of its own.
func toLogin(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/login" {
		says(200, "text/html", "<h1>Who are you?</h1>")(w, r)
		return
	}
	http.Redirect(w, r, "/login", http.StatusFound)
}

var badGateway = says(502, "text/html", "<h1>502 Bad Gateway</h1>")

// more opens another tab of the same browser, with the same cookies.
func more(ctx context.Context, t *testing.T) context.Context {
	t.Helper()
	tab, stop := chromedp.NewContext(ctx)
	t.Cleanup(stop)
	return tab
}

// numbered is true while the page shows this number and claims no turn, no end and no form to join.
func numbered(n string) string {
	return `document.getElementById('no').textContent == 'You are number ` + n + `' && !document.getElementById('wait').hidden &&
		document.getElementById('join').hidden && document.getElementById('turn').hidden && document.getElementById('why').hidden`
}

func TestB123BrowserBelievesNoAnswerThatIsNotFoyers(t *testing.T) {
	ctx := chrome(t)
	g := newGate(t)
	g.event("gala", `"rules":{"maxActive":1,"pickupSeconds":3600,"turnSeconds":3600}`)
	g.ready("gala")
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), chromedp.Click("#join button"), shown("wait"), see(numbered("2")))
	loaded := ask[float64](ctx, t, "performance.timeOrigin")
	for name, fault := range map[string]http.HandlerFunc{
		"HTML 502":            badGateway,
		"HTML 200":            says(200, "text/html", "<h1>Maintenance</h1>"),
		"HTML 401":            says(401, "text/html", "<h1>Who are you?</h1>"),
		"JSON 401":            says(401, "application/json", `{"error":"unauthorized"}`),
		"JSON 404":            says(404, "application/json", `{"message":"no route"}`),
		"JSON 200":            says(200, "application/json", `{}`),
		"204":                 says(204, "", ""),
		"429":                 says(429, "application/problem+json", `{"detail":"slow down"}`, "Retry-After", "1"),
		"503 until a date":    says(503, "text/html", "away", "Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)),
		"way to a login page": toLogin,
		"reset":               reset,
	} {
		g.set(fault)
		run(ctx, t, see(`!document.getElementById('net').hidden && /^Reconnecting…/.test(document.getElementById('net').innerText)`))
		if !ask[bool](ctx, t, numbered("2")) {
			t.Errorf("%s: the page says\n%s", name, ask[string](ctx, t, "document.body.innerText"))
		}
		<-time.After(1200 * time.Millisecond) // counts what it asks until then
		if asked := g.set(nil); asked > 10 {  // the way to a login page is two requests
			t.Errorf("%s: %d requests in little more than a second", name, asked)
		}
		run(ctx, t, see(`document.getElementById('net').hidden && `+numbered("2")))
	}
	if again := ask[float64](ctx, t, "performance.timeOrigin"); again != loaded {
		t.Error("the page loaded itself again")
	}
}

func TestB123B124BrowserTabsComeBackByThemselvesAndLearnOfTheTurn(t *testing.T) {
	ctx := chrome(t)
	g := newGate(t)
	g.event("gala", `"rules":{"maxActive":1,"pickupSeconds":3600,"turnSeconds":3600}`)
	first, _ := g.ready("gala")
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), chromedp.Click("#join button"), shown("wait"), see(numbered("2")))
	tabs := []context.Context{ctx, more(ctx, t), more(ctx, t)}
	for _, tab := range tabs[1:] {
		run(tab, t, chromedp.Navigate(g.url+"/events/gala"), see(numbered("2")))
	}
	g.set(badGateway)
	const away = 8 * time.Second
	down := time.Now()
	for _, tab := range tabs {
		run(tab, t, shown("net"), see(numbered("2")))
	}
	g.restart()
	place := g.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", first).text("queueId")
	g.do("DELETE", "/api/v1/events/gala/queue/"+place, "", "X-Visitor", first).want(204)
	g.clock.pass(2 * time.Second)
	if _, err := g.office.Tick("gala", time.Second); err != nil { // the turn comes while nobody can be told
		t.Fatal(err)
	}
	<-time.After(time.Until(down.Add(away)))
	asked := g.set(nil)
	if most := len(tabs) * 8; asked > most {
		t.Errorf("%d tabs sent %d requests in %v, want at most %d", len(tabs), asked, away, most)
	}
	up := time.Now()
	for _, tab := range tabs {
		run(tab, t, shown("turn"), see(`document.getElementById('net').hidden && document.title == 'Your turn – Gala'`))
	}
	if took := time.Since(up); took > time.Minute {
		t.Errorf("the last tab came back after %v", took)
	}
	t.Logf("%d tabs sent %d requests while nobody answered for %v and were back %v later", len(tabs), asked, away, time.Since(up).Round(time.Millisecond))
}

func TestB123BrowserKeepsAHoldOverARestart(t *testing.T) {
	ctx := chrome(t)
	g := newGate(t)
	g.event("gala")
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), shown("join"), chromedp.Click("#join button"),
		see(`location.pathname == '/events/gala/seats' && !document.getElementById('map-part').hidden`))
	left := ask[string](ctx, t, `document.getElementById('left').textContent`)
	g.set(badGateway)
	g.restart()
	run(ctx, t, see(`/^Reconnecting/.test(document.getElementById('say').textContent) && document.getElementById('trouble').hidden`),
		see(`/^4:/.test(document.getElementById('left').textContent) && document.getElementById('left').textContent != '`+left+`'`))
	g.held("gala", `["A-6"]`)
	g.set(nil)
	run(ctx, t, see(`document.getElementById('say').hidden && document.querySelector('input[value=A-6]').disabled`))

	run(ctx, t, chromedp.Click("section form.row button"), see(`/^Your seats are held/.test(document.title) && document.readyState == 'complete'`))
	loaded := ask[float64](ctx, t, "performance.timeOrigin")
	g.set(reset)
	g.restart()
	run(ctx, t, see(`document.getElementById('trouble').textContent == 'Reconnecting… Your seats are held while the clock runs.'`),
		see(`/^4:/.test(document.getElementById('left').textContent)`))
	g.set(nil)
	run(ctx, t, see(`document.getElementById('trouble').hidden && /^4:/.test(document.getElementById('left').textContent)`))
	if again := ask[float64](ctx, t, "performance.timeOrigin"); again != loaded {
		t.Error("the order's page loaded itself again though nothing had changed")
	}
	order := strings.TrimPrefix(ask[string](ctx, t, "location.pathname"), "/orders/")
	if a := g.staff("GET", "/api/v1/orders/"+order, "").want(200); a.text("status") != "PENDING" {
		t.Errorf("the hold is %s", a.text("status"))
	}
}

func TestB123BrowserShowsStaffTheSaleAgainAfterAnyCut(t *testing.T) {
	ctx := chrome(t)
	g := newGate(t)
	g.event("gala")
	run(ctx, t, chromedp.Navigate(g.url+"/admin"), see("document.readyState == 'complete'"),
		js(`{ const key = document.querySelector('input[name=key]'); key.value = '`+adminKey+`'; key.form.submit() }`), see(`!!document.querySelector('[data-live]')`),
		chromedp.Navigate(g.url+"/admin/events/gala"), see(`document.querySelector('[data-n=available]').textContent == '6'`))
	left := 6
	for name, fault := range map[string]http.HandlerFunc{"HTML 502": badGateway, "reset": reset} {
		g.set(fault)
		g.restart() // ends the stream
		run(ctx, t, see(`document.getElementById('link').textContent == 'reconnecting…'`))
		g.held("gala", `["A-`+string(rune('0'+left))+`"]`)
		left--
		<-time.After(1200 * time.Millisecond) // counts what it asks until then
		if asked := g.set(nil); asked > 4 {
			t.Errorf("%s: %d requests in little more than a second", name, asked)
		}
		run(ctx, t, see(`document.getElementById('link').textContent == '' && document.querySelector('[data-n=available]').textContent == '`+string(rune('0'+left))+`'`))
	}
}
