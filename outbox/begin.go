package outbox

import (
	"context"
	"slices"
	"time"
)

// Slot is the booked pace of a lane: its next start is not before At.
type Slot struct {
	Sink, Key string
	At        time.Time
}

// lead is how much later than it seems due a slot is booked at first. The call itself is made after the commit, and the
// next slot counts from the call: with the lead, what is on disk is never sooner than that, so that a process that dies
// at any moment leaves the pace whole. A commit that takes longer is booked again, with twice the lead.
const lead = 250 * time.Millisecond

// slotsAtOnce bounds the slots that one transaction books for a rule.
const slotsAtOnce = 1000

// Resume tells the relay which slots a run before this one has booked. It is called before Run and after SetRule.
func (r *Relay) Resume(slots []Slot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.cfg.Now()
	for _, s := range slots {
		rule := r.lanes.rules.of(s.Sink, s.Key)
		if rule.Step() == 0 {
			continue
		}
		last := now.Add(rule.Step() + lead) // no start was later than now; a rule that was changed or a clock that was set may leave more
		r.lanes.SetSlot(s.Sink, s.Key, earliest(s.At, last))
	}
}

// SetRule gives a rule to the lanes of a key, or of all keys that begin like a pattern ending with an asterisk; nil takes
// it away. The rule of a key comes before patterns, a longer pattern before a shorter one. Slots that come later by it are
// booked when it returns. It is called once at a time.
func (r *Relay) SetRule(pattern string, rule *Rule) {
	var later []Slot
	now := r.cfg.Now()
	r.land(func() {
		var judge []uint64
		later, judge = r.lanes.SetRule(pattern, rule, now)
		r.judging = append(r.judging, judge...)
	})
	// What comes at once books itself, and a booking from here must not come after that.
	later = slices.DeleteFunc(later, func(s Slot) bool { return s.At.Before(now.Add(lead)) })
	for part := range slices.Chunk(later, slotsAtOnce) {
		for i := range part {
			part[i].At = part[i].At.Add(lead) // as the start did
		}
		if err := r.cfg.Book.Begin(part); err != nil {
			r.cfg.Log.Error("slots of a slower rule cannot be booked", "rule", pattern, "slots", len(part), "error", err)
		}
	}
}

// begin makes the starts of lanes with a pace: it loads them, books their slots, all that have come up at once in one
// transaction, and then lets them go, so that nothing is left to do between the booking and the call. It ends when starts is
// closed.
func (r *Relay) begin(ctx, tries context.Context) {
	for s := range r.starts {
		batch := []start{r.loaded(s)}
		for range len(r.starts) {
			batch = append(batch, r.loaded(<-r.starts))
		}
		batch = slices.DeleteFunc(batch, func(s start) bool { return s.message == nil })
		for ahead := lead; len(batch) > 0; ahead *= 2 {
			batch = r.bookSlots(ctx, tries, batch, ahead)
		}
	}
}

// loaded is a start with its message, or without one when there is nothing to be called.
func (r *Relay) loaded(s start) start {
	var o Outcome
	var tried bool
	if s.message, o, tried = r.load(s); tried {
		r.land(func() { r.lanes.Landed(o) })
		r.results <- o
	}
	return s
}

// bookSlots books and lets go what it can, and returns those whose commit took too long.
func (r *Relay) bookSlots(ctx, tries context.Context, batch []start, ahead time.Duration) (late []start) {
	slots := make([]Slot, len(batch))
	for i, s := range batch {
		slots[i] = Slot{s.sink, s.key, s.slot.Add(ahead)}
	}
	if err := r.cfg.Book.Begin(slots); err != nil {
		r.cfg.Log.Error("starts cannot be booked, trying again", "starts", len(batch), "error", err)
		r.land(func() {
			for _, s := range batch {
				r.lanes.Release(s.seq, r.cfg.Now().Add(loadPause))
			}
		})
		return nil
	}
	now := r.cfg.Now()
	r.land(func() {
		for i, s := range batch {
			if s.slot = r.lanes.Called(s.seq, now); s.slot.After(slots[i].At) {
				late = append(late, s)
				continue
			}
			r.tries.Go(func() { r.work(ctx, tries, s) })
		}
	})
	return late
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
