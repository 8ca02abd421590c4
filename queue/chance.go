package queue

import (
	"math"
	"sort"
)

const (
	fewEnded  = 5          // below so many people who are done, what they took tells nothing
	mostAhead = 10_000_000 // where Within stops looking: more than any line holds
)

// The levels of a chance.
const (
	ChanceUnknown = "unknown" // too few people are done to tell
	ChanceGood    = "good"    // in nine of ten such sales there is a seat left
	ChanceFair    = "fair"    // in one of two
	ChanceSmall   = "small"   // in one of ten
	ChanceNone    = "none"    // in less: none likely
)

// levels are the better ones first, each with the standard deviations that the
// seats left must be away from those that are likely to be taken.
var levels = []struct {
	name string
	away float64
}{{ChanceGood, rangeWidth}, {ChanceFair, 0}, {ChanceSmall, -rangeWidth}}

// Taken is what the people who came to the front have done so far, those who
// bought nothing included.
type Taken struct {
	People int // whose turn is over, or who left
	Seats  int // that they bought in all
	Most   int // seats that one person may buy
	Left   int // seats not sold
}

// PerTurn is how many seats a person took on average; 0 while nobody is done.
func (t Taken) PerTurn() float64 {
	if t.People <= 0 {
		return 0
	}
	return float64(max(0, t.Seats)) / float64(t.People)
}

// Known tells whether enough people are done to tell a chance by them.
func (t Taken) Known() bool { return t.People >= fewEnded }

// Likely is how many seats so many people before somebody will take.
func (t Taken) Likely(ahead int) int {
	ahead = max(0, ahead)
	if !t.Known() {
		return int(math.Ceil(t.guess() * float64(ahead)))
	}
	return (max(0, t.Seats)*ahead + t.People - 1) / t.People
}

// Chance is the level for somebody who has so many people before him, those
// who choose now included.
//
// What n people take has the mean n m and, each of them taking 0 to b seats, at
// most the variance n m (b - m) (Bhatia and Davis, 2000); that m was learned from
// k people adds n^2/k times as much. One seat must be left in the end.
func (t Taken) Chance(ahead int) string {
	n := float64(max(0, ahead))
	switch {
	case t.Left < 1:
		return ChanceNone
	case t.Left > max(0, ahead)*max(1, t.Most): // whatever they take
		return ChanceGood
	case !t.Known():
		return ChanceUnknown
	}
	m := t.guess()
	variance := n * m * math.Max(float64(t.Most)-m, m/4) * (1 + n/float64(t.People))
	spare := float64(t.Left-1) - n*m
	for _, l := range levels {
		if spare >= l.away*math.Sqrt(variance) {
			return l.name
		}
	}
	return ChanceNone
}

// Within is the greatest number of people ahead that still has this level or a
// better one, so that a page can tell its own without asking; -1 when none has.
func (t Taken) Within(level string) int {
	return sort.Search(mostAhead, func(ahead int) bool { return worth(t.Chance(ahead)) < worth(level) }) - 1
}

func worth(level string) int {
	for i, l := range levels {
		if l.name == level {
			return len(levels) - i
		}
	}
	return 0
}

// guess is the average with one person more, who took half of what he may: so
// that ten people who bought nothing do not make the next hundred buy nothing.
func (t Taken) guess() float64 {
	half := float64(max(1, t.Most)) / 2
	return math.Min((float64(max(0, t.Seats))+half)/float64(max(0, t.People)+1), float64(max(1, t.Most)))
}
