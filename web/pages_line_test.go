package web

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"foyer/sale"
)

// A line that does not move promises nobody a turn.
func TestStandingLinePromisesNothing(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"rules":{"maxActive":1,"admitPerSecond":1}`)
	h.ready("gala")
	b := h.browser()
	line := func() *answer { t.Helper(); return b.get("/events/gala/line").want(200) }
	b.follow(b.post("/events/gala/line")).says("You are next", "Your turn in")
	h.staff("POST", "/api/v1/admin/events/gala/pause", `{"message":"Back at nine"}`).want(200)
	line().says("The line is paused; your place is kept.", "Back at nine").silent("Your turn in")
	h.staff("POST", "/api/v1/admin/events/gala/close", `{"message":"Good night"}`).want(200)
	line().says("The sale is closed", "Your place is kept in case it opens again.", "You are number 2", "Good night", "Leave the line").
		silent("You are next", "Your turn in", "ahead")
	b.get("/events/gala/seats").want(403).says("Your place is kept in case it opens again.")
}

func TestSoldOutLineHasNoEstimate(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"rules":{"maxActive":1,"admitPerSecond":1,"maxSeatsPerOrder":6}`)
	_, order := h.held("gala", `["A-1","A-2","A-3","A-4","A-5","A-6"]`)
	b := h.browser()
	b.follow(b.post("/events/gala/line")).says("Your turn in")
	if _, err := h.office.Receive(sale.Fact{Provider: "demo", EventID: "e", Kind: sale.FactSucceeded, PaymentID: "dp", Order: order, Amount: 6 * 4250, Currency: "EUR"}); err != nil {
		t.Fatal(err)
	}
	b.get("/events/gala/line").says("Sold out. Seats that come back go to the line.").silent("Your turn in")
}

// A place without a number yet is told so, and what becomes of the sale meanwhile.
func TestLobbyOfADrawSaysWhatComesNext(t *testing.T) {
	h := newHouse(t)
	opens := h.clock.now().Add(time.Hour).UTC().Format(time.RFC3339)
	h.event("lots", `"order":"draw"`, `"opensAt":"`+opens+`"`)
	b := h.browser()
	line := func() *answer { t.Helper(); return b.get("/events/lots/line").want(200) }
	staff := func(act, body string) { h.staff("POST", "/api/v1/admin/events/lots/"+act, body).want(200) }
	b.follow(b.post("/events/lots/line")).says("You are in the lobby", "drawn by lot among all who are here: Tue")
	staff("soldout", `{"override":"yes"}`)
	line().says("Sold out. No seats are expected back.", "Your place is kept in case some do come back.").silent("sale opens")
	staff("soldout", `{"override":"auto"}`)
	staff("close", "")
	line().says("The sale is closed").silent("You are number")
	staff("open", "")
	line().says("The order is being drawn.").silent("sale opens")
	if _, err := h.office.Tick("lots", time.Second); err != nil {
		t.Fatal(err)
	}
	line().says("You are number 1")
}

func TestLineLeadsToHeldSeats(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	b := h.browser()
	b.turn("gala")
	b.get("/events/gala/line").silent("the seats you hold go back too")
	order := b.post("/events/gala/hold", "seat", "A-1").want(303).Header.Get("Location")
	b.get("/events/gala/line").says("Your seats are held", `href="`+order+`"`, "the seats you hold go back too").silent("It is your turn", "Choose seats")
}

func TestBrowserStandsInALineThatIsClosed(t *testing.T) {
	ctx := chrome(t)
	g := newStage(t)
	g.event("gala", `"rules":{"maxActive":1,"pickupSeconds":3600,"turnSeconds":3600}`)
	first, _ := g.ready("gala")
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), chromedp.Click("#join button"), shown("wait"),
		see(`/Your turn in/.test(document.getElementById('eta').textContent) && /You are next/.test(document.getElementById('live').textContent)`))
	g.staff("POST", "/api/v1/admin/events/gala/pause", `{"message":"Back at nine"}`).want(200)
	run(ctx, t, see(`document.getElementById('eta').textContent == 'The line is paused; your place is kept.' && document.getElementById('word').textContent == 'Back at nine'`))
	g.staff("POST", "/api/v1/admin/events/gala/close", `{"message":"Good night"}`).want(200)
	run(ctx, t, see(`document.getElementById('ahead').textContent == 'The sale is closed. Your place is kept in case it opens again.'`),
		see(`['rank', 'eta', 'bar'].every(id => document.getElementById(id).hidden) && document.title == 'Gala' && !/next|turn/.test(document.getElementById('wait').innerText)`))

	g.staff("POST", "/api/v1/admin/events/gala/open", "").want(200)
	place := g.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", first).text("queueId")
	g.do("DELETE", "/api/v1/events/gala/queue/"+place, "", "X-Visitor", first).want(204)
	g.tick("gala", 2*time.Second)
	run(ctx, t, shown("turn"), see(`!document.getElementById('live').textContent && document.getElementById('head').textContent == 'It is your turn'`),
		chromedp.Click("#go"), see(`location.pathname == '/events/gala/seats' && !document.getElementById('map-part').hidden`), chromedp.Click("section form.row button"), see(`/^Your seats are held/.test(document.title) && document.readyState == 'complete'`),
		chromedp.Navigate(g.url+"/events/gala"), shown("turn"),
		see(`document.getElementById('head').textContent == 'Your seats are held' && document.getElementById('go').textContent == 'To your order' && document.getElementById('left').hidden`),
		chromedp.Click("#leave"), see(`document.getElementById('ask').textContent == 'Give up your place and the seats you hold?'`),
		chromedp.Click("#yes"), shown("join"), see(`!document.getElementById('now').textContent && !document.getElementById('live').textContent`))
}

// Whoever was called while away reads when that was, until when the place is kept, and how to come back.
func TestLineTellsWhoWasCalledWhileAway(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"timeZone":"Europe/Berlin"`, `"rules":{"maxActive":1,"pickupSeconds":60,"returnSeconds":600}`)
	first, _ := h.ready("gala")
	b := h.browser()
	b.follow(b.post("/events/gala/line")).says("You are next")
	place := h.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", first).text("queueId")
	h.do("DELETE", "/api/v1/events/gala/queue/"+place, "", "X-Visitor", first).want(204)
	tick := func(d time.Duration) {
		h.clock.pass(d)
		if _, err := h.office.Tick("gala", time.Second); err != nil {
			t.Fatal(err)
		}
	}
	tick(15 * time.Minute) // called at 20:15 in Berlin
	tick(2 * time.Minute)
	b.get("/events/gala/line").says("You were called at 20:15 (Europe/Berlin time) and were not here.", "Your place is kept until 20:26 (Europe/Berlin time).", "Come back to the front")
	own := h.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", b.jar["foyer_visitor"]).want(200)
	if got := fmt.Sprint(own.field("aside")); own.text("status") != "NOT_ENTERED" || got != "map[calledAt:2026-12-01T19:15:00.000Z keptUntil:2026-12-01T19:26:00.000Z]" {
		t.Errorf("got %s", own.Body)
	}
	back := h.browser()
	back.jar = b.jar
	back.follow(back.post("/events/gala/line")).silent("were not here").says("You are next", "Leave the line")
}

func TestLineSaysWhyItIsSlowerAndWhatMayBeHopedFor(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"line":"always"`, `"rules":{"maxActive":1}`)
	b := h.browser()
	for range 5 {
		v := h.visitor()
		h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", v)
	}
	b.follow(b.post("/events/gala/line")).says("6 seats are left.").silent("chance", "lowered")
	h.staff("PATCH", "/api/v1/admin/events/gala/pace", `{"admitPerSecond":5}`).want(200)
	b.get("/events/gala/line").says("Your turn in", "The pace was lowered from 50 to 5 people a second.")
	h.staff("PATCH", "/api/v1/admin/events/gala/pace", `{"admitPerSecond":50,"maxActive":1}`).want(200)
	b.get("/events/gala/line").silent("lowered")
	status := h.do("GET", "/api/v1/events/gala/status", "").want(200)
	if status.field("lowered") != nil {
		t.Errorf("the pace is back: %s", status.Body)
	}
}

func TestLineTellsThePublicThatMembersHaveAShare(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"line":"always"`)
	b := h.browser()
	b.follow(b.post("/events/gala/line")).silent("Members wait too")
	code := h.codes("gala", `{"count":1,"class":"member"}`)[0]
	h.do("POST", "/api/v1/events/gala/queue", `{"code":"`+code+`"}`, "X-Visitor", h.visitor()).want(201)
	b.get("/events/gala/line").says("Your turn in", "Members wait too and have a share of the turns.")
}

func TestLineTellsMembersThatThePublicHasAShare(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"line":"always"`)
	code := h.codes("gala", `{"count":1,"class":"member"}`)[0]
	b := h.browser()
	b.follow(b.post("/events/gala/line", "code", code)).silent("Others wait too")
	h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", h.visitor()).want(201)
	b.get("/events/gala/line").says("Your turn in", "Others wait too and have a share of the turns.")
}

func TestLineSaysThatAPresaleIsPaused(t *testing.T) {
	h := newHouse(t)
	in := func(d time.Duration) string { return h.clock.now().Add(d).UTC().Format(time.RFC3339) }
	h.event("gala", `"line":"always"`, `"presaleAt":"`+in(-time.Minute)+`"`, `"opensAt":"`+in(time.Hour)+`"`)
	code := h.codes("gala", `{"count":1,"class":"member"}`)[0]
	b := h.browser()
	b.follow(b.post("/events/gala/line", "code", code)).says("Your turn in")
	h.staff("POST", "/api/v1/admin/events/gala/pause", "").want(200)
	b.get("/events/gala/line").says("The line is paused; your place is kept.").silent("Your turn in")
}

func TestLineSaysWhoCameBackToTheFront(t *testing.T) {
	for reason, want := range map[string]string{
		sale.SlowerReturned: "People who were called before came back to the front.", sale.SlowerDraw: "The draw decides who comes before you.", "": "",
	} {
		if got := slowerWords(reason, nil); got != want {
			t.Errorf("%q: got %q, want %q", reason, got, want)
		}
	}
}

func TestLineOfADrawNamesNoNumberBeforeIt(t *testing.T) {
	h := newHouse(t)
	h.event("lots", `"order":"draw"`, `"opensAt":"`+h.clock.now().Add(time.Hour).UTC().Format(time.RFC3339)+`"`)
	b := h.browser()
	b.follow(b.post("/events/lots/line")).says("the order is drawn by lot", "/events/lots/draw").silent("starts moving")
	h.staff("POST", "/api/v1/admin/events/lots/close", `{"message":""}`).want(200)
	b.get("/events/lots/line").says("Your place is kept in case it opens again.").silent("You are number")
}
