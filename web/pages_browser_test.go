package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"foyer/sale"
)

// stage is a house with a socket, a clock that runs, and a way to break the line
// between the browser and it.
type stage struct {
	*house
	url    string
	broken atomic.Bool // a proxy in front answers for us
	front  *httptest.Server
}

func newStage(t *testing.T) *stage {
	t.Helper()
	h := newHouse(t)
	g := &stage{house: h}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.broken.Load() {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		h.server.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(h.server.EndStreams)
	g.url, g.front = srv.URL, srv
	return g
}

// cut breaks the line and what is open on it.
func (g *stage) cut() {
	g.broken.Store(true)
	g.front.CloseClientConnections()
}

// tick lets people in and sweeps, as main does, while the clock goes on by d.
func (g *stage) tick(event string, d time.Duration) {
	g.t.Helper()
	g.clock.pass(d)
	if _, err := g.office.Tick(event, time.Second); err != nil {
		g.t.Fatal(err)
	}
}

// chrome opens a tab; the test is left out where there is no browser.
func chrome(t *testing.T, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		leaveOut(t, "no browser on this machine")
	}
	if testing.Short() {
		t.Skip("-short")
	}
	t.Parallel()
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(390, 844))
	opts = append(opts, more...)
	ctx, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	ctx, stop = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(stop)
	return ctx
}

// leaveOut skips a test that lacks something, and fails it where nothing may lack.
func leaveOut(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

type step = chromedp.Action[chromedp.Void]

// see waits until a JavaScript expression is true, over loads of the page too.
func see(expression string) step {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		var err error
		ok := false
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end) && !ok && ctx.Err() == nil; {
			if ok, err = chromedp.Evaluate[bool](expression)(ctx, tab); !ok {
				<-time.After(50 * time.Millisecond) // a browser says nothing by itself
			}
		}
		if ok {
			return nil
		}
		text, _ := chromedp.Evaluate[string](`document.title + "\n" + document.body.innerText`)(ctx, tab) // a help only
		return fmt.Errorf("never true: %s (%v) on the page:\n%s", expression, err, text)
	})
}

// js runs a script.
func js(script string) step { return chromedp.Evaluate[chromedp.Void](script) }

func run(ctx context.Context, t *testing.T, steps ...step) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

func ask[T any](ctx context.Context, t *testing.T, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// askLater is ask for an expression that is a promise.
func askLater[T any](ctx context.Context, t *testing.T, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// shown waits until an element is no longer hidden.
func shown(id string) step { return see("!document.getElementById('" + id + "').hidden") }

func TestBrowserWaitsReconnectsAndIsCalled(t *testing.T) {
	ctx := chrome(t)
	g := newStage(t)
	g.event("gala", `"rules":{"maxActive":1,"pickupSeconds":3600,"turnSeconds":3600}`)
	first, _ := g.ready("gala")
	run(ctx, t,
		chromedp.Navigate(g.url+"/events/gala"), chromedp.Click("#join button"), shown("wait"),
		see(`document.getElementById('no').textContent == 'You are number 2' && document.title == 'Next – Gala'`),
		chromedp.Reload(), shown("wait"), see(`document.getElementById('no').textContent == 'You are number 2'`),
	)
	g.broken.Store(true)
	run(ctx, t, shown("net"))
	g.broken.Store(false)
	run(ctx, t, see(`document.getElementById('net').hidden && document.getElementById('no').textContent == 'You are number 2'`))

	g.staff("POST", "/api/v1/admin/events/gala/announce", `{"message":"<b>Bar</b> is open"}`).want(200)
	run(ctx, t, see(`document.getElementById('word').textContent == '<b>Bar</b> is open'`))

	place := g.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", first).text("queueId")
	g.do("DELETE", "/api/v1/events/gala/queue/"+place, "", "X-Visitor", first).want(204)
	g.tick("gala", 2*time.Second)
	run(ctx, t, shown("turn"),
		see(`document.title == 'Your turn – Gala' && document.activeElement.id == 'go' && /It is your turn/.test(document.getElementById('now').textContent)`))

	// Leaving asks first; the place is gone then and is not taken again.
	run(ctx, t, chromedp.Click("#leave"), shown("sure"), chromedp.Click("#stay"), shown("out"),
		chromedp.Click("#leave"), chromedp.Click("#yes"), shown("join"), see(`/You have left/.test(document.getElementById('why').textContent)`))
	if s, err := g.office.Status("gala"); err != nil || s.Active+s.Waiting != 0 {
		t.Errorf("after leaving %d are active and %d wait, %v", s.Active, s.Waiting, err)
	}
}

func TestBrowserCalledWhileAwayComesBackToTheFront(t *testing.T) {
	ctx := chrome(t)
	g := newStage(t)
	g.event("gala", `"rules":{"maxActive":1,"pickupSeconds":2,"turnSeconds":3600}`)
	first, _ := g.ready("gala")
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), chromedp.Click("#join button"), shown("wait"))
	g.cut()
	run(ctx, t, shown("net"))
	place := g.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", first).text("queueId")
	g.do("DELETE", "/api/v1/events/gala/queue/"+place, "", "X-Visitor", first).want(204)
	g.tick("gala", 2*time.Second) // called
	g.tick("gala", 3*time.Second) // and set aside
	g.broken.Store(false)
	run(ctx, t, see(`/^You were called at \d+:\d\d.* and were not here. You are back at the front/.test(document.getElementById('why').textContent)`))
	g.tick("gala", 2*time.Second)
	run(ctx, t, shown("turn"))
	g.tick("gala", 2*time.Hour)
	run(ctx, t, shown("join"), see(`/Your turn is over/.test(document.getElementById('why').textContent) && document.title == 'Gala'`))
}

func TestBrowserBuysByKeyboardAlone(t *testing.T) {
	ctx := chrome(t)
	g := newStage(t)
	g.event("gala", `"rules":{"maxSeatsPerOrder":2}`)
	run(ctx, t,
		chromedp.Navigate(g.url+"/events/gala"), shown("join"),
		chromedp.Focus("#join button"), chromedp.KeyEvent(kb.Enter), // nobody waits: straight on to the seats
		see(`location.pathname == '/events/gala/seats' && document.querySelectorAll('#map g[role=checkbox]').length == 6`),
		js(`document.querySelector('#map g[tabindex="0"]').focus()`),
		chromedp.KeyEvent(" "), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(" "), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(" "),
		see(`document.activeElement.getAttribute('aria-label') == 'Row A, seat 3, Stalls, €42.50, free'`),
		see(`/at most 2 seats/.test(document.getElementById('say').textContent)`),
		see(`document.getElementById('total').textContent == '2 seats, €85.00'`),
		see(`document.querySelector('input[value=A-2]').checked && document.querySelector('input[value=A-2]').parentNode.className == 'on'`),
	)
	// Somebody takes a chosen seat: it is told, and stays told.
	g.held("gala", `["A-2"]`)
	g.clock.pass(2 * time.Second)
	run(ctx, t, see(`/just taken row A, seat 2/.test(document.getElementById('trouble').textContent) && document.activeElement.id == 'trouble'`),
		see(`document.getElementById('total').textContent == '1 seat, €42.50' && document.querySelector('input[value=A-2]').disabled`),
		see(`document.querySelector('[data-free]').textContent == '5 free'`),
		chromedp.Focus("#hold"), chromedp.KeyEvent(kb.Enter), see(`/^Your seats are held/.test(document.title) && document.readyState == 'complete'`),
		chromedp.Focus("button[name=provider]"))
	path := ask[string](ctx, t, "location.pathname")
	run(ctx, t, chromedp.KeyEvent(kb.Enter), see(`location.pathname.startsWith('/demo/pay/')`),
		chromedp.Navigate(g.url+path), see(`/^Payment running/.test(document.title)`))
	fact := sale.Fact{Provider: "demo", EventID: "e1", Kind: sale.FactSucceeded, PaymentID: "dp", Order: strings.TrimPrefix(path, "/orders/"), Amount: 4250, Currency: "EUR"}
	if _, err := g.office.Receive(fact); err != nil {
		t.Fatal(err)
	}
	run(ctx, t, see(`/^Your tickets/.test(document.title) && document.querySelectorAll('.ticket svg').length == 1`))
}

func TestBrowserShowsTheEndOfAHoldOnce(t *testing.T) {
	ctx := chrome(t)
	g := newStage(t)
	g.event("gala")
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), shown("join"), chromedp.Click("#join button"), see(`location.pathname == '/events/gala/seats' && !document.getElementById('map-part').hidden`),
		chromedp.Click("section form.row button"), see(`/^Your seats are held/.test(document.title)`))
	g.clock.pass(10 * time.Minute)
	run(ctx, t, see(`/^The time is over/.test(document.title)`))
	// No loop of loads: the page is still the same one after its clock has struck three times more.
	loaded := ask[float64](ctx, t, "performance.timeOrigin")
	run(ctx, t, see("performance.now() > 3000"))
	if again := ask[float64](ctx, t, "performance.timeOrigin"); again != loaded {
		t.Error("the page of a lapsed order loads itself again")
	}
	run(ctx, t, chromedp.Click(".center a.b"), see(`/^Not your turn/.test(document.title)`))
}
