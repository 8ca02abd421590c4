package outbox

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

// A machine that sleeps with calls under way sees all of them fail when it wakes: that says one thing of the receiver, once.
func TestCallsThatFailSideBySideAreOneFailureForTheCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := newShelf()
		deaf := true
		sink := &receiver{answer: func(ctx context.Context, _ Message) error {
			if deaf {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}}
		r, end := running(t, book, map[string]Sink{"s": sink}, book.commit("s", keysOf("k", 2*longStreak, 1)...))
		time.Sleep(DefaultTimeout + time.Millisecond)
		if s := r.Sinks()[0]; s.Down {
			t.Errorf("after one pause with %d calls under way the sink counts as down", 2*longStreak)
		}
		deaf = false
		r.Offer(book.commit("s", "other"))
		synctest.Wait()
		if n := len(sink.seqs("other")); n != 1 {
			t.Errorf("%d of another lane went at once", n)
		}
		deaf = true
		for range longStreak {
			r.Offer(book.commit("s", "later"))
			time.Sleep(time.Hour)
		}
		if s := r.Sinks()[0]; !s.Down {
			t.Error("after many failures one after the other the sink counts as up")
		}
		stop(t, end)
	})
}

func TestAMessageThatWaitsTakes48BytesInItsLane(t *testing.T) {
	if n := unsafe.Sizeof(item{}); unsafe.Sizeof(uintptr(0)) == 8 && n != 48 {
		t.Errorf("an item has %d bytes", n)
	}
}
