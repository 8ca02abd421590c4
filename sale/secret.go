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
type Signer struct{ hashes sync.Pool }

// NewSigner returns a signer with a key from [Subkey].
func NewSigner(key []byte) *Signer {
	s := &Signer{}
	s.hashes.New = func() any { return hmac.New(sha256.New, key) }
	return s
}

// Tag appends the 32-byte tag of msg to dst.
func (s *Signer) Tag(dst, msg []byte) []byte {
	h := s.hashes.Get().(hash.Hash)
	h.Reset()
	h.Write(msg)
	dst = h.Sum(dst)
	s.hashes.Put(h)
	return dst
}
