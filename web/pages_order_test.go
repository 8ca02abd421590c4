package web

import (
	"bytes"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"foyer/sale"
)

func TestRefusedPaymentIsTold(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	b := h.browser()
	b.turn("gala")
	order := b.post("/events/gala/hold", "seat", "A-1").want(303).Header.Get("Location")
	b.get(order).silent("refused")
	at := b.post(order+"/pay", "provider", "demo").want(303).Header.Get("Location")
	b.get(order).says("We are waiting for the payment provider.", "Go on with the payment", `href="`+at+`"`, "the seats are free again at").silent("refused")
	fact := sale.Fact{
		Provider: "demo", EventID: "e1", Kind: sale.FactFailed, PaymentID: "dp_" + strings.TrimPrefix(at, "/demo/pay/"),
		Order: strings.TrimPrefix(order, "/orders/"), Amount: 4250, Currency: "EUR",
	}
	if _, err := h.office.Receive(fact); err != nil {
		t.Fatal(err)
	}
	b.get(order).want(200).says("Your seats are held", `role="alert" tabindex="-1" autofocus>The payment was refused and nothing was taken. You can try again.`, "Pay (demo")
	b.post(order+"/pay", "provider", "demo").want(303)
	b.get(order).says("Payment running").silent("refused")
}

func TestOrderWithoutAPaymentPageSaysWhereToPay(t *testing.T) {
	h := newHouse(t)
	for providers, words := range map[string]string{`"shop","door"`: "Pay in the venue&#39;s own shop", `"door"`: "Pay at the venue&#39;s box office"} {
		id := strings.Trim(strings.ReplaceAll(providers, `","`, "-"), `"`)
		h.event(id, `"providers":[`+providers+`]`, `"rules":{"buyer":"required"}`)
		b := h.browser()
		b.turn(id)
		order := b.post("/events/"+id+"/hold", "seat", "A-1").want(303).Header.Get("Location")
		b.get(order).says(words+" with this order number", `readonly size="38" value="`+strings.TrimPrefix(order, "/orders/")+`"`).silent(`name="email"`, "/pay\"")
	}
}

func TestStaffSeeTheButtonsThatMakeSense(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"opensAt":"2026-12-01T20:00:00Z"`)
	b := h.browser()
	b.post("/admin/login", "key", adminKey).want(303)
	say := func(do string) {
		b.follow(b.post("/admin/events/gala/say", "do", do, "sure", "yes"))
	}
	for _, c := range []struct{ do, shown, hidden string }{
		{"announce", "open pause announce close", "resume"},
		{"open", "pause announce close", "open resume"},
		{"pause", "resume announce close", "open pause"},
		{"resume", "pause announce close", "open resume"},
		{"close", "open announce", "pause resume close"},
		{"open", "pause announce close", "open resume"},
	} {
		say(c.do)
		a := b.get("/admin/events/gala").want(200)
		for _, w := range strings.Fields(c.shown) {
			a.says(`name="do" value="` + w + `"`)
		}
		for _, w := range strings.Fields(c.hidden) {
			a.silent(`name="do" value="` + w + `"`)
		}
	}
	a := b.upload("gala", "file", "zone,row,seat,category\nStalls,A,1,Stalls\n").want(200)
	if at := bytes.Index(a.Body, []byte("This plan can be used")); at < 0 || at > bytes.Index(a.Body, []byte("<h1>")) {
		t.Error("the result of the check is not at the top of the page")
	}
}

func TestBrowserFindsItsOrdersAgain(t *testing.T) {
	ctx := chrome(t)
	g := newStage(t)
	g.event("gala")
	run(ctx, t, chromedp.Navigate(g.url+"/"), see(`document.readyState == 'complete' && document.getElementById('orders').hidden`),
		chromedp.Navigate(g.url+"/events/gala"), shown("join"), chromedp.Click("#join button"), see(`location.pathname == '/events/gala/seats' && !document.getElementById('map-part').hidden`),
		chromedp.Click("section form.row button"), see(`/^Your seats are held/.test(document.title) && document.readyState == 'complete'`))
	path := ask[string](ctx, t, "location.pathname")
	run(ctx, t, chromedp.Navigate(g.url+"/"), see(`document.querySelector('#orders a').pathname == '`+path+`' && document.querySelector('#orders li').textContent == 'Gala, order'`))
	fact := sale.Fact{Provider: "demo", EventID: "e1", Kind: sale.FactSucceeded, PaymentID: "dp", Order: strings.TrimPrefix(path, "/orders/"), Amount: 8500, Currency: "EUR"}
	if _, err := g.office.Receive(fact); err != nil {
		t.Fatal(err)
	}
	run(ctx, t, chromedp.Click("#orders a"), see(`/Keep this page/.test(document.body.innerText) && /tickets/.test(localStorage.getItem('orders'))`),
		chromedp.Navigate(g.url+"/"), see(`document.querySelectorAll('#orders li').length == 1 && document.querySelector('#orders li').textContent == 'Gala, tickets'`))
}
