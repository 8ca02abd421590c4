package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	_ "time/tzdata" // as main has it

	"github.com/google/uuid"

	"foyer/sale"
	"foyer/store"
)

const adminKey = "admin-key-of-the-tests"

// house is a whole Foyer without a socket: real store, real office, real
// handler, and a clock that tests turn.
type house struct {
	t      testing.TB
	dir    string
	clock  *tower
	store  *store.Store
	office *sale.Office
	server *Server
	till   *till
	log    *lockedBuffer
	told   int // events of the till, see tells
}

// tower is the clock in the tower: tests turn its hands.
type tower struct {
	mu sync.Mutex
	at time.Time
}

func (c *tower) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *tower) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// till is a payment provider that takes everything, unless it is down, and
// returns all of it, unless it is stubborn.
type till struct {
	down, stubborn bool
	slow           bool // tells later that it has returned money
	started        sale.StartRequest
}

func (*till) Name() string { return "demo" }

func (t *till) Start(_ context.Context, r sale.StartRequest) (sale.StartedPayment, error) {
	if t.down {
		return sale.StartedPayment{}, errors.New("down")
	}
	t.started = r
	return sale.StartedPayment{ID: "dp_" + r.Attempt.String(), RedirectURL: "/demo/pay/" + r.Attempt.String()}, nil
}

func (*till) Look(_ context.Context, p sale.PaymentRef) (sale.Looked, error) {
	return sale.Looked{State: sale.LookOpen, ID: p.ID}, nil
}

func (*till) Expire(context.Context, sale.PaymentRef) error { return nil }

func (t *till) Refund(_ context.Context, r sale.RefundRequest) (sale.RefundAnswer, error) {
	if t.stubborn {
		return sale.RefundAnswer{}, fmt.Errorf("%w: the card is closed", sale.ErrRefundRefused)
	}
	return sale.RefundAnswer{ID: "re_" + r.ID.String(), Done: !t.slow}, nil
}

// Verify takes what carries the header Signature: right.
func (*till) Verify(h http.Header, body []byte, _ time.Time) (f sale.Fact, err error) {
	switch h.Get("Signature") {
	case "right":
	case "old":
		return f, sale.ErrStaleEvent
	default:
		return f, sale.ErrBadSignature
	}
	var e struct {
		ID, Type, PaymentID, OrderID, RefundID, Currency string
		Amount                                           int64
	}
	err = json.Unmarshal(body, &e)
	return sale.Fact{Provider: "demo", EventID: e.ID, Kind: sale.FactKind(e.Type), PaymentID: e.PaymentID, Order: e.OrderID, Amount: e.Amount, Currency: e.Currency, RefundID: e.RefundID}, err
}

func newHouse(t testing.TB, edit ...func(*Config)) *house {
	t.Helper()
	h := &house{t: t, dir: t.TempDir(), clock: &tower{at: time.Date(2026, 12, 1, 19, 0, 0, 0, time.UTC)}, till: &till{}, log: &lockedBuffer{}}
	return h.open(edit...)
}

func (h *house) open(edit ...func(*Config)) *house {
	t := h.t
	t.Helper()
	st, err := store.Open(h.dir, store.Options{Now: h.clock.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	h.store = st
	h.office = sale.New(sale.Config{
		Store: st, Secret: st.Secret(), Providers: []sale.Provider{h.till}, Challenges: []string{"turnstile", "hcaptcha"},
		TicketCode: func(ticket uuid.UUID) string { return "code-" + ticket.String() },
		Ticket: func(code string) (uuid.UUID, bool) {
			ticket, err := uuid.Parse(strings.TrimPrefix(code, "code-"))
			return ticket, err == nil && strings.HasPrefix(code, "code-")
		},
		Sinks: func(topic string) []string {
			if topic == sale.TopicOrderPaid {
				return []string{"https://user:secret@shop.example/hook?key=secret"}
			}
			return nil
		},
	})
	if err := h.office.SetAdminKey(adminKey); err != nil {
		t.Fatal(err)
	}
	c := Config{
		Office: h.office, Ready: st.Ready, Secret: st.Secret(), Metrics: true,
		Requests: h.log,
		Log:      slog.New(slog.NewJSONHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Webhooks: map[string]Webhook{"demo": h.till},
		Backup: func(ctx context.Context) (*Backup, error) {
			b, err := st.Backup(ctx)
			if err != nil {
				return nil, err
			}
			return &Backup{ReadCloser: b, Size: b.Size, Digest: b.Digest, At: b.At}, nil
		},
	}
	for _, e := range edit {
		e(&c)
	}
	h.server = New(c)
	return h
}

// answer is a response with its body read.
type answer struct {
	t       testing.TB
	what    string
	Status  int
	Header  http.Header
	Body    []byte
	decoded map[string]any
}

// do sends one request. Headers come in pairs.
func (h *house) do(method, path, body string, headers ...string) *answer {
	h.t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req := httptest.NewRequest(method, path, r)
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Add(headers[i], headers[i+1])
	}
	return h.send(req)
}

func (h *house) send(req *http.Request) *answer {
	h.t.Helper()
	w := httptest.NewRecorder()
	h.server.ServeHTTP(w, req)
	return &answer{t: h.t, what: req.Method + " " + req.URL.Path, Status: w.Code, Header: w.Result().Header, Body: w.Body.Bytes()}
}

// staff sends one request with the admin key.
func (h *house) staff(method, path, body string, headers ...string) *answer {
	h.t.Helper()
	return h.do(method, path, body, append(headers, "Authorization", "Bearer "+adminKey)...)
}

// want checks the status and gives the answer back.
func (a *answer) want(status int) *answer {
	a.t.Helper()
	if a.Status != status {
		a.t.Fatalf("%s: got %d, want %d: %s", a.what, a.Status, status, a.Body)
	}
	return a
}

// refused checks that the answer is a problem of this status and code.
func (a *answer) refused(status int, code string) *answer {
	a.t.Helper()
	a.want(status)
	if got := a.text("code"); got != code {
		a.t.Fatalf("%s: got code %q, want %q: %s", a.what, got, code, a.Body)
	}
	if got := a.Header.Get("Content-Type"); got != "application/problem+json" {
		a.t.Errorf("%s: got type %q of a problem", a.what, got)
	}
	if a.text("type") != "/problems/"+code || a.field("status") != float64(status) || a.text("title") == "" || a.text("detail") == "" {
		a.t.Errorf("%s: not a whole problem: %s", a.what, a.Body)
	}
	return a
}

// field finds a value by its path, "seats.0.id" style; nil when missing.
func (a *answer) field(path string) any {
	a.t.Helper()
	if a.decoded == nil {
		if err := json.Unmarshal(a.Body, &a.decoded); err != nil {
			a.t.Fatalf("%s: %v: %s", a.what, err, a.Body)
		}
	}
	var v any = a.decoded
	for _, name := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			i := int(name[0] - '0')
			if i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

func (a *answer) text(path string) string {
	a.t.Helper()
	s, _ := a.field(path).(string)
	return s
}

const smallPlan = `{"name":"Hall","zones":[{"name":"Stalls","rows":[{"name":"A","seats":[
	{"id":"A-1","number":"1","category":"Stalls"},{"id":"A-2","number":"2","category":"Stalls"},
	{"id":"A-3","number":"3","category":"Stalls"},{"id":"A-4","number":"4","category":"Stalls"},
	{"id":"A-5","number":"5","category":"Stalls"},{"id":"A-6","number":"6","category":"Stalls"}]}]}]}`

// event makes an event with the small plan; more are further settings as JSON
// fields.
func (h *house) event(id string, more ...string) {
	h.t.Helper()
	body := `{"id":"` + id + `","name":"Gala","prices":{"Stalls":4250}`
	for _, m := range more {
		body += "," + m
	}
	h.staff("POST", "/api/v1/admin/events", body+"}").want(201)
	h.staff("PUT", "/api/v1/admin/events/"+id+"/plan", smallPlan).want(200)
}

// visitor makes a visitor and gives his credential.
func (h *house) visitor() string {
	h.t.Helper()
	return h.do("POST", "/api/v1/visitors", "").want(201).text("credential")
}

// ready makes a visitor whose turn it is.
func (h *house) ready(event string) (credential, token string) {
	h.t.Helper()
	credential = h.visitor()
	a := h.do("POST", "/api/v1/events/"+event+"/queue", "", "X-Visitor", credential).want(201)
	if token = a.text("entryToken"); token == "" {
		h.t.Fatalf("not READY: %s", a.Body)
	}
	return credential, token
}

// held makes a visitor who holds seats, as a JSON list.
func (h *house) held(event, seats string) (credential, order string) {
	h.t.Helper()
	credential, token := h.ready(event)
	a := h.do("POST", "/api/v1/events/"+event+"/holds", `{"seats":`+seats+`}`, "X-Visitor", credential, "X-Entry-Token", token)
	return credential, a.want(201).text("orderId")
}

// key makes a key of a role.
func (h *house) key(role string) string {
	h.t.Helper()
	return h.staff("POST", "/api/v1/admin/keys", `{"role":"`+role+`","name":"test"}`).want(201).text("key")
}
