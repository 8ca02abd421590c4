package web

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/uuid"
)

// codes makes codes of an event.
func (h *house) codes(event, body string) (codes []string) {
	h.t.Helper()
	a := h.staff("POST", "/api/v1/admin/events/"+event+"/codes", body).want(201)
	for i := 0; a.field(fmt.Sprint("codes.", i)) != nil; i++ {
		codes = append(codes, a.text(fmt.Sprint("codes.", i)))
	}
	return codes
}

func TestShopMakesListsAndRevokesCodes(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"line":"always"`)
	const path = "/api/v1/admin/events/gala/codes"
	shop := []string{"Authorization", "Bearer " + h.key("shop")}
	h.do("POST", path, `{}`).refused(401, "no_key")
	for _, role := range []string{"boxoffice", "door"} {
		h.do("GET", path, "", "Authorization", "Bearer "+h.key(role)).refused(403, "wrong_role")
	}
	if a := h.do("GET", path, "", shop...).want(200); string(a.Body) != `{"items":[],"next":null}` {
		t.Errorf("got %s", a.Body)
	}
	a := h.do("POST", path, `{"count":2,"class":"member","name":"Newsletter","expiresAt":"2026-12-02T00:00:00Z"}`, shop...).want(201)
	if got := a.fields(); got != "batch class codes count createdAt expiresAt name people revokedAt used uses" || a.text("class") != "member" || a.field("batch") != 1.0 || a.field("uses") != 1.0 || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("got %s, %s", got, a.Body)
	}
	code := a.text("codes.1")
	h.do("POST", "/api/v1/events/gala/queue", `{"code":"`+strings.ToLower(code)+`"}`, "X-Visitor", h.visitor()).want(201)
	a = h.do("GET", path, "", shop...).want(200)
	if a.field("items.0.used") != 1.0 || a.field("items.0.people") != 1.0 || a.field("items.0.codes") != nil || strings.Contains(string(a.Body), code[:9]) || a.text("items.0.name") != "Newsletter" {
		t.Errorf("got %s", a.Body)
	}
	h.do("DELETE", path+"/1", "", shop...).want(204)
	h.do("POST", "/api/v1/events/gala/queue", `{"code":"`+a.text("codes.0")+code+`"}`, "X-Visitor", h.visitor()).refused(403, "bad_code")
	if a = h.do("GET", path, "", shop...).want(200); a.text("items.0.revokedAt") == "" {
		t.Errorf("got %s", a.Body)
	}
	for _, none := range []string{"2", "0", "-1", "x", "99999999999999999999"} {
		h.do("DELETE", path+"/"+none, "", shop...).refused(404, "no_such_batch")
	}
	for _, body := range []string{`{"count":1}`, `{"count":1,"class":"friend"}`, `{"class":"member"}`, `{"count":1,"class":"public","uses":0}`, `{"count":10001,"class":"public"}`} {
		h.do("POST", path, body, shop...).refused(422, "bad_batch")
	}
	h.do("POST", path, `{"count":1,"class":"public","codes":["x"]}`, shop...).refused(400, "unknown_field")
}

func TestOfFiftyWhoShowOneCodeOneGetsInAndNothingIsLogged(t *testing.T) {
	h := newHouse(t)
	h.event("club", `"access":"code"`, `"line":"always"`)
	code := h.codes("club", `{"count":1,"class":"public"}`)[0]
	const queue = "/api/v1/events/club/queue"
	h.do("POST", queue, "", "X-Visitor", h.visitor()).refused(403, "code_required")
	h.do("POST", queue, `{"code":" "}`, "X-Visitor", h.visitor()).refused(403, "code_required")
	h.do("POST", queue+"?code="+code, "", "X-Visitor", h.visitor()).refused(403, "code_required")
	var mu sync.Mutex
	got := map[int]int{}
	var all sync.WaitGroup
	for range 50 {
		visitor := h.visitor()
		all.Go(func() {
			a := h.do("POST", queue, `{"code":"`+code+`"}`, "X-Visitor", visitor)
			mu.Lock()
			defer mu.Unlock()
			got[a.Status]++
		})
	}
	all.Wait()
	if got[201] != 1 || got[409] != 49 {
		t.Errorf("answers by status: %v, want one 201 and 49 of 409", got)
	}
	h.do("POST", queue, `{"code":"`+code+`"}`, "X-Visitor", h.visitor()).refused(409, "code_used")
	log := strings.ReplaceAll(h.log.String(), "?code="+code, "") // that one was put where it does not belong
	if strings.Contains(log, code) {
		t.Error("a code is in the log")
	}
}

func TestCodesCannotBeGuessedQuickly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		defer func() { _ = h.store.Close() }()
		h.event("gala", `"line":"always"`)
		code := h.codes("gala", `{"count":1,"class":"member","uses":9}`)[0]
		const queue = "/api/v1/events/gala/queue"
		visitor, placed := h.visitor(), h.visitor()
		h.from("198.51.100.7", "POST", queue, `{"code":"`+code+`"}`, "X-Visitor", placed).want(201)
		for range wrongKeys {
			h.from("198.51.100.7", "POST", queue, `{"code":"0000-0000-0000-0000"}`, "X-Visitor", visitor).refused(403, "bad_code")
		}
		h.from("198.51.100.7", "POST", queue, `{"code":"0000-0000-0000-0000"}`, "X-Visitor", visitor).refused(429, "too_many_requests")
		h.from("198.51.100.7", "POST", queue, `{"code":"`+code+`"}`, "X-Visitor", visitor).refused(429, "too_many_requests")
		h.from("198.51.100.7", "POST", queue, "", "X-Visitor", placed).want(200) // without one nobody is kept out
		h.from("198.51.100.8", "POST", queue, `{"code":"`+code+`"}`, "X-Visitor", visitor).want(201)
		time.Sleep(time.Second) // in the bubble, at once
		h.from("198.51.100.7", "POST", queue, `{"code":"`+code+`"}`, "X-Visitor", h.visitor()).want(201)
	})
}

func TestStatusSaysWhenMembersWait(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"line":"always"`, `"opensAt":"2026-12-01T19:10:00Z"`, `"presaleAt":"2026-12-01T19:05:00Z"`)
	status := func() *answer {
		h.staff("POST", "/api/v1/admin/events/gala/announce", `{"message":""}`).want(200) // a change makes a new document
		return h.do("GET", "/api/v1/events/gala/status", "").want(200)
	}
	if a := h.do("GET", "/api/v1/events/gala", "").want(200); a.text("presaleAt") != "2026-12-01T19:05:00.000Z" || a.text("access") != "open" || a.field("rules.memberShare") != 7.0 {
		t.Errorf("got %s", a.Body)
	}
	if a := status(); a.field("classes") != nil || a.field("memberFrontier") != nil || a.field("presale") != nil {
		t.Errorf("without members: %s", a.Body)
	}
	code := h.codes("gala", `{"count":1,"class":"member"}`)[0]
	public, member := h.visitor(), h.visitor()
	h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", public).want(201)
	a := h.do("POST", "/api/v1/events/gala/queue", `{"code":"`+code+`"}`, "X-Visitor", member).want(201)
	if a.text("status") != "LOBBY" || a.text("class") != "member" || a.text("opensAt") != "2026-12-01T19:05:00.000Z" {
		t.Errorf("the member waits for %s", a.Body)
	}
	if a := status(); a.field("classes") != true || a.field("memberFrontier") != 2.0 || a.field("frontier") != 1.0 || a.field("presale") != nil {
		t.Errorf("with a member: %s", a.Body)
	}
	h.clock.pass(5 * time.Minute)
	if a := status(); a.field("presale") != true || a.text("phase") != "LOBBY" {
		t.Errorf("in the presale: %s", a.Body)
	}
	if a := h.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", member).want(200); a.text("status") != "WAITING" || a.field("rank") != 0.0 {
		t.Errorf("the member is told %s", a.Body)
	}
	h.clock.pass(5 * time.Minute)
	a = h.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", public).want(200)
	if a.text("status") != "WAITING" || a.text("estimateReason") != "members" {
		t.Errorf("the public is told %s", a.Body)
	}
	h.staff("PATCH", "/api/v1/admin/events/gala", `{"presaleAt":"2026-12-01T20:00:00Z"}`).refused(422, "bad_event")
}

func TestCodeIsTypedIntoTheWaitingPageWithoutScripts(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"line":"always"`)
	b := h.browser()
	if a := b.get("/events/gala").want(200); strings.Contains(string(a.Body), "I have a code") {
		t.Error("a code is asked for where there is none")
	}
	codes := h.codes("gala", `{"count":2,"class":"member"}`)
	h.clock.pass(20 * time.Second)
	b.get("/events/gala").want(200).says("<details id=\"codes\">", "I have a code", "Of ten turns, seven go to members and three to the public.")
	b.get("/events/gala/line").want(200).says("I have a code")
	b.post("/events/gala/line", "code", "nonsense").want(403).says("This is no code for this event", "Back to the waiting room")
	b.post("/events/gala/line?code=" + url.QueryEscape(codes[0])).want(303)
	if list := h.staff("GET", "/api/v1/admin/events/gala/codes", "").want(200); list.field("items.0.people") != 0.0 {
		t.Error("a code is taken from the address")
	}
	c := h.browser()
	c.post("/events/gala/line", "code", codes[0]).want(303)
	c.get("/events/gala/line").want(200).says("person is ahead of you", "You are number 2, in the members’ line")
	if s, err := h.office.Status("gala"); err != nil || s.Members != 1 || s.Waiting != 2 {
		t.Errorf("%d members of %d wait, %v", s.Members, s.Waiting, err)
	}
	h.staff("PATCH", "/api/v1/admin/events/gala", `{"access":"code","rules":{"memberShare":10}}`).want(200)
	h.browser().get("/events/gala").want(200).says("<details id=\"codes\" open>", "Members are let in first.")
}

func TestStaffMakeCodesByForms(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	b := h.clerk("admin")
	const path = "/admin/events/gala/codes"
	a := b.post(path, "do", "make", "name", "Friends <3", "class", "member", "count", "3", "uses", "2", "expiresAt", "2026-12-24T18:00").want(200)
	a.says("3 codes for", "shown this once", "Friends &lt;3: each is good for 2 people")
	if n := strings.Count(string(a.Body), "0"); n == 0 || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("got %s", a.Body)
	}
	b.get("/admin/events/gala").want(200).says("Friends &lt;3", "24 December 2026", "members")
	for _, bad := range [][]string{{"count", "x", "uses", "1", "class", "member"}, {"count", "0", "uses", "1", "class", "member"}, {"count", "1", "uses", "1"}, {"count", "1", "uses", "1", "class", "public", "expiresAt", "soon"}} {
		b.post(path, bad...).want(422)
	}
	b.post(path, "do", "revoke", "batch", "1").want(422).says("Tick the box first")
	b.post(path, "do", "revoke", "batch", "7", "sure", "yes").want(404)
	b.post(path, "do", "revoke", "batch", "1", "sure", "yes").want(303)
	b.get("/admin/events/gala?done=revoke").want(200).says("taken back")
	list := h.staff("GET", "/api/v1/admin/audit", "").want(200)
	if list.text("items.0.act") != "codes.revoke" || list.text("items.1.act") != "codes.create" {
		t.Errorf("the audit says %s", list.Body)
	}
}

func TestGainIsOneSentence(t *testing.T) {
	for share, want := range map[int]string{
		0: "Members are let in when nobody else waits.", 1: "Of ten turns, one goes to members and nine to the public.",
		9: "Of ten turns, nine go to members and one to the public.", 10: "Members are let in first.",
	} {
		if got := gain(share); got != want {
			t.Errorf("share %d: %s", share, got)
		}
	}
}

func TestBrowserJoinsWithACodeFromTheLink(t *testing.T) {
	ctx := chrome(t)
	g := newStage(t)
	g.event("gala", `"access":"code"`, `"rules":{"maxActive":1,"pickupSeconds":3600,"turnSeconds":3600}`)
	codes := g.codes("gala", `{"count":3,"class":"member"}`)
	public := g.codes("gala", `{"count":9,"class":"public"}`)
	for _, code := range public[:4] {
		g.do("POST", "/api/v1/events/gala/queue", `{"code":"`+code+`"}`, "X-Visitor", g.visitor()).want(201)
	}
	run(ctx, t,
		chromedp.Navigate(g.url+"/events/gala#code="+codes[0]), shown("join"),
		see(`document.getElementById('code').value == '`+codes[0]+`' && location.hash == '' && document.getElementById('codes').open`),
		js(`document.getElementById('code').value = 'wrong'`), chromedp.Click("#join button"),
		see(`/no code for this event/.test(document.getElementById('why').textContent) && document.getElementById('wait').hidden`),
		js(`document.getElementById('code').value = '`+strings.ToLower(codes[0])+`'`), chromedp.Click("#join button"), shown("wait"),
		// Number 5 of the line, and only one of the public is before him: the number alone would tell another place.
		see(`document.getElementById('no').textContent == 'You are number 5, in the members’ line' && document.getElementById('rank').textContent == '1'`),
		see(`document.getElementById('code').value == ''`),
	)
	for _, code := range codes[1:] { // behind him
		g.do("POST", "/api/v1/events/gala/queue", `{"code":"`+code+`"}`, "X-Visitor", g.visitor()).want(201)
	}
	g.clock.pass(2 * time.Second)
	run(ctx, t, see("performance.now() > 4000"), see(`document.getElementById('rank').textContent == '1'`))
}

// With members in the line the number alone tells nothing: the page asks for its own place, without a stream too.
func TestBrowserTellsThePublicOfMembersWhoComeLater(t *testing.T) {
	ctx := chrome(t)
	g := newStage(t)
	g.event("gala", `"line":"always"`, `"opensAt":"2026-12-01T18:00:00Z"`, `"rules":{"maxActive":1}`)
	code := g.codes("gala", `{"count":1,"class":"member","uses":1000}`)[0]
	join := func(n int, code string) {
		for range n {
			if _, _, err := g.office.JoinWith("gala", uuid.New(), code); err != nil {
				t.Fatal(err)
			}
		}
	}
	join(120, "")
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), shown("join"), js(`Object.defineProperty(navigator, 'locks', { value: undefined })`),
		chromedp.Click("#join button"), shown("wait"), see(`document.getElementById('rank').textContent == '120'`))
	join(400, code)
	g.clock.pass(2 * time.Second)
	run(ctx, t, see(`document.getElementById('rank').textContent == '400' && /Members wait too/.test(document.getElementById('eta').textContent)`))
}

func TestCodeAndProofGoTogether(t *testing.T) {
	h := newHouse(t)
	h.event("hard", `"challenge":"altcha"`, `"challengeCost":2000`, `"line":"always"`, `"access":"code"`)
	codes := h.codes("hard", `{"count":2,"class":"member"}`)
	ann := h.visitor()
	proof := solve(t, h.do("POST", hardQueue, `{"code":"`+codes[0]+`"}`, "X-Visitor", ann).refused(403, "challenge_required"))
	with := func(code string) string { return strings.TrimSuffix(proof, "}") + `,"code":"` + code + `"}` }
	h.do("POST", hardQueue, proof, "X-Visitor", ann).refused(403, "code_required")
	h.do("POST", hardQueue, with("x"), "X-Visitor", ann).refused(403, "bad_code")
	h.do("POST", hardQueue, with(codes[0]), "X-Visitor", ann).want(201) // what was refused has used up neither
	ben := h.visitor()
	h.do("POST", hardQueue, with(codes[1]), "X-Visitor", ben).refused(403, "challenge_required")
	if list := h.staff("GET", "/api/v1/admin/events/hard/codes", "").want(200); list.field("items.0.people") != 1.0 {
		t.Errorf("got %s", list.Body)
	}
}

func TestWaitingPageHasNoFieldForCodesThatAreOver(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	h.codes("gala", `{"count":1,"class":"member","expiresAt":"2026-12-01T20:00:00Z"}`)
	h.browser().get("/events/gala").says("I have a code", "Of ten turns, seven go to members")
	h.clock.pass(2 * time.Hour)
	h.browser().get("/events/gala").silent("I have a code", "go to members")
}
