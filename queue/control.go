package queue

import "time"

// Part is something behind the line that may fail under the people it lets in.
type Part int

// The parts that a [Control] is told about.
const (
	Holds    Part = iota // taking seats
	Payments             // starting and finishing payments
	Shop                 // the shop that the line protects, by its own word
	parts
)

const (
	controlFloor = 0.1              // of the set pace; it never goes below
	controlFall  = 0.5              // the pace is multiplied by it when a part fails
	controlRise  = 0.05             // of the set pace, added each second while the part that failed does well
	controlHope  = 0.01             // of the set pace, added each second while nothing is heard of it
	enough       = 8                // observations make a judgement
	patience     = 10 * time.Second // or as many as came in this time
	fewest       = 3                // failures that can lower the pace
	longestStep  = 10 * time.Second // raised for at once, however long nobody has looked
)

// tolerated is the part of observations that may be bad. Cards are refused in
// the best of times.
var tolerated = [parts]float64{Holds: 0.2, Payments: 0.5, Shop: 0.2}

// Control lowers the pace of a line when a part behind it fails and raises it
// again when that does well: additive increase, multiplicative decrease (Chiu
// and Jain, 1989). The zero value is ready and lowers nothing.
//
// The pace is kept as a share of the set one, which may change meanwhile. It is
// never above the set pace, never below a tenth of it, and never zero. Not safe
// for concurrent use; Pace and Cause change nothing.
type Control struct {
	cut   float64   // 1 minus the share; 0 is the whole pace
	at    time.Time // of the last step
	cause Part      // what failed last
	heard [parts]sample
}

// sample is what was seen of a part since it was last judged.
type sample struct {
	since     time.Time
	good, bad int
}

// Saw notes what was seen of a part at now; negative numbers count nothing.
func (c *Control) Saw(now time.Time, p Part, good, bad int) {
	s := &c.heard[p]
	if s.good+s.bad == 0 {
		s.since = now
	}
	s.good, s.bad = s.good+max(0, good), s.bad+max(0, bad)
}

// Change is what a step did.
type Change int

// The changes worth telling.
const (
	Same    Change = iota // nothing, or more of the same
	Lowered               // the first step down
	Whole                 // the set pace is reached again
)

// Step judges what was seen and moves the pace, at most once a second. Times
// never run backwards.
func (c *Control) Step(now time.Time) Change {
	if c.at.IsZero() {
		c.at = now
	}
	passed := now.Sub(c.at)
	if passed < time.Second {
		return Same
	}
	c.at = now
	was, well := c.cut, false
	failed := Part(-1)
	for p := range parts {
		switch judged, ok := c.heard[p].judge(now, tolerated[p]); {
		case judged && !ok:
			failed = p
		case judged && p == c.cause:
			well = true
		}
	}
	if failed >= 0 {
		c.cause = failed
		c.cut = min(1-controlFloor, 1-(1-c.cut)*controlFall)
	} else {
		rise := controlHope
		if well {
			rise = controlRise
		}
		c.cut = max(0, c.cut-rise*min(passed, longestStep).Seconds())
	}
	switch {
	case was == 0 && c.cut > 0:
		return Lowered
	case was > 0 && c.cut == 0:
		return Whole
	}
	return Same
}

// judge tells how a part does once enough was seen, and forgets that then.
func (s *sample) judge(now time.Time, tolerated float64) (judged, ok bool) {
	n := s.good + s.bad
	if n == 0 || n < enough && now.Sub(s.since) < patience {
		return false, true
	}
	ok = s.bad < fewest || float64(s.bad) <= tolerated*float64(n)
	*s = sample{}
	return true, ok
}

// Pace is the pace now, where set (turns per second, at least 1) is the one that
// staff have set.
func (c *Control) Pace(set int) int {
	return max(1, min(set, int(float64(set)*(1-c.cut)+0.5)))
}

// Cause tells which part the pace is lowered for, and whether it is.
func (c *Control) Cause() (p Part, lowered bool) { return c.cause, c.cut > 0 }
