package outbox

import "time"

// LaneState is how a lane stands.
type LaneState struct {
	Rule     Rule
	Next     time.Time // the next start is not before; now when nothing but the turn of others holds it up, zero when it is paused
	Waiting  int       // messages that wait, those whose time has not come included
	InFlight int
}

// Lane returns how the lane of a sink and key stands. One that has nothing to do has its rule all the same.
func (r *Relay) Lane(sink, key string) LaneState {
	now := r.cfg.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	s := LaneState{Next: now}
	rule := r.lanes.rules.of(sink, key)
	if t := r.lanes.targets[sink]; t != nil && t.lanes[key] != nil {
		ln := t.lanes[key]
		s.Waiting, s.InFlight = ln.waiting(), int(ln.flight)
		s.Next = latest(now, time.Unix(0, ln.soonest()))
	}
	if rule != nil {
		s.Rule = *rule
	}
	if rule.paused() {
		s.Next = time.Time{}
	}
	s.Rule.Concurrency = max(s.Rule.Concurrency, 1)
	return s
}

// Standing is where a message stands that is neither delivered nor dead.
type Standing struct {
	Running  bool
	Position int       // how many of its lane go before it
	Due      time.Time // when it starts if all before it do, at the pace of its lane; zero in a paused lane
}

// Standing returns where a message stands; false when it is not known, delivered or dead.
func (r *Relay) Standing(seq uint64) (Standing, bool) {
	now := r.cfg.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	it := r.lanes.items[seq]
	switch {
	case it == nil || !it.live():
		return Standing{}, false
	case it.state == inFlight:
		return Standing{Running: true, Due: now}, true
	}
	ln := it.lane
	s := Standing{Position: ln.before(it)}
	if ln.rule.paused() {
		return s, true
	}
	s.Due = latest(now, time.Unix(0, ln.soonest())).Add(time.Duration(s.Position) * ln.rule.Step())
	s.Due = latest(s.Due, time.Unix(0, it.nextAt))
	return s, true
}

// stuck tells whether the lane waits for the time of one that failed, or that may be under way for a run before this one.
func (l *lane) stuck() bool {
	return l.rest != nil && len(l.rest.again) == 0 && len(l.rest.later) > 0 && (l.held > 0 || l.flight == 0 && l.open >= l.rule.limit())
}

// soonest is when the lane can start a message, in Unix nanoseconds.
func (l *lane) soonest() int64 {
	if l.stuck() {
		return max(l.slot(), l.rest.later[0].nextAt)
	}
	return l.slot()
}

// before counts the waiting messages of the lane that go before it.
func (l *lane) before(it *item) (n int) {
	count := func(h []*item, before func(*item) bool) {
		for _, o := range h {
			if before(o) {
				n++
			}
		}
	}
	earlier := func(o *item) bool { return o.seq < it.seq }
	always := func(*item) bool { return true }
	switch {
	case it.waits == inFresh:
		if n = len(l.fresh) - 1; it.seq != l.last { // few ask but for the one that has just come, and that is the last
			n = 0
			count(l.fresh, earlier)
		}
		if l.rest != nil {
			n += len(l.rest.again)
		}
		if l.stuck() {
			count(l.rest.later, func(o *item) bool { return o.tried })
		}
	case it.waits == inAgain:
		count(l.rest.again, earlier)
	default:
		if !it.tried || !l.stuck() {
			count(l.fresh, always)
		}
		count(l.rest.again, always)
		count(l.rest.later, func(o *item) bool { return o.nextAt < it.nextAt || o.nextAt == it.nextAt && o.seq < it.seq })
	}
	return n
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
