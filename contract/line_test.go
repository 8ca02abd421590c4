package contract

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// queue is an event with one slot, taken by the person returned: all others wait.
func queue(t *testing.T, rules object, settings ...object) (event, *person) {
	t.Helper()
	all := object{"maxActive": 1}
	for k, v := range rules {
		all[k] = v
	}
	e := eventOf(t, shared, 10, all, settings...)
	return e, e.buyer(t)
}

func TestThreeJoinsGiveRanks010WithTheThirdInAnotherEvent(t *testing.T) {
	t.Parallel()
	a, _ := queue(t, nil)
	b, _ := queue(t, nil)
	for i, e := range []event{a, a, b} {
		if got, want := e.person(t).join(t).number("rank"), []int{0, 1, 0}[i]; got != want {
			t.Errorf("join %d: rank %d, want %d", i, got, want)
		}
	}
}

func TestB01RepeatedJoinsFromManySocketsAreOnePlace(t *testing.T) {
	t.Parallel()
	e, _ := queue(t, nil)
	var line []*person
	for range 4 {
		line = append(line, e.joined(t))
	}
	second := line[1]
	was := second.queueId
	for range 5 {
		second.place(t).want(t, http.StatusOK)
	}
	together(50, func(int) {
		if got := second.call(t, "POST", e.path("/queue"), nil).want(t, http.StatusOK).text("queueId"); got != was {
			t.Errorf("a repeated join gave place %s, want %s", got, was)
		}
	})
	for rank, p := range line {
		a := p.place(t)
		if a.number("rank") != rank || a.number("number") != rank+2 || a.number("currentTotalWaitingCount") != 4 {
			t.Errorf("place %d: rank %d, number %d of %d waiting; want rank %d, number %d of 4", rank,
				a.number("rank"), a.number("number"), a.number("currentTotalWaitingCount"), rank, rank+2)
		}
	}

	fresh := e.person(t)
	var created atomic.Int32
	ids := make([]string, 50)
	together(50, func(i int) {
		a := fresh.call(t, "POST", e.path("/queue"), nil)
		if a.status == http.StatusCreated {
			created.Add(1)
		}
		ids[i] = a.text("queueId")
	})
	slices.Sort(ids)
	if got := created.Load(); got != 1 || ids[0] == "" || len(slices.Compact(ids)) != 1 {
		t.Errorf("50 first joins at once: %d times 201, places %v; want one of each", got, slices.Compact(ids))
	}
}

func TestWaitingPlaceTellsWhenToAskAgain(t *testing.T) {
	t.Parallel()
	e, _ := queue(t, nil)
	a := e.person(t).join(t).want(t, http.StatusCreated)
	if got := a.text("status"); got != "WAITING" {
		t.Fatalf("status %s, want WAITING", got)
	}
	after, err := strconv.Atoi(a.header.Get("Retry-After"))
	if err != nil || after < 1 {
		t.Errorf("Retry-After %q, want seconds", a.header.Get("Retry-After"))
	}
	every, millis := a.number("pollingIntervalSeconds"), a.number("pollAfterMillis")
	if every != 1 || millis < 800 || millis > 1200 {
		t.Errorf("at rank 0 poll every %d s, after %d ms; want 1 s with 20 %% of jitter", every, millis)
	}
	low, high, likely := a.number("estimatedWaitRange", "low"), a.number("estimatedWaitRange", "high"), a.number("estimatedWaitSeconds")
	if low < 0 || low > likely || likely > high {
		t.Errorf("estimate %d in %d to %d, want it inside", likely, low, high)
	}
	if d := time.Since(a.moment(t, "serverTime")).Abs(); d > patience {
		t.Errorf("serverTime is %v away", d)
	}
}

func TestB03LinesOfTwentyEventsDoNotMix(t *testing.T) {
	t.Parallel()
	const lines, each = 20, 10
	es := make([]event, lines)
	for i := range es {
		es[i], _ = queue(t, nil)
	}
	var order []int
	for i := range lines * each {
		order = append(order, i%lines)
	}
	rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	ranks := make([]int, lines)
	for _, i := range order {
		if got := es[i].person(t).join(t).number("rank"); got != ranks[i] {
			t.Errorf("event %d: rank %d, want %d", i, got, ranks[i])
		}
		ranks[i]++
	}
}

func TestLeaverFromTheMiddleClosesTheLine(t *testing.T) {
	t.Parallel()
	e, _ := queue(t, nil)
	var line []*person
	for range 5 {
		line = append(line, e.joined(t))
	}
	gone := line[2]
	gone.leave(t).want(t, http.StatusNoContent)
	gone.leave(t).want(t, http.StatusNoContent)
	gone.place(t).refused(t, http.StatusNotFound, "not_entered")
	if got := gone.call(t, "GET", e.path("/queue"), nil).want(t, http.StatusOK).text("status"); got != "NOT_ENTERED" {
		t.Errorf("the leaver's own place is %s, want NOT_ENTERED", got)
	}
	for i, p := range []*person{line[0], line[1], line[3], line[4]} {
		if got := p.place(t).number("rank"); got != i {
			t.Errorf("rank %d, want %d", got, i)
		}
	}
	if a := gone.join(t).want(t, http.StatusCreated); a.number("rank") != 4 || a.number("number") != 7 {
		t.Errorf("back again: rank %d, number %d; want the end: 4, 7", a.number("rank"), a.number("number"))
	}
	gone.call(t, "DELETE", e.path("/queue/"+line[0].queueId), nil).refused(t, http.StatusNotFound, "not_entered")
}

func TestB07FreeHouseIsEnteredAtOnceAndAFreedSlotWithinATick(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, object{"maxActive": 1})
	first := e.person(t)
	a := first.join(t).want(t, http.StatusCreated)
	if a.text("status") != "READY" || a.number("estimatedWaitSeconds") != 0 || a.text("entryToken") == "" || a.text("tokenState") != "READY" {
		t.Fatalf("first answer %s, want READY, no wait, a token", a.body)
	}
	if got := a.moment(t, "entryTokenExpiresAt").Sub(a.moment(t, "serverTime")); got != 5*time.Minute {
		t.Errorf("the token lasts %v, want 5m0s", got)
	}
	expires := a.text("entryTokenExpiresAt")
	if b := first.place(t); b.text("entryTokenExpiresAt") != expires || b.text("entryToken") != a.text("entryToken") {
		t.Error("polling changed the token or moved its end")
	}
	next := e.joined(t)
	first.leave(t).want(t, http.StatusNoContent)
	next.ready(t, patience)
}

func TestNumbersRiseInTheOrderInWhichJoinsWereAcknowledged(t *testing.T) {
	t.Parallel()
	e, _ := queue(t, nil)
	type joined struct {
		asked, told time.Time
		number      int
	}
	all := make([]joined, 300)
	each(len(all), func(i int) {
		p := e.person(t)
		asked := time.Now()
		a := p.join(t).want(t, http.StatusCreated)
		all[i] = joined{asked, time.Now(), a.number("number")}
	})
	for _, a := range all {
		for _, b := range all {
			if a.told.Before(b.asked) && a.number >= b.number {
				t.Errorf("number %d was acknowledged before the join with number %d began", a.number, b.number)
			}
		}
	}
}
