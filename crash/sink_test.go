package crash

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// sink receives what the program tells the outside. It fails at times, at each
// message once at most, so that the retries end within the run; and it is slow at times.
type sink struct {
	server *httptest.Server
	mu     sync.Mutex
	rng    *rand.Rand
	byID   map[string]*received
	byKey  map[string][]*received // in the order of the first arrival
	failed map[string]bool
	copies int // deliveries beyond the first of a message
	faults []string
}

// received is one message, however often it came.
type received struct {
	id, topic, key, body string
	taken                bool // acknowledged by the sink at least once
	status               string
}

func newSink(seed uint64) *sink {
	s := &sink{rng: rand.New(rand.NewPCG(seed, 77)), byID: map[string]*received{}, byKey: map[string][]*received{}, failed: map[string]bool{}}
	s.server = httptest.NewServer(s)
	return s
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender died
	}
	fails, slow := s.take(r.Header, body)
	if slow > 0 {
		time.Sleep(slow)
	}
	if fails {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	s.mu.Lock()
	s.byID[r.Header.Get("Webhook-Id")].taken = true
	s.mu.Unlock()
}

// take books an arrival and decides how to answer it.
func (s *sink) take(h http.Header, body []byte) (fails bool, slow time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := h.Get("Webhook-Id")
	var m struct {
		ID, Topic, Key string
		Data           struct{ OrderID, Status string }
	}
	if err := json.Unmarshal(body, &m); err != nil || m.ID != id || m.Key != "order:"+m.Data.OrderID {
		s.faults = append(s.faults, fmt.Sprintf("message %s is %s", id, body))
	}
	if !strings.Contains(h.Get("Webhook-Signature"), sign(hookSecret, id, h.Get("Webhook-Timestamp"), body)) {
		s.faults = append(s.faults, "bad signature of "+id)
	}
	if old := s.byID[id]; old != nil {
		s.copies++
		if old.body != string(body) {
			s.faults = append(s.faults, fmt.Sprintf("message %s came with two bodies: %s and %s", id, old.body, body))
		}
	} else {
		n := &received{id: id, topic: m.Topic, key: m.Key, body: string(body), status: m.Data.Status}
		for _, before := range s.byKey[m.Key] {
			if !before.taken {
				s.faults = append(s.faults, fmt.Sprintf("%s %s of %s came before %s %s was taken", m.Topic, id, m.Key, before.topic, before.id))
			}
		}
		s.byID[id] = n
		s.byKey[m.Key] = append(s.byKey[m.Key], n)
	}
	if !s.failed[id] && s.rng.IntN(25) == 0 {
		s.failed[id] = true
		return true, 0
	}
	if s.rng.IntN(25) == 0 {
		slow = time.Duration(50+s.rng.IntN(250)) * time.Millisecond
	}
	return false, slow
}

// of is what came about an order, by first arrival.
func (s *sink) of(order string) []*received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byKey["order:"+order]
}
