package outbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestRestartsInTheMiddleLoseNothingAndKeepTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(71, 71))
		var mu sync.Mutex
		roll := func(n int) int { mu.Lock(); defer mu.Unlock(); return rnd.IntN(n) }
		sink := &receiver{answer: func(ctx context.Context, _ Message) error {
			select {
			case <-time.After(time.Duration(roll(2000)) * time.Millisecond):
			case <-ctx.Done():
				return ctx.Err()
			}
			if roll(10) == 0 {
				return errors.New("no")
			}
			return nil
		}}
		book := newShelf()
		book.slow = 5 * time.Millisecond
		book.failing = func() error { // one in ten commits fails, and it dies as a killed process would: unsettled
			if roll(10) == 0 {
				return errors.New("no commit")
			}
			return nil
		}
		book.commit("s", keysOf("k", 20, 15)...)
		for range 40 {
			_, end := running(t, book, map[string]Sink{"s": sink}, book.pending())
			time.Sleep(time.Duration(roll(5000)) * time.Millisecond)
			_ = end()
		}
		_, end := running(t, book, map[string]Sink{"s": sink}, book.pending())
		time.Sleep(48 * time.Hour)
		stop(t, end)
		for i := range 20 {
			seqs := sink.seqs(fmt.Sprint("k", i))
			if n := len(slices.Compact(slices.Clone(seqs))); n != 15 || regressions(seqs) > 0 {
				t.Errorf("key k%d: %d of 15 arrived: %v", i, n, seqs)
			}
		}
		if book.left() != 0 {
			t.Errorf("%d rows are left", book.left())
		}
	})
}

// mortal is a Book of a process that can be killed: after that nothing it does reaches the file.
type mortal struct {
	*shelf
	killed atomic.Bool
}

func (m *mortal) Settle(all []Outcome) error {
	if m.killed.Load() {
		return errors.New("killed")
	}
	return m.shelf.Settle(all)
}

func (m *mortal) Begin(slots []Slot) error {
	if m.killed.Load() {
		return errors.New("killed")
	}
	return m.shelf.Begin(slots)
}

func TestAKilledProcessLosesNothingAndKeepsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &receiver{answer: func(_ context.Context, m Message) error {
			time.Sleep(time.Duration(m.Seq%7) * 10 * time.Millisecond)
			return nil
		}}
		book := newShelf()
		book.slow = 5 * time.Millisecond
		book.commit("s", keysOf("k", 20, 50)...)
		for i := range 30 {
			now := &mortal{shelf: book}
			_, end := running(t, now, map[string]Sink{"s": sink}, book.pending())
			time.Sleep(time.Duration(i) * time.Millisecond)
			now.killed.Store(true)
			go func() { _ = end() }()
			time.Sleep(70 * time.Millisecond) // its last calls reach the receiver; nothing new starts
		}
		_, end := running(t, book, map[string]Sink{"s": sink}, book.pending())
		time.Sleep(time.Hour)
		stop(t, end)
		copies := sink.count() - 1000
		for i := range 20 {
			seqs := sink.seqs(fmt.Sprint("k", i))
			if n := regressions(seqs); n > 0 || len(slices.Compact(seqs)) != 50 {
				t.Errorf("key k%d: %d regressions", i, n)
			}
		}
		if book.left() != 0 || copies < 1 {
			t.Errorf("%d rows left, %d copies (none would mean that nothing was killed in the middle)", book.left(), copies)
		}
	})
}

func TestAnEndLetsAttemptsFinishAndCutsOffThoseThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &receiver{answer: func(ctx context.Context, m Message) error {
			if m.Key == "quick" {
				time.Sleep(2 * time.Second)
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}}
		book := newShelf()
		r, end := running(t, book, map[string]Sink{"s": sink}, book.commit("s", "quick", "hung", "quick"))
		time.Sleep(time.Second)
		began := time.Now()
		stop(t, end)
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("the end took %s", took)
		}
		if _, there := book.row(1); there {
			t.Error("the attempt that ended in time was not settled")
		}
		row, _ := book.row(2)
		if row.Attempts != 0 || row.State != Waiting {
			t.Errorf("an attempt that we cut off counts: %+v", row)
		}
		if open := r.LeftOpen(); !slices.Equal(open, []uint64{2}) {
			t.Errorf("%v are said to be left open", open)
		}
		if got := sink.seqs("quick"); len(got) != 1 {
			t.Errorf("after the end of ctx more went: %v", got)
		}
	})
}

func TestAnEndIsReportedWhenTheBookOrASinkHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := newShelf()
		book.failing = func() error { return errors.New("disk full") }
		_, end := running(t, book, map[string]Sink{"s": &receiver{}}, book.commit("s", "k", "l"))
		time.Sleep(time.Second)
		if err := end(); err == nil || !strings.Contains(err.Error(), "2 outcomes") {
			t.Errorf("with a failing book: %v", err)
		}
		let := make(chan struct{})
		book = newShelf()
		deaf := &receiver{answer: func(context.Context, Message) error { <-let; return nil }}
		_, end = running(t, book, map[string]Sink{"s": deaf}, book.commit("s", "k"))
		time.Sleep(time.Second)
		began := time.Now()
		if err := end(); err == nil || time.Since(began) > 7*time.Second {
			t.Errorf("with a deaf sink: %v after %s", err, time.Since(began))
		}
		close(let)
	})
}

// After a kill the first of a lane may be under way at its receiver, so all that wait have the lease. When it is over, the
// first fails: those behind it must not pass.
func TestB60AFailureAfterTheLeaseLetsNobodyPass(t *testing.T) {
	for _, c := range [][2]int{{1, 20}, {2, 20}, {2, 1}, {1, 1}} {
		n, held := c[0], c[1]
		synctest.Test(t, func(t *testing.T) {
			book, sink := newShelf(), &receiver{}
			taken, fault := map[uint64]bool{}, ""
			sink.answer = func(_ context.Context, m Message) error {
				sink.mu.Lock()
				defer sink.mu.Unlock()
				open := 0
				for seq := uint64(1); seq < m.Seq; seq++ {
					if !taken[seq] {
						open++
					}
				}
				if open >= n {
					fault = fmt.Sprintf("message %d came while %d before it were not taken", m.Seq, open)
				}
				first := 0
				for _, o := range sink.got {
					if o.Seq == m.Seq {
						first++
					}
				}
				if first == 1 {
					return &Failure{Reason: "500"}
				}
				taken[m.Seq] = true
				return nil
			}
			some := book.commit("s", keysOf("k", 1, held)...)
			for i := range some {
				some[i].NextAt, some[i].Held = time.Now().Add(DefaultTimeout), true
			}
			r, end := running(t, book, map[string]Sink{"s": sink}, nil)
			r.SetRule("k0", &Rule{Concurrency: n})
			r.Offer(some)
			time.Sleep(DefaultTimeout - time.Second)
			r.Offer(book.commit("s", "k0")) // it has nothing to wait for but those before it
			if sink.count() > 0 {
				t.Errorf("n = %d: one of %d went during the lease", n, held+1)
			}
			time.Sleep(time.Hour)
			stop(t, end)
			if fault != "" || book.left() != 0 {
				t.Errorf("n = %d: %s; %d left", n, fault, book.left())
			}
		})
	}
}
