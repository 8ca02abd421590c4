package web

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/sale"
)

const (
	limitShards = 64
	// limitEach bounds one shard: 64 x 2048 names, about 10 MB a limiter. When a
	// shard is full its idle names go, or else the one closest to idle among a few.
	limitEach  = 2048
	limitLeast = 16 // names that a shard keeps without looking for idle ones
	limitBurst = 4  // seconds' worth of visitors and joins

	// What one visitor may join, and what a whole network may, as parts and
	// multiples of what one address may.
	limitVisitor = 10
	limitNetwork = 4

	// Wrong keys, and wrong codes, of one address: so many at once, and so many per
	// second after that. A key of eight random letters and digits stands for
	// thousands of years.
	wrongKeys          = 500
	wrongKeysPerSecond = 10
)

// limiter is a rate limit per name by the generic cell rate algorithm (ITU-T
// I.371): per name it keeps one time, at which all that was used has flowed off.
type limiter[K comparable] struct {
	every  time.Duration // between two requests at the steady rate; 0 is no limit
	burst  time.Duration // how far ahead of the steady rate a name may be
	seed   maphash.Seed
	shards [limitShards]limitShard[K]
}

type limitShard[K comparable] struct {
	mu    sync.Mutex
	tat   map[K]time.Time // theoretical arrival time
	room  int             // how many may be kept before idle ones are looked for
	swept time.Time       // when idle names were last looked for
}

// newLimiter makes a limit of so many requests per second, 0 for none, with
// bursts of so many.
func newLimiter[K comparable](perSecond, burst int) *limiter[K] {
	l := &limiter[K]{seed: maphash.MakeSeed()}
	if perSecond > 0 {
		l.every = time.Second / time.Duration(perSecond)
		l.burst = l.every * time.Duration(burst)
	}
	for i := range l.shards {
		l.shards[i].tat, l.shards[i].room = map[K]time.Time{}, limitLeast
	}
	return l
}

// wait is how long a name must wait before its next request is taken; zero
// means that it is taken now.
func (l *limiter[K]) wait(name K, now time.Time) time.Duration { return l.look(name, now, true) }

// full is what wait would tell, and takes nothing.
func (l *limiter[K]) full(name K, now time.Time) time.Duration { return l.look(name, now, false) }

func (l *limiter[K]) look(name K, now time.Time, take bool) time.Duration {
	if l.every == 0 {
		return 0
	}
	s := &l.shards[maphash.Comparable(l.seed, name)%limitShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	tat, known := s.tat[name]
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
	s.tat[name] = tat.Add(l.every)
	return 0
}

// makeRoom forgets every idle name, at most once a second, and leaves room
// for as many again as were not idle, so that memory follows the crowd and each
// name is looked at a few times at most. Where there is no more room it
// forgets the idlest of a few.
func (s *limitShard[K]) makeRoom(now time.Time) {
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
	var idlest K
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

// limits are those on new visitors and joins. A limit slows a crowd down and
// says for how long; it keeps nobody out for good.
type limits struct {
	visitor *limiter[uuid.UUID]  // joins alone
	address *limiter[netip.Addr] // by customer
	network *limiter[netip.Addr] // by network
}

func newLimits(perSecond int) limits {
	visitor := 0
	if perSecond > 0 {
		visitor = max(1, perSecond/limitVisitor)
	}
	return limits{
		newLimiter[uuid.UUID](visitor, limitBurst*visitor),
		newLimiter[netip.Addr](perSecond, limitBurst*perSecond),
		newLimiter[netip.Addr](limitNetwork*perSecond, limitBurst*limitNetwork*perSecond),
	}
}

// limited refuses an address or a network that asks too often. Addresses that
// cannot be told (a socket file) share one bucket. What is refused is not counted.
func (s *Server) limited(c echo.Context) error {
	if s.limits.address.every == 0 {
		return nil
	}
	from, now := s.client(c.Request()), time.Now()
	if d := s.limits.network.full(network(from), now); d > 0 {
		return tooMany("Too many requests come from your network. Wait a moment and try again.", d)
	}
	if d := s.limits.address.wait(customer(from), now); d > 0 {
		return tooMany("Too many requests come from your address. Wait a moment and try again.", d)
	}
	s.limits.network.wait(network(from), now)
	return nil
}

// limitedJoin is limited, and refuses a visitor who joins too often, wherever
// that comes from.
func (s *Server) limitedJoin(c echo.Context, visitor uuid.UUID) error {
	if d := s.limits.visitor.full(visitor, time.Now()); d > 0 {
		return tooMany("You join too often. Wait a moment and try again; your place is kept.", d)
	}
	if err := s.limited(c); err != nil {
		return err
	}
	s.limits.visitor.wait(visitor, time.Now())
	return nil
}

func tooMany(detail string, d time.Duration) error {
	return &sale.Refusal{Code: "too_many_requests", Detail: detail, RetryAfter: d}
}

// authenticate finds the key of a secret. An address that has shown too many
// wrong ones is refused whatever it shows, for else it could go on guessing
// among the refusals.
func (s *Server) authenticate(c echo.Context, secret string) (*sale.Key, error) {
	if secret == "" {
		return nil, errNoKey
	}
	from, now := customer(s.client(c.Request())), time.Now()
	if d := s.wrongKeys.full(from, now); d > 0 {
		return nil, tooMany("Too many wrong keys came from your address. Wait a moment and try again.", d)
	}
	k, ok := s.office.Authenticate(secret)
	if !ok {
		s.wrongKeys.wait(from, now)
		return nil, errNoKey
	}
	return k, nil
}
