package main

import (
	"net"
	"strings"
	"testing"
)

// A Foyer that takes connections and never answers is a dead one: nobody waits
// for it for ever.
func TestProxiesDoNotWaitForAFoyerThatHangs(t *testing.T) {
	for name, start := range map[string]func(*testing.T, bool) func(*shopfront, string){"nginx": nginx, "caddy": caddy} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits five seconds
			s := openShop(t, start(t, false))
			s.stop()
			mute, err := net.Listen("tcp", strings.TrimPrefix(s.foyer, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer mute.Close() // the kernel takes connections, and nobody reads them
			s.guest().stay().get("/get").sees(503)
			s.guest().stay().get(hooks + "pay").sees(200)
		})
	}
}
