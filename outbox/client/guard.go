package client

import (
	"fmt"
	"net/netip"
	"syscall"
)

// closed are the ranges that are not the public internet (IANA special-purpose registries, RFC 6890), and the metadata
// services of clouds that live outside of them.
var closed = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),        // this network, unspecified
	netip.MustParsePrefix("10.0.0.0/8"),       // private
	netip.MustParsePrefix("100.64.0.0/10"),    // CGNAT; Alibaba's metadata 100.100.100.200
	netip.MustParsePrefix("127.0.0.0/8"),      // loopback
	netip.MustParsePrefix("168.63.129.16/32"), // Azure's host
	netip.MustParsePrefix("169.254.0.0/16"),   // link-local; metadata 169.254.169.254
	netip.MustParsePrefix("172.16.0.0/12"),    // private
	netip.MustParsePrefix("192.0.0.0/24"),     // protocol assignments; Oracle's metadata 192.0.0.192
	netip.MustParsePrefix("192.0.2.0/24"),     // documentation
	netip.MustParsePrefix("192.88.99.0/24"),   // 6to4 relays
	netip.MustParsePrefix("192.168.0.0/16"),   // private
	netip.MustParsePrefix("198.18.0.0/15"),    // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"),  // documentation
	netip.MustParsePrefix("203.0.113.0/24"),   // documentation
	netip.MustParsePrefix("224.0.0.0/4"),      // multicast
	netip.MustParsePrefix("240.0.0.0/4"),      // reserved, broadcast
	netip.MustParsePrefix("::/96"),            // unspecified, loopback, IPv4-compatible
	netip.MustParsePrefix("::ffff:0:0:0/96"),  // IPv4-translated (RFC 2765)
	netip.MustParsePrefix("64:ff9b:1::/48"),   // local NAT64
	netip.MustParsePrefix("100::/64"),         // discard
	netip.MustParsePrefix("2001::/23"),        // protocol assignments, Teredo, ORCHID
	netip.MustParsePrefix("2001:db8::/32"),    // documentation
	netip.MustParsePrefix("3fff::/20"),        // documentation
	netip.MustParsePrefix("5f00::/16"),        // segment routing
	netip.MustParsePrefix("fc00::/7"),         // ULA; metadata fd00:ec2::254
	netip.MustParsePrefix("fe80::/10"),        // link-local
	netip.MustParsePrefix("fec0::/10"),        // site-local
	netip.MustParsePrefix("ff00::/8"),         // multicast
}

var (
	nat64   = netip.MustParsePrefix("64:ff9b::/96") // an IPv4 address in the last 4 bytes (RFC 6052)
	sixTo4  = netip.MustParsePrefix("2002::/16")    // an IPv4 address in bytes 2 to 5 (RFC 3056)
	localV4 = netip.MustParsePrefix("127.0.0.1/32")
	localV6 = netip.MustParsePrefix("::1/128")
)

// guard decides which addresses may be dialled. It sees the address of the connection itself, after the name was resolved,
// so a name that answers differently the second time gains nothing (DNS rebinding).
type guard struct{ allow []netip.Prefix }

// newGuard allows the given prefixes and, as an exception, the URL's own host when the operator wrote it as a literal IP
// address (exactly that address) or as the word localhost (127.0.0.1 and ::1): who writes http://127.0.0.1:9000 into
// the settings means it. Any other name that leads to a closed address, "localhost." and 0x7f000001 too, is refused.
func newGuard(allow []netip.Prefix, host string) guard {
	var g guard
	for _, p := range allow {
		if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
		}
		g.allow = append(g.allow, p.Masked())
	}
	if a, err := netip.ParseAddr(host); err == nil {
		a = plain(a)
		g.allow = append(g.allow, netip.PrefixFrom(a, a.BitLen()))
	}
	if host == "localhost" {
		g.allow = append(g.allow, localV4, localV6)
	}
	return g
}

// plain takes the zone off an address and an IPv4 address out of its IPv6 form.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

func within(list []netip.Prefix, a netip.Addr) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// permits says whether a may be dialled. An IPv4 address that a gateway would reach through IPv6 is judged as itself.
func (g guard) permits(a netip.Addr) bool {
	a = plain(a)
	if !a.IsValid() {
		return false
	}
	if within(g.allow, a) {
		return true
	}
	b := a.As16()
	switch {
	case nat64.Contains(a):
		a = netip.AddrFrom4([4]byte(b[12:16]))
	case sixTo4.Contains(a):
		a = netip.AddrFrom4([4]byte(b[2:6]))
	}
	return !within(closed, a)
}

// refusal is the error of an address that must not be dialled.
type refusal struct{ addr netip.Addr }

func (r refusal) Error() string {
	return fmt.Sprintf("address %s is in a closed range and is not allowed", r.addr)
}

// control is net.Dialer.Control: it runs for every address, between socket and connect.
func (g guard) control(network, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address %s cannot be read", address)
	}
	if !g.permits(ap.Addr()) {
		return refusal{ap.Addr()}
	}
	return nil
}
