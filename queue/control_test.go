package queue

import (
	"math/rand/v2"
	"testing"
	"time"
)

// steered plays seconds of an evening: each second says what is seen of a part.
type steered struct {
	Control
	now time.Time
}

func newSteered() *steered {
	s := &steered{now: time.Unix(1_800_000_000, 0)}
	s.Step(s.now)
	return s
}

func (s *steered) pass(seconds int, p Part, good, bad int) (changes []Change) {
	for range seconds {
		s.now = s.now.Add(time.Second)
		s.Saw(s.now, p, good, bad)
		if c := s.Step(s.now); c != Same {
			changes = append(changes, c)
		}
	}
	return changes
}

func TestControlLowersWithinSecondsAndRaisesAgain(t *testing.T) {
	for p := range parts {
		s := newSteered()
		s.pass(10, p, 20, 0)
		if s.Pace(50) != 50 {
			t.Fatalf("part %d does well and the pace is %d", p, s.Pace(50))
		}
		if c := s.pass(1, p, 0, 20); len(c) != 1 || c[0] != Lowered || s.Pace(50) != 25 {
			t.Fatalf("part %d failed for a second: %v, pace %d, want 25", p, c, s.Pace(50))
		}
		if cause, lowered := s.Cause(); cause != p || !lowered {
			t.Errorf("the cause is %d, want %d", cause, p)
		}
		if c := s.pass(20, p, 0, 20); len(c) != 0 || s.Pace(50) != 5 {
			t.Errorf("part %d goes on failing: %v, pace %d, want a tenth", p, c, s.Pace(50))
		}
		if s.pass(6, p, 20, 0); s.Pace(50) != 20 {
			t.Errorf("part %d does well for six seconds: pace %d, want 20", p, s.Pace(50))
		}
		if c := s.pass(15, p, 20, 0); len(c) != 1 || c[0] != Whole || s.Pace(50) != 50 {
			t.Errorf("part %d is well again: %v, pace %d", p, c, s.Pace(50))
		}
		if _, lowered := s.Cause(); lowered {
			t.Error("it is still lowered")
		}
	}
}

func TestControlWaitsForEnoughToJudge(t *testing.T) {
	s := newSteered()
	if s.pass(1, Payments, 0, enough-1); s.Pace(50) != 50 {
		t.Error("too little was seen and the pace fell")
	}
	if s.pass(10, Payments, 0, 0); s.Pace(50) != 25 {
		t.Errorf("what little there is fails for ten seconds: pace %d, want 25", s.Pace(50))
	}
	s = newSteered()
	if s.pass(60, Payments, 0, 0); s.Pace(50) != 50 {
		t.Error("nothing was seen and the pace fell")
	}
	s.pass(1, Payments, 0, fewest-1)
	if s.pass(20, Payments, 0, 0); s.Pace(50) != 50 {
		t.Error("two failures lower the pace")
	}
}

func TestControlToleratesWhatIsUsual(t *testing.T) {
	for _, c := range []struct {
		part      Part
		good, bad int
		want      int
	}{{Payments, 5, 5, 50}, {Payments, 4, 6, 25}, {Holds, 8, 2, 50}, {Holds, 10, 3, 25}, {Shop, 8, 2, 50}, {Shop, 10, 3, 25}} {
		s := newSteered()
		if s.pass(1, c.part, c.good, c.bad); s.Pace(50) != c.want {
			t.Errorf("%+v: pace %d", c, s.Pace(50))
		}
	}
}

func TestControlHopesWhenNothingIsHeardOfWhatFailed(t *testing.T) {
	s := newSteered()
	s.pass(10, Payments, 0, 20)
	if s.pass(10, Holds, 50, 0); s.Pace(50) != 10 { // holds say nothing about payments
		t.Errorf("pace %d after ten seconds of silence, want 10", s.Pace(50))
	}
	s.now = s.now.Add(time.Hour) // nobody has looked
	s.Step(s.now)
	if got := s.Pace(50); got != 15 {
		t.Errorf("pace %d after an hour in which nobody looked, want 15", got)
	}
}

func TestControlIsBoundedWhateverIsSeen(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var c Control
		now := time.Unix(1_800_000_000, 0)
		for range 500 {
			now = now.Add(time.Duration(r.Int64N(int64(3 * time.Second))))
			c.Saw(now, Part(r.IntN(int(parts))), r.IntN(40)-5, r.IntN(40)-5)
			c.Step(now)
			for _, set := range []int{1, 2, 9, 50, 5000} {
				if p := c.Pace(set); p < 1 || p > set || float64(p) < controlFloor*float64(set)-0.5 {
					t.Fatalf("pace %d of %d", p, set)
				}
			}
		}
	}
}

func TestControlFollowsAPaceThatIsSetAnew(t *testing.T) {
	s := newSteered()
	s.pass(1, Shop, 0, 20)
	for set, want := range map[int]int{1: 1, 10: 5, 100: 50} {
		if got := s.Pace(set); got != want {
			t.Errorf("pace %d of %d, want %d", got, set, want)
		}
	}
}
