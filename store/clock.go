package store

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Machine is what a store asks of the machine it runs on. [ThisMachine] is the
// one at hand; tests make their own.
type Machine struct {
	// Run names the time from one start of the machine to the next; "" is not known.
	Run string
	// Boot is the time since that start, with the time that the machine slept.
	// Nil where the system does not tell.
	Boot func() (time.Duration, error)
	// Wall is the clock that people set. Nil: time.Now.
	Wall func() time.Time
}

const (
	// clockStep is by how much the wall clock must leave the store's time to count
	// as set by hand or by a time server; less is the small change of clocks.
	clockStep = 2 * time.Second
	// clockSettles is how long a new wall time must stand before it is believed.
	clockSettles = 3 * time.Second
	// lookEvery is how often the other clocks of the machine are looked at: a
	// system call for every poll would cost a hundredth of it.
	lookEvery = 50 * time.Millisecond
	// lookWithin is how long reading all clocks may take. A process that was
	// stopped between two of them would compare times that do not belong together.
	lookWithin = 5 * time.Millisecond
)

// clock is the store's time. It starts at some wall time and then runs by
// itself: with the monotonic clock, plus the time that the machine slept where
// the system tells (Linux: CLOCK_BOOTTIME). It follows no step of the wall
// clock, so that no deadline moves; how far the wall clock has gone away from
// it is known beside it, for what was planned by the calendar.
//
// It is safe for concurrent use.
type clock struct {
	fixed  func() time.Time // Options.Now: the time itself, with nothing beside it
	alone  bool             // no machine: nothing is known of what happened before start
	run    string
	boot   func() (time.Duration, error) // nil: sleep goes unnoticed
	wall   func() time.Time
	log    *slog.Logger
	start  time.Time     // zero of the monotonic clock
	booted time.Duration // the boot clock at start
	base   int64         // store time at start, Unix nanoseconds

	slept  atomic.Int64 // nanoseconds since start
	ahead  atomic.Int64 // wall clock minus store time, nanoseconds
	looked atomic.Int64 // monotonic nanoseconds of the last look

	mu    sync.Mutex    // of a look
	shown time.Duration // what a newly set wall clock would make of ahead ...
	since time.Duration // ... and since when it shows that; 0 while it shows nothing new
}

// reading is one look at all clocks.
type reading struct {
	mono, boot time.Duration // since clock.start; since the machine's start
	wall       time.Time
	booted     bool // boot is known
	sound      bool // all were read in one go
}

func newClock(o Options, log *slog.Logger) *clock {
	c := &clock{fixed: o.Now, alone: o.Machine == nil, wall: time.Now, log: log, start: time.Now()}
	if o.Machine != nil {
		c.run, c.boot = o.Machine.Run, o.Machine.Boot
		if o.Machine.Wall != nil {
			c.wall = o.Machine.Wall
		}
	}
	r := c.readSoundly()
	if !r.booted {
		c.boot = nil // a reading that comes later would have nothing to be compared with
	}
	c.booted = r.boot - r.mono
	c.base = r.wall.Add(-r.mono).UnixNano()
	return c
}

func (c *clock) read() (r reading) {
	before := time.Since(c.start)
	if c.boot != nil {
		var err error
		r.boot, err = c.boot()
		r.booted = err == nil
	}
	r.wall = c.wall()
	r.mono = time.Since(c.start)
	r.sound = r.mono-before <= lookWithin
	return r
}

// readSoundly tries for a while; a machine too busy for one sound reading in a
// hundred gets the last one.
func (c *clock) readSoundly() (r reading) {
	for range 100 {
		if r = c.read(); r.sound {
			break
		}
	}
	return r
}

// now is the store's time.
func (c *clock) now() time.Time {
	if c.fixed != nil {
		return c.fixed()
	}
	mono := time.Since(c.start)
	if int64(mono)-c.looked.Load() > int64(lookEvery) {
		c.look()
		mono = time.Since(c.start) // looking may have taken a while
	}
	return time.Unix(0, c.at(mono))
}

func (c *clock) at(mono time.Duration) int64 { return c.base + int64(mono) + c.slept.Load() }

// look compares the clocks, unless somebody is just doing it.
func (c *clock) look() {
	if !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	r := c.read()
	if !r.sound {
		return // the next call tries again
	}
	c.looked.Store(int64(r.mono))
	if r.booted { // the two clocks differ by sleep alone, and sleep never goes back
		if slept := int64(r.boot - c.booted - r.mono); slept > c.slept.Load()+int64(2*lookWithin) {
			c.slept.Store(slept)
		}
	}
	c.compare(r)
}

// compare follows the wall clock once it was set and has stood for a while. The
// caller holds c.mu.
func (c *clock) compare(r reading) {
	shows := time.Duration(r.wall.UnixNano() - c.at(r.mono))
	was := time.Duration(c.ahead.Load())
	switch {
	case (shows - was).Abs() <= clockStep:
		c.since = 0
	case c.since == 0 || (shows-c.shown).Abs() > clockStep:
		c.shown, c.since = shows, r.mono
	case r.mono-c.since >= clockSettles:
		c.since = 0
		c.ahead.Store(int64(shows))
		c.log.Warn("the machine's clock was set. Turns, holds and payments keep their time; planned openings and closings follow the new clock; "+
			"what is written from now on carries the old time until foyer is started again",
			"step", rounded(shows-was), "ahead", rounded(shows))
	}
}

// rounded makes a step fit for a log line.
func rounded(d time.Duration) string { return d.Round(time.Millisecond).String() }
