package outbox

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestWithdrawnMessageDoesNotGoUntilItIsBroughtBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := newShelf()
		var mu sync.Mutex
		var seqs []uint64
		sink := &receiver{answer: func(_ context.Context, m Message) error {
			mu.Lock()
			seqs = append(seqs, m.Seq)
			mu.Unlock()
			time.Sleep(time.Second)
			return nil
		}}
		sent := func() []uint64 {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(seqs)
		}
		r, end := running(t, book, map[string]Sink{"s": sink}, nil)
		defer func() {
			if err := end(); err != nil {
				t.Error(err)
			}
		}()
		r.Offer(book.commit("s", "k", "k", "k", "k"))
		synctest.Wait()
		if r.Withdraw(1) {
			t.Error("a message in flight was taken back")
		}
		for _, seq := range []uint64{2, 2, 99} { // also again, and one that is not known
			if !r.Withdraw(seq) {
				t.Errorf("message %d, which does not go, was not taken back", seq)
			}
		}
		if s, known := r.Standing(3); !known || s.Position != 0 {
			t.Errorf("the one behind it stands at %+v, %v", s, known)
		}
		time.Sleep(time.Minute)
		if went := sent(); len(went) != 3 || went[1] != 3 {
			t.Errorf("%v went, want all but the second", went)
		}
		r.Retry(2) // the Book has it still
		time.Sleep(time.Minute)
		if went := sent(); len(went) != 4 || went[3] != 2 {
			t.Errorf("%v went, want the second at last", went)
		}
		if s := r.Stats(); s.Waiting != 0 || s.InFlight != 0 || s.Dead != 0 {
			t.Errorf("left is %+v", s)
		}
	})
}

func TestSinkIntervalIsThatOfEachSink(t *testing.T) {
	var l rules
	l.sinks = map[string]*Rule{"task:": {Interval: time.Minute, Concurrency: 1}}
	l.set("a*", &Rule{Interval: SinkInterval, Concurrency: 3, Paused: true})
	if got := *l.of("task:", "a1"); got != (Rule{Interval: time.Minute, Concurrency: 3, Paused: true}) {
		t.Errorf("where the sink has a pace the rule is %+v", got)
	}
	if got := *l.of("log:", "a1"); got != (Rule{Concurrency: 3, Paused: true}) || l.of("log:", "a1").Step() != 0 {
		t.Errorf("where it has none the rule is %+v", got)
	}
	if l.of("task:", "a1") != l.of("task:", "a2") {
		t.Error("two lanes do not share their rule")
	}
	l.set("a*", &Rule{Interval: SinkInterval, Concurrency: 4})
	if got := l.of("task:", "a1"); got.Concurrency != 4 || got.Paused {
		t.Errorf("after a change the rule is %+v", got)
	}
}

// What is booked holds up the next run by one step of the present rule at most.
func TestSlotsOfARunBeforeAreBoundedByTheRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRelay(Config{Book: newShelf(), Sinks: map[string]Sink{"s": &receiver{}}})
		for key, rule := range map[string]Rule{"slow": {Interval: time.Hour}, "fast": {Interval: time.Second}, "free": {}} {
			r.SetRule(key, &rule)
		}
		now := time.Now()
		for key, want := range map[string]time.Duration{"slow": time.Minute, "fast": time.Second + lead, "free": 0, "other": 0} {
			r.Resume([]Slot{{"s", key, now.Add(time.Minute)}})
			if got := r.Lane("s", key).Next.Sub(now); got != want {
				t.Errorf("%s waits %v, want %v", key, got, want)
			}
		}
	})
}
