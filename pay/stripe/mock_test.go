package stripe

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"foyer/sale"
)

// stripe-mock is Stripe's own: it refuses what the API's description does not
// have, and answers with examples.
const mockModule = "github.com/stripe/stripe-mock@v0.203.0"

// startMock installs stripe-mock, once for all runs, and starts it.
func startMock(t *testing.T) (url string) {
	t.Helper()
	dir := filepath.Join(os.TempDir(), "foyer-stripe-mock-v0.203.0")
	program := filepath.Join(dir, "stripe-mock")
	if _, err := os.Stat(program); err != nil {
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
		defer cancel()
		install := exec.CommandContext(ctx, "go", "install", mockModule)
		install.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=")
		install.Dir = os.TempDir()
		if out, err := install.CombinedOutput(); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("stripe-mock cannot be installed: %v: %s", err, out)
			}
			t.Skipf("stripe-mock cannot be installed: %v: %s", err, out)
		}
	}
	mock := exec.Command(program, "-http-addr", "127.0.0.1:0", "-https-addr", "127.0.0.1:0")
	said, err := mock.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := mock.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mock.Process.Kill(); _ = mock.Wait() })
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if m := regexp.MustCompile(`HTTP at address: (\S+)`).FindStringSubmatch(lines.Text()); m != nil {
			go func() {
				for lines.Scan() { // so that it never waits for a reader
				}
			}()
			return "http://" + m[1]
		}
	}
	t.Fatal("stripe-mock ended before it listened")
	return ""
}

// watch notes what was asked and how it was answered.
type watch struct{ answers []string }

func (w *watch) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		path := regexp.MustCompile(`(cs|pi)_[^/]+`).ReplaceAllString(r.URL.Path, "ID")
		w.answers = append(w.answers, r.Method+" "+path+" "+res.Status)
	}
	return res, err
}

func TestStripesOwnServerTakesWhatWeSend(t *testing.T) {
	url := startMock(t)
	f := newFake(t) // for ids
	w := &watch{}
	p := New(Config{Key: "sk_test_123", URL: url, HTTP: &http.Client{Transport: w, Timeout: callTime}})
	steps := []struct {
		name string
		do   func() error
		want []string
	}{
		{"start", func() error { _, err := p.Start(t.Context(), f.wish()); return err }, []string{"POST /v1/checkout/sessions 200 OK"}},
		{"look", func() error { _, err := p.Look(t.Context(), sale.PaymentRef{ID: "cs_test_1"}); return err }, []string{"GET /v1/checkout/sessions/ID 200 OK"}},
		{"look for a name", func() error { _, err := p.Look(t.Context(), sale.PaymentRef{Attempt: f.id()}); return err }, []string{"GET /v1/checkout/sessions 200 OK"}},
		{"expire", func() error { return p.Expire(t.Context(), sale.PaymentRef{ID: "cs_test_1"}) }, []string{"POST /v1/checkout/sessions/ID/expire 200 OK"}},
		{"refund", func() error {
			_, err := p.Refund(t.Context(), sale.RefundRequest{ID: f.id(), Order: f.id(), Ref: "pi_1", Amount: 8500, Currency: "EUR"})
			return err
		}, []string{"GET /v1/refunds 200 OK", "POST /v1/refunds 200 OK"}},
	}
	for _, s := range steps {
		w.answers = nil
		err := s.do()
		if err != nil && !errors.Is(err, errNoPage) { // its example has no address
			t.Errorf("%s: %v", s.name, err)
		}
		if !slices.Equal(w.answers, s.want) {
			t.Errorf("%s: asked %q, want %q", s.name, w.answers, s.want)
		}
	}
	// The server is as strict as this test takes it to be.
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/refunds", strings.NewReader("payment_intent=pi_1&no_such_parameter=1"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Authorization", "Bearer sk_test_123")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("an unknown parameter is answered with %s", res.Status)
	}
}
