package outbox

import "time"

// expired tells whether a message is given up without another call, since its lane's rule gives it no more time, and its
// outcome then.
func expired(m *Message, r *Rule, now time.Time) (o Outcome, dead bool) {
	if m.Attempts > 0 || !r.exhausted(0, m.age(now)-deadlineSlack) {
		return o, false
	}
	return Outcome{Seq: m.Seq, State: Dead, LastError: "its deadline passed before its turn came", Uncalled: true}, true
}

// Expire lands a message that was started and is given up without a call. It takes no slot of its lane and no place in it:
// the next may go before the outcome is settled, for a receiver never saw this one.
func (l *lanes) Expire(s start) {
	it := l.items[s.seq]
	if it == nil || it.state != inFlight || it.landed {
		return
	}
	ln := it.lane
	it.landed, it.freed = true, true
	l.landed++
	l.flight--
	ln.target.flight--
	ln.flight--
	ln.give(it.tried)
	if ln.nth == s.nth { // none has started since
		ln.began = s.before
	}
	l.place(ln)
}
