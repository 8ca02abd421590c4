package web

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

const soldOutPath = "/api/v1/admin/events/gala/soldout"

func TestStaffDecideThatItIsSoldOut(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"rules":{"maxActive":1}`)
	h.ready("gala")
	b := h.browser()
	b.follow(b.post("/events/gala/line")).says("You are next")
	a := h.staff("POST", soldOutPath, `{"override":"yes","message":"Sorry"}`).want(200)
	if a.text("phase") != "SOLD_OUT" {
		t.Errorf("got %s", a.Body)
	}
	h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", h.visitor()).refused(410, "sold_out")
	h.server.statuses = sheets{} // not the sheet of a moment ago
	s := h.do("GET", "/api/v1/events/gala/status", "").want(200)
	if s.field("soldOut") != true || s.field("seatsMayReturn") != nil || s.text("soldOutOverride") != "yes" || s.field("seatsLeft") != 6.0 {
		t.Errorf("got %s", s.Body)
	}
	b.get("/events/gala/line").says("Sold out. No seats are expected back.", "Your place is kept", `<p class="note">Sorry</p>`).silent(`class="note" role="status"`, "You are next", "Your turn in")
	h.browser().get("/events/gala").says("Sold out. No seats are expected back.", "<button hidden>")

	h.staff("POST", soldOutPath, `{"override":"auto"}`).want(200)
	b.get("/events/gala/line").says("You are next", "Sorry")
	h.staff("POST", soldOutPath, `{"override":"perhaps"}`).refused(422, "bad_event")
	h.staff("POST", soldOutPath, `{}`).refused(422, "bad_event")
	h.staff("POST", soldOutPath, `{"override":"no","more":1}`).refused(400, "unknown_field")
	h.do("POST", soldOutPath, `{"override":"yes"}`).refused(401, "no_key")
	h.do("POST", soldOutPath, `{"override":"yes"}`, "Authorization", "Bearer "+h.key("boxoffice")).refused(403, "wrong_role")
}

// While no seat is left nobody is called, so no wait may be promised, whatever
// staff say about it.
func TestNoWaitIsPromisedWhileNoSeatIsLeft(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"rules":{"maxActive":1}`)
	h.ready("gala")
	ann := h.visitor()
	place := func() *answer { return h.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", ann).want(200) }
	h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", ann).want(201)
	known := func() {
		t.Helper()
		if p := place(); p.field("estimatedWaitSeconds") == nil || p.field("estimatedWaitRange") == nil || p.field("estimateReason") != nil {
			t.Errorf("with seats the place is %s", p.Body)
		}
	}
	known()
	h.staff("POST", "/api/v1/admin/events/gala/sell", `{"seats":["A-1","A-2","A-3","A-4","A-5","A-6"],"method":"cash"}`, "Idempotency-Key", "k").want(201)
	for _, word := range []string{"no", "auto", "yes"} {
		h.staff("POST", soldOutPath, `{"override":"`+word+`"}`).want(200)
		p := place()
		if body := string(p.Body); !strings.Contains(body, `"estimatedWaitSeconds":null,"estimatedWaitRange":null,`) || p.text("estimateReason") != "no_seats" {
			t.Errorf("%s: the place is %s", word, body)
		}
		h.server.statuses = sheets{}
		if s := h.do("GET", "/api/v1/events/gala/status", "").want(200); s.text("estimateReason") != "no_seats" {
			t.Errorf("%s: the status is %s", word, s.Body)
		}
	}
}

func TestNoWaitIsPromisedOnceTheSaleIsClosed(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"rules":{"maxActive":1}`)
	h.ready("gala")
	ann := h.visitor()
	h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", ann).want(201)
	h.staff("POST", "/api/v1/admin/events/gala/close", "").want(200)
	p := h.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", ann).want(200)
	if body := string(p.Body); !strings.Contains(body, `"estimatedWaitSeconds":null,"estimatedWaitRange":null,`) || p.text("estimateReason") != "closed" {
		t.Errorf("the place is %s", body)
	}
	if s := h.do("GET", "/api/v1/events/gala/status", "").want(200); s.text("estimateReason") != "closed" {
		t.Errorf("the status is %s", s.Body)
	}
}

func TestBrowserWithoutAStatusPromisesNoWaitWhileNoSeatIsLeft(t *testing.T) {
	ctx := chrome(t)
	g := newLane(t)
	g.event("gala", `"rules":{"maxActive":1}`)
	g.guests(1)
	g.staff("POST", "/api/v1/admin/events/gala/sell", `{"seats":["A-1","A-2","A-3","A-4","A-5","A-6"],"method":"cash"}`, "Idempotency-Key", "k").want(201)
	g.staff("POST", soldOutPath, `{"override":"no"}`).want(200)
	g.deaf.Store(true)
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), chromedp.Click("#join button"), shown("wait"), reads("no", "You are number 2"), see("document.getElementById('eta').hidden"))
}

func TestStaffDecideByFormWithABoxToTick(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	b := h.browser()
	b.post("/admin/login", "key", adminKey)
	b.post("/admin/events/gala/soldout", "override", "yes").want(422).says("Tick the box first")
	b.follow(b.post("/admin/events/gala/soldout", "override", "yes", "message", "Sorry", "sure", "yes")).says("What the public reads about seats left was changed.", "Staff have said that it is sold out")
	b.get("/admin").says("event.soldout", "yes Sorry")
	b.follow(b.post("/admin/events/gala/soldout", "override", "no", "sure", "yes")).says("Staff have said that it is not sold out")
	b.follow(b.post("/admin/events/gala/soldout", "override", "auto", "sure", "yes")).silent("Staff have said")
	b.post("/admin/events/gala/soldout", "override", "x", "sure", "yes").want(422)
}

func TestBrowserTellsThoseWhoWaitThatItIsSoldOut(t *testing.T) {
	ctx := chrome(t)
	g := newStage(t)
	g.event("gala", `"rules":{"maxActive":1,"pickupSeconds":3600,"turnSeconds":3600}`)
	g.ready("gala")
	text := func(id, words string) step {
		return see(`document.getElementById('` + id + `').textContent == '` + words + `' && !document.getElementById('` + id + `').hidden`)
	}
	decide := func(word string) { g.staff("POST", soldOutPath, `{"override":"`+word+`"}`).want(200) }
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), chromedp.Click("#join button"), shown("wait"), see(`document.getElementById('gone').hidden`))
	decide("yes")
	run(ctx, t, text("gone", "Sold out. No seats are expected back."), see(`document.getElementById('rank').hidden && document.getElementById('eta').hidden`))
	// One box alone, with the words of staff.
	g.staff("POST", soldOutPath, `{"override":"yes","message":"Sold out, sorry."}`).want(200)
	run(ctx, t, text("word", "Sold out, sorry."), see(`[...document.querySelectorAll('.note')].filter(e => e.offsetHeight).length == 1`))
	g.staff("POST", soldOutPath, `{"override":"auto","message":""}`).want(200)
	run(ctx, t, see(`document.getElementById('gone').hidden && /Your turn in/.test(document.getElementById('eta').textContent)`))
	if s := g.do("GET", "/api/v1/events/gala/status", "").want(200); strings.Contains(string(s.Body), "seatsMayReturn") {
		t.Errorf("got %s", s.Body)
	}
}

// Who joins at the moment when it is sold out reads so at once, and not twice when the page has learned it.
func TestBrowserSaysOnceThatItIsSoldOut(t *testing.T) {
	ctx := chrome(t)
	g := newStage(t)
	g.event("gala", `"line":"always"`)
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), shown("join"), see(`document.getElementById('open').textContent == 'The sale is open.'`))
	g.staff("POST", soldOutPath, `{"override":"yes"}`).want(200)
	run(ctx, t, js(`const seen = []; new MutationObserver(() => seen.push(document.getElementById('why').textContent)).observe(document.getElementById('why'), { childList: true }); window.seen = seen`),
		chromedp.Click("#join button"), see(`window.seen.includes('This event is sold out.')`),
		see(`document.getElementById('open').textContent == 'Sold out. No seats are expected back.' && document.getElementById('why').hidden`))
}
