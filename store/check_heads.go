package store

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// errNoHead is of a file whose first two pages are no bbolt heads.
var errNoHead = errors.New("no head page")

// openPages reads the heads of a file of so many bytes. errNoHead tells that
// neither holds and nothing else can be read.
func openPages(file io.ReaderAt, size int64) (*pages, error) {
	p := &pages{file: file}
	heads := [2]head{p.readHead(0, 0)}
	at := heads[0].pageSize
	for n := int64(1024); !heads[0].whole && n <= 16<<20 && n < size; n *= 2 { // where the second head is when the first is damaged
		if h := p.readHead(n, 1); h.whole && h.pageSize == n {
			at = n
			break
		}
	}
	if at == 0 {
		return nil, errNoHead
	}
	heads[1] = p.readHead(at, 1)
	h := heads[0]
	switch {
	case !heads[0].whole && !heads[1].whole:
		return nil, errNoHead
	case !heads[0].whole, heads[1].whole && heads[1].txid > heads[0].txid:
		h = heads[1]
	}
	for n, head := range heads {
		switch {
		case head.whole && head.named && head.pageSize == h.pageSize:
		case head.named && head.pageSize == h.pageSize:
			p.torn = true
		default:
			p.heads = append(p.heads, fmt.Sprintf("page %d, one of the two heads, is damaged, so what was written last may be lost", n))
		}
	}
	p.pageSize, p.count, p.root, p.freelist = h.pageSize, h.count, h.root, h.freelist
	p.stored = uint64(size / p.pageSize)
	if p.count > p.stored {
		p.fail("the file is cut short: it has %d bytes and needs %.0f", size, float64(p.count)*float64(p.pageSize))
	}
	p.seen = make([]uint64, p.stored/64+1)
	p.mark(0, 1)
	p.mark(1, 1)
	return p, nil
}

// head is one of the two pages from which everything is reached. A commit writes
// one of them last of all. One that is named and not whole is what a power cut
// leaves of a commit that nobody was told of.
type head struct {
	pageSize                    int64
	root, freelist, count, txid uint64
	named                       bool // the page says that it is a head
	whole                       bool // as bbolt sees it
}

func (p *pages) readHead(at int64, id uint64) (h head) {
	var b [pageHead + metaSize]byte
	if _, err := p.file.ReadAt(b[:], at); err != nil {
		return h
	}
	m := b[pageHead:]
	sum := fnv.New64a()
	_, _ = sum.Write(m[:metaSize-8])
	size := int64(native.Uint32(m[8:]))
	if native.Uint32(m) != boltMagic || native.Uint32(m[4:]) != 2 || size < 1024 || size > 16<<20 || size&(size-1) != 0 {
		return h
	}
	return head{
		pageSize: size, root: native.Uint64(m[16:]), freelist: native.Uint64(m[32:]), count: native.Uint64(m[40:]), txid: native.Uint64(m[48:]),
		named: native.Uint64(b[:]) == id && native.Uint16(b[8:]) == pageMeta, whole: native.Uint64(m[metaSize-8:]) == sum.Sum64(),
	}
}
