package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"foyer/outbox"
	"foyer/outbox/webhook"
	"foyer/sale"
	"foyer/store"
)

const (
	relayFolder = "FOYER_TEST_RELAY" // makes this test binary be a relay over the folder, see init
	relaySink   = "FOYER_TEST_SINK"
	relayTime   = 300 * time.Millisecond // of one attempt
)

// A relay that a test stops and wakes must be a process of its own.
func init() {
	if folder := os.Getenv(relayFolder); folder != "" {
		fmt.Fprintln(os.Stderr, "relay:", relayAlone(folder, os.Getenv(relaySink)))
		os.Exit(1)
	}
}

func relayAlone(folder, sink string) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	st, err := store.Open(folder, store.Options{Log: log, Lease: relayTime})
	if err != nil {
		return err
	}
	r := outbox.NewRelay(outbox.Config{
		Book: st, Timeout: relayTime, Log: log, Rand: func() float64 { return 0 },
		Sinks: map[string]outbox.Sink{sink: webhook.New(webhook.Config{URL: sink})},
	})
	if err := st.ServeOutbox(r.Offer); err != nil {
		return err
	}
	return r.Run(context.Background())
}

// mail is messages for tests: n lanes of each messages, some of them old.
func mail(t *testing.T, folder string, n, each int, edit func(lane, i int, m *outbox.Message)) {
	t.Helper()
	st, err := store.Open(folder, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	err = st.Update(func(tx sale.Tx) error {
		for i := range each {
			for lane := range n {
				m := outbox.Message{ID: fmt.Sprintf("msg_%d_%d", lane, i), Topic: "order.paid", Key: fmt.Sprintf("lane:%d", lane), CreatedAt: tx.Now(), State: outbox.Waiting}
				edit(lane, i, &m)
				var err error
				if m.Body, err = outbox.Envelope(m.ID, m.Topic, m.Key, m.CreatedAt, i); err != nil {
					return err
				}
				tx.Send(m)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// receiver takes messages and minds the rules of lanes: one at a time, in order.
type receiver struct {
	server *httptest.Server
	takes  time.Duration // for one delivery

	mu     sync.Mutex
	busy   map[string]bool
	last   map[string]int // by key: the data of the newest taken
	taken  map[string]int // by id: how often
	cutOff int            // deliveries that the sender gave up
	faults []string
}

func newReceiver(t *testing.T, takes time.Duration) *receiver {
	r := &receiver{takes: takes, busy: map[string]bool{}, last: map[string]int{}, taken: map[string]int{}}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	var m struct {
		ID, Key string
		Data    int
	}
	body, _ := io.ReadAll(q.Body)
	if err := json.Unmarshal(body, &m); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	if r.busy[m.Key] {
		r.faults = append(r.faults, "two deliveries at once of "+m.Key)
	}
	r.busy[m.Key] = true
	r.mu.Unlock()
	select {
	case <-q.Context().Done():
	case <-time.After(r.takes):
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy[m.Key] = false
	if q.Context().Err() != nil {
		r.cutOff++
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if last, known := r.last[m.Key]; m.Data < last || known && m.Data > last+1 || !known && m.Data != 0 {
		r.faults = append(r.faults, fmt.Sprintf("%s: %d came after %d", m.Key, m.Data, last))
	}
	r.last[m.Key] = m.Data
	r.taken[m.ID]++
}

// B74: a relay that is stopped for longer than a delivery may take finds late
// results, and deliveries that it has to make again, when it wakes.
func TestB74RelayThatIsStoppedAndWokenNeverDeliversTwoOfALaneAtOnce(t *testing.T) {
	t.Parallel()
	const lanes, each, stops = 40, 25, 20
	r := newReceiver(t, 80*time.Millisecond)
	folder := t.TempDir()
	mail(t, folder, lanes, each, func(_, _ int, m *outbox.Message) { m.Sink = r.server.URL })
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), relayFolder+"="+folder, relaySink+"="+r.server.URL)
	var log lockedBuffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	count := func() int { r.mu.Lock(); defer r.mu.Unlock(); return len(r.taken) }
	waitFor(t, "the first messages are delivered", func() bool { return count() > 0 })
	for n := range stops {
		before := count()
		waitFor(t, "deliveries go on", func() bool { return count() > before || count() == lanes*each })
		if count() == lanes*each && n < stops-2 {
			t.Errorf("all is delivered after %d stops; there must be more to do", n)
			break
		}
		if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		<-time.After(relayTime + 100*time.Millisecond)
		if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	// The schedule makes one that a third stop has met wait for four minutes, and its lane with it.
	for end := time.Now().Add(5 * time.Minute); count() < lanes*each; <-time.After(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d of %d were delivered", count(), lanes*each)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	again := 0
	for _, n := range r.taken {
		again += n - 1
	}
	t.Logf("%d messages in %d stops: %d taken again, %d given up by the sender, log of %d lines", lanes*each, stops, again, r.cutOff, strings.Count(log.String(), "\n"))
	if len(r.faults) > 0 {
		t.Errorf("%d faults, such as %s", len(r.faults), r.faults[0])
	}
	if again+r.cutOff == 0 {
		t.Error("no stop met a delivery")
	}
	if strings.Contains(log.String(), "panic") {
		t.Errorf("the relay says\n%s", log.String())
	}
}

// B89: five thousand messages of the last thirty days are left, some
// for receivers and of topics that nobody knows any more.
func TestB89FiveThousandOldMessagesAreDeliveredOrShown(t *testing.T) {
	t.Parallel()
	const lanes, each, lost = 500, 10, 50 // lanes of a receiver that is not configured any more
	r := newReceiver(t, 0)
	w := newWorld(t)
	w.env["FOYER_ADMIN_KEY"] = "a key for the tests"
	mail(t, w.dir, lanes, each, func(lane, i int, m *outbox.Message) {
		m.Sink = r.server.URL
		if lane < lost {
			m.Sink = "https://gone.example/hook"
		}
		if lane%7 == 0 {
			m.Topic = "topic.of.another.version"
		}
		m.CreatedAt = m.CreatedAt.Add(-30 * 24 * time.Hour / (lanes * each) * time.Duration(lanes*each-i*lanes-lane))
		m.Attempts = lane % 4
		if lane%5 == 0 {
			m.NextAt = m.CreatedAt.Add(time.Second)
		}
	})
	url, stop := w.start("serve", "--addr", "127.0.0.1:0", "--data", w.dir, "--sink", "*="+r.server.URL)
	waitFor(t, "all that has a receiver is delivered", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.taken) == (lanes-lost)*each
	})
	var text string
	waitFor(t, "the gauges show what is left", func() bool {
		res, err := http.Get(url + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		text = string(b)
		return strings.Contains(text, fmt.Sprintf("\nfoyer_outbox_messages{state=\"waiting\"} %d\n", lost*each)) &&
			strings.Contains(text, "\nfoyer_outbox_messages{state=\"in_flight\"} 0\n") &&
			strings.Contains(text, fmt.Sprintf("\nfoyer_outbox_blocked_lanes %d\n", lost))
	})
	if age := series(text, "foyer_outbox_oldest_seconds"); age < 29*24*3600 || age > 31*24*3600 {
		t.Errorf("the oldest message is %v s old, want about 30 days", age)
	}
	shown := strangersShown(t, url)
	if shown != lost*each {
		t.Errorf("staff are shown %d messages, want the %d that have no receiver", shown, lost*each)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.faults) > 0 {
		t.Errorf("%d faults, such as %s", len(r.faults), r.faults[0])
	}
	if stop() != exitOK {
		t.Error("foyer does not stop well")
	}
}

// strangersShown counts the messages that staff are shown; all must wait for the
// receiver that is gone.
func strangersShown(t *testing.T, url string) (shown int) {
	t.Helper()
	for cursor := "-"; cursor != ""; {
		q, err := http.NewRequest("GET", url+"/api/v1/admin/outbox?limit=500&cursor="+strings.Trim(cursor, "-"), nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer a key for the tests")
		res, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		var page struct {
			Items []struct{ Sink, State string }
			Next  string
		}
		err = json.NewDecoder(res.Body).Decode(&page)
		res.Body.Close()
		if err != nil || len(page.Items) == 0 && page.Next != "" {
			t.Fatalf("a page of %d with next %q, %v", len(page.Items), page.Next, err)
		}
		for _, m := range page.Items {
			if shown++; m.State != string(outbox.Waiting) || m.Sink != "https://gone.example/hook" {
				t.Errorf("staff are shown %+v", m)
			}
		}
		cursor = page.Next
	}
	return shown
}

// series reads a metric without labels.
func series(text, name string) (value float64) {
	_, after, _ := strings.Cut(text, "\n"+name+" ")
	_, _ = fmt.Sscan(after, &value)
	return value
}
