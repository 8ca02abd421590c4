package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"foyer/outbox"
)

// sitting is what the file keeps of the clock of the run that has it open, or
// had it last: enough to know, in the same run of the machine, how much time has
// passed since, whatever the wall clock did.
type sitting struct {
	Machine string        `json:"machine,omitempty"` // Machine.Run
	Boot    time.Duration `json:"boot"`              // the boot clock ...
	At      time.Time     `json:"at"`                // ... when the store's time was this
	Ahead   time.Duration `json:"ahead,omitempty"`   // by which the wall clock was ahead of that
	Ended   bool          `json:"ended,omitempty"`   // closed in order
	Owed    owed          `json:"owed,omitzero"`
}

func loadSitting(tx *bolt.Tx) (*sitting, error) {
	v := tx.Bucket(bucketMeta).Get(keyClock)
	if v == nil {
		return nil, nil
	}
	s := &sitting{}
	if err := json.Unmarshal(v, s); err != nil {
		return nil, fmt.Errorf("clock: %w: %v", errDamaged, err)
	}
	return s, nil
}

func (c *clock) sitting() sitting {
	r := c.readSoundly()
	s := sitting{Machine: c.run, Boot: r.boot, At: time.Unix(0, c.at(r.mono)).UTC(), Ahead: time.Duration(c.ahead.Load())}
	if !r.booted {
		s.Machine = ""
	}
	return s
}

// sitting is what the file keeps of this run while it has it open.
func (s *Store) sitting() sitting {
	now := s.clock.sitting()
	now.Owed = s.owed
	return now
}

// resume sets the clock at the start of a run. In the same run of the machine
// the store's time goes on, and step is zero, unless the wall clock was set
// meanwhile: then the store takes its time, and stamps that still matter must
// move by step to keep their distance. In another run (the machine was started
// anew, the file came from elsewhere) nobody knows how much time has passed:
// the wall clock is believed, and unsure tells that such stamps must be kept
// within the bounds of their rules.
func (c *clock) resume(last *sitting) (step time.Duration, unsure bool) {
	r := c.readSoundly()
	same := last != nil && last.Machine != "" && last.Machine == c.run && r.booted && r.boot >= last.Boot
	switch {
	case c.fixed != nil || c.alone:
		return 0, false
	case same:
		due := last.At.Add(r.boot - last.Boot)
		step = r.wall.Sub(due).Round(time.Millisecond) // stamps are whole milliseconds
		if step.Abs() > clockStep {
			return step, false
		}
		c.base, c.booted = due.UnixNano()-int64(r.mono), r.boot-r.mono // what it slept until here is in due
		c.ahead.Store(int64(step))
		return 0, false
	case last != nil && last.Ahead.Abs() > clockStep:
		return last.Ahead, true
	}
	return 0, true
}

// rebase brings the stamps that still matter into a clock that was set. They
// are deadlines and what deadlines are reckoned from; which those are, and how
// far off each may be, sale and outbox say. What has ended keeps its stamps.
type rebase struct {
	step    time.Duration // by which the clock was set
	unsure  bool          // nobody knows how much time has passed
	now     time.Time
	events  rows
	places  rows
	orders  rows
	bounded int // stamps that lay further off than any rule allows
}

func (b *rebase) needed() bool { return b.step != 0 || b.unsure }

// memory rewrites what is in memory and gathers the rows.
func (b *rebase) memory(m *memory) {
	b.events.bucket, b.places.bucket, b.orders.bucket = bucketEvents, bucketPlaces, bucketOrders
	for _, em := range m.events {
		e := em.event.Moved(b.step)
		if b.unsure {
			e = e.Bounded(b.now)
		}
		if e != em.event {
			m.putEvent(e)
			b.events.put(key32(e.Ordinal), encodeJSON(e))
		}
		for v := range em.live {
			p, _ := em.calledPlace(v)
			q := p.Moved(b.step)
			if in := q.Bounded(em.event.Rules, b.now); b.unsure && in != q {
				q = in
				b.bounded++
			}
			if q != p {
				em.putCalled(q)
				b.places.put(em.keyOf(q.Number), encodePlace(q))
			}
		}
	}
	for id, o := range m.orders {
		em, ok := m.events[o.Event]
		if !ok || !o.Status.Open() {
			continue
		}
		q := o.Moved(b.step)
		if in, far := q.Bounded(em.event.Rules, b.now); b.unsure && far {
			q = in
			b.bounded++
		}
		if q == o {
			continue
		}
		m.orders[id] = q
		b.orders.put(orderKey(id), encodeJSON(q))
		for _, s := range q.Seats {
			if h := em.holders[s.ID]; h != nil && h.ID == id {
				em.holders[s.ID] = q
			}
		}
	}
}

// write puts everything on disk.
func (b *rebase) write(tx *bolt.Tx) error {
	if !b.needed() {
		return nil
	}
	messages, bounded, err := b.messages(tx)
	if err != nil {
		return err
	}
	for _, r := range []*rows{&b.events, &b.places, &b.orders, messages} {
		if err := r.write(tx); err != nil {
			return err
		}
	}
	b.bounded += bounded
	return nil
}

// messages gathers those that wait for a time. They live on disk alone.
func (b *rebase) messages(tx *bolt.Tx) (r *rows, bounded int, err error) {
	r = &rows{bucket: bucketOutbox}
	c := tx.Bucket(bucketOutbox).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		m, err := decodeMessage(0, v, false)
		if err != nil {
			return nil, 0, err
		}
		if m.State != outbox.Waiting || m.NextAt.IsZero() || m.Sink == outbox.TaskSink && m.Attempts == 0 { // asked for by the calendar
			continue
		}
		next := m.NextAt.Add(b.step)
		if last := b.now.Add(outbox.LongestPause(m.Attempts)); b.unsure && next.After(last) {
			next = last
			bounded++
		}
		if !next.Equal(m.NextAt) {
			m, _ = decodeMessage(0, v, true)
			m.NextAt = next
			r.put(bytes.Clone(k), encodeMessage(m))
		}
	}
	return r, bounded, nil
}

// tellOfClock warns, once, of what was found.
func (s *Store) tellOfClock(b *rebase) {
	if b.step != 0 {
		s.log.Warn("the machine's clock was set since foyer wrote its deadlines: turns, holds and payments that run were moved with it and keep the time they had left",
			"step", rounded(b.step))
	}
	if b.bounded > 0 {
		s.log.Warn("some deadlines lay further in the future than any rule allows, as after a clock that ran ahead; they now end within their rules from this moment",
			"bounded", b.bounded)
	}
}

// begin writes down that a run has begun, with what that changed. On a disk
// that is full it waits, with all other writes, until writing works again.
func (s *Store) begin(b *rebase) error {
	s.opening = func(tx *bolt.Tx) error {
		if err := b.write(tx); err != nil {
			return err
		}
		return tx.Bucket(bucketMeta).Put(keyClock, encodeJSON(s.sitting()))
	}
	id := 0
	s.noted = s.ahead()
	err := s.db.Update(func(tx *bolt.Tx) error { id = tx.ID(); return s.opening(tx) })
	switch {
	case err == nil:
		s.opening = nil
		s.tellOfClock(b)
		return nil
	case mayRecover(err) && !s.shows(id):
		s.tellOfClock(b)
		err = s.fails(err, id)
		s.log.Error("cannot write at the start", "error", err.Error())
		return nil
	}
	return fmt.Errorf("%w: %s cannot be written (%v); see to the disk and its free space, and start foyer again", ErrUnwritable, s.db.Path(), err)
}

// noteStep writes down that the wall clock was set while foyer runs, with the
// first commit after that. When the machine then loses its power, nothing else
// tells how far the stamps of this run are from the clock of the next one.
func (s *Store) noteStep(tx *bolt.Tx, ahead time.Duration) error {
	if ahead == s.noted {
		return nil
	}
	return tx.Bucket(bucketMeta).Put(keyClock, encodeJSON(s.sitting()))
}

// end writes down that the run ended in order, and what is owed. When that fails
// the next run takes this one for interrupted, which costs a pause and nothing
// else.
func (s *Store) end() {
	if s.opening != nil || s.health.get() != nil {
		return
	}
	last := s.clock.sitting()
	last.Ended = !s.interrupted || s.served // else what was owed is still owed
	last.Owed = s.owedAtEnd()
	err := s.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucketMeta).Put(keyClock, encodeJSON(last)) })
	if err != nil && !errors.Is(err, bolterrors.ErrDatabaseNotOpen) { // closed before
		s.log.Warn("cannot write the end of the run", "error", err.Error())
	}
}
