package outbox

import "time"

// Landed says that the call of a message in flight has ended. Another call may take its place among the workers; its
// lane waits until the outcome is settled.
func (l *lanes) Landed(o Outcome) {
	it := l.items[o.Seq]
	if it == nil || it.state != inFlight || it.landed {
		return
	}
	it.landed = true
	l.landed++
	l.flight--
	it.lane.target.flight--
	it.lane.target.told(!o.Down, it.round, l.clock)
}

// Done takes the settled outcome of a message in flight. A late outcome of one that is not in flight is ignored.
func (l *lanes) Done(o Outcome) {
	l.Landed(o)
	it := l.land(o.Seq)
	if it == nil {
		return
	}
	switch {
	case o.Delivered || it.dropped:
		l.end(it)
	case o.State == Dead:
		l.settled(it)
		it.state = dead
		l.dead++
	default:
		if !it.tried {
			it.tried = true
			it.lane.fail()
		}
		it.nextAt, it.leased = nanos(o.NextAt), false
		l.enter(it, it.lane)
	}
}

// Release gives back a message in flight that was not tried after all; it goes again at until. It keeps its place among
// the undecided, so that none behind it goes first.
func (l *lanes) Release(seq uint64, until time.Time) {
	it := l.land(seq)
	if it == nil {
		return
	}
	if it.dropped {
		l.end(it)
		return
	}
	if !it.tried {
		it.tried = true
		it.lane.fail()
	}
	it.nextAt = nanos(until)
	l.enter(it, it.lane)
}

// land ends the flight of a message; nil when it was not in flight. It is still undecided: the caller decides.
func (l *lanes) land(seq uint64) *item {
	it := l.items[seq]
	if it == nil || it.state != inFlight {
		return nil
	}
	if it.landed {
		it.landed = false
		l.landed--
		if !it.freed {
			it.lane.flight--
		}
		return it
	}
	it.lane.flight--
	it.lane.target.flight--
	l.flight--
	return it
}

// live counts the messages that wait or are in flight.
func (l *lanes) live() int { return l.waiting + l.flight + l.landed }

// end forgets a message that has landed.
func (l *lanes) end(it *item) {
	l.settled(it)
	it.state = gone
	delete(l.items, it.seq)
}

// settled gives back the place of a message that has landed, and lets its lane go on.
func (l *lanes) settled(it *item) {
	if it.freed { // its lane may be gone
		it.freed = false
		return
	}
	it.lane.give(it.tried)
	l.place(it.lane)
}
