package contract

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
)

// B145: 44 of 64 seats are sold, 10 held, 5 being paid for; then everything is
// made smaller.
func TestB145NothingIsMadeSmallerThanWhatIsSoldHeldOrBeingPaid(t *testing.T) {
	t.Parallel()
	const sold, held, paying = 44, 10, 5
	e := eventOf(t, shared, 64, nil)
	people := e.buyers(t, sold+held+paying+1)
	orders := make([]order, sold+held+paying)
	each(len(orders), func(i int) { orders[i] = people[i].holds(t, fmt.Sprintf("A-%d", i+1)) })
	each(sold, func(i int) { orders[i].confirm(t, "k", orders[i].money()).want(t, http.StatusOK) })
	payments := make([]string, len(orders))
	for i := sold + held; i < len(orders); i++ {
		payments[i] = orders[i].pays(t)
	}

	for _, most := range []int{16, 44, 43, 15, 1} { // accepted as "let nobody else in"
		e.staff(t, "PATCH", "/pace", object{"maxActive": most}).want(t, http.StatusOK)
		e.staff(t, "PATCH", "", object{"rules": object{"maxActive": most}}).want(t, http.StatusOK)
	}
	e.staff(t, "PATCH", "", object{"rules": object{"maxActive": 0}}).problem(t)
	for _, size := range []int{16, 43, 44, 54, 58} {
		a := e.plan(t, rows(size)).refused(t, http.StatusConflict, "seats_in_use")
		lost := a.texts("seats")
		if len(lost) != len(orders)-size || !slices.Contains(lost, fmt.Sprintf("A-%d", len(orders))) || slices.Contains(lost, "A-60") {
			t.Errorf("a plan of %d seats would lose %v, want A-%d to A-%d", size, lost, size+1, len(orders))
		}
	}
	e.plan(t, rows(len(orders))).want(t, http.StatusOK) // as small as it can be: nothing is left to sell
	e.staff(t, "PATCH", "", object{"rules": object{"maxSeatsPerOrder": 1, "maxWaiting": 1, "holdSeconds": 2, "turnSeconds": 2, "paySeconds": 1, "payMarginSeconds": 1}}).want(t, http.StatusOK)
	e.staff(t, "PATCH", "", object{"prices": object{"Stalls": 9900}}).want(t, http.StatusOK)

	for i, o := range orders {
		want := []string{"PAID", "PENDING", "PAYING"}[min(i/sold+max(0, (i-sold)/held), 2)]
		a := o.get(t).want(t, http.StatusOK)
		if got := a.text("status"); got != want {
			t.Errorf("order %d is %s, want %s", i, got, want)
		}
		if got := a.number("total", "amount"); got != o.total {
			t.Errorf("order %d costs %d, want what it cost before: %d", i, got, o.total)
		}
	}
	for i := sold; i < len(orders); i++ { // no buyer is cancelled: all can still pay
		if payments[i] == "" {
			payments[i] = orders[i].pays(t)
		}
		e.h.tell(t, orders[i].news("succeeded", payments[i])).want(t, http.StatusOK)
		orders[i].becomes(t, "PAID")
	}
	until(t, "sold out", patience, func() bool {
		a := e.get(t, "/status").want(t, http.StatusOK)
		return a.text("phase") == "SOLD_OUT" && a.number("seatsLeft") == 0
	})
	people[len(orders)].hold(t, "A-60").problem(t) // a seat that is no more
	e.person(t).join(t).refused(t, http.StatusGone, "sold_out")
	if got := e.gauge(t, "foyer_event_seats_sold"); got != len(orders) {
		t.Errorf("%d seats are sold, want %d", got, len(orders))
	}
}
