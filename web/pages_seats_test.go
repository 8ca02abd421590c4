package web

import (
	"testing"

	"github.com/chromedp/chromedp"
)

const wheelPlan = `{"name":"Hall","zones":[{"name":"Stalls","rows":[{"name":"A","seats":[
	{"id":"A-1","number":"1","category":"Stalls","accessible":true},{"id":"A-2","number":"2","category":"Stalls","companion":true},
	{"id":"A-3","number":"3","category":"Stalls"}]}]}]}`

func TestWheelchairPlacesHaveASign(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	b := h.browser()
	b.turn("gala")
	b.get("/events/gala/seats").silent("wheelchair", "companion")
	h.staff("PUT", "/api/v1/admin/events/gala/plan", wheelPlan).want(200)
	b.get("/events/gala/seats").says("wheelchair place</li>", "companion seat, beside a wheelchair place</li>",
		`<b>1</b><small class="kind">wheelchair</small><small>€42.50</small>`, `<b>2</b><small class="kind">companion</small>`, `<b>3</b><small>€42.50`)
}

func TestBrowserDrawsATinyHouse(t *testing.T) {
	ctx := chrome(t)
	g := newStage(t)
	g.event("gala")
	g.staff("PUT", "/api/v1/admin/events/gala/plan", wheelPlan).want(200)
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), shown("join"), chromedp.Click("#join button"),
		see(`location.pathname == '/events/gala/seats' && document.querySelectorAll('#map g[role=checkbox]').length == 3`),
		see(`document.querySelectorAll('#map .sign').length == 2 && document.querySelector('input[value=A-1]').parentNode.innerText.includes('wheelchair')`))
	if high := ask[float64](ctx, t, `Math.max(...[...document.querySelectorAll('#map text')].map(e => e.getBoundingClientRect().height))`); high > 60 {
		t.Errorf("a name on the map is %.0f pixels high", high)
	}
	if wide, screen := ask[float64](ctx, t, `document.getElementById('map').clientWidth`), ask[float64](ctx, t, `innerWidth`); wide < screen-20 {
		t.Errorf("the map has %.0f of %.0f pixels of a phone", wide, screen)
	}
	if over := ask[float64](ctx, t, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
		t.Errorf("the page is %.0f pixels wider than the screen", over)
	}
	run(ctx, t, js(`document.querySelector('#map g[tabindex="0"]').focus(); document.querySelector('#map g[tabindex="0"]').dispatchEvent(new KeyboardEvent('keydown', {key: ' ', bubbles: true}))`),
		see(`document.querySelectorAll('#map .sign').length == 1`)) // chosen: the tick is the sign
}
