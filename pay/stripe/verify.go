package stripe

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"foyer/sale"
)

// tolerance is how far an event's timestamp may be from now, either way.
const tolerance = 300 * time.Second

// Verify checks the signature over the raw body and reads the event, whatever
// its API version. It refuses with sale.ErrBadSignature, sale.ErrStaleEvent or
// sale.ErrBadFact. A sum that is not a whole number of minor units is a fact all
// the same (Fact.Odd): a signed event about money is never thrown away. An event
// that says nothing about money that came or went has its own type as kind.
func (p *Provider) Verify(h http.Header, body []byte, now time.Time) (sale.Fact, error) {
	at, ok := p.signedAt(h, body)
	if !ok {
		return sale.Fact{}, sale.ErrBadSignature
	}
	if d := now.Sub(at); d > tolerance || d < -tolerance {
		return sale.Fact{}, sale.ErrStaleEvent
	}
	return read(body)
}

// signedAt is the time that one of our secrets signed together with the body, as
// docs.stripe.com/webhooks/signature has it: "t=SECONDS,v1=HEX,v1=HEX,v0=HEX",
// v1 being the HMAC-SHA256 of "SECONDS.BODY" under the secret as it is shown,
// with its whsec_. All pairs are compared, each in constant time.
func (p *Provider) signedAt(h http.Header, body []byte) (time.Time, bool) {
	var stamp string
	var given [][]byte
	for _, part := range strings.Split(strings.Join(h.Values("Stripe-Signature"), ","), ",") {
		scheme, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch scheme {
		case "t":
			stamp = value
		case "v1":
			if sig, err := hex.DecodeString(value); err == nil && len(sig) == sha256.Size {
				given = append(given, sig)
			}
		}
	}
	seconds, err := strconv.ParseUint(stamp, 10, 64)
	if err != nil || len(stamp) > 12 || len(given) > 16 {
		return time.Time{}, false
	}
	good := false
	for _, secret := range p.cfg.Secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(stamp + "."))
		mac.Write(body)
		want := mac.Sum(nil)
		for _, sig := range given {
			if hmac.Equal(sig, want) && secret != "" {
				good = true
			}
		}
	}
	return time.Unix(int64(seconds), 0), good
}
