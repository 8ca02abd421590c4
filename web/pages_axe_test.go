package web

import (
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// axeRules are the WCAG levels that every page keeps.
const axeRules = `axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']})
	.then(r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html.slice(0, 120)).join(' | ')))`

// TestBrowserFindsNoBarrier runs axe-core over the pages. FOYER_AXE names its
// axe.min.js, which check.sh fetches from npm.
func TestBrowserFindsNoBarrier(t *testing.T) {
	file := os.Getenv("FOYER_AXE")
	if file == "" {
		leaveOut(t, "FOYER_AXE does not name axe.min.js")
	}
	axe, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx := chrome(t)
	g := newStage(t)
	g.event("gala", `"rules":{"maxActive":1,"pickupSeconds":3600,"turnSeconds":3600}`)
	g.event("open")
	look := func(what string) {
		t.Helper()
		run(ctx, t, js(string(axe)))
		broken, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](axeRules, chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if len(broken) > 0 {
			t.Errorf("%s:\n%s", what, strings.Join(broken, "\n"))
		}
	}
	g.ready("gala")
	run(ctx, t, chromedp.Navigate(g.url+"/"), see("document.readyState == 'complete'"))
	look("the events")
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), shown("join"))
	look("the waiting page before the join")
	run(ctx, t, chromedp.Click("#join button"), shown("wait"))
	look("the waiting page in the line")
	run(ctx, t, chromedp.Navigate(g.url+"/events/open"), shown("join"), chromedp.Click("#join button"),
		see(`location.pathname == '/events/open/seats' && !document.getElementById('map-part').hidden`))
	look("the seats")
	run(ctx, t, chromedp.Click("section form.row button"), see(`/^Your seats are held/.test(document.title)`))
	look("the order")
	run(ctx, t, chromedp.Navigate(g.url+"/admin"), see("document.readyState == 'complete'"))
	look("the staff's door")
	run(ctx, t, chromedp.Navigate(g.url+"/nowhere"), see("document.readyState == 'complete'"))
	look("a page that is not there")
}
