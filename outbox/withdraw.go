package outbox

// Withdraw takes a message back that is not in flight: from then on it does not go. It returns false, and does nothing,
// while the message is in flight. [Relay.Retry] brings back one that is still in the Book.
func (r *Relay) Withdraw(seq uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if it := r.lanes.items[seq]; it != nil && it.state == inFlight {
		return false
	}
	r.lanes.Forget(seq)
	r.nudge()
	return true
}
