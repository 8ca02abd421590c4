package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"foyer/sale"
)

// clerk is a browser in which a key of a role has logged in.
func (h *house) clerk(role string) *browser {
	h.t.Helper()
	b := h.browser()
	key := adminKey
	if role != "admin" {
		key = h.key(role)
	}
	b.post("/admin/login", "key", key).want(303)
	return b
}

var onceField = regexp.MustCompile(`name="once" value="([0-9a-f-]{36})"`)

// once is the one-time name in a page's form.
func (a *answer) once() string {
	a.t.Helper()
	m := onceField.FindSubmatch(a.Body)
	if m == nil {
		a.t.Fatalf("%s: no one-time name:\n%s", a.what, a.Body)
	}
	return string(m[1])
}

// leads checks for a 303 and gives where it leads.
func (a *answer) leads() string {
	a.t.Helper()
	return a.want(http.StatusSeeOther).Header.Get("Location")
}

// A page or a form of staff, and the roles beside admin that may use it.
var deskRoutes = []struct{ method, path, role string }{
	{"GET", "/admin/events/gala", ""}, {"POST", "/admin/events", ""}, {"POST", "/admin/outbox", ""}, {"POST", "/admin/outbox/x", ""},
	{"POST", "/admin/attention/payment-1", ""}, {"POST", "/admin/events/gala/say", ""}, {"POST", "/admin/events/gala/pace", ""},
	{"POST", "/admin/events/gala/prices", ""}, {"POST", "/admin/events/gala/codes", ""}, {"GET", "/admin/events/gala/report", ""}, {"GET", "/admin/events/gala/forget", ""},
	{"POST", "/admin/events/gala/forget", ""}, {"GET", "/admin/events/gala/house", "boxoffice"}, {"POST", "/admin/events/gala/house", "boxoffice"},
	{"GET", "/admin/events/gala/door", "boxoffice"}, {"POST", "/admin/events/gala/door", "boxoffice"}, {"GET", "/admin/events/gala/door/ORDER", "boxoffice"},
	{"GET", "/admin/events/gala/shift", "boxoffice"}, {"GET", "/admin/orders", "boxoffice"}, {"GET", "/admin/orders/ORDER", "boxoffice"},
	{"GET", "/admin/orders/ORDER/refund?all=1", "boxoffice"}, {"POST", "/admin/orders/ORDER/refund", "boxoffice"}, {"POST", "/admin/orders/ORDER/resend", "boxoffice"},
	{"POST", "/admin/orders/ORDER/complete", "boxoffice"}, {"GET", "/admin/orders/ORDER/tickets", "boxoffice"},
	{"GET", "/door", "door"}, {"GET", "/door/gala", "door"}, {"POST", "/door/gala", "door"},
}

func TestStaffPagesByRole(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	_, order, _ := h.bought("gala", `["A-1"]`)
	clerks := map[string]*browser{}
	for _, role := range []string{"boxoffice", "door"} {
		clerks[role] = h.clerk(role)
	}
	for _, r := range deskRoutes {
		path := strings.ReplaceAll(r.path, "ORDER", order)
		nobody := h.browser()
		if r.method == "GET" {
			nobody.get(path).want(200).says("Log in", `name="key"`).silent("Gala")
		} else if at := nobody.post(path).leads(); at != "/admin" && at != "/door" {
			t.Errorf("%s %s without a session leads to %s", r.method, path, at)
		}
		for role, b := range clerks {
			a := b.send(r.method, path, "application/x-www-form-urlencoded", nil)
			if refused := a.Status == http.StatusForbidden; refused != (role != r.role) {
				t.Errorf("%s %s as %s: got %d", r.method, path, role, a.Status)
			} else if refused {
				a.says("for others of the staff", `href="/admin"`, "To the box office")
			}
		}
	}
	if o := h.staff("GET", "/api/v1/admin/orders/"+order, ""); o.text("status") != "PAID" || o.field("refunds") != nil {
		t.Errorf("a form of a wrong role was carried out: %s", o.Body)
	}
	clerks["boxoffice"].get("/admin").want(200).says("Find an order", "Sell", "My shift").silent("New event", "Needs attention", "What was done last")
	if at := clerks["door"].get("/admin").leads(); at != "/door" {
		t.Errorf("the door begins at %s", at)
	}
	clerks["door"].get("/door").want(200).says("Which event?", `href="/door/gala"`).silent(`href="/admin/orders"`)
}

func TestFormsOfStaffFromAnotherSiteAreRefused(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	_, order, _ := h.bought("gala", `["A-1"]`)
	b := h.clerk("admin")
	for _, r := range deskRoutes {
		if r.method != "POST" {
			continue
		}
		path := strings.ReplaceAll(r.path, "ORDER", order)
		req := httptest.NewRequest("POST", path, strings.NewReader(url.Values{"seat": {"A-1"}, "method": {"cash"}, "how": {"refund"}, "sure": {"yes"}}.Encode()))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "cross-site")
		for name, value := range b.jar {
			req.AddCookie(&http.Cookie{Name: name, Value: value})
		}
		h.send(req).refused(403, "cross_site")
	}
}

func TestLoginLeadsBackToThePage(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	key := h.key("door")
	b := h.browser()
	b.get("/door/gala?a=x").want(200).says(`name="next" value="/door/gala?a=x"`)
	if at := b.post("/admin/login", "key", key, "next", "/door/gala").leads(); at != "/door/gala" {
		t.Errorf("the login leads to %s", at)
	}
	for _, bad := range []string{"", "//evil.example", "https://evil.example/", "/events/gala", "/admin", "/doors", `/admin/\evil`, "/door/\r\nX: y"} {
		if at := h.browser().post("/admin/login", "key", key, "next", bad).leads(); at != "/admin" {
			t.Errorf("%q: the login leads to %q", bad, at)
		}
	}
	h.browser().post("/admin/login", "key", "nonsense", "next", "/door/gala").want(403).says("That key is not right.", `value="/door/gala"`)
}

func TestOrdersAreFoundOnThePage(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	h.event("other")
	_, order, codes := h.bought("gala", `["A-1","A-2"]`)
	h.bought("other", `["A-3"]`)
	b := h.clerk("boxoffice")
	b.get("/admin/orders").want(200).says("The latest", "/admin/orders/"+order, "Eve", "€85.00", "Paid")
	b.get("/admin/orders?query=EVE@example.org&event=gala").want(200).says("Found", order).silent("row A, seat 3")
	b.get("/admin/orders?query=row+A,+seat+2").want(200).says(order)
	b.get("/admin/orders?query=Mallory").want(200).says("No order found", `value="Mallory"`)
	b.get("/admin/orders?event=none").want(404)
	b.get("/admin/orders?cursor=x").want(400)
	ticket := h.staff("GET", "/api/v1/admin/orders/"+order, "").text("tickets.1.ticketId")
	for _, name := range []string{order, ticket, codes[1]} {
		if at := b.get("/admin/orders?query=" + name).leads(); at != "/admin/orders/"+order {
			t.Errorf("%s leads to %s", name, at)
		}
	}
	for range hitsAtOnce + 1 {
		if _, err := h.office.Sell(sale.DoorSale{Actor: "staff:x", Event: "gala", Seats: []string{"A-5"}, Method: sale.Cash}); err != nil {
			t.Fatal(err)
		}
		last, _ := h.office.Orders("gala", [16]byte{}, 1)
		if _, err := h.office.Refund(last[0].ID, sale.RefundWish{Actor: "staff:x"}); err != nil {
			t.Fatal(err)
		}
	}
	a := b.get("/admin/orders?event=gala").want(200).says("Older ones").silent(order)
	more := regexp.MustCompile(`href="(/admin/orders\?[^"]*cursor[^"]*)"`).FindSubmatch(a.Body)
	b.get(strings.ReplaceAll(string(more[1]), "&amp;", "&")).want(200).says(order).silent("Older ones")
}

func TestRefundByForms(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"timeZone":"Europe/Berlin"`)
	_, order, codes := h.bought("gala", `["A-1","A-2","A-3"]`)
	b := h.clerk("boxoffice")
	path := "/admin/orders/" + order
	b.get(path).want(200).says("Order of Eve", "eve@example.org", "row A, seat 1", "sold", "Payments", "Demo (no real money)", "Tue 1 December 2026, 20:00:00", "Europe/Berlin time", "the buyer", "Refund all…", "Show and print", "Send the tickets again").
		silent("Paid here?", "Refunds</h2>")
	b.get(path+"/refund").want(422).says("Mark the seats", `role="alert"`)
	b.get(path+"/refund?seat=Z-9").want(404).says("does not have these seats", "Z-9")
	b.get(path+"/refund?seat=A-1").want(200).says("Refund €42.50?", `name="seat" value="A-1"`, `name="release" value="yes" checked`, "Goes back the way the buyer paid").silent("A-2", "The whole order")
	b.get(path+"/refund?all=1").want(200).says("Refund €127.50?", "The whole order")
	if got := h.staff("GET", "/api/v1/admin/orders/"+order, ""); got.field("refunds") != nil {
		t.Errorf("looking refunds: %s", got.Body)
	}
	b.post(path + "/refund").want(422).says("Mark the seats")
	b.post(path+"/refund", "seat", "A-1", "release", "yes", "reason", strings.Repeat("x", 301)).want(422).says("is too long", `value="xxx`, "Refund €42.50?")
	form := []string{"seat", "A-1", "release", "yes", "reason", "Ill"}
	a := b.follow(b.post(path+"/refund", form...)).says("Taken back. €42.50 goes back the way the buyer paid", "Reason: Ill", "Refund asked for", "test")
	b.follow(b.post(path+"/refund", form...)) // a second click
	if got := h.staff("GET", "/api/v1/admin/orders/"+order, ""); len(got.field("refunds").([]any)) != 1 {
		t.Errorf("refunded twice: %s", got.Body)
	}
	b.get(path + "/refund?seat=A-1").want(422).says("refunded already")
	a.says("refunded").silent(`value="A-1"`)
	h.giveBack()
	b.get(path).says("Refund returned", "Money returned", "Returned or to be returned")
	b.get(path+"/tickets").want(200).says("row A, seat 2", "<svg", codes[1]).silent("row A, seat 1", codes[0])
	// Without going back on sale.
	b.follow(b.post(path+"/refund", "seat", "A-2", "seat", "A-3")).says("Money goes back")
	if got := h.do("GET", "/api/v1/events/gala/seats", "").text("states"); got != "AOOAAA" {
		t.Errorf("the house is %s", got)
	}
	b.get(path + "/refund?all=1").want(422).says("refunded already")
	b.get("/admin/orders/" + codes[0]).want(404).says("To the box office")
	_, held := h.held("gala", `["A-4"]`)
	b.get("/admin/orders/" + held + "/refund?all=1").want(409).says("never paid")
	b.post("/admin/orders/"+held+"/refund", "seat", "A-4").want(409).says("never paid")
}

func TestResendAndCompleteByForms(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	b := h.clerk("boxoffice")
	_, order, _ := h.bought("gala", `["A-1"]`)
	path := "/admin/orders/" + order
	for range 2 { // a double click sends once
		b.follow(b.post(path+"/resend")).says("The tickets are sent again.", "Tickets sent again")
	}
	steps := func(order string) (causes []string) {
		return h.staff("GET", "/api/v1/admin/orders/"+order, "").each("history", "cause")
	}
	if got := steps(order); !slices.Equal(got, []string{"hold.made", "payment.started", "payment.succeeded", "resent"}) {
		t.Errorf("history %v", got)
	}
	h.clock.pass(resendPause)
	b.follow(b.post(path + "/resend"))
	if got := steps(order); len(got) != 5 {
		t.Errorf("not sent again: %v", got)
	}
	_, held := h.held("gala", `["A-2"]`)
	path = "/admin/orders/" + held
	b.get(path).want(200).says("Held, not paid", "Paid €42.50 in cash").silent("Refund all")
	b.post(path + "/resend").want(409).says("Only the tickets of a paid order")
	b.post(path + "/complete").want(400)
	b.post(path+"/complete", "method", "returned").want(409).says("cannot be settled that way")
	b.post(path+"/complete", "method", "card", "reason", strings.Repeat("x", 301)).want(422)
	for range 2 {
		b.follow(b.post(path+"/complete", "method", "card", "reason", "Paid at the counter")).says("The order is paid", "Card at the box office")
	}
	_, gone := h.held("gala", `["A-3"]`)
	h.clock.pass(time.Hour)
	h.held("gala", `["A-3"]`)
	b.get("/admin/orders/"+gone).says("Not paid in time", "The time to pay was over")
	b.post("/admin/orders/"+gone+"/complete", "method", "cash").want(409).says("Somebody else has seats")
	// Money that came too late goes back; a page that still offers to complete it does not say that it has.
	h.money(gone, "late", 4250)
	b.post("/admin/orders/"+gone+"/complete", "method", "cash").want(409).says("Meanwhile money came")
	// Who pays online while he stands at the counter pays once.
	_, online, _ := h.bought("gala", `["A-6"]`)
	b.post("/admin/orders/"+online+"/complete", "method", "cash").want(409).says("give back what you took")
	// What the venue's shop took, the shop returns; staff say so.
	_, shop := h.held("gala", `["A-5"]`)
	h.staff("POST", "/api/v1/orders/"+shop+"/confirm", `{"amount":4250,"currency":"EUR"}`, "Idempotency-Key", "1").want(200)
	b.follow(b.post("/admin/orders/"+shop+"/refund", "seat", "A-5", "release", "yes")).says("in the venue’s own shop", "The buyer has the money back")
	b.follow(b.post("/admin/orders/"+shop+"/complete", "method", "returned", "reason", "bank")).says("Noted", "Money returned")
}
