package web

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// another opens a tab of another browser, with cookies of its own.
func another(ctx context.Context, t *testing.T) context.Context {
	t.Helper()
	tab, stop := chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(stop)
	return tab
}

// travelling opens the page with a code from the waiting page, and gives the link on it.
func travelling(ctx context.Context, t *testing.T) (link string) {
	t.Helper()
	run(ctx, t, shown("out"), chromedp.Click("#out a"),
		see(`location.pathname == '/events/gala/travel' && document.querySelectorAll('.qr svg').length == 1 && document.getElementById('back').pathname == '/events/gala'`))
	return ask[string](ctx, t, "document.getElementById('link').value")
}

func TestBrowserB06TakesAPlaceToAnotherOne(t *testing.T) {
	ctx := chrome(t)
	g := newStage(t)
	g.event("gala", `"rules":{"maxActive":1,"pickupSeconds":3600,"turnSeconds":3600}`)
	first, place := g.waits("gala")
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), chromedp.Click("#join button"), shown("wait"))
	link := travelling(ctx, t)

	// Opening the link takes the code out of the address and uses nothing up; the button does.
	other := another(ctx, t)
	run(other, t, chromedp.Navigate(link),
		see(`location.href.endsWith('/events/gala/return') && /^([0-9A-Z]{4}-){11}[0-9A-Z]{4}$/.test(document.getElementById('paper').value) && document.activeElement.id == 'go'`))
	if got := ask[string](other, t, "JSON.stringify(performance.getEntriesByType('resource').map(r => r.name)) + document.referrer"); strings.Contains(got, link[len(link)-59:]) {
		t.Errorf("the code went out: %s", got)
	}
	run(ctx, t, chromedp.Reload(), see("document.readyState == 'complete'"))
	if again := ask[string](ctx, t, "document.getElementById('link').value"); again != link {
		t.Error("opening the link used its code up")
	}
	run(other, t, chromedp.KeyEvent(kb.Enter), see(`location.pathname == '/events/gala'`), shown("wait"), see(numbered("2")))
	run(ctx, t, chromedp.Reload(), see(`/1 code of this place used/.test(document.body.innerText)`))

	// The same link once more, in a third one: it says why not.
	third := another(ctx, t)
	run(third, t, chromedp.Navigate(link), see("document.activeElement.id == 'go'"), chromedp.KeyEvent(kb.Enter),
		see(`/used already or taken back/.test(document.querySelector('[role=alert]').textContent) && document.activeElement.getAttribute('role') == 'alert'`))

	// Both see the one turn, the page with the code too.
	g.do("DELETE", place, "", "X-Visitor", first).want(204)
	g.tick("gala", 2*time.Second)
	run(other, t, shown("turn"))
	run(ctx, t, see(`/^It is your turn. Choose seats/.test(document.querySelector('[role=alert]').innerText)`), chromedp.Click("#back"), shown("turn"))
	if s, err := g.office.Status("gala"); err != nil || s.Active+s.Waiting != 1 {
		t.Errorf("%d are active and %d wait, want one place", s.Active, s.Waiting)
	}
}

func TestBrowserGivesItsOwnPlaceUpForTheOneItBrings(t *testing.T) {
	ctx := chrome(t)
	g := newStage(t)
	g.event("gala", `"rules":{"maxActive":1,"pickupSeconds":3600,"turnSeconds":3600}`)
	g.ready("gala")
	join := []step{chromedp.Navigate(g.url + "/events/gala"), chromedp.Click("#join button"), shown("wait")}
	run(ctx, t, join...)
	link := travelling(ctx, t)
	other := another(ctx, t)
	run(other, t, join...)
	run(other, t, see(numbered("3")), chromedp.Navigate(link),
		see(`document.activeElement.textContent == 'Give it up and bring the other' && /a place of its own/.test(document.body.innerText) && document.getElementById('orders').hidden`),
		chromedp.Click("#go"), see(`location.pathname == '/events/gala'`), shown("wait"), see(numbered("2")))
	if s, err := g.office.Status("gala"); err != nil || s.Waiting != 1 {
		t.Errorf("%d wait, want the place that was brought alone", s.Waiting)
	}
}

// TestBrowserFindsNoBarrierForTravellers holds the pages with and for a code to the
// rules of axe-core, light and dark, on the smallest phone.
func TestBrowserFindsNoBarrierForTravellers(t *testing.T) {
	axe := axeCore(t)
	for _, scheme := range []string{"light", "dark"} {
		t.Run(scheme, func(t *testing.T) {
			ctx := chrome(t)
			g := newStage(t)
			g.event("gala", `"rules":{"maxActive":1,"pickupSeconds":3600,"turnSeconds":3600}`)
			first, place := g.waits("gala")
			look := func(name, path string) {
				t.Helper()
				lookAt(ctx, t, g.url, staffPageAt{name, path}, string(axe))
			}
			run(ctx, t, on(320, 640), inColors(scheme))
			look("no place to take along", "/events/gala/travel")
			look("the form for a code", "/events/gala/return")
			run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), chromedp.Click("#join button"), shown("wait"), shown("out"))
			look("the waiting page", "/events/gala")
			look("the code", "/events/gala/travel")
			look("a code taken back", "/events/gala/travel?done=back")
			look("the form beside a place of its own", "/events/gala/return#0000-0000")
			run(ctx, t, chromedp.Click("#go"), see(`/letter by letter/.test(document.body.innerText)`))
			g.do("DELETE", place, "", "X-Visitor", first).want(204)
			g.tick("gala", 2*time.Second)
			look("the turn, told beside the code", "/events/gala/travel")
		})
	}
}
