package httptask

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"foyer/outbox"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

func task(t *testing.T, r outbox.Request) outbox.Message {
	t.Helper()
	body, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return outbox.Message{ID: "0190f3d2-7b1c-7000-8000-000000000001", Body: body, Attempts: 2}
}

func serve(t *testing.T, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestARequestIsMadeAsItWasAskedFor(t *testing.T) {
	var got *http.Request
	var body string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, body = r, string(b)
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "noted")
	})
	s := New(Config{Allow: loopback, Version: "1"})
	for _, c := range []struct {
		r          outbox.Request
		body, kind string
	}{
		{outbox.Request{URL: url + "/a?b=c", Method: "PUT", Headers: map[string]string{"X-Key": "s3cret"}, Body: json.RawMessage(`"plain text"`)}, "plain text", ""},
		{outbox.Request{URL: url, Method: "POST", Body: json.RawMessage(`{"a":[1,2]}`)}, `{"a":[1,2]}`, "application/json"},
		{outbox.Request{URL: url, Method: "POST", Headers: map[string]string{"content-type": "application/x"}, Body: json.RawMessage(`[1]`)}, "[1]", "application/x"},
		{outbox.Request{URL: url, Method: "GET"}, "", ""},
	} {
		m := task(t, c.r)
		answer, err := s.Call(t.Context(), m)
		if err != nil || answer != "202 Accepted: noted" {
			t.Fatalf("answer %q, %v", answer, err)
		}
		h := got.Header
		if got.Method != c.r.Method || body != c.body || h.Get("Content-Type") != c.kind || h.Get("X-Key") != c.r.Headers["X-Key"] {
			t.Errorf("%s %s %q arrived for %+v", got.Method, h, body, c.r)
		}
		if h.Get(HeaderTask) != m.ID || h.Get("Idempotency-Key") != m.ID || h.Get(HeaderAttempt) != "3" || h.Get("User-Agent") != "foyer/1" {
			t.Errorf("headers %v", h)
		}
	}
}

func TestATaskThatIsGoneEndsAlone(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	var f *outbox.Failure
	err := New(Config{Allow: loopback}).Deliver(t.Context(), task(t, outbox.Request{URL: url, Method: "GET"}))
	if !errors.As(err, &f) || !f.Final || f.Gone || f.Down {
		t.Errorf("got %+v", err)
	}
}

func TestClosedAddressesAreRefusedWhateverATaskSays(t *testing.T) {
	url := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was called") })
	for _, u := range []string{url, strings.Replace(url, "127.0.0.1", "localhost", 1), strings.Replace(url, "127.0.0.1", "[::ffff:127.0.0.1]", 1)} {
		var f *outbox.Failure
		err := New(Config{}).Deliver(t.Context(), task(t, outbox.Request{URL: u, Method: "GET"}))
		if !errors.As(err, &f) || !strings.Contains(f.Reason, "closed range") {
			t.Errorf("%s: %v", u, err)
		}
	}
}

func TestABodyThatIsNoRequestIsDeadAtOnce(t *testing.T) {
	for _, body := range []string{"", "[]", `{"url":"ftp://x.example","method":"GET"}`, `{"url":"http://x.example","method":"BREW"}`} {
		var f *outbox.Failure
		if err := New(Config{}).Deliver(t.Context(), outbox.Message{ID: "x", Body: []byte(body)}); !errors.As(err, &f) || !f.Final {
			t.Errorf("%q: %v", body, err)
		}
	}
}

func TestSecretsOfARequestAreMaskedInTheAnswer(t *testing.T) {
	status := http.StatusOK
	long := strings.Repeat("k3y-", 200)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		user, password, _ := r.BasicAuth()
		_, _ = io.WriteString(w, strings.Join([]string{
			"task " + r.Header.Get(HeaderTask), user + ":" + password, r.URL.RequestURI(), r.URL.Query().Get("sig"), r.Header.Get("X-Key"), r.Header.Get("X-Long"),
		}, " "))
	})
	s := New(Config{Allow: loopback})
	m := task(t, outbox.Request{
		URL: strings.Replace(url, "://", "://ann:pass%20word@", 1) + "/a?sig=abc%2Fdef", Method: "GET",
		Headers: map[string]string{"X-Key": "Bearer s3cret-token", "X-Long": long, "X-Short": "1"},
	})
	check := func(said string) {
		t.Helper()
		for _, secret := range []string{"pass word", "abc/def", "abc%2Fdef", "s3cret-token", "k3y-k3y"} {
			if strings.Contains(said, secret) {
				t.Errorf("the answer tells %q: %s", secret, said)
			}
		}
		if !strings.Contains(said, "task "+m.ID) || !strings.Contains(said, "...") {
			t.Errorf("the answer is %s", said)
		}
	}
	said, err := s.Call(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	check(said)
	status = http.StatusBadRequest
	_, err = s.Call(t.Context(), m)
	var f *outbox.Failure
	if !errors.As(err, &f) {
		t.Fatal(err)
	}
	check(f.Reason)
}

func TestAnswerThatTurnsTheWritingIsKeptEscaped(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "paid\u202e\x1b[2J")
	})
	s := New(Config{Allow: loopback})
	m := task(t, outbox.Request{URL: url, Method: "GET"})
	if answer, err := s.Call(t.Context(), m); err != nil || answer != `200 OK: paid\u202e [2J` {
		t.Errorf("got %q, %v", answer, err)
	}
}
