package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"foyer/outbox"
	"foyer/sale"
)

func TestB70InterruptedRunIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{began: time.Now()}
		dir := t.TempDir()
		open := func(want bool) *Store {
			t.Helper()
			s := openWith(t, dir, m.options("run"))
			if s.interrupted != want {
				t.Errorf("interrupted: %v, want %v", s.interrupted, want)
			}
			return s
		}
		kill := func(s *Store) { // the file is gone from under it
			t.Helper()
			s.queue.close()
			<-s.stopped
			if err := s.db.Close(); err != nil {
				t.Fatal(err)
			}
		}
		_ = open(false).Close() // a new file
		kill(open(false))
		_ = open(true).Close() // somebody looked into the file and delivered nothing
		s := open(true)
		if err := s.ServeOutbox(func([]outbox.Message) {}); err != nil {
			t.Fatal(err)
		}
		_ = s.Close()
		s = open(false)
		_ = s.Close()
		_ = s.Close() // a second time
		s = open(false)
		s.LeaveOpen([]uint64{1}) // an attempt was cut off at the end
		_ = s.Close()
		s = open(false)
		if err := s.ServeOutbox(func([]outbox.Message) {}); err != nil {
			t.Fatal(err)
		}
		_ = s.Close()
		kill(open(false))
		kill(open(true))
		kill(open(true))
	})
}

func TestB70DeliveriesUnderWayAtAnInterruptionHaveTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{began: time.Now()}
		dir := t.TempDir()
		s := openWith(t, dir, m.options("run"))
		soon := s.Now().Add(time.Minute)
		send := func(sink string, state outbox.State, next time.Time) {
			t.Helper()
			err := s.Update(func(tx sale.Tx) error {
				tx.Send(outbox.Message{ID: tx.NewID().String(), Topic: "t", Key: "k", Sink: sink, State: state, NextAt: next, Body: []byte("{}")})
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		send("https://a.example", outbox.Waiting, time.Time{})
		send("https://a.example", outbox.Waiting, s.Now())
		send("https://a.example", outbox.Waiting, soon)
		send("https://a.example", outbox.Dead, time.Time{})
		send("log:", outbox.Waiting, time.Time{})
		handed := func() (waits []time.Duration) {
			t.Helper()
			if err := s.ServeOutbox(func(msgs []outbox.Message) {
				for _, m := range msgs {
					d := time.Duration(0)
					if !m.NextAt.IsZero() {
						d = max(0, m.NextAt.Sub(s.Now()))
					}
					waits = append(waits, d)
				}
			}); err != nil {
				t.Fatal(err)
			}
			return waits
		}
		want := func(waits []time.Duration, all ...time.Duration) {
			t.Helper()
			for i, d := range waits {
				if len(waits) != len(all) || d != all[i] {
					t.Fatalf("the messages wait for %v, want %v", waits, all)
				}
			}
		}
		s.queue.close()
		<-s.stopped
		_ = s.db.Close()
		s = openWith(t, dir, m.options("run"))
		want(handed(), 15*time.Second, 15*time.Second, time.Minute, 0, 0)
		if msgs, _ := s.Messages("", 0, 1); !msgs[0].NextAt.IsZero() {
			t.Error("the pause was written down")
		}
		time.Sleep(15*time.Second - time.Millisecond)
		_ = s.Close() // before the pause was over
		s = openWith(t, dir, m.options("run"))
		want(handed(), time.Millisecond, time.Millisecond, 45*time.Second+time.Millisecond, 0, 0) // not counted anew
		time.Sleep(15 * time.Second)
		_ = s.Close()
		s = openWith(t, dir, m.options("run"))
		want(handed(), 0, 0, 30*time.Second+time.Millisecond, 0, 0)
		_ = s.Close()
	})
}

// receiver takes a while over each message, and goes on with it when the sender
// is gone.
type receiver struct {
	mu      sync.Mutex
	rnd     *rand.Rand
	busy    map[string]int // by lane
	most    int            // at a time in one lane
	got     map[string]int // by message
	running sync.WaitGroup
}

func (r *receiver) Deliver(ctx context.Context, m outbox.Message) error {
	done := make(chan struct{})
	r.mu.Lock()
	r.busy[m.Key]++
	r.most = max(r.most, r.busy[m.Key])
	takes := time.Duration(r.rnd.Int64N(int64(outbox.DefaultTimeout)))
	r.mu.Unlock()
	r.running.Go(func() {
		defer close(done)
		time.Sleep(takes)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.busy[m.Key]--
		r.got[m.ID]++
	})
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// mortal is the book of a process that may be killed: nothing that it does
// afterwards reaches the file.
type mortal struct {
	*Store
	killed atomic.Bool
}

func (m *mortal) Settle(all []outbox.Outcome) error {
	if m.killed.Load() {
		return errors.New("killed")
	}
	return m.Store.Settle(all)
}

func TestB70LaneHasOneUnderWayThoughTheProcessIsKilled(t *testing.T) {
	t.Run("now and then", func(t *testing.T) { killedAgainAndAgain(t, 12, 5, 40) })
	t.Run("all the time", func(t *testing.T) { killedAgainAndAgain(t, 80, 1, 12) }) // mostly before the pause is over
}

func killedAgainAndAgain(t *testing.T, times, least, spread int) {
	synctest.Test(t, func(t *testing.T) {
		const lanes, each = 10, 8
		m := &machine{began: time.Now()}
		r := &receiver{rnd: rand.New(rand.NewPCG(70, 70)), busy: map[string]int{}, got: map[string]int{}}
		dir := t.TempDir()
		s := openWith(t, dir, m.options("run"))
		err := s.Update(func(tx sale.Tx) error {
			for i := range lanes * each {
				tx.Send(outbox.Message{ID: fmt.Sprint("m", i), Topic: "t", Key: fmt.Sprint("k", i%lanes), Sink: "s", State: outbox.Waiting, Body: []byte("{}")})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		underWay := 0
		for range times {
			s = killedAfter(t, s, r, m, time.Duration(least+r.rnd.IntN(spread))*time.Second)
			r.mu.Lock()
			for _, n := range r.busy {
				underWay += n
			}
			r.mu.Unlock()
		}
		end := serve(t, &mortal{Store: s}, r)
		time.Sleep(10 * time.Minute)
		end()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		r.running.Wait()
		copies := 0
		for _, n := range r.got {
			copies += n - 1
		}
		if r.most > 1 || len(r.got) != lanes*each {
			t.Errorf("%d were under way in one lane, %d of %d messages came", r.most, len(r.got), lanes*each)
		}
		if underWay < 20 || copies < 10 {
			t.Errorf("only %d were under way at the starts, %d came twice: nothing is shown", underWay, copies)
		}
	})
}

// serve delivers until the function it returns is called.
func serve(t *testing.T, book *mortal, r *receiver) (end func()) {
	t.Helper()
	relay := outbox.NewRelay(outbox.Config{Book: book, Sinks: map[string]outbox.Sink{"s": r}, Now: book.Now})
	if err := book.ServeOutbox(relay.Offer); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = relay.Run(ctx) // what is unsettled is delivered again
	}()
	return func() { cancel(); <-over }
}

// killedAfter lets a process deliver for a while, kills it and gives the next
// one, on the file as it lay at the end.
func killedAfter(t *testing.T, s *Store, r *receiver, m *machine, life time.Duration) *Store {
	t.Helper()
	book := &mortal{Store: s}
	end := serve(t, book, r)
	time.Sleep(life)
	book.killed.Store(true)
	file, err := os.ReadFile(s.db.Path())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, fileName), file, 0o600); err != nil {
		t.Fatal(err)
	}
	next := openWith(t, dir, m.options("run"))
	go func() { // what is left of the old one
		end()
		_ = s.Close()
	}()
	return next
}
