package queue

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// run feeds a flow seconds of one tick each and returns the time after them.
func run(f *Flow, now time.Time, seconds, left, done, waiting int) time.Time {
	for range seconds {
		now = now.Add(time.Second)
		f.Observe(now, left, waiting)
		f.Done(now, done)
	}
	return now
}

func TestBeforeAnythingWasSeenThePaceIsTheEstimate(t *testing.T) {
	var f Flow
	seconds, low, high := f.Wait(4999, 50)
	if seconds != 100 || low != 100 || high < 1500 {
		t.Errorf("got %d (%d to %d), want 100 (100 to 1500 or more)", seconds, low, high)
	}
}

func TestTheFrontWaitsAlmostNothing(t *testing.T) {
	var f Flow
	run(&f, opening, 60, 10, 10, 1000)
	if seconds, low, high := f.Wait(0, 50); seconds != 1 || low != 0 || high > 2 {
		t.Errorf("got %d (%d to %d), want 1 (0 to 2)", seconds, low, high)
	}
}

func TestASteadyLineIsEstimatedByWhatLeavesIt(t *testing.T) {
	var f Flow
	run(&f, opening, 120, 4, 4, 100_000)
	seconds, low, high := f.Wait(3999, 50)
	if math.Abs(float64(seconds)-1000) > 20 {
		t.Errorf("got %d s, want about 1000", seconds)
	}
	if low < 700 || low > 1000 || high < 1000 || high > 1400 {
		t.Errorf("range: got %d to %d, want 1000 within a third", low, high)
	}
}

func TestAHouseThatOnlyFillsPromisesLittleToThoseFarBehind(t *testing.T) {
	var f Flow
	run(&f, opening, 60, 50, 4, 100_000) // given at the pace, ended at 4 a second
	seconds, low, high := f.Wait(9999, 50)
	if low != 200 {
		t.Errorf("low: got %d, want the pace's 200", low)
	}
	if high < 2500 {
		t.Errorf("high: got %d, want what the turns that end allow, 2500, or more", high)
	}
	if seconds < 400 || seconds > 2000 {
		t.Errorf("got %d, want between the two", seconds)
	}
}

func TestThePaceBoundsTheEstimate(t *testing.T) {
	var f Flow
	run(&f, opening, 60, 50, 50, 100_000)
	if _, low, _ := f.Wait(999, 5); low < 200 { // the operator slowed the line a moment ago
		t.Errorf("got %d s at least, want 200", low)
	}
}

func TestAnEmptyLineIsNoEvidenceOfSlowness(t *testing.T) {
	var f Flow
	now := run(&f, opening, 60, 10, 10, 1000)
	want, _, _ := f.Wait(500, 50)
	now = run(&f, now, 3600, 0, 0, 0)
	now = run(&f, now, 1, 0, 0, 1) // he came a moment ago
	if got, _, _ := f.Wait(500, 50); got != want {
		t.Errorf("after an idle hour: got %d s, want %d", got, want)
	}
	run(&f, now, 60, 1, 1, 1000)
	if got, _, _ := f.Wait(500, 50); got < 2*want {
		t.Errorf("after a slow minute: got %d s, want far over %d", got, want)
	}
}

func TestALineDrainedFastIsEvidenceOfSpeed(t *testing.T) {
	var f Flow
	now := run(&f, opening, 60, 2, 2, 1000)
	before, _, _ := f.Wait(500, 50)
	run(&f, now, 5, 40, 40, 0)
	if got, _, _ := f.Wait(500, 50); got >= before {
		t.Errorf("got %d s, want less than %d", got, before)
	}
}

func TestTheEstimateFollowsAChangeWithinTwoMinutes(t *testing.T) {
	var f Flow
	now := run(&f, opening, 300, 20, 20, 100_000)
	run(&f, now, 120, 5, 5, 100_000)
	if got, _, _ := f.Wait(999, 50); got < 175 || got > 200 {
		t.Errorf("got %d s, want nearly 200", got)
	}
}

func TestAVerySlowLineIsKnownForWhatItIs(t *testing.T) {
	var f Flow
	now := opening
	for range 60 { // one turn in 40 seconds, for 40 minutes
		now = run(&f, now, 39, 0, 0, 50)
		now = run(&f, now, 1, 1, 1, 50)
		seconds, low, high := f.Wait(9, 50)
		if now.Sub(opening) > 20*time.Minute && (seconds < 300 || seconds > 500 || low > 400 || high < 400) {
			t.Fatalf("got %d s (%d to %d), want about 400", seconds, low, high)
		}
	}
}

func TestTicksOfAnyLengthSayTheSame(t *testing.T) {
	var fine, coarse Flow
	now := opening
	fine.Observe(now, 0, 1000)
	coarse.Observe(now, 0, 1000)
	for i := 1; i <= 1200; i++ {
		now = now.Add(100 * time.Millisecond)
		fine.Observe(now, 0, 1000)
		fine.Observe(now, 1, 1000) // twice in one instant
		if i%50 == 0 {
			coarse.Observe(now, 50, 1000)
		}
	}
	a, _, _ := fine.Wait(9999, 50)
	b, _, _ := coarse.Wait(9999, 50)
	if a < 990 || a > 1010 || b < 990 || b > 1010 {
		t.Errorf("got %d and %d s, want about 1000 twice", a, b)
	}
}

func TestAStoppedLinePromisesNothing(t *testing.T) {
	var f Flow
	run(&f, opening, 60, 10, 10, 1000)
	for _, pace := range []float64{0, -1, math.NaN()} {
		if seconds, low, high := f.Wait(3, pace); seconds != 86400 || low != 0 || high != 86400 {
			t.Errorf("pace %v: got %d (%d to %d), want 86400 (0 to 86400)", pace, seconds, low, high)
		}
	}
}

func TestAnEstimateIsNeverAbsurdAndNeverFallsWithTheRank(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		var f Flow
		now := opening
		for range random.IntN(50) {
			now = now.Add(time.Duration(random.Int64N(int64(3 * time.Second))))
			f.Observe(now, random.IntN(3)*random.IntN(100), random.IntN(3)*1000)
			if random.IntN(3) > 0 {
				f.Done(now, random.IntN(3)*random.IntN(100))
			}
			if random.IntN(20) == 0 {
				now = now.Add(100 * time.Hour)
			}
		}
		pace := math.Exp(random.Float64()*20 - 10)
		var s0, l0, h0 int
		for _, rank := range []int{-5, 0, 1, 2, 3, 10, 99, 100, 101, 5000, 2_000_000, math.MaxInt} {
			s, l, h := f.Wait(rank, pace)
			if l < 0 || l > s || s > h || h > 86400 {
				t.Fatalf("rank %d, pace %g: got %d (%d to %d)", rank, pace, s, l, h)
			}
			if s < s0 || l < l0 || h < h0 {
				t.Fatalf("rank %d, pace %g: %d (%d to %d) after %d (%d to %d)", rank, pace, s, l, h, s0, l0, h0)
			}
			s0, l0, h0 = s, l, h
		}
	}
}

// While the pace stays, a wait can grow only in a line that is slower than its pace.
func TestALineAtItsPaceIsNeverSlowerThanItWas(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	for range 400 {
		var f Flow
		now, pace := opening, math.Ceil(math.Exp(random.Float64()*8))
		least, most := math.MaxInt, math.MaxInt // of what was told
		given, ended := pace, pace
		for range 1500 {
			switch random.IntN(60) {
			case 0:
				given, ended = pace*random.Float64()*1.2, pace*random.Float64()*3
			case 1:
				given, ended = pace*.1, pace*.1
			case 2:
				given, ended = pace*.97, pace*.97
			}
			now = now.Add(time.Second)
			f.Observe(now, int(given+random.Float64()), random.IntN(20)*10)
			f.Done(now, int(ended+random.Float64()))
			seconds, _, high := f.Wait(99, pace)
			slow, rate, fast := f.Rates(pace)
			if slow > rate || rate > fast || fast > pace {
				t.Fatalf("at the pace of %g the rates are %g, %g and %g", pace, slow, rate, fast)
			}
			if rate == pace && (seconds > least || high > most) {
				t.Fatalf("at the pace of %g: %d s, at most %d, after %d and %d", pace, seconds, high, least, most)
			}
			least, most = min(least, seconds), min(most, high)
		}
	}
}

func TestNoEndIsNoEvidenceUntilTheFirstTurnCouldEnd(t *testing.T) {
	var f Flow
	now := run(&f, opening, 60, 4, 0, 100_000)
	run(&f, now, 10, 4, 4, 100_000)
	if got, _, _ := f.Wait(3999, 50); math.Abs(float64(got)-1000) > 30 {
		t.Errorf("got %d s, want about 1000", got)
	}
}

// An evening: 500 slots, 50 turns a second at most, turns of one to three minutes. What visitors were
// told is held against what came.
func TestMostWaitsFallIntoTheirRange(t *testing.T) {
	const slots, pace, crowd, evening = 500, 50, 20_000, 6000
	random := rand.New(rand.NewPCG(12, 13))
	var f Flow
	var ends [evening]int // turns that end in that second
	var called [crowd]int // second in which a visitor's turn came
	type told struct{ at, number, low, high int }
	var promises []told
	front, active := 0, 0
	for at := range evening {
		now := opening.Add(time.Duration(at) * time.Second)
		active -= ends[at]
		left := min(slots-active, pace, crowd-front)
		for range left {
			called[front] = at
			front++
			if end := at + 60 + random.IntN(120); end < evening {
				ends[end]++
			}
		}
		active += left
		f.Done(now, ends[at])
		f.Observe(now, left, crowd-front)
		for _, rank := range []int{10, 200, 3000} {
			if at%5 == 0 && front+rank < crowd {
				_, low, high := f.Wait(rank, pace)
				promises = append(promises, told{at, front + rank, low, high})
			}
		}
	}
	var kept, all [2]int // in the first five minutes, and after
	for _, p := range promises {
		later := 0
		if p.at >= 300 {
			later = 1
		}
		all[later]++
		if wait := called[p.number] - p.at; called[p.number] > 0 && wait >= p.low && wait <= p.high {
			kept[later]++
		}
	}
	for i, want := range []float64{0.7, 0.9} {
		share := float64(kept[i]) / float64(all[i])
		t.Logf("%.2f of %d waits inside their range", share, all[i])
		if share < want || all[i] < 100 {
			t.Errorf("got %.2f of %d waits inside their range, want %.2f", share, all[i], want)
		}
	}
}
