package kafkasink

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"foyer/outbox"
	"foyer/outbox/cloudevent"
)

var _ outbox.Sink = (*Sink)(nil)

const topic = "foyer.events"

// start runs a cluster of two brokers that has the topic with three partitions, and returns its address without a topic.
func start(t *testing.T, options ...kfake.Opt) (*kfake.Cluster, string) {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(2), kfake.SeedTopics(3, topic)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, strings.Join(c.ListenAddrs(), ",")
}

func open(t *testing.T, url string, change ...func(*Config)) *Sink {
	t.Helper()
	cfg := Config{URL: url}
	for _, c := range change {
		c(&cfg)
	}
	s := New(cfg)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func message(id, key string) outbox.Message {
	return outbox.Message{
		ID: id, Topic: "order.paid", Key: key, CreatedAt: time.Date(2026, 3, 1, 19, 0, 0, 0, time.UTC),
		Body: []byte(`{"id":"` + id + `","data":{"seat": "A-1"}}`),
	}
}

// stored reads the first n records of the topic, or fails after 10 s, and looks for more.
func stored(t *testing.T, addr string, n int) (records []*kgo.Record) {
	t.Helper()
	reader, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(addr, ",")...), kgo.ConsumeTopics(topic), kgo.FetchMaxWait(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for wait := 10 * time.Second; ; {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		got := reader.PollFetches(ctx)
		cancel()
		got.EachRecord(func(r *kgo.Record) { records = append(records, r) })
		switch {
		case len(records) >= n && got.NumRecords() == 0:
			return records
		case got.NumRecords() == 0:
			t.Fatalf("%d records after 10 s, want %d", len(records), n)
		case len(records) >= n:
			wait = 300 * time.Millisecond
		}
	}
}

func idOf(r *kgo.Record) string {
	for _, h := range r.Headers {
		if h.Key == HeaderID {
			return string(h.Value)
		}
	}
	return ""
}

func failure(t *testing.T, err error) *outbox.Failure {
	t.Helper()
	var f *outbox.Failure
	if !errors.As(err, &f) {
		t.Fatalf("got %v, want a failure", err)
	}
	return f
}

// within tries once, for at most d.
func within(t *testing.T, s *Sink, d time.Duration, m outbox.Message) error {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	return s.Deliver(ctx, m)
}

func TestAMessageIsAnEventUnderTheKeyOfItsLane(t *testing.T) {
	_, addr := start(t)
	s := open(t, "kafka://"+addr+"/"+topic, func(c *Config) { c.Source = "https://tickets.example.org" })
	if err := s.Deliver(t.Context(), message("m1", "order:7")); err != nil {
		t.Fatal(err)
	}
	r := stored(t, addr, 1)[0]
	want, err := cloudevent.Wrap(message("m1", "order:7"), "https://tickets.example.org")
	if err != nil || string(r.Value) != string(want) || string(r.Key) != "order:7" {
		t.Errorf("%v, key %s: %s", err, r.Key, r.Value)
	}
	if got := fmt.Sprintf("%s", r.Headers); got != "[{content-type "+cloudevent.ContentType+"} {ce_id m1}]" {
		t.Errorf("headers %s", got)
	}
}

func TestALaneLiesInOnePartitionInItsOrder(t *testing.T) {
	const lanes, each = 12, 8
	c, addr := start(t)
	s := open(t, "kafka://"+addr+"/"+topic)
	// Each third request to write is refused in a way that the producer tries again.
	n := 0
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: topic, Err: kerr.NotEnoughReplicasAfterAppend, Count: 8,
		When: func(kmsg.Request) bool { n++; return n%3 == 0 }})
	var all sync.WaitGroup
	for lane := range lanes {
		all.Go(func() {
			for i := range each {
				if err := s.Deliver(t.Context(), message(fmt.Sprintf("m%02d-%d", lane, i), fmt.Sprintf("order:%02d", lane))); err != nil {
					t.Errorf("lane %d, message %d: %v", lane, i, err)
				}
			}
		})
	}
	all.Wait()
	last, home, used := map[string]string{}, map[string]int32{}, map[int32]bool{}
	records := stored(t, addr, lanes*each)
	for _, r := range records {
		key, id := string(r.Key), idOf(r)
		if at, known := home[key]; known && at != r.Partition {
			t.Errorf("%s lies in the partitions %d and %d", key, at, r.Partition)
		}
		if id <= last[key] {
			t.Errorf("%s stands behind %s", id, last[key])
		}
		home[key], last[key], used[r.Partition] = r.Partition, id, true
	}
	if len(records) != lanes*each || len(used) < 2 {
		t.Errorf("%d records in %d partitions, want %d in more than one", len(records), len(used), lanes*each)
	}
}

func TestAMessageWhoseRecordIsUnderWayMakesNoSecondOne(t *testing.T) {
	c, addr := start(t)
	s := open(t, "kafka://"+addr+"/"+topic)
	heal := make(chan struct{})
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.SleepControl(func() { <-heal })
		return nil, nil, false
	})
	for range 3 {
		if err := within(t, s, 200*time.Millisecond, message("m1", "k")); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("while the broker is silent: %v", err)
		}
	}
	close(heal)
	if err := within(t, s, 10*time.Second, message("m1", "k")); err != nil {
		t.Fatal(err)
	}
	if err := s.Deliver(t.Context(), message("m2", "k")); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, r := range stored(t, addr, 2) {
		got += idOf(r) + " "
	}
	if got != "m1 m2 " || len(s.flights) != 0 {
		t.Errorf("stored %s; %d records are remembered", got, len(s.flights))
	}
}

func TestABrokerThatFailsIsTriedUntilItIsWell(t *testing.T) {
	c, addr := start(t)
	s := open(t, "kafka://"+addr+"/"+topic, func(c *Config) { c.Patience = time.Second })
	ill := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: topic, Err: kerr.NotEnoughReplicas, Count: -1})
	f := failure(t, within(t, s, 20*time.Second, message("m1", "k")))
	if !strings.Contains(f.Reason, "NOT_ENOUGH_REPLICAS") && !strings.Contains(f.Reason, "in time") {
		t.Errorf("reason %q", f.Reason)
	}
	ill.Remove()
	if err := within(t, s, 10*time.Second, message("m1", "k")); err != nil {
		t.Fatal(err)
	}
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: topic, Err: kerr.MessageTooLarge, Count: 1})
	if f := failure(t, s.Deliver(t.Context(), message("m2", "k"))); !strings.Contains(f.Reason, "MESSAGE_TOO_LARGE") {
		t.Errorf("reason %q", f.Reason)
	}
	if err := s.Deliver(t.Context(), message("m2", "k")); err != nil {
		t.Fatal(err)
	}
	if n := len(stored(t, addr, 2)); n != 2 {
		t.Errorf("%d records, want 2", n)
	}
}

func TestAFailureThatComesTooLateDoesNotCountForTheNextAttempt(t *testing.T) {
	c, addr := start(t)
	s := open(t, "kafka://"+addr+"/"+topic)
	answer := make(chan struct{})
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.SleepControl(func() { <-answer })
		return nil, nil, false
	})
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: topic, Err: kerr.MessageTooLarge, Count: 1})
	if err := within(t, s, 200*time.Millisecond, message("m1", "k")); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	close(answer)
	s.mu.Lock()
	late := s.flights["m1"]
	s.mu.Unlock()
	<-late.landed
	if late.err == nil {
		t.Fatal("the first record has arrived")
	}
	if err := within(t, s, 10*time.Second, message("m1", "k")); err != nil {
		t.Errorf("got the outcome of the attempt before: %v", err)
	}
}

func TestATopicThatIsMissingIsSaid(t *testing.T) {
	c, addr := start(t)
	s := open(t, "kafka://"+addr+"/none")
	if f := failure(t, within(t, s, 20*time.Second, message("m1", "k"))); f.Reason != "the brokers have no topic none; create it" {
		t.Errorf("reason %q", f.Reason)
	}
	if err := c.CreateTopic("none", 1, nil); err != nil {
		t.Fatal(err)
	}
	if err := within(t, s, 20*time.Second, message("m1", "k")); err != nil {
		t.Errorf("once the topic is there: %v", err)
	}
}

func TestBrokersMayComeAfterTheSink(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	_ = free.Close()
	s := open(t, fmt.Sprintf("kafka://127.0.0.1:%d/%s", port, topic), func(c *Config) { c.Patience = time.Second })
	if f := failure(t, within(t, s, 20*time.Second, message("m1", "k"))); !strings.Contains(f.Reason, "connection refused") {
		t.Errorf("reason %q", f.Reason)
	}
	if f := failure(t, within(t, s, 100*time.Millisecond, message("m2", "k"))); !strings.Contains(f.Reason, "connection refused") {
		t.Errorf("reason of a short attempt %q", f.Reason)
	}
	_, addr := start(t, kfake.NumBrokers(1), kfake.Ports(port))
	for deadline := time.Now().Add(20 * time.Second); ; {
		err := within(t, s, 5*time.Second, message("m1", "k"))
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	stored(t, addr, 1)
}

func TestUserAndPasswordOpenTheDoorAndAreNotPrinted(t *testing.T) {
	_, addr := start(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "ann", "hunter2"))
	good := open(t, "kafka://ann:hunter2@"+addr+"/"+topic)
	if err := within(t, good, 10*time.Second, message("m1", "k")); err != nil {
		t.Errorf("the right password: %v", err)
	}
	bad := open(t, "kafka://ann:hunter2bad@"+addr+"/"+topic+"?tls=none", func(c *Config) { c.Patience = time.Second })
	f := failure(t, within(t, bad, 20*time.Second, message("m2", "k")))
	if !strings.Contains(f.Reason, "user, password or tls of the address") || strings.Contains(f.Reason, "hunter2") {
		t.Errorf("reason %q", f.Reason)
	}
	if s := good.String(); strings.Contains(s, "hunter2") || !strings.HasSuffix(s, addr+"/"+topic) {
		t.Errorf("printed as %s", s)
	}
}

func TestTLSChecksWhoTheBrokersAre(t *testing.T) {
	https := httptest.NewTLSServer(nil)
	defer https.Close()
	_, addr := start(t, kfake.TLS(&tls.Config{Certificates: https.TLS.Certificates}))
	roots := x509.NewCertPool()
	roots.AddCert(https.Certificate())
	s := open(t, "kafka://"+addr+"/"+topic+"?tls=1", func(c *Config) { c.Roots = roots })
	if err := within(t, s, 10*time.Second, message("m1", "k")); err != nil {
		t.Errorf("brokers that are known: %v", err)
	}
	s = open(t, "kafka://"+addr+"/"+topic+"?tls=1", func(c *Config) { c.Patience = time.Second })
	if f := failure(t, within(t, s, 20*time.Second, message("m2", "k"))); !strings.Contains(f.Reason, "certificate") {
		t.Errorf("reason %q", f.Reason)
	}
}

func TestAfterCloseNothingIsDelivered(t *testing.T) {
	_, addr := start(t)
	s := open(t, "kafka://"+addr+"/"+topic)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	failure(t, within(t, s, 10*time.Second, message("m1", "k")))
	nothing := message("m2", "k")
	nothing.Body = nil
	failure(t, within(t, s, 10*time.Second, nothing))
}

func TestWhatIsNoAddressIsRefusedWithoutRepeatingIt(t *testing.T) {
	for url, want := range map[string]string{
		"kafka://a/x":                "[a:9092] x",
		"kafka://a:1,b,c:3/x.Y_z-1":  "[a:1 b:9092 c:3] x.Y_z-1",
		"kafka://[::1]:1/x?tls=1":    "[[::1]:1] x",
		"kafka://u:p@a/x?tls=1":      "[a:9092] x",
		"kafka://u:p@a,b/x?tls=none": "[a:9092 b:9092] x",
		"kafka://u:p@localhost/x":    "[localhost:9092] x",
	} {
		a, err := parse(url)
		if got := fmt.Sprint(a.brokers, " ", a.topic); err != nil || got != want {
			t.Errorf("%s: %s, %v", url, got, err)
		}
	}
	for _, url := range []string{
		"", "kafka:", "kafka:///x", "http://hunter2/x", "kafka://a", "kafka://a/", "kafka://a/b/hunter2", "kafka://a/hunter%202", "kafka://a/..",
		"kafka://a/" + strings.Repeat("hunter2", 40), "kafka://hunter2@a/x?tls=1", "kafka://:hunter2@a/x?tls=1", "kafka://u:hunter2@a/x",
		"kafka://u:hunter2@127.0.0.1,a/x", "kafka://a/x?tls=hunter2", "kafka://a/x?hunter2=1", "kafka://a/x?tls=1&hunter2=1", "kafka://a,/x", "kafka://:9092/x", "kafka://a/x#hunter2",
	} {
		err := Check(url)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
		if f := failure(t, New(Config{URL: url}).Deliver(t.Context(), message("m1", "k"))); f.Reason == "" {
			t.Errorf("%s: no reason", url)
		}
	}
}
