package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/sale"
	"foyer/seats"
)

// mailbox is a mail server that keeps what it takes.
type mailbox struct {
	mu    sync.Mutex
	mails []string // recipient, line end, mail
}

func (b *mailbox) all() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mails
}

// serve starts the server on a free port of this machine.
func (b *mailbox) serve(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &mailing{box: b}, nil }))
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	t.Cleanup(func() {
		_ = srv.Close()
		<-served
	})
	return l.Addr().String()
}

type mailing struct {
	box *mailbox
	to  string
}

func (m *mailing) Mail(string, *smtp.MailOptions) error { return nil }
func (m *mailing) Reset()                               {}
func (m *mailing) Logout() error                        { return nil }

func (m *mailing) Rcpt(to string, _ *smtp.RcptOptions) error {
	m.to = to
	return nil
}

func (m *mailing) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	m.box.mu.Lock()
	defer m.box.mu.Unlock()
	m.box.mails = append(m.box.mails, m.to+"\n"+string(raw))
	return err
}

// TestAPurchaseReachesEverySinkThatIsThere buys two seats while a mail server and a disk are there and NATS and Kafka are
// not.
func TestAPurchaseReachesEverySinkThatIsThere(t *testing.T) {
	var box mailbox
	w := newWorld(t)
	file := filepath.Join(w.dir, "messages.ndjson")
	w.env["FOYER_DEMO_SECRET"] = "whsec_" + strings.Repeat("QUJD", 10)
	w.env["FOYER_SINK"] = "*=smtp://" + box.serve(t) + "/?from=tickets@house.example *=file:" + file +
		" *=nats://ann:hunter2@127.0.0.1:1/house *=kafka://ann:hunter2@127.0.0.1:1/house"
	s, err := parseSettings(w.program(), "serve", "", []string{"--addr", "127.0.0.1:0", "--data", w.dir, "--demo-provider"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var closing time.Time
	var kafka outbox.Sink
	err = serve(ctx, w.program(), s, func(_ context.Context, h *house) error {
		defer cancel()
		kafka = h.targets["kafka://127.0.0.1:1/house"]
		if err := buyTwo(h.office); err != nil {
			return err
		}
		waitFor(t, "three mails and three lines", func() bool {
			lines, _ := os.ReadFile(file) // it may not be there yet
			return len(box.all()) == 3 && bytes.Count(lines, []byte("\n")) == 3
		})
		waitFor(t, "NATS is missed", func() bool { return strings.Contains(w.err.String(), "not connected to the NATS server") })
		waitFor(t, "three messages wait for NATS and three for Kafka", func() bool {
			waiting, err := h.office.Messages(outbox.Waiting, 0, 100)
			return err == nil && len(waiting) == 6
		})
		closing = time.Now()
		return nil
	})
	if took := time.Since(closing); err != nil || took > 6*time.Second {
		t.Errorf("the end took %v: %v", took, err)
	}
	late := outbox.Message{ID: "late", Topic: "order.paid", Key: "k", Body: []byte(`{"data":1}`)}
	if kafka == nil {
		t.Fatal("the sink for Kafka has another name")
	}
	if err := kafka.Deliver(t.Context(), late); err == nil || err.Error() != "client closed" {
		t.Errorf("the connections to Kafka are not closed: %v", err)
	}
	for i, want := range []string{"Subject: Your order for Gala is paid", "row A, seat 1", "row A, seat 2"} {
		if m := box.all()[i]; !strings.HasPrefix(m, "ann@buyer.example\n") || !strings.Contains(m, want) || (i > 0) != strings.Contains(m, "image/png") {
			t.Errorf("mail %d has no %q: %s", i, want, m)
		}
	}
	disk, err := os.ReadFile(filepath.Join(w.dir, "foyer.db"))
	if err != nil || bytes.Contains(disk, []byte("hunter2")) || strings.Contains(w.err.String()+w.out.String(), "hunter2") {
		t.Errorf("%v, or the password is on disk or in the log", err)
	}
}

// buyTwo makes an event and buys both its seats.
func buyTwo(o *sale.Office) error {
	plan, err := seats.Parse([]byte("zone,row,seat,category\nStalls,A,1,Stalls\nStalls,A,2,Stalls\n"))
	if err != nil {
		return err
	}
	set := sale.DefaultSettings()
	set.ID, set.Name, set.Prices, set.Providers = "gala", "Gala", map[string]int64{"Stalls": 4250}, []string{"demo"}
	if _, err := o.CreateEvent("test", set); err != nil {
		return err
	}
	if _, err := o.SetPlan("test", "gala", plan, false); err != nil {
		return err
	}
	ann := uuid.New()
	if _, _, err := o.Join("gala", ann); err != nil {
		return err
	}
	var place sale.PlaceView
	for deadline := time.Now().Add(20 * time.Second); place.Status != sale.Ready; {
		if place, err = o.Poll("gala", ann); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return errors.New("nobody is let in")
		}
		<-time.After(10 * time.Millisecond)
	}
	order, err := o.Hold(sale.HoldRequest{Event: "gala", Token: place.Token, Best: true, Count: 2})
	if err != nil {
		return err
	}
	pay, err := o.Pay(context.Background(), sale.PayRequest{Visitor: ann, Order: order.ID, Provider: "demo", Buyer: sale.Buyer{Name: "Ann", Email: "ann@buyer.example"}})
	if err != nil {
		return err
	}
	_, err = o.Receive(sale.Fact{
		Provider: "demo", EventID: "evt_1", Kind: sale.FactSucceeded, PaymentID: pay.PaymentID, Order: order.ID.String(),
		Amount: order.Total, Currency: order.Currency, CreatedAt: order.Now,
	})
	return err
}

func TestASinkIsNamedWithoutItsPasswordAndTakenOnce(t *testing.T) {
	var s sinks
	for _, v := range []string{
		"*=https://ann:pw@x.example/in?key=1 order.paid=nats://ann:pw@h:4222/x", "order.paid=kafka://ann:pw@a:9092,b:9092/t?tls=1",
		"*=kafka://ann:pw@a:9092,b:9092/t?tls=1 *=log:", "ticket.issued=smtp://ann:pw@h/?from=a@b.example order.paid=file:/tmp/x",
	} {
		if err := s.Set(v); err != nil {
			t.Fatalf("%s: %v", v, err)
		}
	}
	want := "[https://ann:pw@x.example/in?key=1 nats://h:4222/x kafka://a:9092,b:9092/t?tls=1 log: file:/tmp/x]"
	if got := fmt.Sprint(s.names("order.paid")); got != want {
		t.Errorf("named %s, want %s", got, want)
	}
	if text := s.String(); strings.Contains(text, "pw") || !strings.Contains(text, "order.paid=kafka://a:9092,b:9092/t?...") {
		t.Errorf("printed as %s", text)
	}
	if err := s.Set("*=nats://ann:other@h:4222/x"); err == nil || strings.Contains(err.Error(), "other@") {
		t.Errorf("another password for the same place: %v", err)
	}
}
