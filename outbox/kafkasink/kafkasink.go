// Package kafkasink produces messages to a Kafka topic as CloudEvents.
//
// Its job: the sink "kafka://broker:9092,broker:9092/topic". The record's key is the lane's, so that a lane lies in one
// partition; its value is a structured CloudEvent (CloudEvents Kafka binding 1.0.2), its header ce_id the message's id.
//
// Its invariants: a message is delivered only when all replicas in sync have it (acks=all); the producer is idempotent,
// so its own repeats leave no doubles; while an attempt's record is still under way, a further attempt waits for that one
// and makes no second record. No password is printed. It connects with the first message: brokers that are away stop
// nobody's start.
//
// What it does not do: it makes no topic; it does not drop repeats across a restart, a consumer does that by ce_id.
package kafkasink

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"foyer/outbox"
	"foyer/outbox/cloudevent"
)

// HeaderID is the header with the message's id.
const HeaderID = "ce_id"

const maxTopic = 249 // characters of a Kafka topic's name

// Config describes one sink. URL is required.
type Config struct {
	URL      string         // kafka://[user:password@]host[:9092],host.../topic[?tls=1|?tls=none]
	Source   string         // of the CloudEvents; default [cloudevent.DefaultSource]
	Roots    *x509.CertPool // who signs the brokers' certificates; default: whom the machine trusts
	Patience time.Duration  // a record that could not be sent for so long is given back; default 15 s
}

// Sink produces to one topic. It is an [outbox.Sink].
type Sink struct {
	to     address
	source string
	bad    error // the address cannot be used
	name   string
	client *kgo.Client

	mu      sync.Mutex         // guards what follows
	flights map[string]*flight // by message id: records whose outcome no attempt has taken yet
	trouble error              // what the last connection met
}

// flight is a record that was handed to the client.
type flight struct {
	landed chan struct{} // closed with err set
	err    error
}

// failed tells whether the record came to nothing.
func (f *flight) failed() bool {
	select {
	case <-f.landed:
		return f.err != nil
	default:
		return false
	}
}

// address is a taken-apart URL.
type address struct {
	brokers        []string
	user, password string
	topic          string
	tls            bool
}

// Check says whether a URL can be a sink. Its error does not hold the URL.
func Check(rawURL string) error {
	_, err := parse(rawURL)
	return err
}

func parse(rawURL string) (a address, err error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "kafka" || u.Fragment != "" {
		return a, errors.New("kafkasink: the address must be like kafka://broker1:9092,broker2:9092/topic")
	}
	for broker := range strings.SplitSeq(u.Host, ",") {
		if strings.Trim(broker, "[]") == "" || strings.HasPrefix(broker, ":") {
			return a, errors.New("kafkasink: a broker is missing in the address")
		}
		if _, _, err := net.SplitHostPort(broker); err != nil {
			broker = net.JoinHostPort(strings.Trim(broker, "[]"), "9092")
		}
		a.brokers = append(a.brokers, broker)
	}
	a.topic = strings.TrimPrefix(u.Path, "/")
	if a.topic == "" || len(a.topic) > maxTopic || a.topic == "." || a.topic == ".." ||
		strings.Trim(a.topic, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "" {
		return a, errors.New("kafkasink: the address must end with the name of a topic such as /foyer.events")
	}
	return a, a.guarded(u)
}

// guarded reads how the connection is protected. A password in the clear needs the operator's word.
func (a *address) guarded(u *url.URL) error {
	query, err := url.ParseQuery(u.RawQuery)
	mode := query.Get("tls")
	if err != nil || len(query) > 1 || len(query) == 1 && mode != "1" && mode != "none" {
		return errors.New("kafkasink: after the topic only ?tls=1 or ?tls=none can follow")
	}
	a.tls = mode == "1"
	a.user = u.User.Username()
	a.password, _ = u.User.Password()
	if u.User == nil {
		return nil
	}
	if a.user == "" || a.password == "" {
		return errors.New("kafkasink: the address must have both user and password, or neither")
	}
	if mode == "" && !a.local() {
		return errors.New("kafkasink: user and password need ?tls=1, or ?tls=none to let them be read on the way")
	}
	return nil
}

// local tells whether all brokers are on this machine.
func (a *address) local() bool {
	for _, b := range a.brokers {
		host, _, _ := net.SplitHostPort(b)
		if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
			return false
		}
	}
	return true
}

// New returns a sink for cfg.URL. A URL that does not pass [Check] makes a sink whose deliveries all fail.
func New(cfg Config) *Sink {
	s := &Sink{source: cfg.Source, name: outbox.Mask(cfg.URL), flights: map[string]*flight{}}
	if s.to, s.bad = parse(cfg.URL); s.bad != nil {
		return s
	}
	if cfg.Patience <= 0 {
		cfg.Patience = 15 * time.Second
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(s.to.brokers...),
		kgo.ClientID("foyer"),
		kgo.DefaultProduceTopic(s.to.topic),
		kgo.RequiredAcks(kgo.AllISRAcks()), // with it the producer is idempotent
		kgo.RecordDeliveryTimeout(cfg.Patience),
		kgo.RecordRetries(5), // about 8 s; then the record comes back with what the broker said
		kgo.DialTimeout(cfg.Patience / 3),
		kgo.ProducerLinger(0), // a lane waits for each record
		kgo.MaxBufferedRecords(10_000),
		kgo.MetadataMinAge(time.Second),
		kgo.UnknownTopicRetries(1),
		kgo.DisableClientMetrics(),
		kgo.WithHooks(s),
	}
	if s.to.tls {
		options = append(options, kgo.DialTLSConfig(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: cfg.Roots}))
	}
	if s.to.user != "" {
		options = append(options, kgo.SASL(plain.Auth{User: s.to.user, Pass: s.to.password}.AsMechanism()))
	}
	s.client, s.bad = kgo.NewClient(options...)
	return s
}

// String returns the URL without credentials and query.
func (s *Sink) String() string { return s.name }

// OnBrokerConnect hears what connecting came to; kgo calls it.
func (s *Sink) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble = err
}

// Deliver produces the message and returns nil once all replicas in sync have it. Everything else is an
// [*outbox.Failure], or the context's error; the record may then still arrive, and the next attempt takes its outcome.
func (s *Sink) Deliver(ctx context.Context, m outbox.Message) error {
	if s.bad != nil {
		return &outbox.Failure{Reason: outbox.Clip(s.bad.Error())}
	}
	f, err := s.flight(m)
	if err != nil {
		return &outbox.Failure{Reason: err.Error()}
	}
	select {
	case <-f.landed:
		s.mu.Lock()
		delete(s.flights, m.ID)
		s.mu.Unlock()
		return s.explain(f.err)
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.trouble != nil {
			return &outbox.Failure{Reason: outbox.Clip(unreachable(s.trouble))}
		}
		return ctx.Err()
	}
}

// flight returns the record of the message that is under way, or sends one.
func (s *Sink) flight(m outbox.Message) (*flight, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.flights[m.ID]; f != nil && !f.failed() {
		return f, nil
	}
	event, err := cloudevent.Wrap(m, s.source)
	if err != nil {
		return nil, err
	}
	r := &kgo.Record{
		Value: event, // the record's own time is that of the attempt: the delivery time-out counts from it
		Headers: []kgo.RecordHeader{
			{Key: "content-type", Value: []byte(cloudevent.ContentType)}, {Key: HeaderID, Value: []byte(m.ID)},
		},
	}
	if m.Key != "" {
		r.Key = []byte(m.Key)
	}
	f := &flight{landed: make(chan struct{})}
	s.flights[m.ID] = f
	// Not under the attempt's context: a record that was sent cannot be called back.
	s.client.TryProduce(context.Background(), r, func(_ *kgo.Record, err error) {
		f.err = err
		close(f.landed)
	})
	return f, nil
}

// explain says in words of the venue what Kafka said.
func (s *Sink) explain(err error) error {
	if err == nil {
		return nil
	}
	s.mu.Lock()
	trouble := s.trouble
	s.mu.Unlock()
	gaveUp := errors.Is(err, kgo.ErrRecordTimeout) || errors.Is(err, kgo.ErrRecordRetries)
	reason := err.Error()
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.UnknownTopicID):
		reason = fmt.Sprintf("the brokers have no topic %s; create it", s.to.topic)
	case errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.ClusterAuthorizationFailed):
		reason = fmt.Sprintf("the user of the address may not write to the topic %s", s.to.topic)
	case errors.Is(err, kgo.ErrMaxBuffered):
		reason = "too many messages wait for the brokers"
	case gaveUp && trouble != nil:
		reason = unreachable(trouble)
	case gaveUp:
		reason = "the brokers took no message in time"
	}
	return &outbox.Failure{Reason: outbox.Clip(reason)}
}

// unreachable says why no connection to a broker stands.
func unreachable(trouble error) string {
	switch {
	case errors.Is(trouble, kerr.SaslAuthenticationFailed):
		return "the brokers refuse the user or the password of the address"
	case errors.Is(trouble, io.EOF): // brokers that want TLS, or another password, may just hang up
		return "the brokers hang up at once: user, password or tls of the address may be wrong"
	}
	return "the brokers cannot be reached: " + trouble.Error()
}

// Close ends the connections. No message may come after it.
func (s *Sink) Close() error {
	if s.client != nil {
		s.client.Close()
	}
	return nil
}
