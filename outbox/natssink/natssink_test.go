package natssink

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"foyer/outbox"
	"foyer/outbox/cloudevent"
)

var _ outbox.Sink = (*Sink)(nil)

// start runs a NATS server with JetStream and returns its address.
func start(t *testing.T, change ...func(*server.Options)) (*server.Server, string) {
	t.Helper()
	o := &server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true}
	for _, c := range change {
		c(o)
	}
	srv, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { stop(srv) })
	if !srv.ReadyForConnections(10 * time.Second) {
		t.Fatal("the NATS server does not start")
	}
	return srv, srv.Addr().String()
}

func stop(srv *server.Server) {
	srv.Shutdown()
	srv.WaitForShutdown()
}

// look is a view into a server, past the sink.
func look(t *testing.T, addr string, options ...nats.Option) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	conn, err := nats.Connect("nats://"+addr, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return conn, js
}

func stream(t *testing.T, js jetstream.JetStream, change ...func(*jetstream.StreamConfig)) jetstream.Stream {
	t.Helper()
	cfg := jetstream.StreamConfig{Name: "HOUSE", Subjects: []string{"house.events.>"}}
	for _, c := range change {
		c(&cfg)
	}
	s, err := js.CreateOrUpdateStream(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// stored reads the ids of the messages of a stream in its order.
func stored(t *testing.T, s jetstream.Stream) (ids []string) {
	t.Helper()
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for n := uint64(1); n <= info.State.LastSeq; n++ {
		m, err := s.GetMsg(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.Header.Get("Nats-Msg-Id"))
	}
	return ids
}

func open(t *testing.T, cfg Config) *Sink {
	t.Helper()
	s := New(cfg)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func message(id string) outbox.Message {
	return outbox.Message{
		ID: id, Topic: "order.paid", Key: "order:7", CreatedAt: time.Date(2027, 3, 1, 19, 0, 0, 0, time.UTC),
		Body: []byte(`{"id":"` + id + `","data":{"seat": "A-1"}}`),
	}
}

func failure(t *testing.T, err error) *outbox.Failure {
	t.Helper()
	var f *outbox.Failure
	if !errors.As(err, &f) {
		t.Fatalf("got %v, want a failure", err)
	}
	return f
}

// eventually tries to deliver until it works, at most 20 s, and returns how often it failed.
func eventually(t *testing.T, s *Sink, m outbox.Message) (failed int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; failed++ {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		err := s.Deliver(ctx, m)
		cancel()
		if err == nil {
			return failed
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is never delivered: %v", m.ID, err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

func TestAMessageIsAnEventInTheStreamAndRepeatsAreDropped(t *testing.T) {
	_, addr := start(t)
	_, js := look(t, addr)
	st := stream(t, js)
	s := open(t, Config{URL: "nats://" + addr + "/house.events", Source: "https://tickets.example.org"})
	for _, id := range []string{"m1", "m1", "m2", "m1"} {
		if err := s.Deliver(t.Context(), message(id)); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(stored(t, st)); got != "[m1 m2]" {
		t.Errorf("stored %s", got)
	}
	m, err := st.GetMsg(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	want, err := cloudevent.Wrap(message("m1"), "https://tickets.example.org")
	if err != nil || string(m.Data) != string(want) || !json.Valid(m.Data) {
		t.Errorf("%v, stored %s", err, m.Data)
	}
	if m.Subject != "house.events.order.paid" || m.Header.Get("Content-Type") != cloudevent.ContentType {
		t.Errorf("subject %s, header %v", m.Subject, m.Header)
	}
}

func TestWithoutAStreamAMessageFailsUntilThereIsOne(t *testing.T) {
	_, addr := start(t)
	conn, js := look(t, addr)
	s := open(t, Config{URL: "nats://" + addr + "/house.events"})
	if f := failure(t, s.Deliver(t.Context(), message("m1"))); !strings.Contains(f.Reason, "no JetStream stream takes the subject house.events.order.paid") {
		t.Errorf("reason %q", f.Reason)
	}
	// Somebody who listens is not enough: nobody has said that the message is kept.
	heard, err := conn.SubscribeSync("house.events.order.paid")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := s.Deliver(ctx, message("m1")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without an acknowledgement: %v", err)
	}
	if m, err := heard.NextMsg(5 * time.Second); err != nil || m.Header.Get("Nats-Msg-Id") != "m1" {
		t.Errorf("the listener heard %v, %v", m, err)
	}
	st := stream(t, js)
	if err := s.Deliver(t.Context(), message("m1")); err != nil || fmt.Sprint(stored(t, st)) != "[m1]" {
		t.Errorf("%v, stored %v", err, stored(t, st))
	}
}

func TestAStreamThatRefusesIsHeard(t *testing.T) {
	_, addr := start(t, func(o *server.Options) { o.MaxPayload = 4096 })
	_, js := look(t, addr)
	stream(t, js, func(c *jetstream.StreamConfig) { c.MaxMsgs, c.Discard = 1, jetstream.DiscardNew })
	s := open(t, Config{URL: "nats://" + addr + "/house.events"})
	if err := s.Deliver(t.Context(), message("m1")); err != nil {
		t.Fatal(err)
	}
	if f := failure(t, s.Deliver(t.Context(), message("m2"))); !strings.Contains(f.Reason, "the stream refuses the message: maximum messages exceeded") {
		t.Errorf("reason %q", f.Reason)
	}
	big := message("m3")
	big.Body = []byte(`{"data":"` + strings.Repeat("x", 5000) + `"}`)
	if f := failure(t, s.Deliver(t.Context(), big)); !strings.Contains(f.Reason, "max_payload") {
		t.Errorf("reason %q", f.Reason)
	}
	big.Body = []byte("x")
	failure(t, s.Deliver(t.Context(), big))
}

func TestAServerThatComesLateAndGoesAwayLosesNothingAndKeepsTheOrder(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	port := free.Addr().(*net.TCPAddr).Port
	_ = free.Close()
	dir := t.TempDir()
	same := func(o *server.Options) { o.Port, o.StoreDir = port, dir }

	s := open(t, Config{URL: "nats://" + addr + "/house.events"})
	if f := failure(t, s.Deliver(t.Context(), message("m00"))); !strings.Contains(f.Reason, "not connected to the NATS server") {
		t.Errorf("before the server is there: %q", f.Reason)
	}
	srv, _ := start(t, same)
	_, js := look(t, addr)
	st := stream(t, js)
	var want []string
	for i := range 20 {
		if i == 10 {
			stop(srv)
			failure(t, s.Deliver(t.Context(), message("m10")))
			srv, _ = start(t, same)
			_, js = look(t, addr)
			st = stream(t, js)
		}
		id := fmt.Sprintf("m%02d", i)
		eventually(t, s, message(id))
		want = append(want, id)
	}
	if got := stored(t, st); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("stored %v", got)
	}
}

func TestAnAttemptDoesNotOutwaitItsConnection(t *testing.T) {
	srv, addr := start(t)
	conn, _ := look(t, addr)
	heard, err := conn.SubscribeSync("house.events.>") // takes the message and does not answer
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	s := open(t, Config{URL: "nats://" + addr + "/house.events"})
	answer := make(chan error, 1)
	go func() { answer <- s.Deliver(t.Context(), message("m1")) }()
	if _, err := heard.NextMsg(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	stop(srv)
	select {
	case err := <-answer:
		if f := failure(t, err); !strings.Contains(f.Reason, "is lost") {
			t.Errorf("reason %q", f.Reason)
		}
	case <-time.After(10 * time.Second):
		t.Error("the attempt still waits for a server that has gone")
	}
}

func TestCredentialsOpenTheDoorAndAreNotPrinted(t *testing.T) {
	_, byUser := start(t, func(o *server.Options) { o.Username, o.Password = "ann", "hunter2" })
	_, byToken := start(t, func(o *server.Options) { o.Authorization = "tok-hunter2" })
	_, js := look(t, byUser, nats.UserInfo("ann", "hunter2"))
	stream(t, js)
	_, js = look(t, byToken, nats.Token("tok-hunter2"))
	stream(t, js)
	for url, reason := range map[string]string{
		"nats://ann:hunter2@" + byUser + "/house.events":    "",
		"nats://ann:hunter2bad@" + byUser + "/house.events": "refuses the user, the password or the token",
		"nats://" + byUser + "/house.events":                "refuses the user, the password or the token",
		"nats://tok-hunter2@" + byToken + "/house.events":   "",
		"nats://hunter2bad@" + byToken + "/house.events":    "refuses the user, the password or the token",
	} {
		s := open(t, Config{URL: url})
		err := s.Deliver(t.Context(), message("m1"))
		if reason == "" && err != nil {
			t.Errorf("the right credentials: %v", err)
		}
		if reason != "" {
			waitFor(t, reason, func() string { return failure(t, s.Deliver(t.Context(), message("m1"))).Reason })
		}
		if strings.Contains(s.String()+fmt.Sprint(err), "hunter2") || !strings.HasSuffix(s.String(), "/house.events") {
			t.Errorf("%s says %v", s, err)
		}
	}
}

// doorman lets nobody in until he is told to.
type doorman struct{ asked, open atomic.Int64 }

func (d *doorman) Check(server.ClientAuthentication) bool {
	d.asked.Add(1)
	return d.open.Load() > 0
}

func TestAPasswordThatIsPutRightAtTheServerIsTriedAgain(t *testing.T) {
	d := &doorman{}
	_, addr := start(t, func(o *server.Options) { o.CustomClientAuthentication = d })
	s := open(t, Config{URL: "nats://ann:hunter2@" + addr + "/house.events"})
	failure(t, s.Deliver(t.Context(), message("m1")))
	for deadline := time.Now().Add(20 * time.Second); d.asked.Load() < 3; {
		if time.Now().After(deadline) {
			t.Fatalf("only %d attempts to connect", d.asked.Load())
		}
		<-time.After(20 * time.Millisecond)
	}
	d.open.Store(1)
	_, js := look(t, addr)
	st := stream(t, js)
	eventually(t, s, message("m1"))
	if got := fmt.Sprint(stored(t, st)); got != "[m1]" {
		t.Errorf("stored %s", got)
	}
}

// waitFor asks until the answer has want in it, at most 10 s; no answer may hold the password.
func waitFor(t *testing.T, want string, ask func() string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		got := ask()
		if strings.Contains(got, "hunter2") {
			t.Fatalf("the password is in %q", got)
		}
		if strings.Contains(got, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %q, want %q", got, want)
		}
		<-time.After(20 * time.Millisecond)
	}
}

func TestTLSChecksWhoTheServerIs(t *testing.T) {
	https := httptest.NewTLSServer(nil)
	defer https.Close()
	_, addr := start(t, func(o *server.Options) {
		o.TLSConfig = &tls.Config{Certificates: https.TLS.Certificates}
		o.TLSTimeout = 5
	})
	roots := x509.NewCertPool()
	roots.AddCert(https.Certificate())
	_, js := look(t, addr, nats.ClientTLSConfig(nil, func() (*x509.CertPool, error) { return roots, nil }))
	stream(t, js)
	if err := open(t, Config{URL: "tls://" + addr + "/house.events", Roots: roots}).Deliver(t.Context(), message("m1")); err != nil {
		t.Errorf("a server that is known: %v", err)
	}
	stranger := open(t, Config{URL: "tls://" + addr + "/house.events"})
	waitFor(t, "certificate", func() string { return failure(t, stranger.Deliver(t.Context(), message("m2"))).Reason })
	_, plain := start(t)
	bare := open(t, Config{URL: "tls://" + plain + "/house.events"})
	waitFor(t, "secure connection not available", func() string { return failure(t, bare.Deliver(t.Context(), message("m2"))).Reason })
}

func TestAClosedSinkConnectsAgain(t *testing.T) {
	_, addr := start(t)
	_, js := look(t, addr)
	st := stream(t, js)
	s := open(t, Config{URL: "nats://" + addr + "/house.events"})
	for _, id := range []string{"m1", "m2"} {
		if err := errors.Join(s.Deliver(t.Context(), message(id)), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(stored(t, st)); got != "[m1 m2]" {
		t.Errorf("stored %s", got)
	}
}
