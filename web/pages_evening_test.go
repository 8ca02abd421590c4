package web

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"foyer/sale"
)

// staffPageAt is a page of staff with something on it.
type staffPageAt struct{ name, path string }

// bigPlan is a hall with two zones of five rows of twelve seats.
func bigPlan() string {
	var zones []string
	for _, zone := range []string{"Stalls", "Balcony"} {
		var rows []string
		for _, row := range "ABCDE" {
			var list []string
			for n := range 12 {
				list = append(list, fmt.Sprintf(`{"id":"%c%c-%d","number":"%d","category":"%s"}`, zone[0], row, n+1, n+1, zone))
			}
			rows = append(rows, fmt.Sprintf(`{"name":"%c","seats":[%s]}`, row, strings.Join(list, ",")))
		}
		zones = append(zones, fmt.Sprintf(`{"name":"%s","rows":[%s]}`, zone, strings.Join(rows, ",")))
	}
	return `{"name":"Town Hall","zones":[` + strings.Join(zones, ",") + `]}`
}

// evening plays an evening at the counter and gives all pages of staff.
func (h *house) evening() []staffPageAt {
	h.t.Helper()
	for id, name := range map[string]string{"gala": "The Great Gala", "matinee": "Matinée for Families"} {
		h.staff("POST", "/api/v1/admin/events", `{"id":"`+id+`","name":"`+name+`","venue":"Town Hall","timeZone":"Europe/Berlin","startsAt":"2026-12-01T19:30:00Z","prices":{"Stalls":4250,"Balcony":2900}}`).want(201)
		h.staff("PUT", "/api/v1/admin/events/"+id+"/plan", bigPlan()).want(200)
	}
	sell := func(method, name string, ids ...string) *sale.OrderView {
		v, err := h.office.Sell(sale.DoorSale{Actor: "staff:preset", Event: "gala", Seats: ids, Method: method, Buyer: sale.Buyer{Name: name}})
		if err != nil {
			h.t.Fatal(err)
		}
		h.clock.pass(3 * time.Minute)
		return v
	}
	_, order, codes := h.bought("gala", `["SA-1","SA-2","SA-3"]`)
	cash := sell(sale.Cash, "", "SB-1", "SB-2")
	sell(sale.Card, "Annegret Brunnhuber-Kowalczyk", "BA-1")
	free := sell(sale.Free, "The mayor", "SC-6")
	h.staff("POST", "/api/v1/admin/orders/"+order+"/refund", `{"seats":["SA-2"],"reason":"Ill"}`).want(200)
	h.giveBack()
	h.staff("POST", "/api/v1/admin/events/gala/checkin", `{"code":"`+codes[0]+`"}`).want(200)
	h.staff("POST", "/api/v1/admin/events/gala/seats", `{"seats":["SA-5","SA-6"],"state":"HOUSE","reason":"The director’s guests"}`).want(200)
	h.staff("POST", "/api/v1/admin/events/gala/seats", `{"seats":["SE-12"],"state":"OFF_SALE","reason":"Broken"}`).want(200)
	_, short := h.held("gala", `["SD-1"]`)
	h.money(short, "wrong", 4000)
	h.money("A-4711", "nobody", 2900)
	_, failed, _ := h.bought("gala", `["BB-4"]`)
	h.till.stubborn = true
	h.staff("POST", "/api/v1/admin/orders/"+failed+"/refund", "").want(200)
	h.giveBack()
	h.till.stubborn = false
	h.staff("POST", "/api/v1/admin/events/matinee/close", "{}").want(200)
	event, path := "/admin/events/gala", "/admin/orders/"+order
	return []staffPageAt{
		{"first", "/admin"}, {"event", event}, {"orders", "/admin/orders"}, {"orders-none", "/admin/orders?query=Mallory"}, {"order", path}, {"order-refunded", path + "?done=refund"},
		{"order-unpaid", "/admin/orders/" + short}, {"order-failed", "/admin/orders/" + failed}, {"refund", path + "/refund?seat=SA-1&seat=SA-3"}, {"refund-nothing", path + "/refund"},
		{"tickets", path + "/tickets"}, {"sell", event + "/door"}, {"sell-seats", event + "/door?by=seats"}, {"sold", event + "/door/" + cash.ID.String()},
		{"sold-again", event + "/door/" + free.ID.String() + "?again=1"}, {"shift", event + "/shift?since=2026-12-01T19:00"}, {"doors", "/door"}, {"door", "/door/gala"},
		{"door-in", "/door/gala?a=in&t=" + order + ".0"}, {"door-used", "/door/gala?a=used&t=" + order + ".0"}, {"door-void", "/door/gala?a=void&t=" + order + ".1"},
		{"report", event + "/report"}, {"kept", event + "/house"}, {"forget", "/admin/events/matinee/forget"}, {"no-order", "/admin/orders/x"},
	}
}

// inColors has the browser prefer "light" or "dark".
func inColors(scheme string) step {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	})
}

// on makes the screen of another size.
func on(width, height int64) step { return chromedp.EmulateViewport(width, height) }

func TestBrowserSellsRefundsAndStopsTheTicket(t *testing.T) {
	ctx := chrome(t)
	g := newStage(t)
	g.event("gala")
	run(ctx, t, on(360, 740), chromedp.Navigate(g.url+"/admin/events/gala/door"),
		chromedp.SendKeys("input[name=key]", adminKey), chromedp.Click("section button"),
		see(`location.pathname == '/admin/events/gala/door' && document.title == 'Sell – Gala'`),
		see(`document.getElementById('sum').textContent == '1 × Stalls: €42.50'`),
		chromedp.Click("input[name=count][value='2']"), see(`document.getElementById('sum').textContent == '2 × Stalls: €85.00'`),
		js(`const b = document.querySelector('button[value=cash]'); b.click(); b.click()`), // in a hurry
		see(`/^Sold: 2 seats, €85.00/.test(document.title) && document.querySelectorAll('.ticket svg').length == 2 && document.activeElement.textContent == 'Next sale'`))
	if n := g.orders("gala"); n != 1 {
		t.Fatalf("%d orders", n)
	}
	codes := ask[[]string](ctx, t, `[...document.querySelectorAll('.ticket code')].map(c => c.textContent)`)
	run(ctx, t, js(`[...document.querySelectorAll('a')].find(a => /The order/.test(a.textContent)).click()`),
		see(`/^Order of/.test(document.title)`), chromedp.Click("input[name=seat]"), js(`document.querySelector('form[action$=refund] button').click()`),
		see(`/^Refund of/.test(document.title) && document.querySelector('h1').textContent == 'Refund €42.50?'`),
		chromedp.SendKeys("input[name=reason]", "Ill"), js(`document.querySelector('main section button').click()`),
		see(`/Give the buyer €42.50 in cash now/.test(document.activeElement.textContent)`),
		chromedp.Navigate(g.url+"/door"), js(`document.querySelector('.hits a').click()`), see(`document.title == 'Door – Gala' && document.activeElement.id == 'code'`))
	scan := func(code, title string) {
		t.Helper()
		run(ctx, t, chromedp.KeyEvent(code+"\r"), see(`document.title.startsWith('`+title+`') && document.activeElement.id == 'code'`))
	}
	scan(codes[0], "Stop Stalls, row A")
	run(ctx, t, see(`/was refunded/.test(document.querySelector('[role=alert]').textContent)`))
	scan(codes[1], "Let in Stalls, row A")
	run(ctx, t, see(`/1 of 1 valid ticket/.test(document.body.textContent)`), chromedp.Click("h1"), see(`document.activeElement.id == 'code'`))
	scan(codes[1], "Stop Stalls, row A")
	run(ctx, t, see(`/used before/.test(document.querySelector('[role=alert]').textContent)`))
}
