package web

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"foyer/sale"
)

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
