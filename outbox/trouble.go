package outbox

import (
	"cmp"
	"slices"
	"time"
)

// Why a lane does not go on as it should.
const (
	WhyFailed  = "failed"  // one of its messages has failed and is to be tried again
	WhyPaused  = "paused"  // its rule lets nothing start
	WhyStopped = "stopped" // its sink said that it wants no more (410)
	WhyUnknown = "unknown" // its sink is not configured
)

// LaneTrouble is a lane that does not go on as it should, and has messages.
type LaneTrouble struct {
	Sink, Key string
	Why       string
	Waiting   int
	InFlight  int
	Next      time.Time // WhyFailed: the next try is not before; zero when it is under way or only its turn is missing
}

// manyTroubles bounds the lanes that are sorted for a page.
const manyTroubles = 10_000

// Troubles lists lanes that do not go on as they should, at most n, by sink and key. It is for people: it looks at the
// lanes one by one.
func (r *Relay) Troubles(n int) (found []LaneTrouble) {
	now := r.cfg.Now()
	r.mu.Lock()
	pauses := r.lanes.rules.pauses()
	for _, t := range r.lanes.ring {
		if t.open() && t.blocked == 0 && !pauses {
			continue
		}
		for _, ln := range t.lanes {
			if why := ln.trouble(); why != "" && len(found) < manyTroubles {
				found = append(found, LaneTrouble{
					Sink: t.name, Key: ln.key, Why: why, Waiting: ln.waiting(), InFlight: int(ln.flight), Next: ln.nextTry(why, now),
				})
			}
		}
	}
	r.mu.Unlock()
	slices.SortFunc(found, func(a, b LaneTrouble) int { return cmp.Or(cmp.Compare(a.Sink, b.Sink), cmp.Compare(a.Key, b.Key)) })
	return found[:min(n, len(found))]
}

// trouble tells why a lane does not go on; "" when it does or has nothing to do.
func (l *lane) trouble() string {
	switch {
	case l.idle():
		return ""
	case l.target.stopped:
		return WhyStopped
	case !l.target.known:
		return WhyUnknown
	case l.rule.paused():
		return WhyPaused
	case l.failed > 0:
		return WhyFailed
	}
	return ""
}

// nextTry is when a lane that failed tries again; zero when that is now.
func (l *lane) nextTry(why string, now time.Time) time.Time {
	if why != WhyFailed || l.rest == nil || len(l.rest.later) == 0 {
		return time.Time{}
	}
	for _, it := range l.rest.later {
		if at := time.Unix(0, it.nextAt).UTC(); it.tried && at.After(now) {
			return at
		}
	}
	return time.Time{}
}

// pauses tells whether any rule lets nothing start.
func (r *rules) pauses() bool {
	for _, some := range []map[string]*Rule{r.exact, r.prefix, r.sinks} {
		for _, rule := range some {
			if rule.paused() {
				return true
			}
		}
	}
	return false
}

// paused counts the lanes with messages whose rule lets nothing start.
func (l *lanes) paused() (n int) {
	if !l.rules.pauses() {
		return 0
	}
	for _, t := range l.ring {
		for _, ln := range t.lanes {
			if ln.rule.paused() && !ln.idle() {
				n++
			}
		}
	}
	return n
}

// SinkState is how the receiver behind a sink behaves.
type SinkState struct {
	Name    string // fit to be printed; two sinks may share it
	Down    bool   // it was not reached several times in a row, and gets one attempt at a time until it is
	Stopped bool   // it wants no more (410)
}

// Sinks tells how the receivers behave, in no order.
func (r *Relay) Sinks() (all []SinkState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.lanes.ring {
		all = append(all, SinkState{Name: r.nameOf(t.name), Down: t.known && t.streak >= longStreak, Stopped: t.stopped})
	}
	return all
}
