package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// The layout of a bbolt file (bbolt, internal/common: page.go, meta.go,
// bucket.go), in the byte order of the machine that wrote it.
const (
	pageHead     = 16 // id 8, flags 2, count 2, overflow 4
	pageElement  = 16 // of a leaf: flags, position, key size, value size, 4 each; of a branch: position 4, key size 4, page 8
	pageBranch   = 0x01
	pageLeaf     = 0x02
	pageMeta     = 0x04
	pageFreelist = 0x10
	bucketHead   = 16 // root page 8, sequence 8
	bucketFlag   = 0x01
	metaSize     = 64
	noFreelist   = ^uint64(0)
	maxKey       = 32768
	maxDepth     = 64 // of pages and buckets below each other; two million places take three
)

var native = binary.NativeEndian

// pages reads a bbolt file by itself, page by page and with bounds, and finds
// what would make bbolt panic or fault: bbolt trusts the file that it maps into
// memory. It reads with pread, so a file that ends early is an error and not a
// signal.
type pages struct {
	file     io.ReaderAt
	pageSize int64
	count    uint64 // pages in use, or free between those; the high water mark
	stored   uint64 // whole pages that the file really has
	root     uint64
	freelist uint64
	seen     []uint64 // bitmap of the pages that something refers to
	done     int64    // how many those are
	buffers  [][]byte // by depth
	first    bool     // stop at the first damage
	found    []string
	progress func(done, total int64)
	heads    []string // damage of the heads
	torn     bool     // one head was only begun
}

func (p *pages) fail(format string, args ...any) {
	p.found = append(p.found, fmt.Sprintf(format, args...))
}

// over tells that nobody needs to know more.
func (p *pages) over() bool { return p.first && len(p.found) > 0 }

// mark notes that n pages from id on are referred to; it tells whether none was
// before.
func (p *pages) mark(id, n uint64) bool {
	for i := id; i < id+n; i++ {
		if p.seen[i/64]&(1<<(i%64)) != 0 {
			return false
		}
		p.seen[i/64] |= 1 << (i % 64)
	}
	before := p.done
	p.done += int64(n)
	if p.progress != nil && (before>>8 != p.done>>8) {
		p.progress(p.done, int64(p.count))
	}
	return true
}

// page is a page as it was read, with its overflow.
type page struct {
	id    uint64
	b     []byte
	count int
	leaf  bool
}

// read reads a page of the tree, that nothing may have referred to before.
func (p *pages) read(id uint64, depth int) (pg page, ok bool) {
	for len(p.buffers) <= depth {
		p.buffers = append(p.buffers, make([]byte, p.pageSize))
	}
	if id < 2 || id >= p.count || id >= p.stored {
		p.fail("page %d is referred to and is not in the file", id)
		return pg, false
	}
	b := p.buffers[depth]
	if _, err := p.file.ReadAt(b[:p.pageSize], int64(id)*p.pageSize); err != nil {
		p.fail("page %d cannot be read: %v", id, err)
		return pg, false
	}
	flags, count, more := native.Uint16(b[8:]), int(native.Uint16(b[10:])), uint64(native.Uint32(b[12:]))
	switch {
	case native.Uint64(b) != id:
		p.fail("page %d says that it is page %d", id, native.Uint64(b))
	case flags != pageLeaf && flags != pageBranch && flags != pageFreelist:
		p.fail("page %d is of the unknown kind %#x", id, flags)
	case id+more >= p.count || id+more >= p.stored:
		p.fail("page %d goes on beyond the end of the file", id)
	case !p.mark(id, 1+more):
		p.fail("page %d is referred to twice, or a page that it goes on in is", id)
	default:
		pg = page{id, b[:p.pageSize], count, flags == pageLeaf}
		if flags == pageFreelist {
			pg.count = -1
		}
		if size := int64(1+more) * p.pageSize; more > 0 {
			if int64(len(b)) < size {
				b = make([]byte, size)
				p.buffers[depth] = b
			}
			if _, err := p.file.ReadAt(b[:size], int64(id)*p.pageSize); err != nil {
				p.fail("page %d cannot be read: %v", id, err)
				return pg, false
			}
			pg.b = b[:size]
		}
		return pg, true
	}
	return pg, false
}

// element reads element n of a leaf or branch page; ok is false when it reaches
// out of the page. child is a branch's.
func (pg *page) element(n int) (flags uint32, key, value []byte, child uint64, ok bool) {
	at := pageHead + pageElement*n
	table := uint64(pageHead + pageElement*pg.count)
	if table > uint64(len(pg.b)) {
		return 0, nil, nil, 0, false
	}
	e := pg.b[at:]
	var start, ksize, vsize uint64
	if pg.leaf {
		flags, start, ksize, vsize = native.Uint32(e), uint64(native.Uint32(e[4:])), uint64(native.Uint32(e[8:])), uint64(native.Uint32(e[12:]))
	} else {
		start, ksize, child = uint64(native.Uint32(e)), uint64(native.Uint32(e[4:])), native.Uint64(e[8:])
	}
	start += uint64(at)
	end := start + ksize + vsize
	if start < table || end > uint64(len(pg.b)) || ksize == 0 || ksize > maxKey {
		return 0, nil, nil, 0, false
	}
	return flags, pg.b[start : start+ksize : start+ksize], pg.b[start+ksize : end : end], child, true
}

// visit is called with each row, in the order of the keys; it must not keep
// them. bucket tells that the value is a bucket inside, depth where the row lies.
type visit func(key, value []byte, bucket bool, depth int)

func skip([]byte, []byte, bool, int) {}

// tree walks the pages from id down. The first key must be the one by which the
// page above knows this one, and all must be below high; nil is no bound. bbolt's
// own check lets the first key be higher, but when such a page is changed bbolt
// does not find it again in the one above, and a page that was given back stays
// in use there.
func (p *pages) tree(id uint64, depth int, first, high []byte, fn visit) {
	if p.over() {
		return
	}
	if depth > maxDepth {
		p.fail("page %d lies deeper than any tree can be", id)
		return
	}
	pg, ok := p.read(id, depth)
	switch {
	case !ok:
	case pg.count < 0 || !pg.leaf && pg.count == 0:
		p.fail("page %d is no part of a tree", id)
	case pg.leaf:
		p.leaf(&pg, depth, first, high, fn)
	default:
		p.branch(&pg, depth, first, high, fn)
	}
}

func (p *pages) branch(pg *page, depth int, first, high []byte, fn visit) {
	_, key, _, child, ok := pg.element(0)
	if ok && first != nil && !bytes.Equal(key, first) {
		ok = false
	}
	for n := 0; n < pg.count && !p.over(); n++ {
		if !ok || high != nil && bytes.Compare(key, high) >= 0 {
			p.fail("page %d is damaged at its entry %d of %d", pg.id, n+1, pg.count)
			return
		}
		next, nextChild, end := high, uint64(0), n+1 == pg.count
		if !end {
			_, next, _, nextChild, ok = pg.element(n + 1)
			ok = ok && bytes.Compare(key, next) < 0
		}
		if ok {
			p.tree(child, depth+1, key, next, fn)
		}
		key, child = next, nextChild
	}
}

func (p *pages) leaf(pg *page, depth int, first, high []byte, fn visit) {
	if pg.count == 0 && first != nil {
		p.fail("%s has no rows", pg.name())
	}
	var before []byte
	for n := range pg.count {
		flags, key, value, _, ok := pg.element(n)
		switch {
		case !ok || flags > bucketFlag || high != nil && bytes.Compare(key, high) >= 0:
			ok = false
		case n == 0:
			ok = first == nil || bytes.Equal(key, first)
		default:
			ok = bytes.Compare(key, before) > 0
		}
		if !ok {
			p.fail("%s is damaged at its row %d of %d", pg.name(), n+1, pg.count)
			return
		}
		fn(key, value, flags == bucketFlag, depth)
		before = key
	}
}

func (pg *page) name() string {
	if pg.id == 0 {
		return "a small bucket"
	}
	return fmt.Sprintf("page %d", pg.id)
}

// bucket walks a bucket, given as the row that holds it. Buckets inside are
// walked too, without a visit: ours have none, and those of another program are
// only looked at so far that bbolt can open the file.
func (p *pages) bucket(row []byte, depth int, fn visit) {
	inside := func(key, value []byte, bucket bool, at int) {
		if bucket && !p.over() {
			p.bucket(value, at+1, skip)
		}
		fn(key, value, bucket, at)
	}
	switch {
	case len(row) < bucketHead:
		p.fail("a bucket has no head")
	case depth > maxDepth:
		p.fail("a bucket lies deeper than any can be")
	case native.Uint64(row) != 0:
		p.tree(native.Uint64(row), depth, nil, nil, inside)
	case len(row) < bucketHead+pageHead || native.Uint16(row[bucketHead+8:]) != pageLeaf:
		p.fail("a small bucket has no rows")
	case native.Uint64(row[bucketHead:]) != 0 || native.Uint32(row[bucketHead+12:]) != 0: // bbolt would give that page back
		p.fail("a small bucket says that it is a page")
	default:
		pg := page{0, row[bucketHead:], int(native.Uint16(row[bucketHead+10:])), true}
		p.leaf(&pg, depth, nil, nil, inside)
	}
}

// buckets reads the names at the root, with the rows that hold the buckets.
func (p *pages) buckets() map[string][]byte {
	rows := map[string][]byte{}
	p.tree(p.root, 0, nil, nil, func(key, value []byte, bucket bool, _ int) {
		if bucket {
			rows[string(key)] = bytes.Clone(value)
		} else {
			p.fail("there is a row %q outside of all buckets", key)
		}
	})
	return rows
}

// free checks the list of free pages, where the file has one: a page that is
// used and said to be free would be written over.
func (p *pages) free() {
	if p.freelist == noFreelist || p.over() {
		return
	}
	pg, ok := p.read(p.freelist, 0)
	if !ok {
		return
	}
	if pg.count >= 0 {
		p.fail("page %d is no list of free pages", p.freelist)
		return
	}
	n, ids := uint64(native.Uint16(pg.b[10:])), pg.b[pageHead:]
	if n == 0xffff && len(ids) >= 8 { // too many for the head: the first number is how many follow
		n, ids = native.Uint64(ids), ids[8:]
	}
	if n > uint64(len(ids)/8) {
		p.fail("page %d lists more free pages than it can hold", p.freelist)
		return
	}
	for ; n > 0 && !p.over(); n-- {
		id := native.Uint64(ids)
		ids = ids[8:]
		if id < 2 || id >= p.count || id >= p.stored || !p.mark(id, 1) {
			p.fail("page %d is said to be free, and is used or not there", id)
		}
	}
}

// sound walks everything and gives the first damage, or nil.
func (p *pages) sound() error {
	if len(p.heads) > 0 {
		return errors.New(p.heads[0])
	}
	p.first = true
	rows := p.buckets()
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		p.bucket(rows[name], 0, skip)
	}
	p.free()
	if len(p.found) > 0 {
		return errors.New(p.found[0])
	}
	return nil
}
