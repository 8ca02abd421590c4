// Package webhook delivers messages by HTTP POST as Standard Webhooks 1.0.0 and checks what comes in that way.
//
// Its job: one attempt, signed, with an honest answer: nil, or an [outbox.Failure] that says what the receiver said.
//
// Its invariants: those of [client], through which it calls; no secret of the URL, and no signing secret, is printed.
//
// What it does not do: it does not retry (the relay does), it does not remember ids (the receiver of our messages does, and
// who calls [Verify]), it does not sign with ed25519.
package webhook

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"foyer/outbox"
	"foyer/outbox/client"
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
	client *client.Client
	url    *url.URL
	bad    error // the URL cannot be used
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
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Sink{cfg: cfg, bad: Check(cfg.URL)}
	host := ""
	if u, err := url.Parse(cfg.URL); err == nil {
		host, s.url = u.Hostname(), u
	}
	s.client = client.New(client.Config{Allow: cfg.Allow, Host: host, Connect: cfg.Connect, Timeout: cfg.Timeout}, cfg.Now)
	return s
}

// String returns the URL without user, password and query.
func (s *Sink) String() string { return outbox.Mask(s.cfg.URL) }

// Deliver posts the message once. Nil: the receiver answered 2xx; what its body says does not matter. Everything else is
// an [*outbox.Failure] as [client.Client.Do] makes it.
func (s *Sink) Deliver(ctx context.Context, m outbox.Message) error {
	if s.bad != nil {
		return &outbox.Failure{Reason: s.bad.Error()}
	}
	if m.ID == "" || strings.Contains(m.ID, ".") {
		return &outbox.Failure{Reason: "the message's id is empty or has a full stop and cannot be signed"}
	}
	_, err := s.client.Do(s.request(ctx, m))
	return err
}

func (s *Sink) request(ctx context.Context, m outbox.Message) *http.Request {
	at := s.cfg.Now()
	req := (&http.Request{
		Method: http.MethodPost, URL: s.url, Host: s.url.Host, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{ // names as Go keeps them
			"Content-Type":      {"application/json"},
			"User-Agent":        {"foyer/" + s.cfg.Version},
			"Webhook-Id":        {m.ID},
			"Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)},
		},
		Body: io.NopCloser(bytes.NewReader(m.Body)), ContentLength: int64(len(m.Body)),
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(m.Body)), nil },
	}).WithContext(ctx)
	if len(s.cfg.Secrets) > 0 {
		req.Header["Webhook-Signature"] = []string{Sign(s.cfg.Secrets, m.ID, at, m.Body)}
	}
	return req
}
