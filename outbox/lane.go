package outbox

import "container/heap"

// item is what memory keeps of one message; the rest stays in the Book until it is sent.
// One struct is 48 bytes: a long outage may leave millions of them.
type item struct {
	seq     uint64
	lane    *lane // of a dead item: only its names count
	nextAt  int64 // not before, Unix nanoseconds; 0 = at once
	created int64 // Unix nanoseconds; 0 = not known
	index   int32 // in lane.waiting while waiting
	state   phase
	tried   bool // at least one attempt has failed since it was last fresh
	dropped bool // staff dropped it while it was in flight
}

type phase uint8

const (
	gone phase = iota // delivered or dropped, not in lanes.items any more
	waiting
	inFlight
	dead
)

// lane is the messages of one sink and key that wait. It exists while it has one that waits or is in flight.
// Invariant: unless busy it stands in exactly one place, its target's ready line or the due heap.
type lane struct {
	target  *target
	key     string
	waiting bySeq
	next    *lane // behind this one in the ready line
	at      int64 // when it is due, while it stands in the due heap
	index   int32 // in the due heap
	stands  place
	busy    bool // its one message is in flight
	blocked bool // counted in target.blocked: its first message has failed
}

type place uint8

const (
	nowhere place = iota
	inReady
	inDue
)

// head returns the message that must go next and when it may, in Unix nanoseconds; nil when the lane has to wait for an
// outcome or has nothing. Rules of a lane (an interval, more than one in flight, a pause) belong here.
func (l *lane) head() (*item, int64) {
	if l.busy || len(l.waiting) == 0 {
		return nil, 0
	}
	return l.waiting[0], l.waiting[0].nextAt
}

// target is what the lanes of one sink share.
type target struct {
	name    string
	lanes   map[string]*lane
	first   *lane // the ready line: who may go now, longest ready first
	last    *lane
	flight  int
	blocked int
	known   bool // configured; messages for an unknown sink wait until a start that knows it
	stopped bool // said 410
}

func (t *target) open() bool { return t.known && !t.stopped }

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

// pop takes the lane that is ready longest, or nil. Lanes that ceased to exist while they stood here are passed over.
func (t *target) pop() *lane {
	for t.first != nil {
		l := t.first
		t.first = l.next
		if t.first == nil {
			t.last = nil
		}
		l.next = nil
		if l.stands == inReady {
			l.stands = nowhere
			return l
		}
	}
	return nil
}

// bySeq is a heap of the waiting messages of a lane. Messages nearly always come in order, which makes a push cheap; a
// heap because a dead one that is retried comes back in front of younger ones.
type bySeq []*item

func (h bySeq) Len() int           { return len(h) }
func (h bySeq) Less(a, b int) bool { return h[a].seq < h[b].seq }
func (h bySeq) Swap(a, b int) {
	h[a], h[b] = h[b], h[a]
	h[a].index, h[b].index = int32(a), int32(b)
}
func (h *bySeq) Push(x any) {
	it := x.(*item)
	it.index = int32(len(*h))
	*h = append(*h, it)
}
func (h *bySeq) Pop() any {
	old := *h
	it := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return it
}

// byDue is a heap of the lanes whose head may not go yet.
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
