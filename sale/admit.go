package sale

import (
	"time"

	"foyer/queue"
)

// keepEnded is how long an ended place is remembered, so that its token can
// still be told apart from a forged one.
const keepEnded = 15 * time.Minute

// offAtOnce bounds how many turns one tick gives where there is no pace.
const offAtOnce = 5000

// tidyAtOnce bounds how many remembered places one tick forgets.
const tidyAtOnce = 2000

// sweepRest is the least time between two sweeps that only wait for turns to end.
const sweepRest = 100 * time.Millisecond

// Tick sweeps what has lapsed in an event and lets in whoever may come, in one
// transaction: min(free slots, pace) places become turns. It returns after how
// long it wants to be called again, at most every; sooner is harmless.
func (o *Office) Tick(event string, every time.Duration) (pause time.Duration, err error) {
	told := o.steer(event)
	err = o.store.Update(func(tx Tx) error {
		e, ok := tx.Event(event)
		if !ok {
			return ErrNoSuchEvent
		}
		if told != (untold{}) {
			o.audit(tx, houseActor, event, told.act, told.detail)
		}
		if e.toDraw() && e.opened(tx.Calendar()) {
			pause = 0
			return o.holdDraw(tx, e)
		}
		free := o.sweep(tx, e)
		more := o.admit(tx, e)
		pause = every
		switch {
		case !more:
		case tx.Line(event).Active < e.Rules.MaxActive: // only the pace keeps the next one out
			limit, _ := o.pace(e)
			pause = min(every, tx.NextCall(event, limit).Sub(tx.Now())+time.Millisecond)
		default: // the next one waits for a slot, and those just called may not be there
			pause = min(every, seconds(min(e.Rules.PickupSeconds, e.Rules.TurnSeconds)), max(sweepRest, free.Sub(tx.Now())))
		}
		return nil
	})
	if err == nil {
		o.toldOf(event, told)
	}
	return pause, err
}

// sweep writes down what the clock has done, and forgets places that ended
// long ago. It returns when the first turn will free its slot by itself; far in
// the future when there is none.
func (o *Office) sweep(tx Tx, e *Event) (free time.Time) {
	free = tx.Now().Add(24 * time.Hour)
	var due []Place
	for p := range tx.Turns(e.ID) {
		if place(tx, e, p) != p {
			due = append(due, p)
			continue
		}
		if p.Turn.State.Active() {
			free = earlier(free, frees(tx, e, p))
		}
	}
	for _, p := range due {
		o.refresh(tx, e, p)
	}
	n := 0
	for p := range tx.Ended(e.ID) {
		if n++; n > tidyAtOnce || tx.Now().Sub(p.Turn.EndedAt) < keepEnded {
			break
		}
		tx.RemovePlace(p)
	}
	return free
}

// admit gives turns to the front of the line and tells whether somebody still waits.
func (o *Office) admit(tx Tx, e *Event) (more bool) {
	now, line := tx.Now(), tx.Line(e.ID)
	waiting, turns := e.Callable(tx.Calendar(), line), e.turns(tx.Calendar(), line)
	if waiting == 0 {
		return false
	}
	n := min(o.room(tx, e, line), waiting)
	if e.Line == "off" {
		n = min(waiting, offAtOnce)
	}
	if n <= 0 {
		return true
	}
	called := [2]uint64{Public: tx.Frontier(e.ID, Public), Member: tx.Frontier(e.ID, Member)}
	share := [2]int{Public: line.Waiting - line.Members, Member: line.Members}
	dealt := n
	for _, p := range tx.Front(e.ID, n, turns) {
		if p.Number < called[p.Class] { // came back: takes nobody's share
			share[p.Class]--
			dealt--
		}
		tx.PutPlace(call(e, p, now, false))
	}
	if after := turns.After(dealt, share[Member], share[Public]); after != turns {
		tx.PutOwed(e.ID, after.At)
	}
	return waiting > n
}

// Callable is how many of those who wait may be called at now (by the calendar)
// once there is room: in the presale members, before it and in a pause nobody, and
// nobody where there is nothing to sell, since a turn without seats is of no use.
func (e *Event) Callable(now time.Time, l Line) int {
	waiting, class := l.Waiting, Public
	if e.Presale(now) {
		waiting, class = l.Members, Member
	}
	if e.phaseFor(class, now, l.Sold) != PhaseOpen || e.allSold(l.Sold) {
		return 0
	}
	return waiting
}

// turns is how the event shares out its turns at now (by the calendar): with a
// presale all go to members until the public is let in.
func (e *Event) turns(now time.Time, l Line) queue.Cycle {
	c := queue.Cycle{Share: e.Rules.MemberShare, At: l.Owed}
	if e.PresaleAt != nil && !e.opened(now) {
		c.Share = queue.Tens
	}
	return c
}
