package queue

import (
	"sort"
	"time"
)

// windowLength is closed at both ends: what is exactly this old still counts.
const windowLength = time.Second

// noTurn is how far away Next puts a turn that will never come because the limit is zero.
const noTurn = 24 * time.Hour

// Window counts the turns given in the last second. Whoever asks it before giving turns never has more
// than his limit in any one-second window, wherever that window starts. The zero value is ready.
//
// Not safe for concurrent use; Count and Next change nothing and may share a read lock. It keeps one
// entry per distinct time of the last second, at most the limit's worth.
type Window struct {
	given   []given // ascending by time
	dropped int     // total of the last entry dropped
}

// given says how many turns in all had been given when that instant was over.
type given struct {
	at    time.Time
	total int
}

// Add notes n turns given at now. Times never run backwards; n below one adds nothing.
func (w *Window) Add(now time.Time, n int) {
	if n <= 0 {
		return
	}
	if old := w.live(now); old > 0 {
		w.dropped = w.given[old-1].total
		w.given = w.given[old:] // append moves to a fitting array when this one is used up
	}
	total := w.total() + n
	if k := len(w.given); k > 0 && !now.After(w.given[k-1].at) {
		w.given[k-1].total = total
		return
	}
	w.given = append(w.given, given{now, total})
}

// Count is how many turns were given in [now-1s, now]. (Were one given after now, it would count too:
// better a turn late than one over the limit.)
func (w *Window) Count(now time.Time) int {
	if i := w.live(now); i > 0 {
		return w.total() - w.given[i-1].total
	}
	return w.total() - w.dropped
}

// Next is the earliest time, not before now, at which one more turn may be given when limit (turns per
// second) must hold. With a limit below one there is no such time, and it answers a day from now.
func (w *Window) Next(now time.Time, limit int) time.Time {
	if limit <= 0 {
		return now.Add(noTurn)
	}
	if w.Count(now) < limit {
		return now
	}
	total := w.total()
	i := sort.Search(len(w.given), func(i int) bool { return total-w.given[i].total < limit })
	return w.given[i].at.Add(windowLength + 1) // one nanosecond after it is exactly a second old
}

// live finds the first entry that still counts at now.
func (w *Window) live(now time.Time) int {
	from := now.Add(-windowLength)
	return sort.Search(len(w.given), func(i int) bool { return !w.given[i].at.Before(from) })
}

func (w *Window) total() int {
	if k := len(w.given); k > 0 {
		return w.given[k-1].total
	}
	return w.dropped
}
