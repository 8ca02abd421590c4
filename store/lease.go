package store

import (
	"maps"
	"time"

	"foyer/outbox"
)

// owed is what may still go on at receivers for runs that are over. A message
// whose call may be under way is not started before that call must have ended.
type owed struct {
	// At is when a run found that the one before it had been killed, so that nobody
	// knows what was under way: all that waited then, with numbers up to Upto, is
	// not started before Until. Later runs do not begin to count anew.
	At    time.Time `json:"at,omitzero"`
	Upto  uint64    `json:"upto,omitempty"`
	Until time.Time `json:"until,omitzero"`
	// A run that was killed while such a time was running can have started what was
	// not put off then: such messages, with numbers up to AnewUpto, are not started
	// before AnewUntil, whoever runs until then and however it ends.
	AnewUpto  uint64    `json:"anewUpto,omitempty"`
	AnewUntil time.Time `json:"anewUntil,omitzero"`
	// Open are messages whose calls a run left open when it ended in order, and when
	// those must be over.
	Open map[uint64]time.Time `json:"open,omitempty"`
}

// still is what of it is not over.
func (o owed) still(now time.Time) owed {
	o.Open = maps.Clone(o.Open)
	maps.DeleteFunc(o.Open, func(_ uint64, until time.Time) bool { return !until.After(now) })
	if !o.Until.After(now) {
		o.At, o.Upto, o.Until = time.Time{}, 0, time.Time{}
	}
	if !o.AnewUntil.After(now) {
		o.AnewUpto, o.AnewUntil = 0, time.Time{}
	}
	return o
}

// takeOver finds what the runs before owe. Unclear tells that the clock was set
// or that nobody knows how much time has passed: then all counts from now.
func (s *Store) takeOver(last *sitting, unclear bool, now time.Time) {
	s.interrupted = last != nil && !last.Ended || last == nil && s.mem.next.message > 1
	if last != nil {
		s.owed = last.Owed
	}
	if unclear {
		s.interrupted = s.interrupted || !s.owed.Until.IsZero() || !s.owed.AnewUntil.IsZero()
		s.owed.Until, s.owed.AnewUntil = time.Time{}, time.Time{}
		for seq := range s.owed.Open {
			s.owed.Open[seq] = now.Add(s.leaseTime)
		}
	}
	s.owed = s.owed.still(now)
	switch last := s.mem.next.message - 1; {
	case !s.interrupted:
	case s.owed.Until.IsZero():
		s.owed.At, s.owed.Upto, s.owed.Until = now, last, now.Add(s.leaseTime)
	default:
		s.owed.AnewUpto, s.owed.AnewUntil = last, now.Add(s.leaseTime)
	}
}

// LeaveOpen names messages whose deliveries may go on after the end of this run,
// before Close.
func (s *Store) LeaveOpen(seqs []uint64) { s.left = seqs }

// owedAtEnd is what the next run must know.
func (s *Store) owedAtEnd() owed {
	now := s.now()
	o := s.owed.still(now)
	for _, seq := range s.left {
		if o.Open == nil {
			o.Open = map[uint64]time.Time{}
		}
		o.Open[seq] = now.Add(s.leaseTime)
	}
	return o
}

// logSink takes messages in this process: none outlives it.
const logSink = "log:"

// laneName is a sink and a key.
type laneName struct{ sink, key string }

// lease puts off messages that may be under way at their receivers for a run
// before this one. Stuck remembers lanes between pages: those in which the run
// that was killed last cannot have started a message that it had not tried,
// because one before it was put off then.
func (s *Store) lease(msgs []outbox.Message, now time.Time, stuck map[laneName]bool) {
	for i := range msgs {
		m := &msgs[i]
		if m.State != outbox.Waiting || m.Sink == logSink || m.NextAt.After(now) {
			continue
		}
		lane, until, before := laneName{m.Sink, m.Key}, s.owed.Open[m.Seq], s.interrupted
		if until.IsZero() && m.Seq <= s.owed.Upto && !m.NextAt.After(s.owed.At) {
			until, before = s.owed.Until, true
		}
		switch {
		case until.After(now):
			if m.Attempts == 0 && before && s.owed.At.Before(now) {
				stuck[lane] = true
			}
		case m.Seq <= s.owed.AnewUpto && s.owed.AnewUntil.After(now) && (m.Attempts > 0 || !stuck[lane]):
			until = s.owed.AnewUntil
		default:
			continue
		}
		m.NextAt, m.Held = until, true
	}
}
