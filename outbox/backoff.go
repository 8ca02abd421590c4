package outbox

import (
	"fmt"
	"time"
)

// step is the pause after a failed attempt: around pause, within a part of it (0.2 = 20 %) on either side.
type step struct {
	pause time.Duration
	part  float64
}

// steps follow the example schedule of Standard Webhooks 1.0.0 (5 s to 24 h in 75 hours, with jitter), with one more
// early step. The first two are spread wider than the rest: what failed in the same second must not come back in one, yet
// the first retry comes within 10 s. The last one repeats; with its jitter no pause is longer than 24 hours.
var steps = []step{
	{5 * time.Second, 0.8},
	{30 * time.Second, 0.5},
	{5 * time.Minute, 0.2},
	{30 * time.Minute, 0.2},
	{2 * time.Hour, 0.2},
	{5 * time.Hour, 0.2},
	{10 * time.Hour, 0.2},
	{14 * time.Hour, 0.2},
	{20 * time.Hour, 0.2},
}

const (
	maxRetryAfter    = 24 * time.Hour
	retryAfterSpread = 0.25            // a Retry-After is stretched by up to this part of it ...
	maxSpread        = 5 * time.Minute // ... and this much
	fairTries        = 7               // tries every message gets (8 hours), however old it was at the first
	defaultMaxAge    = 72 * time.Hour
)

// LongestPause is the longest that the schedule makes a message wait after so many attempts (0 counts as 1).
func LongestPause(attempts int) time.Duration {
	s := steps[min(max(attempts, 1), len(steps))-1]
	return s.pause + time.Duration(s.part*float64(s.pause))
}

// pause returns how long to wait after the given attempt (1 = the first) has failed. It is never shorter than
// retryAfter (capped at 24 hours) and never shorter than the schedule, so a receiver cannot shorten a message's life;
// no step is longer than maxAge. random is in [0, 1).
func pause(attempt int, retryAfter, maxAge time.Duration, random float64) time.Duration {
	s := steps[min(max(attempt, 1), len(steps))-1]
	base := min(s.pause, maxAge)
	d := base + time.Duration((2*random-1)*s.part*float64(base))
	if retryAfter <= 0 {
		return d
	}
	asked := min(retryAfter, maxRetryAfter-maxSpread)
	spread := min(time.Duration(retryAfterSpread*float64(asked)), maxSpread)
	return max(d, asked+time.Duration(random*float64(spread)))
}

// judge turns a failed attempt at m into its outcome at now. A message dies when the receiver is gone for good, when its
// lane's rule says so, or when it fails maxAge or more after its Since and has had a fair number of tries: one that waited
// for days because the program was off is not given up at its first failure.
func judge(m Message, f Failure, r *Rule, now time.Time, maxAge time.Duration, random float64) Outcome {
	o := Outcome{Seq: m.Seq, Attempts: m.Attempts + 1, State: Waiting, LastError: f.Reason, Down: f.Down}
	age := m.age(now)
	switch {
	case f.Gone:
		o.State, o.LastError = Dead, Clip("410 gone: "+f.Reason)
	case f.Final:
		o.State = Dead
	case age >= maxAge && o.Attempts >= fairTries, r.exhausted(o.Attempts, age):
		o.State = Dead
		o.LastError = Clip(fmt.Sprintf("given up after %d attempts in %s: %s", o.Attempts, age.Round(time.Second), f.Reason))
	default:
		o.NextAt = now.Add(pause(o.Attempts, f.RetryAfter, maxAge, random))
		if r != nil && r.Deadline > 0 && o.NextAt.After(now.Add(r.Deadline-age)) { // one last attempt at the deadline
			o.NextAt = now.Add(r.Deadline - age)
		}
	}
	return o
}
