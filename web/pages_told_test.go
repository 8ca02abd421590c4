package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"foyer/sale"
)

// tells is an event of the till about an order's payment; refund may be empty.
func (h *house) tells(kind sale.FactKind, order, payment string, amount int, refund string) *answer {
	h.t.Helper()
	h.told++
	return h.do("POST", "/api/v1/payments/demo/webhook", fmt.Sprintf(`{"id":"told %d","type":%q,"paymentId":%q,"orderId":%q,"amount":%d,"currency":"EUR","refundId":%q}`,
		h.told, kind, payment, order, amount, refund), "Signature", "right").want(200)
}

// payment is the till's name for the money of an order.
func (h *house) payment(order string) string {
	h.t.Helper()
	return h.staff("GET", "/api/v1/orders/"+order, "").want(200).text("paymentId")
}

func TestBuyerReadsOfMoneyThatDidNotGoBack(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	b, path, order := h.paid("gala", "A-1")
	h.tells(sale.FactRefunded, order, h.payment(order), 1000, "r1")
	h.tells(sale.FactNotRefunded, order, h.payment(order), 1000, "r1")
	failed := h.matter(1)
	failed.can("complete", "refund", "dismiss").holds(map[string]any{"kind": "refund_failed",
		"reason": "The provider told that it had returned a part of the price, without a word about seats. It could not be returned after all. " +
			"Ask again, return it by hand and complete this, or dismiss it: the buyer has all his seats."})
	h.clerk("admin").get("/admin").want(200).says("A refund failed", "without a word about seats", "Dismiss: nothing is to be done", "needed to dismiss")
	h.settle(failed, "dismiss", `{"reason":"a slip of the finger"}`).want(204)
	b.get(path).want(200).says("€10.00 was not returned: the payment provider could not send it back").silent("on its way", "slip")
}

func TestWhatStaffSayToEachOtherIsNotForTheBuyer(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	b, path, order := h.paid("gala", "A-1")
	h.till.stubborn = true
	h.staff("POST", "/api/v1/admin/orders/"+order+"/refund", `{"reason":"The concert moved."}`).want(200)
	h.giveBack()
	h.settle(h.matter(0), "complete", `{"reason":"a rude client"}`).want(204)
	b.get(path).want(200).says("Money returned</h1>", "Reason: The concert moved.").silent("rude")
	b.get("/api/v1"+path).want(200).says("The concert moved.", `"by":"staff"`).silent("rude")
	h.staff("GET", "/api/v1/orders/"+order, "").want(200).says("The concert moved.", "rude")
}

func TestBuyerReadsOfTheTimeThatIsOverOnlyWhatIsTrue(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	held := func(seat string) (b *browser, path, order, payment string) {
		t.Helper()
		b = h.browser()
		b.turn("gala")
		path = b.post("/events/gala/hold", "seat", seat).want(303).Header.Get("Location")
		payment = strings.TrimPrefix(b.post(path+"/pay", "provider", "demo").want(303).Header.Get("Location"), "/demo/pay/")
		return b, path, strings.TrimPrefix(path, "/orders/"), "dp_" + payment
	}
	ann, path, order, payment := held("A-1")
	h.tells(sale.FactSucceeded, order, payment, 4251, "")
	bob, late, bobs, money := held("A-2")
	h.clock.pass(10 * time.Minute)
	ann.get(path).want(200).says("The time is over</h1>", "We received €42.51", "does not fit it; above stands where that money is").silent("No payment", "Nothing was paid")
	h.settle(h.matter(0), "refund", "").want(204)
	h.giveBack()
	h.tells(sale.FactSucceeded, order, payment, 4250, "")
	ann.get(path).want(200).says("The time is over</h1>", "We were told again of a payment of €42.50 whose money went back. The venue knows").silent("a second time")

	h.staff("POST", "/api/v1/admin/events/gala/seats", `{"seats":["A-2"],"state":"OFF_SALE","reason":"broken"}`).want(200)
	h.tells(sale.FactSucceeded, bobs, money, 4250, "")
	bob.get(late).want(200).says("Your money comes back</h1>", "and they are not on sale any more").silent("somebody else")
}

func TestBuyerWhoseOlderOrderIsPaidIsLedThere(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	b := h.browser()
	b.turn("gala")
	first := b.post("/events/gala/hold", "seat", "A-1").want(303).Header.Get("Location")
	h.clock.pass(10 * time.Minute)
	b.turn("gala")
	second := b.post("/events/gala/hold", "seat", "A-1").want(303).Header.Get("Location")
	h.money(strings.TrimPrefix(first, "/orders/"), "dp_late", 4250)
	b.get(second).want(200).says("Order cancelled</h1>", "your tickets are in that order", `href="`+first+`"`).silent("You gave these seats back")
}
