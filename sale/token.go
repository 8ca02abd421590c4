package sale

import (
	"crypto/aes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"github.com/google/uuid"
)

// tokenMAC is the length of an entry token's tag: 192 bits.
const tokenMAC = 24

// tokenClaim is what an entry token says, once its tag is verified.
type tokenClaim struct {
	ordinal uint32
	number  uint64
	visitor uuid.UUID
}

// entryToken mints the token of a place's turn. It is a function of the place
// and the house's secret, so the same turn shows the same token after a
// restart, and nothing of it lies on disk.
func (o *Office) entryToken(e *Event, p Place) string {
	return o.mint(tokenClaim{e.Ordinal, p.Number, p.Visitor})
}

func (o *Office) mint(c tokenClaim) string {
	var b [28 + tokenMAC]byte
	binary.BigEndian.PutUint32(b[0:], c.ordinal)
	binary.BigEndian.PutUint64(b[4:], c.number)
	copy(b[12:], c.visitor[:])
	var tag [sha256.Size]byte
	copy(b[28:], o.tokens.Tag(tag[:0], b[:28])[:tokenMAC])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

var strictBase64 = base64.RawURLEncoding.Strict()

// parseToken verifies a token's tag in constant time. It says nothing about
// whether the turn still stands.
func (o *Office) parseToken(token string) (tokenClaim, bool) {
	var b [28 + tokenMAC]byte
	if len(token) != base64.RawURLEncoding.EncodedLen(len(b)) {
		return tokenClaim{}, false
	}
	if _, err := strictBase64.Decode(b[:], []byte(token)); err != nil {
		return tokenClaim{}, false
	}
	var tag [sha256.Size]byte
	if !hmac.Equal(b[28:], o.tokens.Tag(tag[:0], b[:28])[:tokenMAC]) {
		return tokenClaim{}, false
	}
	c := tokenClaim{ordinal: binary.BigEndian.Uint32(b[0:]), number: binary.BigEndian.Uint64(b[4:])}
	copy(c.visitor[:], b[12:])
	return c, true
}

// TokenVisitor tells whose an entry token is. The token is authentic when ok;
// its turn may be over.
func (o *Office) TokenVisitor(token string) (visitor uuid.UUID, ok bool) {
	c, ok := o.parseToken(token)
	return c.visitor, ok
}

// QueueID names a place in paths. It is one AES block over the place, so a
// poll needs no index by id; it is a name, not a secret (RFC 9562, version 8).
func (o *Office) QueueID(e *Event, p Place) uuid.UUID {
	return o.queueID(e.Ordinal, p.entry(), p.Visitor)
}

func (o *Office) queueID(ordinal uint32, number uint64, visitor uuid.UUID) uuid.UUID {
	var b [aes.BlockSize]byte
	binary.BigEndian.PutUint32(b[0:], ordinal)
	binary.BigEndian.PutUint64(b[8:], number)
	for i := range b {
		b[i] ^= visitor[i]
	}
	o.queueCipher.Encrypt(b[:], b[:])
	b[6] = b[6]&0x0f | 0x80
	b[8] = b[8]&0x3f | 0x80
	return b
}

// named tells which number of the event the visitor's place had when this was its
// name; ok is false for what is no name of a place of his in it. The six bits that
// the form of the id takes from the block are tried.
func (o *Office) named(ordinal uint32, visitor, name uuid.UUID) (number uint64, ok bool) {
	for lost := range byte(64) {
		b := name
		b[6] = b[6]&0x0f | lost<<4
		b[8] = b[8]&0x3f | lost&0x30<<2
		o.queueCipher.Decrypt(b[:], b[:])
		for i := range b {
			b[i] ^= visitor[i]
		}
		number = binary.BigEndian.Uint64(b[8:])
		if binary.BigEndian.Uint64(b[:]) == uint64(ordinal)<<32 && o.queueID(ordinal, number, visitor) == name {
			return number, true
		}
	}
	return 0, false
}
