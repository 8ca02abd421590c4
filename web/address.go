package web

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/labstack/echo/v4"
)

// clientOf is the address that a request really comes from: the first one from
// the right that is no trusted proxy, read from the peer of the connection and
// then from X-Forwarded-For. Only a proxy that is trusted is asked whom it got
// the request from, so what a client writes to the left of that counts nothing.
// An entry that is no address ends the search at the proxy that wrote it. The
// zero Addr means that the peer cannot be told (a socket file).
func clientOf(r *http.Request, proxies []netip.Prefix) netip.Addr {
	from := parseAddr(r.RemoteAddr)
	if len(proxies) == 0 || !inAny(proxies, from) {
		return from
	}
	lines := r.Header[echo.HeaderXForwardedFor]
	for _, line := range slices.Backward(lines) {
		for more := true; more; {
			i := strings.LastIndexByte(line, ',')
			entry := line[i+1:]
			if more = i >= 0; more {
				line = line[:i]
			}
			next := parseAddr(entry)
			if !next.IsValid() {
				return from
			}
			if from = next; !inAny(proxies, from) {
				return from
			}
		}
	}
	return from
}

// parseAddr reads an address with or without a port, brackets and zone, as
// proxies write it; an IPv4 address in IPv6 form is IPv4.
func parseAddr(text string) netip.Addr {
	text = strings.TrimSpace(text)
	inner, bracketed := strings.CutPrefix(text, "[")
	if bracketed && strings.HasSuffix(inner, "]") {
		text = inner[:len(inner)-1]
	} else if bracketed || strings.Count(text, ":") == 1 {
		p, _ := netip.ParseAddrPort(text) // the zero Addr of what is none
		return p.Addr().WithZone("").Unmap()
	}
	a, _ := netip.ParseAddr(text)
	return a.WithZone("").Unmap()
}

func inAny(networks []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool {
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		return p.Contains(a)
	})
}

// addrText writes an address, "" for none.
func addrText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// client is the address that asks; the zero Addr when it cannot be told.
func (s *Server) client(r *http.Request) netip.Addr { return clientOf(r, s.conf.Proxies) }

// customer is what one customer has of the addresses: one of IPv4, a /64 of IPv6.
func customer(a netip.Addr) netip.Addr { return masked(a, 32, 64) }

// network is the neighbourhood of an address: a /24 of IPv4, a /48 of IPv6.
func network(a netip.Addr) netip.Addr { return masked(a, 24, 48) }

func masked(a netip.Addr, four, six int) netip.Addr {
	a = a.WithZone("").Unmap()
	bits := six
	if a.Is4() {
		bits = four
	}
	p, err := a.Prefix(bits)
	if err != nil { // no address
		return netip.Addr{}
	}
	return p.Addr()
}

// hidden notices a proxy that nobody named: then all visitors seem to come from
// one private address and share its limit.
type hidden struct {
	passed atomic.Int64 // requests that a private neighbour says it has passed on
	direct atomic.Int64 // requests from public addresses
	last   atomic.Pointer[netip.Addr]
}

// hiddenAfter is how many requests must have been passed on before it is said.
const hiddenAfter = 20

// note looks at a request; true is told once, when there is enough to say so.
func (h *hidden) note(r *http.Request) bool {
	from := parseAddr(r.RemoteAddr)
	if !from.IsLoopback() && !from.IsPrivate() && !from.IsLinkLocalUnicast() {
		h.direct.Add(1)
		return false
	}
	if len(r.Header[echo.HeaderXForwardedFor]) == 0 {
		return false
	}
	if old := h.last.Load(); old == nil || *old != from {
		h.last.Store(&from)
	}
	return h.passed.Add(1) == hiddenAfter && h.proxy() != ""
}

// proxy is the address of the proxy that nobody named, or "".
func (h *hidden) proxy() string {
	passed := h.passed.Load()
	if passed < hiddenAfter || h.direct.Load() > passed/10 {
		return ""
	}
	return h.last.Load().String()
}
