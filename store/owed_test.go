package store

import (
	"testing"
	"testing/synctest"
	"time"

	"foyer/outbox"
	"foyer/sale"
)

// runs is a file that one run after the other opens.
type runs struct {
	*testing.T
	dir string
	m   *machine
	*Store
}

func newRuns(t *testing.T) *runs {
	r := &runs{T: t, dir: t.TempDir(), m: &machine{began: time.Now()}}
	r.Store = openWith(t, r.dir, r.m.options("run"))
	return r
}

func (r *runs) kill() {
	r.Helper()
	r.queue.close()
	<-r.stopped
	if err := r.db.Close(); err != nil {
		r.Fatal(err)
	}
	r.Store = openWith(r.T, r.dir, r.m.options("run"))
}

func (r *runs) restart(open ...uint64) {
	r.Helper()
	r.LeaveOpen(open)
	if err := r.Close(); err != nil {
		r.Fatal(err)
	}
	r.Store = openWith(r.T, r.dir, r.m.options("run"))
}

func (r *runs) send(keys ...string) {
	r.Helper()
	mustUpdate(r.T, r.Store, func(tx sale.Tx) {
		for _, k := range keys {
			tx.Send(outbox.Message{ID: tx.NewID().String(), Topic: "t", Key: k, Sink: "https://a.example", State: outbox.Waiting, Body: []byte("{}")})
		}
	})
}

// waits wants the messages to be held for so many seconds, by number.
func (r *runs) waits(seconds ...int) {
	r.Helper()
	n, over := 0, false
	err := r.ServeOutbox(func(msgs []outbox.Message) {
		for i, m := range msgs {
			if n++; over {
				return // sent since
			}
			if got := m.NextAt.Sub(r.Now()); m.Held != (seconds[i] > 0) || m.Held && got != time.Duration(seconds[i])*time.Second {
				r.Errorf("message %d of %s waits for %v (%v), want %d s", m.Seq, m.Key, got, m.Held, seconds[i])
			}
		}
	})
	if over = true; err != nil || n != len(seconds) {
		r.Fatalf("%d messages were handed over, want %d: %v", n, len(seconds), err)
	}
}

func TestAfterAStopInOrderOnlyWhatWasLeftOpenWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuns(t)
		r.send("a", "a", "b", "c")
		r.restart(1, 4)
		time.Sleep(5 * time.Second)
		r.waits(10, 0, 0, 10)
		time.Sleep(5 * time.Second)
		r.restart(3) // another one, while the first are still owed
		r.waits(5, 0, 15, 5)
		time.Sleep(time.Second)
		r.kill() // those that were put off cannot have begun, of the other nobody knows
		r.waits(4, 15, 14, 4)
		time.Sleep(time.Minute)
		r.restart()
		r.waits(0, 0, 0, 0)
		_ = r.Close()
	})
}

// What waits after a kill waits from the first start after it, not from each.
func TestStartsInQuickSuccessionDoNotPutOffAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuns(t)
		r.send("a", "b")
		r.kill()
		r.waits(15, 15)
		r.send("a", "c")
		time.Sleep(5 * time.Second)
		r.kill()
		r.waits(10, 10, 0, 15) // the second of a had to wait for the first, that of c may have begun
		time.Sleep(5 * time.Second)
		r.restart()
		r.waits(5, 5, 0, 10) // a stop in order does not shorten what the kill before it left
		time.Sleep(2 * time.Second)
		r.restart()
		r.waits(3, 3, 0, 8)
		time.Sleep(4 * time.Second)
		r.restart()
		r.waits(4, 4, 4, 4) // the first of them could have gone; which ones, is not kept so long
		time.Sleep(4 * time.Second)
		r.kill() // now all may have begun
		r.waits(15, 15, 15, 15)
		_ = r.Close()
	})
}

func TestClockThatIsSetLetsNothingBeginTooEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuns(t)
		r.send("a", "a")
		r.LeaveOpen([]uint64{1})
		_ = r.Close()
		r.Store = openWith(t, r.dir, r.m.options("another run")) // of the machine: nobody knows how much time has passed
		r.waits(15, 0)
		_ = r.Close()
	})
}

// A retry by staff does not end a call that may be under way for a run before.
func TestRetriedMessageIsPutOffAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuns(t)
		r.send("a", "b")
		r.kill()
		r.waits(15, 15)
		time.Sleep(5 * time.Second)
		if err := r.Settle([]outbox.Outcome{{Seq: 1, State: outbox.Waiting, Since: r.Now()}}); err != nil {
			t.Fatal(err)
		}
		r.restart()
		r.waits(10, 10)
		_ = r.Close()
	})
}
