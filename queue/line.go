package queue

import (
	"iter"
	"slices"
	"unsafe"
)

// Line holds the waiting visitors of one event, ordered by number. Numbers are positive, are given by
// the caller and need not be dense: a line rebuilt after a restart may start at 1 900 001.
//
// A place costs about 27 bytes and no pointer: ids lie in chunks that go when nobody in them waits, a
// bitmap says who waits, and a hash table of 32-bit places finds an id. Joining, leaving and asking for
// a rank cost a few cache misses each, at two million places as at two hundred.
//
// Not safe for concurrent use. Number, At, Rank, Len, All and Bytes change nothing, so any number of them
// may run at once under a read lock.
type Line struct {
	spans  []span   // ascending; exactly the chunks in which somebody waits
	chunks chunks   // by handle; nil where free
	free   []uint32 // handles to use again
	index  index    // id -> place
	n      int      // how many wait
	blocks int      // blocks allocated, for Bytes
	last   uint64   // the highest number ever appended
}

// span is one chunk in order, with the exact count of places that wait in the chunks before it.
// Readers are many and writers few, so the writers carry the sums.
type span struct {
	key   uint64 // number / chunkSize
	ahead int
	chunk *chunk
}

// NewLine returns an empty line.
func NewLine() *Line {
	return &Line{index: newIndex()}
}

// Append puts a visitor at the end. The number must be higher than any appended before, and the
// visitor must not be waiting; anything else is a fault of the caller and panics.
func (l *Line) Append(number uint64, id ID) {
	if number <= l.last {
		panic("queue: appended number does not rise")
	}
	l.insert(number, id)
	l.last = number
}

// Restore puts back somebody who was taken out, under his own number, wherever that number belongs.
// While a line is rebuilt it may also bring in a number that this Line never saw. It panics when the
// number is zero or waits already, or when the visitor does.
func (l *Line) Restore(number uint64, id ID) {
	l.insert(number, id)
}

// Remove takes a number out of the line. It reports false, and does nothing, when it is not waiting.
func (l *Line) Remove(number uint64) bool {
	key, offset := split(number)
	i, ok := l.span(key)
	if !ok || !l.spans[i].chunk.has(offset) {
		return false
	}
	c := l.spans[i].chunk
	l.index.remove(l.index.hash(c.id(offset)), place(c.handle, offset))
	if c.remove(offset) {
		l.blocks--
	}
	for k := i + 1; k < len(l.spans); k++ {
		l.spans[k].ahead--
	}
	l.n--
	if c.n == 0 {
		l.spans = slices.Delete(l.spans, i, i+1)
		l.chunks[c.handle] = nil
		l.free = append(l.free, c.handle)
	}
	if l.n == 0 {
		l.spans, l.chunks, l.free = nil, nil, nil
		l.index.reset()
	}
	return true
}

// Number reports whether a visitor is waiting, and with which number.
func (l *Line) Number(id ID) (uint64, bool) {
	p, ok := l.index.find(l.chunks, &id)
	if !ok {
		return 0, false
	}
	return l.chunks.number(p), true
}

// At reports who waits under a number.
func (l *Line) At(number uint64) (ID, bool) {
	key, offset := split(number)
	i, ok := l.span(key)
	if !ok || !l.spans[i].chunk.has(offset) {
		return ID{}, false
	}
	return *l.spans[i].chunk.id(offset), true
}

// Rank counts the waiting places with a smaller number: zero at the front. The number itself need not
// be waiting.
func (l *Line) Rank(number uint64) int {
	key, offset := split(number)
	i, ok := l.span(key)
	switch {
	case ok:
		return l.spans[i].ahead + l.spans[i].chunk.ahead(offset)
	case i < len(l.spans):
		return l.spans[i].ahead
	default:
		return l.n
	}
}

// Len counts the waiting places.
func (l *Line) Len() int { return l.n }

// First is the smallest number that waits.
func (l *Line) First() (number uint64, ok bool) {
	c, offset, ok := l.next(0)
	if !ok {
		return 0, false
	}
	return c.number(offset), true
}

// All yields the waiting places in order, from the front. The line may change while it runs, the place
// just yielded may be removed too: each step yields the smallest waiting number above the one before.
func (l *Line) All() iter.Seq2[uint64, ID] {
	return func(yield func(uint64, ID) bool) {
		number := uint64(0)
		for {
			c, offset, ok := l.next(number)
			if !ok {
				return
			}
			number = c.number(offset)
			if !yield(number, *c.id(offset)) {
				return
			}
			if number++; number == 0 {
				return // that was the highest number there is
			}
		}
	}
}

// Bytes is roughly what the line holds on the heap.
func (l *Line) Bytes() int {
	inUse := len(l.chunks) - len(l.free)
	return int(unsafe.Sizeof(*l)) + l.blocks*int(unsafe.Sizeof(block{})) + inUse*chunkBytes +
		cap(l.spans)*int(unsafe.Sizeof(span{})) + cap(l.chunks)*8 + cap(l.free)*4 + l.index.bytes()
}

func (l *Line) insert(number uint64, id ID) {
	if number == 0 {
		panic("queue: numbers start at one")
	}
	if _, ok := l.index.find(l.chunks, &id); ok {
		panic("queue: visitor is waiting already")
	}
	key, offset := split(number)
	i, ok := l.span(key)
	if !ok {
		l.open(i, key)
	}
	c := l.spans[i].chunk
	if c.has(offset) {
		panic("queue: number is waiting already")
	}
	if c.insert(offset, id) {
		l.blocks++
	}
	for k := i + 1; k < len(l.spans); k++ {
		l.spans[k].ahead++
	}
	l.n++
	l.index.insert(l.chunks, l.index.hash(&id), place(c.handle, offset))
}

// open puts a new chunk at position i of the spans.
func (l *Line) open(i int, key uint64) {
	ahead := l.n
	if i < len(l.spans) {
		ahead = l.spans[i].ahead
	}
	c := &chunk{base: key << chunkBits}
	if k := len(l.free); k > 0 {
		c.handle, l.free = l.free[k-1], l.free[:k-1]
		l.chunks[c.handle] = c
	} else {
		if len(l.chunks) == maxChunks {
			panic("queue: line is spread over too many numbers")
		}
		c.handle = uint32(len(l.chunks))
		l.chunks = append(l.chunks, c)
	}
	l.spans = slices.Insert(l.spans, i, span{key: key, ahead: ahead, chunk: c})
}

// span finds the position of the first span that is not before key, and whether it is key's own.
func (l *Line) span(key uint64) (int, bool) {
	lo, hi := 0, len(l.spans)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if l.spans[mid].key < key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < len(l.spans) && l.spans[lo].key == key
}

// next finds the first waiting place whose number is not below number.
func (l *Line) next(number uint64) (*chunk, uint32, bool) {
	key, offset := split(number)
	i, ok := l.span(key)
	if ok {
		if o, found := l.spans[i].chunk.next(offset); found {
			return l.spans[i].chunk, o, true
		}
		i++
	}
	if i == len(l.spans) {
		return nil, 0, false
	}
	o, _ := l.spans[i].chunk.next(0) // a span is never empty
	return l.spans[i].chunk, o, true
}
