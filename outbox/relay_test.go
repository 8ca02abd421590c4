package outbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestPerKeyNothingOvertakesUnderLatencyAndFailures(t *testing.T) { // B60
	synctest.Test(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(60, 60))
		var mu sync.Mutex
		roll := func(n int) int { mu.Lock(); defer mu.Unlock(); return rnd.IntN(n) }
		sink := &receiver{answer: func(_ context.Context, m Message) error {
			time.Sleep(time.Duration(roll(300)) * time.Millisecond)
			if roll(100) < 5 {
				return &Failure{Reason: "500 no"}
			}
			return nil
		}}
		book := newShelf()
		r, end := running(t, book, map[string]Sink{"s": sink}, book.commit("s", keysOf("k", 10, 100)...))
		time.Sleep(24 * time.Hour)
		stop(t, end)
		for i := range 10 {
			seqs := sink.seqs(fmt.Sprint("k", i))
			if n := regressions(seqs); n > 0 {
				t.Errorf("key k%d: %d regressions in %v", i, n, seqs)
			}
			if n := len(slices.Compact(seqs)); n != 100 {
				t.Errorf("key k%d: %d of 100 arrived", i, n)
			}
		}
		if sink.overlap {
			t.Error("two of one lane were in flight")
		}
		if st := r.Stats(); st.Delivered != 1000 || st.Waiting+st.InFlight+st.Dead != 0 || book.left() != 0 {
			t.Errorf("at the end: %+v, %d rows", st, book.left())
		}
	})
}

func TestOnePoisonedMessageBlocksItsOwnLaneOnly(t *testing.T) { // B55
	synctest.Test(t, func(t *testing.T) {
		sink := &receiver{answer: func(_ context.Context, m Message) error {
			if m.Seq == 1 {
				return &Failure{Reason: "500 Internal Server Error"}
			}
			return nil
		}}
		book := newShelf()
		msgs := book.commit("s", "P")
		msgs = append(msgs, book.commit("s", keysOf("k", 50, 20)...)...)
		msgs = append(msgs, book.commit("s", slices.Repeat([]string{"P"}, 20)...)...)
		r, end := running(t, book, map[string]Sink{"s": sink}, msgs)
		time.Sleep(time.Second)
		st := r.Stats()
		if st.Delivered != 1000 || st.BlockedLanes != 1 || st.Waiting != 21 || len(slices.Compact(sink.seqs("P"))) != 1 {
			t.Errorf("after a second: %+v; of P arrived %v", st, sink.seqs("P"))
		}
		if want := time.Since(msgs[0].CreatedAt); st.Oldest != want || want < time.Second {
			t.Errorf("the oldest is of %v, want %v", st.Oldest, want)
		}
		time.Sleep(5 * 24 * time.Hour)
		st = r.Stats()
		row, _ := book.row(1)
		if st.Dead != 1 || st.Delivered != 1020 || st.BlockedLanes != 0 || row.State != Dead || !strings.Contains(row.LastError, "500 Internal") {
			t.Errorf("after five days: %+v, row %+v", st, row)
		}
		stop(t, end)
	})
}

func TestAFirstRetryComesWithinTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &receiver{}
		sink.answer = func(_ context.Context, m Message) error {
			if len(sink.seqs(m.Key)) == 1 {
				return errors.New("once")
			}
			return nil
		}
		book := newShelf()
		_, end := running(t, book, map[string]Sink{"s": sink}, book.commit("s", keysOf("k", 300, 1)...))
		time.Sleep(time.Minute)
		stop(t, end)
		for i := range 300 {
			at := sink.times(fmt.Sprint("k", i))
			if len(at) != 2 || at[1] > 10*time.Second || at[1] < time.Second {
				t.Errorf("key k%d was tried at %v", i, at)
			}
		}
	})
}

func TestAgeOfAMessageGoesByTheClockThatStampedIt(t *testing.T) {
	noon := time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
	r := NewRelay(Config{Book: newShelf(), Now: func() time.Time { return noon }})
	if age := r.Stats().Oldest; age != 0 {
		t.Errorf("the oldest of none is of %v", age)
	}
	r.Offer([]Message{{Seq: 1, Sink: "s", Key: "k", State: Waiting, CreatedAt: noon.Add(-time.Minute)}})
	if age := r.Stats().Oldest; age != time.Minute {
		t.Errorf("the oldest is of %v, want 1m0s", age)
	}
}

func TestAHungSinkCallHoldsUpItsOwnLaneUntilItsTimeIsOver(t *testing.T) { // B59
	synctest.Test(t, func(t *testing.T) {
		sink := &receiver{answer: func(ctx context.Context, m Message) error {
			if m.Seq == 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			time.Sleep(10 * time.Millisecond)
			return nil
		}}
		book := newShelf()
		msgs := append(book.commit("s", "A", "A", "A"), book.commit("s", keysOf("k", 25, 4)...)...)
		_, end := running(t, book, map[string]Sink{"s": sink}, msgs)
		time.Sleep(DefaultTimeout - time.Second)
		for i := range 25 {
			if at := sink.times(fmt.Sprint("k", i)); len(at) != 4 || at[3] > time.Second {
				t.Errorf("key k%d arrived at %v", i, at)
			}
		}
		if got := sink.seqs("A"); len(got) != 1 {
			t.Errorf("of the hung lane %v went before the first was decided", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if row, _ := book.row(1); row.Attempts != 1 || row.LastError != "no answer in time" {
			t.Errorf("the hung one became %+v", row)
		}
		stop(t, end)
	})
}

func TestASuccessorWaitsUntilItsPredecessorIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := true
		book := newShelf()
		book.failing = func() error {
			if down {
				return errors.New("disk full")
			}
			return nil
		}
		sink := &receiver{}
		r, end := running(t, book, map[string]Sink{"s": sink}, book.commit("s", "k", "k", "k"))
		time.Sleep(time.Hour)
		if got := sink.seqs("k"); !slices.Equal(got, []uint64{1}) {
			t.Errorf("with a book that settles nothing, %v went; want only 1, once", got)
		}
		if st := r.Stats(); st.InFlight != 1 || st.Delivered != 0 {
			t.Errorf("meanwhile %+v", st)
		}
		book.mu.Lock()
		down = false
		book.mu.Unlock()
		time.Sleep(10 * time.Second)
		if got := sink.seqs("k"); !slices.Equal(got, []uint64{1, 2, 3}) {
			t.Errorf("then %v arrived, want 1 2 3 once each", got)
		}
		stop(t, end)
	})
}

func TestGoneStopsTheSinkUntilStaffRetryOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var refuse atomic.Bool
		refuse.Store(true)
		sink := &receiver{}
		sink.answer = func(context.Context, Message) error {
			if refuse.Load() {
				return &Failure{Reason: "410 Gone", Gone: true}
			}
			return nil
		}
		other := &receiver{}
		book := newShelf()
		url := "https://ann:pw@x.example/in?key=1"
		msgs := append(book.commit(url, "k"), book.commit("other", "k")...)
		r, end := running(t, book, map[string]Sink{url: sink, "other": other}, msgs, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		time.Sleep(time.Second)
		r.Offer(book.commit(url, "k", "l"))
		time.Sleep(time.Hour)
		st := r.Stats()
		row, _ := book.row(1)
		if st.Dead != 1 || st.Waiting != 2 || st.BlockedLanes != 2 || st.Delivered != 1 || !strings.HasPrefix(row.LastError, "410 gone") || sink.count() != 1 {
			t.Errorf("after 410: %+v, row %+v", st, row)
		}
		refuse.Store(false)
		row.State, row.Attempts = Waiting, 0
		book.put(row)
		r.Retry(1)
		time.Sleep(time.Second)
		if st := r.Stats(); st.Delivered != 4 || st.Dead != 0 {
			t.Errorf("after a retry: %+v", st)
		}
		stop(t, end)
		if text := log.String(); strings.Contains(text, "pw") || strings.Contains(text, "key=1") || !strings.Contains(text, "410") {
			t.Errorf("log: %s", text)
		}
	})
}

func TestMessagesOfAnUnknownSinkWaitForAStartThatKnowsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		book := newShelf()
		quiet := func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) }
		r, end := running(t, book, nil, book.commit("s", "a", "b", "c"), quiet)
		time.Sleep(time.Hour)
		if st := r.Stats(); st.Waiting != 3 || st.BlockedLanes != 3 {
			t.Errorf("without the sink: %+v", st)
		}
		stop(t, end)
		if n := strings.Count(log.String(), "not configured"); n != 1 {
			t.Errorf("said %d times that the sink is unknown", n)
		}
		sink := &receiver{}
		_, end = running(t, book, map[string]Sink{"s": sink}, book.pending())
		time.Sleep(time.Second)
		stop(t, end)
		if sink.count() != 3 {
			t.Errorf("%d of 3 arrived after a start that knows the sink", sink.count())
		}
	})
}

func TestStaffRetryAndDrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bad atomic.Bool
		bad.Store(true)
		sink := &receiver{answer: func(_ context.Context, m Message) error {
			if bad.Load() && m.Key == "k" {
				return errors.New("no")
			}
			return nil
		}}
		book := newShelf()
		msgs := book.commit("s", "k", "k", "old")
		old, _ := book.row(3)
		old.State = Dead
		book.put(old)
		r, end := running(t, book, map[string]Sink{"s": sink}, msgs[:2]) // the dead one is not offered
		time.Sleep(30 * time.Minute)
		bad.Store(false)
		book.drop(2)
		r.Forget(2)
		r.Retry(1)
		old.State = Waiting
		book.put(old)
		r.Retry(3)
		r.Retry(99)
		time.Sleep(time.Second)
		if st := r.Stats(); st.Delivered != 2 || st.Waiting+st.InFlight+st.Dead != 0 || book.left() != 0 {
			t.Errorf("after retry and drop: %+v", st)
		}
		stop(t, end)
	})
}

func TestASinkThatPanicsHasFailedAndABookThatCannotLoadCostsNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loads := 0
		book := newShelf()
		book.loadFail = func() error {
			book.mu.Lock()
			defer book.mu.Unlock()
			if loads++; loads <= 3 {
				return errors.New("no")
			}
			return nil
		}
		sink := &receiver{answer: func(context.Context, Message) error { panic("oh") }}
		_, end := running(t, book, map[string]Sink{"s": sink}, book.commit("s", "k"))
		time.Sleep(3500 * time.Millisecond)
		stop(t, end)
		if row, _ := book.row(1); row.Attempts != 1 || row.LastError != "fault in the sink" {
			t.Errorf("got %+v", row)
		}
	})
}

func TestAHundredThousandSleepingLanesCostNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := newShelf()
		msgs := book.commit("s", keysOf("k", 100_000, 1)...)
		for i := range msgs {
			msgs[i].NextAt, msgs[i].Attempts = time.Now().Add(10*time.Hour+time.Duration(i)*time.Millisecond), 1
		}
		var looks atomic.Int64
		sink := &receiver{}
		r, end := running(t, book, map[string]Sink{"s": sink}, msgs, func(c *Config) {
			c.Now = func() time.Time { looks.Add(1); return time.Now() }
		})
		time.Sleep(10*time.Hour - time.Second)
		synctest.Wait()
		if looks := looks.Load(); looks > 2*10*60+10 {
			t.Errorf("the relay looked at the clock %d times in ten hours", looks)
		}
		if st := r.Stats(); st.Waiting != 100_000 || sink.count() != 0 {
			t.Errorf("%+v", st)
		}
		time.Sleep(2 * time.Minute)
		if sink.count() != 100_000 {
			t.Errorf("%d arrived when they were due", sink.count())
		}
		stop(t, end)
	})
}

func TestOutcomesAreSettledTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := newShelf()
		book.slow = 10 * time.Millisecond
		_, end := running(t, book, map[string]Sink{"s": &receiver{}}, book.commit("s", keysOf("k", 1600, 1)...))
		time.Sleep(10 * time.Second)
		stop(t, end)
		if book.left() > 0 || book.settles > 300 {
			t.Errorf("%d rows left; 1600 outcomes took %d transactions", book.left(), book.settles)
		}
	})
}

func TestNoWakeUpIsLost(t *testing.T) { // B72; real clock, real goroutines, best under -race
	book := newShelf()
	arrived := make(chan uint64, 16)
	sink := &receiver{answer: func(_ context.Context, m Message) error { arrived <- m.Seq; return nil }}
	r, end := running(t, book, map[string]Sink{"s": sink}, nil)
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	r.Offer(book.commit("s", "k"))
	for range 100_000 { // B is offered while A, of the same key, is anywhere around its end
		next := book.commit("s", "k")
		for range rand.IntN(200) {
			_ = r.Stats()
			if rand.IntN(8) == 0 {
				break
			}
		}
		r.Offer(next)
		deadline.Reset(30 * time.Second)
		select {
		case <-arrived:
		case <-deadline.C:
			t.Fatalf("a message did not go: %+v", r.Stats())
		}
	}
	stop(t, end)
}
