package queue

import (
	"math/rand/v2"
	"testing"
	"time"
)

var opening = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// turns is every turn ever given: the Window that forgets nothing.
type turns []time.Time

func (g turns) count(now time.Time) int {
	n := 0
	for _, at := range g {
		if age := now.Sub(at); age >= 0 && age <= time.Second {
			n++
		}
	}
	return n
}

func TestATurnCountsUntilItIsMoreThanASecondOld(t *testing.T) {
	var w Window
	w.Add(opening, 3)
	for _, c := range []struct {
		age  time.Duration
		want int
	}{{0, 3}, {time.Second - 1, 3}, {time.Second, 3}, {time.Second + 1, 0}, {time.Hour, 0}} {
		if got := w.Count(opening.Add(c.age)); got != c.want {
			t.Errorf("turns of %v ago: got %d, want %d", c.age, got, c.want)
		}
	}
	if got, want := w.Next(opening, 3), opening.Add(time.Second+1); !got.Equal(want) {
		t.Errorf("next turn: got %v, want %v", got, want)
	}
	if got := w.Next(opening, 4); !got.Equal(opening) {
		t.Errorf("next turn under a higher limit: got %v, want now", got)
	}
	if got := w.Next(opening, 0); got.Before(opening.Add(time.Hour)) {
		t.Errorf("next turn when none may be given: got %v, want far away", got)
	}
}

func TestAnUnusedWindowIsOpen(t *testing.T) {
	var w Window
	w.Add(opening, 0)
	if got := w.Count(opening); got != 0 {
		t.Errorf("got %d, want 0", got)
	}
	if got := w.Next(opening, 1); !got.Equal(opening) {
		t.Errorf("got %v, want now", got)
	}
}

func TestAWindowAgreesWithCountingEveryTurn(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 7))
		var w Window
		var all turns
		now := opening
		steps := []time.Duration{0, 1, time.Millisecond, 250 * time.Millisecond, time.Second - 1, time.Second, time.Second + 1}
		for range 200 {
			now = now.Add(steps[random.IntN(len(steps))])
			if got, want := w.Count(now), all.count(now); got != want {
				t.Fatalf("seed %d: count: got %d, want %d", seed, got, want)
			}
			limit := 1 + random.IntN(12)
			next := w.Next(now, limit)
			if next.Before(now) || all.count(next) >= limit {
				t.Fatalf("seed %d: a turn at %v would be over the limit of %d", seed, next, limit)
			}
			if next.After(now) && all.count(next.Add(-1)) < limit {
				t.Fatalf("seed %d: a turn was possible before %v", seed, next)
			}
			for range random.IntN(5) {
				w.Add(now, 1)
				all = append(all, now)
			}
		}
	}
}

func TestNoSecondHoldsMoreThanThePace(t *testing.T) {
	const pace = 50
	random := rand.New(rand.NewPCG(3, 4))
	var w Window
	var all turns
	now := opening
	for range 400 {
		now = now.Add(time.Duration(random.IntN(60_000_000)))
		for range random.IntN(20) {
			if w.Count(now) < pace {
				w.Add(now, 1)
				all = append(all, now)
			}
		}
	}
	for _, at := range all { // the fullest windows end at a turn
		if got := all.count(at); got > pace {
			t.Fatalf("second up to %v: got %d turns, want at most %d", at, got, pace)
		}
	}
	if seconds := now.Sub(opening).Seconds(); float64(len(all)) < 0.8*pace*seconds {
		t.Errorf("got %d turns in %.0f s, want nearly the pace", len(all), seconds)
	}
}

func TestAWindowForgetsWhatIsOld(t *testing.T) {
	var w Window
	for i := range 100_000 {
		w.Add(opening.Add(time.Duration(i)*10*time.Millisecond), 2)
	}
	if len(w.given) > 101 || cap(w.given) > 1000 {
		t.Errorf("got %d entries in room for %d, want about a hundred", len(w.given), cap(w.given))
	}
	for range 1000 {
		w.Add(opening.Add(1000*time.Second), 1)
	}
	if len(w.given) > 102 {
		t.Errorf("turns of one instant: got %d entries, want one more", len(w.given))
	}
}
