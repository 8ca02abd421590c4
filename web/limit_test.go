package web

import (
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestALimitTakesItsRateAndABurst(t *testing.T) {
	l := newLimiter(10, 10*limitBurst)
	now := time.Unix(1_800_000_000, 0)
	addr := netip.MustParseAddr("192.0.2.1")
	taken := 0
	for l.wait(addr, now) == 0 {
		taken++
	}
	if taken != 10*limitBurst {
		t.Errorf("a burst of %d, want %d", taken, 10*limitBurst)
	}
	if d := l.wait(addr, now); d != 100*time.Millisecond {
		t.Errorf("told to wait %v", d)
	}
	if d := l.wait(addr, now.Add(99*time.Millisecond)); d == 0 {
		t.Error("taken too early")
	}
	if d := l.wait(addr, now.Add(100*time.Millisecond)); d != 0 {
		t.Error("not taken in time")
	}
	if l.wait(netip.MustParseAddr("192.0.2.2"), now) != 0 {
		t.Error("another address is kept out")
	}
}

func TestALimitCountsIPv6ByCustomer(t *testing.T) {
	l := newLimiter(1, limitBurst)
	now := time.Unix(1_800_000_000, 0)
	for range limitBurst {
		l.wait(netip.MustParseAddr("2001:db8::1"), now)
	}
	if l.wait(netip.MustParseAddr("2001:db8::ffff:1"), now) == 0 {
		t.Error("a neighbour in the same /64 is another client")
	}
	if l.wait(netip.MustParseAddr("2001:db8:0:1::1"), now) != 0 {
		t.Error("another /64 is kept out")
	}
	for range limitBurst {
		l.wait(netip.MustParseAddr("192.0.2.1"), now)
	}
	if l.wait(netip.MustParseAddr("::ffff:192.0.2.1"), now) == 0 {
		t.Error("a mapped address is another client")
	}
}

func TestALimitIsBoundedInMemory(t *testing.T) {
	l := newLimiter(1, limitBurst)
	now := time.Unix(1_800_000_000, 0)
	addr := netip.MustParseAddr("10.0.0.0")
	for range 2 * limitShards * limitEach {
		l.wait(addr, now)
		addr = addr.Next()
	}
	total := 0
	for i := range l.shards {
		total += len(l.shards[i].tat)
	}
	if total > limitShards*limitEach {
		t.Errorf("%d addresses are kept", total)
	}
}

func TestTheClientsAddressComesFromTrustedProxiesOnly(t *testing.T) {
	for _, c := range []struct{ proxies, forwarded, want string }{
		{"", "203.0.113.9", "192.0.2.1"},
		{"10.0.0.0/8", "203.0.113.9", "192.0.2.1"},
		{"192.0.2.0/24", "203.0.113.9", "203.0.113.9"},
		{"192.0.2.0/24", "6.6.6.6, 203.0.113.9, 192.0.2.7", "203.0.113.9"},
		{"192.0.2.0/24", "nonsense", "192.0.2.1"},
		{"192.0.2.1/32", "10.1.2.3", "10.1.2.3"},
	} {
		s := newHouse(t, func(conf *Config) {
			if c.proxies != "" {
				conf.Proxies = []netip.Prefix{netip.MustParsePrefix(c.proxies)}
			}
		}).server
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("X-Forwarded-For", c.forwarded)
		if got := s.address(r); got != c.want {
			t.Errorf("%+v: got %s", c, got)
		}
		for _, neighbour := range []string{"127.0.0.1", "[::1]", "10.9.9.9", "169.254.0.1"} { // not trusted for being near
			if strings.HasPrefix(c.proxies, "10.") {
				continue
			}
			r.RemoteAddr = neighbour + ":1"
			if got := s.address(r); got != strings.Trim(neighbour, "[]") {
				t.Errorf("from %s: got %s", neighbour, got)
			}
		}
	}
}

// from sends one request of an address.
func (h *house) from(addr, method, path, body string, headers ...string) *answer {
	h.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr = addr + ":1"
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return h.send(r)
}

// guess uses up the wrong keys of an address.
func (h *house) guess(addr string) {
	h.t.Helper()
	for range wrongKeys {
		h.from(addr, "GET", "/api/v1/admin/keys", "", "Authorization", "Bearer a guess").refused(401, "no_key")
	}
}

func TestKeysCannotBeGuessedQuickly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		defer func() { _ = h.store.Close() }()
		h.guess("198.51.100.7")
		a := h.from("198.51.100.7", "GET", "/api/v1/admin/keys", "", "Authorization", "Bearer a guess").refused(429, "too_many_requests")
		if a.Header.Get("Retry-After") != "1" {
			t.Errorf("got Retry-After %q", a.Header.Get("Retry-After"))
		}
		// The right one is not told apart then, or guessing would go on among the refusals.
		h.from("198.51.100.7", "GET", "/api/v1/admin/keys", "", "Authorization", "Bearer "+adminKey).refused(429, "too_many_requests")
		h.from("198.51.100.8", "GET", "/api/v1/admin/keys", "", "Authorization", "Bearer "+adminKey).want(200)
		time.Sleep(time.Second / wrongKeysPerSecond) // in the bubble, at once
		for range 2 * wrongKeys {                    // right keys cost nothing
			h.from("198.51.100.7", "GET", "/api/v1/admin/keys", "", "Authorization", "Bearer "+adminKey).want(200)
		}
		h.from("198.51.100.7", "GET", "/api/v1/admin/keys", "", "Authorization", "Bearer a guess").refused(401, "no_key")
		h.from("198.51.100.7", "GET", "/api/v1/admin/keys", "", "Authorization", "Bearer a guess").refused(429, "too_many_requests")
		h.from("198.51.100.7", "GET", "/api/v1/admin/keys", "").refused(401, "no_key") // no key is no try
	})
}

func TestOneAddressCannotKeepStaffOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		login := func(addr, key string) *answer {
			return h.from(addr, "POST", "/admin/login", "key="+key, "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html")
		}
		login("198.51.100.7", "a+guess").want(403).says("That key is not right.")
		h.guess("198.51.100.9")
		a := login("198.51.100.9", adminKey).want(429).says("Too many wrong keys came from your address").silent("That key is not right.")
		checkPage(t, a)
		if a.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		login("198.51.100.7", adminKey).want(303)
		other := newHouse(t) // another server has tries of its own
		h = other
		login("198.51.100.9", adminKey).want(303)
	})
}
