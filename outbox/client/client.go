// Package client makes HTTP calls to servers that somebody else has chosen.
//
// Its invariants: nothing in a closed range of addresses is dialled unless the operator allowed it, whatever a name
// resolves to; redirects are not followed and proxies of the environment not used, since both would dial for us; whatever
// the server does, little of its answer is kept, and nothing is repeated of the URL, which may hold secrets.
//
// What it does not do: it does not try again (the relay does) and does not know what a call is for.
package client

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"foyer/outbox"
)

const (
	maxAnswer  = 64 << 10 // bytes of an answer that are read
	keptAnswer = 500      // bytes of it that are kept
)

// Config of a client; the zero value is right.
type Config struct {
	Allow   []netip.Prefix // closed ranges that may be dialled all the same
	Host    string         // the host of the operator's own URL: a literal address, or localhost, may be dialled
	Connect time.Duration  // for TCP, and again for TLS; default 10 s
	Timeout time.Duration  // for the whole call, if its context does not end before; default outbox.DefaultTimeout
	Body    time.Duration  // for the body of an answer, after its status has come; default 2 s
}

// Client makes calls.
type Client struct {
	http    *http.Transport
	timeout time.Duration
	body    time.Duration
	now     func() time.Time
}

// New returns a client. Closed ranges (private, loopback, link-local, metadata and so on) are refused when they are
// dialled, unless c.Allow has them or c.Host is a literal one.
func New(c Config, now func() time.Time) *Client {
	if c.Connect <= 0 {
		c.Connect = 10 * time.Second
	}
	if c.Timeout <= 0 {
		c.Timeout = outbox.DefaultTimeout
	}
	if c.Body <= 0 {
		c.Body = 2 * time.Second
	}
	dialer := &net.Dialer{Timeout: c.Connect, Control: newGuard(c.Allow, c.Host).control}
	// HTTP/1.1 only: one request per connection is all a lane needs.
	return &Client{now: now, timeout: c.Timeout, body: c.Body, http: &http.Transport{
		Proxy:                  nil,
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    c.Connect,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxAnswer,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        90 * time.Second,
	}}
}

// Do makes a call. On 2xx it returns the status and the start of the answer's body, at most 500 bytes; whether the body
// ends does not matter. Everything else is an [*outbox.Failure]: 3xx (not followed), 4xx and 5xx with their status and the
// start of their body, 410 with Gone, Retry-After (seconds or HTTP date, RFC 9110) with any of them; and what the network
// said, without the URL.
func (c *Client) Do(req *http.Request) (answer string, err error) {
	ctx, cancel := context.WithTimeout(req.Context(), c.timeout)
	defer cancel()
	req = once(req.WithContext(ctx))
	if u := req.URL.User; u != nil && req.Header.Get("Authorization") == "" {
		password, _ := u.Password()
		req.SetBasicAuth(u.Username(), password)
	}
	res, err := c.http.RoundTrip(req) // an http.Client would follow redirects, and repeat the URL in its errors
	if err != nil {
		var refused refusal
		return "", &outbox.Failure{Reason: reason(err), Down: !errors.As(err, &refused) && !errors.Is(err, context.Canceled)}
	}
	defer res.Body.Close()
	text := strings.TrimSpace(res.Status)
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		text += " (redirects are not followed)"
	}
	if res.Body != http.NoBody {
		late := time.AfterFunc(c.body, cancel)
		if kept := readAnswer(res.Body); kept != "" {
			text += ": " + kept
		}
		late.Stop()
	}
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		return outbox.Clip(text), nil
	}
	return "", &outbox.Failure{
		Reason: outbox.Clip(text), Gone: res.StatusCode == http.StatusGone,
		RetryAfter: retryAfter(res.Header.Get("Retry-After"), c.now()),
	}
}

// once keeps the transport from sending a request again by itself when a connection ends without an answer, as it does
// with those it takes for repeatable: a lane with a pace would send two at a time.
func once(req *http.Request) *http.Request {
	req.GetBody = nil
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} { // the transport looks for this spelling
		if key, ok := req.Header[name]; ok {
			delete(req.Header, name)
			req.Header[strings.ToLower(name)] = key
		}
	}
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		if req.Body == nil || req.Body == http.NoBody {
			req.Body = io.NopCloser(strings.NewReader("")) // which cannot be sent again
		}
	}
	return req
}

// readAnswer reads what the receiver says as far as it may, so that the connection can be used again, and returns the
// start of it.
func readAnswer(body io.Reader) string {
	limited := io.LimitReader(body, maxAnswer)
	start := make([]byte, keptAnswer)
	n, err := io.ReadFull(limited, start)
	if err == nil {
		_, _ = io.Copy(io.Discard, limited) // the answer is cut or late: its status counts
	}
	return string(start[:n])
}

// retryAfter reads delay-seconds or an HTTP date (RFC 9110, 10.2.3); 0 when there is none or it cannot be read.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if sec, err := strconv.ParseUint(value, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) { // then sec is the largest
		return time.Duration(min(sec, 1<<31)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// reason says what the network said.
func reason(err error) string {
	var refused refusal
	var slow interface{ Timeout() bool }
	switch {
	case errors.As(err, &refused):
		return refused.Error()
	case errors.Is(err, context.Canceled):
		return "the attempt was cut off"
	case errors.As(err, &slow) && slow.Timeout():
		return "no answer in time"
	}
	return outbox.Clip(err.Error())
}

// Close closes the connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }
