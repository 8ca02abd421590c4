package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Headers of Standard Webhooks 1.0.0.
const (
	HeaderID        = "webhook-id"        // the message's id, the same at every attempt
	HeaderTimestamp = "webhook-timestamp" // of the attempt, Unix seconds
	HeaderSignature = "webhook-signature" // "v1,<base64>", several separated by spaces
)

const (
	secretPrefix = "whsec_"
	scheme       = "v1," // HMAC-SHA256; "v1a," (ed25519) is not spoken
	minSecret    = 24    // bytes, Standard Webhooks 1.0.0
	maxSecret    = 64
	maxTried     = 32 // signatures looked at in one header
)

// Secret is a symmetric secret of Standard Webhooks, written whsec_<base64>; 24 to 64 bytes. It does not print.
type Secret []byte

// String hides the secret.
func (Secret) String() string { return secretPrefix + "***" }

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return s.String() }

// LogValue hides the secret from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// ParseSecret reads whsec_<base64>, with or without padding. Its errors do not hold the secret.
func ParseSecret(s string) (Secret, error) {
	code, ok := strings.CutPrefix(strings.TrimSpace(s), secretPrefix)
	if !ok {
		return nil, errors.New("webhook: secret must start with whsec_")
	}
	b, err := base64.RawStdEncoding.Strict().DecodeString(strings.TrimRight(code, "="))
	if err != nil {
		return nil, errors.New("webhook: secret is not base64 after whsec_")
	}
	if len(b) < minSecret || len(b) > maxSecret {
		return nil, fmt.Errorf("webhook: secret has %d bytes, it needs %d to %d", len(b), minSecret, maxSecret)
	}
	return b, nil
}

// Sign returns the value of the webhook-signature header: one signature per secret, "" without secrets. While a secret is
// replaced, sign with the new and the old one. at counts in whole seconds. Neither id nor anything a stranger chose may
// put a full stop into id.
func Sign(secrets []Secret, id string, at time.Time, body []byte) string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	all := make([]string, len(secrets))
	for i, secret := range secrets {
		all[i] = scheme + base64.StdEncoding.EncodeToString(mac(secret, id, stamp, body))
	}
	return strings.Join(all, " ")
}

// mac is HMAC-SHA256 over "<id>.<timestamp>.<body>".
func mac(secret Secret, id, stamp string, body []byte) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(id))
	h.Write([]byte{'.'})
	h.Write([]byte(stamp))
	h.Write([]byte{'.'})
	h.Write(body)
	return h.Sum(nil)
}

var (
	// ErrBadSignature: no signature fits, or a header is missing or malformed.
	ErrBadSignature = errors.New("webhook: bad signature")
	// ErrStale: the signature is right, but the timestamp is too far from now, in the past or in the future.
	ErrStale = errors.New("webhook: stale event")
)

// Verify checks a delivery of Standard Webhooks 1.0.0 on its raw body and returns its id. One v1 signature that fits one of
// the secrets is enough; other schemes are passed over. The signature is judged first: only who knows a secret
// learns that an event is stale. The timestamp, whole seconds, may differ from now by tolerance and no more.
// A copy inside the tolerance passes: the caller must remember ids. Errors: ErrBadSignature, ErrStale.
func Verify(secrets []Secret, h http.Header, body []byte, now time.Time, tolerance time.Duration) (string, error) {
	id, stamp := h.Get(HeaderID), h.Get(HeaderTimestamp)
	if id == "" || strings.Contains(id, ".") || !decimal(stamp) {
		return "", ErrBadSignature
	}
	if !anyFits(secrets, strings.Fields(h.Get(HeaderSignature)), id, stamp, body) {
		return "", ErrBadSignature
	}
	sec, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return "", ErrBadSignature
	}
	apart := time.Unix(now.Unix(), 0).Sub(time.Unix(sec, 0))
	if apart > tolerance || apart < -tolerance {
		return "", ErrStale
	}
	return id, nil
}

// decimal says whether s is 1 to 12 digits: no sign, no NaN, nothing that overflows.
func decimal(s string) bool {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(s) > 0 && len(s) <= 12
}

// anyFits compares every signature with every secret in constant time.
func anyFits(secrets []Secret, signatures []string, id, stamp string, body []byte) bool {
	fits := false
	for _, secret := range secrets {
		want := mac(secret, id, stamp, body)
		for _, s := range signatures[:min(len(signatures), maxTried)] {
			code, ok := strings.CutPrefix(s, scheme)
			if !ok {
				continue
			}
			got, err := base64.StdEncoding.DecodeString(code)
			if err == nil && hmac.Equal(got, want) {
				fits = true
			}
		}
	}
	return fits
}
