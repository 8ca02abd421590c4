package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// postStripe posts an event as Stripe signs it, and returns the answer.
func postStripe(t *testing.T, url, secret, body string) (status int, said string) {
	t.Helper()
	stamp := fmt.Sprint(time.Now().Unix())
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%s.%s", stamp, body)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/v1/payments/stripe/webhook", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	r.Header.Set("Stripe-Signature", "t="+stamp+",v1="+hex.EncodeToString(mac.Sum(nil)))
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func TestStripeIsOfferedWhenItsSecretsAreSet(t *testing.T) {
	const expired = `{"id":"evt_1","object":"event","type":"checkout.session.expired","data":{"object":{"id":"cs_1","object":"checkout.session"}}}`
	w := newWorld(t)
	w.env["FOYER_ADMIN_KEY"] = "a key for this test"
	w.env["FOYER_STRIPE_KEY"] = "sk_test_hunter2"
	w.env["FOYER_STRIPE_WEBHOOK_SECRET"] = "whsec_hunter2_the_old_secret whsec_hunter2_the_new_secret"
	url, stop := w.start("serve", "--addr", "127.0.0.1:0", "--data", filepath.Join(w.dir, "data"))
	for secret, want := range map[string]int{"whsec_hunter2_the_old_secret": 200, "whsec_hunter2_the_new_secret": 200, "whsec_of_somebody_else": 400} {
		if status, said := postStripe(t, url, secret, expired); status != want || want == 200 && !strings.Contains(said, `"outcome":"ignored"`) {
			t.Errorf("signed with %s: got %d %s, want %d", secret, status, said, want)
		}
	}
	stop()
	if said := w.out.String() + w.err.String(); strings.Contains(said, "hunter2") || strings.Contains(said, "cs_1") {
		t.Errorf("said too much: %s", said)
	}
}

func TestStripeIsNotThereWithoutItsSecretsAndNotInTheDemo(t *testing.T) {
	for _, command := range []string{"serve", "demo"} {
		w := newWorld(t)
		w.env["FOYER_ADMIN_KEY"] = "a key for this test"
		if command == "demo" {
			w.env["FOYER_STRIPE_KEY"] = "sk_live_hunter2"
			w.env["FOYER_STRIPE_WEBHOOK_SECRET"] = "whsec_hunter2_the_secret"
		}
		url, _ := w.start(command, "--addr", "127.0.0.1:0", "--data", filepath.Join(w.dir, "data"))
		if status, said := postStripe(t, url, "whsec_hunter2_the_secret", "{}"); status != 404 {
			t.Errorf("%s: got %d %s, want 404", command, status, said)
		}
	}
}
