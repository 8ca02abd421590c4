package outbox

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A message has failed three times, and waits five minutes for its fourth try when its lane gets a stricter rule.
func TestAStricterRuleHoldsForAFailedMessageThatWaits(t *testing.T) {
	for name, c := range map[string]struct {
		rule  Rule
		calls int
		dies  time.Duration // after its first try
	}{
		"fewer tries":            {Rule{Attempts: 3}, 3, 2 * time.Minute},
		"fewer tries, slow lane": {Rule{Attempts: 1, Interval: 24 * time.Hour}, 3, 2 * time.Minute},
		"fewer tries, paused":    {Rule{Attempts: 2, Paused: true}, 3, 2 * time.Minute},
		"a try is left":          {Rule{Attempts: 4}, 4, 5*time.Minute + 35*time.Second},
		"deadline has passed":    {Rule{Deadline: time.Minute}, 3, 2 * time.Minute},
		"deadline is to come":    {Rule{Deadline: 3 * time.Minute}, 4, 3 * time.Minute},
		"less of both":           {Rule{Attempts: 100, Deadline: 3 * time.Minute}, 4, 3 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			book := newShelf()
			sink := &receiver{answer: func(_ context.Context, m Message) error {
				if m.Seq == 1 {
					return &Failure{Reason: "500 over there"}
				}
				return nil
			}}
			r, end := running(t, book, map[string]Sink{"s": sink}, book.commit("s", "k"), func(c *Config) { c.Rand = func() float64 { return 0.5 } })
			time.Sleep(2 * time.Minute)
			r.Offer(book.commit("s", "k"))
			r.SetRule("k", &c.rule)
			synctest.Wait()
			time.Sleep(c.dies - 2*time.Minute - time.Nanosecond)
			if m, _ := book.row(1); m.State == Dead && c.dies > 2*time.Minute {
				t.Errorf("%s: it died too early", name)
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			m, _ := book.row(1)
			if m.State != Dead || m.Attempts != c.calls || len(sink.seqs("k")) < c.calls || !strings.Contains(m.LastError, "500 over there") {
				t.Errorf("%s: it is %s after %d attempts (%v): %s", name, m.State, m.Attempts, sink.seqs("k"), m.LastError)
			}
			if s := r.Stats(); int(s.Failed) != c.calls || s.Dead != 1 || s.BlockedLanes != 0 {
				t.Errorf("%s: it stands at %+v", name, s)
			}
			if _, left := book.row(2); left == (c.rule.Interval == 0 && !c.rule.Paused) {
				t.Errorf("%s: the one behind it: left %v", name, left)
			}
			stop(t, end)
		})
	}
}

// Many die at once without more outcomes on their way than the relay keeps.
func TestAStricterRuleHoldsForVeryManyLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := newShelf()
		book.slow = 10 * time.Millisecond
		sink := &receiver{answer: func(context.Context, Message) error { return &Failure{Reason: "500", RetryAfter: time.Hour} }}
		r, end := running(t, book, map[string]Sink{"s": sink}, book.commit("s", keysOf("k", 5000, 1)...))
		time.Sleep(time.Minute)
		fail := func(how func() error) {
			book.mu.Lock()
			defer book.mu.Unlock()
			book.failing = how
		}
		fail(func() error { return errors.New("disk full") })
		r.SetRule("k*", &Rule{Attempts: 1})
		time.Sleep(time.Second)
		if s := r.Stats(); s.InFlight == 0 || s.InFlight > maxBacklog {
			t.Errorf("%d wait to be settled", s.InFlight)
		}
		fail(nil)
		time.Sleep(2 * time.Second)
		if s := r.Stats(); s.Dead != 5000 || s.Failed != 5000 || sink.count() != 5000 {
			t.Errorf("after %d calls it stands at %+v", sink.count(), s)
		}
		stop(t, end)
	})
}

// Once its deadline has passed a message is not called, tried or not.
func TestAFailedMessageIsNotCalledAfterItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := newShelf()
		sink := &receiver{answer: func(context.Context, Message) error { return &Failure{Reason: "500"} }}
		r, end := running(t, book, map[string]Sink{"s": sink}, nil)
		r.SetRule("slow", &Rule{Interval: time.Minute, Deadline: 30 * time.Second})
		r.SetRule("stops", &Rule{Deadline: time.Minute})
		r.Offer(book.commit("s", "slow", "stops"))
		time.Sleep(time.Second)
		r.SetRule("stops", &Rule{Deadline: time.Minute, Paused: true})
		time.Sleep(10 * time.Minute)
		r.SetRule("stops", &Rule{Deadline: time.Minute})
		time.Sleep(time.Second)
		stop(t, end)
		for seq := range uint64(2) {
			if m, _ := book.row(seq + 1); m.State != Dead || m.Attempts != 1 || len(sink.times(m.Key)) != 1 || !strings.HasPrefix(m.LastError, "given up after 1 attempts") {
				t.Errorf("%s was called at %v: %+v", m.Key, sink.times(m.Key), m)
			}
		}
	})
}

// Nobody knows whether one that was held was called, and what is said of it must not be untrue.
func TestDeathOfAMessageThatMayHaveBeenCalledIsToldAsSuch(t *testing.T) {
	for attempts, want := range []string{"its deadline passed, and perhaps a call", "given up after 1 attempts in 1m0s, and perhaps a call"} {
		synctest.Test(t, func(t *testing.T) {
			r, book, sink, end := leased(t, attempts, 2)
			r.SetRule("k0", &Rule{Deadline: 10 * time.Second, Paused: true})
			time.Sleep(time.Minute - time.Second)
			r.SetRule("k0", &Rule{Deadline: 10 * time.Second})
			time.Sleep(time.Second)
			stop(t, end)
			if m, _ := book.row(1); m.State != Dead || sink.count() != 0 || !strings.HasPrefix(m.LastError, want) {
				t.Errorf("after %d calls: %+v", sink.count(), m)
			}
			if m, _ := book.row(2); m.LastError != "its deadline passed before its turn came" {
				t.Errorf("of the one behind it is said: %s", m.LastError)
			}
		})
	}
}
