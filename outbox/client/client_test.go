package client

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestTheProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	if New(Config{}, time.Now).http.Proxy != nil {
		t.Error("a proxy may be used; it would dial for us, past the guard")
	}
}

// A receiver takes a request and ends the connection without an answer. The transport would send it again at once when it
// has no body or a key that makes it repeatable; the relay alone decides when.
func TestNothingIsSentTwiceBehindTheRelaysBack(t *testing.T) {
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if len(r.TransferEncoding) > 0 {
			t.Errorf("%s came with transfer-encoding %v", r.Method, r.TransferEncoding)
		}
		if calls.Add(1)%2 == 0 {
			panic(http.ErrAbortHandler)
		}
	}))
	defer server.Close()
	c := New(Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, time.Now)
	defer c.Close()
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE"} {
		for _, body := range []string{"", "text"} {
			calls.Store(0)
			for i := range 2 { // the second goes over the connection of the first
				req, err := http.NewRequest(method, server.URL, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Idempotency-Key", "k")
				if _, err := c.Do(req); (err == nil) != (i == 0) {
					t.Errorf("%s %q: call %d came to %v", method, body, i+1, err)
				}
			}
			if n := calls.Load(); n != 2 {
				t.Errorf("%s %q: %d requests came, want 2", method, body, n)
			}
		}
	}
}
