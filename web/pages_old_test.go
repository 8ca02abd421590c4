package web

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

func TestStatusNamesThePagesProgram(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	page := h.do("GET", "/api/v1/events/gala/status", "").want(200).text("page")
	if shell := string(h.do("GET", "/events/gala", "").want(200).Body); len(page) < 8 || !strings.Contains(shell, "/static/wait."+page+".js") {
		t.Errorf("the status document names the program %q, the page has\n%s", page, shell)
	}
}

// updated passes everything on to the house, whose status document names another
// program than the pages have, as after an update.
func (g *gate) updated(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/status") {
		g.server.ServeHTTP(w, r)
		return
	}
	seen := httptest.NewRecorder()
	g.server.ServeHTTP(seen, r)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(bytes.Replace(seen.Body.Bytes(), []byte(assets["wait.js"].hash), []byte("0123456789"), 1))
}

func TestB127BrowserTakesTheNewProgramButNotInATurn(t *testing.T) {
	ctx := chrome(t)
	g := newGate(t)
	g.event("gala", `"rules":{"maxActive":1,"pickupSeconds":3600,"turnSeconds":3600}`)
	first, _ := g.ready("gala")
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), chromedp.Click("#join button"), shown("wait"), see(numbered("2")))
	old := js("window.old = 1; Math.random = () => 0") // the shortest rest
	run(ctx, t, old)
	g.set(g.updated)
	run(ctx, t, see("!window.old && document.readyState == 'complete'"))
	g.set(nil)
	run(ctx, t, see(numbered("2")))

	place := g.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", first).text("queueId")
	g.do("DELETE", "/api/v1/events/gala/queue/"+place, "", "X-Visitor", first).want(204)
	g.clock.pass(2 * time.Second)
	if _, err := g.office.Tick("gala", time.Second); err != nil {
		t.Fatal(err)
	}
	run(ctx, t, shown("turn"), old)
	g.set(g.updated)
	run(ctx, t, js("window.since = performance.now()"), see("!window.old || performance.now() > window.since + 9000"))
	if asked := g.set(nil); asked == 0 || !ask[bool](ctx, t, "window.old == 1") {
		t.Errorf("the page loaded itself again in a turn (%d requests)", asked)
	}
}

// Whoever proves that he is one, or whose join is on its way, need not do it again.
func TestBrowserTakesTheNewProgramOnlyAfterAJoinUnderWay(t *testing.T) {
	ctx := chrome(t)
	g := newGate(t)
	g.event("gala", `"line":"always"`)
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), shown("join"), js("window.old = 1; Math.random = () => 0"))
	told, joins := make(chan struct{}), make(chan struct{})
	tell := sync.OnceFunc(func() { close(told) })
	g.set(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			<-joins
		}
		g.updated(w, r)
		if strings.HasSuffix(r.URL.Path, "/status") {
			tell()
		}
	})
	<-told
	run(ctx, t, js("window.since = performance.now()"), chromedp.Click("#join button"), see("!window.old || performance.now() > window.since + 6500"))
	if !ask[bool](ctx, t, "window.old == 1") {
		t.Error("the page loaded itself again in the middle of a join")
	}
	close(joins)
	run(ctx, t, see(numbered("1")), see("!window.old && document.readyState == 'complete'"))
	g.set(nil)
	run(ctx, t, see(numbered("1")))
}

func TestB121BrowserGoesBackToSeatsThatWork(t *testing.T) {
	ctx := chrome(t)
	g := newStage(t)
	g.event("gala")
	seatsPage := see(`location.pathname == '/events/gala/seats' && !document.getElementById('map-part').hidden`)
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), shown("join"), chromedp.Click("#join button"), seatsPage,
		chromedp.Click("input[value=A-1]"), chromedp.Click("#hold"), see(`/^Your seats are held/.test(document.title) && document.readyState == 'complete'`))
	order := ask[string](ctx, t, "location.pathname")
	run(ctx, t, js("history.back()"), seatsPage,
		see(`!document.getElementById('hold').disabled && document.querySelector('input[value=A-1]').checked && +document.getElementById('left').dataset.left > 0`),
		chromedp.Click("input[value=A-2]"), chromedp.Click("#hold"), see(`/^Your seats are held/.test(document.title) && document.readyState == 'complete'`),
		see(`/seat 1/i.test(document.body.innerText) && /seat 2/i.test(document.body.innerText)`))
	if now := ask[string](ctx, t, "location.pathname"); now == order {
		t.Errorf("two seats are held with the old order %s", now)
	}
	g.clock.pass(10 * time.Minute) // the hold is over
	run(ctx, t, see(`/^The time is over/.test(document.title)`), js("history.back()"),
		see(`document.readyState == 'complete' && !/^The time is over/.test(document.title) && !/Your seats are held/.test(document.title + document.body.innerText)`))
}
