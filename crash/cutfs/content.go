package cutfs

import (
	"maps"
	"os"
	"path/filepath"
)

const block = 4096

// Content is what a file holds. What nobody wrote are zeros, and takes no memory.
// It is not changed once it is handed out.
type Content struct {
	size   int64
	blocks map[int64]*[block]byte // by offset; shared between contents and never changed
}

// ContentOf is the content of those bytes.
func ContentOf(b []byte) *Content {
	c := &Content{blocks: map[int64]*[block]byte{}}
	c.write(0, b)
	return c
}

// Len is the size in bytes.
func (c *Content) Len() int64 { return c.size }

// Bytes is a copy of all of it.
func (c *Content) Bytes() []byte {
	b := make([]byte, c.size)
	c.read(0, b)
	return b
}

// Cut is the content without what comes after size bytes, or with zeros up to there.
func (c *Content) Cut(size int64) *Content {
	c = c.clone()
	c.resize(size)
	return c
}

func (c *Content) clone() *Content { return &Content{c.size, maps.Clone(c.blocks)} }

func (c *Content) read(off int64, b []byte) (n int) {
	b = b[:max(0, min(int64(len(b)), c.size-off))]
	for n < len(b) {
		at := off + int64(n)
		part := b[n:min(len(b), n+int(block-at%block))]
		if have := c.blocks[at-at%block]; have != nil {
			copy(part, have[at%block:])
		} else {
			clear(part)
		}
		n += len(part)
	}
	return n
}

func (c *Content) write(off int64, b []byte) {
	for len(b) > 0 {
		start := off - off%block
		changed := new([block]byte)
		if have := c.blocks[start]; have != nil {
			*changed = *have
		}
		n := copy(changed[off%block:], b)
		c.blocks[start] = changed
		off, b = off+int64(n), b[n:]
	}
	c.size = max(c.size, off)
}

func (c *Content) resize(size int64) {
	if size < c.size {
		for start, have := range c.blocks {
			switch {
			case start >= size:
				delete(c.blocks, start)
			case start+block > size:
				changed := *have
				clear(changed[size-start:])
				c.blocks[start] = &changed
			}
		}
	}
	c.size = size
}

// Image is the files of a folder, by name.
type Image map[string]*Content

// Save writes the files into a folder of an ordinary file system, with holes
// where nobody wrote.
func (m Image) Save(dir string) error {
	for name, c := range m {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		for start, b := range c.blocks {
			if err == nil {
				_, err = f.WriteAt(b[:min(block, c.size-start)], start)
			}
		}
		if err == nil {
			err = f.Truncate(c.size)
		}
		if e := f.Close(); err == nil {
			err = e
		}
		if err != nil {
			return err
		}
	}
	return nil
}
