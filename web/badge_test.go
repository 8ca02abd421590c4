package web

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"foyer/sale"
)

func TestBadgeTellsOfPresaleAndInvitation(t *testing.T) {
	for _, c := range []struct {
		phase                    sale.Phase
		presale, paused, invited bool
		want                     string
	}{
		{sale.PhaseLobby, false, false, false, "Not open yet"},
		{sale.PhaseLobby, false, true, false, "Not open yet"},
		{sale.PhaseLobby, false, false, true, "Not open yet, by invitation"},
		{sale.PhaseLobby, true, false, false, "Presale"},
		{sale.PhaseLobby, true, true, false, "Presale paused"},
		{sale.PhaseLobby, true, false, true, "Presale, by invitation"},
		{sale.PhaseOpen, false, false, false, "On sale"},
		{sale.PhaseOpen, false, false, true, "By invitation"},
		{sale.PhasePaused, false, true, true, "Paused"},
		{sale.PhaseSoldOut, true, false, true, "Sold out"},
		{sale.PhaseClosed, true, false, true, "Closed"},
	} {
		if got := badgeWord(c.phase, c.presale, c.paused, c.invited); got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}

// Every page that shows where an event stands says the same, as the time comes.
func TestPagesSayWhereAnEventStands(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"opensAt":"2026-12-01T19:10:00Z"`, `"presaleAt":"2026-12-01T19:05:00Z"`)
	b, clerk, door := h.clerk("admin"), h.clerk("boxoffice"), h.clerk("door")
	check := func(tag, word string) {
		t.Helper()
		h.browser().get("/").want(200).says(`<span class="tag ` + tag + `">` + word + `</span>`)
		for _, path := range []string{"/admin", "/admin/events/gala"} {
			b.get(path).want(200).says(`<span class="tag ` + tag + `" data-n="phase">` + word + `</span>`)
		}
		for _, path := range []string{"/admin", "/admin/events/gala/door"} {
			clerk.get(path).want(200).says(`<span class="tag ` + tag + `">` + word + `</span>`)
		}
		door.get("/door").want(200).says("<small>" + word + "</small>")
		if doc, err := h.server.live("gala"); err != nil || !strings.Contains(string(doc), `"badge":"`+word+`"`) {
			t.Errorf("the stream says %s, %v", doc, err)
		}
	}
	check("LOBBY", "Not open yet")
	h.clock.pass(5 * time.Minute)
	check("LOBBY", "Presale")
	h.browser().get("/events/gala").says("Members are let in already; for everybody else")
	h.clock.pass(5 * time.Minute)
	check("OPEN", "On sale")
	h.staff("PATCH", "/api/v1/admin/events/gala", `{"access":"code"}`).want(200)
	check("OPEN", "By invitation")
	h.staff("POST", "/api/v1/admin/events/gala/close", "{}").want(200)
	check("CLOSED", "Closed")
}

func TestBrowserKeepsTheBadgeOfAPresaleLive(t *testing.T) {
	ctx := chrome(t)
	g := newStage(t)
	g.event("gala", `"opensAt":"2026-12-01T20:00:00Z"`, `"presaleAt":"2026-12-01T18:00:00Z"`)
	badge := func(path, words string) step {
		return see(`document.querySelector('[data-n=phase]')?.textContent == '` + words + `' && location.pathname == '` + path + `'`)
	}
	run(ctx, t, chromedp.Navigate(g.url+"/admin/events/gala"), chromedp.SendKeys("input[name=key]", adminKey), chromedp.Click("section button"), badge("/admin/events/gala", "Presale"))
	g.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", g.visitor()).want(201)
	run(ctx, t, see(`document.querySelector('[data-n=waiting]').textContent == '1'`), badge("/admin/events/gala", "Presale"))
	g.staff("PATCH", "/api/v1/admin/events/gala", `{"access":"code"}`).want(200)
	run(ctx, t, badge("/admin/events/gala", "Presale, by invitation"))
}
