package contract

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
)

func TestB21TwoHundredBuyersAtOneSeatGiveOneHold(t *testing.T) {
	t.Parallel()
	const rounds = 5
	e := eventOf(t, shared, rounds, object{"maxSeatsPerOrder": 1})
	buyers := e.buyers(t, 200)
	for round := range rounds {
		seat := fmt.Sprintf("A-%d", round+1)
		oneWinner(t, buyers, seat)
	}
}

func TestFiftyBuyersAtSeatA12GiveExactlyOneHold(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 12, nil)
	oneWinner(t, e.buyers(t, 50), "A-12")
}

// oneWinner lets all hold one seat at once; the winner then gives it back if he can.
func oneWinner(t *testing.T, buyers []*person, seat string) {
	t.Helper()
	answers := make([]answer, len(buyers))
	together(len(buyers), func(i int) { answers[i] = buyers[i].hold(t, seat) })
	won := 0
	for i, a := range answers {
		if a.status != http.StatusCreated {
			a.refused(t, http.StatusConflict, "seats_taken")
			if got := a.texts("seats"); !slices.Equal(got, []string{seat}) {
				t.Errorf("the loser is told of %v, want %s", got, seat)
			}
			continue
		}
		won++
		o := order{person: buyers[i], id: a.text("orderId")}
		if got := o.get(t).texts("seats", "id"); !slices.Equal(got, []string{seat}) {
			t.Errorf("the winner's order has %v, want %s", got, seat)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d hold seat %s, want 1", won, len(buyers), seat)
	}
}

func TestB21OverlappingWishesGiveEachSeatOneHolder(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 3, nil)
	wishes := [][]string{{"A-1", "A-2"}, {"A-2", "A-3"}, {"A-3", "A-1"}}
	buyers := e.buyers(t, 6)
	for range 20 {
		answers := make([]answer, len(buyers))
		together(len(buyers), func(i int) { answers[i] = buyers[i].hold(t, wishes[i%3]...) })
		won := 0
		for i, a := range answers {
			if a.status == http.StatusCreated {
				won++
				order{person: buyers[i], id: a.text("orderId")}.release(t).want(t, http.StatusNoContent)
				continue
			}
			a.refused(t, http.StatusConflict, "seats_taken")
			for _, s := range a.texts("seats") {
				if !slices.Contains(wishes[i%3], s) {
					t.Errorf("told of seat %s, which was not asked for", s)
				}
			}
		}
		if won != 1 {
			t.Errorf("%d hold two of three seats, want 1", won)
		}
	}
	e.count(t, "available", 3)
}

func TestB104TwoHoldsAtOnceOnOneTokenLeaveOne(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 12, nil)
	p := e.buyer(t)
	together(4, func(i int) {
		p.hold(t, fmt.Sprintf("A-%d", 3*i+1), fmt.Sprintf("A-%d", 3*i+2), fmt.Sprintf("A-%d", 3*i+3)).want(t, http.StatusCreated)
	})
	e.count(t, "held", 3)
	o := order{person: p, id: p.place(t).text("orderId")}
	if a := o.get(t); a.text("status") != "PENDING" || len(a.list("seats")) != 3 {
		t.Errorf("the order that is left: %s, want PENDING with three seats", a.body)
	}
}

func TestNoReaderSeesPartOfAHold(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 8, nil)
	done := make(chan struct{})
	var crowd sync.WaitGroup
	for i, p := range e.buyers(t, 4) {
		crowd.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					a := p.hold(t, fmt.Sprintf("A-%d", 2*i+1), fmt.Sprintf("A-%d", 2*i+2)).want(t, http.StatusCreated)
					order{person: p, id: a.text("orderId")}.release(t).want(t, http.StatusNoContent)
				}
			}
		})
	}
	seen := map[string]bool{}
	until(t, "several pictures of the house", patience, func() bool {
		states := e.get(t, "/seats").text("states")
		seen[states] = true
		for i := 0; i+1 < len(states); i += 2 {
			if states[i] != states[i+1] {
				t.Errorf("states %s show half of a hold", states)
			}
		}
		return len(seen) > 2
	})
	close(done)
	crowd.Wait()
}
