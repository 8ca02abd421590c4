package stripe

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stripe/stripe-go/v85/webhook"

	"foyer/sale"
)

const paidBody = `{"id":"evt_1","object":"event","type":"checkout.session.completed","created":1800000000,"data":{"object":{"id":"cs_1","object":"checkout.session",` +
	`"payment_status":"paid","amount_total":8500,"currency":"eur","payment_intent":"pi_1","client_reference_id":"o","metadata":{"order_id":"o","attempt":"a"}}}}`

const (
	oldSecret = "whsec_the_old_one_of_the_endpoint"
	newSecret = "whsec_the_new_one_of_the_endpoint"
)

// sign is the signature of Stripe's documents, made without the SDK.
func sign(secret, stamp, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%s.%s", stamp, body)
	return hex.EncodeToString(mac.Sum(nil))
}

func header(v ...string) http.Header { return http.Header{"Stripe-Signature": v} }

// Case B163.
func TestOnlyWhatIsSignedNowIsBelievedB163(t *testing.T) {
	p := New(Config{Secrets: []string{newSecret, oldSecret}})
	now := time.Unix(1_800_000_000, 0)
	at := func(d time.Duration) string { return fmt.Sprint(now.Add(d).Unix()) }
	v1 := func(secret, stamp string) string { return "v1=" + sign(secret, stamp, paidBody) }
	t0 := at(0)
	bad, stale := error(sale.ErrBadSignature), error(sale.ErrStaleEvent)
	for name, c := range map[string]struct {
		header http.Header
		body   string
		want   error
	}{
		"now":                          {header("t=" + t0 + "," + v1(newSecret, t0)), paidBody, nil},
		"299 s old":                    {header("t=" + at(-299*time.Second) + "," + v1(newSecret, at(-299*time.Second))), paidBody, nil},
		"300 s old":                    {header("t=" + at(-300*time.Second) + "," + v1(newSecret, at(-300*time.Second))), paidBody, nil},
		"301 s old":                    {header("t=" + at(-301*time.Second) + "," + v1(newSecret, at(-301*time.Second))), paidBody, stale},
		"a day old":                    {header("t=" + at(-24*time.Hour) + "," + v1(newSecret, at(-24*time.Hour))), paidBody, stale},
		"299 s ahead":                  {header("t=" + at(299*time.Second) + "," + v1(newSecret, at(299*time.Second))), paidBody, nil},
		"301 s ahead":                  {header("t=" + at(301*time.Second) + "," + v1(newSecret, at(301*time.Second))), paidBody, stale},
		"the old secret":               {header("t=" + t0 + "," + v1(oldSecret, t0)), paidBody, nil},
		"both secrets, two v1":         {header("t=" + t0 + "," + v1(oldSecret, t0) + "," + v1(newSecret, t0)), paidBody, nil},
		"a wrong v1, then a right one": {header("t=" + t0 + "," + v1("whsec_other", t0) + "," + v1(newSecret, t0)), paidBody, nil},
		"v1 before t, and blanks":      {header(v1(newSecret, t0) + ", t=" + t0), paidBody, nil},
		"schemes of tomorrow":          {header("t=" + t0 + ",v2=x,v9," + v1(newSecret, t0) + ",=,"), paidBody, nil},
		"another secret":               {header("t=" + t0 + "," + v1("whsec_other", t0)), paidBody, bad},
		"an empty secret":              {header("t=" + t0 + "," + v1("", t0)), paidBody, bad},
		"v0 only":                      {header("t=" + t0 + ",v0=" + sign(newSecret, t0, paidBody)), paidBody, bad},
		"V1":                           {header("t=" + t0 + ",V1=" + sign(newSecret, t0, paidBody)), paidBody, bad},
		"no t":                         {header(v1(newSecret, t0)), paidBody, bad},
		"no t, signed so":              {header(v1(newSecret, "")), paidBody, bad},
		"t is empty":                   {header("t=," + v1(newSecret, "")), paidBody, bad},
		"t=NaN":                        {header("t=NaN," + v1(newSecret, "NaN")), paidBody, bad},
		"t with a sign":                {header("t=+" + t0 + "," + v1(newSecret, "+"+t0)), paidBody, bad},
		"t below zero":                 {header("t=-1," + v1(newSecret, "-1")), paidBody, bad},
		"t with a point":               {header("t=" + t0 + ".0," + v1(newSecret, t0+".0")), paidBody, bad},
		"t beyond all time":            {header("t=9223372036854775807," + v1(newSecret, "9223372036854775807")), paidBody, bad},
		"two times":                    {header("t="+t0+","+v1(newSecret, t0), "t="+at(time.Second)), paidBody, bad},
		"a newer time than signed":     {header("t=" + t0 + "," + v1(newSecret, at(-time.Hour))), paidBody, bad},
		"a changed byte":               {header("t=" + t0 + "," + v1(newSecret, t0)), strings.Replace(paidBody, "8500", "8501", 1), bad},
		"another order of keys":        {header("t=" + t0 + "," + v1(newSecret, t0)), strings.Replace(paidBody, `"id":"evt_1","object":"event"`, `"object":"event","id":"evt_1"`, 1), bad},
		"a blank more":                 {header("t=" + t0 + "," + v1(newSecret, t0)), paidBody + "\n", bad},
		"half a signature":             {header("t=" + t0 + "," + v1(newSecret, t0)[:35]), paidBody, bad},
		"no hex":                       {header("t=" + t0 + ",v1=" + strings.Repeat("x", 64)), paidBody, bad},
		"an empty header":              {header(""), paidBody, bad},
		"no header":                    {http.Header{}, paidBody, bad},
		"a header of a hundred v1":     {header("t=" + t0 + strings.Repeat(",v1="+strings.Repeat("0", 64), 100) + "," + v1(newSecret, t0)), paidBody, bad},
		"signed nonsense":              {header("t=" + t0 + ",v1=" + sign(newSecret, t0, "nonsense")), "nonsense", sale.ErrBadFact},
		"signed emptiness":             {header("t=" + t0 + ",v1=" + sign(newSecret, t0, "")), "", sale.ErrBadFact},
		"signed, of no type":           {header("t=" + t0 + ",v1=" + sign(newSecret, t0, "{}")), "{}", sale.ErrBadFact},
	} {
		f, err := p.Verify(c.header, []byte(c.body), now)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		if err == nil && (f.Kind != sale.FactSucceeded || f.Amount != 8500) || err != nil && f != (sale.Fact{}) {
			t.Errorf("%s: got %+v", name, f)
		}
	}
	for _, secrets := range [][]string{nil, {""}} {
		if _, err := New(Config{Secrets: secrets}).Verify(header("t="+t0+","+v1("", t0)), []byte(paidBody), now); !errors.Is(err, bad) {
			t.Errorf("with the secrets %q: got %v", secrets, err)
		}
	}
}

func TestTheLibraryAndWeAgreeOnSignatures(t *testing.T) {
	p := New(Config{Secrets: []string{newSecret}})
	for _, body := range []string{paidBody, "{}", "", "\x00\xff", strings.Repeat("x", 100_000)} {
		now := time.Now()
		s := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: []byte(body), Secret: newSecret, Timestamp: now})
		if _, err := p.Verify(header(s.Header), s.Payload, now); errors.Is(err, sale.ErrBadSignature) {
			t.Errorf("%.20q: the library signed it, we say %v", body, err)
		}
		ours := fmt.Sprintf("t=%d,v1=%s", now.Unix(), sign(newSecret, fmt.Sprint(now.Unix()), body))
		if err := webhook.ValidatePayload([]byte(body), ours, newSecret); err != nil {
			t.Errorf("%.20q: we signed it, the library says %v", body, err)
		}
	}
}

// signedNow tells whether a header holds a signature of a secret of ours at any
// second around now.
func signedNow(header, body string, now time.Time) bool {
	header = strings.ToLower(header)
	for s := -300; s <= 300; s++ {
		stamp := fmt.Sprint(now.Unix() + int64(s))
		if strings.Contains(header, sign(newSecret, stamp, body)) || strings.Contains(header, sign(oldSecret, stamp, body)) {
			return true
		}
	}
	return false
}

// What is believed was signed with one of the secrets, and no signed body is
// refused but for having no type.
func FuzzVerify(f *testing.F) {
	now := time.Unix(1_800_000_000, 0)
	t0 := fmt.Sprint(now.Unix())
	f.Add("t="+t0+",v1="+sign(newSecret, t0, paidBody), paidBody)
	f.Add("t="+t0+",v0=00", "{}")
	f.Add("t=NaN,v1=", `{"type":7,"data":[]}`)
	f.Add(",,=", `{"id":{},"type":"refund.updated","data":{"object":{"amount":1e3,"payment_intent":{"id":[]},"status":"failed"}}}`)
	f.Fuzz(func(t *testing.T, h, body string) {
		p := New(Config{Secrets: []string{newSecret, oldSecret}})
		if _, err := p.Verify(header(h), []byte(body), now); err == nil {
			if !signedNow(h, body, now) {
				t.Errorf("believed %q with %q", body, h)
			}
		} else if !errors.Is(err, sale.ErrBadSignature) && !errors.Is(err, sale.ErrStaleEvent) && !errors.Is(err, sale.ErrBadFact) {
			t.Errorf("refused with %v", err)
		}
		fact, err := p.Verify(header("t="+t0+",v1="+sign(oldSecret, t0, body)), []byte(body), now)
		switch {
		case err != nil && !errors.Is(err, sale.ErrBadFact):
			t.Errorf("%q is signed, got %v", body, err)
		case err == nil && (fact.EventID == "" || fact.Kind == "" || fact.Provider != "stripe"):
			t.Errorf("%q: got %+v", body, fact)
		case err == nil && fact.Amount != 0 && fact.Odd != "":
			t.Errorf("%q: a sum and an odd one: %+v", body, fact)
		}
	})
}
