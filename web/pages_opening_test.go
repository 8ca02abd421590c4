package web

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// newEvent is the form of a new event with other values for some fields, in pairs.
func newEvent(id string, other ...string) []string {
	form := []string{"id", id, "name", "Gala", "timeZone", "Europe/Berlin", "opensAt", "2026-12-24T10:00", "presaleAt", "", "access", "open", "memberShare", "7",
		"currency", "EUR", "buyer", "none", "admitPerSecond", "5", "maxActive", "9", "maxSeats", "3", "prices", "Stalls = 42.50"}
	for i := 0; i+1 < len(other); i += 2 {
		if at := slices.Index(form, other[i]); at >= 0 {
			form[at+1] = other[i+1]
			continue
		}
		form = append(form, other[i], other[i+1])
	}
	return form
}

// about checks that the page tells what is wrong with one field beside it, and nowhere else.
func (a *answer) about(field, words string) {
	a.t.Helper()
	a.says(`name="`+field+`" aria-invalid="true" aria-describedby="wrong" autofocus`, `<p class="bad" id="wrong" role="alert">`+words).silent(`class="note bad"`)
	if n := strings.Count(string(a.Body), words); n != 1 {
		a.t.Errorf("%s: %q is there %d times", a.what, words, n)
	}
}

func TestNewEventWithPresaleInvitationAndShare(t *testing.T) {
	h := newHouse(t)
	b := h.clerk("admin")
	b.get("/admin").want(200).says(`name="presaleAt"`, `name="access"`, `name="memberShare" type="number" min="0" max="10" required value="7"`)
	b.follow(b.post("/admin/events", newEvent("gala", "presaleAt", "2026-12-23T10:00", "access", "code", "memberShare", "3")...)).says(
		"Of ten turns, three go to members", "Members are let in from Wed 23 December 2026, 10:00 (Europe/Berlin time).", "this event is by invitation")
	a := h.do("GET", "/api/v1/events/gala", "").want(200)
	if a.text("presaleAt") != "2026-12-23T09:00:00.000Z" || a.text("access") != "code" || a.field("rules.memberShare") != 3.0 {
		t.Errorf("got %s", a.Body)
	}
	b.post("/admin/events", newEvent("gala")...).want(409).about("id", "There is an event with this id already.")
	for _, c := range []struct{ field, value, words string }{
		{"presaleAt", "2026-12-24T10:00", "Presale for members must be before Sale opens."},
		{"presaleAt", "soon", "A time must be written as"},
		{"opensAt", "2027-03-28T02:30", "The time 2027-03-28T02:30 does not exist in Europe/Berlin"},
		{"memberShare", "11", "Members’ share of ten turns must be 0 to 10."},
		{"memberShare", "many", "Members’ share of ten turns must be a whole number from 0 to 10."},
		{"access", "members", "Who may join must be &#34;open&#34; or &#34;code&#34;."},
		{"name", "", "Name is missing."},
		{"timeZone", "Mars/Base", "The time zone must be"},
		{"startsAt", "soon", "A time must be written as"},
		{"currency", "EU", "Currency must be"},
		{"admitPerSecond", "0", "People let in per second must be 1 to 5000."},
		{"maxActive", "x", "People choosing at one time must be a whole number."},
	} {
		a := b.post("/admin/events", newEvent("more", c.field, c.value)...)
		a.want(422).about(c.field, c.words)
		a.says(`name="id" required pattern="[a-z0-9\-]{1,64}" maxlength="64" value="more"`)
	}
	b.post("/admin/events", newEvent("more", "maxSeats", "0")...).want(422).says(`name="maxSeats" aria-invalid`, "Seats per order must be 1 to 50.")
	b.post("/admin/events", newEvent("more", "prices", "Stalls 42")...).want(422).says(`name="prices" aria-invalid`, "must look like")
	b.post("/admin/events", newEvent("more", "presaleAt", "2026-12-23T10:00", "order", "draw")...).want(422).about("presaleAt", "A draw has no presale")
	b.post("/admin/events", newEvent("more", "presaleAt", "2026-12-25T10:00", "memberShare", "11")...).want(422).says(`class="note bad"`, "Presale for members must be before Sale opens. Members’ share of ten turns must be 0 to 10.")
}

func TestStaffChangeOpeningPresaleInvitationAndShare(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"timeZone":"Europe/Berlin"`, `"opensAt":"2026-12-24T09:00:00Z"`)
	b := h.clerk("admin")
	const path = "/admin/events/gala/opening"
	b.get("/admin/events/gala").says(`name="opensAt" type="datetime-local" value="2026-12-24T10:00"`, `name="opensWas" value="2026-12-24T10:00"`, "Times are Europe/Berlin time.")
	form := func(other ...string) []string {
		return append(other, "opensWas", "2026-12-24T10:00", "presaleWas", "", "access", "code", "memberShare", "10")
	}
	b.follow(b.post(path, form("opensAt", "2026-12-24T11:30", "presaleAt", "2026-12-23T10:00")...)).says("The opening, and who may join, were set.",
		"Sale opens Thu 24 December 2026, 11:30", "Members are let in first.", "this event is by invitation", `<option value="code" selected>`, `name="memberShare" type="number" min="0" max="10" required value="10"`)
	a := h.do("GET", "/api/v1/events/gala", "").want(200)
	if a.text("opensAt") != "2026-12-24T10:30:00.000Z" || a.text("presaleAt") != "2026-12-23T09:00:00.000Z" {
		t.Errorf("got %s", a.Body)
	}
	if audit := h.staff("GET", "/api/v1/admin/audit", "").want(200); !strings.Contains(audit.text("items.0.detail"), "rules.memberShare 7 -> 10") {
		t.Errorf("the audit says %s", audit.Body)
	}
	wrong := b.post(path, form("opensAt", "2026-12-24T11:30", "presaleAt", "2026-12-24T12:00")...)
	wrong.want(422).about("presaleAt", "Presale for members must be before Sale opens.")
	wrong.says(`value="2026-12-24T12:00"`)
	b.post(path, "opensAt", "", "presaleAt", "", "access", "open", "memberShare", "").want(422).about("memberShare", "Members’ share of ten turns must be a whole number")
	b.post(path, "opensAt", "", "opensWas", "2026-12-24T11:30", "presaleAt", "2026-12-23T10:00", "access", "open", "memberShare", "1").want(422).about("presaleAt", "Presale for members must be")
	b.follow(b.post(path, "memberShare", "10")).says("this event is by invitation", "Members are let in first.", "Sale opens Thu 24 December 2026, 11:30") // what is not in a form stays
	b.post("/admin/events/none/opening", form()...).want(404)
	h.clerk("boxoffice").post(path, form()...).want(403)

	// Once people have places the opening that has passed cannot be moved.
	b.follow(b.post(path, "opensAt", "", "opensWas", "2026-12-24T11:30", "presaleAt", "", "presaleWas", "2026-12-23T10:00", "access", "open", "memberShare", "7"))
	h.ready("gala")
	a = b.post(path, "opensAt", "2027-01-01T10:00", "access", "open", "memberShare", "7").want(409)
	a.says(`name="opensAt" aria-invalid`, "Pause it instead of opening it later.")
}

// What nobody has touched stays: the second of two hours, milliseconds, and what others have moved since the page was loaded.
func TestFormOfTheOpeningLeavesUntouchedTimesAlone(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"timeZone":"Europe/Berlin"`, `"opensAt":"2027-10-31T01:30:00Z"`) // the second 02:30
	b := h.clerk("admin")
	b.get("/admin/events/gala").says(`name="opensWas" value="2027-10-31T02:30"`)
	b.follow(b.post("/admin/events/gala/opening", "opensAt", "2027-10-31T02:30", "opensWas", "2027-10-31T02:30", "access", "open", "memberShare", "2"))
	if a := h.do("GET", "/api/v1/events/gala", "").want(200); a.text("opensAt") != "2027-10-31T01:30:00.000Z" || a.field("rules.memberShare") != 2.0 {
		t.Errorf("got %s", a.Body)
	}
	h.clock.pass(1234 * time.Millisecond)
	b.follow(b.post("/admin/events/gala/say", "do", "open")).says(`name="opensWas" value="2026-12-01T20:00:01"`)
	b.follow(b.post("/admin/events/gala/opening", "opensAt", "2027-10-31T02:30", "opensWas", "2027-10-31T02:30", "access", "open", "memberShare", "3"))
	if a := h.do("GET", "/api/v1/events/gala", "").want(200); a.text("phase") != "OPEN" || a.text("opensAt") != "2026-12-01T19:00:01.234Z" {
		t.Errorf("an old page has moved the opening: %s", a.Body)
	}
}

func TestBrowserLeadsToTheFieldThatIsWrong(t *testing.T) {
	axe := axeCore(t)
	ctx := chrome(t)
	g := newStage(t)
	g.event("gala", `"timeZone":"Europe/Berlin"`, `"opensAt":"2026-12-24T09:00:00Z"`)
	run(ctx, t, on(360, 740), chromedp.Navigate(g.url+"/admin/events/gala"), chromedp.SendKeys("input[name=key]", adminKey), chromedp.Click("section button"),
		see(`document.title == 'Gala – box office'`), js(`document.querySelector('[name=presaleAt]').value = '2026-12-25T10:00'`),
		js(`document.querySelector('form[action$=opening] button').click()`),
		see(`location.pathname == '/admin/events/gala/opening' && document.activeElement.name == 'presaleAt' && document.activeElement.getAttribute('aria-describedby') == 'wrong'`),
		see(`document.getElementById('wrong').textContent == 'Presale for members must be before Sale opens.' && document.activeElement.value == '2026-12-25T10:00'`), js(string(axe)))
	if broken := askLater[[]string](ctx, t, axeRules); len(broken) > 0 {
		t.Error(strings.Join(broken, "\n"))
	}
	run(ctx, t, js(`document.querySelector('[name=presaleAt]').value = '2026-12-23T10:00'`), js(`document.querySelector('form[action$=opening] button').click()`),
		see(`/Members are let in from Wed 23 Dec/.test(document.body.textContent) && document.activeElement.className == 'note good'`))
}
