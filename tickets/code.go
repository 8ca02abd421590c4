// Package tickets makes what a buyer shows at the door: a code that cannot be
// guessed or made up, and its picture. Which tickets are valid is not its
// business: it only tells a code of this house from any other text.
package tickets

import (
	"crypto/hmac"
	"encoding/base32"
	"strings"

	"github.com/google/uuid"
)

// tagBytes is the length of a code's tag: 128 bits.
const tagBytes = 16

// Codes makes and verifies door codes with one key.
type Codes struct{ tag func(dst, msg []byte) []byte }

// New returns codes whose tags tag makes: a keyed hash of msg, appended to dst,
// of at least 16 bytes.
func New(tag func(dst, msg []byte) []byte) *Codes { return &Codes{tag} }

var alphabet = base32.StdEncoding.WithPadding(base32.NoPadding)

// Code is the text of a ticket: its id and an HMAC-SHA256 tag of 128 bits in
// base32 (RFC 4648), 52 characters that a QR code holds in alphanumeric mode.
// The same ticket always has the same code.
func (c *Codes) Code(ticket uuid.UUID) string {
	b := make([]byte, 0, 64)
	b = append(b, ticket[:]...)
	return alphabet.EncodeToString(c.tag(b, ticket[:])[:len(ticket)+tagBytes])
}

// Ticket finds the ticket of a code. ok is false for anything that is not a
// code of this house; letters may be lower case and surrounded by blanks.
func (c *Codes) Ticket(code string) (ticket uuid.UUID, ok bool) {
	b, err := alphabet.DecodeString(strings.ToUpper(strings.TrimSpace(code)))
	if err != nil || len(b) != len(ticket)+tagBytes {
		return uuid.Nil, false
	}
	copy(ticket[:], b)
	if !hmac.Equal(b[len(ticket):], c.tag(nil, ticket[:])[:tagBytes]) || alphabet.EncodeToString(b) != strings.ToUpper(strings.TrimSpace(code)) {
		return uuid.Nil, false
	}
	return ticket, true
}
