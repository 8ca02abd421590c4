package contract

import (
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

func TestMoneyBeforeAPaymentWasStartedIsApplied(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 1, nil)
	o := e.buyer(t).holds(t, "A-1")
	e.h.tell(t, o.news("succeeded", "dp_early")).want(t, http.StatusOK)
	if got := o.get(t).text("status"); got != "PAID" {
		t.Errorf("order %s, want PAID", got)
	}
}

func TestB39LateMoneyTakesTheSeatsIfFreeElseIsDueBack(t *testing.T) {
	t.Parallel()
	short := object{"holdSeconds": 2, "paySeconds": 1, "payMarginSeconds": 1}
	ways := map[string]func(t *testing.T, o order, payment string) answer{
		"webhook": func(t *testing.T, o order, payment string) answer {
			o.e.h.tell(t, o.news("succeeded", payment)).want(t, http.StatusOK)
			return o.get(t)
		},
		"confirm": func(t *testing.T, o order, _ string) answer { return o.confirm(t, "late", o.money()) },
	}
	for name, money := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := eventOf(t, shared, 4, short)
			free, gone, cancelled := e.buyer(t).holds(t, "A-1"), e.buyer(t).holds(t, "A-2"), e.buyer(t).holds(t, "A-3")
			ids := []string{free.pays(t), gone.pays(t), "dp_c_" + cancelled.id}
			cancelled.cancel(t).want(t, http.StatusOK)
			free.becomes(t, "EXPIRED")
			gone.becomes(t, "EXPIRED")
			winner := e.buyer(t).bought(t, "A-2", "A-3")

			if a := money(t, free, ids[0]); a.text("status") != "PAID" {
				t.Errorf("late, seat free: %s, want PAID", a.body)
			}
			for i, o := range []order{gone, cancelled} {
				a := money(t, o, ids[i+1])
				if name == "confirm" {
					a.refused(t, http.StatusConflict, "refund_due")
					if a.text("order", "orderId") != o.id || a.text("order", "status") != "REFUND_DUE" {
						t.Errorf("the refusal carries %v, want the order", a.at("order"))
					}
				}
				back := []string{"REFUND_DUE", "REFUNDED"} // the demo provider returns money within two seconds
				if got := o.get(t).text("status"); !slices.Contains(back, got) {
					t.Errorf("late, seat gone: %s, want REFUND_DUE", got)
				}
				found := e.h.staff(t, "GET", "/admin/orders?query="+o.id, nil).want(t, http.StatusOK)
				if len(found.list("items")) != 1 || !slices.Contains(back, found.text("items", 0, "status")) {
					t.Errorf("staff find %s, want the order that is due back", found.body)
				}
			}
			if got := winner.get(t).text("status"); got != "PAID" {
				t.Errorf("who has the seats is %s, want PAID", got)
			}
			until(t, "order.refund_due", patience, func() bool {
				for _, m := range e.h.sink.of(gone.id) {
					if m.Topic == "order.refund_due" {
						return true
					}
				}
				return false
			})
		})
	}
}

func TestB16B40MoneyAndLapseAtOneInstantSellEachSeatOnce(t *testing.T) {
	t.Parallel()
	const seats, rivals = 12, 4
	e := eventOf(t, shared, seats, object{"holdSeconds": 2})
	first, others := e.buyers(t, seats), e.buyers(t, seats*rivals)
	orders := make([]order, seats)
	each(seats, func(i int) { orders[i] = first[i].holds(t, fmt.Sprintf("A-%d", i+1)) })
	paid := make([]atomic.Int64, seats)
	due := make([]atomic.Int64, seats)
	book := func(i int, o order) {
		switch a := o.confirm(t, "k", o.money()); {
		case a.status == http.StatusOK:
			paid[i].Add(1)
		default:
			a.refused(t, http.StatusConflict, "refund_due")
			due[i].Add(1)
		}
	}
	together(seats*(rivals+1), func(n int) {
		i, rival := n%seats, n/seats
		deadline := orders[i].get(t).moment(t, "holdExpiresAt")
		time.Sleep(time.Until(deadline) + time.Duration(i-seats/2)*2*time.Millisecond) // meet at the instant itself
		if rival == rivals {
			book(i, orders[i])
			return
		}
		p := others[i*rivals+rival]
		if a := p.hold(t, fmt.Sprintf("A-%d", i+1)); a.status == http.StatusCreated {
			book(i, order{p, a.text("orderId"), a.number("total", "amount")})
		} else {
			a.refused(t, http.StatusConflict, "seats_taken")
		}
	})
	for i := range seats {
		if p, d := paid[i].Load(), due[i].Load(); p != 1 || d > 1 {
			t.Errorf("seat A-%d: %d times sold, %d times due back; want sold once", i+1, p, d)
		}
	}
	e.count(t, "sold", seats)
}

func TestLateMoneyIsNotBlockedByTheBuyersOwnNewerHold(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, nil)
	p := e.buyer(t)
	first := p.holds(t, "A-1", "A-2")
	payment := first.pays(t)
	e.h.tell(t, first.news("failed", payment)).want(t, http.StatusOK)
	second := p.holds(t, "A-2", "A-3")
	e.h.tell(t, first.news("succeeded", payment)).want(t, http.StatusOK)
	if got := first.get(t).text("status"); got != "PAID" {
		t.Errorf("the order with the money is %s, want PAID", got)
	}
	if got := second.get(t).text("status"); got != "CANCELLED" {
		t.Errorf("the newer hold of its seats is %s, want CANCELLED", got)
	}
	p.hold(t, "A-4").refused(t, http.StatusForbidden, "not_admitted") // one turn, one order
	e.buyer(t).holds(t, "A-3", "A-4")

	// A newer order that is being paid is not taken away: its money may be on its way too.
	p = e.buyer(t)
	e.plan(t, rows(6)).want(t, http.StatusOK)
	first = p.holds(t, "A-5")
	payment = first.pays(t)
	e.h.tell(t, first.news("failed", payment)).want(t, http.StatusOK)
	second = p.holds(t, "A-5")
	second.pays(t)
	e.h.tell(t, first.news("succeeded", payment)).want(t, http.StatusOK)
	if got := first.get(t).text("status"); got != "REFUND_DUE" {
		t.Errorf("the order with the money is %s, want REFUND_DUE", got)
	}
	if got := second.get(t).text("status"); got != "PAYING" {
		t.Errorf("the newer order is %s, want PAYING", got)
	}
}

func TestEveryWayToPayKeepsTheTurnWhenItFails(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, nil)
	p := e.buyer(t)
	o := p.holds(t, "A-1")
	e.h.tell(t, o.news("failed", o.pays(t))).want(t, http.StatusOK)
	p.holds(t, "A-2") // a failed order keeps the token
	if got := o.get(t).text("status"); got != "CANCELLED" {
		t.Errorf("the replaced order is %s, want CANCELLED", got)
	}
	q := e.buyer(t)
	r := q.bought(t, "A-3")
	q.hold(t, "A-4").refused(t, http.StatusForbidden, "not_admitted") // a paid one consumes it
	if r.get(t).text("status") != "PAID" {
		t.Error("not PAID")
	}
}
