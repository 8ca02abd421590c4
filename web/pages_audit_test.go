package web

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

func TestAuditNamesKeys(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	keep := `{"seats":["A-1"],"state":"HOUSE"}`
	made := h.staff("POST", "/api/v1/admin/keys", `{"role":"boxoffice","name":"Ann, till 1"}`).want(201)
	id, bearer := made.text("id"), "Bearer "+made.text("key")
	h.do("POST", "/api/v1/admin/events/gala/seats", keep, "Authorization", bearer).want(200)
	b := h.clerk("admin")
	who := func(words string) string { return `<td role="cell" data-th="by">` + words + `</td>` }
	b.get("/admin").want(200).says(who("Ann, till 1"), who("the admin key"), who("Foyer"), "key.create<br>boxoffice "+id+" Ann, till 1", `<td role="cell" class="whole">Tue 1 December 2026, 19:00:00 (UTC time)</td>`).silent("staff:")
	h.staff("DELETE", "/api/v1/admin/keys/"+id, "").want(204)
	b.get("/admin").want(200).says(who("removed key …"+id[len(id)-8:]), "key.remove<br>"+id+" Ann, till 1").silent(who("Ann, till 1"))
	if audit := h.staff("GET", "/api/v1/admin/audit", "").want(200); audit.text("items.0.actor") != "staff:preset" || audit.text("items.0.detail") != id+" Ann, till 1" {
		t.Errorf("got %s", audit.Body)
	}
	nameless := h.staff("POST", "/api/v1/admin/keys", `{"role":"boxoffice","name":""}`).want(201)
	h.do("POST", "/api/v1/admin/events/gala/seats", strings.Replace(keep, "HOUSE", "AVAILABLE", 1), "Authorization", "Bearer "+nameless.text("key")).want(200)
	id = nameless.text("id")
	b.get("/admin").want(200).says(who("boxoffice key …" + id[len(id)-8:]))
}

// On a phone each row stands by itself, none is wider than the screen, and the roles of a table stay.
func TestBrowserStacksTheTablesOfStaffOnAPhone(t *testing.T) {
	axe := axeCore(t)
	ctx := chrome(t)
	g := newStage(t)
	g.evening()
	g.codes("gala", `{"count":2,"class":"member","name":"Subscribers of the season 2026/27","expiresAt":"`+g.clock.now().Add(time.Hour).UTC().Format(time.RFC3339)+`"}`)
	run(ctx, t, chromedp.Navigate(g.url+"/admin/events/gala"), chromedp.SendKeys("input[name=key]", adminKey), chromedp.Click("section button"), see(`document.title == 'The Great Gala – box office'`))
	const shown = `[...new Set([...document.querySelectorAll('.stack')].map(t => [getComputedStyle(t.tBodies[0].rows[0]).display, t.scrollWidth > t.clientWidth || t.getBoundingClientRect().right > innerWidth,
		[...t.querySelectorAll('thead, tbody, tr, th, td')].every(e => e.getAttribute('role')), t.tHead.offsetHeight > 1].join(' ')))].join(', ')`
	for _, path := range []string{"/admin", "/admin/events/gala"} {
		for _, c := range []struct {
			width int64
			want  string
		}{{360, "block false true false"}, {768, "block false true false"}, {800, "table-row false true true"}, {1280, "table-row false true true"}} {
			run(ctx, t, on(c.width, 740), chromedp.Navigate(g.url+path), see(`document.readyState == 'complete'`))
			if got := ask[string](ctx, t, shown); got != c.want {
				t.Errorf("%s on %d pixels: got %s, want %s", path, c.width, got, c.want)
			}
			if broken := ask[bool](ctx, t, `[...document.querySelectorAll('.stack td[data-th=for]')].some(e => { const r = document.createRange(); r.selectNodeContents(e); return r.getClientRects().length != 1 })`); broken {
				t.Errorf("%s on %d pixels: a word is broken", path, c.width)
			}
			run(ctx, t, js(string(axe)))
			if broken := askLater[[]string](ctx, t, axeRules); len(broken) > 0 {
				t.Errorf("%s on %d pixels: %s", path, c.width, strings.Join(broken, "\n"))
			}
		}
	}
}
