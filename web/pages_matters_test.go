package web

import (
	"strings"
	"testing"
	"time"

	"foyer/sale"
)

// first is the id of the first thing on the attention list.
func (h *house) first() string {
	h.t.Helper()
	return h.matter(0).text("id")
}

func TestMoneyOfTheWrongSumIsDecidedByForms(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"timeZone":"Europe/Berlin"`)
	b := h.clerk("admin")
	_, order := h.held("gala", `["A-1"]`)
	h.money(order, "p1", 4000)
	id := h.first()
	path := "/admin/attention/" + id
	b.get("/admin").want(200).says("Needs attention (1)", "The wrong sum was paid", "The buyer paid €40.00. The order costs €42.50.", `href="/admin/orders/`+order+`"`, "Order for Gala",
		"€40.00 goes back by itself on Wed 2 December 2026, 20:00 (Europe/Berlin time), unless you decide before.", "Accept €40.00", "Return €40.00", "Dismiss", "demo p1").silent("Order that it is for", "minor units")
	b.post(path, "how", "dismiss", "reason", " ").want(422).says("Say why nothing", `id="m-`+id+`"`)
	a := b.post(path, "how", "dismiss", "reason", strings.Repeat("x", 301)).want(422).says("is too long", `value="xxx`)
	if n := strings.Count(string(a.Body), `role="alert"`); n != 1 {
		t.Errorf("the trouble is told %d times", n)
	}
	b.post(path, "how", "burn").want(409).says("The ways are")
	if at := b.post(path, "how", "complete").leads(); at != "/admin?settled=complete#attention" {
		t.Errorf("a decision leads to %s", at)
	}
	b.get("/admin?settled=complete").says("Done: it is settled", "Nothing. All money is where it belongs.")
	b.get("/admin?settled=anything").silent("Done:", "anything")
	if at := b.post(path, "how", "complete").leads(); at != "/admin?settled=gone#attention" { // a second click
		t.Errorf("the second decision leads to %s", at)
	}
	b.get("/admin?settled=gone").says("settled already")
	for _, bad := range []string{"x", "payment-0", "refund-x"} {
		if at := b.post("/admin/attention/"+bad, "how", "complete").leads(); at != "/admin?settled=gone#attention" {
			t.Errorf("%s leads to %s", bad, at)
		}
	}
	_, other := h.held("gala", `["A-2"]`)
	h.money(other, "p2", 4000)
	h.till.stubborn = true
	b.follow(b.post("/admin/attention/"+h.first(), "how", "refund"))
	h.giveBack()
	b.get("/admin").says("It could not be returned. The answer: ", "the card is closed", "nothing more happens by itself")
	b.post("/admin/attention/"+h.first(), "how", "dismiss", "reason", "given in cash").leads()
	b.get("/admin").says("Nothing. All money")
}

func TestOtherMattersAreDecidedByForms(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	b := h.clerk("admin")
	_, order := h.held("gala", `["A-1"]`)
	h.money("nobody", "p1", 4250)
	path := "/admin/attention/" + h.first()
	b.get("/admin").says("Money for an unknown order", "€42.50 came, and Foyer knows no order for it. It was sent for “nobody”.", "it waits for you", "Order that it is for", "(UTC time)")
	b.post(path, "how", "complete", "order", "x").want(422).says("no id of an order", `value="x"`)
	b.post(path, "how", "complete").want(422).says("Say how it was settled")
	b.post(path, "how", "complete", "order", order).leads()
	b.get("/admin/orders/"+order).says("Paid", "Demo (no real money)")
	h.money(order, "p2", 4250)
	b.get("/admin").says("Paid twice", "goes back by itself: the provider is being asked")
	h.giveBack()
	b.get("/admin").says("went back on", "stays here until you have seen it")
	b.post("/admin/attention/"+h.first(), "how", "complete", "reason", "Seen").leads()
	h.till.stubborn = true
	h.staff("POST", "/api/v1/admin/orders/"+order+"/refund", "").want(200)
	b.get("/admin").says("A refund is under way", "Taken back: Stalls, row A, seat 1.", "Ask the provider again")
	h.giveBack()
	b.get("/admin").says("A refund failed", "the card is closed", "Ask the provider again", "The buyer has €42.50 back")
	b.get("/admin/orders/"+order).says("Refund failed", "The provider’s answer", "the card is closed")
	h.till.stubborn = false
	b.post("/admin/attention/"+h.first(), "how", "refund").leads()
	h.giveBack()
	b.get("/admin").says("Nothing. All money")
	b.get("/admin/orders/"+order).says("Money returned", "Refund returned")
	_, shop := h.held("gala", `["A-5"]`)
	h.staff("POST", "/api/v1/orders/"+shop+"/confirm", `{"amount":4250,"currency":"EUR"}`, "Idempotency-Key", "1").want(200)
	h.staff("POST", "/api/v1/admin/orders/"+shop+"/refund", "").want(200)
	b.get("/admin").says("Money to give back", "return it where it was paid (The venue’s shop), then say so here", "The buyer has €42.50 back")
	b.post("/admin/attention/"+h.first(), "how", "refund").want(409).says("Return it where it was paid")
	b.post("/admin/attention/"+h.first(), "how", "complete").leads()
	b.get("/admin").says("Nothing. All money")
	for i, f := range []sale.Fact{
		{Kind: sale.FactRefunded, Order: order, Amount: 1, PaymentID: "p1"}, {Kind: sale.FactRefunded, Order: "nobody", Amount: 3, PaymentID: "p9"},
		{Kind: sale.FactSucceeded, Order: "none", Odd: "1.5", PaymentID: "p8"},
	} {
		f.Provider, f.Currency, f.EventID = "demo", "EUR", "odd"+string(rune('0'+i))
		if _, err := h.office.Receive(f); err != nil {
			t.Fatal(err)
		}
	}
	b.get("/admin").says("Needs attention (3)", "Money went back that was not asked for", "A refund of an unknown order", "1.5 EUR").silent("Return 1.5")
}

func TestRefundThatTheBuyerIsNotOwedCanBeDismissed(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	b := h.clerk("admin")
	visitor, order, _ := h.bought("gala", `["A-1"]`)
	payment := h.staff("GET", "/api/v1/admin/orders/"+order, "").text("paymentId")
	for i, kind := range []sale.FactKind{sale.FactRefunded, sale.FactNotRefunded} {
		if _, err := h.office.Receive(sale.Fact{Provider: "demo", EventID: string(kind), Kind: kind, Order: order, PaymentID: payment, RefundID: "con_1", Amount: 1000, Currency: "EUR"}); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			b.post("/admin/attention/"+h.first(), "how", "complete", "reason", "They may stay").leads()
		}
	}
	b.get("/admin").want(200).says("A refund failed", "had returned a part of the price, without a word about seats", "needed to dismiss", "Dismiss: nothing is to be done").silent("Seats were taken back")
	h.matter(0).holds(map[string]any{"kind": "refund_failed", "actions.2": "dismiss"})
	b.post("/admin/attention/"+h.first(), "how", "dismiss", "reason", "A mistake at the bank").leads()
	b.get("/admin").says("Nothing. All money")
	if state := h.staff("GET", "/api/v1/admin/orders/"+order, "").text("refunds.0.state"); state != "WITHDRAWN" {
		t.Errorf("the refund is %s", state)
	}
	h.do("GET", "/orders/"+order, "", "Cookie", "foyer_visitor="+visitor).want(200).says("Your tickets</h1>")
}

func TestReportPage(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"timeZone":"Europe/Berlin"`)
	b := h.clerk("admin")
	const path = "/admin/events/gala/report"
	b.get(path).want(200).says("Report: Gala", "the whole sale", "✓ Everything fits.", "No money yet.", "Nothing was sold.", "Nothing waits")
	_, order, _ := h.bought("gala", `["A-1","A-2"]`)
	h.sold(sale.Cash, sale.Buyer{}, "A-3")
	h.staff("POST", "/api/v1/admin/orders/"+order+"/refund", `{"seats":["A-1"]}`).want(200)
	h.money("nobody", "p1", 700)
	h.money(order, "p2", 7)
	b.get(path).want(200).says("Box office", "Demo (no real money)", "€127.50", "Going back", "Stalls", "Paid", "€7.00", "For orders that nobody knows", "To be decided: 1",
		`href="/api/v1/admin/events/gala/report.csv"`, `href="/api/v1/admin/events/gala/orders.csv"`, "20:00 (Europe/Berlin time)")
	b.get(path+"?since=2026-12-01T20:01").want(200).says("from Tue 1 December 2026, 20:01 (Europe/Berlin time)", "report.csv?since=2026-12-01T19%3A01%3A00Z", `value="2026-12-01T20:01"`, "No money yet.")
	b.get(path+"?since=2026-12-01T20:01&until=2026-12-01T20:01").want(422).says("must be before", "the whole sale")
	b.get(path + "?until=x").want(422).says("must be written")
	b.get("/admin/events/none/report").want(404)
	if a := b.get("/api/v1/admin/events/gala/orders.csv").want(200); !strings.Contains(string(a.Body), "A-3") {
		t.Errorf("the session does not open the sheet: %s", a.Body)
	}
}

func TestForgettingByForms(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	h.sold(sale.Cash, sale.Buyer{Name: "Eve"}, "A-3")
	b := h.clerk("admin")
	const path = "/admin/events/gala/forget"
	b.get(path).want(200).says("Erase the buyers’ names?", "The sale is not closed").silent(`name="sure"`)
	b.post(path, "sure", "yes").want(409).says("Close the event first.")
	h.staff("POST", "/api/v1/admin/events/gala/close", `{}`).want(200)
	b.get(path).want(200).says("Nobody can bring them back", "Yes, erase", "Erase them").silent("not closed")
	b.post(path).want(422).says("Nothing was erased.")
	b.post(path, "sure", "yes").want(409).says("not delivered")
	messages, err := h.office.Messages("", 0, 10)
	if err != nil || len(messages) != 1 {
		t.Fatalf("%d messages, %v", len(messages), err)
	}
	b.post("/admin/outbox/"+messages[0].ID, "act", "drop").leads()
	h.clock.pass(time.Minute)
	for range 2 {
		b.follow(b.post(path, "sure", "yes")).says("are erased from the orders", "Erased before")
	}
	b.get("/admin/orders?query=Eve").says("No order found")
	b.get("/admin/events/none/forget").want(404)
}
