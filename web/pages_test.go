package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
	"foyer/static"
)

// browser is a person's browser without scripts: it keeps cookies, says that it
// wants pages, and looks at every page it gets.
type browser struct {
	h        *house
	jar      map[string]string
	language string // "" asks for none
}

func (h *house) browser() *browser { return &browser{h: h, jar: map[string]string{}} }

func (b *browser) send(method, path, kind string, body io.Reader) *answer {
	b.h.t.Helper()
	req := httptest.NewRequest(method, path, body)
	req.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	if method == http.MethodPost {
		req.Header.Set("Content-Type", kind)
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if b.language != "" {
		req.Header.Set("Accept-Language", b.language)
	}
	for name, value := range b.jar {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	a := b.h.send(req)
	for _, c := range (&http.Response{Header: a.Header}).Cookies() {
		if c.MaxAge < 0 {
			delete(b.jar, c.Name)
			continue
		}
		b.jar[c.Name] = c.Value
	}
	if strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
		checkPage(b.h.t, a)
	}
	return a
}

func (b *browser) get(path string) *answer {
	b.h.t.Helper()
	return b.send(http.MethodGet, path, "", nil)
}

// post sends a form; fields come in pairs.
func (b *browser) post(path string, fields ...string) *answer {
	b.h.t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	send := func(path string) *answer {
		return b.send(http.MethodPost, path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
	}
	a := send(path)
	if a.Status == http.StatusTemporaryRedirect { // as browsers do, once with what they keep
		a = send(a.Header.Get("Location"))
	}
	return a
}

// follow checks for a 303 and goes where it says.
func (b *browser) follow(a *answer) *answer {
	b.h.t.Helper()
	a.want(http.StatusSeeOther)
	return b.get(a.Header.Get("Location")).want(http.StatusOK)
}

// turn joins the line of an event and expects the turn at once.
func (b *browser) turn(event string) {
	b.h.t.Helper()
	b.follow(b.post("/events/" + event + "/line")).says("It is your turn")
}

func (a *answer) says(words ...string) *answer {
	a.t.Helper()
	for _, w := range words {
		if !bytes.Contains(a.Body, []byte(w)) {
			a.t.Errorf("%s: %q is not on the page:\n%s", a.what, w, a.Body)
		}
	}
	return a
}

func (a *answer) silent(words ...string) *answer {
	a.t.Helper()
	for _, w := range words {
		if bytes.Contains(a.Body, []byte(w)) {
			a.t.Errorf("%s: %q is on the page:\n%s", a.what, w, a.Body)
		}
	}
	return a
}

var (
	tags      = regexp.MustCompile(`<[a-zA-Z][^>]*>`)
	scripts   = regexp.MustCompile(`<script[^>]*>[^<]*`)
	ownScript = regexp.MustCompile(`^<script( type="module")? src="/static/[a-z]+\.[0-9a-f]{10}\.js"( defer)?>$`)
	values    = regexp.MustCompile(`"[^"]*"`)
	badTag    = regexp.MustCompile(`(?i)^<(style|iframe|object|base)|\sstyle\s*=|\son[a-z]+\s*=`)
	badLink   = regexp.MustCompile(`(?i)="\s*(javascript|data):`)
)

// checkPage holds a page to what all pages promise: nothing inline, one h1, a
// language, a title, a strict policy, and no cookie on what may be cached.
func checkPage(t testing.TB, a *answer) {
	t.Helper()
	for _, s := range scripts.FindAll(a.Body, -1) {
		if !ownScript.Match(s) {
			t.Errorf("%s: inline or foreign script %q", a.what, s)
		}
	}
	for _, tag := range tags.FindAll(a.Body, -1) {
		if badTag.Match(values.ReplaceAll(tag, nil)) || badLink.Match(tag) {
			t.Errorf("%s: inline style or script in %q", a.what, tag)
		}
	}
	if n := bytes.Count(a.Body, []byte("<h1")); n != 1 {
		t.Errorf("%s: %d h1", a.what, n)
	}
	for _, w := range []string{`<html lang="en">`, "<title>", `name="viewport"`, "<main"} {
		if !bytes.Contains(a.Body, []byte(w)) {
			t.Errorf("%s: no %s", a.what, w)
		}
	}
	if csp := a.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; script-src 'self'; style-src 'self';") || strings.Contains(csp, "unsafe") {
		t.Errorf("%s: policy %q", a.what, csp)
	}
	cache := a.Header.Get("Cache-Control")
	if cache != "no-store" && cache != "public, max-age=10" || cache != "no-store" && a.Header.Get("Set-Cookie") != "" {
		t.Errorf("%s: Cache-Control %q, Set-Cookie %q", a.what, cache, a.Header.Get("Set-Cookie"))
	}
	if bytes.Contains(a.Body, []byte("ZgotmplZ")) || bytes.Contains(a.Body, []byte("%!")) {
		t.Errorf("%s: a template filter or format gave up: %s", a.what, a.Body)
	}
}

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

func TestStaticFiles(t *testing.T) {
	h := newHouse(t)
	for _, c := range []struct {
		path   string
		status int
		cache  string
	}{
		{assetPath("wait.js"), 200, forAYear[0]},
		{assetPath("base.css"), 200, forAYear[0]},
		{"/static/wait.js", 200, revalidate[0]},
		{"/favicon.svg", 200, revalidate[0]},
		{"/robots.txt", 200, revalidate[0]},
		{"/static/wait.0000000000.js", 404, ""},
		{"/static/", 404, ""},
		{"/static", 404, ""},
		{"/static/pages/wait.html", 404, ""},
		{"/static/static.go", 404, ""},
		{"/static/..%2fgo.mod", 404, ""},
		{"/static/%2e%2e/wait.js", 404, ""},
		{"/static/..%5cwait.js", 404, ""},
		{"/static//wait.js", 404, ""},
		{"/static/wait%2ejs", 404, ""},
		{"/static/.js", 404, ""},
		{"/static/./wait.js", 404, ""},
	} {
		a := h.do("GET", c.path, "").want(c.status)
		if c.cache != "" && a.Header.Get("Cache-Control") != c.cache {
			t.Errorf("%s: Cache-Control %q, want %q", c.path, a.Header.Get("Cache-Control"), c.cache)
		}
		if c.status == 404 && strings.Contains(a.Header.Get("Cache-Control"), "public") {
			t.Errorf("%s: a missing file may be cached", c.path)
		}
	}
	path := assetPath("wait.js")
	plain := h.do("GET", path, "")
	packed := h.do("GET", path, "", "Accept-Encoding", "br, gzip;q=0.8").want(200)
	if packed.Header.Get("Content-Encoding") != "gzip" || packed.Header.Get("Vary") != "Accept-Encoding" || plain.Header.Get("Vary") != "Accept-Encoding" {
		t.Fatalf("headers of the packed file: %v", packed.Header)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed.Body))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(z); !bytes.Equal(got, plain.Body) {
		t.Error("the packed file is another")
	}
	if packed.Header.Get("Etag") == plain.Header.Get("Etag") {
		t.Error("two representations have one strong ETag")
	}
	if a := h.do("GET", path, "", "Accept-Encoding", "gzip;q=0"); a.Header.Get("Content-Encoding") != "" {
		t.Error("gzip is sent to one who refuses it")
	}
	h.do("GET", path, "", "If-None-Match", `"x", W/`+plain.Header.Get("Etag")).want(304)
	if a := h.do("HEAD", path, "").want(200); a.Header.Get("Etag") != plain.Header.Get("Etag") {
		t.Error("HEAD differs from GET")
	}
}

// The scripts import each other by their plain names, so all of them must exist;
// what people typed gets into the page as text only.
func TestScriptsKeepToThePolicyAndImportWhatIsThere(t *testing.T) {
	imports, hosts := regexp.MustCompile(`from '\./([a-z]+\.js)'`), regexp.MustCompile(`://([^/']*)`)
	files, err := static.Files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := static.Files.ReadFile(f.Name())
		if f.IsDir() || err != nil {
			continue
		}
		for _, host := range hosts.FindAllSubmatch(data, -1) {
			if !slices.Contains([]string{"www.w3.org", "challenges.cloudflare.com", "js.hcaptcha.com"}, string(host[1])) { // a name space, and the widgets that an event may ask for
				t.Errorf("%s names another host: %s", f.Name(), host[1])
			}
		}
		for _, word := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "'style'"} {
			if bytes.Contains(data, []byte(word)) {
				t.Errorf("%s uses %s", f.Name(), word)
			}
		}
		for _, m := range imports.FindAllSubmatch(data, -1) {
			if assets[string(m[1])] == nil {
				t.Errorf("%s imports %s, which is not served", f.Name(), m[1])
			}
		}
	}
}

// upload sends a plan as the staff page does.
func (b *browser) upload(event, field, doc string) *answer {
	b.h.t.Helper()
	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	if field == "file" {
		w, _ := m.CreateFormFile("file", "plan.csv") // a Buffer takes everything
		_, _ = io.WriteString(w, doc)
	} else {
		_ = m.WriteField(field, doc)
	}
	_ = m.Close()
	return b.send(http.MethodPost, "/admin/events/"+event+"/plan", m.FormDataContentType(), &body)
}

func TestStaffByForms(t *testing.T) {
	h := newHouse(t)
	b := h.browser()
	b.get("/admin").want(200).says("Log in").silent("New event")
	b.post("/admin/events", "id", "x").want(303) // to the login
	b.post("/admin/login", "key", "nonsense").want(403).says("That key is not right.")
	b.post("/admin/login", "key", h.key("shop")).want(403).says("This key is for the venue’s shop")
	b.follow(b.post("/admin/login", "key", adminKey)).says("No event yet", "New event", "Nothing. All money")

	form := []string{"id", "gala", "name", "Gala", "venue", "Town Hall", "timeZone", "Europe/Berlin", "startsAt", "2027-03-01T20:00", "opensAt", "2026-12-24T10:00",
		"currency", "EUR", "buyer", "optional", "admitPerSecond", "5", "maxActive", "9", "maxSeats", "3", "prices", "Stalls = 42.50\r\nBalcony=29\r\n"}
	with := func(field, value string) []string {
		f := slices.Clone(form)
		f[slices.Index(f, field)+1] = value
		return f
	}
	b.post("/admin/events", with("prices", "Stalls 42")...).want(422).says("must look like", `value="Town Hall"`)
	b.post("/admin/events", with("prices", "Stalls = 42.505")...).want(422).says("at most 2 decimals")
	b.post("/admin/events", with("opensAt", "2027-03-28T02:30")...).want(422).says("does not exist in Europe/Berlin")
	b.post("/admin/events", with("timeZone", "Mars/Base")...).want(422).says("such as Europe/Berlin")
	b.post("/admin/events", with("id", "No Good")...).want(422).says("a-z")
	b.follow(b.post("/admin/events", form...)).says("The event was made", "There is no plan yet", "10:00 (Europe/Berlin time)", "Balcony = 29.00")
	e, _, err := h.office.Event("gala")
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Date(2026, 12, 24, 9, 0, 0, 0, time.UTC); !e.OpensAt.Equal(want) || e.Prices["Stalls"] != 4250 || e.Rules.MaxSeatsPerOrder != 3 {
		t.Errorf("the event opens at %v with prices %v and rules %+v", e.OpensAt, e.Prices, e.Rules)
	}
	b.post("/admin/events", form...).want(409)

	b.upload("gala", "file", "zone,row,seat,category\nStalls,A,1,Stalls\nStalls,A,1,Stalls\n,,,\n").want(422).says("line 3")
	b.upload("gala", "nothing", "x").want(400)
	look := b.upload("gala", "file", "zone,row,seat,category,colour\nStalls,A,1,Stalls,red\nLoge,B,2,Loge,blue\n").want(200).says("2 seats, 2 new", "not on sale: Loge", "is ignored", "Use this plan")
	if e, _, _ := h.office.Event("gala"); e.PlanVersion != "" {
		t.Error("looking at a plan set it")
	}
	doc := regexp.MustCompile(`(?s)<textarea name="doc" hidden>(.*?)</textarea>`).FindSubmatch(look.Body)
	b.follow(b.upload("gala", "doc", strings.NewReplacer("&#34;", `"`, "&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(string(doc[1])))).says("The plan is in use", "1 seat with a price")

	b.follow(b.post("/admin/events/gala/say", "do", "open")).says("The sale is open")
	b.follow(b.post("/admin/events/gala/say", "do", "pause", "message", "Back at nine")).says("Paused", "Back at nine")
	b.follow(b.post("/admin/events/gala/say", "do", "resume")).says("The line goes on")
	b.follow(b.post("/admin/events/gala/say", "do", "announce", "message", "")).silent("Back at nine")
	b.post("/admin/events/gala/say", "do", "nothing").want(400)
	b.follow(b.post("/admin/events/gala/pace", "admitPerSecond", "7", "maxActive", "8")).says(`value="7"`)
	b.post("/admin/events/gala/pace", "admitPerSecond", "0", "maxActive", "8").want(422).says("People let in per second must be 1 to 5000.").silent("rules.")
	b.follow(b.post("/admin/events/gala/prices", "prices", "Stalls = 10\nLoge = 20")).says("2 seats with a price")
	b.post("/admin/events/gala/prices", "prices", "Stalls = 1\nStalls = 2").want(422).says("two prices")
	b.post("/admin/events/gala/say", "do", "close").want(422).says("The sale was not closed.")
	b.follow(b.post("/admin/events/gala/say", "do", "close", "message", "Good night", "sure", "yes")).says("Closed")
	b.get("/admin/events/none").want(404)
	b.get("/admin").says("Gala", "event.open", "event.close")

	b.follow(b.post("/admin/logout")).says("Log in")
	b.get("/admin/events/gala").want(200).says("Log in").silent("Gala")
	if at := b.post("/admin/events/gala/say", "do", "open").want(303).Header.Get("Location"); at != "/admin" {
		t.Errorf("a form without a session leads to %q", at)
	}
	if _, phase, _ := h.office.Event("gala"); phase != sale.PhaseClosed {
		t.Error("a form without a session was carried out")
	}
}

func TestAttentionIsShownToStaff(t *testing.T) {
	h := newHouse(t)
	if _, err := h.office.Receive(sale.Fact{Provider: "demo", EventID: "e", Kind: sale.FactSucceeded, PaymentID: "dp_1", Order: "<i>no order</i>", Amount: 4250, Currency: "EUR"}); err != nil {
		t.Fatal(err)
	}
	b := h.browser()
	b.post("/admin/login", "key", adminKey).want(303)
	b.get("/admin").want(200).says("Needs attention (1)", "€42.50", "dp_1", "&lt;i&gt;no order")
}

func TestMoneyThatMustGoBackIsShownToStaff(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	_, late := h.held("gala", `["A-1"]`)
	h.clock.pass(time.Hour)
	h.held("gala", `["A-1"]`)
	b := h.browser()
	b.post("/admin/login", "key", adminKey).want(303)
	b.get("/admin").want(200).says("Nothing. All money is where it belongs.")
	fact := sale.Fact{Provider: "demo", EventID: "e1", Kind: sale.FactSucceeded, PaymentID: "dp_7", Order: late, Amount: 4250, Currency: "EUR"}
	if _, err := h.office.Receive(fact); err != nil {
		t.Fatal(err)
	}
	h.clock.pass(time.Minute)
	if _, err := h.office.Receive(sale.Fact{Provider: "demo", EventID: "e2", Kind: sale.FactSucceeded, PaymentID: "dp_8", Order: "none", Amount: 1, Currency: "EUR"}); err != nil {
		t.Fatal(err)
	}
	b.get("/admin").want(200).says("Needs attention (2)", late, "Order for Gala", "€42.50", "The provider is being asked", "demo dp_7", "Tue 1 December 2026, 20:00 (UTC time)", "Money for an unknown order", "dp_8").silent("Nothing. All money")
	a := h.staff("GET", "/api/v1/admin/attention", "").want(200)
	for path, want := range map[string]any{
		"items.0.kind": "refund_due", "items.0.orderId": late, "items.0.event": "gala", "items.0.amount.amount": 4250.0, "items.0.provider": "demo",
		"items.0.paymentId": "dp_7", "items.0.since": "2026-12-01T20:00:00.000Z", "items.1.kind": "payment", "items.1.attention": "unknown_order", "items.2": nil,
	} {
		if got := a.field(path); got != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
}

func TestMoneyForPeople(t *testing.T) {
	for _, c := range []struct {
		minor    int64
		currency string
		want     string
	}{
		{4250, "EUR", "€42.50"}, {5, "EUR", "€0.05"}, {0, "EUR", "€0.00"}, {4250, "JPY", "¥4,250"}, {0, "JPY", "¥0"}, {1250, "KWD", "KWD\u00a01.250"},
		{123456789, "USD", "$1,234,567.89"}, {100, "CHF", "CHF\u00a01.00"}, {-4250, "EUR", "−€42.50"}, {99900, "GBP", "£999.00"}, {100000, "GBP", "£1,000.00"},
		{-1 << 63, "JPY", "−¥9,223,372,036,854,775,808"}, {100, "XXX", "XXX\u00a01.00"},
	} {
		if got := formatMoney(c.minor, c.currency, locale{}); got != c.want {
			t.Errorf("formatMoney(%d, %s) = %q, want %q", c.minor, c.currency, got, c.want)
		}
	}
	for _, c := range []struct {
		text, currency string
		want           int64
	}{
		{"42.50", "EUR", 4250}, {" 42,5 ", "EUR", 4250}, {"42", "EUR", 4200}, {"0", "EUR", 0}, {"4250", "JPY", 4250}, {"1.25", "KWD", 1250},
		{"", "EUR", -1}, {"-1", "EUR", -1}, {"42.505", "EUR", -1}, {"1.5", "JPY", -1}, {"1.", "EUR", -1}, {".5", "EUR", -1}, {"1e3", "EUR", -1},
		{"1.000,00", "EUR", -1}, {"92233720368547758.08", "EUR", -1}, {"٣", "EUR", -1}, {"€5", "EUR", -1},
	} {
		got, err := parseMoney(c.text, c.currency)
		if err != nil {
			got = -1
		}
		if got != c.want {
			t.Errorf("parseMoney(%q, %s) = %d, want %d", c.text, c.currency, got, c.want)
		}
	}
}

func TestWallTimeIsTheHousesOwn(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"2027-01-10T10:00":    "2027-01-10T09:00:00Z",
		"2027-07-10T10:00":    "2027-07-10T08:00:00Z",
		"2027-07-10T10:00:30": "2027-07-10T08:00:30Z",
		"2027-10-31T02:30":    "2027-10-31T00:30:00Z", // comes twice: the first
		"2027-03-28T02:30":    "",                     // does not come
		"tomorrow":            "",
	} {
		got, err := wallTime(text, berlin)
		if err != nil && want == "" {
			continue
		}
		if err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("wallTime(%q) = %v, %v, want %q", text, got, err, want)
		}
	}
	if got, err := wallTime("", berlin); got != nil || err != nil {
		t.Errorf("no time gives %v, %v", got, err)
	}
}

func TestTimeZonesAreReadOnce(t *testing.T) {
	first, err := zone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := zone("Europe/Berlin"); again != first || err != nil {
		t.Errorf("another zone the second time, %v", err)
	}
	if _, err := zone("Mars/Base"); err == nil {
		t.Error("there is a zone on Mars")
	}
}

func TestTimesInWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0:00", 0: "0:00", time.Millisecond: "0:01", 299 * time.Second: "4:59", 300 * time.Second: "5:00", 3725 * time.Second: "1:02:05",
	} {
		if got := clock(d); got != want {
			t.Errorf("clock(%v) = %q, want %q", d, got, want)
		}
	}
	for _, c := range []struct {
		low, high int
		want      string
	}{{0, 0, "less than a minute"}, {10, 59, "less than a minute"}, {48, 95, "about 1–2 minutes"}, {60, 60, "about 1 minute"}, {600, 900, "about 10–15 minutes"}, {3700, 7200, "about 1–2 hours"}} {
		if got := waitWords(c.low, c.high); got != c.want {
			t.Errorf("waitWords(%d, %d) = %q, want %q", c.low, c.high, got, c.want)
		}
	}
}
