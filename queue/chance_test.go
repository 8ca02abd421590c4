package queue

import (
	"math/rand/v2"
	"testing"
)

func TestChanceFromWhatPeopleBeforeTook(t *testing.T) {
	half := Taken{People: 200, Seats: 200, Most: 4, Left: 100} // one seat each
	for _, c := range []struct {
		name  string
		taken Taken
		ahead int
		want  string
	}{
		{"the next one", half, 0, ChanceGood},
		{"all may take four", half, 24, ChanceGood},
		{"half the seats", half, 50, ChanceGood},
		{"nearly all the seats", half, 90, ChanceFair},
		{"a little more than there are", half, 110, ChanceSmall},
		{"twice what there is", half, 200, ChanceNone},
		{"sold out", Taken{People: 200, Seats: 200, Most: 4}, 0, ChanceNone},
		{"nobody is done", Taken{Most: 4, Left: 100}, 30, ChanceUnknown},
		{"nobody is done and there is enough for all", Taken{Most: 4, Left: 121}, 30, ChanceGood},
		{"four are done", Taken{People: 4, Seats: 4, Most: 4, Left: 100}, 50, ChanceUnknown},
		{"nobody bought", Taken{People: 500, Most: 4, Left: 10}, 100, ChanceGood},
		{"nobody bought, and few are known", Taken{People: 5, Most: 4, Left: 10}, 100, ChanceSmall},
		{"everybody took all he may", Taken{People: 100, Seats: 400, Most: 4, Left: 100}, 30, ChanceNone},
		{"a number of people below zero", half, -3, ChanceGood},
		{"seats below zero", Taken{People: 9, Seats: -1, Most: 4, Left: 3}, 2, ChanceFair},
	} {
		if got := c.taken.Chance(c.ahead); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestSeatsPerTurnCountThoseWhoBoughtNothing(t *testing.T) {
	taken := Taken{People: 40, Seats: 60, Most: 4, Left: 10}
	if got := taken.PerTurn(); got != 1.5 {
		t.Errorf("got %v seats a turn, want 1.5", got)
	}
	if got := taken.Likely(100); got != 150 {
		t.Errorf("100 people will take %d seats, want 150", got)
	}
	if got := (Taken{Most: 4}).PerTurn(); got != 0 {
		t.Errorf("nobody is done: got %v", got)
	}
}

// What Within says is what Chance says, and no level gets better with more people ahead.
func TestTheBoundsOfTheLevelsAreTheLevels(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		taken := Taken{People: random.IntN(400), Most: 1 + random.IntN(6), Left: random.IntN(900)}
		taken.Seats = random.IntN(1 + taken.People*taken.Most)
		last := len(levels)
		for ahead := range 100 {
			got := worth(taken.Chance(ahead))
			if got > last {
				t.Fatalf("%+v: %d people ahead are better than %d", taken, ahead, ahead-1)
			}
			last = got
			for _, l := range levels {
				if in := ahead <= taken.Within(l.name); in != (got >= worth(l.name)) {
					t.Fatalf("%+v, %d ahead, %s: got %v by the bound %d", taken, ahead, taken.Chance(ahead), in, taken.Within(l.name))
				}
			}
		}
	}
}

// The levels keep their word: of those who read "good" nine of ten find a seat.
func TestLevelsKeepTheirWord(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	found, told := map[string]int{}, map[string]int{}
	buy := func() int { // three of ten buy nothing, the others one to four
		if random.IntN(10) < 3 {
			return 0
		}
		return 1 + random.IntN(4)
	}
	for range 20_000 {
		taken := Taken{People: 20 + random.IntN(200), Most: 4, Left: 50 + random.IntN(300)}
		for range taken.People {
			taken.Seats += buy()
		}
		ahead, left := random.IntN(300), taken.Left
		level := taken.Chance(ahead)
		for range ahead {
			left -= buy()
		}
		told[level]++
		if left > 0 {
			found[level]++
		}
	}
	share := func(level string) float64 { return float64(found[level]) / float64(max(1, told[level])) }
	if share(ChanceGood) < 0.9 || share(ChanceFair) < 0.5 || share(ChanceSmall) > 0.5 || share(ChanceNone) > 0.1 {
		t.Errorf("found a seat: good %.2f, fair %.2f, small %.2f, none %.2f", share(ChanceGood), share(ChanceFair), share(ChanceSmall), share(ChanceNone))
	}
	for _, l := range []string{ChanceGood, ChanceFair, ChanceSmall, ChanceNone} {
		if told[l] < 200 {
			t.Errorf("%s was told %d times only", l, told[l])
		}
	}
}
