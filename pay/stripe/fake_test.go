package stripe

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// fake is Stripe as far as we need it, with a memory: sessions, payments and
// refunds; answers kept by idempotency key, failures among them; and events. It
// was written from Stripe's documents, not from the code it tests.
type fake struct {
	url string
	key string

	mu       sync.Mutex
	now      time.Time
	made     int // names given out
	sessions []*object
	refunds  []*object
	kept     map[string]answer // by idempotency key
	events   []*object
	calls    []call
	troubles []trouble // of the next calls that change something
}

// object is a JSON object of the API.
type object map[string]any

type call struct {
	method, path, key string
	form              url.Values
}

type answer struct {
	status int
	body   []byte
	form   string // what was asked
}

// trouble is how a call goes wrong.
type trouble int

const (
	none         trouble = iota
	brokenBefore         // 500, nothing done; kept
	brokenAfter          // 500, done all the same; kept
	lost                 // done, and the answer never arrives
	down                 // 503 before anything began; not kept
	busy                 // 409, another call with the key runs; not kept
	limited              // 429; not kept
	poor                 // 400, no money to give back; kept
	beaten               // done by another call a moment before, so 400; kept
)

func newFake(t *testing.T) *fake {
	f := &fake{key: "sk_test_fake", now: time.Unix(1_800_000_000, 0), kept: map[string]answer{}}
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	f.url = srv.URL
	return f
}

// lock runs one thing at a time.
func (f *fake) lock(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

func (f *fake) next(t ...trouble) { f.lock(func() { f.troubles = append(f.troubles, t...) }) }

func (f *fake) pass(d time.Duration) {
	f.lock(func() {
		f.now = f.now.Add(d)
		for _, s := range f.sessions {
			if (*s)["status"] == "open" && (*s)["expires_at"].(int64) <= f.now.Unix() {
				f.end(s)
			}
		}
	})
}

func (f *fake) end(s *object) {
	(*s)["status"] = "expired"
	f.tell("checkout.session.expired", s)
}

func (f *fake) name(kind string) string {
	f.made++
	return fmt.Sprintf("%s_%04d", kind, f.made)
}

// asked are the calls of a method and path so far.
func (f *fake) asked(method, path string) (found []call) {
	f.lock(func() {
		for _, c := range f.calls {
			if c.method == method && c.path == path {
				found = append(found, c)
			}
		}
	})
	return found
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := r.ParseForm(); err != nil {
		panic(err)
	}
	key := r.Header.Get("Idempotency-Key")
	f.calls = append(f.calls, call{r.Method, r.URL.Path, key, r.Form})
	if r.Header.Get("Authorization") != "Bearer "+f.key {
		send(w, problem(401, "invalid_request_error", "", "", "Invalid API Key provided: sk_test_****"))
		return
	}
	if r.Method == http.MethodGet {
		send(w, f.get(r.URL.Path, r.Form))
		return
	}
	trouble := none
	if len(f.troubles) > 0 {
		trouble, f.troubles = f.troubles[0], f.troubles[1:]
	}
	if old, ok := f.kept[key]; ok {
		if old.form != r.Form.Encode() {
			send(w, problem(400, "idempotency_error", "", "", "Keys for idempotent requests can only be used with the same parameters they were first used with."))
			return
		}
		w.Header().Set("Idempotent-Replayed", "true")
		send(w, old)
		return
	}
	f.change(w, r, key, trouble)
}

// change does what a POST asks, or what goes wrong with it.
func (f *fake) change(w http.ResponseWriter, r *http.Request, key string, t trouble) {
	switch t {
	case down:
		send(w, problem(503, "api_error", "", "", "Try again."))
		return
	case busy:
		send(w, problem(409, "idempotency_error", "idempotency_key_in_use", "", "There is currently another in-progress request using this key."))
		return
	case limited:
		send(w, problem(429, "invalid_request_error", "rate_limit", "", "Too many requests."))
		return
	}
	var a answer
	broken := problem(500, "api_error", "", "", "An unknown error occurred.")
	switch t {
	case brokenBefore:
		a = broken
	case poor:
		a = problem(400, "invalid_request_error", "balance_insufficient", "", "Insufficient funds in your Stripe balance.")
	default:
		var began bool
		if a, began = f.do(r.URL.Path, r.Form); !began {
			send(w, a) // refused parameters are not kept
			return
		}
		switch t {
		case brokenAfter:
			a = broken
		case beaten:
			a = problem(400, "invalid_request_error", "charge_already_refunded", "", "Charge has already been refunded.")
		}
	}
	a.form = r.Form.Encode()
	f.kept[key] = a
	if t == lost {
		panic(http.ErrAbortHandler)
	}
	send(w, a)
}

func send(w http.ResponseWriter, a answer) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", "req_fake")
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

func good(o any) answer {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return answer{status: 200, body: b}
}

func problem(status int, kind, code, param, message string) answer {
	e := object{"type": kind, "message": message}
	if code != "" {
		e["code"] = code
	}
	if param != "" {
		e["param"] = param
	}
	a := good(object{"error": e})
	a.status = status
	return a
}

func missing(what string) answer {
	return problem(404, "invalid_request_error", "resource_missing", "id", "No such "+what)
}

func (f *fake) find(of []*object, id string) *object {
	i := slices.IndexFunc(of, func(o *object) bool { return (*o)["id"] == id })
	if i < 0 {
		return nil
	}
	return of[i]
}

func (f *fake) get(path string, q url.Values) answer {
	id, isSession := strings.CutPrefix(path, "/v1/checkout/sessions/")
	switch {
	case path == "/v1/checkout/sessions":
		gte, err1 := strconv.ParseInt(q.Get("created[gte]"), 10, 64)
		lte, err2 := strconv.ParseInt(q.Get("created[lte]"), 10, 64)
		if err1 != nil || err2 != nil || q.Has("created[gt]") || q.Has("created[lt]") {
			return problem(400, "invalid_request_error", "", "created", "A range, please.")
		}
		return page(f.sessions, q, func(o object) bool { return o["created"].(int64) >= gte && o["created"].(int64) <= lte })
	case path == "/v1/refunds":
		return page(f.refunds, q, func(o object) bool { return o["payment_intent"] == q.Get("payment_intent") })
	case isSession:
		if s := f.find(f.sessions, id); s != nil {
			return good(s)
		}
		return missing("checkout.session: " + id)
	}
	return missing("path: " + path)
}

// page is part of a list, newest first.
func page(of []*object, q url.Values, fits func(object) bool) answer {
	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil || limit < 1 || limit > 100 {
		return problem(400, "invalid_request_error", "", "limit", "Invalid limit")
	}
	data, more, started := []*object{}, false, !q.Has("starting_after")
	for _, o := range slices.Backward(of) {
		switch {
		case !started:
			started = (*o)["id"] == q.Get("starting_after")
		case !fits(*o):
		case len(data) == limit:
			more = true
		default:
			data = append(data, o)
		}
	}
	return good(object{"object": "list", "data": data, "has_more": more})
}

// do does what is asked; began is false for what Stripe refuses before it
// keeps anything.
func (f *fake) do(path string, q url.Values) (a answer, began bool) {
	id, isSession := strings.CutPrefix(path, "/v1/checkout/sessions/")
	id, isExpire := strings.CutSuffix(id, "/expire")
	switch {
	case path == "/v1/checkout/sessions":
		return f.open(q)
	case path == "/v1/refunds":
		return f.refund(q)
	case isSession && isExpire:
		s := f.find(f.sessions, id)
		if s == nil {
			return missing("checkout.session: " + id), false
		}
		if (*s)["status"] != "open" {
			return problem(400, "invalid_request_error", "", "", `Only Checkout Sessions with a status in ["open"] can be expired.`), true
		}
		f.end(s)
		return good(s), true
	}
	return missing("path: " + path), false
}

func metadata(q url.Values, at string) object {
	o := object{}
	for k := range q {
		if name, ok := strings.CutPrefix(k, at+"["); ok {
			o[strings.TrimSuffix(name, "]")] = q.Get(k)
		}
	}
	return o
}

// open makes a session and refuses what Stripe would.
func (f *fake) open(q url.Values) (answer, bool) {
	bad := func(param string) (answer, bool) {
		return problem(400, "invalid_request_error", "parameter_invalid", param, "Invalid "+param+": "+q.Get(param)), false
	}
	const item = "line_items[0]"
	amount, err := strconv.ParseInt(q.Get(item+"[price_data][unit_amount]"), 10, 64)
	if err != nil || amount <= 0 {
		return bad("line_items[0][price_data][unit_amount]")
	}
	until, err := strconv.ParseInt(q.Get("expires_at"), 10, 64)
	if end := time.Unix(until, 0); err != nil || end.Before(f.now.Add(30*time.Minute)) || end.After(f.now.Add(24*time.Hour)) {
		return bad("expires_at")
	}
	if email := q.Get("customer_email"); q.Has("customer_email") && !strings.Contains(email, ".") {
		return bad("customer_email")
	}
	if q.Get("mode") != "payment" || q.Get("success_url") == "" || q.Get(item+"[quantity]") != "1" || q.Get("adaptive_pricing[enabled]") != "false" {
		return bad("mode")
	}
	id := f.name("cs_test")
	s := &object{
		"id": id, "object": "checkout.session", "status": "open", "payment_status": "unpaid", "url": "https://checkout.stripe.test/" + id,
		"created": f.now.Unix(), "expires_at": until, "amount_total": amount, "currency": q.Get(item + "[price_data][currency]"),
		"client_reference_id": q.Get("client_reference_id"), "payment_intent": nil, "metadata": metadata(q, "metadata"),
		"intent_metadata": metadata(q, "payment_intent_data[metadata]"),
	}
	f.sessions = append(f.sessions, s)
	return good(s), true
}

func (f *fake) refund(q url.Values) (answer, bool) {
	i := slices.IndexFunc(f.sessions, func(s *object) bool { return (*s)["payment_intent"] == q.Get("payment_intent") })
	if i < 0 {
		return missing("payment_intent: " + q.Get("payment_intent")), false
	}
	s := *f.sessions[i]
	amount, err := strconv.ParseInt(q.Get("amount"), 10, 64)
	if err != nil || amount <= 0 {
		return problem(400, "invalid_request_error", "parameter_invalid_integer", "amount", "Invalid integer"), false
	}
	left := s["amount_total"].(int64)
	for _, r := range f.refunds {
		if (*r)["payment_intent"] == s["payment_intent"] && (*r)["status"] != "failed" && (*r)["status"] != "canceled" {
			left -= (*r)["amount"].(int64)
		}
	}
	switch {
	case left == 0:
		return problem(400, "invalid_request_error", "charge_already_refunded", "", "Charge has already been refunded."), true
	case amount > left:
		return problem(400, "invalid_request_error", "", "amount", "Refund amount is greater than unrefunded amount on charge"), true
	}
	r := &object{
		"id": f.name("re"), "object": "refund", "amount": amount, "currency": s["currency"], "payment_intent": s["payment_intent"],
		"status": "succeeded", "metadata": metadata(q, "metadata"), "created": f.now.Unix(),
	}
	f.refunds = append(f.refunds, r)
	f.tell("refund.created", r)
	return good(r), true
}

// tell keeps an event with the object as it is now.
func (f *fake) tell(kind string, o *object) {
	f.events = append(f.events, &object{
		"id": f.name("evt"), "object": "event", "api_version": "2019-12-03", "created": f.now.Unix(), "type": kind,
		"data": object{"object": maps.Clone(*o)},
	})
}
