package outbox

import (
	"container/heap"
	"time"
)

// item is what memory keeps of one message; the rest stays in the Book until it is sent.
// One struct is 48 bytes: a long outage may leave millions of them.
type item struct {
	seq     uint64
	lane    *lane  // of a dead item: only its names count
	nextAt  int64  // not before, Unix nanoseconds; 0 = at once
	created int64  // Unix nanoseconds; 0 = not known
	index   int32  // in the heap of its lane in which it waits
	round   uint32 // of its target when it started, see told
	state   phase
	waits   room
	tried   bool // at least one attempt has failed since it was last fresh: it holds one of its lane's places
	held    bool // tried by a run before this one, perhaps: it has a place until its time has come, and is fresh then
	leased  bool // a run before this one may have called it: until nextAt while it waits, a call may be under way
	dropped bool // staff dropped it while it was in flight
	landed  bool // in flight, but its call has ended: its outcome is being settled
	freed   bool // landed without a call: its lane does not wait for its outcome
}

type phase uint8

const (
	gone phase = iota // delivered or dropped, not in lanes.items any more
	waiting
	inFlight
	dead
)

// room says in which heap of its lane a waiting message is.
type room uint8

const (
	inFresh room = iota
	inAgain
	inLater
)

// lane is the messages of one sink and key. It exists while it has one that waits or is undecided, or a slot to come.
// Invariant: it stands in at most one place, its target's ready line or the due heap, and in one of them whenever it
// could start a message now or at a time that is known.
type lane struct {
	target *target
	key    string
	rule   *Rule  // shared by all lanes that it fits; nil is the zero Rule
	fresh  bySeq  // may go when the lane lets them, in their order
	rest   *rest  // what has a time before which it must not go, or has failed; most lanes have none
	next   *lane  // behind this one in the ready line
	at     int64  // when it is due, while it stands in the due heap
	began  int64  // the last start, Unix nanoseconds; 0 = none that is known
	kept   int64  // the latest slot that it had by a rule before: until then the last start is remembered
	last   uint64 // no message in fresh has a larger number
	index  int32  // in the due heap
	flight int32  // in flight
	open   int32  // undecided: in flight, or failed and to be tried again
	failed int32  // of those, failed before
	held   int32  // of those, see item.held
	stands place
	nth    uint16 // of its starts the last was
}

// rest is the messages of a lane that are not simply waiting for their turn.
type rest struct {
	again bySeq // failed before and due again; they hold places of the lane and go first
	later byTime
}

type place uint8

const (
	nowhere place = iota
	inReady
	inDue
)

// head returns the message that goes next and when it may, in Unix nanoseconds; without a message, when to look again.
// never says that only an outcome, a new message or a change of the rule can help.
func (l *lane) head(now int64) (it *item, when int64) {
	if l.rule.paused() {
		return nil, never
	}
	l.wakeRest(now)
	limit, when := l.rule.limit(), int64(never)
	switch {
	case l.rest != nil && len(l.rest.again) > 0 && l.flight < limit:
		it, when = l.rest.again[0], l.slot()
	case len(l.fresh) > 0 && l.open < limit && l.held == 0: // of the held ones nobody knows which have gone
		it, when = l.fresh[0], l.slot()
	}
	if l.rest != nil && len(l.rest.later) > 0 {
		if at := l.rest.later[0].nextAt; at < when {
			return nil, at
		}
	}
	return it, when
}

const never = 1<<63 - 1

// slot is before when no message starts: a step after the last start, by the rule as it is now.
func (l *lane) slot() int64 { return l.began + int64(l.rule.Step()) }

// wakeRest lets those go whose time has come.
func (l *lane) wakeRest(now int64) {
	for l.rest != nil && len(l.rest.later) > 0 && l.rest.later[0].nextAt <= now {
		it := heap.Pop(&l.rest.later).(*item)
		l.queue(it, now)
	}
}

// queue puts a waiting message where it belongs.
func (l *lane) queue(it *item, now int64) {
	if it.state == gone { // see Forget
		l.unhold(it)
		l.give(true)
		return
	}
	if it.held && it.nextAt <= now {
		it.tried = false
		l.unhold(it)
		l.give(true)
	}
	if it.nextAt <= now && !it.tried {
		it.waits = inFresh
		heap.Push(&l.fresh, it)
		l.last = max(l.last, it.seq)
		return
	}
	if l.rest == nil {
		l.rest = &rest{}
	}
	if it.nextAt <= now {
		it.waits = inAgain
		heap.Push(&l.rest.again, it)
		return
	}
	it.waits = inLater
	heap.Push(&l.rest.later, it)
}

// leave takes a waiting message out of its heap.
func (l *lane) leave(it *item) {
	switch it.waits {
	case inFresh:
		heap.Remove(&l.fresh, int(it.index))
	case inAgain:
		heap.Remove(&l.rest.again, int(it.index))
	case inLater:
		heap.Remove(&l.rest.later, int(it.index))
	}
	if l.rest != nil && len(l.rest.again)+len(l.rest.later) == 0 {
		l.rest = nil
	}
}

// waiting counts the messages that wait.
func (l *lane) waiting() int {
	if l.rest == nil {
		return len(l.fresh)
	}
	return len(l.fresh) + len(l.rest.again) + len(l.rest.later)
}

// hold and give take and give back a place of the lane for a message that is undecided.
func (l *lane) hold(tried bool) {
	l.open++
	if tried {
		l.fail()
	}
}

func (l *lane) give(tried bool) {
	l.open--
	if tried {
		if l.failed--; l.failed == 0 {
			l.target.blocked--
		}
	}
}

// unhold ends that a message counts as one that a run before this one has tried.
func (l *lane) unhold(it *item) {
	if it.held {
		it.held = false
		l.held--
	}
}

// fail counts an undecided message as failed before.
func (l *lane) fail() {
	if l.failed++; l.failed == 1 {
		l.target.blocked++
	}
}

// target is what the lanes of one sink share.
type target struct {
	name    string
	lanes   map[string]*lane
	first   *lane // the ready line: who may go now, longest ready first
	last    *lane
	limit   int    // calls at a time
	flight  int    // calls under way
	blocked int    // lanes with a message that failed and is not decided
	streak  int    // attempts in a row that did not reach it, each started after the one before had failed
	round   uint32 // rises with each outcome that counts for the streak
	shut    int64  // after a long streak: no attempt before, Unix nanoseconds
	known   bool   // configured; messages for an unknown sink wait until a start that knows it
	stopped bool   // said 410
}

func (t *target) open() bool { return t.known && !t.stopped }

// The circuit of a target: after a streak of attempts that did not reach it, it gets one per pause until one does.
const (
	longStreak = 5
	shutPause  = 5 * time.Second
)

// free tells whether one more attempt may go to the target now; if only time can help, when.
func (t *target) free(now int64) (ok bool, when int64) {
	n := t.limit
	if t.streak >= longStreak {
		n = 1
	}
	switch {
	case !t.open() || t.flight >= n:
		return false, never
	case t.streak >= longStreak && t.shut > now:
		return false, t.shut
	}
	return true, now
}

// told takes in whether an attempt that started in a round reached it. Of attempts that ran side by side one failure counts:
// they may all have failed of one thing, such as a machine that slept.
func (t *target) told(reached bool, round uint32, now int64) {
	if !reached && round != t.round {
		return
	}
	t.round++
	if reached {
		t.streak = 0
		return
	}
	t.streak++
	t.shut = now + int64(shutPause)
}

// push puts a lane at the end of the ready line.
func (t *target) push(l *lane) {
	l.stands, l.next = inReady, nil
	if t.last == nil {
		t.first = l
	} else {
		t.last.next = l
	}
	t.last = l
}

// pop takes the lane that is ready longest, or nil.
func (t *target) pop() *lane {
	l := t.first
	if l == nil {
		return nil
	}
	if t.first = l.next; t.first == nil {
		t.last = nil
	}
	l.next, l.stands = nil, nowhere
	return l
}

// bySeq is a heap of messages by number. They nearly always come in order, which makes a push cheap; a heap because a
// dead one that is retried comes back in front of younger ones.
type bySeq []*item

func (h bySeq) Len() int           { return len(h) }
func (h bySeq) Less(a, b int) bool { return h[a].seq < h[b].seq }
func (h bySeq) Swap(a, b int)      { swap(h, a, b) }
func (h *bySeq) Push(x any)        { *h = push(*h, x.(*item)) }
func (h *bySeq) Pop() (x any)      { *h, x = pop(*h); return x }

// byTime is a heap of messages by the time before which they must not go, then by number.
type byTime []*item

func (h byTime) Len() int { return len(h) }
func (h byTime) Less(a, b int) bool {
	return h[a].nextAt < h[b].nextAt || h[a].nextAt == h[b].nextAt && h[a].seq < h[b].seq
}
func (h byTime) Swap(a, b int) { swap(h, a, b) }
func (h *byTime) Push(x any)   { *h = push(*h, x.(*item)) }
func (h *byTime) Pop() (x any) { *h, x = pop(*h); return x }

func swap(h []*item, a, b int) {
	h[a], h[b] = h[b], h[a]
	h[a].index, h[b].index = int32(a), int32(b)
}

func push(h []*item, it *item) []*item {
	it.index = int32(len(h))
	return append(h, it)
}

func pop(h []*item) ([]*item, any) {
	it := h[len(h)-1]
	h[len(h)-1] = nil
	return h[:len(h)-1], it
}

// byDue is a heap of the lanes that can go, or must be looked at, at a time to come.
type byDue []*lane

func (h byDue) Len() int           { return len(h) }
func (h byDue) Less(a, b int) bool { return h[a].at < h[b].at }
func (h byDue) Swap(a, b int) {
	h[a], h[b] = h[b], h[a]
	h[a].index, h[b].index = int32(a), int32(b)
}
func (h *byDue) Push(x any) {
	l := x.(*lane)
	l.index = int32(len(*h))
	*h = append(*h, l)
}
func (h *byDue) Pop() any {
	old := *h
	l := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return l
}

// byAge is a heap of messages by creation. Those that are delivered or dead are taken out when they come to the front,
// and all at once when they are the larger part.
type byAge []*item

func (h byAge) Len() int           { return len(h) }
func (h byAge) Less(a, b int) bool { return h[a].created < h[b].created }
func (h byAge) Swap(a, b int)      { h[a], h[b] = h[b], h[a] }
func (h *byAge) Push(x any)        { *h = append(*h, x.(*item)) }
func (h *byAge) Pop() any {
	old := *h
	it := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return it
}

func (it *item) live() bool { return it.state == waiting || it.state == inFlight }

// add puts a message in; live is how many are waiting or in flight.
func (h *byAge) add(it *item, live int) {
	if len(*h) > 2*live+64 {
		kept := (*h)[:0]
		for _, old := range *h {
			if old.live() {
				kept = append(kept, old)
			}
		}
		clear((*h)[len(kept):])
		*h = kept
		heap.Init(h)
	}
	heap.Push(h, it)
}

// oldest returns the creation of the oldest live message in Unix nanoseconds, 0 when there is none.
func (h *byAge) oldest() int64 {
	for len(*h) > 0 && !(*h)[0].live() {
		heap.Pop(h)
	}
	if len(*h) == 0 {
		return 0
	}
	return (*h)[0].created
}
