package client

import (
	"net/netip"
	"testing"
)

func TestClosedAddressesAreRefusedInEveryNotation(t *testing.T) {
	g := newGuard(nil, "hooks.example")
	for _, a := range []string{
		"127.0.0.1", "127.255.255.254", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.0.1", "169.254.169.254", "100.64.0.1",
		"100.100.100.200", "0.0.0.0", "0.1.2.3", "224.0.0.1", "255.255.255.255", "240.0.0.1", "192.0.0.192", "198.18.0.1", "168.63.129.16",
		"::", "::1", "::7f00:1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "fec0::1",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0:10.0.0.1",
		"64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::8.8.8.8",
		"2002:7f00:1::", "2002:a00:1::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:db8::1",
	} {
		if g.permits(netip.MustParseAddr(a)) {
			t.Errorf("%s may be dialled", a)
		}
	}
	for _, a := range []string{
		"8.8.8.8", "1.1.1.1", "172.32.0.1", "172.15.255.255", "100.128.0.1", "100.63.255.255", "169.253.1.1", "11.0.0.1", "223.255.255.255",
		"2606:4700:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1",
	} {
		if !g.permits(netip.MustParseAddr(a)) {
			t.Errorf("%s is refused", a)
		}
	}
	if g.permits(netip.Addr{}) || g.control("tcp", "nonsense", nil) == nil {
		t.Error("what is no address may be dialled")
	}
}

func TestAllowOpensWhatItNamesAndNoMore(t *testing.T) {
	allow := []netip.Prefix{netip.MustParsePrefix("10.20.0.0/16"), netip.MustParsePrefix("::ffff:192.168.7.0/120"), netip.MustParsePrefix("fd12::/32")}
	g := newGuard(allow, "hooks.example")
	for a, want := range map[string]bool{
		"10.20.30.40": true, "::ffff:10.20.30.40": true, "10.21.0.1": false, "192.168.7.9": true, "192.168.8.9": false,
		"fd12::5": true, "fd13::5": false, "127.0.0.1": false, "64:ff9b::10.20.30.40": false,
	} {
		if got := g.permits(netip.MustParseAddr(a)); got != want {
			t.Errorf("%s: %v, want %v", a, got, want)
		}
	}
}

func TestTheOperatorsOwnLiteralAddressIsAllowedExactly(t *testing.T) {
	for host, cases := range map[string]map[string]bool{
		"127.0.0.1":      {"127.0.0.1": true, "::ffff:127.0.0.1": true, "127.0.0.2": false, "::1": false},
		"::1":            {"::1": true, "127.0.0.1": false},
		"fe80::1%eth0":   {"fe80::1%eth0": true, "fe80::2%eth0": false},
		"localhost":      {"127.0.0.1": true, "::1": true, "127.0.0.2": false, "10.0.0.1": false},
		"localhost.":     {"127.0.0.1": false},
		"0x7f000001":     {"127.0.0.1": false},
		"127.1":          {"127.0.0.1": false},
		"my.localhost":   {"127.0.0.1": false},
		"metadata.local": {"169.254.169.254": false},
	} {
		g := newGuard(nil, host)
		for a, want := range cases {
			if got := g.permits(netip.MustParseAddr(a)); got != want {
				t.Errorf("URL host %s, address %s: %v, want %v", host, a, got, want)
			}
		}
	}
}
