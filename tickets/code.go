// Package tickets makes what a buyer shows at the door: a code that cannot be
// guessed or made up, and its picture. Which tickets are valid is not its
// business: it only tells a code of this house from any other text.
package tickets

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"github.com/google/uuid"
)

// tagBytes is the length of a code's tag: 128 bits.
const tagBytes = 16

// Codes makes and verifies door codes with one key.
type Codes struct{ key []byte }

// New returns codes under a 32-byte key.
func New(key []byte) *Codes { return &Codes{key} }

var alphabet = base32.StdEncoding.WithPadding(base32.NoPadding)

// Code is the text of a ticket: its id and an HMAC-SHA256 tag of 128 bits in
// base32 (RFC 4648), 52 characters that a QR code holds in alphanumeric mode.
// The same ticket always has the same code.
func (c *Codes) Code(ticket uuid.UUID) string {
	return alphabet.EncodeToString(append(ticket[:], c.tag(ticket)...))
}

// Ticket finds the ticket of a code. ok is false for anything that is not a
// code of this house; letters may be lower case and surrounded by blanks.
func (c *Codes) Ticket(code string) (ticket uuid.UUID, ok bool) {
	b, err := alphabet.DecodeString(strings.ToUpper(strings.TrimSpace(code)))
	if err != nil || len(b) != len(ticket)+tagBytes {
		return uuid.Nil, false
	}
	copy(ticket[:], b)
	if !hmac.Equal(b[len(ticket):], c.tag(ticket)) || alphabet.EncodeToString(b) != strings.ToUpper(strings.TrimSpace(code)) {
		return uuid.Nil, false
	}
	return ticket, true
}

func (c *Codes) tag(ticket uuid.UUID) []byte {
	m := hmac.New(sha256.New, c.key)
	m.Write(ticket[:])
	return m.Sum(nil)[:tagBytes]
}
