package webhook

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The example that the Standard Webhooks libraries publish.
const (
	exampleSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	exampleID        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	exampleBody      = `{"test": 2432232314}`
	exampleSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

var exampleTime = time.Unix(1614265330, 0)

func secretOf(t *testing.T, s string) Secret {
	t.Helper()
	secret, err := ParseSecret(s)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func headers(id, stamp, signature string) http.Header {
	h := http.Header{}
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, stamp)
	h.Set(HeaderSignature, signature)
	return h
}

func TestThePublishedExampleIsSignedAndVerified(t *testing.T) {
	secrets := []Secret{secretOf(t, exampleSecret)}
	if got := Sign(secrets, exampleID, exampleTime, []byte(exampleBody)); got != exampleSignature {
		t.Errorf("got %s, want %s", got, exampleSignature)
	}
	id, err := Verify(secrets, headers(exampleID, "1614265330", exampleSignature), []byte(exampleBody), exampleTime, 300*time.Second)
	if id != exampleID || err != nil {
		t.Errorf("got %q, %v", id, err)
	}
}

func TestVerifyTakesOnlyWhatIsSignedAndFresh(t *testing.T) { // B163
	old, fresh := secretOf(t, exampleSecret), Secret(strings.Repeat("n", 32))
	body, stamp := []byte(exampleBody), "1614265330"
	both := Sign([]Secret{old, fresh}, exampleID, exampleTime, body)
	shift := func(s int) time.Time { return exampleTime.Add(time.Duration(s) * time.Second) }
	for name, c := range map[string]struct {
		h    http.Header
		body string
		now  time.Time
		want error
	}{
		"two signatures, the second fits":   {headers(exampleID, stamp, "v1,AAAA "+exampleSignature), exampleBody, exampleTime, nil},
		"rotation":                          {headers(exampleID, stamp, both), exampleBody, exampleTime, nil},
		"an unknown scheme beside":          {headers(exampleID, stamp, "v1a,xxx v9,yyy "+exampleSignature), exampleBody, exampleTime, nil},
		"299 s old":                         {headers(exampleID, stamp, exampleSignature), exampleBody, shift(299), nil},
		"300 s old":                         {headers(exampleID, stamp, exampleSignature), exampleBody, shift(300), nil},
		"301 s old":                         {headers(exampleID, stamp, exampleSignature), exampleBody, shift(301), ErrStale},
		"a day old":                         {headers(exampleID, stamp, exampleSignature), exampleBody, shift(86400), ErrStale},
		"300 s ahead":                       {headers(exampleID, stamp, exampleSignature), exampleBody, shift(-300), nil},
		"301 s ahead":                       {headers(exampleID, stamp, exampleSignature), exampleBody, shift(-301), ErrStale},
		"stale and badly signed":            {headers(exampleID, stamp, "v1,AAAA"), exampleBody, shift(9999), ErrBadSignature},
		"v0 only":                           {headers(exampleID, stamp, "v0,"+exampleSignature[3:]), exampleBody, exampleTime, ErrBadSignature},
		"no scheme":                         {headers(exampleID, stamp, exampleSignature[3:]), exampleBody, exampleTime, ErrBadSignature},
		"no signature":                      {headers(exampleID, stamp, ""), exampleBody, exampleTime, ErrBadSignature},
		"no timestamp":                      {headers(exampleID, "", exampleSignature), exampleBody, exampleTime, ErrBadSignature},
		"timestamp NaN":                     {headers(exampleID, "NaN", exampleSignature), exampleBody, exampleTime, ErrBadSignature},
		"timestamp with a sign":             {headers(exampleID, "+"+stamp, exampleSignature), exampleBody, exampleTime, ErrBadSignature},
		"timestamp that overflows":          {headers(exampleID, "99999999999999999999", exampleSignature), exampleBody, exampleTime, ErrBadSignature},
		"another timestamp":                 {headers(exampleID, "1614265331", exampleSignature), exampleBody, exampleTime, ErrBadSignature},
		"another id":                        {headers("msg_x", stamp, exampleSignature), exampleBody, exampleTime, ErrBadSignature},
		"no id":                             {headers("", stamp, exampleSignature), exampleBody, exampleTime, ErrBadSignature},
		"a byte of the body changed":        {headers(exampleID, stamp, exampleSignature), `{"test": 2432232315}`, exampleTime, ErrBadSignature},
		"the body written again":            {headers(exampleID, stamp, exampleSignature), `{"test":2432232314}`, exampleTime, ErrBadSignature},
		"no headers at all":                 {http.Header{}, exampleBody, exampleTime, ErrBadSignature},
		"signature that is not base64":      {headers(exampleID, stamp, "v1,***"), exampleBody, exampleTime, ErrBadSignature},
		"the fitting one behind 40 others":  {headers(exampleID, stamp, strings.Repeat("v1,AAAA ", 40)+exampleSignature), exampleBody, exampleTime, ErrBadSignature},
		"an empty signature of a right one": {headers(exampleID, stamp, "v1,"), exampleBody, exampleTime, ErrBadSignature},
	} {
		id, err := Verify([]Secret{fresh, old}, c.h, []byte(c.body), c.now, 300*time.Second)
		if !errors.Is(err, c.want) || (err == nil) != (id == exampleID) {
			t.Errorf("%s: got %q, %v, want %v", name, id, err, c.want)
		}
	}
	if _, err := Verify(nil, headers(exampleID, stamp, exampleSignature), body, exampleTime, time.Minute); !errors.Is(err, ErrBadSignature) {
		t.Errorf("without secrets: %v", err)
	}
}

func TestAMovedFullStopDoesNotFit(t *testing.T) {
	secrets := []Secret{secretOf(t, exampleSecret)}
	sig := Sign(secrets, "a", time.Unix(12, 0), []byte("34.body")) // signs a.12.34.body
	_, err := Verify(secrets, headers("a.12", "34", sig), []byte("body"), time.Unix(34, 0), time.Minute)
	if !errors.Is(err, ErrBadSignature) {
		t.Errorf("got %v", err)
	}
}

func TestParseSecretSaysWhatIsWrongWithoutTheSecret(t *testing.T) {
	long := func(n int) string { return base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", n))) }
	for in, ok := range map[string]bool{
		exampleSecret:                               true,
		"whsec_" + long(24):                         true,
		"whsec_" + long(64):                         true,
		" whsec_" + long(25) + "\n":                 true,
		"whsec_" + strings.TrimRight(long(25), "="): true,
		"whsec_" + long(23):                         false,
		"whsec_" + long(65):                         false,
		"whsec_":                                    false,
		long(32):                                    false,
		"whsec_kkkk!kkkkkkk":                        false,
		"":                                          false,
	} {
		_, err := ParseSecret(in)
		if (err == nil) != ok {
			t.Errorf("%q: %v", in, err)
		}
		if err != nil && strings.Contains(err.Error(), "kkkk") {
			t.Errorf("the error shows the secret: %v", err)
		}
	}
	s := secretOf(t, exampleSecret)
	if text := fmt.Sprintf("%v %s %x %#v %q", s, s, s, s, s); strings.Contains(text, "MfKQ") || strings.Contains(text, "31f2") || strings.Contains(text, "49, ") {
		t.Errorf("the secret prints: %s", text)
	}
}

func FuzzVerifyTakesNothingForged(f *testing.F) {
	f.Add(exampleID, "1614265330", exampleSignature, exampleBody)
	f.Add("", "NaN", "v1, v1,=", "")
	secret, err := ParseSecret(exampleSecret)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, id, stamp, signature, body string) {
		got, err := Verify([]Secret{secret}, headers(id, stamp, signature), []byte(body), exampleTime, time.Hour)
		sec, _ := strconv.ParseInt(stamp, 10, 64)
		if err == nil && (got != id || !strings.Contains(signature, Sign([]Secret{secret}, id, time.Unix(sec, 0), []byte(body)))) {
			t.Fatalf("taken: %q %q %q %q", id, stamp, signature, body)
		}
	})
}
