package web

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// B110: what counts is the first address from the right that is no trusted proxy.
func TestTheClientIsTheFirstUntrustedAddressFromTheRight(t *testing.T) {
	const peer = "10.0.0.1:443"
	near, two := "10.0.0.0/8", "10.0.0.0/8,203.0.113.0/24,2001:db8:ff::/48"
	for _, c := range []struct{ name, proxies, peer, forwarded, want string }{
		{"no proxies", "", peer, "203.0.113.9", "10.0.0.1"},
		{"no header", near, peer, "", "10.0.0.1"},
		{"a peer that is no proxy", near, "198.51.100.1:5", "203.0.113.9", "198.51.100.1"},
		{"one proxy", near, peer, "203.0.113.9", "203.0.113.9"},
		{"a forged left part", near, peer, "6.6.6.6, 203.0.113.9", "203.0.113.9"},
		{"a forged left part that looks like the proxy", near, peer, "10.0.0.1, 203.0.113.9", "203.0.113.9"},
		{"two proxies", two, peer, "6.6.6.6, 198.51.100.7, 203.0.113.9", "198.51.100.7"},
		{"all of them trusted", near, peer, "10.1.1.1, 10.2.2.2", "10.1.1.1"},
		{"two lines", near, peer, "6.6.6.6\n203.0.113.9", "203.0.113.9"},
		{"a line of proxies after one of clients", near, peer, "6.6.6.6, 203.0.113.9\n10.4.4.4", "203.0.113.9"},
		{"a port", near, peer, "203.0.113.9:4711", "203.0.113.9"},
		{"IPv6", near, peer, "2001:db8::7", "2001:db8::7"},
		{"IPv6 in brackets", near, peer, "[2001:db8::7]", "2001:db8::7"},
		{"IPv6 with a port", near, peer, "[2001:db8::7]:4711", "2001:db8::7"},
		{"IPv6 with a zone", near, peer, "fe80::7%eth0", "fe80::7"},
		{"IPv4 in IPv6", near, peer, "::ffff:203.0.113.9", "203.0.113.9"},
		{"a proxy in IPv6 form", near, "[::ffff:10.0.0.1]:443", "203.0.113.9", "203.0.113.9"},
		{"a network in IPv6 form", "::ffff:10.0.0.0/104", peer, "203.0.113.9", "203.0.113.9"},
		{"an IPv6 proxy", two, "[2001:db8:ff::1]:443", "198.51.100.7", "198.51.100.7"},
		{"garbage on the right", near, peer, "203.0.113.9, unknown", "10.0.0.1"},
		{"garbage behind another proxy", near, peer, "unknown, 10.2.2.2", "10.2.2.2"},
		{"garbage on the left", near, peer, "<script>, 203.0.113.9", "203.0.113.9"},
		{"nothing but commas", near, peer, ",,,", "10.0.0.1"},
		{"a thousand entries", near, peer, strings.Repeat("6.6.6.6, ", 1000) + "203.0.113.9", "203.0.113.9"},
		{"a thousand proxies", near, peer, "203.0.113.9" + strings.Repeat(", 10.3.3.3", 1000), "203.0.113.9"},
		{"a socket file", near, "@", "203.0.113.9", ""},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.peer
		for line := range strings.SplitSeq(c.forwarded, "\n") {
			if line != "" {
				r.Header.Add("X-Forwarded-For", line)
			}
		}
		var proxies []netip.Prefix
		for p := range strings.SplitSeq(c.proxies, ",") {
			if p != "" {
				proxies = append(proxies, netip.MustParsePrefix(p))
			}
		}
		if got := addrText(clientOf(r, proxies)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// B110: a client cannot get a new limit by writing a new header.
func TestALimitCannotBePassedByForgingHeaders(t *testing.T) {
	for name, proxies := range map[string][]netip.Prefix{"without proxies": nil, "behind one": {netip.MustParsePrefix("10.0.0.0/8")}} {
		h := newHouse(t, func(c *Config) { c.RateLimit, c.Proxies = 1, proxies })
		refused := 0
		forged := netip.MustParseAddr("203.0.113.0")
		for range 3 * limitBurst {
			forged = forged.Next()
			from, header := "198.51.100.7", forged.String()
			if proxies != nil {
				from, header = "10.0.0.1", forged.String()+", 198.51.100.7"
			}
			if h.from(from, "POST", "/api/v1/visitors", "", "X-Forwarded-For", header).Status == http.StatusTooManyRequests {
				refused++
			}
		}
		if refused < limitBurst {
			t.Errorf("%s: %d of %d were refused", name, refused, 3*limitBurst)
		}
	}
}

// B112: a proxy that nobody named is noticed, in the log once and on the staff page.
func TestStaffAreToldOfAProxyThatNobodyNamed(t *testing.T) {
	const told = "visitors share one limit"
	page := func(h *house) string {
		b := h.browser()
		b.post("/admin/login", "key", adminKey)
		return string(b.get("/admin").want(200).Body)
	}
	h := newHouse(t)
	crowd := func(h *house, from string, n int, headers ...string) {
		for range n {
			h.from(from, "GET", "/api/v1/events", "", headers...)
		}
	}
	crowd(h, "127.0.0.1", 100) // a health check passes nothing on
	crowd(h, "10.0.0.7", hiddenAfter-1, "X-Forwarded-For", "203.0.113.9")
	if p := page(h); strings.Contains(p, "--trusted-proxies") || strings.Contains(h.log.String(), told) {
		t.Error("it is told too early")
	}
	crowd(h, "10.0.0.7", 100, "X-Forwarded-For", "203.0.113.9")
	if p := page(h); !strings.Contains(p, "--trusted-proxies 10.0.0.7") {
		t.Error("the staff page does not name the proxy")
	}
	if n := strings.Count(h.log.String(), told); n != 1 {
		t.Errorf("the log tells it %d times", n)
	}
	crowd(h, "198.51.100.7", 100)
	if p := page(h); strings.Contains(p, "--trusted-proxies") {
		t.Error("it is told although others come directly")
	}
	named := newHouse(t, func(c *Config) { c.Proxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} })
	crowd(named, "10.0.0.7", 100, "X-Forwarded-For", "203.0.113.9")
	if p := page(named); strings.Contains(p, "--trusted-proxies") || strings.Contains(named.log.String(), told) {
		t.Error("it is told of a proxy that was named")
	}
	public := newHouse(t)
	crowd(public, "198.51.100.7", 100, "X-Forwarded-For", "203.0.113.9")
	if p := page(public); strings.Contains(p, "--trusted-proxies") {
		t.Error("a public client made it be told")
	}
}
