package outbox

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A task a second comes to a lane of one a second in which tasks live for five. A pause lets some of them expire: they must
// not use up the slots of those that come after.
func TestExpiredMessagesTakeNoSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book, sink := newShelf(), &receiver{}
		rule := Rule{Interval: time.Second, Deadline: 5 * time.Second}
		r, end := running(t, book, map[string]Sink{"s": sink}, nil)
		r.SetRule("k", &Rule{Interval: rule.Interval, Deadline: rule.Deadline, Paused: true})
		come := func(n int) {
			for range n {
				r.Offer(book.commit("s", "k"))
				time.Sleep(time.Second)
			}
		}
		come(60)
		r.SetRule("k", &rule)
		come(60)
		stop(t, end)
		if n := sink.count(); n < 60 {
			t.Errorf("%d of 60 were called after the pause", n)
		}
		for i, at := range sink.at[1:] {
			if d := at.Sub(sink.at[i]); d < rule.Interval {
				t.Errorf("starts %v apart", d)
			}
		}
		if s := r.Stats(); s.Failed != 0 || s.Dead < 50 {
			t.Errorf("%d attempts are said to have failed, %d messages are dead", s.Failed, s.Dead)
		}
	})
}

// Many that have expired are given up at once, with few commits, and hold up nobody.
func TestManyExpiredMessagesGoAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book, sink := newShelf(), &receiver{}
		book.slow = 10 * time.Millisecond
		r, end := running(t, book, map[string]Sink{"s": sink}, nil)
		r.SetRule("k0", &Rule{Interval: time.Minute, Deadline: time.Second, Paused: true})
		r.Offer(book.commit("s", keysOf("k", 1, 5000)...))
		time.Sleep(10 * time.Second)
		r.Offer(book.commit("s", "k0"))
		r.SetRule("k0", &Rule{Interval: time.Minute, Deadline: time.Second})
		time.Sleep(900 * time.Millisecond)
		if got := sink.seqs("k0"); len(got) != 1 || got[0] != 5001 {
			t.Errorf("%v were called, want the one that had not expired", got)
		}
		time.Sleep(time.Second)
		if s := r.Stats(); s.Dead != 5000 || s.Failed != 0 || s.InFlight != 0 || s.BlockedLanes != 0 {
			t.Errorf("left is %+v", s)
		}
		stop(t, end)
		if book.settles > 50 {
			t.Errorf("%d commits", book.settles)
		}
	})
}

// A death without a call says nothing of the receiver: its circuit stays as it was.
func TestExpiredMessageSaysNothingOfItsReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := newShelf()
		sink := &receiver{answer: func(context.Context, Message) error { return &Failure{Reason: "refused", Down: true} }}
		r, end := running(t, book, map[string]Sink{"s": sink}, book.commit("s", keysOf("k", 50, 1)...))
		time.Sleep(time.Hour)
		r.SetRule("old", &Rule{Deadline: time.Minute})
		for range 100 {
			some := book.commit("s", "old")
			some[0].Since = time.Now().Add(-time.Hour)
			book.put(some[0])
			r.Offer(some)
			time.Sleep(10 * time.Second)
			if s := r.Sinks(); !s[0].Down {
				t.Fatal("the receiver counts as reached")
			}
		}
		if r.Stats().Dead == 0 {
			t.Error("none was given up")
		}
		stop(t, end)
	})
}
