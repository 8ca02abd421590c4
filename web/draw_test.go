package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

func TestDrawIsExplainedBeforeAndProvedAfter(t *testing.T) {
	h := newHouse(t)
	opens := h.clock.now().Add(time.Hour).UTC().Format(time.RFC3339)
	h.event("lots", `"order":"draw"`, `"line":"always"`, `"opensAt":"`+opens+`"`)
	me := h.visitor()
	h.do("POST", "/api/v1/events/lots/queue", "", "X-Visitor", me).want(201)
	doc := h.do("GET", "/api/v1/events/lots/draw", "").want(200)
	page := string(h.do("GET", "/events/lots/draw", "").want(200).Body)
	for _, want := range []string{doc.text("commitment"), "The draw is held when the sale opens", "Write the fingerprint down"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page before the draw lacks %q:\n%s", want, page)
		}
	}
	if shell := string(h.do("GET", "/events/lots", "").want(200).Body); !strings.Contains(shell, "drawn by lot") || !strings.Contains(shell, "/events/lots/draw") {
		t.Errorf("the waiting page does not say that the order is drawn:\n%s", shell)
	}
	h.staff("POST", "/api/v1/admin/events/lots/open", "").want(200)
	if _, err := h.server.office.Tick("lots", time.Second); err != nil {
		t.Fatal(err)
	}
	doc = h.do("GET", "/api/v1/events/lots/draw", "").want(200)
	page = string(h.do("GET", "/events/lots/draw", "").want(200).Body)
	for _, want := range []string{doc.text("commitment"), doc.text("seed"), doc.text("digest"), "among 1 place", "foyer draw verify --server http://", "/api/v1/events/lots/draw/entries"} {
		if want == "" || !strings.Contains(page, want) {
			t.Errorf("the page after the draw lacks %q:\n%s", want, page)
		}
	}
	list := h.do("GET", "/api/v1/events/lots/draw/entries", "").want(200)
	if own := h.do("GET", "/api/v1/events/lots/queue", "", "X-Visitor", me); string(list.Body) != own.text("queueId")+"\n" || list.Header.Get("Etag") == "" {
		t.Errorf("the list is %q, the place %s", list.Body, own.Body)
	}
	if head := h.do("HEAD", "/api/v1/events/lots/draw/entries", "").want(200); len(head.Body) != 0 || head.Header.Get("Content-Length") != "37" {
		t.Errorf("HEAD answers %q with %v", head.Body, head.Header)
	}
	const entries = "/api/v1/events/lots/draw/entries"
	if kept := list.Header.Get("Cache-Control"); strings.Contains(kept, "max-age") {
		t.Errorf("the list of this id, which another event may have some day, may be kept %q", kept)
	}
	if kept := h.do("GET", entries+"?v="+doc.text("digest"), "").want(200).Header.Get("Cache-Control"); !strings.Contains(kept, "immutable") {
		t.Errorf("the list of this digest may be kept %q", kept)
	}
	if kept := h.do("GET", entries+"?v=0", "").want(200).Header.Get("Cache-Control"); strings.Contains(kept, "max-age") {
		t.Errorf("the list of another digest may be kept %q", kept)
	}
	h.do("GET", entries, "", "If-None-Match", list.Header.Get("Etag")).want(304)
	h.event("plain")
	h.do("GET", "/events/plain/draw", "").want(404)
}

func TestBrowserWaitsForTheDrawAndChecksIt(t *testing.T) {
	ctx := chrome(t)
	g := newStage(t)
	opens := g.clock.now().Add(time.Hour).UTC().Format(time.RFC3339)
	g.event("lots", `"order":"draw"`, `"line":"always"`, `"opensAt":"`+opens+`"`, `"rules":{"maxActive":1}`)
	for range 5 {
		g.do("POST", "/api/v1/events/lots/queue", "", "X-Visitor", g.visitor()).want(201)
	}
	run(ctx, t, on(360, 700), chromedp.Navigate(g.url+"/events/lots"), chromedp.Click("#join button"), shown("wait"),
		see(`/Then the order is drawn/.test(document.getElementById('ahead').textContent) && document.getElementById('no').hidden`))
	<-time.After(2500 * time.Millisecond) // a page that stumbles over what it does not know yet says so by now
	if !ask[bool](ctx, t, `document.getElementById('net').hidden`) {
		t.Error("the page thinks that it has lost Foyer")
	}
	g.staff("POST", "/api/v1/admin/events/lots/open", "").want(200)
	g.tick("lots", time.Second)
	run(ctx, t, see(`/^You are number [1-6]$/.test(document.getElementById('no').textContent)`))
	number := ask[string](ctx, t, `document.getElementById('no').textContent.replace(/\D/g, '')`)
	run(ctx, t, chromedp.Navigate(g.url+"/events/lots/draw"), chromedp.Click("#verify"),
		see(`document.getElementById('result').textContent == 'All 6 lots are in order. Your number is `+number+`, as it must be.'`))
	if wide := ask[bool](ctx, t, `document.documentElement.scrollWidth > innerWidth`); wide {
		t.Error("the page is wider than a phone")
	}
}

func TestBrowserChecksADraw(t *testing.T) {
	ctx := chrome(t)
	g := newStage(t)
	for event, joins := range map[string]int{"many": 3, "nobody": 0} {
		g.event(event, `"order":"draw"`, `"opensAt":"`+g.clock.now().Add(time.Hour).UTC().Format(time.RFC3339)+`"`)
		for range joins {
			g.do("POST", "/api/v1/events/"+event+"/queue", "", "X-Visitor", g.visitor()).want(201)
		}
		g.staff("POST", "/api/v1/admin/events/"+event+"/open", "").want(200)
		g.tick(event, time.Second)
		run(ctx, t, chromedp.Navigate(g.url+"/events/"+event+"/draw"), shown("check"), chromedp.Click("#verify"),
			see(fmt.Sprintf(`document.getElementById('result').textContent.startsWith('All %d lots are in order')`, joins)))
	}
}
