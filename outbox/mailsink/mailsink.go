// Package mailsink writes mails to buyers: a confirmation for a paid order, and a mail with code and picture for each ticket.
//
// Its job: the sinks "smtp://..." and "smtps://...", one attempt to hand one mail to the venue's mail server. Messages of
// the topics order.paid and ticket.issued become mails; others are taken and make none.
//
// Its invariants: a mail goes to the buyer of the document, else to the address after ?to=, and a message without either
// is delivered, for there is nobody to write to; the Message-ID is made from the message's id and the date is the
// message's, so that a repeat is the same mail; nothing in a document, name, seat or event, can add a header, a recipient
// or markup; the connection is encrypted and the server's certificate checked, unless it is this machine or the operator
// said tls=none, and no password goes in the clear to another machine; neither passwords nor names nor addresses of
// people are in an error or a log.
//
// What it does not do: it does not hear of mails that come back later, and it sends no newsletters.
package mailsink

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"foyer/outbox"
)

// Config describes one sink. URL is required.
type Config struct {
	URL     string                                      // smtp[s]://[user:password@]host[:587|:465]/?from=...[&to=...][&tls=none]
	Event   func(id string) (e Event, known bool)       // what an event is called; default: by its id
	Digits  func(currency string) (digits int, ok bool) // of a currency's minor unit; default: 2
	Picture func(code string) (png []byte, err error)   // of a ticket's code; default: none
	Roots   *x509.CertPool                              // who signs the server's certificate; default: whom the machine trusts
	Timeout time.Duration                               // of an attempt, if the context does not end before; default 15 s
	Log     *slog.Logger                                // default: says nothing
}

// Event is what a mail tells of an event.
type Event struct {
	Name, Venue string
	Start       time.Time // in the venue's time zone; zero: not told
}

// Sink sends through one mail server. It is an [outbox.Sink].
type Sink struct {
	cfg  Config
	to   address
	bad  error // the address cannot be used
	name string
}

// address is a taken-apart URL.
type address struct {
	host, port     string
	user, password string
	secure         security
	from           *mail.Address
	fallback       *mail.Address // nil: only buyers are written to
}

// security says how the connection is protected.
type security int

const (
	startTLS    security = iota // encrypt, or send nothing (RFC 3207)
	implicitTLS                 // encrypted from the first byte (RFC 8314)
	noTLS
)

// Check says whether a URL can be a sink. Its error does not hold the URL.
func Check(rawURL string) error {
	_, err := parse(rawURL)
	return err
}

func parse(rawURL string) (a address, err error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || strings.Trim(u.Path, "/") != "" || u.Fragment != "" {
		return a, errors.New("mailsink: the address must be like smtp://user:password@host:587/?from=tickets@example.org, or with smtps://")
	}
	a.host, a.port = u.Hostname(), u.Port()
	if a.host == "" {
		return a, errors.New("mailsink: the host is missing in the address")
	}
	if a.port == "" {
		a.port = map[string]string{"smtp": "587", "smtps": "465"}[u.Scheme]
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return a, errors.New("mailsink: what follows the question mark in the address cannot be read")
	}
	for name, values := range query {
		if name != "from" && name != "to" && name != "tls" || len(values) != 1 {
			return a, errors.New("mailsink: only from=, to= and tls=none, each once, can follow the question mark in the address")
		}
	}
	if a.from, err = mail.ParseAddress(query.Get("from")); err != nil {
		return a, errors.New("mailsink: the address needs ?from= with the mail address of the sender")
	}
	if query.Has("to") {
		if a.fallback, err = mail.ParseAddress(query.Get("to")); err != nil {
			return a, errors.New("mailsink: to= in the address must be a mail address")
		}
	}
	return a, a.protect(u, query)
}

// protect reads how the connection is protected.
func (a *address) protect(u *url.URL, query url.Values) error {
	local := a.host == "localhost"
	if ip, err := netip.ParseAddr(a.host); err == nil {
		local = ip.IsLoopback()
	}
	switch {
	case query.Has("tls") && (query.Get("tls") != "none" || u.Scheme == "smtps"):
		return errors.New("mailsink: tls= in the address can only be none, and only with smtp://")
	case u.Scheme == "smtps":
		a.secure = implicitTLS
	case query.Has("tls") || local:
		a.secure = noTLS
	}
	if u.User == nil {
		return nil
	}
	a.user = u.User.Username()
	a.password, _ = u.User.Password()
	if a.user == "" || a.password == "" {
		return errors.New("mailsink: the address must have both user and password, or neither")
	}
	if a.secure == noTLS && !local {
		return errors.New("mailsink: with tls=none the address cannot have a password, which everybody on the way could read")
	}
	return nil
}

// New returns a sink for cfg.URL. A URL that does not pass [Check] makes a sink whose deliveries all fail.
func New(cfg Config) *Sink {
	if cfg.Timeout <= 0 {
		cfg.Timeout = 15 * time.Second
	}
	if cfg.Event == nil {
		cfg.Event = func(string) (Event, bool) { return Event{}, false }
	}
	if cfg.Digits == nil {
		cfg.Digits = func(string) (int, bool) { return 2, true }
	}
	if cfg.Picture == nil {
		cfg.Picture = func(string) ([]byte, error) { return nil, nil }
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Sink{cfg: cfg, name: outbox.Mask(cfg.URL)}
	s.to, s.bad = parse(cfg.URL)
	return s
}

// String returns the URL without credentials and mail addresses.
func (s *Sink) String() string { return s.name }

// Deliver sends the message's mail and returns nil once the server has taken it, or when there is none to send.
// Everything else is an [*outbox.Failure], or the context's error.
func (s *Sink) Deliver(ctx context.Context, m outbox.Message) error {
	if s.bad != nil {
		return &outbox.Failure{Reason: s.bad.Error()}
	}
	l, err := s.compose(m)
	if err != nil {
		return &outbox.Failure{Reason: err.Error()}
	}
	if l == nil {
		s.cfg.Log.DebugContext(ctx, "no mail is written for this topic", "id", m.ID, "topic", m.Topic)
		return nil
	}
	to := l.to
	if to == nil {
		to = s.to.fallback
	}
	if to == nil {
		s.cfg.Log.DebugContext(ctx, "a message has nobody to write to", "id", m.ID, "topic", m.Topic)
		return nil
	}
	mail, err := s.write(l, to, m)
	if err != nil {
		return &outbox.Failure{Reason: "the mail cannot be written: " + s.redact(err.Error(), to)}
	}
	return s.send(ctx, mail, to)
}

// hostport is where the server listens.
func (a *address) hostport() string { return net.JoinHostPort(a.host, a.port) }
