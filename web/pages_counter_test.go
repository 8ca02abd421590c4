package web

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func (h *house) orders(event string) int {
	h.t.Helper()
	list, err := h.office.Orders(event, [16]byte{}, 100)
	if err != nil {
		h.t.Fatal(err)
	}
	return len(list)
}

func TestSellingByForms(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"timeZone":"Europe/Berlin"`)
	b := h.clerk("boxoffice")
	const path = "/admin/events/gala/door"
	a := b.get(path).want(200).says("Sell Gala", "6 seats free", `name="count" value="1" checked`, `value="Stalls"`, "€42.50, 6 free", "Cash", "Best seats", "[&#34;€42.50&#34;,&#34;€85.00&#34;")
	once := a.once()
	if other := b.get(path).once(); other == once {
		t.Error("two pages have one name")
	}
	form := []string{"once", once, "count", "2", "category", "Stalls", "method", "cash", "name", "Ann", "email", "ann@example.org"}
	sold := b.post(path, form...).leads()
	b.get(sold).want(200).says("Sold: €85.00", "Take €85.00 in cash", "2 seats", "<svg", "Next sale", `href="`+path+`"`).silent("a second time", `class="note`)
	h.clock.pass(time.Second)
	again := b.post(path, form...).leads() // a second click, or the page sent again
	if again != sold+"?again=1" || h.orders("gala") != 1 {
		t.Errorf("sold again: %s, then %s; %d orders", sold, again, h.orders("gala"))
	}
	b.get(again).want(200).says("nothing was sold a second time", "of 20:00:00 (Europe/Berlin time)")
	form[3] = "1" // the page is used for another sale
	a = b.post(path, form...).want(422).says("Nothing was sold.", "had sold something already", `value="1" checked`, `value="Ann"`)
	if form[1] = a.once(); form[1] == once {
		t.Error("the page that follows cannot sell")
	}
	b.get(b.post(path, form...).leads()).says("Sold: €42.50")
	// By name, typed as people type and marked in the list.
	a = b.get(path+"?by=seats").want(200).says("Free seats", `aria-label="Row A, seat 6, Stalls, €42.50, free"`)
	free := strings.Count(string(a.Body), `type="checkbox" name="seat"`)
	if free != 3 {
		t.Errorf("%d free seats are shown", free)
	}
	b.post(path, "once", a.once(), "by", "seats", "names", "a-3, Z-9", "method", "card").want(404).says("Nothing was sold.", "Z-9 (no such seat)", `value="a-3, Z-9"`)
	b.post(path, "once", a.once(), "by", "seats", "method", "card").want(422).says("Nothing was sold.")
	left := []string{}
	for i := 1; i <= 6; i++ {
		if id := fmt.Sprintf("A-%d", i); strings.Contains(string(a.Body), `value="`+id+`"`) {
			left = append(left, id)
		}
	}
	sold = b.post(path, "once", a.once(), "by", "seats", "names", strings.ToLower(left[0]), "seat", left[1], "method", "card").leads()
	b.get(sold).want(200).says("Sold: €85.00", "on the card machine")
	a = b.post(path, "once", b.get(path).once(), "by", "seats", "names", left[0]+" "+left[2], "method", "cash").want(409).says("Nothing was sold.", "seat "+left[0][2:]+"</li>")
	a.silent("seat " + left[2][2:] + "</li>")
	b.get(b.post(path, "once", a.once(), "count", "1", "category", "", "method", "free").leads()).says("Sold: €0.00", "nothing is to be paid")
	b.post(path, "once", b.get(path).once(), "count", "1", "category", "Stalls", "method", "cash").want(409).says("Nothing was sold.")
	b.get(path + "?by=seats").want(200).says("No seat is free.")
	for _, bad := range []string{"", "x", strings.ToUpper(a.once())} {
		b.post(path, "once", bad, "count", "1", "method", "cash").want(400)
	}
	b.post(path, "once", a.once(), "count", "1", "method", "gold").want(422).says("Nothing was sold.")
	b.post(path, "once", a.once(), "count", "x", "method", "cash").want(422).says("Nothing was sold.")
	b.post(path, "once", a.once(), "count", "1", "method", "cash", "email", "no address").want(422).says("name@example.org", `value="no address"`, "<details open")
	h.event("other")
	b.get(strings.Replace(strings.Split(sold, "?")[0], "gala", "other", 1)).want(404)
	b.get("/admin/events/none/door").want(404)
	h.event("shut", `"providers":["demo"]`)
	b.get("/admin/events/shut/door").want(200).says("not sold at the door").silent("<form id")
	h.staff("POST", "/api/v1/admin/events", `{"id":"bare","name":"Bare"}`).want(201)
	b.get("/admin/events/bare/door").want(200).says("no plan")
}

func TestSeatsOfTheHouseAreSoldByName(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	b := h.clerk("boxoffice")
	const path = "/admin/events/gala/house"
	b.get(path).want(200).says("Seats kept", "None.", "6 seats free now")
	b.post(path, "names", "a-1 A-2", "state", "HOUSE", "reason", strings.Repeat("x", 301)).want(422).says("is too long", ">a-1 A-2<")
	b.post(path, "names", "A-1", "state", "SOLD").want(400)
	b.post(path, "names", " ", "state", "HOUSE").want(422).says(`role="alert"`)
	b.post(path, "names", "A-1, Z-9", "state", "HOUSE").want(404).says("Z-9 (no such seat)")
	for range 2 {
		b.follow(b.post(path, "names", "a-1 A-2", "state", "HOUSE", "reason", "The mayor")).says("The seats are kept.", "Kept now (2)", "row A, seat 1", "for the house, The mayor", "Tue 1 December 2026", "test")
	}
	h.held("gala", `["A-4"]`)
	b.post(path, "names", "A-4", "state", "OFF_SALE").want(409).says("Somebody holds", "row A, seat 4")
	b.follow(b.post(path, "names", "A-3", "state", "OFF_SALE")).says("Kept now (3)", "off sale")
	a := b.get("/admin/events/gala/door?by=seats").says("2 kept by the house", `class="B"`, "Row A, seat 1, Stalls, €42.50, kept").silent(`value="A-3"`, `value="A-4"`)
	b.get(b.post("/admin/events/gala/door", "once", a.once(), "by", "seats", "seat", "A-1", "method", "cash").leads()).says("Sold: €42.50")
	b.get(path).says("but sold")
	b.follow(b.post(path, "state", "AVAILABLE", "seat", "A-1", "seat", "A-2", "seat", "A-3")).says("on sale again", "None.")
	b.post(path, "state", "AVAILABLE").want(422)
	h.staff("POST", "/api/v1/admin/events", `{"id":"bare","name":"Bare"}`).want(201)
	b.get("/admin/events/bare/house").want(200).says("no plan")
}

func TestShiftIsOfOneKey(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"timeZone":"Europe/Berlin"`)
	b, other := h.clerk("boxoffice"), h.clerk("boxoffice")
	sell := func(b *browser, count, method string) string {
		const path = "/admin/events/gala/door"
		return b.post(path, "once", b.get(path).once(), "count", count, "category", "Stalls", "method", method).leads()
	}
	const path = "/admin/events/gala/shift"
	b.get(path).want(200).says("Nothing was sold", "should be in the drawer from this shift: <b class=\"sum\">€0.00")
	sold := sell(b, "2", "cash")
	sell(b, "1", "card")
	sell(other, "1", "cash")
	order := sold[strings.LastIndex(sold, "/")+1:]
	h.clock.pass(time.Hour)
	seat := h.staff("GET", "/api/v1/admin/orders/"+order, "").text("seats.0.id")
	b.follow(b.post("/admin/orders/"+order+"/refund", "seat", seat, "release", "yes")).says("Give the buyer €42.50 in cash now")
	b.get(path).want(200).says("should be in the drawer from this shift: <b class=\"sum\">€42.50", "€85.00", "Card")
	other.get(path).says("<b class=\"sum\">€42.50").silent("€85.00", "Card")
	b.get(path+"?since=2026-12-01T20:30").want(200).says("<b class=\"sum\">−€42.50", "20:30 (Europe/Berlin time)").silent("Card")
	b.get(path+"?since=tonight").want(422).says("must be written", `value="tonight"`)
	b.get("/admin/events/none/shift").want(404)
}

func TestCheckInByForms(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"timeZone":"Europe/Berlin"`)
	h.event("other")
	_, order, codes := h.bought("gala", `["A-1","A-2","A-3"]`)
	_, _, foreign := h.bought("other", `["A-1"]`)
	b := h.clerk("door")
	check := func(code string) *answer {
		return b.follow(b.post("/door/gala", "once", b.get("/door/gala").once(), "code", code))
	}
	b.get("/door").want(200).says("Gala")
	a := b.get("/door/gala").want(200).says("Ready", "Checked in: <b>0</b> of 3 valid tickets", "autofocus", `for="code"`)
	once := a.once()
	at := b.post("/door/gala", "once", once, "code", " "+codes[0]+" ").leads()
	b.get(at).want(200).says("✓ Let in", "row A, seat 1", "<b>Eve</b>", "Checked in: <b>1</b> of 3", "<title>Let in Stalls, row A, seat 1 – door of Gala", "answer good").silent("✗")
	if again := b.post("/door/gala", "once", once, "code", codes[0]).leads(); again != at { // a scanner that sends twice
		t.Errorf("the second of two presses leads to %s", again)
	}
	h.clock.pass(time.Minute)
	b.get(at).want(200).says("Ready").silent("✓") // an old page does not let anybody in
	check(codes[0]).says("✗ Stop", "used before: let in on Tue 1 December 2026, 20:00:00 (Europe/Berlin time), 1 minute ago", "Let in by test", `role="alert"`, "<b>1</b> of 3")
	check(foreign[0]).says("✗ Stop", "for another event: Gala")
	check("nonsense").says("✗ Stop", "no ticket of this house")
	check(" ").says("No code")
	h.staff("POST", "/api/v1/admin/orders/"+order+"/refund", `{"seats":["A-2"]}`).want(200)
	check(codes[1]).says("✗ Stop", "row A, seat 2", "was refunded", "Tue 1 December 2026, 20:01", "<b>1</b> of 2")
	check(codes[2]).says("✓ Let in", "<b>2</b> of 2")
	// No address makes a ticket up.
	for _, q := range []string{"a=in&t=" + order + ".1", "a=in&t=" + order + ".0", "a=in&t=" + order + ".9", "a=in&t=x", "a=in", "a=used&t=" + order + ".7", "a=x"} {
		b.get("/door/gala?" + q).want(200).silent("✓")
	}
	b.get("/door/other?a=in&t=" + order + ".2").want(200).says("Ready")
	b.get("/door/none").want(404)
	b.post("/door/none", "code", codes[2]).want(404)
	h.staff("POST", "/api/v1/admin/events", `{"id":"bare","name":"Bare"}`).want(201)
	b.get("/door/bare").want(200).says("0 valid tickets")
}

func TestEntriesAreBounded(t *testing.T) {
	var e entries
	now := time.Now()
	ticket := [16]byte{1}
	for i := range maxEntries + 1 {
		e.note(fmt.Sprintf("%036d", i), ticket, now)
	}
	e.note("short", ticket, now)
	if n := len(e.last); n > maxEntries {
		t.Errorf("%d entries", n)
	}
	last := fmt.Sprintf("%036d", maxEntries)
	if !e.was(last, ticket, now) || e.was(last, [16]byte{2}, now) || e.was(last, ticket, now.Add(doorFresh)) || e.was("short", ticket, now) {
		t.Error("an entry is not remembered for what it was")
	}
}
