package contract

import (
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestTooManyRequestsAreToldWhenToComeAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "--rate-limit", "1")
	e := eventOf(t, h, 2, nil)
	_, credential := h.visitor(t)
	for path, credential := range map[string]string{"/api/v1/visitors": "", e.path("/queue"): credential} {
		for i := 0; ; i++ {
			a := h.call(t, "POST", path, nil, "X-Visitor", credential, "X-Forwarded-For", "10.0.0."+strconv.Itoa(i)) // B110: a stranger's header is no address
			if a.status < 400 {
				if i > 100 {
					t.Fatalf("%s: a hundred in a moment pass a limit of 1/s", path)
				}
				continue
			}
			a.refused(t, http.StatusTooManyRequests, "too_many_requests")
			if after, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || after < 1 {
				t.Errorf("Retry-After %q, want seconds", a.header.Get("Retry-After"))
			}
			break
		}
	}
	e.get(t, "/status").want(t, http.StatusOK) // who only reads is not limited
}

func TestStaffSessionIsACookieThatOtherSitesCannotUse(t *testing.T) {
	t.Parallel()
	form := func(key string) answer {
		return shared.call(t, "POST", "/admin/login", url.Values{"key": {key}}.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	}
	if a := form("wrong"); a.header.Get("Set-Cookie") != "" {
		t.Error("a wrong key starts a session")
	}
	a := form(adminKey)
	cookies := (&http.Response{Header: a.header}).Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite < http.SameSiteLaxMode {
		t.Fatalf("login answers %d with cookies %v, want one, HttpOnly, SameSite Lax or Strict", a.status, cookies)
	}
	if strings.Contains(cookies[0].Value, adminKey) {
		t.Error("the cookie holds the key")
	}
	cookie := cookies[0].Name + "=" + cookies[0].Value
	shared.call(t, "GET", "/api/v1/admin/orders", nil, "Cookie", cookie).want(t, http.StatusOK)
	e := eventOf(t, shared, 2, nil)
	for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}} {
		shared.call(t, "POST", "/api/v1/admin/events/"+e.id+"/close", nil, append(headers, "Cookie", cookie)...).problem(t).want(t, http.StatusForbidden)
	}
	if got := e.staff(t, "GET", "", nil).text("phase"); got != "OPEN" {
		t.Errorf("another site has made the event %s", got)
	}
	shared.call(t, "POST", "/api/v1/admin/events/"+e.id+"/close", nil, "Cookie", cookie, "Sec-Fetch-Site", "same-origin").want(t, http.StatusOK)
}

func TestFirstStartPrintsAnAdminKeyOnce(t *testing.T) {
	t.Parallel()
	h := &house{dir: filepath.Join(t.TempDir(), "data"), bare: true}
	t.Cleanup(h.kill)
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	h.stop(t)
	key := regexp.MustCompile(`foyer_admin_\S+`).FindString(h.log.String())
	if key == "" {
		t.Fatal("the first start prints no admin key")
	}
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	h.call(t, "GET", "/api/v1/admin/keys", nil, "Authorization", "Bearer "+key).want(t, http.StatusOK)
	h.stop(t)
	if got := strings.Count(h.log.String(), "foyer_admin_"); got != 1 {
		t.Errorf("two starts print %d admin keys, want 1", got)
	}
}
