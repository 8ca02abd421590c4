package queue

import "math/bits"

const (
	chunkBits = 14
	chunkSize = 1 << chunkBits // numbers in a chunk
	blockBits = 9
	blockSize = 1 << blockBits // numbers in a block
	wordBits  = 6
	maxChunks = 1 << (32 - chunkBits) // so that a place fits 32 bits

	chunkBytes = 2688 // the allocator's size class that a chunk falls into
)

// block holds the ids of consecutive numbers: 8 KiB without a pointer, a size class of its own.
type block [blockSize]ID

// chunk holds the places of chunkSize consecutive numbers. A block exists exactly while somebody in it
// waits, so a short line is small and a long one shrinks as its front is called.
type chunk struct {
	base    uint64 // the number of offset 0
	handle  uint32 // its position in chunks
	n       int32  // how many wait
	counts  [chunkSize / blockSize]uint16
	waiting [chunkSize / 64]uint64 // bitmap
	blocks  [chunkSize / blockSize]*block
}

// chunks are addressed by handle. A place is handle and offset in 32 bits.
type chunks []*chunk

func place(handle, offset uint32) uint32 { return handle<<chunkBits | offset }

func split(number uint64) (key uint64, offset uint32) {
	return number >> chunkBits, uint32(number) % chunkSize
}

func (cs chunks) id(place uint32) *ID {
	return cs[place>>chunkBits].id(place % chunkSize)
}

func (cs chunks) number(place uint32) uint64 {
	return cs[place>>chunkBits].number(place % chunkSize)
}

func (c *chunk) number(offset uint32) uint64 { return c.base + uint64(offset) }

// id points to the id of a waiting offset; it must be waiting.
func (c *chunk) id(offset uint32) *ID { return &c.blocks[offset>>blockBits][offset%blockSize] }

func (c *chunk) has(offset uint32) bool {
	return c.waiting[offset>>wordBits]>>(offset%64)&1 != 0
}

// insert marks an offset as waiting and reports whether that took a new block.
func (c *chunk) insert(offset uint32, id ID) (grew bool) {
	b := &c.blocks[offset>>blockBits]
	if *b == nil {
		*b, grew = new(block), true
	}
	(*b)[offset%blockSize] = id
	c.waiting[offset>>wordBits] |= 1 << (offset % 64)
	c.counts[offset>>blockBits]++
	c.n++
	return grew
}

// remove takes out a waiting offset and reports whether that gave back a block.
func (c *chunk) remove(offset uint32) (shrank bool) {
	c.waiting[offset>>wordBits] &^= 1 << (offset % 64)
	c.counts[offset>>blockBits]--
	c.n--
	if c.counts[offset>>blockBits] == 0 {
		c.blocks[offset>>blockBits] = nil
		return true
	}
	return false
}

// ahead counts those waiting below offset.
func (c *chunk) ahead(offset uint32) int {
	n := 0
	for _, count := range c.counts[:offset>>blockBits] {
		n += int(count)
	}
	word := offset >> wordBits
	first := offset >> blockBits << (blockBits - wordBits)
	for _, w := range c.waiting[first:word] {
		n += bits.OnesCount64(w)
	}
	return n + bits.OnesCount64(c.waiting[word]&(1<<(offset%64)-1))
}

// next finds the first waiting offset that is not below offset.
func (c *chunk) next(offset uint32) (uint32, bool) {
	word := offset >> wordBits
	if w := c.waiting[word] >> (offset % 64); w != 0 {
		return offset + uint32(bits.TrailingZeros64(w)), true
	}
	const words = blockSize / 64
	for word++; word < uint32(len(c.waiting)); {
		if word%words == 0 && c.counts[word/words] == 0 {
			word += words
			continue
		}
		if w := c.waiting[word]; w != 0 {
			return word<<wordBits + uint32(bits.TrailingZeros64(w)), true
		}
		word++
	}
	return 0, false
}
