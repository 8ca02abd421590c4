package queue

import (
	"hash/maphash"
	"unsafe"
)

const (
	slots   = 254 // in a table: what fits the allocator's 1 280 bytes
	full    = 216 // entries at which a table is split in two
	sparse  = 32  // entries below which a table looks whether its twin can take it in
	mergeTo = 108 // entries that two tables may have together to become one
)

// index finds the place of a visitor. It is extendible hashing (Fagin and others, 1979): small tables
// under a directory that doubles, so that growing never moves more than one table's entries. A table is
// open addressing with Robin Hood order (Celis, 1986): an entry keeps how far it is from home, which
// ends a search early, spares nearly every comparison with a wrong id and makes removal a shift without
// tombstones. Entries are places; the ids stay in the chunks.
//
// The hash has a random seed of its own, so nobody can choose ids that fall into one table.
type index struct {
	seed   maphash.Seed
	tables []*table // by the low depth bits of the hash; a table of smaller depth appears repeatedly
	depth  uint8
	count  int // different tables
}

type table struct {
	places [slots]uint32
	steps  [slots]uint8 // 1 + slots from home; 0 is free. At most full, so it fits
	n      uint8
	depth  uint8 // low bits of the hash that all entries share
}

func newIndex() index {
	x := index{seed: maphash.MakeSeed()}
	x.reset()
	return x
}

// reset forgets everything, and the room it took.
func (x *index) reset() {
	x.tables, x.depth, x.count = []*table{{}}, 0, 1
}

func (x *index) hash(id *ID) uint64 { return maphash.Bytes(x.seed, id[:]) }

// table picks by the low bits of a hash, home by the high ones.
func (x *index) table(hash uint64) *table { return x.tables[hash&uint64(len(x.tables)-1)] }

func home(hash uint64) int { return int(hash >> 32 * slots >> 32) }

func after(slot int) int {
	if slot++; slot == slots {
		return 0
	}
	return slot
}

func (x *index) bytes() int {
	return x.count*int(unsafe.Sizeof(table{})) + cap(x.tables)*8
}

func (x *index) find(cs chunks, id *ID) (uint32, bool) {
	hash := x.hash(id)
	t := x.table(hash)
	i := home(hash)
	for step := uint8(1); t.steps[i] >= step; step++ {
		if t.steps[i] == step && *cs.id(t.places[i]) == *id {
			return t.places[i], true
		}
		i = after(i)
	}
	return 0, false
}

// insert adds a place whose id is not in the index.
func (x *index) insert(cs chunks, hash uint64, place uint32) {
	for x.table(hash).n >= full {
		x.split(cs, hash)
	}
	x.table(hash).put(place, home(hash))
}

// remove takes out a place that is in the index.
func (x *index) remove(hash uint64, place uint32) {
	t := x.table(hash)
	i := home(hash)
	for step := uint8(1); t.places[i] != place || t.steps[i] != step; step++ {
		if t.steps[i] < step {
			panic("queue: index lost a place")
		}
		i = after(i)
	}
	t.cut(i)
	if t.n < sparse && t.depth > 0 {
		x.merge(t, hash)
	}
}

// split gives half of a table's entries to a new twin. It moves at most full entries, and when the
// directory must double, one pointer per table.
func (x *index) split(cs chunks, hash uint64) {
	t := x.table(hash)
	if t.depth == x.depth {
		x.tables = append(x.tables, x.tables...)
		x.depth++
	}
	old, bit := *t, uint64(1)<<t.depth
	*t = table{depth: old.depth + 1}
	twin := &table{depth: old.depth + 1}
	for i, place := range old.places {
		if old.steps[i] == 0 {
			continue
		}
		h := x.hash(cs.id(place))
		if h&bit == 0 {
			t.put(place, home(h))
		} else {
			twin.put(place, home(h))
		}
	}
	x.point(hash&(bit-1)|bit, bit<<1, twin)
	x.count++
}

// merge undoes a split when both halves have become small, so that the room taken follows the number
// of those who wait. The directory keeps its size until the line is empty.
func (x *index) merge(t *table, hash uint64) {
	bit := uint64(1) << (t.depth - 1)
	twin := x.table(hash ^ bit)
	if twin.depth != t.depth || int(t.n)+int(twin.n) > mergeTo {
		return
	}
	for i, step := range twin.steps {
		if step != 0 {
			t.put(twin.places[i], (i-int(step)+1+slots)%slots)
		}
	}
	t.depth--
	x.point(hash&(bit-1), bit, t)
	x.count--
}

// point lets every stride-th directory entry from first on name t.
func (x *index) point(first, stride uint64, t *table) {
	for i := first; i < uint64(len(x.tables)); i += stride {
		x.tables[i] = t
	}
}

// put adds an entry; whoever is nearer to his home makes room.
func (t *table) put(place uint32, i int) {
	step := uint8(1)
	for t.steps[i] != 0 {
		if t.steps[i] < step {
			t.places[i], place = place, t.places[i]
			t.steps[i], step = step, t.steps[i]
		}
		i = after(i)
		step++
	}
	t.places[i], t.steps[i] = place, step
	t.n++
}

// cut frees a slot and moves those behind it one nearer to home.
func (t *table) cut(i int) {
	for j := after(i); t.steps[j] > 1; j = after(j) {
		t.places[i], t.steps[i] = t.places[j], t.steps[j]-1
		i = j
	}
	t.steps[i] = 0
	t.n--
}
