package web

import (
	"encoding/base64"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

var sampleSettings = sale.DefaultSettings()

func TestCredentialsThatAreNotOursAreNobody(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	good := h.visitor()
	raw, err := base64.RawURLEncoding.DecodeString(good)
	if err != nil || len(raw) != 32 {
		t.Fatalf("a credential of %d bytes: %v", len(raw), err)
	}
	flipped := append([]byte{raw[0] ^ 1}, raw[1:]...)
	for _, c := range []string{
		"", "x", good[:42], good + "A", good[:42] + "=", strings.Repeat("A", 43), strings.Repeat("\xff", 43), strings.Repeat("A", 10_000),
		base64.RawURLEncoding.EncodeToString(flipped), strings.Replace(good, good[:1], "+", 1), uuid.NewString(),
	} {
		h.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", c).refused(401, "no_visitor")
		h.do("GET", "/api/v1/events/gala/queue", "", "Cookie", "foyer_visitor="+c).refused(401, "no_visitor")
	}
	h.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", good).want(200)
	other := newHouse(t)
	other.event("gala")
	other.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", good).refused(401, "no_visitor")
}

func TestTheHeaderWinsOverTheCookie(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	a, b := h.visitor(), h.visitor()
	h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", a).want(201)
	got := h.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", a, "Cookie", "foyer_visitor="+b)
	if got.text("status") != "READY" {
		t.Errorf("got %s", got.Body)
	}
	got = h.do("GET", "/api/v1/events/gala/queue", "", "Cookie", "a=b; foyer_visitor="+b+"; foyer_visitors=x")
	if got.text("status") != "NOT_ENTERED" {
		t.Errorf("got %s", got.Body)
	}
	h.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", "x", "Cookie", "foyer_visitor="+a).refused(401, "no_visitor")
}

// B128: an answer that sets a cookie is never shared, and no two visitors are one.
func TestB128VisitorsAreNeverShared(t *testing.T) {
	h := newHouse(t)
	seen := map[string]bool{}
	jar := ""
	for range 50 {
		a := h.do("POST", "/api/v1/visitors", "{}", "Cookie", jar).want(201)
		cookie := a.Header.Get("Set-Cookie")
		jar, _, _ = strings.Cut(cookie, ";")
		if a.Header.Get("Cache-Control") != "no-store" {
			t.Fatalf("got Cache-Control %q", a.Header.Get("Cache-Control"))
		}
		for _, part := range []string{"foyer_visitor=" + a.text("credential"), "Path=/", "HttpOnly", "SameSite=Lax"} {
			if !strings.Contains(cookie, part) {
				t.Fatalf("no %s in %s", part, cookie)
			}
		}
		if strings.Contains(cookie, "Secure") || seen[a.text("visitorId")] {
			t.Fatalf("got %s", cookie)
		}
		seen[a.text("visitorId")] = true
	}
}

func TestUnderTLSTheCookieIsBoundToTheHost(t *testing.T) {
	h := newHouse(t, func(c *Config) { c.Proxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} })
	h.event("gala")
	tls := []string{"X-Forwarded-Proto", "https"}
	a := h.do("POST", "/api/v1/visitors", "", tls...).want(201)
	cookie := a.Header.Get("Set-Cookie")
	if !strings.HasPrefix(cookie, "__Host-foyer_visitor=") || !strings.Contains(cookie, "Secure") || strings.Contains(cookie, "Domain") {
		t.Errorf("got %s", cookie)
	}
	h.do("GET", "/api/v1/events/gala/queue", "", append(tls, "Cookie", "__Host-foyer_visitor="+a.text("credential"))...).want(200)
	h.do("GET", "/api/v1/events/gala/queue", "", append(tls, "Cookie", "foyer_visitor="+a.text("credential"))...).refused(401, "no_visitor")
	stranger := newHouse(t)
	if cookie := stranger.do("POST", "/api/v1/visitors", "", tls...).Header.Get("Set-Cookie"); strings.Contains(cookie, "Secure") {
		t.Errorf("the scheme is taken from a proxy nobody trusts: %s", cookie)
	}
}

func TestCrossSiteChangesWithCookiesAreRefused(t *testing.T) {
	h := newHouse(t, func(c *Config) { c.BaseURL = "https://tickets.example" })
	h.event("gala")
	visitor := h.visitor()
	const queue = "/api/v1/events/gala/queue"
	cookie := "foyer_visitor=" + visitor
	for _, c := range []struct {
		name    string
		method  string
		headers []string
		refused bool
	}{
		{"cross-site", "POST", []string{"Cookie", cookie, "Sec-Fetch-Site", "cross-site"}, true},
		{"same-site", "POST", []string{"Cookie", cookie, "Sec-Fetch-Site", "same-site"}, true},
		{"same-origin", "POST", []string{"Cookie", cookie, "Sec-Fetch-Site", "same-origin"}, false},
		{"typed in", "POST", []string{"Cookie", cookie, "Sec-Fetch-Site", "none"}, false},
		{"no browser", "POST", []string{"Cookie", cookie}, false},
		{"old browser, other origin", "POST", []string{"Cookie", cookie, "Origin", "https://evil.example"}, true},
		{"old browser, own origin", "POST", []string{"Cookie", cookie, "Origin", "http://example.com"}, false},
		{"the public address", "POST", []string{"Cookie", cookie, "Origin", "https://tickets.example"}, false},
		{"opaque origin", "POST", []string{"Cookie", cookie, "Origin", "null"}, true},
		{"by header", "POST", []string{"X-Visitor", visitor, "Sec-Fetch-Site", "cross-site"}, false},
		{"reading", "GET", []string{"Cookie", cookie, "Sec-Fetch-Site", "cross-site"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := h.do(c.method, queue, "", c.headers...)
			if c.refused {
				a.refused(403, "cross_site")
			} else if a.Status >= 300 {
				t.Errorf("got %d: %s", a.Status, a.Body)
			}
		})
	}
	h.do("POST", "/api/v1/payments/demo/webhook", "{}", "Sec-Fetch-Site", "cross-site").refused(400, "bad_signature")
	h.staff("POST", "/api/v1/admin/events/gala/pause", "", "Sec-Fetch-Site", "cross-site").want(200)
}

func TestStaffSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		defer func() { _ = h.store.Close() }()
		w := &memoryWriter{header: http.Header{}}
		r, _ := http.NewRequest("POST", "/", nil)
		c := h.server.echo.NewContext(r, w)
		k, ok := h.office.Authenticate(adminKey)
		if !ok {
			t.Fatal("the admin key is not known")
		}
		h.server.login(c, k)
		set := w.header.Get("Set-Cookie")
		for _, part := range []string{"HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"} {
			if !strings.Contains(set, part) {
				t.Errorf("no %s in %s", part, set)
			}
		}
		cookie, _, _ := strings.Cut(set, ";")
		if strings.Contains(cookie, adminKey) {
			t.Error("the cookie carries the key")
		}
		h.do("GET", "/api/v1/admin/keys", "", "Cookie", cookie).want(200)
		h.do("GET", "/api/v1/admin/keys", "", "Cookie", cookie, "Authorization", "Bearer wrong").refused(401, "no_key")
		h.do("POST", "/api/v1/admin/keys", `{"role":"door"}`, "Cookie", cookie, "Sec-Fetch-Site", "cross-site").refused(403, "cross_site")
		for _, bad := range []string{cookie + "A", cookie[:len(cookie)-1], "foyer_staff=", "foyer_staff=" + strings.Repeat("A", 80)} {
			h.do("GET", "/api/v1/admin/keys", "", "Cookie", bad).refused(401, "no_key")
		}
		time.Sleep(staffSession - time.Second) // in the bubble, at once
		h.do("GET", "/api/v1/admin/keys", "", "Cookie", cookie).want(200)
		time.Sleep(time.Second)
		h.do("GET", "/api/v1/admin/keys", "", "Cookie", cookie).refused(401, "no_key")

		h.server.login(c, k)
		cookie, _, _ = strings.Cut(w.header["Set-Cookie"][1], ";")
		h.do("GET", "/api/v1/admin/keys", "", "Cookie", cookie).want(200)
		if err := h.office.SetAdminKey("another admin key"); err != nil {
			t.Fatal(err)
		}
		h.do("GET", "/api/v1/admin/keys", "", "Cookie", cookie).refused(401, "no_key")
	})
}

func TestARemovedKeyIsOutAtOnce(t *testing.T) {
	h := newHouse(t)
	a := h.staff("POST", "/api/v1/admin/keys", `{"role":"boxoffice","name":"Box 1"}`).want(201)
	if a.text("role") != "boxoffice" || a.text("name") != "Box 1" || a.text("id") == "" {
		t.Errorf("got %s", a.Body)
	}
	bearer := []string{"Authorization", "Bearer " + a.text("key")}
	h.do("GET", "/api/v1/admin/orders", "", bearer...).want(200)
	h.do("GET", "/api/v1/admin/events", "", bearer...).refused(403, "wrong_role")
	if list := h.staff("GET", "/api/v1/admin/keys", "").want(200); strings.Contains(string(list.Body), a.text("key")) || strings.Contains(string(list.Body), "hash") {
		t.Errorf("the list shows secrets: %s", list.Body)
	}
	h.staff("DELETE", "/api/v1/admin/keys/"+a.text("id"), "").want(204)
	h.do("GET", "/api/v1/admin/orders", "", bearer...).refused(401, "no_key")
	for _, v := range []string{"Bearer", "Bearer ", "Basic " + adminKey, adminKey, "Bearer " + adminKey + "x"} {
		h.do("GET", "/api/v1/admin/orders", "", "Authorization", v).refused(401, "no_key")
	}
}

// memoryWriter is a ResponseWriter that keeps everything.
type memoryWriter struct {
	header http.Header
	body   lockedBuffer
}

func (w *memoryWriter) Header() http.Header         { return w.header }
func (w *memoryWriter) WriteHeader(int)             {}
func (w *memoryWriter) Write(p []byte) (int, error) { return w.body.Write(p) }
func (w *memoryWriter) Flush()                      {}
