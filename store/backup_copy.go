package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"path/filepath"
	"time"
)

const (
	copyBlock = 4 << 10 // what is compared; it divides every page size of bbolt
	copyPiece = 1 << 20 // what is read, written and brought to disk at once
	copyRest  = 3       // rests last so many times as long as the work before them
)

// reserve is what a backup leaves free on the disk for the sale itself.
const reserve = 64 << 20

// copier copies a database that is being written to, in two passes. While a
// bbolt read transaction is open, no page that it sees is used again, and the
// file grows with every commit; a transaction over the whole copy would swell
// the file and slow the sale. So the first pass copies the file as it is, page
// by page, some of them torn, at leisure. The second pass runs in a transaction,
// compares what it sees with what was copied, which takes a fraction of a second
// per gigabyte in the page cache, and writes only what differs.
//
// Blocks are compared by a 64-bit hash with a random seed; that one differs and
// goes unnoticed has a chance of 2^-64 per changed block.
type copier struct {
	ctx  context.Context
	to   *os.File
	at   int64    // where the second pass is
	sums []uint64 // of each block after the first pass
	seed maphash.Seed
	buf  []byte
}

func newCopier(ctx context.Context, to *os.File) *copier {
	return &copier{ctx: ctx, to: to, seed: maphash.MakeSeed(), buf: make([]byte, copyPiece)}
}

// roughly is the first pass, over the first size bytes of a file that others
// write. A file that cannot be opened any more under its name is left to the
// second pass, which reads through the store's own handle.
func (c *copier) roughly(path string, size int64) error {
	if err := c.room(size); err != nil {
		return err
	}
	from, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer from.Close()
	return c.pieces(size, func(off int64, b []byte) error {
		n, err := from.ReadAt(b, off)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		b = b[:n-n%copyBlock]
		if _, err := c.to.WriteAt(b, off); err != nil {
			return noSpace(err)
		}
		for ; len(b) > 0; b = b[copyBlock:] {
			c.sums = append(c.sums, maphash.Bytes(c.seed, b[:copyBlock]))
		}
		return writeBack(c.to, off, int64(n))
	})
}

// Write is the second pass: it takes the next bytes of what the transaction
// sees, whole blocks at a time.
func (c *copier) Write(b []byte) (int, error) {
	if err := context.Cause(c.ctx); err != nil {
		return 0, err
	}
	first := int(c.at / copyBlock)
	for from := 0; from < len(b); {
		to := from
		for to < len(b) && !c.same(first+to/copyBlock, b[to:min(to+copyBlock, len(b))]) {
			to = min(to+copyBlock, len(b))
		}
		if to > from {
			if _, err := c.to.WriteAt(b[from:to], c.at+int64(from)); err != nil {
				return 0, err
			}
		}
		from = to + copyBlock
	}
	c.at += int64(len(b))
	return len(b), nil
}

func (c *copier) same(block int, b []byte) bool {
	return block < len(c.sums) && c.sums[block] == maphash.Bytes(c.seed, b)
}

// ReadFrom lets io.Copy read in our pieces and not in its own.
func (c *copier) ReadFrom(r io.Reader) (n int64, err error) {
	for {
		got, err := io.ReadFull(r, c.buf)
		if got > 0 {
			if _, err := c.Write(c.buf[:got]); err != nil {
				return n, err
			}
			n += int64(got)
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return n, nil
		case err != nil:
			return n, err
		}
	}
}

// finish cuts off what the first pass copied beyond the end and brings what the
// second one wrote to the disk.
func (c *copier) finish(size int64) error {
	if err := c.to.Truncate(size); err != nil {
		return err
	}
	return c.pieces(size, func(off int64, b []byte) error { return writeBack(c.to, off, int64(len(b))) })
}

func (c *copier) digest(size int64) (d [sha256.Size]byte, err error) {
	h := sha256.New()
	err = c.pieces(size, func(off int64, b []byte) error {
		_, err := c.to.ReadAt(b, off)
		h.Write(b)
		return err
	})
	h.Sum(d[:0])
	return d, err
}

// pieces calls work for one piece after the other, with a buffer of its length,
// and rests in between.
func (c *copier) pieces(size int64, work func(off int64, b []byte) error) error {
	for off := int64(0); off < size; off += copyPiece {
		if err := c.room(copyPiece); err != nil {
			return err
		}
		began := time.Now()
		if err := work(off, c.buf[:min(copyPiece, size-off)]); err != nil {
			return err
		}
		select {
		case <-c.ctx.Done():
			return context.Cause(c.ctx)
		case <-time.After(copyRest * time.Since(began)):
		}
	}
	return context.Cause(c.ctx)
}

// room refuses when n more bytes would eat into the reserve.
func (c *copier) room(n int64) error {
	free, known := freeSpace(filepath.Dir(c.to.Name()))
	if !known || free >= uint64(n)+reserve {
		return nil
	}
	r := *errNoSpace
	r.Detail = fmt.Sprintf("%d MiB are free on the disk; a copy needs %d MiB beside the database, and %d MiB stay for the sale. %s",
		free>>20, (n+1<<20-1)>>20, reserve>>20, noSpaceAdvice)
	return &r
}
