// Package natssink publishes messages to NATS JetStream as CloudEvents.
//
// Its job: the sinks "nats://..." and "tls://...". The subject is the prefix and the topic: "foyer.order.paid".
//
// Its invariants: a message is delivered only when a stream has acknowledged it; the header Nats-Msg-Id is the message's
// id, so that a stream drops repeats within its window (two minutes unless it says otherwise); nothing is published later
// by a connection that came back, only by a new attempt, so the order of a lane holds; no user, password or token is
// printed. It connects with the first message and keeps trying: a server that is away stops nobody's start.
//
// What it does not do: it makes no stream, since how long events are kept is the venue's decision.
package natssink

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"foyer/outbox"
	"foyer/outbox/cloudevent"
)

// DefaultPrefix stands before the topic when the address has no path.
const DefaultPrefix = "foyer"

// Config describes one sink. URL is required.
type Config struct {
	URL     string         // nats:// or tls://, [user:password@|token@]host[:4222],host.../subject.prefix
	Source  string         // of the CloudEvents; default [cloudevent.DefaultSource]
	Roots   *x509.CertPool // who signs the server's certificate; default: whom the machine trusts
	Connect time.Duration  // for TCP and TLS to one server; default 3 s
}

// Sink publishes below one prefix. It is an [outbox.Sink].
type Sink struct {
	cfg  Config
	to   address
	bad  error // the address cannot be used
	name string

	mu      sync.Mutex // guards what follows
	conn    *nats.Conn // nil before the first message and after Close
	stream  jetstream.JetStream
	up      context.Context // ends when the connection is lost
	down    context.CancelFunc
	trouble error // what the last attempt to connect met
}

// address is a taken-apart URL.
type address struct {
	servers []string // without credentials
	auth    []nats.Option
	prefix  string
}

// Check says whether a URL can be a sink. Its error does not hold the URL.
func Check(rawURL string) error {
	_, err := parse(rawURL)
	return err
}

func parse(rawURL string) (a address, err error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.RawQuery != "" || u.Fragment != "" {
		return a, errors.New("natssink: the address must be like nats://host:4222/subject.prefix, or with tls://; several hosts are separated by commas")
	}
	for host := range strings.SplitSeq(u.Host, ",") {
		if strings.Trim(host, "[]") == "" || strings.HasPrefix(host, ":") {
			return a, errors.New("natssink: a host is missing in the address")
		}
		a.servers = append(a.servers, u.Scheme+"://"+host)
	}
	a.prefix = strings.TrimPrefix(u.Path, "/")
	if a.prefix == "" {
		a.prefix = DefaultPrefix
	}
	for token := range strings.SplitSeq(a.prefix, ".") {
		if token == "" || strings.ContainsAny(token, " \t\r\n*>/") {
			return a, errors.New("natssink: the subject prefix in the address must be words separated by full stops, without * and >")
		}
	}
	if password, ok := u.User.Password(); ok {
		a.auth = append(a.auth, nats.UserInfo(u.User.Username(), password))
	} else if u.User.Username() != "" {
		a.auth = append(a.auth, nats.Token(u.User.Username()))
	}
	return a, nil
}

// New returns a sink for cfg.URL. A URL that does not pass [Check] makes a sink whose deliveries all fail.
func New(cfg Config) *Sink {
	if cfg.Connect <= 0 {
		cfg.Connect = 3 * time.Second
	}
	s := &Sink{cfg: cfg, name: outbox.Mask(cfg.URL)}
	s.to, s.bad = parse(cfg.URL)
	return s
}

// String returns the URL without credentials.
func (s *Sink) String() string { return s.name }

// Deliver publishes the message and returns nil once a stream has it, or had it before. Everything else is an
// [*outbox.Failure], or the context's error.
func (s *Sink) Deliver(ctx context.Context, m outbox.Message) error {
	if s.bad != nil {
		return &outbox.Failure{Reason: s.bad.Error()}
	}
	event, err := cloudevent.Wrap(m, s.cfg.Source)
	if err != nil {
		return &outbox.Failure{Reason: err.Error()}
	}
	stream, up, err := s.connected()
	if err != nil {
		return &outbox.Failure{Reason: outbox.Clip("not connected to the NATS server: " + err.Error())}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(up, func() { cancel(nats.ErrDisconnected) })()
	subject := s.to.prefix + "." + m.Topic
	msg := &nats.Msg{Subject: subject, Data: event, Header: nats.Header{"Content-Type": {cloudevent.ContentType}}}
	_, err = stream.PublishMsg(ctx, msg, jetstream.WithMsgID(m.ID))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		err = context.Cause(ctx)
	}
	return explain(err, subject)
}

// explain says in words of the venue what NATS said.
func explain(err error, subject string) error {
	var api *jetstream.APIError
	reason := err.Error()
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders):
		reason = fmt.Sprintf("no JetStream stream takes the subject %s; add it to a stream of the server", subject)
	case errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrDisconnected):
		reason = "the connection to the NATS server is lost"
	case errors.Is(err, nats.ErrMaxPayload):
		reason = "the message is larger than the NATS server takes (max_payload)"
	case errors.As(err, &api):
		reason = fmt.Sprintf("the stream refuses the message: %s (%d)", api.Description, api.ErrorCode)
	}
	return &outbox.Failure{Reason: outbox.Clip(reason)}
}

// connected returns the stream interface of a connection and a context that ends with it, or why there is none.
func (s *Sink) connected() (jetstream.JetStream, context.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		if err := s.dial(); err != nil {
			return nil, nil, err
		}
	}
	if s.conn.IsConnected() {
		return s.stream, s.up, nil
	}
	// An error of authorization is known to the connection only, one of the network to the handler only.
	switch err := s.conn.LastError(); {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired):
		return nil, nil, errors.New("it refuses the user, the password or the token of the address")
	case err != nil:
		return nil, nil, err
	case s.trouble != nil:
		return nil, nil, s.trouble
	}
	return nil, nil, errors.New("it does not answer yet")
}

// dial makes a connection that tries until it is closed. The caller holds s.mu.
func (s *Sink) dial() error {
	s.trouble = nil
	s.up, s.down = context.WithCancel(context.Background())
	options := append([]nats.Option{
		nats.Name("foyer"),
		nats.Timeout(s.cfg.Connect),
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(),
		nats.CustomReconnectDelay(delay),
		nats.ReconnectBufSize(-1), // nothing is sent later behind our back
		nats.ReconnectErrHandler(s.note),
		nats.DisconnectErrHandler(s.lost),
		nats.ConnectHandler(func(c *nats.Conn) { s.note(c, nil) }),
		nats.ReconnectHandler(func(c *nats.Conn) { s.note(c, nil) }),
		nats.ErrorHandler(func(c *nats.Conn, _ *nats.Subscription, err error) { s.note(c, err) }), // the default one prints
	}, s.to.auth...)
	if s.cfg.Roots != nil {
		options = append(options, nats.ClientTLSConfig(nil, func() (*x509.CertPool, error) { return s.cfg.Roots, nil }))
	}
	conn, err := nats.Connect(strings.Join(s.to.servers, ","), options...)
	if err != nil {
		return err
	}
	stream, err := jetstream.New(conn)
	if err != nil {
		conn.Close()
		return err
	}
	s.conn, s.stream = conn, stream
	return nil
}

// delay is the pause before a round of attempts to connect: half a second, doubling to 30 s.
func delay(round int) time.Duration {
	return min(250*time.Millisecond<<min(max(round, 1), 10), 30*time.Second)
}

// note keeps what a connection met, unless it was closed meanwhile.
func (s *Sink) note(c *nats.Conn, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c == s.conn {
		s.trouble = err
	}
}

// lost ends the attempts that wait for an answer over a connection that is no more. Nobody knows whether their messages
// arrived; when they did, their repeats are dropped by id.
func (s *Sink) lost(c *nats.Conn, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c != s.conn {
		return
	}
	s.trouble = err
	s.down()
	s.up, s.down = context.WithCancel(context.Background())
}

// Close ends the connection. A message that comes later makes a new one.
func (s *Sink) Close() error {
	s.mu.Lock()
	conn := s.conn
	s.conn, s.stream = nil, nil
	if s.down != nil {
		s.down()
	}
	s.mu.Unlock()
	if conn != nil {
		conn.Close()
	}
	return nil
}
