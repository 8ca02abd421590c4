package web

import (
	"hash/maphash"
	"net/http"
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
	limitLeast = 16 // addresses that a shard keeps without looking for idle ones
	limitBurst = 4  // seconds' worth of visitors and joins

	// Wrong keys of one address: so many at once, and so many per second after
	// that. A key of eight random letters and digits stands for thousands of years.
	wrongKeys          = 500
	wrongKeysPerSecond = 10
)

// limiter is a rate limit per address by the generic cell rate algorithm (ITU-T
// I.371): per address it keeps one time, at which all that was used has flowed off.
type limiter struct {
	every  time.Duration // between two requests at the steady rate; 0 is no limit
	burst  time.Duration // how far ahead of the steady rate an address may be
	seed   maphash.Seed
	shards [limitShards]limitShard
}

type limitShard struct {
	mu    sync.Mutex
	tat   map[netip.Addr]time.Time // theoretical arrival time
	room  int                      // how many may be kept before idle ones are looked for
	swept time.Time                // when idle addresses were last looked for
}

// newLimiter makes a limit of so many requests per second, 0 for none, with
// bursts of so many.
func newLimiter(perSecond, burst int) *limiter {
	l := &limiter{seed: maphash.MakeSeed()}
	if perSecond > 0 {
		l.every = time.Second / time.Duration(perSecond)
		l.burst = l.every * time.Duration(burst)
	}
	for i := range l.shards {
		l.shards[i].tat, l.shards[i].room = map[netip.Addr]time.Time{}, limitLeast
	}
	return l
}

// wait is how long the address must wait before its next request is taken; zero
// means that it is taken now.
func (l *limiter) wait(addr netip.Addr, now time.Time) time.Duration { return l.look(addr, now, true) }

// full is what wait would tell, and takes nothing.
func (l *limiter) full(addr netip.Addr, now time.Time) time.Duration { return l.look(addr, now, false) }

func (l *limiter) look(addr netip.Addr, now time.Time, take bool) time.Duration {
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
	if ahead := tat.Add(l.every).Sub(now) - l.burst; ahead > 0 {
		return ahead
	}
	if !take {
		return 0
	}
	if !known && len(s.tat) >= s.room {
		s.makeRoom(now)
	}
	s.tat[addr] = tat.Add(l.every)
	return 0
}

// makeRoom forgets every idle address, at most once a second, and leaves room
// for as many again as were not idle, so that memory follows the crowd and each
// address is looked at a few times at most. Where there is no more room it
// forgets the idlest of a few.
func (s *limitShard) makeRoom(now time.Time) {
	if now.Sub(s.swept) >= time.Second {
		s.swept = now
		for a, tat := range s.tat {
			if !tat.After(now) {
				delete(s.tat, a)
			}
		}
	}
	s.room = min(max(limitLeast, 2*len(s.tat)), limitEach)
	if len(s.tat) < s.room {
		return
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
	if d := s.limit.wait(s.client(c.Request()), time.Now()); d > 0 {
		return &sale.Refusal{Code: "too_many_requests", Detail: "Too many requests come from your address. Wait a moment and try again.", RetryAfter: d}
	}
	return nil
}

// client is the address that asks; the zero Addr when it cannot be told.
func (s *Server) client(r *http.Request) netip.Addr {
	addr, _ := netip.ParseAddr(s.address(r))
	return addr
}

// authenticate finds the key of a secret. An address that has shown too many
// wrong ones is refused whatever it shows, for else it could go on guessing
// among the refusals.
func (s *Server) authenticate(c echo.Context, secret string) (*sale.Key, error) {
	if secret == "" {
		return nil, errNoKey
	}
	from, now := s.client(c.Request()), time.Now()
	if d := s.wrongKeys.full(from, now); d > 0 {
		return nil, &sale.Refusal{Code: "too_many_requests", Detail: "Too many wrong keys came from your address. Wait a moment and try again.", RetryAfter: d}
	}
	k, ok := s.office.Authenticate(secret)
	if !ok {
		s.wrongKeys.wait(from, now)
		return nil, errNoKey
	}
	return k, nil
}
