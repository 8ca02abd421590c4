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
		s.Waiting, s.InFlight = ln.waiting()-ln.dropped(), int(ln.flight)
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
	if !l.stuck() {
		return l.slot()
	}
	at := int64(never)
	for _, it := range l.rest.later { // those that only asked to go later are among them
		if it.tried {
			at = min(at, it.nextAt)
		}
	}
	return max(l.slot(), at)
}

// dropped counts those that were dropped and keep their place for a while, see Forget.
func (l *lane) dropped() (n int) {
	if l.failed == 0 || l.rest == nil {
		return 0
	}
	for _, it := range l.rest.later {
		if it.state == gone {
			n++
		}
	}
	return n
}

// before counts the waiting messages of the lane that go before it.
func (l *lane) before(it *item) (n int) {
	count := func(h []*item, before func(*item) bool) {
		for _, o := range h {
			if o.state == waiting && before(o) {
				n++
			}
		}
	}
	earlier := func(o *item) bool { return o.seq < it.seq }
	always := func(*item) bool { return true }
	sooner := func(o *item) bool { return o.nextAt < it.nextAt || o.nextAt == it.nextAt && o.seq < it.seq }
	stuck, soonest := l.stuck(), l.soonest()
	atOnce := func(o *item) bool { return o.tried || o.nextAt <= soonest && o.seq < it.seq } // of later ones, once it is not stuck
	switch {
	case it.waits == inFresh:
		if n = len(l.fresh) - 1; it.seq != l.last { // few ask but for the one that has just come, and that is the last
			n = 0
			count(l.fresh, earlier)
		}
		if l.rest != nil {
			n += len(l.rest.again)
		}
		if stuck {
			count(l.rest.later, atOnce)
		}
	case it.waits == inAgain:
		count(l.rest.again, earlier)
	case stuck && it.tried:
		count(l.rest.later, func(o *item) bool { return o.tried && sooner(o) })
	case stuck && it.nextAt <= soonest:
		count(l.fresh, earlier)
		count(l.rest.later, atOnce)
	default:
		count(l.fresh, always)
		count(l.rest.again, always)
		count(l.rest.later, func(o *item) bool { return sooner(o) || stuck && o.tried })
	}
	return n
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
