package outbox

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheShownSlotIsTheTimeAtWhichAMessageGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := newShelf()
		sink := &receiver{answer: func(context.Context, Message) error { time.Sleep(time.Second); return nil }}
		r, end := running(t, book, map[string]Sink{"s": sink}, nil, func(c *Config) {
			c.Rules = map[string]Rule{"s": {Interval: time.Minute, Concurrency: 2}}
		})
		some := book.commit("s", keysOf("k", 1, 20)...)
		some[7].NextAt = time.Now().Add(time.Hour) // asked for later: the others go past it
		r.Offer(some)
		time.Sleep(10 * time.Second)
		if s := r.Lane("s", "k0"); s.Waiting != 19 || s.InFlight != 0 || s.Next != some[0].CreatedAt.Add(30*time.Second) || s.Rule.Interval != time.Minute {
			t.Errorf("the lane stands at %+v", s)
		}
		shown := map[uint64]time.Time{}
		for _, m := range some {
			at, ok := r.Standing(m.Seq)
			if ok == (m.Seq == 1) {
				t.Errorf("message %d: known %v", m.Seq, ok)
			}
			shown[m.Seq] = at.Due
		}
		if s, _ := r.Standing(5); s.Position != 3 || s.Running {
			t.Errorf("message 5 stands at %+v", s)
		}
		time.Sleep(2 * time.Hour)
		stop(t, end)
		for i, m := range sink.got {
			if want := shown[m.Seq]; m.Seq != 1 && !sink.at[i].Equal(want) {
				t.Errorf("message %d went at %v, %v was shown", m.Seq, sink.at[i].Sub(m.CreatedAt), want.Sub(m.CreatedAt))
			}
		}
		if sink.count() != 20 {
			t.Errorf("%d arrived", sink.count())
		}
	})
}

// The first of a lane may be under way for a run before this one: all that is shown waits for it.
func TestTheShownSlotWaitsForACallThatWasLeftOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book, sink := newShelf(), &receiver{}
		r, end := running(t, book, map[string]Sink{"s": sink}, nil, func(c *Config) {
			c.Rules = map[string]Rule{"s": {Interval: time.Minute}}
		})
		some := book.commit("s", keysOf("k", 1, 4)...)
		some[0].NextAt, some[0].Held = time.Now().Add(DefaultTimeout), true
		r.Offer(some)
		synctest.Wait()
		if s := r.Lane("s", "k0"); !s.Next.Equal(some[0].NextAt) {
			t.Errorf("the next slot is in %v", time.Until(s.Next))
		}
		for i, m := range some {
			want := some[0].NextAt.Add(time.Duration(i) * time.Minute)
			if s, _ := r.Standing(m.Seq); s.Position != i || !s.Due.Equal(want) {
				t.Errorf("message %d stands at %d, due in %v", m.Seq, s.Position, time.Until(s.Due))
			}
		}
		time.Sleep(time.Hour)
		stop(t, end)
		for i, at := range sink.times("k0") {
			if at != DefaultTimeout+time.Duration(i)*time.Minute || sink.got[i].Seq != some[i].Seq {
				t.Errorf("start %d was of message %d at %v", i, sink.got[i].Seq, at)
			}
		}
		r.SetRule("k0", &Rule{Paused: true})
		if s := r.Lane("s", "k0"); !s.Next.IsZero() {
			t.Errorf("a paused lane has a slot in %v", time.Until(s.Next))
		}
	})
}

func TestALaneRunsOutOfTriesAndTimeByItsRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := newShelf()
		sink := &receiver{answer: func(context.Context, Message) error { return &Failure{Reason: "500"} }}
		r, end := running(t, book, map[string]Sink{"s": sink}, nil)
		r.SetRule("tries", &Rule{Attempts: 2})
		r.SetRule("time", &Rule{Deadline: time.Minute})
		r.SetRule("late", &Rule{Deadline: time.Minute, Paused: true})
		r.Offer(book.commit("s", "tries", "time", "late"))
		time.Sleep(10 * time.Minute)
		r.SetRule("late", &Rule{Deadline: time.Minute})
		time.Sleep(time.Second)
		stop(t, end)
		for seq, want := range map[uint64]int{1: 2, 2: 4, 3: 0} {
			if m, _ := book.row(seq); m.State != Dead || m.Attempts != want {
				t.Errorf("%s is %s after %d attempts, want DEAD after %d: %s", m.Key, m.State, m.Attempts, want, m.LastError)
			}
		}
		if at := sink.times("time"); at[len(at)-1] != time.Minute {
			t.Errorf("the last attempt was at %v, want at the deadline", at)
		}
	})
}

// Beside one that failed stand one that asked for a time before its next try, one that asked for a later one, and others.
func TestWhatIsShownBesideAFailedMessageIsWhatHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book, failed := newShelf(), false
		sink := &receiver{}
		sink.answer = func(context.Context, Message) error {
			sink.mu.Lock()
			defer sink.mu.Unlock()
			if failed {
				return nil
			}
			failed = true
			return &Failure{Reason: "503", RetryAfter: 10 * time.Minute}
		}
		r, end := running(t, book, map[string]Sink{"s": sink}, nil, func(c *Config) {
			c.Rules = map[string]Rule{"s": {Interval: time.Minute}}
			c.Rand = func() float64 { return 0 }
		})
		some := book.commit("s", keysOf("k", 1, 5)...)
		some[1].NextAt = time.Now().Add(5 * time.Minute)
		some[3].NextAt = time.Now().Add(time.Hour)
		r.Offer(some)
		time.Sleep(time.Minute)
		if next := r.Lane("s", "k0").Next; !next.Equal(some[0].CreatedAt.Add(10 * time.Minute)) {
			t.Errorf("the next slot is in %v", time.Until(next))
		}
		shown := map[uint64]time.Time{}
		for i, position := range []int{0, 1, 2, 4, 3} {
			s, known := r.Standing(some[i].Seq)
			if shown[some[i].Seq] = s.Due; !known || s.Position != position {
				t.Errorf("message %d stands at %+v, want %d", i+1, s, position)
			}
		}
		time.Sleep(2 * time.Hour)
		stop(t, end)
		for i, m := range sink.got[1:] {
			if !sink.at[i+1].Equal(shown[m.Seq]) {
				t.Errorf("message %d went at %v, %v was shown", m.Seq, sink.at[i+1].Sub(m.CreatedAt), shown[m.Seq].Sub(m.CreatedAt))
			}
		}
	})
}
