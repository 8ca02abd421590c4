package outbox

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

const (
	graceTries    = 3 * time.Second        // at the end, attempts may go on for this long; then they are cut off
	graceSettle   = 2 * time.Second        // then outcomes may be settled for this long
	graceLast     = time.Second            // then Run returns whatever hangs
	longestNap    = time.Minute            // timers do not see a clock that was set or a machine that slept
	deadlineSlack = time.Second            // a first attempt may be this much late
	loadPause     = time.Second            // after the Book failed to load a row
	settleFirst   = 100 * time.Millisecond // after the Book failed to settle; doubles ...
	settleMost    = 5 * time.Second        // ... up to this
)

// Run delivers until ctx ends. It then starts nothing more, gives the attempts in flight 3 s to end, cuts them off,
// settles what they came to, and returns: nil, or an error that says how many outcomes could not be settled or did not
// come; those messages are delivered again, with the same id, after the next start. It returns 6 s after the end of ctx
// at the latest. An attempt that was cut off counts as not made, and is made again after Timeout at the earliest: its
// receiver may still be at work, and must not see two of one lane at once. Run must be called once.
func (r *Relay) Run(ctx context.Context) error {
	tries, cutOff := context.WithCancel(context.WithoutCancel(ctx))
	defer cutOff()
	settling, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	settled := make(chan struct{})
	go func() {
		defer close(settled)
		r.settle(settling)
	}()
	begun := make(chan struct{})
	go func() {
		defer close(begun)
		r.begin(ctx, tries)
	}()
	r.dispatch(ctx, tries)
	close(r.starts)
	go func() {
		<-begun
		r.tries.Wait()
		close(r.results)
	}()
	for _, phase := range []struct {
		grace time.Duration
		then  func()
	}{{graceTries, cutOff}, {graceSettle, giveUp}, {graceLast, func() {}}} {
		patience := time.NewTimer(phase.grace)
		select {
		case <-settled:
			patience.Stop()
			return r.leftover()
		case <-patience.C:
			phase.then()
		}
	}
	return errors.New("outbox: a sink or the store hangs; its messages will be delivered again")
}

func (r *Relay) leftover() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unsettled > 0 {
		return fmt.Errorf("outbox: %d outcomes are not settled; those messages will be delivered again", r.unsettled)
	}
	return nil
}

// dispatch starts what may start, and sleeps until something changes or the next message is due.
func (r *Relay) dispatch(ctx, tries context.Context) {
	nap := time.NewTimer(longestNap)
	defer nap.Stop()
	for ctx.Err() == nil {
		again := r.startAll(ctx, tries)
		var due <-chan time.Time
		if !again.IsZero() {
			nap.Reset(min(again.Sub(r.cfg.Now()), longestNap))
			due = nap.C
		}
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-due:
		}
	}
}

// startAll starts every message that may go now and returns when to look again, zero for not before a nudge.
func (r *Relay) startAll(ctx, tries context.Context) time.Time {
	r.mu.Lock()
	lookups, judging, paced := r.lookups, r.judging, r.paced
	r.lookups, r.judging, r.paced = nil, nil, nil
	r.mu.Unlock()
	if len(lookups) > 0 {
		r.tries.Go(func() { r.lookUp(lookups) })
	}
	if len(judging) > 0 {
		r.tries.Go(func() { r.rejudge(ctx, judging) })
	}
	for _, s := range paced {
		r.starts <- s
	}
	for {
		r.mu.Lock()
		s, ok, again := r.lanes.Next(r.cfg.Now())
		r.mu.Unlock()
		if !ok {
			return again
		}
		if s.slot.IsZero() {
			r.tries.Go(func() { r.work(ctx, tries, s) })
		} else {
			r.starts <- s
		}
	}
}

// work makes an attempt, and goes on with the next message that may go, as long as there is one.
func (r *Relay) work(ctx, tries context.Context, s start) {
	for more := true; more; {
		o, tried := r.attempt(tries, s)
		s, more = r.next(ctx, o, tried)
		if tried {
			r.results <- o
		}
	}
	r.nudge()
}

// next books the end of an attempt and takes the next message; those of lanes with a pace it leaves to the run loop.
func (r *Relay) next(ctx context.Context, o Outcome, tried bool) (s start, more bool) {
	now := r.cfg.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if tried {
		r.lanes.Landed(o)
	}
	for ctx.Err() == nil {
		if s, more, _ = r.lanes.Next(now); !more || s.slot.IsZero() {
			return s, more
		}
		r.paced = append(r.paced, s)
	}
	return s, false
}

// lookUp offers messages of which only the number is known.
func (r *Relay) lookUp(seqs []uint64) {
	for _, seq := range seqs {
		m, found, err := r.cfg.Book.Load(seq)
		if err != nil {
			r.cfg.Log.Error("a message to be retried cannot be loaded; retry it again", "seq", seq, "error", err)
		}
		if err == nil && found {
			m.Body = nil
			r.Offer([]Message{m})
		}
	}
}

// load reads the message of a start. Without one, there is nothing to be called: either all is said, or the outcome is to
// be settled.
func (r *Relay) load(s start) (m *Message, o Outcome, tried bool) {
	row, found, err := r.cfg.Book.Load(s.seq)
	switch {
	case err != nil:
		r.cfg.Log.Error("a message cannot be loaded", "seq", s.seq, "error", err)
		r.land(func() { r.lanes.Release(s.seq, r.cfg.Now().Add(loadPause)) })
		return nil, o, false
	case !found:
		r.land(func() { r.lanes.Done(Outcome{Seq: s.seq, Delivered: true}) })
		return nil, o, false
	case row.State == Dead:
		r.land(func() { r.lanes.Done(Outcome{Seq: s.seq, State: Dead}) })
		return nil, o, false
	}
	if o, tried = expired(&row, s.rule, s.leased, r.cfg.Now()); tried {
		r.land(func() { r.lanes.Expire(s) })
		r.tell(row, o, s.sink)
		return nil, o, true
	}
	return &row, o, false
}

// attempt makes one delivery; false when it came to nothing that must be settled.
func (r *Relay) attempt(tries context.Context, s start) (o Outcome, tried bool) {
	if s.message == nil {
		if s.message, o, tried = r.load(s); s.message == nil {
			return o, tried
		}
	}
	m := *s.message
	answer, err := r.deliver(tries, s.sink, m)
	if err == nil {
		_, keeps := r.cfg.Sinks[s.sink].(Caller)
		return Outcome{Seq: m.Seq, Delivered: true, Attempts: m.Attempts + 1, LastError: Clip(answer), Keep: keeps}, true
	}
	if tries.Err() != nil { // cut off by us: nobody knows whether it arrived, it is not the receiver's failure
		r.land(func() { r.cutOff = append(r.cutOff, m.Seq); r.lanes.Release(m.Seq, m.NextAt) })
		return o, false
	}
	f := failureOf(err)
	o = judge(m, f, s.rule, r.cfg.Now(), r.cfg.MaxAge, r.cfg.Rand())
	if f.Gone {
		r.land(func() { r.lanes.Stop(s.sink) })
		r.cfg.Log.Error("410: the sink wants no more; its messages wait until a restart or until staff retry one", "sink", r.nameOf(s.sink))
	}
	r.tell(m, o, s.sink)
	return o, true
}

// deliver calls the sink with a time limit. A sink that panics has failed; the sale must not end for it.
func (r *Relay) deliver(tries context.Context, sink string, m Message) (answer string, err error) {
	ctx, cancel := context.WithTimeout(tries, r.cfg.Timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			r.cfg.Log.Error("a sink panicked", "sink", r.nameOf(sink), "panic", p, "stack", string(debug.Stack()))
			err = &Failure{Reason: "fault in the sink"}
		}
	}()
	if c, ok := r.cfg.Sinks[sink].(Caller); ok {
		return c.Call(ctx, m)
	}
	return "", r.cfg.Sinks[sink].Deliver(ctx, m)
}

// tell logs a failure: the first and the last of a message where everybody looks, those between for who asks.
func (r *Relay) tell(m Message, o Outcome, sink string) {
	args := []any{"id", m.ID, "seq", m.Seq, "topic", m.Topic, "sink", r.nameOf(sink), "attempt", o.Attempts, "reason", o.LastError}
	switch {
	case o.State == Dead:
		r.cfg.Log.Error("a message is dead", args...)
	case o.Attempts == 1:
		r.cfg.Log.Warn("a message failed and will be tried again", append(args, "nextAt", o.NextAt)...)
	default:
		r.cfg.Log.Debug("a message failed again", append(args, "nextAt", o.NextAt)...)
	}
}

// settle stores outcomes, all that have come in at once in one transaction, and only then lets their lanes go on.
// It ends when results is closed and empty, or when ctx ends while the Book fails.
func (r *Relay) settle(ctx context.Context) {
	var batch []Outcome
	for {
		o, ok := <-r.results
		if !ok {
			return
		}
		batch = r.collect(append(batch[:0], o))
		for wait := settleFirst; ; wait = min(2*wait, settleMost) {
			err := r.cfg.Book.Settle(batch)
			if err == nil {
				break
			}
			r.cfg.Log.Error("outcomes cannot be settled, trying again", "outcomes", len(batch), "error", err)
			r.land(func() { r.lanes.stalled = true })
			pause := time.NewTimer(wait)
			select {
			case <-ctx.Done():
				pause.Stop()
				r.mu.Lock()
				r.unsettled = len(r.collect(batch))
				r.mu.Unlock()
				return
			case <-pause.C:
			}
			batch = r.collect(batch)
		}
		r.land(func() { r.book(batch) })
	}
}

// collect adds the outcomes that have come in meanwhile.
func (r *Relay) collect(batch []Outcome) []Outcome {
	for {
		select {
		case o, ok := <-r.results:
			if !ok {
				return batch
			}
			batch = append(batch, o)
		default:
			return batch
		}
	}
}

// book takes settled outcomes into the lanes and the counters. The caller holds r.mu.
func (r *Relay) book(batch []Outcome) {
	r.lanes.stalled = false
	for _, o := range batch {
		if o.Delivered {
			r.delivered++
		} else if !o.Uncalled {
			r.failed++
		}
		r.lanes.Done(o)
	}
}

// land changes the lanes under the lock and wakes the run loop.
func (r *Relay) land(change func()) {
	r.mu.Lock()
	change()
	r.mu.Unlock()
	r.nudge()
}
