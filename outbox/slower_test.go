package outbox

import (
	"testing"
	"testing/synctest"
	"time"
)

// Whatever rules stood in between, the next start is a step of the present rule after the last one.
func TestASlowerRuleCountsFromTheLastStart(t *testing.T) {
	for name, between := range map[string]Rule{
		"faster": {Interval: time.Second, Paused: true}, "no pace": {Paused: true}, "slower": {Interval: 24 * time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			book, sink := newShelf(), &receiver{}
			r, end := running(t, book, map[string]Sink{"s": sink}, nil)
			r.SetRule("k", &Rule{Interval: time.Hour})
			r.Offer(book.commit("s", "k"))
			time.Sleep(10 * time.Minute)
			r.SetRule("k", &between)
			time.Sleep(10 * time.Minute)
			r.SetRule("k", &Rule{Interval: 2 * time.Hour})
			some := book.commit("s", "k")
			some[0].CreatedAt = some[0].CreatedAt.Add(-20 * time.Minute)
			book.put(some[0])
			r.Offer(some)
			if at := book.booked()[0].At; at.Before(time.Now().Add(100 * time.Minute)) {
				t.Errorf("%s: the slot on disk is in %v", name, time.Until(at))
			}
			time.Sleep(24 * time.Hour)
			stop(t, end)
			if n := len(r.lanes.targets["s"].lanes); n != 0 {
				t.Errorf("%s: %d lanes are left", name, n)
			}
			if at := sink.times("k"); len(at) != 2 || at[1] != 2*time.Hour {
				t.Errorf("%s: starts at %v", name, at)
			}
		})
	}
}
