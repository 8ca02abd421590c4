package outbox

import "time"

// Withdraw takes a message back that is not in flight: from then on it does not go. It returns false, and does nothing,
// while the message is in flight, or may be for a run before this one. [Relay.Retry] brings back one that is still in the
// Book.
func (r *Relay) Withdraw(seq uint64) bool {
	now := r.cfg.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if it := r.lanes.items[seq]; it != nil && (it.state == inFlight || it.busy(now)) {
		return false
	}
	r.lanes.Forget(seq, now)
	r.nudge()
	return true
}

// busy tells whether a message that waits may be under way for a run before this one.
func (it *item) busy(now time.Time) bool {
	return it.state == waiting && it.leased && it.nextAt > now.UnixNano()
}
