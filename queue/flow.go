package queue

import (
	"math"
	"time"
)

const (
	memory     = 30.0  // seconds: the time constant of the averages
	memoryMax  = 600.0 // seconds: and at most this, for a line so slow that
	memoryOf   = 30.0  // so many events do not fall into the shorter one
	rangeWidth = 1.28  // standard deviations either way: at least four of five waits fall inside in a steady sale
	turnover   = 15.0  // a house may fill so many times faster than it turns over: 500 slots at 50 a second, turns of 150 s
	nearly     = 0.95  // of the pace: a rate that reaches it is less than the pace only by chance
	longest    = 24 * 60 * 60
)

// Flow learns how fast a line really moves, for the estimate. The zero value is ready.
//
// Not safe for concurrent use; Wait changes nothing and may share a read lock.
//
// What it reasons: a turn can only be given when one has ended (Done) or when the house still fills, and
// never faster than the pace. So it averages both, turns given and turns ended, and an honest rate lies
// between the two: while the house fills the first is too fast for those far behind, while the first
// visitors still choose their seats the second is too slow. In a steady sale they are equal.
//
//   - Each average is an exponential moving average over irregular intervals (Zumbach and Müller,
//     "Operators on inhomogeneous time series", 2001), divided by its own weight, so that the first
//     second counts in full: rate = (events + 1/2) / weight, the half being the Jeffreys prior of a
//     Poisson rate, which keeps a line that stands from standing for ever.
//   - The expected wait is (rank + 1) / rate (Little's law, read along the line), where rate is the
//     geometric mean of the two rates, and at most the pace.
//   - The range takes the faster and the slower rate, each widened by what the number of observed events
//     leaves open and by the chance in rank + 1 departures (both Poisson). Until turns have ended for
//     a while, how long they last is unknown; then the range is wide, from the pace to a fifteenth of it.
type Flow struct {
	given  meter // turns given per second, while people waited
	ended  meter // turns ended per second, while people waited, since the first one ended
	waited bool  // somebody still waited at the last Observe
	ending bool  // a turn has ended; before that, no end is no evidence of slow turns
}

// Observe is called every tick with how many left the line from its front since the last call, and how
// many wait now. Only an interval with people waiting at both its ends can show that the line is slow;
// any other can only show that it is faster than was thought. Times never run backwards.
func (f *Flow) Observe(now time.Time, left, waiting int) {
	f.given.add(now, left, f.waited && waiting > 0)
	f.waited = waiting > 0
}

// Done tells how many turns ended since the last call, for whatever reason: paid, left, lapsed, not
// picked up. Call it every tick, also with zero.
func (f *Flow) Done(now time.Time, n int) {
	f.ended.add(now, n, f.waited && f.ending)
	f.ending = f.ending || n > 0
}

// Wait estimates the seconds until a visitor with rank people ahead (zero-based) has his turn, and the
// range in which it should fall. pace is the configured turns per second: nothing is promised sooner, and
// nothing else is known until the line has moved. 0 <= low <= seconds <= high <= 24 h, and none of the
// three is smaller for a higher rank. A pace of zero or less means that the line is stopped: 0, 24 h, 24 h.
func (f *Flow) Wait(rank int, pace float64) (seconds, low, high int) {
	if !(pace > 0) {
		return longest, 0, longest
	}
	people := math.Max(float64(rank), 0) + 1
	chance := rangeWidth / math.Sqrt(people)
	slow, rate, fast := f.Rates(pace)
	soonest := math.Max(people/fast/(1+chance), people/pace)
	return up(people / rate), down(soonest), up(people / slow * (1 + chance))
}

// Rates are the turns per second that Wait reckons with: what is likely, and the
// slowest and the fastest that would be no surprise. 0 < slow <= rate <= fast <= pace
// unless the pace is zero or less; then all three are 0. A rate below the pace says
// that the line is slower than it might be. One that is so only by chance counts as
// the pace, and slow then goes by how long was watched: neither is less than it ever
// was while the pace stays.
func (f *Flow) Rates(pace float64) (slow, rate, fast float64) {
	if !(pace > 0) {
		return 0, 0, 0
	}
	slow, rate, fast = pace, pace, pace
	if f.given.weight > 0 {
		slow, rate, fast = f.given.slow(), f.given.rate(), f.given.fast()
	}
	if f.ended.weight > 0 {
		slow = math.Min(slow, f.ended.slow())
		rate = math.Sqrt(rate * f.ended.rate())
		fast = math.Max(fast, f.ended.fast())
	}
	slowest := f.slowAt(pace)
	if slow = math.Min(slow, slowest); rate >= nearly*pace {
		slow, rate, fast = slowest, pace, pace
	}
	if f.ended.weight < memory/2 {
		slow, fast = math.Min(slow, pace/turnover), pace
	}
	return math.Min(slow, pace), math.Min(rate, pace), math.Min(fast, pace)
}

// slowAt is the slowest rate that would be no surprise in a line that moves at the
// pace, after having been watched for so long.
func (f *Flow) slowAt(pace float64) float64 {
	seen := math.Min(memory, math.Min(f.given.weight, f.ended.weight))
	return pace / (1 + rangeWidth/math.Sqrt(pace*seen+1))
}

// meter averages events per second over intervals that are evidence.
type meter struct {
	since   time.Time // end of the last interval; zero before the first
	pending int       // events of an interval without length
	events  float64   // weighted count
	weight  float64   // weighted seconds; 0 until there is evidence
}

// add ends an interval with n events. whole says that it may lower the average too.
func (m *meter) add(now time.Time, n int, whole bool) {
	n += m.pending
	if m.since.IsZero() {
		m.since = now
		return
	}
	dt := now.Sub(m.since).Seconds()
	if dt <= 0 {
		m.pending = n
		return
	}
	m.since, m.pending = now, 0
	if !whole && (m.weight == 0 || float64(n)/dt <= m.rate()) {
		return
	}
	tau := memory
	if m.weight > 0 {
		tau = math.Min(math.Max(memory, memoryOf/m.rate()), memoryMax)
	}
	kept := math.Exp(-dt / tau)
	fresh := tau * (1 - kept)
	m.events = m.events*kept + float64(n)/dt*fresh
	m.weight = m.weight*kept + fresh
}

func (m *meter) rate() float64 { return (m.events + 0.5) / m.weight }

// slow and fast bound the rate by what so many Poisson events leave open.
func (m *meter) slow() float64 {
	return m.rate() / (1 + rangeWidth/math.Sqrt(m.events+1))
}

func (m *meter) fast() float64 {
	return (m.events + 1 + rangeWidth*math.Sqrt(m.events+1)) / m.weight
}

func up(seconds float64) int { return int(math.Ceil(math.Min(seconds, longest))) }

func down(seconds float64) int { return int(math.Min(seconds, longest)) }
