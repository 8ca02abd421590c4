package outbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A thousand requests of one tenant come at once; the tenant allows one a minute. The first goes now, the k-th at
// minute k-1, none twice, none is lost; an unrelated tenant does not notice.
func TestAThousandAtOnceGoOneAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book, sink := newShelf(), &receiver{}
		r, end := running(t, book, map[string]Sink{"s": sink}, nil)
		r.SetRule("tenant-*", &Rule{Interval: time.Minute})
		began := time.Now()
		r.Offer(book.commit("s", keysOf("tenant-", 1, 1000)...))
		time.Sleep(30 * time.Second)
		r.Offer(book.commit("s", "other"))
		time.Sleep(1000 * time.Minute)
		stop(t, end)
		for i, at := range sink.at {
			m := sink.got[i]
			want := time.Duration(m.Seq-1) * time.Minute
			if m.Key == "other" {
				want = 30 * time.Second
			}
			if got := at.Sub(began); got != want {
				t.Fatalf("message %d of %s went at %s, want %s", m.Seq, m.Key, got, want)
			}
		}
		if sink.count() != 1001 || book.left() != 0 {
			t.Errorf("%d arrived, %d rows are left", sink.count(), book.left())
		}
	})
}

func TestAtMostNStartInAnyIntervalAndNAreUndecided(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(uint64(n), 73))
			book := newShelf()
			flying, most := 0, 0
			sink := &receiver{}
			sink.answer = func(context.Context, Message) error {
				sink.mu.Lock()
				flying++
				most = max(most, flying)
				pause := time.Duration(rnd.IntN(40)) * time.Second
				sink.mu.Unlock()
				time.Sleep(pause)
				sink.mu.Lock()
				flying--
				sink.mu.Unlock()
				return nil
			}
			r, end := running(t, book, map[string]Sink{"s": sink}, nil, func(c *Config) { c.Timeout = time.Minute })
			r.SetRule("k0", &Rule{Interval: time.Minute, Concurrency: n})
			r.Offer(book.commit("s", keysOf("k", 1, 100)...))
			time.Sleep(101 * time.Minute)
			stop(t, end)
			for i, at := range sink.at {
				if i >= n && at.Sub(sink.at[i-n]) < time.Minute {
					t.Fatalf("n = %d: starts %d and %d are %s apart", n, i-n, i, at.Sub(sink.at[i-n]))
				}
				if sink.got[i].Seq != uint64(i+1) {
					t.Fatalf("n = %d: start %d is of message %d", n, i, sink.got[i].Seq)
				}
			}
			if took := sink.at[99].Sub(sink.at[0]); sink.count() != 100 || most > n || took > 99*time.Minute/time.Duration(n) {
				t.Errorf("n = %d: %d arrived, at most %d at once, in %s", n, sink.count(), most, took)
			}
		})
	}
}

func TestB73AllPlacesOfALaneAreUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := newShelf()
		sink := &receiver{answer: func(context.Context, Message) error { time.Sleep(time.Second); return nil }}
		r, end := running(t, book, map[string]Sink{"s": sink}, nil)
		r.SetRule("*", &Rule{Concurrency: 5})
		began := time.Now()
		r.Offer(book.commit("s", keysOf("k", 1, 200)...))
		time.Sleep(41 * time.Second)
		if n := book.left(); n != 0 || sink.at[199].Sub(began) != 39*time.Second {
			t.Errorf("%d of 200 are left after 41 s; the last began after %s", n, sink.at[len(sink.at)-1].Sub(began))
		}
		stop(t, end)
	})
}

// The process dies at any moment, commits are slow and fail; still no two calls are closer than the interval.
func TestThePaceHoldsOverCrashesAndSlowCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(66, 66))
		var mu sync.Mutex
		roll := func(n int) int { mu.Lock(); defer mu.Unlock(); return rnd.IntN(n) }
		book, sink := newShelf(), &receiver{}
		book.failing = func() error {
			if roll(10) == 0 {
				return errors.New("no commit")
			}
			return nil
		}
		book.commit("s", keysOf("k", 3, 100)...)
		for range 200 {
			dying := &mortal{shelf: book}
			book.slow = time.Duration(roll(600)) * time.Millisecond
			r := NewRelay(Config{Book: dying, Sinks: map[string]Sink{"s": sink}})
			r.SetRule("*", &Rule{Interval: 10 * time.Second})
			r.Resume(book.booked())
			r.Offer(book.pending())
			ctx, kill := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- r.Run(ctx) }()
			time.Sleep(time.Duration(roll(60_000)) * time.Millisecond)
			dying.killed.Store(true)
			kill()
			<-ended
		}
		for k := range 3 {
			var last time.Time
			n := 0
			for i, m := range sink.got {
				if m.Key != fmt.Sprint("k", k) {
					continue
				}
				if gap := sink.at[i].Sub(last); gap < 10*time.Second {
					t.Fatalf("two calls of %s are %s apart", m.Key, gap)
				}
				last = sink.at[i]
				n++
			}
			if n < 100 {
				t.Errorf("key k%d: %d of 100 arrived", k, n)
			}
		}
		if book.left() != 0 {
			t.Errorf("%d rows are left", book.left())
		}
	})
}

func TestAPausedLaneWaitsAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book, sink := newShelf(), &receiver{}
		r, end := running(t, book, map[string]Sink{"s": sink}, nil)
		r.SetRule("k0", &Rule{Paused: true})
		r.Offer(book.commit("s", keysOf("k", 2, 3)...))
		time.Sleep(time.Hour)
		if n := len(sink.seqs("k0")); n != 0 || len(sink.seqs("k1")) != 3 {
			t.Errorf("%d went through a paused lane, %d beside it", n, len(sink.seqs("k1")))
		}
		r.SetRule("k0", nil)
		time.Sleep(time.Second)
		if n := len(sink.seqs("k0")); n != 3 {
			t.Errorf("%d went after the pause", n)
		}
		stop(t, end)
	})
}

func TestATargetThatIsDownGetsOneAttemptPerPauseAndAllAtOnceWhenItIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book, sink := newShelf(), &receiver{}
		back := false
		sink.answer = func(context.Context, Message) error {
			sink.mu.Lock()
			defer sink.mu.Unlock()
			if back {
				return nil
			}
			return &Failure{Reason: "connection refused", Down: true}
		}
		_, end := running(t, book, map[string]Sink{"s": sink}, book.commit("s", keysOf("k", 1000, 1)...))
		time.Sleep(10*time.Minute + time.Second)
		if n := sink.count(); n < 100 || n > 120+32 { // those that were started before anything was known, then one in five seconds
			t.Errorf("%d attempts in ten minutes", n)
		}
		sink.mu.Lock()
		back = true
		before := len(sink.got)
		sink.mu.Unlock()
		time.Sleep(6 * time.Second)
		if n := sink.count() - before; n < 800 {
			t.Errorf("%d of 1000 arrived within seconds of its return", n)
		}
		time.Sleep(24 * time.Hour)
		stop(t, end)
		if book.left() != 0 {
			t.Errorf("%d rows are left", book.left())
		}
	})
}

func TestARefusalByAReceiverThatIsThereShutsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := newShelf()
		sink := &receiver{answer: func(context.Context, Message) error { return &Failure{Reason: "500"} }}
		_, end := running(t, book, map[string]Sink{"s": sink}, book.commit("s", keysOf("k", 1000, 1)...))
		time.Sleep(time.Second)
		if n := sink.count(); n != 1000 {
			t.Errorf("%d of 1000 were tried", n)
		}
		stop(t, end)
	})
}
