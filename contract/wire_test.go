package contract

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

var client = &http.Client{
	Timeout:       30 * time.Second,
	Transport:     &http.Transport{MaxIdleConns: 1000, MaxIdleConnsPerHost: 500, DisableCompression: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// answer is what came back. Its zero value stands for a connection that failed.
type answer struct {
	status int
	header http.Header
	body   string
}

// call speaks to an address; headers are name, value, name, value. A body is
// sent as JSON: a string as it is, anything else encoded.
func (h *house) call(t *testing.T, method, path string, body any, headers ...string) answer {
	t.Helper()
	a, err := h.try(method, path, body, headers...)
	if err != nil {
		t.Errorf("%s %s: %v", method, path, err)
	}
	return a
}

// try is call for those who expect the program to vanish.
func (h *house) try(method, path string, body any, headers ...string) (answer, error) {
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	default:
		encoded, err := json.Marshal(b)
		if err != nil {
			return answer{}, err
		}
		r = bytes.NewReader(encoded)
	}
	q, err := http.NewRequest(method, h.url()+path, r)
	if err != nil {
		return answer{}, err
	}
	if r != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	res, err := client.Do(q)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(b)}, err
}

// staff is call with the admin key.
func (h *house) staff(t *testing.T, method, path string, body any, headers ...string) answer {
	t.Helper()
	return h.call(t, method, "/api/v1"+path, body, append([]string{"Authorization", "Bearer " + adminKey}, headers...)...)
}

// at digs into the answer: at("seats", 0, "id"). What is not there is nil.
func (a answer) at(path ...any) any {
	d := json.NewDecoder(strings.NewReader(a.body))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func (a answer) text(path ...any) string {
	s, _ := a.at(path...).(string)
	return s
}

// number is -1 when there is none.
func (a answer) number(path ...any) int {
	n, ok := a.at(path...).(json.Number)
	if !ok {
		return -1
	}
	i, err := n.Int64()
	if err != nil {
		return -1
	}
	return int(i)
}

func (a answer) list(path ...any) []any {
	l, _ := a.at(path...).([]any)
	return l
}

// texts is the strings of a list, or one member of each of its objects.
func (a answer) texts(list string, member ...string) []string {
	var out []string
	for _, v := range a.list(list) {
		for _, m := range member {
			o, _ := v.(map[string]any)
			v = o[m]
		}
		s, _ := v.(string)
		out = append(out, s)
	}
	return out
}

// moment reads a time, which must be RFC 3339 in UTC with milliseconds.
func (a answer) moment(t *testing.T, path ...any) time.Time {
	t.Helper()
	m, err := time.Parse("2006-01-02T15:04:05.000Z", a.text(path...))
	if err != nil {
		t.Errorf("%v = %v, want RFC 3339 in UTC with milliseconds", path, a.at(path...))
	}
	return m
}

// want says when the status is another one.
func (a answer) want(t *testing.T, status int) answer {
	t.Helper()
	if a.status != status {
		t.Errorf("got %d %s, want %d", a.status, short(a.body), status)
	}
	return a
}

// refused holds an answer to the form of a problem (RFC 9457) and to its code.
func (a answer) refused(t *testing.T, status int, code string) answer {
	t.Helper()
	if a.status != status || a.text("code") != code {
		t.Errorf("got %d %s, want %d %s", a.status, short(a.body), status, code)
		return a
	}
	return a.problem(t)
}

// problem holds an answer to the form of a problem, whatever its code.
func (a answer) problem(t *testing.T) answer {
	t.Helper()
	if a.status < 400 || a.status > 499 && a.status != 503 && a.status != 502 {
		t.Errorf("got %d %s, want a refusal", a.status, short(a.body))
	}
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("%d: Content-Type %q, want application/problem+json", a.status, got)
	}
	if got, want := a.text("type"), "/problems/"+a.text("code"); got != want || a.text("code") == "" {
		t.Errorf("type %q, want %q", got, want)
	}
	if a.number("status") != a.status || a.text("title") == "" || a.text("detail") == "" {
		t.Errorf("problem %s lacks status %d, title or detail", a.body, a.status)
	}
	if got := a.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("%d %s: Cache-Control %q, want no-store", a.status, a.text("code"), got)
	}
	return a
}

func short(s string) string {
	if len(s) > 400 {
		return s[:400] + "..."
	}
	return s
}
