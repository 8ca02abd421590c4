package web

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// axeRules are the WCAG levels that every page keeps.
const axeRules = `axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']})
	.then(r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html.slice(0, 120)).join(' | ')))`

// axeCore is the script that finds barriers. FOYER_AXE names its axe.min.js, which
// check.sh fetches from npm.
func axeCore(t *testing.T) []byte {
	t.Helper()
	file := os.Getenv("FOYER_AXE")
	if file == "" {
		leaveOut(t, "FOYER_AXE does not name axe.min.js")
	}
	axe, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return axe
}

// TestBrowserFindsNoBarrier runs axe-core over the pages.
func TestBrowserFindsNoBarrier(t *testing.T) {
	axe := axeCore(t)
	ctx := chrome(t)
	g := newStage(t)
	g.event("gala", `"rules":{"maxActive":1,"pickupSeconds":3600,"turnSeconds":3600}`)
	g.event("open")
	g.event("lots", `"order":"draw"`, `"line":"always"`, `"opensAt":"`+g.clock.now().Add(time.Hour).UTC().Format(time.RFC3339)+`"`)
	look := func(what string) {
		t.Helper()
		run(ctx, t, js(string(axe)))
		if broken := askLater[[]string](ctx, t, axeRules); len(broken) > 0 {
			t.Errorf("%s:\n%s", what, strings.Join(broken, "\n"))
		}
	}
	g.ready("gala")
	run(ctx, t, chromedp.Navigate(g.url+"/"), see("document.readyState == 'complete'"))
	look("the events")
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), shown("join"))
	look("the waiting page before the join")
	g.event("club", `"access":"code"`)
	g.codes("club", `{"count":2,"class":"member"}`)
	run(ctx, t, chromedp.Navigate(g.url+"/events/club"), shown("join"))
	look("the waiting page of an event by invitation")
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), shown("join"), chromedp.Click("#join button"), shown("wait"))
	look("the waiting page in the line")
	run(ctx, t, chromedp.Navigate(g.url+"/events/open"), shown("join"), chromedp.Click("#join button"),
		see(`location.pathname == '/events/open/seats' && !document.getElementById('map-part').hidden`))
	look("the seats")
	run(ctx, t, chromedp.Click("section form.row button"), see(`/^Your seats are held/.test(document.title)`))
	look("the order")
	run(ctx, t, chromedp.Navigate(g.url+"/events/lots/draw"), see("document.readyState == 'complete'"))
	look("the draw to come")
	g.staff("POST", "/api/v1/admin/events/lots/open", "").want(200)
	g.tick("lots", time.Second)
	run(ctx, t, chromedp.Reload(), see("!document.getElementById('check').hidden"))
	look("the draw")
	run(ctx, t, chromedp.Navigate(g.url+"/admin"), see("document.readyState == 'complete'"))
	look("the staff's door")
	run(ctx, t, chromedp.Navigate(g.url+"/nowhere"), see("document.readyState == 'complete'"))
	look("a page that is not there")
}

// TestBrowserFindsNoBarrierForStaff is the same for the pages of staff, light and
// dark, on a small phone, which none of them may outgrow.
func TestBrowserFindsNoBarrierForStaff(t *testing.T) {
	axe := axeCore(t)
	for _, scheme := range []string{"light", "dark"} {
		t.Run(scheme, func(t *testing.T) {
			ctx := chrome(t)
			g := newStage(t)
			pages := g.evening()
			g.codes("gala", `{"count":2,"class":"member","name":"Newsletter"}`)
			run(ctx, t, on(360, 740), inColors(scheme))
			for _, who := range []struct {
				key   string
				pages []staffPageAt
			}{{g.key("boxoffice"), []staffPageAt{{"counter", "/admin"}, {"not for clerks", "/admin/events/gala"}}}, {adminKey, pages}} {
				run(ctx, t, chromedp.Navigate(g.url+"/admin/orders"), see("document.title == 'Staff – Foyer'"), chromedp.SendKeys("input[name=key]", who.key),
					chromedp.Click("section button"), see("document.title == 'Orders – box office'"))
				for _, p := range who.pages {
					lookAt(ctx, t, g.url, p, string(axe))
				}
				run(ctx, t, chromedp.Navigate(g.url+"/admin"), js(`document.querySelector('form[action$=logout] button').click()`), see("document.title == 'Staff – Foyer'"))
			}
		})
	}
}

func lookAt(ctx context.Context, t *testing.T, url string, p staffPageAt, axe string) {
	t.Helper()
	run(ctx, t, chromedp.Navigate(url+p.path), see("document.readyState == 'complete'"), js(axe), js(`document.querySelectorAll('details').forEach(d => { d.open = true })`))
	if broken := askLater[[]string](ctx, t, axeRules); len(broken) > 0 {
		t.Errorf("%s:\n%s", p.name, strings.Join(broken, "\n"))
	}
	if wide := ask[float64](ctx, t, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
		t.Errorf("%s is %v pixels wider than a phone", p.name, wide)
	}
}
