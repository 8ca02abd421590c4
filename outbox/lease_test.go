package outbox

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// leased is a lane of n whose first message may be under way for a run before this one. It is taken in at once.
func leased(t *testing.T, attempts, n int) (r *Relay, book *shelf, sink *receiver, end func() error) {
	book, sink = newShelf(), &receiver{}
	r, end = running(t, book, map[string]Sink{"s": sink}, nil)
	some := book.commit("s", keysOf("k", 1, n)...)
	some[0].Attempts = attempts
	book.put(some[0])
	some[0].NextAt, some[0].Held = time.Now().Add(DefaultTimeout), true
	r.Offer(some)
	time.Sleep(time.Second)
	return r, book, sink, end
}

func TestMessageThatMayBeUnderWayIsNotTakenBack(t *testing.T) {
	for attempts := range 2 {
		synctest.Test(t, func(t *testing.T) {
			r, _, sink, end := leased(t, attempts, 2)
			defer stop(t, end)
			if r.Withdraw(1) {
				t.Error("it was taken back")
			}
			r.SetRule("k0", &Rule{Paused: true})
			time.Sleep(DefaultTimeout)
			if !r.Withdraw(1) {
				t.Error("it was not taken back when its call must have ended")
			}
			r.SetRule("k0", nil)
			synctest.Wait()
			if got := sink.seqs("k0"); !slices.Equal(got, []uint64{2}) {
				t.Errorf("%v went", got)
			}
		})
	}
}

func TestLaneOfADroppedMessageWaitsUntilItsCallMustHaveEnded(t *testing.T) {
	for attempts := range 2 {
		synctest.Test(t, func(t *testing.T) {
			r, book, sink, end := leased(t, attempts, 3)
			book.drop(1)
			r.Forget(1)
			time.Sleep(DefaultTimeout - time.Second - time.Millisecond)
			if n := sink.count(); n != 0 {
				t.Errorf("%d went beside it", n)
			}
			if at, _ := r.Standing(2); at.Position != 0 || time.Until(at.Due) != time.Millisecond || r.Lane("s", "k0").Waiting != 2 {
				t.Errorf("the next stands at %+v", at)
			}
			if s := r.Stats(); s.Waiting != 2 {
				t.Errorf("it stands at %+v", s)
			}
			time.Sleep(time.Second)
			if got := sink.seqs("k0"); !slices.Equal(got, []uint64{2, 3}) {
				t.Errorf("%v went", got)
			}
			r.Retry(1)
			synctest.Wait()
			if s := r.Stats(); s != (Stats{Delivered: 2}) || len(r.lanes.targets["s"].lanes) != 0 {
				t.Errorf("left is %+v", s)
			}
			stop(t, end)
		})
	}
}

func TestRetryOfAMessageThatMayBeUnderWayWaitsForItsEnd(t *testing.T) {
	for attempts := range 2 {
		synctest.Test(t, func(t *testing.T) {
			r, _, sink, end := leased(t, attempts, 2)
			r.Retry(1)
			time.Sleep(time.Minute)
			stop(t, end)
			if at := sink.times("k0"); !slices.Equal(sink.seqs("k0"), []uint64{1, 2}) || at[0] != DefaultTimeout {
				t.Errorf("%v went at %v", sink.seqs("k0"), at)
			}
		})
	}
}
