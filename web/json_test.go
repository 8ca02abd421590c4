package web

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestBodiesAreReadStrictly(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	visitor := h.visitor()
	deep := `{"code":` + strings.Repeat(`[`, 9000) + strings.Repeat(`]`, 9000) + `}`
	for _, c := range []struct {
		name, body string
		status     int
		code, in   string // in: what the detail names
	}{
		{"empty", "", 0, "", ""},
		{"an object", "{}", 0, "", ""},
		{"blanks around", " {} \n", 0, "", ""},
		{"unknown field", `{"best":1}`, 400, "unknown_field", `"best"`},
		{"broken", `{`, 400, "bad_json", ""},
		{"no JSON", `best`, 400, "bad_json", ""},
		{"trailing data", `{}{}`, 400, "bad_json", ""},
		{"trailing brace", `{}}`, 400, "bad_json", ""},
		{"a list", `[]`, 422, "bad_field", "must be a JSON object"},
		{"null", ` null`, 422, "bad_field", "must be a JSON object"},
		{"a number", `1`, 422, "bad_field", "must be a JSON object"},
		{"a text", `"x"`, 422, "bad_field", "must be a JSON object"},
		{"a list with a control character", `["\u0007"]`, 422, "bad_field", "must be a JSON object"},
		{"true", `true`, 422, "bad_field", "must be a JSON object"},
		{"not UTF-8", "{\"\xff\":1}", 400, "bad_json", "UTF-8"},
		{"deep", deep, 400, "bad_json", ""},
		{"comment", `{}//`, 400, "bad_json", ""},
		{"NaN", `{"x":NaN}`, 400, "bad_json", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := h.do("POST", "/api/v1/events/gala/queue", c.body, "X-Visitor", visitor)
			if c.code == "" {
				if a.Status >= 300 {
					t.Fatalf("got %d: %s", a.Status, a.Body)
				}
				return
			}
			a.refused(c.status, c.code)
			if !strings.Contains(a.text("detail"), c.in) {
				t.Errorf("the detail does not name %s: %s", c.in, a.Body)
			}
		})
	}
}

func TestFieldsAreMatchedExactlyAndOnce(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	for _, c := range []struct{ body, code, in string }{
		{`{"Message":"x"}`, "unknown_field", `"Message"`},
		{`{"message":"x","message":"y"}`, "bad_json", "twice"},
		{`{"message":"x","MESSAGE":"y"}`, "unknown_field", `"MESSAGE"`},
		{`{"message":null}`, "bad_field", `"message"`},
		{`{"message":7}`, "bad_field", `"message"`},
		{`{"message":"\ud83d"}`, "bad_text", "surrogate"},
		{`{"message":"\udc00\ud800"}`, "bad_text", "surrogate"},
		{`{"message":"a\u0007b"}`, "bad_text", "control character"},
		{`{"message":"a\u0085b"}`, "bad_text", "control character"},
	} {
		a := h.staff("POST", "/api/v1/admin/events/gala/announce", c.body)
		if a.text("code") != c.code || !strings.Contains(a.text("detail"), c.in) {
			t.Errorf("%s: got %s", c.body, a.Body)
		}
	}
	a := h.staff("PATCH", "/api/v1/admin/events/gala", `{"rules":{"maxActive":5,"MaxActive":6}}`).refused(400, "unknown_field")
	if !strings.Contains(a.text("detail"), `"rules.MaxActive"`) {
		t.Errorf("the detail does not give the path: %s", a.Body)
	}
	a = h.staff("PATCH", "/api/v1/admin/events/gala", `{"rules":{"maxActive":"5"}}`).refused(422, "bad_field")
	if !strings.Contains(a.text("detail"), `"rules.maxActive"`) {
		t.Errorf("the detail does not give the path as clients know it: %s", a.Body)
	}
}

// B105: texts come back byte for byte, or are refused with the rule.
func TestB105TextsComeBackByteForByte(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	for _, text := range []string{"👩‍👩‍👧 Gala", "e\u0301 \u00e9", "𠀀𠀁", `"quotes" <b>&amp;</b>`, "\u200bzero", `back\slash`} {
		body, _ := json.Marshal(map[string]string{"message": text})
		a := h.staff("POST", "/api/v1/admin/events/gala/announce", string(body))
		if a.Status == 422 {
			if a.text("detail") == "" {
				t.Errorf("%q: refused without a rule", text)
			}
			continue
		}
		if got := a.want(200).text("message"); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
		if got := h.do("GET", "/api/v1/events/gala/status", "").want(200).text("message"); got != text {
			t.Errorf("status: got %q, want %q", got, text)
		}
	}
	escaped := h.staff("POST", "/api/v1/admin/events/gala/announce", `{"message":"\ud83d\ude00 \\u12 \\ud800"}`).want(200)
	if got := escaped.text("message"); got != `😀 \u12 \ud800` {
		t.Errorf("got %q", got)
	}
}

// B102, B103, B104: whatever is sent for a number of seats, nothing is held.
func TestB102OddWishesAreRefused(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	visitor, token := h.ready("gala")
	for _, c := range []struct {
		body   string
		status int
		code   string
	}{
		{``, 422, "no_seats"},
		{`{}`, 422, "no_seats"},
		{`{"seats":null}`, 422, "no_seats"},
		{`{"seats":[]}`, 422, "no_seats"},
		{`{"best":{"count":-1}}`, 422, "no_seats"},
		{`{"best":{"count":0}}`, 422, "no_seats"},
		{`{"best":{"count":-0}}`, 422, "no_seats"},
		{`{"best":{"count":5}}`, 422, "too_many_seats"},
		{`{"best":{"count":1e9}}`, 422, "too_many_seats"},
		{`{"best":{"count":1e999}}`, 422, "too_many_seats"},
		{`{"best":{"count":1000000000000000000000}}`, 422, "too_many_seats"},
		{`{"best":{"count":1.5}}`, 422, "bad_seats"},
		{`{"best":{"count":1e-7}}`, 422, "bad_seats"},
		{`{"best":{"count":"2"}}`, 422, "bad_seats"},
		{`{"best":{"count":null}}`, 422, "bad_seats"},
		{`{"best":{"count":[1]}}`, 422, "bad_seats"},
		{`{"best":{"count":true}}`, 422, "bad_seats"},
		{`{"best":{}}`, 422, "bad_seats"},
		{`{"best":2}`, 422, "bad_seats"},
		{`{"best":[]}`, 422, "bad_seats"},
		{`{"best":{"count":1,"category":5}}`, 422, "bad_seats"},
		{`{"best":{"count":1,"price":0}}`, 400, "unknown_field"},
		{`{"best":{"count":1},"seats":["A-1"]}`, 422, "bad_seats"},
		{`{"seats":"A-1"}`, 422, "bad_seats"},
		{`{"seats":["A-1",2]}`, 422, "bad_seats"},
		{`{"seats":[null]}`, 422, "bad_seats"},
		{`{"seats":[["A-1"]]}`, 422, "bad_seats"},
		{`{"seats":[{"id":"A-1"}]}`, 422, "bad_seats"},
		{`{"seats":true}`, 422, "bad_seats"},
		{`{"seats":-1}`, 422, "bad_seats"},
		{`{"seats":["A-1","A-1"]}`, 422, "duplicate_seats"},
		{`{"seats":["A-1"," A-1","a-1"]}`, 404, "no_such_seat"},
		{`{"seats":["A-1","A-2","A-3","A-4","A-5"]}`, 422, "too_many_seats"},
		{`{"seats":["` + strings.Repeat(`x","`, 600) + `"]}`, 422, "too_many_seats"},
		{`{"seats":["` + strings.Repeat(`x","`, 20000) + `"]}`, 413, "body_too_large"},
	} {
		h.do("POST", "/api/v1/events/gala/holds", c.body, "X-Visitor", visitor, "X-Entry-Token", token).refused(c.status, c.code)
	}
	if got := h.do("GET", "/api/v1/events/gala/seats", "").want(200).text("states"); got != "AAAAAA" {
		t.Errorf("got states %s", got)
	}
}

func TestTheTokenIsJudgedBeforeTheWish(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	for _, body := range []string{`{"seats":[1]}`, `{"best":{"count":"2"}}`, `{"seats":[]}`, `{"best":{"count":1,"x":1}}`} {
		h.do("POST", "/api/v1/events/gala/holds", body).refused(401, "no_entry_token")
		h.do("POST", "/api/v1/events/gala/holds", body, "X-Queue-Token", "x").refused(403, "not_admitted")
	}
}

func TestContentTypesThatAreTaken(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	visitor := h.visitor()
	for typ, status := range map[string]int{
		"": 200, "application/json": 200, "application/json; charset=utf-8": 200, "Application/JSON;charset=UTF-8": 200,
		"application/json; charset=latin1": 415, "text/json": 415, "application/x-www-form-urlencoded": 415, "nonsense": 415, ";": 415,
	} {
		h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", visitor)
		if got := h.do("POST", "/api/v1/events/gala/queue", "{}", "X-Visitor", visitor, "Content-Type", typ).Status; got != status {
			t.Errorf("%q: got %d, want %d", typ, got, status)
		}
		if got := h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", visitor, "Content-Type", typ).Status; got != 200 {
			t.Errorf("%q without a body: got %d", typ, got)
		}
	}
}

func TestABodyOfUnknownLengthIsBoundedToo(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	r := httptest.NewRequest("POST", "/api/v1/events/gala/queue", struct{ *strings.Reader }{strings.NewReader(strings.Repeat(" ", 1<<20))})
	r.ContentLength = -1
	r.Header.Set("X-Visitor", h.visitor())
	h.send(r).refused(413, "body_too_large")
}

func TestConfirmTakesOnlyJSONIntegers(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	_, order := h.held("gala", `["A-1"]`)
	for _, amount := range []string{`"4250"`, `4250.0`, `42.5e2`, `4e3`, `-4250`, `0`, `-0`, `null`, `[4250]`, `true`, `99999999999999999999`} {
		h.staff("POST", "/api/v1/orders/"+order+"/confirm", `{"amount":`+amount+`,"currency":"EUR"}`, "Idempotency-Key", "k").refused(422, "amount_mismatch")
	}
	h.staff("POST", "/api/v1/orders/"+order+"/confirm", `{"currency":"EUR"}`, "Idempotency-Key", "k").refused(422, "amount_mismatch")
	if got := h.staff("GET", "/api/v1/orders/"+order, "").want(200).text("status"); got != "PENDING" {
		t.Errorf("got %s", got)
	}
}

func TestTimesHaveThreeDigitsOfMilliseconds(t *testing.T) {
	berlin := time.FixedZone("", 3600)
	for at, want := range map[time.Time]string{
		time.Date(2027, 3, 1, 20, 0, 0, 0, berlin):                       "2027-03-01T19:00:00.000Z",
		time.Date(2027, 12, 31, 23, 59, 59, 999_999_999, time.UTC):       "2027-12-31T23:59:59.999Z",
		time.Date(999, 1, 2, 3, 4, 5, 7_000_000, time.UTC):               "0999-01-02T03:04:05.007Z",
		time.Date(2027, 3, 1, 19, 0, 0, 50_000_000, time.UTC).In(berlin): "2027-03-01T19:00:00.050Z",
	} {
		if got := string(appendTime(nil, at)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func FuzzDecodeNeverPanics(f *testing.F) {
	for _, s := range []string{`{}`, `{"seats":["\ud83d\ude00"]}`, `{"a":{"b":[null,1e9]}}`, `"\u`, "\xff", `{"rules":{"maxActive":1}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var w wish
		_ = decode(body, &w)
		_ = merge(body, &sampleSettings)
	})
}
