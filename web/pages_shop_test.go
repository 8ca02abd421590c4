package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

func TestBrowserComesBackToTheShopWhenItIsItsTurn(t *testing.T) {
	ctx := chrome(t)
	h := newHouse(t)
	h.fair()
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<title>A shop</title><h1 id="shop">`+r.URL.RequestURI()+" for "+r.Header.Get("X-Foyer-Visitor")+`</h1>`)
	}))
	t.Cleanup(shop.Close)
	at, _ := url.Parse(shop.URL)
	front := httptest.NewServer(h.server.Protect(Protection{Upstream: at, Event: "fair"}))
	t.Cleanup(front.Close)
	// People go straight in: joining leads back at once.
	run(ctx, t, chromedp.Navigate(front.URL+"/cart?id=1&x=2"), shown("join"), chromedp.Click("#join button"),
		see(`/^.cart.id=1&x=2 for [0-9a-f-]{36}$/.test(document.getElementById('shop').textContent) && location.href == '`+front.URL+`/cart?id=1&x=2'`))
	// Later the turn is over, and people wait: the page shows the way back to who is called.
	h.staff("PATCH", "/api/v1/admin/events/fair", `{"line":"always"}`).want(200)
	h.clock.pass(10 * time.Minute)
	run(ctx, t, chromedp.Navigate(front.URL+"/pay"), shown("join"), chromedp.Click("#join button"), shown("wait"))
	if _, err := h.office.Tick("fair", time.Second); err != nil {
		t.Fatal(err)
	}
	run(ctx, t, shown("turn"), see(`document.getElementById('go').textContent == 'Go to the shop'`), chromedp.Click("#go"),
		see(`/^.pay for /.test(document.getElementById('shop').textContent)`))
}
