package outbox

import (
	"container/heap"
	"strings"
	"time"
)

// lanes decides what may go now. It is pure: no goroutine, no I/O, no clock; its owner locks it.
//
// A lane never has more messages undecided than its rule allows, and its starts are at least a step apart, so that no
// interval has more than the rule's number. They start in the order of Seq; one whose time has not come is passed by
// those behind it, one that has failed keeps its place among the undecided.
//
// It is fair in two rings. Sinks take turns, and a sink never has more calls at a time than its limit, so a target that
// hangs does not use up all workers; one that cannot be reached gets one attempt at a time, with a pause between, until
// it can. In a sink, lanes take turns: a lane that has had one message stands behind all that are ready, so a message of
// a quiet lane waits for at most one message of each other lane, however long those are.
type lanes struct {
	workers int // calls at a time
	perSink int // calls at a time per sink, unless a target has a limit of its own
	backlog int // while so many outcomes are not settled, nothing starts
	items   map[uint64]*item
	targets map[string]*target
	ring    []*target // all targets; turn is whose turn it is
	turn    int
	rules   rules
	due     byDue
	age     byAge
	clock   int64 // of the last Next, Unix nanoseconds
	waiting int
	flight  int // calls under way
	landed  int // calls that have ended, and are not settled
	stalled bool
	dead    int
}

// maxBacklog is enough for the calls of some slow commits, and the most that are repeated after a crash.
const maxBacklog = 1024

// start names a message that goes now.
type start struct {
	seq       uint64
	sink, key string
	slot      time.Time // the next start of its lane is not before; zero when the lane has no pace
	nth       uint16    // of its lane
	before    int64     // lane.began when it was taken
	leased    bool      // a run before this one may have called it
	rule      *Rule     // of its lane; may be nil
	message   *Message  // once it is loaded
}

func newLanes(workers, perSink int, sinks []string) *lanes {
	l := &lanes{workers: workers, perSink: perSink, backlog: maxBacklog, items: map[uint64]*item{}, targets: map[string]*target{}}
	for _, name := range sinks {
		l.target(name).known = true
	}
	return l
}

// Add takes a message in; one that is known already changes nothing and returns false.
// Of the message only Seq, Sink, Key, NextAt, CreatedAt, State and whether it was tried or is held are kept.
func (l *lanes) Add(m Message) bool {
	if l.items[m.Seq] != nil {
		return false
	}
	it := &item{seq: m.Seq, nextAt: nanos(m.NextAt), created: nanos(m.CreatedAt)}
	it.tried, it.held, it.leased = m.Attempts > 0 || m.Held, m.Held && m.Attempts == 0, m.Held
	l.items[m.Seq] = it
	t := l.target(m.Sink)
	if m.State == Dead {
		it.state, it.lane = dead, &lane{target: t, key: strings.Clone(m.Key)}
		l.dead++
		return true
	}
	ln := l.lane(t, m.Key)
	if it.tried {
		ln.hold(true)
	}
	if it.held {
		ln.held++
	}
	l.enter(it, ln)
	l.age.add(it, l.live())
	return true
}

// Next takes the message that goes now. When there is none it returns false and when to look again; a zero time
// means that only a call of another method can change the answer.
func (l *lanes) Next(now time.Time) (start, bool, time.Time) {
	l.clock = now.UnixNano()
	for len(l.due) > 0 && l.due[0].at <= l.clock {
		ln := heap.Pop(&l.due).(*lane)
		ln.target.push(ln)
	}
	if l.flight < l.workers && l.landed < l.backlog && !l.stalled {
		for range l.ring {
			t := l.ring[l.turn]
			l.turn = (l.turn + 1) % len(l.ring)
			if it, before := l.take(t); it != nil {
				return l.started(it, before), true, time.Time{}
			}
		}
	}
	at := int64(never)
	if len(l.due) > 0 {
		at = l.due[0].at
	}
	for _, t := range l.ring {
		if _, when := t.free(l.clock); when > l.clock && t.first != nil {
			at = min(at, when)
		}
	}
	if at == never {
		return start{}, false, time.Time{}
	}
	return start{}, false, time.Unix(0, at)
}

// take starts the message of t whose lane is ready longest, or returns nil. Before is the start of that lane before this one.
func (l *lanes) take(t *target) (it *item, before int64) {
	if ok, _ := t.free(l.clock); !ok {
		return nil, 0
	}
	for ln := t.pop(); ln != nil; ln = t.pop() {
		it, when := ln.head(l.clock)
		if it == nil || when > l.clock { // things have changed while the lane stood ready
			l.place(ln)
			continue
		}
		ln.leave(it)
		it.state, it.round = inFlight, t.round
		if !it.tried {
			ln.hold(false)
		}
		ln.flight++
		t.flight++
		l.flight++
		l.waiting--
		before, ln.began = ln.began, l.clock
		ln.nth++
		l.place(ln)
		return it, before
	}
	return nil, 0
}

func (l *lanes) started(it *item, before int64) start {
	s := start{seq: it.seq, sink: it.lane.target.name, key: it.lane.key, rule: it.lane.rule, nth: it.lane.nth, before: before, leased: it.leased}
	if slot := it.lane.slot(); slot > l.clock {
		s.slot = time.Unix(0, slot)
	}
	return s
}

// Called says that a message in flight is being sent now and not when it was started, and returns the next slot of its
// lane, which counts from the call.
func (l *lanes) Called(seq uint64, now time.Time) time.Time {
	it := l.items[seq]
	if it == nil || it.state != inFlight {
		return time.Time{}
	}
	ln := it.lane
	if at := now.UnixNano(); at > ln.began {
		ln.began = at
		l.place(ln)
	}
	return time.Unix(0, ln.slot())
}

// Retry lets a dead or waiting message go at once and starts its sink again if that was stopped.
// One that may be under way goes when that is over, one in flight is left alone. It returns false when the message is not known.
func (l *lanes) Retry(seq uint64, now time.Time) bool {
	it := l.items[seq]
	if it == nil {
		return false
	}
	t := it.lane.target
	t.stopped, t.streak = false, 0
	switch it.state {
	case dead:
		l.dead--
		it.tried, it.nextAt = false, 0
		l.enter(it, l.lane(t, it.lane.key))
		l.age.add(it, l.live())
	case waiting:
		if it.busy(now) {
			break
		}
		l.withdraw(it)
		it.tried, it.nextAt = false, 0
		l.enter(it, it.lane)
	}
	return true
}

// withdraw takes a waiting message out of its lane.
func (l *lanes) withdraw(it *item) {
	it.lane.leave(it)
	it.lane.unhold(it)
	l.waiting--
	if it.tried {
		it.lane.give(true)
	}
}

// Forget drops a message; one in flight is dropped when it lands. The lane of one that may be under way waits until that is
// over all the same.
func (l *lanes) Forget(seq uint64, now time.Time) {
	it := l.items[seq]
	if it == nil {
		return
	}
	switch it.state {
	case inFlight:
		it.dropped = true
		return
	case dead:
		l.dead--
	case waiting:
		if it.busy(now) { // it stays among those that are later, and gives its place back when its time comes
			l.waiting--
			break
		}
		l.withdraw(it)
		l.place(it.lane)
	}
	it.state = gone
	delete(l.items, seq)
}

// Stop lets nothing more go to a sink.
func (l *lanes) Stop(sink string) { l.target(sink).stopped = true }

// SetRule gives a rule to a key, or to all keys that begin like a pattern that ends with an asterisk; nil takes it away.
// What is in flight stays in flight; the next slot is counted anew from the last start, as long as the lane is there: it has
// messages, or its slot by one of the rules since was to come. It returns the slots that are later now, and the messages that have
// failed and wait under a stricter rule.
func (l *lanes) SetRule(pattern string, r *Rule, now time.Time) (later []Slot, judge []uint64) {
	l.clock = now.UnixNano()
	l.rules.set(pattern, r)
	for _, t := range l.ring {
		for _, ln := range t.lanes {
			was, slot := ln.rule, ln.slot()
			if ln.rule = l.rules.of(t.name, ln.key); ln.rule == was {
				continue
			}
			ln.kept = max(ln.kept, slot)
			if slot = ln.slot(); slot > l.clock && ln.rule.Step() > was.Step() {
				later = append(later, Slot{t.name, ln.key, time.Unix(0, slot)})
			}
			if ln.rule.stricter(was) {
				judge = append(judge, ln.failures()...)
			}
			l.place(ln)
		}
	}
	return later, judge
}

// SetSlot says that the next start of a lane is not before at, as a run before this one has booked.
func (l *lanes) SetSlot(sink, key string, at time.Time) {
	ln := l.lane(l.target(sink), key)
	ln.began = max(ln.began, nanos(at)-int64(ln.rule.Step()))
	l.place(ln)
}

// blocked counts the lanes that cannot go on as they should: one of their messages has failed and is not decided, or
// their sink is stopped or not configured.
func (l *lanes) blocked() int {
	n := 0
	for _, t := range l.ring {
		if t.open() {
			n += t.blocked
			continue
		}
		for _, ln := range t.lanes {
			if !ln.idle() {
				n++
			}
		}
	}
	return n
}

// enter makes a message wait in its lane.
func (l *lanes) enter(it *item, ln *lane) {
	it.state, it.lane = waiting, ln
	ln.queue(it, l.clock)
	l.waiting++
	l.place(ln)
}

// place puts a lane where it belongs after any change of it; an idle one ceases to exist once its slot has come.
func (l *lanes) place(ln *lane) {
	if ln.stands == inReady { // take looks again
		return
	}
	if ln.stands == inDue {
		heap.Remove(&l.due, int(ln.index))
		ln.stands = nowhere
	}
	it, when := ln.head(l.clock)
	if ln.idle() {
		if when = max(ln.slot(), ln.kept); when <= l.clock {
			delete(ln.target.lanes, ln.key)
			return
		}
	}
	switch {
	case it != nil && when <= l.clock:
		ln.target.push(ln)
	case when != never:
		ln.at, ln.stands = when, inDue
		heap.Push(&l.due, ln)
	}
}

// idle tells whether a lane has nothing to do.
func (l *lane) idle() bool { return l.open == 0 && l.waiting() == 0 }

func (l *lanes) target(name string) *target {
	t := l.targets[name]
	if t == nil {
		t = &target{name: name, limit: l.perSink, lanes: map[string]*lane{}}
		l.targets[name] = t
		l.ring = append(l.ring, t)
	}
	return t
}

func (l *lanes) lane(t *target, key string) *lane {
	ln := t.lanes[key]
	if ln == nil {
		ln = &lane{target: t, key: strings.Clone(key), rule: l.rules.of(t.name, key)} // the caller's key may be part of a large text
		t.lanes[ln.key] = ln
	}
	return ln
}

// nanos is Unix nanoseconds, 0 for the zero time.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
