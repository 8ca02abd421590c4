package contract

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// sign makes the signature of Standard Webhooks: HMAC-SHA256 over id.timestamp.body.
func sign(secret, id, timestamp, body string) string {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		panic(err)
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// message is one that arrived.
type message struct {
	ID, Topic, Key string
	Data           json.RawMessage
	accepted       bool
}

// sink is the receiver of what goes out. It takes only what is signed.
type sink struct {
	server *httptest.Server
	mu     sync.Mutex
	seen   []message
	faults []string
	fail   map[string]int // by key: how many deliveries to answer with 500 first
	hung   *hung          // or nil
	busy   map[string]int // by key: deliveries that are being taken now
}

// hung is a receiver that takes a delivery and does not answer until it is released.
type hung struct {
	first sync.Once
	came  chan struct{} // closed at the first delivery
	free  chan struct{}
	let   sync.Once
}

// hang makes the receiver hang until it is released, at the end of the test at the latest.
func (s *sink) hang(t *testing.T) *hung {
	x := &hung{came: make(chan struct{}), free: make(chan struct{})}
	t.Cleanup(x.release)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hung = x
	return x
}

func (x *hung) release() { x.let.Do(func() { close(x.free) }) }

// taken waits for a delivery that hangs.
func (x *hung) taken(t *testing.T) {
	t.Helper()
	select {
	case <-x.came:
	case <-time.After(patience):
		t.Fatal("no delivery came")
	}
}

// enter counts a delivery that begins; two of one key at once are a fault. It is
// false when the sender has given up while the receiver hung.
func (s *sink) enter(sent context.Context, key string) bool {
	s.mu.Lock()
	x := s.hung
	if s.busy[key]++; s.busy[key] > 1 {
		s.faults = append(s.faults, "two deliveries at once of "+key)
	}
	s.mu.Unlock()
	if x == nil {
		return true
	}
	x.first.Do(func() { close(x.came) })
	select {
	case <-x.free:
	case <-sent.Done():
	}
	return sent.Err() == nil
}

func (s *sink) leave(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[key]--
}

func newSink() *sink {
	s := &sink{fail: map[string]int{}, busy: map[string]int{}}
	s.server = httptest.NewServer(s)
	return s
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	id, at := r.Header.Get("Webhook-Id"), r.Header.Get("Webhook-Timestamp")
	var m message
	err := json.Unmarshal(body, &m)
	defer s.leave(m.Key)
	if !s.enter(r.Context(), m.Key) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || m.ID != id {
		s.faults = append(s.faults, fmt.Sprintf("webhook-id %q, body %s", id, body))
	}
	if !strings.Contains(r.Header.Get("Webhook-Signature"), sign(hookSecret, id, at, string(body))) {
		s.faults = append(s.faults, "bad signature of "+id)
	}
	if sec, err := strconv.ParseInt(at, 10, 64); err != nil || time.Since(time.Unix(sec, 0)).Abs() > time.Minute {
		s.faults = append(s.faults, "bad timestamp "+at)
	}
	m.accepted = s.fail[m.Key] == 0
	s.seen = append(s.seen, m)
	if !m.accepted {
		s.fail[m.Key]--
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func (s *sink) failFirst(key string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail[key] = n
}

// of is what arrived for an order, in the order of arrival.
func (s *sink) of(orderID string) []message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []message
	for _, m := range s.seen {
		if m.Key == "order:"+orderID {
			out = append(out, m)
		}
	}
	return out
}

// sold waits for the messages of a paid order, order.paid and one ticket.issued
// for each seat, and returns the accepted ones.
func (s *sink) sold(t *testing.T, orderID string, seats int) (got []message) {
	t.Helper()
	until(t, "messages of order "+orderID, patience, func() bool {
		got = got[:0]
		for _, m := range s.of(orderID) {
			if m.accepted {
				got = append(got, m)
			}
		}
		return len(got) > seats
	})
	return got
}

var hooks atomic.Int64

// tell sends an event of the demo provider, signed now under an id of its own.
func (h *house) tell(t *testing.T, body any) answer {
	t.Helper()
	return h.tellAs(t, fmt.Sprintf("msg_%d", hooks.Add(1)), time.Now(), body)
}

func (h *house) tellAs(t *testing.T, id string, at time.Time, body any) answer {
	t.Helper()
	a, err := h.tryTell(id, at, body)
	if err != nil {
		t.Errorf("webhook %s: %v", id, err)
	}
	return a
}

func (h *house) tryTell(id string, at time.Time, body any) (answer, error) {
	raw, ok := body.(string)
	if !ok {
		encoded, err := json.Marshal(body)
		if err != nil {
			return answer{}, err
		}
		raw = string(encoded)
	}
	stamp := strconv.FormatInt(at.Unix(), 10)
	return h.deliver(raw, id, stamp, sign(demoSecret, id, stamp, raw))
}

// deliver sends a webhook with the three headers as they are given.
func (h *house) deliver(body, id, stamp, signature string) (answer, error) {
	return h.try("POST", "/api/v1/payments/demo/webhook", body, "webhook-id", id, "webhook-timestamp", stamp, "webhook-signature", signature)
}

// news is an event of the demo provider about an order.
func (o order) news(kind, paymentID string) object {
	return object{"type": "payment." + kind, "paymentId": paymentID, "orderId": o.id, "amount": o.total, "currency": "EUR",
		"createdAt": time.Now().UTC().Format("2006-01-02T15:04:05.000Z")}
}

// attention is the entries of the attention list that speak of an order.
func (h *house) attention(t *testing.T, orderID string) []string {
	t.Helper()
	var out []string
	cursor := ""
	for {
		a := h.staff(t, "GET", "/admin/attention?cursor="+cursor, nil).want(t, http.StatusOK)
		for _, item := range a.list("items") {
			b, _ := json.Marshal(item)
			if strings.Contains(string(b), orderID) {
				out = append(out, string(b))
			}
		}
		if cursor = a.text("next"); cursor == "" {
			return out
		}
	}
}
