package web

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

func TestWaitingPageIsSmallAndTheSameForEverybody(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"venue":"Kleines Haus am Alten Markt"`, `"startsAt":"2027-03-01T19:00:00Z"`, `"timeZone":"America/Argentina/Buenos_Aires"`)
	h.staff("PATCH", "/api/v1/admin/events/gala", `{"name":"The Marriage of Figaro, last night of the season, with supper"}`).want(200)
	a := h.browser().get("/events/gala").want(200).says("16:00 (America/Argentina/Buenos Aires time)")
	size := len(pack(a.Body))
	names := []string{"wait.css", "wait.js"}
	for _, name := range names {
		a.says(assetPath(name))
		size += len(assets[name].packed.body)
	}
	if n := bytes.Count(a.Body, []byte("/static/")); n != len(names) {
		t.Errorf("the page asks for %d files, want %d", n, len(names))
	}
	if size > 11<<10 {
		t.Errorf("page, style and script are %d bytes together as they are sent, want at most %d", size, 11<<10)
	}
	t.Logf("page, style and script: %d bytes as they are sent", size)

	b := h.browser()
	b.turn("gala")
	again := b.get("/events/gala").want(200)
	if !bytes.Equal(a.Body, again.Body) {
		t.Error("somebody with a place gets another page")
	}
	if len(a.Header["Set-Cookie"]) != 0 {
		t.Error("the page sets a cookie")
	}
	tag := a.Header.Get("Etag")
	if got := h.do("GET", "/events/gala", "", "If-None-Match", tag); tag == "" || got.Status != 304 || len(got.Body) != 0 {
		t.Errorf("If-None-Match %s: got %d with %d bytes", tag, got.Status, len(got.Body))
	}
	h.staff("POST", "/api/v1/admin/events/gala/pause", `{"message":"Back at nine"}`).want(200)
	if a := h.browser().get("/events/gala").says("Back at nine", "paused"); a.Header.Get("Etag") == tag {
		t.Error("another page has the same ETag")
	}
}

func TestPurchaseWithoutScripts(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"rules":{"buyer":"required"}`)
	b := h.browser()
	b.get("/").want(200).says("/events/gala", "On sale")
	b.get("/events/gala").want(200).says(`<form id="join" method="post" action="/events/gala/line">`)
	b.turn("gala")
	b.get("/events/gala/seats").want(200).says(`value="A-2" aria-label="Row A, seat 2, Stalls, €42.50, free"`, "Best available")
	b.post("/events/gala/hold").want(422).says("Name at least one seat.", `role="alert"`)

	held := b.post("/events/gala/hold", "seat", "A-2", "seat", "A-3")
	order := held.Header.Get("Location")
	b.follow(held).says("Your seats are held", "€85.00", ">5:00<", "Pay (demo")
	b.post(order+"/pay", "provider", "demo").want(422).says("name and e-mail", "Your seats are held")

	paid := b.post(order+"/pay", "provider", "demo", "name", `Zoë "Z" O'Hara`, "email", "zoe@example.org").want(303)
	if at := paid.Header.Get("Location"); !strings.HasPrefix(at, "/demo/pay/") {
		t.Fatalf("paying leads to %q", at)
	}
	twice := b.post(order+"/pay", "provider", "demo", "name", `Zoë "Z" O'Hara`, "email", "zoe@example.org").want(303)
	if twice.Header.Get("Location") != paid.Header.Get("Location") {
		t.Error("the second click starts a second payment")
	}
	b.get(order).want(200).says("Payment running", `http-equiv="refresh"`, paid.Header.Get("Location"), "If you do not pay, the seats are free again at 19:05 (UTC time)").silent("/release", "give the seats back")
	b.follow(b.post(order + "/release")).says("Payment running") // a page that was open before
	b.get("/events/gala/seats").want(200).says("A payment is running")
	b.post("/events/gala/hold", "seat", "A-5").want(409).says("A payment is running")

	id := strings.TrimPrefix(order, "/orders/")
	fact := sale.Fact{Provider: "demo", EventID: "e1", Kind: sale.FactSucceeded, PaymentID: "dp", Order: id, Amount: 8500, Currency: "EUR"}
	if _, err := h.office.Receive(fact); err != nil {
		t.Fatal(err)
	}
	p := b.get(order).want(200).says("2 tickets", "code-", "row A, seat 2")
	if n := bytes.Count(p.Body, []byte(`<svg xmlns="http://www.w3.org/2000/svg" role="img"`)); n != 2 {
		t.Errorf("%d QR codes, want 2", n)
	}
	if p.Header.Get("Cache-Control") != "no-store" {
		t.Error("tickets may be cached")
	}
	b.follow(b.post(order+"/pay", "provider", "demo")).says("Your tickets")
	b.follow(b.post(order + "/release")).says("Your tickets")
	b.get("/events/gala/seats").want(403).says("Not your turn yet")

	for _, path := range []string{order, "/orders/" + uuid.NewString(), "/orders/x"} {
		stranger := h.browser()
		stranger.turn("gala")
		got := stranger.get(path).want(404).says("There is no such order")
		if other := stranger.get("/orders/" + uuid.NewString()); !bytes.Equal(got.Body, other.Body) {
			t.Errorf("%s: a foreign order is told from an unknown one", path)
		}
	}
}

func TestLineWithoutScripts(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"rules":{"maxActive":1,"admitPerSecond":1}`)
	first, second := h.browser(), h.browser()
	first.turn("gala")
	p := second.follow(second.post("/events/gala/line")).says("You are next", "You are number 2", `<meta http-equiv="refresh" content="`)
	second.follow(second.post("/events/gala/line")).says("You are number 2") // the same place
	second.get("/events/gala/seats").want(403).says("You have a place in the line")
	if p.Header.Get("Cache-Control") != "no-store" {
		t.Error("a place may be cached")
	}
	third := h.browser()
	third.follow(third.post("/events/gala/line")).says(`<p class="big">1</p>`, "person is")
	place := regexp.MustCompile(`name="place" value="([^"]+)"`).FindSubmatch(p.Body)
	second.follow(second.post("/events/gala/leave", "place", string(place[1]))).says("You have no place in the line", "Join the line").silent("refresh")
	third.get("/events/gala/line").says("You are next")
	h.browser().get("/events/gala/line").says("Join the line")
	third.post("/events/gala/leave", "place", "nonsense").want(404)
	third.post("/events/nothing/line").want(404).says("All events")

	opens := `"opensAt":"2026-12-01T20:00:00Z","timeZone":"Asia/Seoul"`
	h.event("later", opens)
	early := h.browser()
	early.get("/events/later").says("Wed 2 December 2026, 05:00 (Asia/Seoul time)")
	early.follow(early.post("/events/later/line")).says("You are in the line", "It starts moving when the sale opens", "05:00 (Asia/Seoul time)")
	h.staff("POST", "/api/v1/admin/events/gala/close", `{"message":"Good night"}`).want(200)
	late := h.browser()
	late.get("/events/gala").says("The sale is closed.", "<button hidden>", "Good night")
	late.post("/events/gala/line").want(403).says("closed")
}

func TestLostSeatsAreNamedAndTheOthersKept(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	b := h.browser()
	b.turn("gala")
	h.held("gala", `["A-2"]`)
	p := b.post("/events/gala/hold", "seat", "A-1", "seat", "A-2").want(409)
	p.says(`role="alert"`, "Stalls, row A, seat 2</li>", `value="A-1" aria-label="Row A, seat 1, Stalls, €42.50, free" checked`, "seat 2, Stalls, €42.50, held")
	b.follow(b.get("/events/gala/hold")).says("Choose your seats") // loading the answer again
	b.post("/events/gala/hold", "best", "2", "category", "Nowhere").want(404).says(`role="alert"`)
	h.held("gala", `["A-3","A-4"]`)
	b.post("/events/gala/hold", "best", "4").want(409).says(`role="alert"`)
	b.follow(b.post("/events/gala/hold", "best", "3", "category", "Stalls")).says("€127.50", "row A, seat 1")
}

func TestOwnSeatsAreYours(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	b := h.browser()
	b.turn("gala")
	b.follow(b.post("/events/gala/hold", "seat", "A-1", "seat", "A-2", "seat", "A-3", "seat", "A-4"))
	b.get("/events/gala/seats").says("You hold 4 seats", `aria-label="Row A, seat 4, Stalls, €42.50, yours" checked`)
	b.post("/events/gala/hold", "seat", "A-1", "seat", "A-2", "seat", "A-3", "seat", "A-4", "seat", "A-5").want(422).says("at most 4 seats")
	b.get("/events/gala/seats").says("You hold 4 seats") // untouched
	next := b.post("/events/gala/hold", "seat", "A-2", "seat", "A-3", "seat", "A-4", "seat", "A-5", "seat", "A-5")
	b.follow(next).says("row A, seat 5").silent("row A, seat 1<")
	b.get("/events/gala/seats").says(`value="A-1" aria-label="Row A, seat 1, Stalls, €42.50, free"`)
	b.follow(b.post(next.Header.Get("Location")+"/release")).says("Order cancelled", "Choose seats")
	b.follow(b.post(next.Header.Get("Location") + "/release")) // the second click
}

func TestLapsedOrderShowsTheNextStep(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	b := h.browser()
	b.turn("gala")
	order := b.post("/events/gala/hold", "seat", "A-1").want(303).Header.Get("Location")
	h.clock.pass(5*time.Minute - time.Millisecond)
	b.get(order).says("Your seats are held", `>0:01<`)
	h.clock.pass(time.Millisecond)
	b.get(order).says("The time is over", "Choose seats again", "Nothing was paid").silent("role=\"timer\"", "/pay", "still arrives")
	b.follow(b.post(order+"/pay", "provider", "demo")).says("The time is over")
	b.get("/events/gala/seats").want(403).says("If you had a turn, it is over", "/events/gala\"")
}

func TestLapsedOrderTellsWhatBecomesOfLateMoney(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	b := h.browser()
	b.turn("gala")
	order := b.post("/events/gala/hold", "seat", "A-1").want(303).Header.Get("Location")
	b.post(order+"/pay", "provider", "demo").want(303)
	h.clock.pass(time.Hour)
	if _, err := h.office.Tick("gala", time.Second); err != nil { // swept or not
		t.Fatal(err)
	}
	b.get(order).says("The time is over", "If money still arrives for this order, it buys the seats if they are free then; else all of it comes back").silent("Nothing was paid")
}

func TestProviderThatIsDownKeepsTheSeats(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	b := h.browser()
	b.turn("gala")
	order := b.post("/events/gala/hold", "seat", "A-1").want(303).Header.Get("Location")
	h.till.down = true
	b.post(order+"/pay", "provider", "demo").want(502).says("does not answer", "Your seats are held")
	h.till.down = false
	b.post(order+"/pay", "provider", "demo").want(303)
}

func TestNamesAreText(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	evil := `\"><script>alert(1)</script><img src=x onerror=alert(2)> O'Neill & {{.}}`
	h.staff("PATCH", "/api/v1/admin/events/gala", `{"name":"`+evil+`","venue":"`+evil+`"}`).want(200)
	h.staff("POST", "/api/v1/admin/events/gala/announce", `{"message":"`+evil+`"}`).want(200)
	b := h.browser()
	for _, path := range []string{"/", "/events/gala", "/events/gala/line"} {
		b.get(path).want(200).says("&lt;script&gt;alert(1)").silent("<script>alert", "<img")
	}
	b.turn("gala")
	b.get("/events/gala/seats").says("&lt;script&gt;").silent("<img")
	order := b.post("/events/gala/hold", "seat", "A-1").want(303).Header.Get("Location")
	b.post(order+"/pay", "provider", "demo", "name", `"><script>x</script>`, "email", `"'<b>`).want(422).says("&lt;script&gt;x").silent("<b>")
	b.post("/admin/login", "key", adminKey).want(303)
	b.get("/admin").want(200).says("&lt;script&gt;").silent("<img")
	b.get("/admin/events/gala").want(200).says("&lt;script&gt;").silent("<img")
}

func TestEveryOrderStateHasAPage(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	_, id := h.held("gala", `["A-1"]`)
	o, err := h.office.AnyOrder(uuid.MustParse(id))
	if err != nil {
		t.Fatal(err)
	}
	for status, words := range map[sale.OrderStatus]string{
		sale.Pending: "Your seats are held", sale.Paying: "Payment running", sale.Paid: "Your tickets", sale.Expired: "Choose seats again",
		sale.Cancelled: "Nothing is to be paid", sale.RefundDue: "You get all of the money back, €42.50", sale.Refunded: "was returned",
	} {
		v := *o
		v.Status = status
		rec := httptest.NewRecorder()
		c := h.server.echo.NewContext(httptest.NewRequest("GET", "/orders/"+id, nil), rec)
		if err := h.server.showOrderPage(c, &v, nil, v.Buyer); err != nil {
			t.Fatalf("%s: %v", status, err)
		}
		a := &answer{t: t, what: string(status), Status: rec.Code, Header: rec.Header(), Body: rec.Body.Bytes()}
		checkPage(t, a)
		a.says(words, orderTitle(status)+"</h1>")
	}
}

func TestErrorPagesNameANextStep(t *testing.T) {
	h := newHouse(t)
	b := h.browser()
	b.get("/").want(200).says("nothing on sale")
	b.get("/nothing").want(404).says("There is no such page", `href="/"`)
	b.get("/events/none").want(404).says(`href="/"`)
	b.get("/events/%00%ff/seats").want(404)
	b.get("/events/none%2f../seats").want(404)
	for _, p := range []problem{{Status: 403, Code: "cross_site", Title: "Cross-site request", Detail: "No."}, {Status: 500, Code: "internal", Title: "Internal error", Detail: "Oh."}, {Status: 503, Code: "unavailable", Title: "Unavailable", Detail: "Soon.", RetryAfter: 5 * time.Second}} {
		rec := httptest.NewRecorder()
		c := h.server.echo.NewContext(httptest.NewRequest("GET", "/orders/1", nil), rec)
		if err := h.server.errorPage(c, p); err != nil {
			t.Fatal(err)
		}
		a := &answer{t: t, what: p.Code, Status: rec.Code, Header: rec.Header(), Body: rec.Body.Bytes()}
		checkPage(t, a)
		a.want(p.Status).says(p.Detail, `class="b" href="/`)
	}
}

func TestBigHouseIsListedInParts(t *testing.T) {
	h := newHouse(t)
	h.event("arena", `"rules":{"maxSeatsPerOrder":2}`)
	var csv strings.Builder
	csv.WriteString("zone,row,seat,category\n")
	for r := range 40 {
		for s := range 100 {
			fmt.Fprintf(&csv, "Ring,R%d,%d,Stalls\n", r, s)
		}
	}
	h.staff("PUT", "/api/v1/admin/events/arena/plan", csv.String(), "Content-Type", "text/csv").want(200)
	b := h.browser()
	b.turn("arena")
	first := b.get("/events/arena/seats").want(200).says("Ring, rows R0 to R14", "part=2#list", `value="R0-0"`).silent(`value="R15-0"`)
	if n := bytes.Count(first.Body, []byte("<label class=\"A\">")); n != 1500 {
		t.Errorf("%d seats in the first part", n)
	}
	b.get("/events/arena/seats?part=2").want(200).says(`value="R30-0"`, `value="R39-99"`).silent(`value="R29-99"`)
	b.get("/events/arena/seats?part=-7").want(200).says(`value="R0-0"`)
	b.get("/events/arena/seats?part=9999999999999999999999").want(200).says(`value="R0-0"`)
}
