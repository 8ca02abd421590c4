package sale

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
)

// hashesOf are the idempotency record of a request: SHA-256 of its Idempotency-Key,
// and of what it asks in one canonical form, whatever the order and spacing it was
// sent in.
func hashesOf(key string, asks ...any) (k, body []byte) {
	sum := sha256.Sum256([]byte(key))
	canonical, err := json.Marshal(asks)
	if err != nil {
		panic(err) // texts and numbers always encode
	}
	what := sha256.Sum256(canonical)
	return sum[:], what[:]
}

// again tells whether a request comes with the key of an earlier one. It refuses
// with [ErrKeyReused] when it asks for something else.
func again(key, body, oldKey, oldBody []byte) (bool, error) {
	if subtle.ConstantTimeCompare(key, oldKey) != 1 {
		return false, nil
	}
	if subtle.ConstantTimeCompare(body, oldBody) != 1 {
		return true, ErrKeyReused
	}
	return true, nil
}
