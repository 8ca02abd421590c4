package crash

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	bankKey    = "sk_test_of_the_storm"
	bankSecret = "whsec_of_the_bank_in_the_storm"
)

// bank is Stripe as far as Checkout goes, with a book of its own: what was paid,
// and what it gave back. Calls that change something fail at times, some of them
// after it is done; the same key gets the same answer.
type bank struct {
	server *httptest.Server
	post   func(body []byte, signature string) // delivers an event, until it is taken

	mu       sync.Mutex
	rng      *rand.Rand
	sessions map[string]*session
	kept     map[string][]byte // answers by idempotency key
	refunds  []*bankRefund
	names    int
	hasty    map[string]bool // orders whose buyers pay before the page is even shown
	news     sync.WaitGroup  // events that are not taken yet
	faults   []string
}

// session is one page to pay on.
type session struct {
	id, order, intent, currency string
	amount                      int64 // to be paid, or paid
	status                      string
	created                     int64
	meta                        object
}

type bankRefund struct {
	id, intent, name, status string
	amount                   int64
}

func newBank(seed uint64) *bank {
	b := &bank{rng: rand.New(rand.NewPCG(seed, 99)), sessions: map[string]*session{}, kept: map[string][]byte{}, hasty: map[string]bool{}}
	b.server = httptest.NewServer(b)
	return b
}

func (b *bank) name(kind string) string {
	b.names++
	return fmt.Sprintf("%s_%06d", kind, b.names)
}

func (s *session) doc() object {
	d := object{"id": s.id, "object": "checkout.session", "status": s.status, "payment_status": "unpaid", "amount_total": s.amount, "currency": s.currency,
		"url": "https://bank.test/" + s.id, "metadata": s.meta, "client_reference_id": s.order, "payment_intent": nil, "created": s.created}
	if s.status == "complete" {
		d["payment_status"], d["payment_intent"] = "paid", s.intent
	}
	return d
}

func (r *bankRefund) doc() object {
	return object{"id": r.id, "object": "refund", "amount": r.amount, "currency": "eur", "payment_intent": r.intent, "status": r.status, "metadata": object{"refund_id": r.name}}
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil || r.Header.Get("Authorization") != "Bearer "+bankKey {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet {
		b.show(w, r)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	dice := b.rng.IntN(100)
	if dice < 2 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	body, known := b.kept[key]
	if !known || key == "" {
		var status int
		if body, status = b.do(r); status != http.StatusOK {
			w.WriteHeader(status)
			_, _ = w.Write(body)
			return
		}
		b.kept[key] = body
	}
	if dice < 5 { // done, and nobody hears of it
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(body)
}

func (b *bank) show(w http.ResponseWriter, r *http.Request) {
	var found []object
	if id, one := strings.CutPrefix(r.URL.Path, "/v1/checkout/sessions/"); one {
		if s := b.sessions[id]; s != nil {
			_ = json.NewEncoder(w).Encode(s.doc())
			return
		}
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if r.URL.Path == "/v1/refunds" {
		for _, f := range b.refunds {
			if f.intent == r.Form.Get("payment_intent") {
				found = append(found, f.doc())
			}
		}
	} else {
		from, _ := strconv.ParseInt(r.Form.Get("created[gte]"), 10, 64)
		to, _ := strconv.ParseInt(r.Form.Get("created[lte]"), 10, 64)
		for _, s := range b.sessions {
			if s.created >= from && s.created <= to {
				found = append(found, s.doc())
			}
		}
	}
	_ = json.NewEncoder(w).Encode(object{"object": "list", "data": found, "has_more": false})
}

func refusal(status int, code string) ([]byte, int) {
	b, _ := json.Marshal(object{"error": object{"type": "invalid_request_error", "code": code, "message": code}})
	return b, status
}

func (b *bank) do(r *http.Request) ([]byte, int) {
	var d object
	id, isOne := strings.CutPrefix(r.URL.Path, "/v1/checkout/sessions/")
	switch {
	case isOne:
		s := b.sessions[strings.TrimSuffix(id, "/expire")]
		if s == nil || s.status != "open" {
			return refusal(http.StatusBadRequest, "not_open")
		}
		s.status = "expired"
		b.tell("checkout.session.expired", s.doc(), 0)
		d = s.doc()
	case r.URL.Path == "/v1/checkout/sessions":
		d = b.open(r).doc()
	case r.URL.Path == "/v1/refunds":
		f, code := b.refund(r)
		if f == nil {
			return refusal(http.StatusBadRequest, code)
		}
		d = f.doc()
	}
	body, _ := json.Marshal(d)
	return body, http.StatusOK
}

func (b *bank) open(r *http.Request) *session {
	const price = "line_items[0][price_data]"
	amount, _ := strconv.ParseInt(r.Form.Get(price+"[unit_amount]"), 10, 64)
	s := &session{id: b.name("cs"), intent: b.name("pi"), order: r.Form.Get("metadata[order_id]"), amount: amount, currency: r.Form.Get(price + "[currency]"),
		status: "open", created: time.Now().Unix(), meta: object{"order_id": r.Form.Get("metadata[order_id]"), "attempt": r.Form.Get("metadata[attempt]")}}
	b.sessions[s.id] = s
	if b.hasty[s.order] {
		s.status = "complete"
		b.tell("checkout.session.completed", s.doc(), 0)
	}
	return s
}

func (b *bank) refund(r *http.Request) (*bankRefund, string) {
	amount, _ := strconv.ParseInt(r.Form.Get("amount"), 10, 64)
	f := &bankRefund{id: b.name("re"), intent: r.Form.Get("payment_intent"), name: r.Form.Get("metadata[refund_id]"), status: "succeeded", amount: amount}
	left := int64(-1)
	for _, s := range b.sessions {
		if s.intent == f.intent && s.status == "complete" {
			left = s.amount
		}
	}
	for _, old := range b.refunds {
		if old.intent == f.intent {
			left -= old.amount
		}
		if old.name == f.name {
			b.faults = append(b.faults, "refund "+f.name+" was asked for with two keys")
		}
	}
	switch {
	case left == 0:
		return nil, "charge_already_refunded"
	case amount <= 0 || amount > left:
		b.faults = append(b.faults, fmt.Sprintf("a refund of %d of %s, which has %d left", amount, f.intent, left))
		return nil, "amount_too_large"
	}
	if b.rng.IntN(3) == 0 { // some take their time
		f.status = "pending"
		done := *f
		done.status = "succeeded"
		b.tell("refund.updated", done.doc(), time.Second)
	}
	b.refunds = append(b.refunds, f)
	return f, ""
}

// tell delivers an event after a while, one to five times, in no order.
func (b *bank) tell(kind string, about object, after time.Duration) {
	id := b.name("evt")
	body, err := json.Marshal(object{"id": id, "object": "event", "type": kind, "created": time.Now().Unix(), "data": object{"object": about}})
	if err != nil {
		panic(err)
	}
	for range 1 + b.rng.IntN(5) {
		late := after + time.Duration(b.rng.IntN(1500))*time.Millisecond
		b.news.Go(func() {
			time.Sleep(late)
			stamp := strconv.FormatInt(time.Now().Unix(), 10)
			mac := hmac.New(sha256.New, []byte(bankSecret))
			fmt.Fprintf(mac, "%s.%s", stamp, body)
			b.post(body, "t="+stamp+",v1="+hex.EncodeToString(mac.Sum(nil)))
		})
	}
}

// pay is the buyer's end of a page. It returns false when the page was closed.
// Forced, the money comes all the same, as with methods that take their time.
// Told, an event says so after a while; else only who looks finds it.
func (b *bank) pay(id string, wrong func(*session), forced, told bool, after time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sessions[id]
	if s == nil || s.status == "complete" || s.status != "open" && !forced {
		return false
	}
	s.status = "complete"
	if wrong != nil {
		wrong(s)
	}
	if told {
		b.tell("checkout.session.completed", s.doc(), after)
	}
	return true
}

// expire closes a page and says so.
func (b *bank) expire(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.sessions[id]; s != nil && s.status == "open" {
		s.status = "expired"
		b.tell("checkout.session.expired", s.doc(), 0)
	}
}
