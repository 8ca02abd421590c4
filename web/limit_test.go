package web

import (
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chromedp/chromedp"
)

func TestALimitTakesItsRateAndABurst(t *testing.T) {
	l := newLimiter[netip.Addr](10, 10*limitBurst)
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
	of := func(text string) netip.Addr { return customer(netip.MustParseAddr(text)) }
	if of("2001:db8::1") != of("2001:db8::ffff:1") {
		t.Error("a neighbour in the same /64 is another client")
	}
	if of("2001:db8::1") == of("2001:db8:0:1::1") {
		t.Error("another /64 is the same client")
	}
	if of("192.0.2.1") != of("::ffff:192.0.2.1") {
		t.Error("a mapped address is another client")
	}
	if of("192.0.2.1") == of("192.0.2.2") {
		t.Error("a neighbour is the same client")
	}
}

func TestALimitIsBoundedInMemory(t *testing.T) {
	l := newLimiter[netip.Addr](1, limitBurst)
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

func TestANetworkHasAWiderLimit(t *testing.T) {
	for _, c := range []struct{ first, neighbour, stranger string }{
		{"192.0.2.0", "192.0.2.250", "192.0.3.1"},
		{"2001:db8:1::", "2001:db8:1:ffff::1", "2001:db8:2::1"},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHouse(t, func(c *Config) { c.RateLimit = 1 })
			defer func() { _ = h.store.Close() }()
			try := func(a netip.Addr) *answer {
				host := a.String()
				if a.Is6() {
					host = "[" + host + "]"
				}
				return h.from(host, "POST", "/api/v1/visitors", "")
			}
			a, taken := netip.MustParseAddr(c.first), 0
			for range 10 * limitNetwork {
				if try(a).Status == 201 {
					taken++
				}
				if b := a.As16(); a.Is6() { // the next /64
					b[7]++
					a = netip.AddrFrom16(b)
				} else {
					a = a.Next()
				}
			}
			if want := limitNetwork * limitBurst; taken != want {
				t.Errorf("%d were taken of %s, want %d", taken, c.first, want)
			}
			try(netip.MustParseAddr(c.neighbour)).refused(429, "too_many_requests")
			try(netip.MustParseAddr(c.stranger)).want(201)
			time.Sleep(time.Second / limitNetwork)
			try(netip.MustParseAddr(c.neighbour)).want(201)
		})
	}
}

func TestAVisitorHasALimitWhereverHeJoinsFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, func(c *Config) { c.RateLimit = 20 })
		defer func() { _ = h.store.Close() }()
		h.event("gala")
		ann, ben := h.visitor(), h.visitor()
		join := func(credential string, i int) *answer {
			return h.from("198.51."+strconv.Itoa(i)+".7", "POST", "/api/v1/events/gala/queue", "", "X-Visitor", credential)
		}
		for i := range 2 * limitBurst {
			if a := join(ann, i); a.Status > 201 {
				t.Fatalf("join %d: %d", i, a.Status)
			}
		}
		join(ann, 99).refused(429, "too_many_requests")
		join(ben, 99).want(201)
		time.Sleep(time.Second / 2)
		join(ann, 99).want(200)
	})
}

// A limit lowers a crowd and locks nobody out: a school behind one address gets
// in by doing what Retry-After says.
func TestFiftyPeopleBehindOneAddressAllGetInWithinSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, func(c *Config) { c.RateLimit = 20 }) // a bit of the default
		defer func() { _ = h.store.Close() }()
		h.event("gala", `"line":"always"`)
		began, waits := time.Now(), atomic.Int64{}
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				patient := func(path string, headers ...string) *answer {
					for {
						a := h.from("192.0.2.1", "POST", path, "", headers...)
						if a.Status != 429 {
							return a
						}
						n, err := strconv.Atoi(a.Header.Get("Retry-After"))
						if err != nil || n < 1 {
							t.Errorf("told to wait %q", a.Header.Get("Retry-After"))
							return a
						}
						waits.Add(1)
						time.Sleep(time.Duration(n) * time.Second)
					}
				}
				v := patient("/api/v1/visitors")
				if v.Status == 201 {
					v = patient("/api/v1/events/gala/queue", "X-Visitor", v.text("credential"))
				}
				if v.Status != 201 {
					t.Errorf("got %d: %s", v.Status, v.Body)
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %s", took)
		}
		if waits.Load() == 0 {
			t.Error("nobody had to wait: the limit is not at work")
		}
	})
}

// A client that returns no credential gets no number, however it asks.
func TestAJoinerWithoutACookieGetsNoNumber(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"line":"always"`)
	form := []string{"Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html"}
	for range 3 {
		h.do("POST", "/api/v1/events/gala/queue", "").refused(401, "no_visitor")
		a := h.do("POST", "/events/gala/line", "", form...).want(307)
		if cookie := a.Header.Get("Set-Cookie"); !strings.HasPrefix(cookie, visitorCookie+"=") {
			t.Errorf("got cookie %q", cookie)
		}
		h.do("POST", a.Header.Get("Location"), "", form...).want(401).says("Please allow cookies")
	}
	if s, err := h.office.Status("gala"); err != nil || s.Waiting != 0 {
		t.Errorf("%d wait, %v", s.Waiting, err)
	}
	b := h.browser()
	b.follow(b.post("/events/gala/line")).says("You are number 1")
	b.follow(b.post("/events/gala/line")).says("You are number 1")
}

// B115: who is inside is never counted.
func TestALimitNeverMeetsSomebodyWhoBuys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, func(c *Config) { c.RateLimit = 1 })
		defer func() { _ = h.store.Close() }()
		h.event("gala")
		credential, token := h.ready("gala")
		for range 3 * limitBurst {
			h.do("POST", "/api/v1/visitors", "")
		}
		h.do("POST", "/api/v1/visitors", "").refused(429, "too_many_requests")
		h.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", credential).want(200)
		a := h.do("POST", "/api/v1/events/gala/holds", `{"seats":["A-1"]}`, "X-Visitor", credential, "X-Entry-Token", token).want(201)
		h.do("POST", "/api/v1/orders/"+a.text("orderId")+"/pay", `{"provider":"demo"}`, "X-Visitor", credential).want(200)
	})
}

func TestBrowserThatIsRefusedByALimitTriesAgainByItself(t *testing.T) {
	ctx := chrome(t)
	g := newStage(t)
	g.event("gala", `"line":"always"`)
	g.server.limits = newLimits(1)
	run(ctx, t, chromedp.Navigate(g.url+"/events/gala"), shown("join"))
	for g.from("127.0.0.1", "POST", "/api/v1/visitors", "").Status != 429 {
		continue
	}
	run(ctx, t, chromedp.Click("#join button"), see(`/tries again by itself/.test(document.getElementById('why').textContent)`),
		shown("wait"), see(`document.getElementById('no').textContent == 'You are number 1' && document.getElementById('why').hidden`))
}
