//go:build linux

package bench

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"foyer/outbox"
	"foyer/outbox/webhook"
	"foyer/sale"
	"foyer/store"
)

var (
	deliver  = flag.Bool("deliver", false, "measure deliveries in earnest (a minute); without it a few go")
	messages = flag.Int("messages", 100_000, "with -deliver: messages")
	flights  = flag.Int("flights", 16, "with -deliver: calls at a time")
)

// hookBody is about as long as an order.paid.
var hookBody = bytes.Repeat([]byte("0123456789abcdef"), 50)

// TestDeliveries sends stored messages to a receiver in another process: loaded from the file, signed, posted and
// settled on disk; and sets that beside a bare loop over http.Client.
func TestDeliveries(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(200)) // as foyer serve does
	n, again := 200, 1
	if *deliver {
		n, again = *messages, *rounds
	}
	url := fmt.Sprintf("http://127.0.0.1:%d/hook", startFloor(t).port)
	for range again {
		for _, perLane := range []int{1, 5} {
			bare := bareLoop(t, url, n)
			got := deliverAll(t, url, n, perLane)
			if *deliver {
				t.Logf("%d per lane: bare loop %.0f/s, %.1f us CPU; deliveries %.0f/s, %.1f us CPU; ratio %.2f, by CPU %.2f", perLane,
					1e9/bare.wall, bare.cpu/1e3, 1e9/got.wall, got.cpu/1e3, bare.wall/got.wall, bare.cpu/got.cpu)
			}
		}
	}
}

// bareLoop posts n times, as many at a time as the relay does, and reads the answers.
func bareLoop(t *testing.T, url string, n int) cost {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: *flights, DisableCompression: true}, Timeout: 15 * time.Second}
	defer client.CloseIdleConnections()
	var s stopwatch
	err := s.time(n, func() error {
		return together(*flights, n, func(int) error {
			req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(hookBody))
			if err != nil {
				return err
			}
			req.Header.Set("Content-Type", "application/json")
			res, err := client.Do(req)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			_, err = io.Copy(io.Discard, res.Body)
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.cost()
}

// deliverAll stores n messages, and delivers them after a restart.
func deliverAll(t *testing.T, url string, n, perLane int) cost {
	folder := t.TempDir()
	fillOutbox(t, folder, url, n, n/perLane)
	db := openStore(t, folder)
	defer db.Close()
	sink := webhook.New(webhook.Config{URL: url, Secrets: []webhook.Secret{bytes.Repeat([]byte("s"), 32)}})
	relay := outbox.NewRelay(outbox.Config{Book: db, Sinks: map[string]outbox.Sink{url: sink}, Now: db.Now, PerSink: *flights})
	if err := db.ServeOutbox(relay.Offer); err != nil {
		t.Fatal(err)
	}
	if *profiles != "" {
		f, err := os.Create(fmt.Sprintf("%s/deliver%d.pprof", *profiles, perLane))
		if err == nil && pprof.StartCPUProfile(f) == nil {
			defer f.Close()
			defer pprof.StopCPUProfile()
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	var s stopwatch
	err := s.time(n, func() error {
		go func() { ended <- relay.Run(ctx) }()
		for until := time.Now().Add(5 * time.Minute); time.Now().Before(until); time.Sleep(time.Millisecond) {
			if st := relay.Stats(); st.Delivered == uint64(n) {
				return nil
			}
		}
		return fmt.Errorf("not delivered in time: %+v", relay.Stats())
	})
	stop()
	if err == nil {
		err = <-ended
	}
	if left, lookErr := db.Messages("", 0, 1); err == nil && (lookErr != nil || len(left) > 0) {
		err = fmt.Errorf("rows are left: %v %v", left, lookErr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.cost()
}

func openStore(t *testing.T, folder string) *store.Store {
	t.Helper()
	db, err := store.Open(folder, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// fillOutbox stores n messages over so many keys, each with one of every round.
func fillOutbox(t *testing.T, folder, sink string, n, keys int) {
	t.Helper()
	db := openStore(t, folder)
	const atOnce = 20_000
	for from := 0; from < n; from += atOnce {
		err := db.Update(func(tx sale.Tx) error {
			for i := from; i < min(n, from+atOnce); i++ {
				tx.Send(outbox.Message{
					ID: fmt.Sprintf("0190f3d2-7b1c-7000-8000-%012d", i), Topic: "order.paid",
					Key:  fmt.Sprintf("order:0190f3d2-7b1c-7000-8000-%012d", i%keys),
					Sink: sink, CreatedAt: tx.Now(), Body: hookBody, State: outbox.Waiting,
				})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// firstSink notes when the first message comes.
type firstSink struct {
	once  sync.Once
	came  chan struct{}
	count atomic.Int64
}

func (s *firstSink) Deliver(context.Context, outbox.Message) error {
	s.once.Do(func() { close(s.came) })
	s.count.Add(1)
	return nil
}

// TestOutboxStart opens a file with many waiting messages; with -deliver a million over 100 000 keys.
func TestOutboxStart(t *testing.T) {
	n, keys := 2000, 200
	if *deliver {
		n, keys = 1_000_000, 100_000
	}
	folder := t.TempDir()
	fillOutbox(t, folder, "s", n, keys)
	before, began := heapInUse(), time.Now()
	db := openStore(t, folder)
	defer db.Close()
	opened, store := time.Since(began), heapInUse()
	sink := &firstSink{came: make(chan struct{})}
	relay := outbox.NewRelay(outbox.Config{Book: db, Sinks: map[string]outbox.Sink{"s": sink}, Now: db.Now})
	if err := db.ServeOutbox(relay.Offer); err != nil {
		t.Fatal(err)
	}
	offered, held := time.Since(began), heapInUse()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	resumed := time.Now()
	go func() { ended <- relay.Run(ctx) }()
	<-sink.came
	first := offered + time.Since(resumed)
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if st := relay.Stats(); st.Waiting+st.InFlight+int(st.Delivered) != n {
		t.Errorf("%+v of %d", st, n)
	}
	if *deliver {
		t.Logf("%d messages over %d keys: opened in %.2f s, known after %.2f s, first call after %.2f s; %.0f B each in the relay, %.0f B in the store",
			n, keys, opened.Seconds(), offered.Seconds(), first.Seconds(), float64(held-store)/float64(n), float64(store-before)/float64(n))
	}
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
