package web

import (
	"strings"
	"testing"
	"time"

	"foyer/sale"
)

// paid makes a browser with a PAID order at the till.
func (h *house) paid(event, seat string) (b *browser, path, order string) {
	h.t.Helper()
	b = h.browser()
	b.turn(event)
	path = b.post("/events/"+event+"/hold", "seat", seat).want(303).Header.Get("Location")
	order = strings.TrimPrefix(path, "/orders/")
	payment := "dp_" + strings.TrimPrefix(b.post(path+"/pay", "provider", "demo").want(303).Header.Get("Location"), "/demo/pay/")
	h.money(order, payment, 4250)
	return b, path, order
}

func TestBuyerReadsWhereHisMoneyIs(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"timeZone":"Europe/Berlin"`)
	b, path, order := h.paid("gala", "A-1")
	b.get(path).want(200).says("Paid, thank you").silent("<s>", "refunded", "goes back")
	h.staff("POST", "/api/v1/admin/orders/"+order+"/refund", `{"reason":"<b>Ill</b>"}`).want(200)
	b.get(path).want(200).says("Your money comes back</h1>", "The venue has taken your seats back", "all of the money back, €42.50, by the way you paid",
		"Your money is on its way back: €42.50", "is on its way back by the way you paid since Tue 1 December 2026, 20:00 (Europe/Berlin time)", "Reason: &lt;b&gt;Ill", "</s> refunded").silent("<b>Ill")
	h.clock.pass(time.Hour)
	h.giveBack()
	b.get(path).want(200).says("Money returned</h1>", "€42.50, was returned by the way you paid", "went back by the way you paid on Tue 1 December 2026, 21:00").silent("on its way")

	b, path, order = h.paid("gala", "A-2")
	h.till.stubborn = true
	h.staff("POST", "/api/v1/admin/orders/"+order+"/refund", "").want(200)
	h.giveBack()
	b.get(path).want(200).says("€42.50 for Stalls, row A, seat 2 could not be returned by the way you paid. The venue knows of it").silent("on its way", "the card is closed")
}

func TestBuyerOfAPartReadsWhichSeatsAreLeft(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	visitor, order, _ := h.bought("gala", `["A-1","A-2"]`)
	h.staff("POST", "/api/v1/admin/orders/"+order+"/refund", `{"seats":["A-2"]}`).want(200)
	a := h.do("GET", "/orders/"+order, "", "Cookie", "foyer_visitor="+visitor).want(200)
	checkPage(t, a)
	a.says("Your tickets</h1>", "1 ticket<", "<s>Stalls, row A, seat 2</s> refunded", "<td>Stalls, row A, seat 1</td>", "€42.50 for Stalls, row A, seat 2 is on its way back").silent("<s>Stalls, row A, seat 1")
}

func TestBuyerReadsOfMoneyThatDoesNotFit(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	b := h.browser()
	b.turn("gala")
	path := b.post("/events/gala/hold", "seat", "A-1").want(303).Header.Get("Location")
	order := strings.TrimPrefix(path, "/orders/")
	h.money(order, "short", 4249)
	b.get(path).want(200).says("We received €42.49, which does not fit this order; it goes back by the way you paid, on Wed 2 December 2026, 19:00 (UTC time) at the latest.")
	h.money(order, "right", 4250)
	h.money(order, "twice", 4250)
	b.get(path).want(200).says("Your tickets</h1>", "We received €42.50 a second time; it goes back by the way you paid.")
	h.giveBack()
	b.get(path).want(200).says("€42.50 a second time; it went back by the way you paid on Tue 1 December 2026, 19:00", "at the latest")
	h.clock.pass(25 * time.Hour)
	h.till.stubborn = true
	h.giveBack()
	b.get(path).want(200).says("We received €42.49, which does not fit this order and could not be returned.")
	id := h.matter(0).text("id")
	h.staff("POST", "/api/v1/admin/attention/"+id+"/complete", "").refused(409, "not_that_way")
	h.staff("POST", "/api/v1/admin/attention/"+id+"/dismiss", `{"reason":"given in cash"}`).want(204)
	if rc := (&sale.Receipt{Attention: "amount_mismatch", Fact: sale.Fact{Odd: "1.5"}}); !strings.Contains(strayLines([]*sale.Receipt{rc}, "UTC", locale{})[0], "a payment that does not fit this order. The venue knows") {
		t.Errorf("got %v", strayLines([]*sale.Receipt{rc}, "UTC", locale{}))
	}
}
