package outbox

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Each job takes a random time before its call. The pace holds at the receiver all the same.
func TestB66NoTwoCallsAreCloserThanTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const jobs = 5000
		rnd := rand.New(rand.NewPCG(66, 5000))
		book, sink := newShelf(), &receiver{}
		book.loadFail = func() error { // one goroutine at a time loads messages of lanes with a pace
			time.Sleep(time.Duration(rnd.IntN(1000)) * time.Millisecond)
			return nil
		}
		r, end := running(t, book, map[string]Sink{"s": sink}, nil)
		r.SetRule("k0", &Rule{Interval: time.Second})
		r.Offer(book.commit("s", keysOf("k", 1, jobs)...))
		time.Sleep(3 * jobs * time.Second)
		stop(t, end)
		if n := closer(sink.at, time.Second); n != 0 || sink.count() != jobs {
			t.Errorf("%d of %d calls came within a second of the one before", n, sink.count())
		}
	})
}

// closer counts those that come sooner after the one before than they may.
func closer(at []time.Time, interval time.Duration) (n int) {
	for i := range at {
		if i > 0 && at[i].Sub(at[i-1]) < interval {
			n++
		}
	}
	return n
}

// A pile of ten thousand does not hold up those with one: with four workers they begin within the rounds that the number
// of lanes makes necessary.
func TestB75APileDoesNotHoldUpOthers(t *testing.T) {
	for _, pile := range []int{1, 500} { // keys over which it is spread
		synctest.Test(t, func(t *testing.T) {
			book := newShelf()
			sink := &receiver{answer: func(context.Context, Message) error { time.Sleep(time.Second); return nil }}
			some := book.commit("s", keysOf("pile", pile, 10_000/pile)...)
			r, end := running(t, book, map[string]Sink{"s": sink}, some, func(c *Config) { c.Workers, c.PerSink = 4, 4 })
			time.Sleep(10 * time.Second)
			quiet := book.commit("s", keysOf("quiet", 10, 1)...)
			r.Offer(quiet)
			most := time.Duration((min(pile, 500)+10)/4+2) * time.Second // each lane once
			if pile == 1 {
				most = 5 * time.Second
			}
			time.Sleep(most)
			for _, m := range quiet {
				if at := sink.times(m.Key); len(at) != 1 || at[0] > most {
					t.Errorf("pile over %d keys: the one of %s went after %v, want within %v", pile, m.Key, at, most)
				}
			}
			_ = end()
		})
	}
}

// A receiver takes the calls of one key and never answers; the others of the same sink do not notice, and the next of that
// key waits until the first is decided.
func TestB59AKeyThatHangsHoldsUpNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := newShelf()
		sink := &receiver{answer: func(ctx context.Context, m Message) error {
			if m.Key == "A" {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}}
		r, end := running(t, book, map[string]Sink{"s": sink}, book.commit("s", slices.Repeat([]string{"A"}, 6)...))
		for range 30 {
			time.Sleep(time.Second)
			r.Offer(book.commit("s", keysOf("k", 25, 4)...))
		}
		time.Sleep(time.Second)
		for i := range 25 {
			for _, took := range sink.times(fmt.Sprint("k", i)) {
				if took >= time.Second {
					t.Fatalf("one of k%d went after %v", i, took)
				}
			}
			if n := len(sink.times(fmt.Sprint("k", i))); n != 120 {
				t.Errorf("%d of k%d arrived", n, i)
			}
		}
		at := sink.times("A")
		if len(at) < 2 || at[1] < DefaultTimeout || slices.Max(sink.seqs("A")) != 1 || sink.overlap {
			t.Errorf("of the key that hangs %v went, at %v", sink.seqs("A"), at)
		}
		_ = end()
	})
}

// Five thousand fail at once: their retries spread, and keep to what the receiver asked for.
func TestB65RetriesSpread(t *testing.T) {
	for _, ask := range []time.Duration{0, 2 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			book, sink := newShelf(), &receiver{}
			var mu sync.Mutex
			tries := map[uint64][]time.Duration{}
			sink.answer = func(_ context.Context, m Message) error {
				mu.Lock()
				defer mu.Unlock()
				tries[m.Seq] = append(tries[m.Seq], time.Since(m.CreatedAt))
				if len(tries[m.Seq]) <= 3 {
					return &Failure{Reason: "429", RetryAfter: ask}
				}
				return nil
			}
			_, end := running(t, book, map[string]Sink{"s": sink}, book.commit("s", keysOf("k", 5000, 1)...))
			time.Sleep(24 * time.Hour)
			stop(t, end)
			if book.left() != 0 {
				t.Fatalf("%d are left", book.left())
			}
			third := map[int]int{} // by second
			for _, at := range tries {
				for j := 1; j < len(at); j++ {
					if at[j]-at[j-1] < ask {
						t.Fatalf("tried again after %v, %v was asked for", at[j]-at[j-1], ask)
					}
				}
				third[int(at[2]/time.Second)]++
			}
			for second, n := range third {
				if n > 5000/20 {
					t.Errorf("asked for %v: %d of 5000 third tries fall into second %d", ask, n, second)
				}
			}
		})
	}
}

func TestNothingStartsWhileOutcomesCannotBeSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := newShelf()
		sink := &receiver{answer: func(context.Context, Message) error { time.Sleep(10 * time.Millisecond); return nil }}
		var full sync.Mutex
		down := true
		book.failing = func() error {
			full.Lock()
			defer full.Unlock()
			if down {
				return fmt.Errorf("disk full")
			}
			return nil
		}
		_, end := running(t, book, map[string]Sink{"s": sink}, book.commit("s", keysOf("k", 2000, 1)...))
		time.Sleep(time.Hour)
		if n := sink.count(); n > 32 { // those under way when it failed, and those they were followed by
			t.Errorf("%d were sent that cannot be booked", n)
		}
		before := sink.count()
		time.Sleep(time.Hour)
		if n := sink.count(); n != before {
			t.Errorf("%d more were sent an hour later", n-before)
		}
		full.Lock()
		down = false
		full.Unlock()
		time.Sleep(time.Minute)
		stop(t, end)
		if book.left() != 0 || sink.count() != 2000 {
			t.Errorf("%d are left when booking works again, %d were sent", book.left(), sink.count())
		}
	})
}

func TestADeadlineThatPassesInALaneWithAPaceIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book, sink := newShelf(), &receiver{}
		r, end := running(t, book, map[string]Sink{"s": sink}, nil)
		r.SetRule("k0", &Rule{Interval: time.Minute, Deadline: 90 * time.Second})
		r.Offer(book.commit("s", keysOf("k", 1, 5)...))
		time.Sleep(time.Hour)
		stop(t, end)
		for seq := uint64(1); seq <= 5; seq++ {
			if m, there := book.row(seq); there != (seq > 2) || there && m.State != Dead {
				t.Errorf("message %d: %v %+v", seq, there, m)
			}
		}
		if st := r.Stats(); sink.count() != 2 || st.Dead != 3 || st.Waiting+st.InFlight != 0 {
			t.Errorf("%d were sent, %+v", sink.count(), st)
		}
	})
}

func TestARuleOfAKeyComesBeforeALongPatternBeforeAShortOne(t *testing.T) {
	var r rules
	named := map[*Rule]string{}
	for _, p := range []string{"*", "tenant-*", "tenant-1*", "tenant-12", "t*"} {
		rule := &Rule{}
		named[rule] = p
		r.set(p, rule)
	}
	for key, want := range map[string]string{
		"x": "*", "t": "t*", "tenant-2": "tenant-*", "tenant-1": "tenant-1*", "tenant-12": "tenant-12", "tenant-123": "tenant-1*",
	} {
		if got := named[r.of("s", key)]; got != want {
			t.Errorf("%s follows the rule of %s, want that of %s", key, got, want)
		}
	}
	r.set("tenant-1*", nil)
	if got := named[r.of("s", "tenant-1")]; got != "tenant-*" {
		t.Errorf("after its rule was taken away tenant-1 follows that of %s", got)
	}
}
