package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"foyer/outbox"
	"foyer/outbox/client"
	"foyer/outbox/client/clienttest"
)

var _ outbox.Sink = (*Sink)(nil)

var message = outbox.Message{Seq: 1, ID: "m1", Topic: "order.paid", Key: "order:7", Body: []byte(`{"id":"m1","name":"M & S"}`)}

// serve returns a server and a sink for it.
func serve(t *testing.T, h http.HandlerFunc, change ...func(*Config)) (*httptest.Server, *Sink) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	cfg := Config{URL: srv.URL, Version: "1.2.3"}
	for _, c := range change {
		c(&cfg)
	}
	s := New(cfg)
	t.Cleanup(s.client.Close)
	return srv, s
}

func failure(t *testing.T, err error) *outbox.Failure {
	t.Helper()
	var f *outbox.Failure
	if !errors.As(err, &f) {
		t.Fatalf("got %v, want a failure", err)
	}
	return f
}

func TestADeliveryIsASignedPost(t *testing.T) {
	secrets := []Secret{Secret(strings.Repeat("n", 32)), Secret(strings.Repeat("o", 24))}
	var got *http.Request
	var body []byte
	_, s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Clone(context.Background())
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
	}, func(c *Config) { c.Secrets = secrets })
	if err := s.Deliver(t.Context(), message); err != nil {
		t.Fatal(err)
	}
	if got.Method != "POST" || string(body) != string(message.Body) || got.Header.Get("Content-Type") != "application/json" || got.UserAgent() != "foyer/1.2.3" {
		t.Errorf("got %s %v with %s", got.Method, got.Header, body)
	}
	for _, one := range secrets {
		if id, err := Verify([]Secret{one}, got.Header, body, time.Now(), time.Minute); id != "m1" || err != nil {
			t.Errorf("with one of the secrets: %q, %v", id, err)
		}
	}
}

func TestWithoutASecretThereIsNoSignature(t *testing.T) {
	var h http.Header
	_, s := serve(t, func(_ http.ResponseWriter, r *http.Request) { h = r.Header.Clone() })
	if err := s.Deliver(t.Context(), message); err != nil {
		t.Fatal(err)
	}
	if _, signed := h["Webhook-Signature"]; signed || h.Get(HeaderID) != "m1" || h.Get(HeaderTimestamp) == "" {
		t.Errorf("headers %v", h)
	}
}

func TestAServerThatRecoversGetsTheSameIDAndBody(t *testing.T) {
	var seen []string
	_, s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		seen = append(seen, r.Header.Get(HeaderID)+string(b))
		if len(seen) == 1 {
			http.Error(w, "data base\nis away", http.StatusInternalServerError)
		}
	})
	f := failure(t, s.Deliver(t.Context(), message))
	if f.Reason != "500 Internal Server Error: data base is away" || f.Gone || f.RetryAfter != 0 {
		t.Errorf("got %+v", f)
	}
	if err := s.Deliver(t.Context(), message); err != nil || seen[0] != seen[1] {
		t.Errorf("%v, seen %q", err, seen)
	}
}

func TestARedirectIsAFailureAndIsNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308, 304} {
		calls := 0
		_, s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			calls++
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		})
		f := failure(t, s.Deliver(t.Context(), message))
		if calls != 1 || !strings.HasPrefix(f.Reason, fmt.Sprint(status)) {
			t.Errorf("%d: %d calls, %+v", status, calls, f)
		}
	}
}

func TestGoneAndRetryAfterAreHeard(t *testing.T) {
	now := time.Date(2027, 3, 1, 19, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		status int
		after  string
		want   outbox.Failure
	}{
		{410, "", outbox.Failure{Reason: "410 Gone", Gone: true}},
		{429, "120", outbox.Failure{Reason: "429 Too Many Requests", RetryAfter: 2 * time.Minute}},
		{503, now.Add(time.Hour).Format(http.TimeFormat), outbox.Failure{Reason: "503 Service Unavailable", RetryAfter: time.Hour}},
		{503, now.Add(-time.Hour).Format(http.TimeFormat), outbox.Failure{Reason: "503 Service Unavailable"}},
		{429, "-5", outbox.Failure{Reason: "429 Too Many Requests"}},
		{429, "soon", outbox.Failure{Reason: "429 Too Many Requests"}},
		{429, "18446744073709551615", outbox.Failure{Reason: "429 Too Many Requests", RetryAfter: (1 << 31) * time.Second}},
		{429, "99999999999999999999999", outbox.Failure{Reason: "429 Too Many Requests", RetryAfter: (1 << 31) * time.Second}},
		{404, "", outbox.Failure{Reason: "404 Not Found"}},
	} {
		_, s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if c.after != "" {
				w.Header().Set("Retry-After", c.after)
			}
			w.WriteHeader(c.status)
		}, func(cfg *Config) { cfg.Now = func() time.Time { return now } })
		if f := failure(t, s.Deliver(t.Context(), message)); *f != c.want {
			t.Errorf("%d %q: got %+v, want %+v", c.status, c.after, *f, c.want)
		}
	}
}

func TestAnAnswerIsReadOnlySoFar(t *testing.T) {
	wrote := make(chan int64, 1)
	_, s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		n := int64(0)
		chunk := []byte(strings.Repeat("x", 32<<10))
		for {
			k, err := w.Write(chunk)
			n += int64(k)
			if err != nil || n > 1<<30 {
				break
			}
		}
		wrote <- n
	})
	f := failure(t, s.Deliver(t.Context(), message))
	if len(f.Reason) > 500 || !strings.HasPrefix(f.Reason, "502 Bad Gateway: xxx") {
		t.Errorf("%d bytes: %.40s", len(f.Reason), f.Reason)
	}
	if n := <-wrote; n > 64<<20 {
		t.Errorf("the receiver could send %d bytes", n)
	}
}

func TestASlowBodyDoesNotDelayWhatTheStatusSaid(t *testing.T) {
	for _, status := range []int{200, 500} {
		end := make(chan struct{})
		_, s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "so ")
			_ = http.NewResponseController(w).Flush()
			<-end
		})
		s.client = client.New(client.Config{Host: "127.0.0.1", Body: 50 * time.Millisecond}, time.Now)
		err := s.Deliver(t.Context(), message) // would hang without a limit
		close(end)
		if (err == nil) != (status == 200) {
			t.Errorf("%d: %v", status, err)
		}
		if status == 500 && failure(t, err).Reason != "500 Internal Server Error: so" {
			t.Errorf("got %v", err)
		}
	}
}

func TestAReceiverThatHangsUpOrNeverAnswersHasFailed(t *testing.T) {
	_, s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := http.NewResponseController(w).Hijack()
		_ = conn.Close()
	})
	if f := failure(t, s.Deliver(t.Context(), message)); f.Reason == "" || strings.Contains(f.Reason, "http://") {
		t.Errorf("hung up: %+v", f)
	}
	end := make(chan struct{})
	defer close(end)
	_, s = serve(t, func(http.ResponseWriter, *http.Request) { <-end }, func(c *Config) { c.Timeout = 50 * time.Millisecond })
	if f := failure(t, s.Deliver(t.Context(), message)); f.Reason != "no answer in time" {
		t.Errorf("never answered: %+v", f)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if f := failure(t, s.Deliver(ctx, message)); f.Reason != "the attempt was cut off" {
		t.Errorf("cut off: %+v", f)
	}
}

func TestSecretsOfTheURLAreUsedButNotPrinted(t *testing.T) {
	var user, pass string
	srv, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) { user, pass, _ = r.BasicAuth() })
	host := strings.TrimPrefix(srv.URL, "http://")
	s := New(Config{URL: "http://zoe:geheim@" + host + "/in?token=xyzzy"})
	t.Cleanup(s.client.Close)
	if err := s.Deliver(t.Context(), message); err != nil || user != "zoe" || pass != "geheim" {
		t.Errorf("%v, %s:%s", err, user, pass)
	}
	if got := s.String(); got != "http://"+host+"/in?..." {
		t.Errorf("printed as %s", got)
	}
	srv.Close()
	for _, url := range []string{"http://zoe:geheim@" + host + "/in?token=xyzzy", "ftp://zoe:geheim@x/xyzzy", "http://zoe:geheim@:80/xyzzy", "http://zoe:geheim@%zz/xyzzy"} {
		f := failure(t, New(Config{URL: url}).Deliver(t.Context(), message))
		if strings.Contains(f.Reason, "geheim") || strings.Contains(f.Reason, "zoe") || strings.Contains(f.Reason, "xyzzy") || f.Reason == "" {
			t.Errorf("the reason shows a secret: %s", f.Reason)
		}
	}
}

func TestAMessageThatCannotBeSignedIsNotSent(t *testing.T) {
	_, s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	for _, id := range []string{"", "a.b"} {
		failure(t, s.Deliver(t.Context(), outbox.Message{ID: id}))
	}
}

func TestANameThatLeadsToAClosedAddressIsRefusedWhenItIsDialled(t *testing.T) { // B162
	calls := 0
	srv, _ := serve(t, func(http.ResponseWriter, *http.Request) { calls++ })
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(srv.URL, "http://"))
	for _, a := range []string{"127.0.0.1", "169.254.169.254", "10.0.0.1", "::1", "::ffff:10.0.0.1", "64:ff9b::7f00:1"} {
		clienttest.Answer(t, netip.MustParseAddr(a))
		f := failure(t, New(Config{URL: "http://rebound.example:" + port}).Deliver(t.Context(), message))
		if calls != 0 || !strings.Contains(f.Reason, "is in a closed range") {
			t.Errorf("%s: %d calls, %+v", a, calls, f)
		}
	}
	for _, host := range []string{"localhost.localdomain", "a.localhost", "0x7f000001.example"} {
		clienttest.Answer(t, netip.MustParseAddr("127.0.0.1"))
		if err := New(Config{URL: "http://" + host + ":" + port}).Deliver(t.Context(), message); err == nil || calls != 0 {
			t.Errorf("%s was dialled: %v", host, err)
		}
	}
}

func TestANameThatChangesItsAnswerGainsNothing(t *testing.T) { // B162, rebinding
	calls := 0
	srv, _ := serve(t, func(http.ResponseWriter, *http.Request) { calls++ })
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(srv.URL, "http://"))
	clienttest.Answer(t, netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.1"))
	s := New(Config{URL: "http://rebound.example:" + port, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}})
	_ = s.Deliver(t.Context(), message) // to the allowed address, where nobody listens
	f := failure(t, s.Deliver(t.Context(), message))
	if calls != 0 || !strings.Contains(f.Reason, "127.0.0.1 is in a closed range") {
		t.Errorf("%d calls, %+v", calls, f)
	}
}

func TestAnAllowedRangeIsDialled(t *testing.T) {
	calls := 0
	srv, _ := serve(t, func(http.ResponseWriter, *http.Request) { calls++ })
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(srv.URL, "http://"))
	clienttest.Answer(t, netip.MustParseAddr("127.0.0.1"))
	s := New(Config{URL: "http://inside.example:" + port, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	t.Cleanup(s.client.Close)
	if err := s.Deliver(t.Context(), message); err != nil || calls != 1 {
		t.Errorf("%v, %d calls", err, calls)
	}
}
