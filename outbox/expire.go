package outbox

import (
	"context"
	"fmt"
	"time"
)

// expired tells whether a message is given up without another call, since its lane's rule gives it no more time or tries,
// and its outcome then. Leased is one that a run before this one may have called.
func expired(m *Message, r *Rule, leased bool, now time.Time) (o Outcome, dead bool) {
	age := m.age(now)
	if !r.exhausted(m.Attempts, age-deadlineSlack) {
		return o, false
	}
	var why string
	switch {
	case m.Attempts > 0:
		why = fmt.Sprintf("given up after %d attempts in %s", m.Attempts, age.Round(time.Second))
	case leased:
		why = "its deadline passed"
	default:
		why = "its deadline passed before its turn came"
	}
	if leased {
		why += ", and perhaps a call under way when Foyer ended"
	}
	if m.LastError != "" {
		why += ": " + m.LastError
	}
	return Outcome{Seq: m.Seq, State: Dead, Attempts: m.Attempts, LastError: Clip(why), Uncalled: true}, true
}

// Expire lands a message that was started and is given up without a call. It takes no slot of its lane and no place in it:
// the next may go before the outcome is settled, for a receiver never saw this one.
func (l *lanes) Expire(s start) {
	it := l.items[s.seq]
	if it == nil || it.state != inFlight || it.landed {
		return
	}
	ln := it.lane
	l.flight--
	ln.target.flight--
	ln.flight--
	if ln.nth == s.nth { // none has started since
		ln.began = s.before
	}
	l.free(it)
}

// GiveUp lands a message without a call that has failed and waits; false when it does not.
func (l *lanes) GiveUp(seq uint64, now time.Time) bool {
	it := l.items[seq]
	if it == nil || !it.failing(now) {
		return false
	}
	it.lane.leave(it)
	l.waiting--
	it.state = inFlight
	l.free(it)
	return true
}

// free gives back the place of a message that ends without a call; its outcome is still to be settled.
func (l *lanes) free(it *item) {
	it.landed, it.freed = true, true
	l.landed++
	it.lane.give(it.tried)
	l.place(it.lane)
}

// failing tells whether a message has failed and waits, and is not under way for a run before this one.
func (it *item) failing(now time.Time) bool {
	return it.state == waiting && it.tried && !it.held && !it.busy(now)
}

// stricter tells whether a rule leaves less time or fewer tries than another.
func (r *Rule) stricter(was *Rule) bool {
	if was == nil {
		was = &Rule{}
	}
	return r != nil && (r.Attempts > 0 && (was.Attempts == 0 || r.Attempts < was.Attempts) ||
		r.Deadline > 0 && (was.Deadline == 0 || r.Deadline < was.Deadline))
}

// failures lists the messages of a lane that have failed and wait.
func (l *lane) failures() (seqs []uint64) {
	if l.rest == nil {
		return nil
	}
	for _, it := range l.rest.again {
		seqs = append(seqs, it.seq)
	}
	for _, it := range l.rest.later {
		if it.tried && it.state == waiting {
			seqs = append(seqs, it.seq)
		}
	}
	return seqs
}

// rejudge gives up those of failed messages that wait to which a stricter rule leaves nothing, and lets others go at their
// deadline at the latest.
func (r *Relay) rejudge(ctx context.Context, seqs []uint64) {
	for i, seq := range seqs {
		if ctx.Err() != nil {
			return
		}
		m, found, err := r.cfg.Book.Load(seq)
		if err != nil || !found || m.State != Waiting {
			continue // its turn will tell
		}
		now := r.cfg.Now()
		r.mu.Lock()
		if r.lanes.stalled || r.lanes.landed >= r.lanes.backlog {
			r.judging = append(r.judging, seqs[i:]...) // what is settled next wakes the run loop
			r.mu.Unlock()
			return
		}
		o, dead := r.lanes.judge(&m, now)
		r.mu.Unlock()
		if dead {
			r.tell(m, o, m.Sink)
			r.results <- o
		}
	}
	r.nudge()
}

// judge holds a failed message that waits against the rule of its lane: it is given up, or goes at its deadline at the
// latest.
func (l *lanes) judge(m *Message, now time.Time) (o Outcome, dead bool) {
	it := l.items[m.Seq]
	if it == nil || !it.failing(now) {
		return o, false
	}
	rule := it.lane.rule
	if o, dead = expired(m, rule, it.leased, now); dead {
		return o, l.GiveUp(m.Seq, now)
	}
	if at := now.Add(rule.deadline() - m.age(now)).UnixNano(); rule.deadline() > 0 && it.nextAt > at {
		it.lane.leave(it)
		l.waiting--
		it.nextAt = at
		l.enter(it, it.lane)
	}
	return o, false
}

func (r *Rule) deadline() time.Duration {
	if r == nil {
		return 0
	}
	return r.Deadline
}
