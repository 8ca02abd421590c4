package outbox

import (
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// DefaultTimeout ends an attempt. It is also how long a receiver may go on with one after this process has died.
const DefaultTimeout = 15 * time.Second

// Config is what a [Relay] needs. Book is required; everything else has a default.
type Config struct {
	Book    Book
	Sinks   map[string]Sink // by the name that Message.Sink carries
	Workers int             // attempts at a time; default 32, or what all sinks together may have if that is more
	PerSink int             // attempts at a time per sink, so that a dead target does not use up all workers; default 16
	Many    map[string]int  // those of a sink that has many receivers, in place of PerSink
	Timeout time.Duration   // of one attempt; default DefaultTimeout (Standard Webhooks asks for 15 to 30 s)
	Now     func() time.Time
	Rand    func() float64  // in [0, 1), for jitter; called from many goroutines
	Log     *slog.Logger    // default: says nothing
	Rules   map[string]Rule // of lanes that no rule of a key or pattern fits, by sink
	MaxAge  time.Duration   // patience: a message that fails so long after its Since, after 7 tries at least, is dead; default 72 h
}

func (c *Config) defaults() {
	if c.PerSink <= 0 {
		c.PerSink = 16
	}
	if c.Workers <= 0 {
		for sink := range c.Sinks {
			c.Workers += c.perSink(sink)
		}
		c.Workers = max(32, c.Workers)
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.MaxAge <= 0 {
		c.MaxAge = defaultMaxAge
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Sinks = maps.Clone(c.Sinks)
}

// perSink is how many attempts a sink may have at a time.
func (c *Config) perSink(sink string) int {
	if n := c.Many[sink]; n > 0 {
		return n
	}
	return c.PerSink
}

// Relay delivers what it is offered, see the package comment. All methods may be called from any goroutine, before, while
// and after Run runs.
type Relay struct {
	cfg     Config
	wake    chan struct{}  // there may be something to start; holds one
	starts  chan start     // of lanes with a pace, to be booked; never full
	results chan Outcome   // from attempts to the settler; never full
	tries   sync.WaitGroup // attempts and look-ups that run

	mu        sync.Mutex
	lanes     *lanes
	lookups   []uint64 // retried by staff, but not known here
	judging   []uint64 // failed, and to be judged by a stricter rule
	paced     []start  // of lanes with a pace, found by a worker
	strangers map[string]bool
	delivered uint64
	failed    uint64
	cutOff    []uint64 // messages whose attempts Run cut off
	unsettled int      // outcomes that Run had to leave unsettled
}

// NewRelay returns a relay that delivers once Run runs. It panics without a Book.
func NewRelay(cfg Config) *Relay {
	if cfg.Book == nil {
		panic("outbox: a relay needs a Book")
	}
	cfg.defaults()
	names := slices.Sorted(maps.Keys(cfg.Sinks))
	r := &Relay{
		cfg:       cfg,
		wake:      make(chan struct{}, 1),
		starts:    make(chan start, cfg.Workers),
		results:   make(chan Outcome, cfg.Workers+maxBacklog),
		lanes:     newLanes(cfg.Workers, cfg.PerSink, names),
		strangers: map[string]bool{},
	}
	for _, sink := range names {
		r.lanes.target(sink).limit = cfg.perSink(sink)
	}
	r.lanes.rules.sinks = map[string]*Rule{}
	for sink, rule := range cfg.Rules {
		r.lanes.rules.sinks[sink] = &rule
	}
	return r
}

// Offer takes in messages that are committed: after each commit, and all pending ones at start (dead ones too if
// staff's numbers should include them). It does no I/O and never waits for a delivery. Only Seq, Sink, Key, NextAt,
// Attempts, State and CreatedAt are kept, the body is loaded when it is sent. A message that is known already is left
// alone. A message whose sink is not configured waits; it flows at the next start that has the sink.
func (r *Relay) Offer(msgs []Message) {
	const chunk = 1000 // a start with a million messages must not hold up the rest
	for part := range slices.Chunk(msgs, chunk) {
		r.mu.Lock()
		for i := range part {
			r.lanes.Add(part[i])
			r.meet(part[i].Sink)
		}
		r.mu.Unlock()
		r.nudge()
	}
}

// meet says once per unknown sink that its messages wait. The caller holds r.mu.
func (r *Relay) meet(sink string) {
	if r.cfg.Sinks[sink] != nil || r.strangers[sink] {
		return
	}
	r.strangers[sink] = true
	r.cfg.Log.Warn("messages wait for a sink that is not configured", "sink", Mask(sink))
}

// Retry lets a message go now. The store must have set its row to Waiting and should have set Attempts to 0 and Since to
// now, which gives it the patience of a new one. A dead message comes back at its place by Seq; messages of its lane
// that were delivered meanwhile stay delivered, so it may arrive behind younger ones. If its sink was stopped by a 410, the sink is started again.
// One that may be under way for a run before this one (see Message.Held) goes when that is over.
func (r *Relay) Retry(seq uint64) {
	now := r.cfg.Now()
	r.mu.Lock()
	if !r.lanes.Retry(seq, now) {
		r.lookups = append(r.lookups, seq)
	}
	r.mu.Unlock()
	r.nudge()
}

// Forget drops a message that staff dropped. If it is in flight that attempt goes on, and is the last; if it may be for a run
// before this one, its lane waits until that is over.
func (r *Relay) Forget(seq uint64) {
	now := r.cfg.Now()
	r.mu.Lock()
	r.lanes.Forget(seq, now)
	r.mu.Unlock()
	r.nudge()
}

// Stats is how things stand.
type Stats struct {
	Waiting      int           // messages that wait, for their turn, their time, or a sink
	InFlight     int           // messages that are being delivered or settled
	Dead         int           // messages given up, as far as they were offered or died here
	BlockedLanes int           // lanes whose first message has failed and is not decided, or whose sink is stopped or unknown
	PausedLanes  int           // lanes with messages whose rule lets nothing start
	Delivered    uint64        // since the start; settled only
	Failed       uint64        // failed attempts since the start; settled only
	Oldest       time.Duration // age, by Config.Now, of the oldest message that waits or is in flight; 0 if there is none
}

// Stats returns the present numbers.
func (r *Relay) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Stats{
		Waiting: r.lanes.waiting, InFlight: r.lanes.flight + r.lanes.landed, Dead: r.lanes.dead,
		BlockedLanes: r.lanes.blocked(), PausedLanes: r.lanes.paused(), Delivered: r.delivered, Failed: r.failed,
	}
	if at := r.lanes.age.oldest(); at != 0 {
		s.Oldest = max(0, r.cfg.Now().Sub(time.Unix(0, at)))
	}
	return s
}

// LeftOpen gives, once Run has returned, the numbers of the messages whose attempts it cut off or did not see end, and of
// those whose outcomes are not settled. Their receivers may be busy with them for up to DefaultTimeout.
func (r *Relay) LeftOpen() []uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	open := slices.Clone(r.cutOff)
	for seq, it := range r.lanes.items {
		if it.state == inFlight && !it.freed && !slices.ContainsFunc(r.paced, func(s start) bool { return s.seq == seq }) {
			open = append(open, seq)
		}
	}
	slices.Sort(open)
	return open
}

// nudge makes the run loop look again. The change it tells of is made before, so no wake-up can be lost: either the loop
// has not looked yet, or it finds the token.
func (r *Relay) nudge() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// nameOf is how a sink is printed.
func (r *Relay) nameOf(sink string) string {
	if s, ok := r.cfg.Sinks[sink].(fmt.Stringer); ok {
		return s.String()
	}
	return Mask(sink)
}
