package outbox

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestLanesThatDoNotGoOnAreNamedWithTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := newShelf()
		ok := &receiver{answer: func(_ context.Context, m Message) error {
			if strings.HasPrefix(m.Key, "bad") {
				return &Failure{Reason: "500", RetryAfter: time.Hour}
			}
			return nil
		}}
		gone := &receiver{answer: func(context.Context, Message) error { return &Failure{Reason: "410", Gone: true} }}
		r, end := running(t, book, map[string]Sink{"s": ok, "gone": gone, "idle": ok}, nil)
		r.SetRule("still-*", &Rule{Paused: true})
		r.SetRule("empty", &Rule{Paused: true})
		r.Offer(book.commit("s", "good", "bad", "bad", "still-1", "still-2"))
		r.Offer(book.commit("gone", "a", "a")) // the first is dead
		r.Offer(book.commit("stranger", "b"))
		r.Offer(book.commit("idle", "still-3")) // no other lane of its sink is in trouble
		time.Sleep(time.Minute)
		var got []string
		for _, l := range r.Troubles(99) {
			got = append(got, fmt.Sprintf("%s %s %s %d", l.Sink, l.Key, l.Why, l.Waiting))
			if until := time.Until(l.Next); l.Why == WhyFailed && (until < 58*time.Minute || until > time.Hour+maxSpread) || l.Why != WhyFailed && !l.Next.IsZero() {
				t.Errorf("%s: the next try is at %v", l.Key, l.Next)
			}
		}
		if want := "gone a stopped 1; idle still-3 paused 1; s bad failed 2; s still-1 paused 1; s still-2 paused 1; stranger b unknown 1"; strings.Join(got, "; ") != want {
			t.Errorf("got  %s\nwant %s", strings.Join(got, "; "), want)
		}
		if s := r.Stats(); s.PausedLanes != 3 || s.BlockedLanes != 3 {
			t.Errorf("stats: %+v", s)
		}
		if two := r.Troubles(2); len(two) != 2 || two[0].Key != "a" {
			t.Errorf("the first two: %+v", two)
		}
		for _, s := range r.Sinks() {
			if s.Stopped != (s.Name == "gone") || s.Down {
				t.Errorf("sink %+v", s)
			}
		}
		r.SetRule("still-*", &Rule{})
		time.Sleep(time.Minute)
		stop(t, end)
		if s := r.Stats(); s.PausedLanes != 0 {
			t.Errorf("%d lanes are paused", s.PausedLanes)
		}
	})
}

func TestSinkThatIsNotReachedIsDownUntilItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := newShelf()
		var away atomic.Bool
		away.Store(true)
		sink := &receiver{answer: func(context.Context, Message) error {
			if away.Load() {
				return &Failure{Reason: "connection refused", Down: true}
			}
			return nil
		}}
		r, end := running(t, book, map[string]Sink{"s": sink}, nil)
		r.Offer(book.commit("s", keysOf("k", 9, 1)...))
		time.Sleep(time.Minute)
		synctest.Wait()
		if s := r.Sinks(); len(s) != 1 || !s[0].Down {
			t.Errorf("sinks: %+v, want it to be down", s)
		}
		away.Store(false)
		time.Sleep(10 * time.Hour)
		synctest.Wait()
		if s := r.Sinks(); s[0].Down {
			t.Errorf("sinks: %+v, want it to be up", s)
		}
		stop(t, end)
	})
}
