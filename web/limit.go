package web

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"foyer/sale"
)

const (
	limitShards = 64
	// limitEach bounds one shard: 64 x 2048 addresses, about 10 MB in all. When a
	// shard is full its idle addresses go, or else the one closest to idle among a few.
	limitEach  = 2048
	limitBurst = 4 // seconds' worth
)

// limiter is a rate limit per address by the generic cell rate algorithm (ITU-T
// I.371): per address it keeps one time, at which all that was used has flowed off.
type limiter struct {
	every  time.Duration // between two requests at the steady rate; 0 is no limit
	seed   maphash.Seed
	shards [limitShards]limitShard
}

type limitShard struct {
	mu    sync.Mutex
	tat   map[netip.Addr]time.Time // theoretical arrival time
	swept time.Time                // when idle addresses were last looked for
}

func newLimiter(perSecond int) *limiter {
	l := &limiter{seed: maphash.MakeSeed()}
	if perSecond > 0 {
		l.every = time.Second / time.Duration(perSecond)
	}
	for i := range l.shards {
		l.shards[i].tat = map[netip.Addr]time.Time{}
	}
	return l
}

// wait is how long the address must wait before its next request is taken; zero
// means that it is taken now.
func (l *limiter) wait(addr netip.Addr, now time.Time) time.Duration {
	if l.every == 0 {
		return 0
	}
	if addr = addr.Unmap(); addr.Is6() {
		if p, err := addr.WithZone("").Prefix(64); err == nil { // one customer has a /64
			addr = p.Addr()
		}
	}
	s := &l.shards[maphash.Comparable(l.seed, addr)%limitShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	tat, known := s.tat[addr]
	if tat.Before(now) {
		tat = now
	}
	burst := limitBurst * time.Second
	if ahead := tat.Add(l.every).Sub(now) - burst; ahead > 0 {
		return ahead
	}
	if !known && len(s.tat) >= limitEach {
		s.makeRoom(now)
	}
	s.tat[addr] = tat.Add(l.every)
	return 0
}

// makeRoom forgets every idle address, at most once a second, or else one.
func (s *limitShard) makeRoom(now time.Time) {
	if now.Sub(s.swept) >= time.Second {
		s.swept = now
		for a, tat := range s.tat {
			if !tat.After(now) {
				delete(s.tat, a)
			}
		}
		if len(s.tat) < limitEach {
			return
		}
	}
	var idlest netip.Addr
	looked := 0
	for a, tat := range s.tat { // maps are walked from a random place
		if looked == 0 || tat.Before(s.tat[idlest]) {
			idlest = a
		}
		if looked++; looked == 16 {
			break
		}
	}
	delete(s.tat, idlest)
}

// limited refuses an address that asks too often. An address that cannot be
// told (a socket file) shares one bucket.
func (s *Server) limited(c echo.Context) error {
	if s.limit.every == 0 {
		return nil
	}
	addr, _ := netip.ParseAddr(s.address(c.Request()))
	if d := s.limit.wait(addr, time.Now()); d > 0 {
		return &sale.Refusal{Code: "too_many_requests", Detail: "Too many requests come from your address. Wait a moment and try again.", RetryAfter: d}
	}
	return nil
}
