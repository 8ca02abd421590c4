package outbox

import (
	"container/heap"
	"strings"
	"time"
)

// lanes decides what may go now. It is pure: no goroutine, no I/O, no clock; its owner locks it.
//
// It is fair in two rings. Sinks take turns, and a sink never has more than perSink in flight, so a target that hangs
// does not use up all workers. In a sink, lanes take turns: a lane that has had one message stands behind all that are
// ready, so a message of a quiet lane waits for at most one message of each other lane, however long those are.
type lanes struct {
	workers int // in flight at most
	perSink int // in flight at most per sink
	items   map[uint64]*item
	targets map[string]*target
	ring    []*target // all targets; turn is whose turn it is
	turn    int
	due     byDue
	age     byAge
	waiting int
	flight  int
	dead    int
}

// start names a message that goes now.
type start struct {
	seq  uint64
	sink string
}

func newLanes(workers, perSink int, sinks []string) *lanes {
	l := &lanes{workers: workers, perSink: perSink, items: map[uint64]*item{}, targets: map[string]*target{}}
	for _, name := range sinks {
		l.target(name).known = true
	}
	return l
}

// Add takes a message in; one that is known already changes nothing and returns false.
// Of the message only Seq, Sink, Key, NextAt, CreatedAt, State and whether it was tried are kept.
func (l *lanes) Add(m Message) bool {
	if l.items[m.Seq] != nil {
		return false
	}
	it := &item{seq: m.Seq, nextAt: nanos(m.NextAt), created: nanos(m.CreatedAt), tried: m.Attempts > 0}
	l.items[m.Seq] = it
	t := l.target(m.Sink)
	if m.State == Dead {
		it.state, it.lane = dead, &lane{target: t, key: strings.Clone(m.Key)}
		l.dead++
		return true
	}
	l.enter(it, l.lane(t, m.Key))
	l.age.add(it, l.waiting+l.flight)
	return true
}

// Next takes the message that goes now. When there is none it returns false and when to look again; a zero time
// means that only a call of Add, Done, Release, Retry or Forget can change the answer.
func (l *lanes) Next(now time.Time) (start, bool, time.Time) {
	at := now.UnixNano()
	for len(l.due) > 0 && l.due[0].at <= at {
		ln := heap.Pop(&l.due).(*lane)
		ln.target.push(ln)
	}
	if l.flight < l.workers {
		for range l.ring {
			t := l.ring[l.turn]
			l.turn = (l.turn + 1) % len(l.ring)
			if it := l.take(t, at); it != nil {
				return start{it.seq, t.name}, true, time.Time{}
			}
		}
	}
	if len(l.due) == 0 {
		return start{}, false, time.Time{}
	}
	return start{}, false, time.Unix(0, l.due[0].at)
}

// take starts the message of t whose lane is ready longest, or returns nil.
func (l *lanes) take(t *target, at int64) *item {
	if !t.open() || t.flight >= l.perSink {
		return nil
	}
	for ln := t.pop(); ln != nil; ln = t.pop() {
		it, when := ln.head()
		if when > at { // an older message with a later time came in while the lane stood ready
			l.place(ln)
			continue
		}
		heap.Pop(&ln.waiting)
		it.state, ln.busy = inFlight, true
		l.waiting--
		l.flight++
		t.flight++
		return it
	}
	return nil
}

// Done takes the settled outcome of a message in flight. A late outcome of one that is not in flight is ignored.
func (l *lanes) Done(o Outcome) {
	it := l.land(o.Seq)
	switch {
	case it == nil:
		return
	case o.Delivered || it.dropped:
		it.state = gone
		delete(l.items, it.seq)
		l.place(it.lane)
	case o.State == Dead:
		it.state = dead
		l.dead++
		l.place(it.lane)
	default:
		it.tried, it.nextAt = true, nanos(o.NextAt)
		l.enter(it, it.lane)
	}
}

// Release gives back a message in flight that was not tried after all; it goes again at until.
func (l *lanes) Release(seq uint64, until time.Time) {
	it := l.land(seq)
	if it == nil {
		return
	}
	if it.dropped {
		it.state = gone
		delete(l.items, seq)
		l.place(it.lane)
		return
	}
	it.nextAt = nanos(until)
	l.enter(it, it.lane)
}

// land ends the flight of a message and frees its lane; nil when it was not in flight. The caller gives the message its
// next state and the lane its place.
func (l *lanes) land(seq uint64) *item {
	it := l.items[seq]
	if it == nil || it.state != inFlight {
		return nil
	}
	it.lane.busy = false
	it.lane.target.flight--
	l.flight--
	return it
}

// Retry lets a dead or waiting message go at once and starts its sink again if that was stopped.
// One in flight is left alone. It returns false when the message is not known.
func (l *lanes) Retry(seq uint64) bool {
	it := l.items[seq]
	if it == nil {
		return false
	}
	t := it.lane.target
	t.stopped = false
	switch it.state {
	case dead:
		l.dead--
		it.tried, it.nextAt = false, 0
		l.enter(it, l.lane(t, it.lane.key))
		l.age.add(it, l.waiting+l.flight)
	case waiting:
		it.tried, it.nextAt = false, 0
		l.place(it.lane)
	}
	return true
}

// Forget drops a message; one in flight is dropped when it lands.
func (l *lanes) Forget(seq uint64) {
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
		heap.Remove(&it.lane.waiting, int(it.index))
		l.waiting--
		l.place(it.lane)
	}
	it.state = gone
	delete(l.items, seq)
}

// Stop lets nothing more go to a sink.
func (l *lanes) Stop(sink string) { l.target(sink).stopped = true }

// blocked counts the lanes that cannot go on: their first message has failed and is not decided, or their sink is stopped
// or not configured.
func (l *lanes) blocked() int {
	n := 0
	for _, t := range l.ring {
		if t.open() {
			n += t.blocked
		} else {
			n += len(t.lanes)
		}
	}
	return n
}

// enter makes a message wait in its lane.
func (l *lanes) enter(it *item, ln *lane) {
	it.state, it.lane = waiting, ln
	heap.Push(&ln.waiting, it)
	l.waiting++
	l.place(ln)
}

// place puts a lane where it belongs after any change of it; an empty one ceases to exist.
func (l *lanes) place(ln *lane) {
	if ln.busy {
		return
	}
	it, when := ln.head()
	ln.mark(it != nil && it.tried)
	if ln.stands == inDue {
		heap.Remove(&l.due, int(ln.index))
		ln.stands = nowhere
	}
	switch {
	case it == nil:
		ln.stands = nowhere // pop passes it over
		if ln.target.lanes[ln.key] == ln {
			delete(ln.target.lanes, ln.key)
		}
	case ln.stands == inReady: // take looks at the time again
	case when == 0:
		ln.target.push(ln)
	default:
		ln.at, ln.stands = when, inDue
		heap.Push(&l.due, ln)
	}
}

// mark counts the lane as blocked or not.
func (l *lane) mark(blocked bool) {
	if blocked && !l.blocked {
		l.target.blocked++
	}
	if !blocked && l.blocked {
		l.target.blocked--
	}
	l.blocked = blocked
}

func (l *lanes) target(name string) *target {
	t := l.targets[name]
	if t == nil {
		t = &target{name: name, lanes: map[string]*lane{}}
		l.targets[name] = t
		l.ring = append(l.ring, t)
	}
	return t
}

func (l *lanes) lane(t *target, key string) *lane {
	ln := t.lanes[key]
	if ln == nil {
		ln = &lane{target: t, key: strings.Clone(key)} // the caller's key may be part of a large text
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
