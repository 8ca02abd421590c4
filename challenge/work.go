// Package challenge makes and checks what an event may ask of a visitor before
// it gives him a number: work for his machine, after the ALTCHA scheme (version
// 1), or the token of a widget, which its provider is asked about (siteverify).
//
// A challenge is bound to an event, a visitor and the number he had last, so
// that a proof helps nobody else and no second time, across restarts too; nothing
// is kept. It decides nothing about the line.
package challenge

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"time"

	"github.com/altcha-org/altcha-lib-go"
	"github.com/google/uuid"
)

// ErrProof means that a proof is none, is too old or was made for something else.
var ErrProof = errors.New("challenge: no valid proof")

// Lifetime is how long work may be handed in. It must be shorter than a sale
// remembers a place that ended, since that remembers that a proof was used.
const Lifetime = 10 * time.Minute

// maxProof bounds what is looked at, in bytes.
const maxProof = 2048

// Subject is what a proof is good for.
type Subject struct {
	Event   string
	Visitor uuid.UUID
	After   uint64 // the number of the visitor's latest place in the event; 0: none
}

// Puzzle is a challenge as ALTCHA's clients know it: find the number of 0 to
// MaxNumber for which SHA-256 of Salt and its decimal digits is Challenge (hex).
type Puzzle struct {
	Algorithm string `json:"algorithm"` // "SHA-256"
	Challenge string `json:"challenge"`
	MaxNumber int64  `json:"maxnumber"`
	Salt      string `json:"salt"`
	Signature string `json:"signature"` // HMAC-SHA256 of Challenge (hex)
}

// Work makes puzzles and checks their solutions.
type Work struct{ key string }

// NewWork uses a secret key of 32 bytes.
func NewWork(key []byte) *Work { return &Work{hex.EncodeToString(key)} }

// Make makes a puzzle that takes about cost/2 hashes to solve and one to check.
func (w *Work) Make(s Subject, cost int) (Puzzle, error) {
	expires := time.Now().Add(Lifetime)
	c, err := altcha.CreateChallenge(altcha.ChallengeOptions{
		Algorithm: altcha.SHA256, MaxNumber: int64(cost), HMACKey: w.key, Expires: &expires,
		Params: url.Values{"event": {s.Event}, "visitor": {s.Visitor.String()}, "after": {strconv.FormatUint(s.After, 10)}},
	})
	return Puzzle{c.Algorithm, c.Challenge, c.MaxNumber, c.Salt, c.Signature}, err
}

// Check checks a solution: base64 of the JSON object {algorithm, challenge,
// number, salt, signature}. Anything else than a right one for the subject that
// is not too old is [ErrProof].
func (w *Work) Check(proof string, s Subject) error {
	var p altcha.Payload
	if len(proof) > maxProof {
		return ErrProof
	}
	body, err := base64.StdEncoding.DecodeString(proof)
	if err != nil || json.Unmarshal(body, &p) != nil || p.Algorithm != string(altcha.SHA256) {
		return ErrProof
	}
	if ok, err := altcha.VerifySolutionSafe(p, w.key, true); err != nil || !ok {
		return ErrProof
	}
	bound := altcha.ExtractParams(p)
	if bound.Get("event") != s.Event || bound.Get("visitor") != s.Visitor.String() || bound.Get("after") != strconv.FormatUint(s.After, 10) {
		return ErrProof
	}
	return nil
}
