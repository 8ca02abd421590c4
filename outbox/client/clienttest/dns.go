// Package clienttest lets tests say what names of hosts resolve to.
package clienttest

import (
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
)

// Answer makes every host name resolve to addrs, one per look-up, the last one for ever after. It speaks DNS over a
// pipe (RFC 1035, 4.2.2: two bytes of length first), so the whole path of a client is under test:
// resolver, dialer, guard.
func Answer(t *testing.T, addrs ...netip.Addr) {
	old := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = old })
	var mu sync.Mutex
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			query := make([]byte, 2048)
			if _, err := io.ReadFull(server, query[:2]); err != nil {
				return
			}
			query = query[2 : 2+int(query[0])<<8+int(query[1])]
			if _, err := io.ReadFull(server, query); err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			answer, used := reply(query, addrs[0])
			if used && len(addrs) > 1 {
				addrs = addrs[1:]
			}
			_, _ = server.Write(append([]byte{byte(len(answer) >> 8), byte(len(answer))}, answer...))
		}()
		return client, nil
	}}
}

// reply answers one DNS question with a, if it asks for a's kind of address.
func reply(query []byte, a netip.Addr) ([]byte, bool) {
	end := 12
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	question := query[12 : end+5]
	kind := byte(1) // A
	if a.Is6() {
		kind = 28 // AAAA
	}
	used := question[len(question)-3] == kind
	out := []byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}
	out = append(out, question...)
	if used {
		out[7] = 1
		out = append(out, 0xc0, 12, 0, kind, 0, 1, 0, 0, 0, 0, 0, byte(a.BitLen()/8))
		out = append(out, a.AsSlice()...)
	}
	return out, used
}
