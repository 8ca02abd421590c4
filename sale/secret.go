package sale

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"sync"
)

// Subkey derives the 32-byte key for one purpose from the master secret, so
// that no two purposes ever share a key.
func Subkey(secret []byte, purpose string) []byte {
	k, err := hkdf.Key(sha256.New, secret, nil, "foyer "+purpose, 32)
	if err != nil { // only for absurd lengths
		panic(err)
	}
	return k
}

// Signer makes HMAC-SHA256 tags (RFC 2104). Its hashes are used again, for the
// key schedule costs more than the tag of a short message. It may be used from
// any goroutine.
type Signer struct{ hashes sync.Pool } // of *tagger

// NewSigner returns a signer with a key from [Subkey].
func NewSigner(key []byte) *Signer {
	s := &Signer{}
	s.hashes.New = func() any { return &tagger{hash: hmac.New(sha256.New, key)} }
	return s
}

// tagger is a hash with room for what goes in and comes out of it, so that
// callers need not give up theirs to the garbage collector.
type tagger struct {
	hash    hash.Hash
	in, out []byte
}

// Tag appends the 32-byte tag of msg to dst.
func (s *Signer) Tag(dst, msg []byte) []byte {
	t := s.hashes.Get().(*tagger)
	t.in = append(t.in[:0], msg...)
	t.hash.Reset()
	t.hash.Write(t.in)
	t.out = t.hash.Sum(t.out[:0])
	dst = append(dst, t.out...)
	s.hashes.Put(t)
	return dst
}
