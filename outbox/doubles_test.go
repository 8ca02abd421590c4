package outbox

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"
)

// shelf is a Book in memory. It stands for the file: what is settled survives, what is not does not.
type shelf struct {
	mu       sync.Mutex
	rows     map[uint64]Message
	last     uint64
	settles  int
	failing  func() error  // asked before each Settle
	loadFail func() error  // asked before each Load
	slow     time.Duration // of one Settle, or Begin
	slots    map[[2]string]time.Time
}

func newShelf() *shelf { return &shelf{rows: map[uint64]Message{}} }

// commit stores messages as the sale's transaction would and returns them.
func (s *shelf) commit(sink string, keys ...string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	for _, key := range keys {
		s.last++
		m := Message{
			Seq: s.last, ID: fmt.Sprintf("m%d", s.last), Topic: "order.paid", Key: key, Sink: sink,
			CreatedAt: time.Now(), Body: fmt.Appendf(nil, `{"seq":%d}`, s.last), State: Waiting,
		}
		s.rows[m.Seq] = m
		out = append(out, m)
	}
	return out
}

// pending returns all rows as the store gives them at start: in order, without bodies.
func (s *shelf) pending() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	for _, seq := range slices.Sorted(maps.Keys(s.rows)) {
		m := s.rows[seq]
		m.Body = nil
		out = append(out, m)
	}
	return out
}

func (s *shelf) row(seq uint64) (Message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.rows[seq]
	return m, ok
}

func (s *shelf) put(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows[m.Seq] = m
}

func (s *shelf) drop(seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rows, seq)
}

func (s *shelf) left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.rows)
}

func (s *shelf) Load(seq uint64) (Message, bool, error) {
	if s.loadFail != nil {
		if err := s.loadFail(); err != nil {
			return Message{}, false, err
		}
	}
	m, ok := s.row(seq)
	return m, ok, nil
}

func (s *shelf) Begin(slots []Slot) error {
	time.Sleep(s.slow)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing != nil {
		if err := s.failing(); err != nil {
			return err
		}
	}
	if s.slots == nil {
		s.slots = map[[2]string]time.Time{}
	}
	for _, at := range slots {
		s.slots[[2]string{at.Sink, at.Key}] = at.At
	}
	return nil
}

// booked returns the slots as the store gives them at start.
func (s *shelf) booked() (slots []Slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, at := range s.slots {
		slots = append(slots, Slot{k[0], k[1], at})
	}
	return slots
}

func (s *shelf) Settle(all []Outcome) error {
	time.Sleep(s.slow) // in a bubble
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing != nil {
		if err := s.failing(); err != nil {
			return err
		}
	}
	s.settles++
	for _, o := range all {
		m, ok := s.rows[o.Seq]
		if o.Delivered {
			delete(s.rows, o.Seq)
		} else if ok {
			m.Attempts, m.NextAt, m.LastError, m.State = o.Attempts, o.NextAt, o.LastError, o.State
			s.rows[o.Seq] = m
		}
	}
	return nil
}

// receiver is a Sink that keeps what arrived, also from attempts it then lets fail.
type receiver struct {
	mu      sync.Mutex
	got     []Message
	at      []time.Time
	flying  map[string]int
	overlap bool // two of one lane at a time
	answer  func(ctx context.Context, m Message) error
}

func (r *receiver) Deliver(ctx context.Context, m Message) error {
	r.mu.Lock()
	r.got, r.at = append(r.got, m), append(r.at, time.Now())
	if r.flying == nil {
		r.flying = map[string]int{}
	}
	r.flying[m.Key]++
	r.overlap = r.overlap || r.flying[m.Key] > 1
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.flying[m.Key]--
		r.mu.Unlock()
	}()
	if r.answer == nil {
		return nil
	}
	return r.answer(ctx, m)
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.got)
}

// seqs returns the numbers that arrived for a key, every arrival.
func (r *receiver) seqs(key string) (list []uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.got {
		if m.Key == key {
			list = append(list, m.Seq)
		}
	}
	return list
}

func (r *receiver) times(key string) (list []time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, m := range r.got {
		if m.Key == key {
			list = append(list, r.at[i].Sub(m.CreatedAt))
		}
	}
	return list
}

// regressions counts arrivals of a key that are smaller than one before.
func regressions(seqs []uint64) (n int) {
	for i := 1; i < len(seqs); i++ {
		if seqs[i] < seqs[i-1] {
			n++
		}
	}
	return n
}

// running starts a relay over the book with all pending messages and returns it with a function that stops it.
func running(t *testing.T, book Book, sinks map[string]Sink, pending []Message, change ...func(*Config)) (*Relay, func() error) {
	t.Helper()
	cfg := Config{Book: book, Sinks: sinks}
	for _, c := range change {
		c(&cfg)
	}
	r := NewRelay(cfg)
	r.Offer(pending)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	return r, func() error {
		cancel()
		return <-ended
	}
}

func stop(t *testing.T, stop func() error) {
	t.Helper()
	if err := stop(); err != nil {
		t.Errorf("Run ended with %v", err)
	}
}

func keysOf(prefix string, n, repeat int) (keys []string) {
	for i := range n * repeat {
		keys = append(keys, fmt.Sprint(prefix, i%n))
	}
	return keys
}
