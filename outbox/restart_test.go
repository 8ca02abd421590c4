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
		_, end := running(t, book, map[string]Sink{"s": sink}, book.commit("s", "quick", "hung", "quick"))
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
		if again := time.Until(row.NextAt); again != DefaultTimeout {
			t.Errorf("an attempt that we cut off is made again in %s, its receiver may be at work for %s", again, DefaultTimeout)
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
