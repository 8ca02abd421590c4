package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/uuid"

	"foyer/sale"
)

// lane is a house with a socket that counts what pages ask.
type lane struct {
	*house
	url      string
	statuses atomic.Int64
	places   atomic.Int64
	streams  atomic.Int64
	deaf     atomic.Bool            // the status document cannot be had
	instead  atomic.Pointer[string] // of the status document
}

func newLane(t *testing.T) *lane {
	t.Helper()
	g := &lane{house: newHouse(t)}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case strings.HasSuffix(path, "/status"):
			g.statuses.Add(1)
			if g.deaf.Load() {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			if other := g.instead.Load(); other != nil {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(*other))
				return
			}
		case strings.HasSuffix(path, "/queue") && r.Method == http.MethodGet:
			g.places.Add(1)
		case strings.HasSuffix(path, "/stream"):
			g.streams.Add(1)
		}
		g.server.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(g.server.EndStreams)
	g.url = srv.URL
	return g
}

// guest is somebody in the line who has no page.
type guest struct{ visitor, place uuid.UUID }

// guests join one after the other.
func (g *lane) guests(n int) (all []guest) {
	g.t.Helper()
	for range n {
		v := uuid.New()
		p, _, err := g.office.Join("gala", v)
		if err != nil {
			g.t.Fatal(err)
		}
		all = append(all, guest{v, p.QueueID})
	}
	return all
}

// leave lets them go, many at once.
func (g *lane) leave(all []guest) {
	g.t.Helper()
	var run sync.WaitGroup
	for i := range 8 {
		run.Go(func() {
			for k := i; k < len(all); k += 8 {
				if err := g.office.Leave("gala", all[k].visitor, all[k].place); err != nil {
					g.t.Error(err)
				}
			}
		})
	}
	run.Wait()
}

func (g *lane) tick() {
	g.t.Helper()
	g.clock.pass(2 * time.Second)
	if _, err := g.office.Tick("gala", time.Second); err != nil {
		g.t.Fatal(err)
	}
}

// reads waits until an element has a text that fits a regular expression.
func reads(id, expression string) step {
	return see("/" + expression + "/.test(document.getElementById('" + id + "').textContent)")
}

// hide makes a tab believe that it is covered, or seen again.
func hide(on bool) step {
	return js(fmt.Sprintf("Object.defineProperty(document, 'hidden', { get: () => %v, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))", on))
}

// Far from the front a page asks for the status document alone; its place follows from its number.
func TestBrowserFarFromTheFrontLivesOnTheStatusDocument(t *testing.T) {
	ctx := chrome(t)
	g := newLane(t)
	g.event("gala", `"line":"always"`, `"rules":{"maxActive":1,"pickupSeconds":4}`)
	all := g.guests(1301)
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), chromedp.Click("#join button"), reads("rank", "^1,301$"), see("document.getElementById('exact').hidden"))
	places, statuses := g.places.Load(), g.statuses.Load()
	g.leave(all[:200])
	run(ctx, t, reads("rank", "^≈ 1,101$"), see("document.title.startsWith('1,101 ahead')"), shown("exact"))
	g.leave(all[1100:1150]) // behind the front: only the server knows
	for end := time.Now().Add(20 * time.Second); g.statuses.Load() < statuses+5 && time.Now().Before(end); {
		<-time.After(50 * time.Millisecond)
	}
	if asked, open := g.places.Load()-places, g.streams.Load(); asked > 0 || open > 0 {
		t.Errorf("a page with 1101 ahead asked %d times for its place and opened %d streams", asked, open)
	}
	run(ctx, t, chromedp.Click("#exact"), reads("rank", "^1,051$"), see("document.getElementById('exact').hidden"))
	if asked := g.places.Load() - places; asked != 1 {
		t.Errorf("the button asked %d times, want once", asked)
	}
	g.leave(append(all[200:1100:1100], all[1150:]...)) // the line jumps past everybody
	g.tick()
	run(ctx, t, shown("turn"))
}

// The numbers go on without a status document: the place itself tells them.
func TestBrowserAsksForItsPlaceWhenThereIsNoStatus(t *testing.T) {
	ctx := chrome(t)
	g := newLane(t)
	g.event("gala", `"line":"always"`, `"rules":{"maxActive":1,"pickupSeconds":3600}`)
	all := g.guests(3)
	g.deaf.Store(true)
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), shown("net"))
	g.deaf.Store(false)
	run(ctx, t, shown("join"), chromedp.Click("#join button"), reads("rank", "^3$"))
	g.deaf.Store(true)
	g.leave(all[:1])
	run(ctx, t, reads("rank", "^2$"), see("document.getElementById('net').hidden"))
	g.leave(all[1:])
	g.tick()
	run(ctx, t, shown("turn"))
}

// B122: eight tabs of one browser over HTTP/1.1 open one stream between them, and the purchase goes through in the last.
func TestB122EightTabsLeaveRoomForThePurchase(t *testing.T) {
	ctx := chrome(t)
	g := newLane(t)
	g.event("gala", `"line":"always"`, `"rules":{"maxActive":1,"pickupSeconds":3600,"turnSeconds":3600}`)
	all := g.guests(2)
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), chromedp.Click("#join button"), reads("rank", "^2$"))
	tabs := []context.Context{ctx}
	for range 7 {
		tabs = append(tabs, more(ctx, t))
	}
	for _, tab := range tabs[1:] {
		run(tab, t, chromedp.Navigate(g.url+"/events/gala"), reads("rank", "^2$"))
	}
	for end := time.Now().Add(20 * time.Second); g.server.streams.now() == 0 && time.Now().Before(end); {
		<-time.After(50 * time.Millisecond)
	}
	if got := g.server.streams.now(); got != 1 {
		t.Errorf("eight tabs have %d streams open, want 1", got)
	}
	for _, tab := range tabs {
		run(tab, t, hide(true))
	}
	for end := time.Now().Add(20 * time.Second); g.server.streams.now() > 0 && time.Now().Before(end); {
		<-time.After(50 * time.Millisecond)
	}
	if got := g.server.streams.now(); got != 0 {
		t.Errorf("eight hidden tabs have %d streams open, want none", got)
	}
	g.leave(all)
	g.tick()
	for _, tab := range tabs { // hidden or not, they learn of it
		run(tab, t, shown("turn"))
	}
	last := tabs[7]
	run(last, t, hide(false), chromedp.Click("#go"), see(`location.pathname == '/events/gala/seats' && document.readyState == 'complete'`),
		chromedp.Click("section form.row button"), see(`/^Your seats are held/.test(document.title) && document.readyState == 'complete'`))
	order := strings.TrimPrefix(ask[string](last, t, "location.pathname"), "/orders/")
	run(last, t, chromedp.Click("button[name=provider]"), see(`location.pathname.startsWith('/demo/pay/')`))
	held := g.staff("GET", "/api/v1/admin/orders/"+order, "").want(200)
	amount := int64(held.field("total").(map[string]any)["amount"].(float64))
	fact := sale.Fact{Provider: "demo", EventID: "e1", Kind: sale.FactSucceeded, PaymentID: "dp", Order: order, Amount: amount, Currency: "EUR"}
	if _, err := g.office.Receive(fact); err != nil {
		t.Fatal(err)
	}
	run(last, t, chromedp.Navigate(g.url+"/orders/"+order), see(`/^Your tickets/.test(document.title)`))
}

// What a page showed does not grow without the reason beside it, and the chance is told in numbers.
func TestBrowserShowsNoLongerWaitWithoutItsReason(t *testing.T) {
	ctx := chrome(t)
	g := newLane(t)
	g.event("gala", `"line":"always"`, `"rules":{"maxActive":1,"pickupSeconds":4}`)
	g.guests(900)
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), chromedp.Click("#join button"), reads("eta", "^Your turn in about 1–5 minutes$"),
		reads("odds", "^6 seats are left\\.$"))
	g.staff("PATCH", "/api/v1/admin/events/gala/pace", `{"admitPerSecond":10}`).want(200)
	run(ctx, t, reads("eta", `^Your turn in about 1–24 minutes\. It is longer than before\. The pace was lowered from 50 to 10 people a second\.$`))
	g.staff("PATCH", "/api/v1/admin/events/gala/pace", `{"admitPerSecond":50}`).want(200)
	run(ctx, t, reads("eta", "^Your turn in about 1–5 minutes$"))
}

// Without a reason the page stays with the wait that it said, and with one it tells both; a shorter wait is always told.
func TestBrowserStaysWithAWaitUntilThereIsAReason(t *testing.T) {
	ctx := chrome(t)
	g := newLane(t)
	g.event("gala", `"line":"always"`, `"rules":{"maxActive":1,"pickupSeconds":4}`)
	g.guests(1200)
	g.says("2", "")
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), chromedp.Click("#join button"), reads("eta", "^Your turn in about 1–11 minutes$"))
	g.says("1", "")
	asked := g.statuses.Load()
	for end := time.Now().Add(20 * time.Second); g.statuses.Load() < asked+3 && time.Now().Before(end); {
		<-time.After(50 * time.Millisecond)
	}
	run(ctx, t, reads("eta", "^Your turn in about 1–11 minutes$"))
	g.says("1", "slower")
	run(ctx, t, reads("eta", `^Your turn in about 1–21 minutes\. It is longer than before\. People take longer than expected\.$`))
	g.says("4", "slower")
	run(ctx, t, reads("eta", "^Your turn in about 1–6 minutes$"))
}

// Members in a presale that is paused read that it is, although the phase is LOBBY; others read it before they join.
func TestBrowserSaysThatAPresaleIsPaused(t *testing.T) {
	ctx := chrome(t)
	g := newLane(t)
	in := func(d time.Duration) string { return g.clock.now().Add(d).UTC().Format(time.RFC3339) }
	g.event("gala", `"line":"always"`, `"presaleAt":"`+in(-time.Minute)+`"`, `"opensAt":"`+in(time.Hour)+`"`, `"rules":{"pickupSeconds":4}`)
	code := g.codes("gala", `{"count":1,"class":"member"}`)[0]
	g.staff("POST", "/api/v1/admin/events/gala/pause", "").want(200)
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala#code="+code), reads("open", "^The members’ line is paused for a moment. For everybody else the line starts moving in$"),
		chromedp.Click("#join button"), reads("eta", "^The line is paused; your place is kept.$"))
	g.staff("POST", "/api/v1/admin/events/gala/resume", "").want(200)
	run(ctx, t, reads("eta", "^Your turn in less than a minute$"))
}

// says puts a status document in the place of Foyer's, with this low rate and reason.
func (g *lane) says(low, reason string) {
	why := ""
	if reason != "" {
		why = `"estimateReason":"` + reason + `",`
	}
	s := `{"phase":"OPEN","frontier":1,"pace":50,"waiting":1201,"active":0,"seatsLeft":6,"soldOut":false,"message":"",` + why +
		`"pickupSeconds":4,"rates":{"low":` + low + `,"likely":40,"high":50},"serverTime":"2026-12-01T19:00:00.000Z"}`
	g.instead.Store(&s)
}

// A browser that was away when its turn came is told when it opens the page again.
func TestBrowserThatWasClosedReadsWhenItWasCalled(t *testing.T) {
	ctx := chrome(t)
	g := newLane(t)
	g.event("gala", `"line":"always"`, `"rules":{"maxActive":1,"pickupSeconds":60,"turnSeconds":3600}`)
	all := g.guests(1)
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), chromedp.Click("#join button"), shown("wait"), chromedp.Navigate("about:blank"))
	g.leave(all)
	g.tick()
	g.clock.pass(2 * time.Minute)
	g.tick()
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), reads("why", `^You were called at \d+:\d\d.* and were not here; your place is kept until \d+:\d\d.*\.$`),
		see("document.querySelector('#join button').textContent == 'Come back to the front'"),
		chromedp.Click("#join button"), shown("wait"), see("document.title == 'Next – Gala'"))
	g.tick()
	run(ctx, t, shown("turn"))
}

// Browsers put the timers of hidden tabs to sleep; a worker's clock wakes the page in time to pick its turn up.
func TestBrowserPageWhoseTimersSleepStillHearsOfItsTurn(t *testing.T) {
	ctx := chrome(t)
	g := newLane(t)
	g.event("gala", `"line":"always"`, `"rules":{"maxActive":1,"pickupSeconds":60,"turnSeconds":3600}`)
	all := g.guests(200)
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), chromedp.Click("#join button"), reads("rank", "^200$"),
		js("for (let i = setTimeout(() => 0); i > 0; i--) clearTimeout(i); setTimeout = () => 0"), hide(true))
	g.leave(all)
	g.tick()
	run(ctx, t, shown("turn"))
}
