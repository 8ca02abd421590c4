package queue

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
)

// Lot is what a name draws under a seed: HMAC-SHA256 (RFC 2104) with the seed as the key. The
// smallest lot goes first.
func Lot(seed, name []byte) [sha256.Size]byte {
	return NewUrn(seed).Lot(name)
}

// Urn gives lots under one seed. Not safe for concurrent use.
type Urn struct{ mac hash.Hash }

// NewUrn returns an urn over a seed of any length.
func NewUrn(seed []byte) *Urn { return &Urn{hmac.New(sha256.New, seed)} }

// Lot is the lot of a name.
func (u *Urn) Lot(name []byte) (lot [sha256.Size]byte) {
	u.mac.Reset()
	_, _ = u.mac.Write(name) // a hash never fails
	u.mac.Sum(lot[:0])
	return lot
}

// Draw puts n entries in the order of their lots, ascending, and returns their indexes in that
// order. name appends the name of entry i to b and returns it. It holds 16 bytes per entry, and
// takes about a microsecond for each.
func Draw(seed []byte, n int, name func(b []byte, i int) []byte) []uint32 {
	type entry struct {
		prefix uint64 // of the lot; hardly ever do two begin alike
		i      uint32
	}
	u, buf := NewUrn(seed), make([]byte, 0, 64)
	entries := make([]entry, n)
	for i := range entries {
		buf = name(buf[:0], i)
		lot := u.Lot(buf)
		entries[i] = entry{binary.BigEndian.Uint64(lot[:]), uint32(i)}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		if c := cmp.Compare(a.prefix, b.prefix); c != 0 || a.i == b.i {
			return c
		}
		la, lb := u.Lot(name(nil, int(a.i))), u.Lot(name(nil, int(b.i)))
		return cmp.Or(bytes.Compare(la[:], lb[:]), cmp.Compare(a.i, b.i))
	})
	order := make([]uint32, n)
	for k, e := range entries {
		order[k] = e.i
	}
	return order
}
