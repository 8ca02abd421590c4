// Package webhook delivers messages by HTTP POST as Standard Webhooks 1.0.0 and checks what comes in that way.
//
// Its job: one attempt, signed, with an honest answer: nil, or an [outbox.Failure] that says what the receiver said.
//
// Its invariants: nothing in a closed range of addresses is dialled unless the operator allowed it, whatever a name
// resolves to; redirects are not followed and proxies of the environment not used, since both would dial for us; no secret
// of the URL, and no signing secret, is printed; whatever the receiver does, an attempt ends in time and in little memory.
//
// What it does not do: it does not retry (the relay does), it does not remember ids (the receiver of our messages does, and
// who calls [Verify]), it does not sign with ed25519.
package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"foyer/outbox"
)

const (
	maxAnswer  = 64 << 10 // bytes of an answer that are read
	keptAnswer = 500      // bytes of it that are kept
)

// Config describes one sink. URL is required.
type Config struct {
	URL     string         // http or https; user and password become Basic authentication
	Secrets []Secret       // one, or the new and the old one; none: messages are not signed
	Allow   []netip.Prefix // closed ranges that may be dialled all the same
	Version string         // for the user-agent foyer/<version>; default "dev"
	Connect time.Duration  // for TCP, and again for TLS; default 10 s
	Timeout time.Duration  // for the whole attempt, if the context does not end before; default outbox.DefaultTimeout
	Now     func() time.Time
}

// Sink delivers to one URL. It is an [outbox.Sink].
type Sink struct {
	cfg    Config
	client *http.Client
	answer time.Duration // for the body of an answer, after its status has come
	bad    error         // the URL cannot be used
}

// Check says whether a URL can be a sink: http or https, with a host. Its error does not hold the URL.
func Check(rawURL string) error {
	u, err := url.Parse(rawURL)
	if err != nil {
		return errors.New("webhook: the address cannot be read as a URL")
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return errors.New("webhook: the address must be a URL with http or https and a host")
	}
	return nil
}

// New returns a sink for cfg.URL. A URL that does not pass [Check] makes a sink whose deliveries all fail.
//
// Closed ranges (private, loopback, link-local, metadata and so on) are refused when they are dialled, unless cfg.Allow has
// them. Exception: if the URL's host is itself an IP address, that address is allowed, and 127.0.0.1 and ::1 are if it is
// the word localhost; the operator wrote it into the settings.
func New(cfg Config) *Sink {
	if cfg.Version == "" {
		cfg.Version = "dev"
	}
	if cfg.Connect <= 0 {
		cfg.Connect = 10 * time.Second
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = outbox.DefaultTimeout
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Sink{cfg: cfg, answer: 2 * time.Second, bad: Check(cfg.URL)}
	host := ""
	if u, err := url.Parse(cfg.URL); err == nil {
		host = u.Hostname()
	}
	dialer := &net.Dialer{Timeout: cfg.Connect, Control: newGuard(cfg.Allow, host).control}
	s.client = &http.Client{
		Timeout:       cfg.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{ // HTTP/1.1 only: one request per connection is all a lane needs
			Proxy:                  nil,
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    cfg.Connect,
			DisableCompression:     true,
			MaxResponseHeaderBytes: maxAnswer,
			MaxIdleConnsPerHost:    16,
			IdleConnTimeout:        90 * time.Second,
		},
	}
	return s
}

// String returns the URL without user, password and query.
func (s *Sink) String() string { return outbox.Mask(s.cfg.URL) }

// Deliver posts the message once. Nil: the receiver answered 2xx; what its body says, or whether it ends, does not matter.
// Everything else is an [*outbox.Failure]: 3xx (not followed), 4xx, 5xx with their status and the start of their
// body, 410 with Gone, Retry-After (seconds or HTTP date, RFC 9110) with 429, 503 and any other of them; and what the
// network said, without the URL.
func (s *Sink) Deliver(ctx context.Context, m outbox.Message) error {
	if s.bad != nil {
		return &outbox.Failure{Reason: s.bad.Error()}
	}
	if m.ID == "" || strings.Contains(m.ID, ".") {
		return &outbox.Failure{Reason: "the message's id is empty or has a full stop and cannot be signed"}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := s.request(ctx, m)
	if err != nil {
		return &outbox.Failure{Reason: "the request cannot be made"}
	}
	res, err := s.client.Do(req)
	if err != nil {
		return &outbox.Failure{Reason: reason(err)}
	}
	defer res.Body.Close()
	defer time.AfterFunc(s.answer, cancel).Stop()
	kept := readAnswer(res.Body)
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		return nil
	}
	return s.failure(res, kept)
}

func (s *Sink) request(ctx context.Context, m outbox.Message) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.URL, bytes.NewReader(m.Body))
	if err != nil {
		return nil, err
	}
	at := s.cfg.Now()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "foyer/"+s.cfg.Version)
	req.Header.Set(HeaderID, m.ID)
	req.Header.Set(HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	if len(s.cfg.Secrets) > 0 {
		req.Header.Set(HeaderSignature, Sign(s.cfg.Secrets, m.ID, at, m.Body))
	}
	return req, nil
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

func (s *Sink) failure(res *http.Response, kept string) *outbox.Failure {
	f := &outbox.Failure{
		Gone:       res.StatusCode == http.StatusGone,
		RetryAfter: retryAfter(res.Header.Get("Retry-After"), s.cfg.Now()),
	}
	text := fmt.Sprintf("%d %s", res.StatusCode, strings.TrimSpace(strings.TrimPrefix(res.Status, strconv.Itoa(res.StatusCode))))
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		text += " (redirects are not followed)"
	}
	if kept != "" {
		text += ": " + kept
	}
	f.Reason = outbox.Clip(text)
	return f
}

// retryAfter reads delay-seconds or an HTTP date (RFC 9110, 10.2.3); 0 when there is none or it cannot be read.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if sec, err := strconv.ParseUint(value, 10, 64); err == nil {
		return time.Duration(min(sec, 1<<31)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// reason says what the network said, without the URL that http.Client puts in front.
func reason(err error) string {
	var refused refusal
	var named *url.Error
	switch {
	case errors.As(err, &refused):
		return refused.Error()
	case errors.Is(err, context.Canceled):
		return "the attempt was cut off"
	case errors.As(err, &named) && named.Timeout():
		return "no answer in time"
	case errors.As(err, &named):
		return outbox.Clip(named.Err.Error())
	}
	return outbox.Clip(err.Error())
}
