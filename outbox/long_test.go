package outbox

import (
	"testing"
	"time"
)

// Where the newest of a long lane stands is told as quickly as where that of a short one does.
func TestPlaceOfTheNewestOfALongLaneIsToldAtOnce(t *testing.T) {
	r := NewRelay(Config{Book: newShelf(), Sinks: map[string]Sink{"s": &receiver{}}})
	took := func(from, to int) time.Duration {
		began := time.Now()
		for i := from; i < to; i++ {
			r.Offer([]Message{{Seq: uint64(i) + 1, Sink: "s", Key: "k", State: Waiting}})
			if s, ok := r.Standing(uint64(i) + 1); !ok || s.Position != i {
				t.Fatalf("message %d stands at %+v, %v", i, s, ok)
			}
		}
		return time.Since(began)
	}
	short := took(0, 2000)
	took(2000, 50_000)
	if long := took(50_000, 52_000); long > 10*short+50*time.Millisecond {
		t.Errorf("2000 at the end of 50 000 took %v, at the front %v", long, short)
	}
	r.Withdraw(52_000) // the newest goes: now another is the last
	r.Withdraw(1)
	for seq, want := range map[uint64]int{51_999: 51_997, 2: 0} {
		if s, _ := r.Standing(seq); s.Position != want {
			t.Errorf("message %d stands at %d, want %d", seq, s.Position, want)
		}
	}
}
