package contract

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// pacedCalls is when each of a line of people was called, sorted, read from the
// end of their turns of 5 minutes. No second may have more of them than pace.
func pacedCalls(t *testing.T, line []*person, pace int) []time.Time {
	t.Helper()
	at := make([]time.Time, len(line))
	each(len(line), func(i int) {
		a := line[i].ready(t, 30*time.Second)
		at[i] = a.moment(t, "entryTokenExpiresAt").Add(-5 * time.Minute)
	})
	slices.SortFunc(at, time.Time.Compare)
	for i := range len(at) - pace {
		if d := at[i+pace].Sub(at[i]); d < time.Second {
			t.Errorf("%d were called within %v, want at most %d in any second", pace+1, d, pace)
		}
	}
	return at
}

func TestPaceHoldsInEverySecondPassThroughIncluded(t *testing.T) {
	t.Parallel()
	const pace, people = 15, 80
	for _, line := range []string{"auto", "always"} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			e := eventOf(t, shared, 4, object{"admitPerSecond": pace}, object{"line": line})
			all := make([]*person, people)
			for i := range all {
				all[i] = e.person(t)
			}
			each(people, func(i int) { all[i].join(t).want(t, http.StatusCreated) })
			at := pacedCalls(t, all, pace)
			if took, most := at[people-1].Sub(at[0]), 10*time.Second; took > most {
				t.Errorf("%d people took %v at %d/s, want at most %v", people, took, pace, most)
			}
		})
	}
}

func TestPaceHoldsOverACrash(t *testing.T) {
	t.Parallel()
	const pace, people = 8, 60
	h := newHouse(t, "--rate-limit", "0")
	e := eventOf(t, h, 4, object{"admitPerSecond": pace}, object{"line": "always"})
	all := make([]*person, people)
	each(people, func(i int) { all[i] = e.joined(t) })
	inside := func(p *person) bool { return p.place(t).text("status") == "READY" }
	slices.SortFunc(all, func(p, q *person) int { return p.place(t).number("number") - q.place(t).number("number") })
	for i := pace; i < people/2; i += pace { // kill it right after a call, when the next would be too early
		until(t, "the next call", patience, func() bool { return inside(all[i]) })
		h.kill()
		if err := h.start(); err != nil {
			t.Fatal(err)
		}
	}
	pacedCalls(t, all, pace)
}

func TestB15HundredJoinsAtOncePassNoMoreThanMaxActive(t *testing.T) {
	t.Parallel()
	const most = 7
	e := eventOf(t, shared, 4, object{"maxActive": most})
	all := make([]*person, 100)
	each(len(all), func(i int) { all[i] = e.person(t) })
	var ready atomic.Int32
	numbers := make([]int, len(all))
	together(len(all), func(i int) {
		a := all[i].join(t).want(t, http.StatusCreated)
		if a.text("status") == "READY" {
			ready.Add(1)
		}
		numbers[i] = a.number("number")
	})
	if got := ready.Load(); got != most {
		t.Errorf("%d of 100 are inside at once, want %d", got, most)
	}
	slices.Sort(numbers)
	for i, n := range numbers {
		if n != i+1 {
			t.Fatalf("numbers %v, want 1 to 100, each once", numbers)
		}
	}
}

func TestMaxActiveIsNeverExceededAndRefilledWithinATick(t *testing.T) {
	t.Parallel()
	const most, people = 5, 15
	e := eventOf(t, shared, 4, object{"maxActive": most})
	line := make([]*person, people)
	each(people, func(i int) { line[i] = e.joined(t) })
	for len(line) > 0 {
		want := min(most, len(line))
		var inside, outside []*person
		until(t, fmt.Sprintf("%d inside", want), patience, func() bool {
			inside, outside = nil, nil
			for _, p := range line {
				if p.place(t).text("status") == "READY" {
					inside = append(inside, p)
				} else {
					outside = append(outside, p)
				}
			}
			if len(inside) > want {
				t.Fatalf("%d inside, want at most %d", len(inside), want)
			}
			return len(inside) == want
		})
		for i, p := range inside {
			if i < 3 || len(outside) == 0 {
				p.leave(t).want(t, http.StatusNoContent)
			} else {
				outside = append(outside, p)
			}
		}
		line = outside
	}
}

func TestB11NoShowsDoNotStallTheLine(t *testing.T) {
	t.Parallel()
	const most = 10
	e := eventOf(t, shared, 4, object{"maxActive": most, "pickupSeconds": 2})
	var line []*person
	for range 30 {
		line = append(line, e.joined(t))
	}
	for _, p := range line[:most] {
		p.ready(t, patience)
		p.leave(t).want(t, http.StatusNoContent)
	}
	// Nobody of the next ten is there; the last ten are, and get in all the same.
	until(t, "the last ten inside", patience, func() bool {
		inside := 0
		for _, p := range line[20:] {
			if p.place(t).text("status") == "READY" {
				inside++
			}
		}
		return inside == most
	})
	late := line[12].join(t)
	if late.text("status") != "WAITING" || late.number("rank") > 1 || late.number("number") != 13 {
		t.Errorf("a no-show comes back to %s, rank %d, number %d; want WAITING in front with number 13", late.text("status"), late.number("rank"), late.number("number"))
	}
}

func TestAsideReturnsWithRank0AndTheOwnNumber(t *testing.T) {
	t.Parallel()
	e, first := queue(t, object{"pickupSeconds": 2})
	away, there, last := e.joined(t), e.joined(t), e.joined(t)
	number := 2
	first.leave(t)
	until(t, "the next one called in place of who is away", patience, func() bool {
		last.place(t)
		return there.place(t).text("status") == "READY"
	})
	away.call(t, "GET", e.path("/queue/"+away.queueId), nil).refused(t, http.StatusNotFound, "not_entered")
	a := away.join(t).want(t, http.StatusOK)
	if a.text("status") != "WAITING" || a.number("rank") != 0 || a.number("number") != number {
		t.Errorf("returned to %s, rank %d, number %d; want WAITING, 0, %d", a.text("status"), a.number("rank"), a.number("number"), number)
	}
	if got := last.place(t).number("rank"); got != 1 {
		t.Errorf("who waits behind has rank %d, want 1", got)
	}
	there.leave(t)
	away.ready(t, patience)
}

func TestAfterTheGraceAnAsideVisitorStartsAtTheEnd(t *testing.T) {
	t.Parallel()
	e, first := queue(t, object{"pickupSeconds": 2, "returnSeconds": 1})
	away, there, last := e.joined(t), e.joined(t), e.joined(t)
	first.leave(t)
	var called time.Time
	until(t, "the next one called in place of who is away", patience, func() bool {
		last.place(t)
		a := there.place(t)
		called = a.moment(t, "serverTime")
		return a.text("status") == "READY"
	})
	until(t, "the end of the grace", patience, func() bool {
		return last.place(t).moment(t, "serverTime").After(called.Add(1100 * time.Millisecond))
	})
	if a := away.join(t).want(t, http.StatusCreated); a.number("number") != 5 || a.number("rank") != 1 {
		t.Errorf("after the grace: number %d, rank %d; want the end: 5, 1", a.number("number"), a.number("rank"))
	}
}

func TestB12TurnThatEndsFreesTheSlotAndSaysSo(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, object{"maxActive": 1, "turnSeconds": 2})
	p := e.buyer(t)
	next := e.joined(t)
	next.ready(t, patience)
	p.hold(t, "A-1").refused(t, http.StatusUnauthorized, "entry_token_expired")
	p.place(t).refused(t, http.StatusNotFound, "not_entered")
	if got := p.join(t).want(t, http.StatusCreated).text("status"); got != "WAITING" && got != "READY" {
		t.Errorf("an expired visitor joins again as %s", got)
	}
}

func TestB13CountsEqualARecountAfterRandomComingAndGoing(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 20, object{"maxActive": 6})
	const people = 60
	all := make([]*person, people)
	each(people, func(i int) {
		p := e.joined(t)
		for range rand.IntN(6) {
			switch rand.IntN(4) {
			case 0:
				p.leave(t)
			case 1:
				p.join(t)
			case 2:
				p.call(t, "GET", e.path("/queue"), nil)
			case 3:
				if p.token != "" {
					p.ask(t, object{"best": object{"count": 1 + rand.IntN(3)}})
				}
			}
		}
		all[i] = p
	})
	recount := func() (waiting, active, held int) {
		for _, p := range all {
			a := p.call(t, "GET", e.path("/queue"), nil)
			switch a.text("status") {
			case "WAITING":
				waiting++
			case "READY":
				active++
				if id := a.text("orderId"); id != "" {
					held += len(order{person: p, id: id}.get(t).list("seats"))
				}
			}
		}
		return waiting, active, held
	}
	until(t, "status and seats equal to a recount", patience, func() bool {
		waiting, active, held := recount()
		if active > 6 {
			t.Fatalf("%d active, want at most 6", active)
		}
		status, seats := e.get(t, "/status"), e.get(t, "/seats")
		return active == min(6, waiting+active) && status.number("waiting") == waiting && seats.number("counts", "held") == held && seats.number("counts", "available") == 20-held
	})
}

func TestPaceCanBeChangedWhileSelling(t *testing.T) {
	t.Parallel()
	e, _ := queue(t, nil)
	a, b := e.joined(t), e.joined(t)
	e.staff(t, "PATCH", "/pace", object{"maxActive": 3}).want(t, http.StatusOK)
	a.ready(t, patience)
	b.ready(t, patience)
	e.staff(t, "PATCH", "/pace", object{"admitPerSecond": 7}).want(t, http.StatusOK)
	until(t, "the new pace in the status", patience, func() bool { return e.get(t, "/status").number("pace") == 7 })
	for _, bad := range []object{{"admitPerSecond": 0}, {"admitPerSecond": 5001}, {"maxActive": 20001}, {"maxActive": -1}, {"admitPerSecond": 1.5}, {"admitPerSecond": "7"}, {"turnSeconds": 9}} {
		e.staff(t, "PATCH", "/pace", bad).problem(t)
	}
}

func TestB116AfterBuyingOneMayJoinAgainAtTheEnd(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, object{"maxActive": 1})
	p := e.buyer(t)
	old := *p
	next := e.joined(t)
	p.bought(t, "A-1")
	next.ready(t, patience) // paying frees the slot
	old.place(t).refused(t, http.StatusNotFound, "not_entered")
	p.hold(t, "A-2").refused(t, http.StatusForbidden, "not_admitted")
	if a := p.join(t).want(t, http.StatusCreated); a.text("status") != "WAITING" || a.number("number") != 3 {
		t.Errorf("joined again: %s, number %d; want WAITING with number 3", a.text("status"), a.number("number"))
	}
}

// Nobody waits for the next look at the line, here a minute away, when a slot is free.
func TestFreeSlotIsGivenAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "--rate-limit", "0", "--tick", "1m")
	e := eventOf(t, h, 4, object{"maxActive": 1, "pickupSeconds": 2, "turnSeconds": 4})
	left, _, late, stays, last := e.joined(t), e.joined(t), e.joined(t), e.joined(t), e.joined(t) // the second never comes
	left.ready(t, patience)                                                                       // nobody was before him
	left.leave(t)
	until(t, "the third called in place of the second, who is not there", patience, func() bool { return late.place(t).text("status") == "READY" })
	until(t, "the fourth called when the turn of the third is over", patience, func() bool { return stays.place(t).text("status") == "READY" })
	last.ready(t, patience)
}
