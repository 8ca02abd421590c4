package web

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const returning = "/api/v1/visitors/return"

// waits makes a visitor with a place in the event, and gives the place's path.
func (h *house) waits(event string) (credential, place string) {
	h.t.Helper()
	credential = h.visitor()
	queue := "/api/v1/events/" + event + "/queue"
	return credential, queue + "/" + h.do("POST", queue, "", "X-Visitor", credential).want(201).text("queueId")
}

// link is the return code of a place.
func (h *house) link(credential, place string) (code, url string) {
	h.t.Helper()
	a := h.do("POST", place+"/link", "", "X-Visitor", credential).want(201)
	if got := a.Header.Get("Cache-Control"); got != "no-store" {
		h.t.Errorf("a code comes with Cache-Control %q", got)
	}
	return a.text("code"), a.text("url")
}

func TestB06PlaceTravelsToAnotherBrowser(t *testing.T) {
	h := newHouse(t, func(c *Config) { c.BaseURL = "https://tickets.example/" })
	h.event("gala", `"rules":{"maxActive":1}`)
	h.ready("gala")
	old, place := h.waits("gala")
	code, url := h.link(old, place)
	if url != "https://tickets.example/events/gala/return#"+code {
		t.Errorf("the link is %s", url)
	}
	if again, _ := h.link(old, place); again != code {
		t.Error("asked twice the code is another one")
	}
	a := h.do("POST", returning, `{"code":"`+code+`"}`).want(200)
	if a.text("credential") != old || a.text("eventId") != "gala" || !strings.HasSuffix(place, a.text("queueId")) || len(a.text("visitorId")) != 36 {
		t.Errorf("got %s, want the place %s", a.Body, place)
	}
	if set := a.Header.Get("Set-Cookie"); !strings.HasPrefix(set, "foyer_visitor="+old+"; Path=/;") || !strings.Contains(set, "HttpOnly") || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("got the cookie %q, Cache-Control %q", set, a.Header.Get("Cache-Control"))
	}
	h.do("POST", returning, `{"code":"`+code+`"}`).refused(410, "link_used")
	for _, who := range []string{old, a.text("credential")} {
		if p := h.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", who).want(200); p.field("number") != 2.0 {
			t.Errorf("the place is %s", p.Body)
		}
	}
	if s, err := h.office.Status("gala"); err != nil || s.Waiting != 1 {
		t.Errorf("%d wait, want one place", s.Waiting)
	}
}

func TestReturnLinksAreTheOwnersAlone(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"rules":{"maxActive":1}`)
	mine, place := h.waits("gala")
	other, foreign := h.waits("gala")
	for _, method := range []string{"POST", "DELETE"} {
		h.do(method, place+"/link", "").refused(401, "no_visitor")
		h.do(method, place+"/link", "", "X-Visitor", other).refused(404, "not_entered")
		h.do(method, foreign+"/link", "", "X-Visitor", mine).refused(404, "not_entered")
		h.do(method, "/api/v1/events/gala/queue/x/link", "", "X-Visitor", mine).refused(404, "not_entered")
		h.do(method, "/api/v1/events/gala/queue/00000000-0000-0000-0000-000000000000/link", "", "X-Visitor", mine).refused(404, "not_entered")
		h.do(method, strings.Replace(place, "gala", "none", 1)+"/link", "", "X-Visitor", mine).refused(404, "no_such_event")
		h.do(method, place+"/link", "", "Cookie", "foyer_visitor="+mine, "Sec-Fetch-Site", "cross-site").refused(403, "cross_site")
	}
	code, _ := h.link(mine, place)
	h.do("POST", returning, `{"code":"`+code+`"}`, "Sec-Fetch-Site", "cross-site").refused(403, "cross_site")
	h.do("DELETE", place+"/link", "", "X-Visitor", mine).want(204)
	h.do("DELETE", place+"/link", "", "X-Visitor", mine).want(204)
	h.do("POST", returning, `{"code":"`+code+`"}`).refused(410, "link_used")
	for body, status := range map[string]int{``: 400, `{`: 400, `{"code":1}`: 422, `{}`: 404, `{"code":"` + strings.Repeat("A", 60_000) + `"}`: 404, `{"code":"","x":1}`: 400} {
		if a := h.do("POST", returning, body); a.Status != status || a.Header.Get("Set-Cookie") != "" {
			t.Errorf("%.20s: got %d and the cookie %q, want %d", body, a.Status, a.Header.Get("Set-Cookie"), status)
		}
	}
}

func TestReturnCodesAreTriedAndTakenBackAtALimitedRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, func(c *Config) { c.RateLimit = 1 })
		defer func() { _ = h.store.Close() }()
		h.event("gala")
		b := h.browser()
		b.turn("gala") // a visitor and a join
		page := b.get("/events/gala/travel")
		own := page.shows(`name="place" value="([^"]+)"`)
		link := "/api/v1/events/gala/queue/" + own + "/link"
		for name, try := range map[string]func() *answer{
			"tried":                  func() *answer { return h.do("POST", returning, `{"code":"x"}`) },
			"tried by the form":      func() *answer { return h.browser().post("/events/gala/return", "code", "x") },
			"taken back":             func() *answer { return h.do("DELETE", link, "", "X-Visitor", b.jar[visitorCookie]) },
			"taken back by the form": func() *answer { return b.post("/events/gala/travel", "place", own) },
		} {
			time.Sleep(time.Minute)
			for range limitBurst {
				if a := try(); a.Status == http.StatusTooManyRequests {
					t.Errorf("%s: refused within the limit", name)
				}
			}
			if a := try().want(http.StatusTooManyRequests); a.Header.Get("Retry-After") != "1" {
				t.Errorf("%s: Retry-After %q", name, a.Header.Get("Retry-After"))
			}
		}
		h.browser().post("/events/gala/return", "code", "x").want(429).says("Too many requests come from your address.", `value="x"`)
	})
}

func TestReturnCodeWorksAfterARestart(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"rules":{"maxActive":1}`)
	h.ready("gala")
	old, place := h.waits("gala")
	used, _ := h.link(old, place)
	h.do("POST", returning, `{"code":"`+used+`"}`).want(200)
	code, _ := h.link(old, place)
	if err := h.store.Close(); err != nil {
		t.Fatal(err)
	}
	h.open()
	h.do("POST", returning, `{"code":"`+used+`"}`).refused(410, "link_used")
	if a := h.do("POST", returning, `{"code":"`+code+`"}`).want(200); a.text("credential") != old {
		t.Errorf("got %s", a.Body)
	}
}

// shows finds what a page shows in a pattern's first group.
func (a *answer) shows(pattern string) string {
	a.t.Helper()
	m := regexp.MustCompile(pattern).FindSubmatch(a.Body)
	if m == nil {
		a.t.Fatalf("%s: no %s on the page:\n%s", a.what, pattern, a.Body)
	}
	return string(m[1])
}

const wordOf = `id="word">([^<]+)<`

func TestPlaceTravelsWithoutScripts(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"rules":{"maxActive":1}`)
	h.ready("gala")
	old, fresh := h.browser(), h.browser()
	old.get("/events/gala/travel").want(200).says("This browser has no place in the line now.").silent("Take the code back")
	old.follow(old.post("/events/gala/line")).says("You are number 2", `href="/events/gala/travel"`, `href="/events/gala/return"`)
	old.get("/events/gala").says(`href="/events/gala/travel"`, `href="/events/gala/return"`)
	page := old.get("/events/gala/travel").want(200).says(`<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="QR code of the link"`, `http-equiv="refresh"`)
	code := page.shows(wordOf)
	page.says(`value="http://example.com/events/gala/return#` + code + `"`)
	if page.Header.Get("Cache-Control") != "no-store" {
		t.Error("a code may be cached")
	}

	for _, method := range []string{"GET", "HEAD"} { // previews of links look only
		fresh.send(method, "/events/gala/return", "", nil).want(200)
	}
	fresh.get("/events/gala/return").says("Bring my place here", "what stands after the #").silent("place of its own", "Orders that this browser has")
	typo := fresh.post("/events/gala/return", "code", "Z"+code[1:]+"x").want(404).says("Check it letter by letter", `role="alert"`, `value="Z`)
	if typo.Header.Get("Set-Cookie") != "" {
		t.Error("a wrong code sets a cookie")
	}
	fresh.follow(fresh.post("/events/gala/return", "code", strings.ToLower(code))).says("You are number 2")
	old.get("/events/gala/line").says("You are number 2")
	h.browser().post("/events/gala/return", "code", code).want(410).says("used already or taken back")
	next := old.get("/events/gala/travel").says("1 code of this place used or taken back")
	if next.shows(wordOf) == code {
		t.Error("the page still shows the code that was used")
	}

	// Taken back, and brought with the whole link.
	code = next.shows(wordOf)
	done := old.post("/events/gala/travel", "place", next.shows(`name="place" value="([^"]+)"`))
	old.follow(done).says("The code was taken back", "2 codes of this place")
	third := h.browser()
	third.post("/events/gala/return", "code", code).want(410)
	url := old.get("/events/gala/travel").shows(`id="link" readonly value="([^"]+)"`)
	if got := third.post("/events/gala/return", "code", url, "scripts", "scripts").want(303).Header.Get("Location"); got != "/events/gala" {
		t.Errorf("with scripts it leads to %s", got)
	}
	third.get("/events/gala/line").says("You are number 2")
	third.post("/events/gala/travel", "place", "nonsense").want(404)
	h.browser().post("/events/gala/travel", "place", "nonsense").want(401)
	h.browser().get("/events/none/return").want(404)
	h.browser().get("/events/none/travel").want(404)
}

func TestBrowserWithAPlaceOfItsOwnIsWarned(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"rules":{"maxActive":1}`)
	h.ready("gala")
	old, other := h.browser(), h.browser()
	old.follow(old.post("/events/gala/line")).says("You are number 2")
	code := old.get("/events/gala/travel").shows(wordOf)
	other.get("/events/gala/return").silent("place of its own")
	other.follow(other.post("/events/gala/line")).says("You are number 3")

	// A page from before its own place asks once more, and uses nothing up.
	warned := other.post("/events/gala/return", "code", code).want(200).says("a place of its own", "Give it up and bring the other", `value="`+code+`"`, "Orders that this browser has now")
	other.get("/events/gala/line").says("You are number 3")
	other.post("/events/gala/return", "code", "wrong", "instead", warned.shows(`name="instead" value="([^"]+)"`)).want(404).says("Give it up and bring the other")
	other.get("/events/gala/line").says("You are number 3")
	other.follow(other.post("/events/gala/return", "code", code, "instead", warned.shows(`name="instead" value="([^"]+)"`))).says("You are number 2")
	if s, err := h.office.Status("gala"); err != nil || s.Waiting != 1 || s.Active != 1 {
		t.Errorf("%d wait, want only the place that was brought", s.Waiting)
	}

	// One's own code gives nothing up.
	own := old.get("/events/gala/travel")
	code = own.shows(wordOf)
	old.follow(old.post("/events/gala/return", "code", code, "instead", own.shows(`name="place" value="([^"]+)"`))).says("You are number 2")
	if again := old.get("/events/gala/travel").shows(wordOf); again != code {
		t.Error("one's own code was used up by oneself")
	}
}

func TestCodePageTellsTheTurnAndTheWayBack(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"rules":{"maxActive":1,"pickupSeconds":10}`)
	first, place := h.waits("gala")
	b := h.browser()
	b.follow(b.post("/events/gala/line?return=/shop"))
	page := b.get("/events/gala/travel?return=/shop").want(200).silent("It is your turn")
	page.says(`href="/events/gala/line?return=%2fshop"`, `action="/events/gala/travel?return=%2fshop"`)
	if url := page.shows(`id="link" readonly value="([^"]+)"`); !strings.Contains(url, "/return?return=%2Fshop#") {
		t.Errorf("the link is %s", url)
	}
	fresh := h.browser()
	to := fresh.post("/events/gala/return?return=/shop", "code", page.shows(wordOf)).want(303).Header.Get("Location")
	if to != "/events/gala/line?return=%2Fshop" {
		t.Errorf("it leads to %s", to)
	}
	for _, bad := range []string{"/events/gala/travel?return=//evil.example", "/events/gala/return?return=https://evil.example"} {
		b.get(bad).want(400)
		b.post(bad, "code", "x", "place", "x").want(400)
	}
	tick := func(d time.Duration) {
		h.clock.pass(d)
		if _, err := h.office.Tick("gala", time.Second); err != nil {
			t.Fatal(err)
		}
	}
	h.do("DELETE", place, "", "X-Visitor", first).want(204)
	tick(2 * time.Second)
	tick(11 * time.Second)
	aside := b.get("/events/gala/travel").says("You were called while nobody was here", "return to the front")
	fresh = h.browser()
	fresh.follow(fresh.post("/events/gala/return", "code", aside.shows(wordOf))).says("Come back to the front")
	fresh.follow(fresh.post("/events/gala/line"))
	tick(2 * time.Second)
	b.get("/events/gala/travel").says("It is your turn.", `<a href="/events/gala/seats">Choose seats</a>`)
}

func TestReturnFormFromAnotherSiteIsRefused(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	mine, place := h.waits("gala")
	code, _ := h.link(mine, place)
	send := func(path, body string, headers ...string) *answer {
		return h.do("POST", path, body, append(headers, "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "cross-site")...)
	}
	if a := send("/events/gala/return", "code="+code).want(http.StatusForbidden); a.Header.Get("Set-Cookie") != "" {
		t.Error("another site makes a browser somebody else's")
	}
	send("/events/gala/travel", "place="+place[len(place)-36:], "Cookie", "foyer_visitor="+mine).want(http.StatusForbidden)
	if again, _ := h.link(mine, place); again != code {
		t.Error("another site takes a code back")
	}
}
