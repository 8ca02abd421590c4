package contract

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// jar is a browser: it keeps cookies and follows no redirect by itself.
type jar struct {
	h *house
	*http.Client
}

func (h *house) jar(t *testing.T) jar {
	t.Helper()
	kept, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return jar{h, &http.Client{Jar: kept, Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// ask sends a request with what the jar holds and gives the status, the body and where it leads.
func (j jar) ask(t *testing.T, method, path, kind, body string) (status int, text, location string) {
	t.Helper()
	r, err := http.NewRequest(method, j.h.url()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	res, err := j.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b), res.Header.Get("Location")
}

// number is the number of the place that the jar's visitor has, 0 for none.
func (j jar) number(t *testing.T, e event) int {
	t.Helper()
	status, text, _ := j.ask(t, "GET", e.path("/queue"), "", "")
	var place struct{ Number int }
	if err := json.Unmarshal([]byte(text), &place); err != nil || status != http.StatusOK && status != http.StatusUnauthorized {
		t.Fatalf("the place answers %d %s", status, text)
	}
	return place.Number
}

func (p *person) link(t *testing.T) (code, link string) {
	t.Helper()
	a := p.call(t, "POST", p.e.path("/queue/"+p.queueId+"/link"), nil).want(t, http.StatusCreated)
	return a.text("code"), a.text("url")
}

func bring(t *testing.T, h *house, code string) answer {
	t.Helper()
	return h.call(t, "POST", "/api/v1/visitors/return", object{"code": code})
}

func TestB06SwitchedBrowserGetsThePlaceBackAndItIsOnePlace(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 2, object{"maxActive": 1, "pickupSeconds": 60})
	first := e.buyer(t)
	old, fresh := shared.jar(t), shared.jar(t)
	const form, api = "application/x-www-form-urlencoded", "application/json"
	status, _, next := old.ask(t, "POST", "/events/"+e.id+"/line", form, "")
	if status == http.StatusTemporaryRedirect {
		status, _, _ = old.ask(t, "POST", next, form, "")
	}
	if n := old.number(t, e); status != http.StatusSeeOther || n != 2 {
		t.Fatalf("joining answers %d, the number is %d; want 303 and 2", status, n)
	}
	if n := fresh.number(t, e); n != 0 {
		t.Fatalf("a browser that never came has the number %d", n)
	}
	_, page, _ := old.ask(t, "GET", "/events/"+e.id+"/travel", "", "")
	_, after, found := strings.Cut(page, "/events/"+e.id+"/return#")
	if !found || len(after) < 59 {
		t.Fatalf("no link on the page:\n%s", page)
	}
	code := after[:59]
	if status, _, _ := fresh.ask(t, "GET", "/events/"+e.id+"/return", "", ""); status != http.StatusOK || fresh.number(t, e) != 0 {
		t.Fatalf("the page behind the link answers %d", status)
	}
	status, _, to := fresh.ask(t, "POST", "/events/"+e.id+"/return", form, url.Values{"code": {code}}.Encode())
	if status != http.StatusSeeOther || to != "/events/"+e.id+"/line" {
		t.Fatalf("bringing the place answers %d to %q", status, to)
	}
	if a, b := old.number(t, e), fresh.number(t, e); a != 2 || b != 2 {
		t.Errorf("the old browser sees number %d, the new one %d; want 2 and 2", a, b)
	}
	if status, text, _ := fresh.ask(t, "POST", e.path("/queue"), api, "{}"); status != http.StatusOK || !strings.Contains(text, `"number":2,`) {
		t.Errorf("joining again answers %d %s, want the same place", status, text)
	}
	if status, text, _ := shared.jar(t).ask(t, "POST", "/api/v1/visitors/return", api, `{"code":"`+code+`"}`); status != http.StatusGone || !strings.Contains(text, `"link_used"`) {
		t.Errorf("used again it answers %d %s, want 410 link_used", status, text)
	}
	if got := e.get(t, "/status").number("waiting"); got != 1 {
		t.Errorf("%d wait, want one place", got)
	}
	first.leave(t).want(t, http.StatusNoContent)
	until(t, "the one turn is seen in both browsers", patience, func() bool {
		_, a, _ := old.ask(t, "GET", e.path("/queue"), "", "")
		_, b, _ := fresh.ask(t, "GET", e.path("/queue"), "", "")
		return strings.Contains(a, `"READY"`) && strings.Contains(b, `"READY"`)
	})
}

func TestOfFiftyWithTheSameCodeOneBringsThePlace(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 2, object{"maxActive": 1, "pickupSeconds": 60})
	e.buyer(t)
	p := e.joined(t)
	for range 5 {
		code, _ := p.link(t)
		var won atomic.Int64
		each(50, func(int) {
			a := bring(t, shared, code)
			switch {
			case a.status == http.StatusOK && a.text("credential") == p.credential && a.text("queueId") == p.queueId && a.text("eventId") == e.id && a.text("visitorId") == p.id:
				won.Add(1)
			default:
				a.refused(t, http.StatusGone, "link_used")
			}
		})
		if won.Load() != 1 {
			t.Fatalf("%d bring the place with one code, want 1", won.Load())
		}
	}
	if got := p.place(t).number("number"); got != 2 {
		t.Errorf("the place has number %d, want 2", got)
	}
}

func TestReturnCodesEndAndOutliveAKill(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	e := eventOf(t, h, 2, object{"maxActive": 1, "pickupSeconds": 3600, "turnSeconds": 3600})
	active, p, gone := e.buyer(t), e.joined(t), e.joined(t)
	used, link := p.link(t)
	if want := h.url() + "/events/" + e.id + "/return#" + used; link != want {
		t.Errorf("the link is %s, want %s", link, want)
	}
	bring(t, h, used).want(t, http.StatusOK)
	revoked, _ := p.link(t)
	for range 2 {
		p.call(t, "DELETE", e.path("/queue/"+p.queueId+"/link"), nil).want(t, http.StatusNoContent)
	}
	good, _ := p.link(t)
	turn, _ := active.link(t)
	left, _ := gone.link(t)
	gone.leave(t).want(t, http.StatusNoContent)
	h.kill()
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	for what, code := range map[string]string{"used": used, "taken back": revoked, "of a place that was left": left} {
		if a := bring(t, h, code); a.status != http.StatusGone || a.header.Get("Set-Cookie") != "" {
			t.Errorf("a code %s answers %d %s", what, a.status, a.body)
		}
	}
	for _, code := range []string{"", "x", good[1:], good[:58] + map[bool]string{true: "2", false: "3"}[good[58] != '2'], p.id, p.queueId, p.credential} {
		bring(t, h, code).refused(t, http.StatusNotFound, "no_such_code")
	}
	if got := bring(t, h, turn).want(t, http.StatusOK).text("credential"); got != active.credential {
		t.Errorf("the code of a turn gives %s, want %s", got, active.credential)
	}
	if got := bring(t, h, strings.ToLower(good)).want(t, http.StatusOK).text("queueId"); got != p.queueId {
		t.Errorf("after the kill the code opens %s, want %s", got, p.queueId)
	}
	other := e.person(t)
	for _, method := range []string{"POST", "DELETE"} {
		other.call(t, method, e.path("/queue/"+p.queueId+"/link"), nil).refused(t, http.StatusNotFound, "not_entered")
	}
	code, _ := p.link(t)
	if c, _ := h.stop(t); c != 0 {
		t.Errorf("exit code %d, want 0", c)
	}
	if log := h.log.String(); strings.Contains(log, code) || strings.Contains(log, used) {
		t.Error("the log holds a return code")
	}
}

func TestReturnCodesAreGuessedAtALimitedRate(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "--rate-limit", "1")
	until(t, "a guesser is told to wait", patience, func() bool {
		a := bring(t, h, "0000-0000")
		if a.status == http.StatusTooManyRequests && a.header.Get("Retry-After") != "" {
			return true
		}
		a.refused(t, http.StatusNotFound, "no_such_code")
		return false
	})
}
