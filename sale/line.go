package sale

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"foyer/queue"
)

// Join gives the visitor a place at the end of the event's line, or shows the
// place he has: a second join never moves or doubles it. When nobody waits and
// a slot is free his turn begins at once. A visitor who was set aside returns
// to the front with his own number.
func (o *Office) Join(event string, visitor uuid.UUID) (v PlaceView, created bool, err error) {
	return o.JoinWith(event, visitor, "")
}

// JoinWith is Join with a code, "" for none, which tells in which line a new place
// stands. A visitor who has a place needs none, and the one he shows is not used.
func (o *Office) JoinWith(event string, visitor uuid.UUID, code string) (v PlaceView, created bool, err error) {
	known := false
	err = o.store.View(func(r Reader) error { // most joins are repeats: they cost no commit
		v, known, err = o.standing(r, event, visitor)
		return err
	})
	if known || err != nil {
		return v, false, err
	}
	shown, err := o.shown(event, code)
	if err != nil {
		return v, false, err
	}
	err = o.store.Update(func(tx Tx) error {
		created = false
		v, known, err = o.standing(tx, event, visitor)
		if known || err != nil {
			return err
		}
		e, _ := tx.Event(event)
		p, back, err := o.enter(tx, e, visitor, shown)
		if err != nil {
			return err
		}
		created = !back
		e, _ = tx.Event(event) // the first one after the opening of a draw has changed it
		v = o.show(tx, e, p)
		return nil
	})
	return v, created, err
}

// standing shows the place of a visitor who needs no new one and whose reading
// of it changes nothing.
func (o *Office) standing(r Reader, event string, visitor uuid.UUID) (PlaceView, bool, error) {
	e, ok := r.Event(event)
	if !ok {
		return PlaceView{}, false, ErrNoSuchEvent
	}
	p, ok := r.Place(event, visitor)
	if !ok {
		return PlaceView{}, false, nil
	}
	p = place(r, e, p)
	if s := p.Turn.State; s != TurnNone && (!s.Active() || !p.Turn.PickedUp) {
		return PlaceView{}, false, nil
	}
	return o.show(r, e, p), true, nil
}

// enter makes, picks up or gives back a place. back tells that it is an old one.
func (o *Office) enter(tx Tx, e *Event, visitor uuid.UUID, code shownCode) (p Place, back bool, err error) {
	if p, ok := tx.Place(e.ID, visitor); ok {
		p = o.refresh(tx, e, p)
		switch {
		case p.Turn.State.Active():
			return o.pickUp(tx, p), true, nil
		case p.Turn.State == TurnAside:
			p.Turn = Turn{}
			tx.PutPlace(p)
			return p, true, nil
		}
	}
	now, line := tx.Now(), tx.Line(e.ID)
	phase := e.Phase(tx.Calendar(), line.Sold)
	switch {
	case phase == PhaseClosed:
		return p, false, ErrEventClosed
	case phase == PhaseSoldOut:
		return p, false, ErrSoldOut
	case line.Waiting >= e.Rules.MaxWaiting:
		return p, false, ErrLineFull
	}
	class, err := redeem(tx, e, code, line.Next)
	if err != nil {
		return p, false, err
	}
	o.late(tx, e, line)
	p = Place{Event: e.ID, Number: line.Next, Visitor: visitor, Class: class}
	ahead := line.Waiting
	if e.Presale(tx.Calendar()) {
		ahead = line.Members
	}
	if phase = e.phaseFor(class, tx.Calendar(), line.Sold); phase == PhaseOpen && !e.allSold(line.Sold) && (e.Line == "off" || e.Line == "auto" && ahead == 0 && o.room(tx, e, line) > 0) {
		p = call(e, p, now, true)
	}
	tx.PutPlace(p)
	return p, false, nil
}

// room is how many more turns may be given now: free slots within the pace.
func (o *Office) room(tx Tx, e *Event, l Line) int {
	pace, _ := o.pace(e)
	return min(e.Rules.MaxActive-l.Active, pace-tx.Recent(e.ID))
}

func (o *Office) pickUp(tx Tx, p Place) Place {
	if !p.Turn.PickedUp {
		p.Turn.PickedUp = true
		tx.PutPlace(p)
	}
	return p
}

// Poll shows the visitor's place in the event; NOT_ENTERED when he has none.
// Seeing his turn counts as being there for it.
func (o *Office) Poll(event string, visitor uuid.UUID) (PlaceView, error) {
	return o.poll(event, visitor, uuid.Nil)
}

// PollPlace is Poll for the place of this name only. It refuses with
// [ErrNotEntered] when that is not a place the visitor stands in.
func (o *Office) PollPlace(event string, visitor, queueID uuid.UUID) (PlaceView, error) {
	v, err := o.poll(event, visitor, queueID)
	if err == nil && v.Status == NotEntered {
		return v, ErrNotEntered
	}
	return v, err
}

func (o *Office) poll(event string, visitor, queueID uuid.UUID) (v PlaceView, err error) {
	arriving := false // the turn is there and the visitor sees it for the first time
	look := func(r Reader) (p Place, e *Event, err error) {
		e, ok := r.Event(event)
		if !ok {
			return p, nil, ErrNoSuchEvent
		}
		p, ok = r.Place(event, visitor)
		if ok {
			p = place(r, e, p)
		}
		s := p.Turn.State
		if !ok || !s.Live() || s == TurnAside || queueID != uuid.Nil && queueID != o.QueueID(e, p) {
			v = PlaceView{Status: NotEntered, Now: r.Now(), Poll: queue.PollInterval(0)}
			if !p.Turn.AsideAt.IsZero() && (s == TurnAside || s == TurnExpired) {
				v.CalledAt, v.KeptUntil = p.Turn.CalledAt, p.keptUntil(e)
			}
			return p, e, nil
		}
		arriving = s == TurnReady && !p.Turn.PickedUp
		v = o.show(r, e, p)
		return p, e, nil
	}
	err = o.store.View(func(r Reader) error {
		_, _, err := look(r)
		return err
	})
	if err != nil || !arriving {
		return v, err
	}
	err = o.store.Update(func(tx Tx) error {
		p, _, err := look(tx)
		if err == nil && arriving {
			o.pickUp(tx, p)
		}
		return err
	})
	return v, err
}

// The statuses of a place, as clients know them.
const (
	Lobby      = "LOBBY"
	Waiting    = "WAITING"
	Ready      = "READY"
	NotEntered = "NOT_ENTERED"
)

// show makes the visitor's view of a live place.
func (o *Office) show(r Reader, e *Event, p Place) PlaceView {
	now, line := r.Now(), r.Line(e.ID)
	v := PlaceView{Status: Ready, QueueID: o.QueueID(e, p), Number: p.Number, Class: p.Class, Waiting: line.Waiting, Now: now, Poll: queue.PollInterval(0), Draw: e.Draw}
	if p.Turn.State.Active() {
		v.Token = o.entryToken(e, p)
		v.TokenExpiresAt = p.Turn.ExpiresAt
		v.TokenState = p.Turn.State
		if p.Turn.State == TurnClaimed { // by a shop: no order of ours
			v.OrderID = p.Turn.Order
		}
		return v
	}
	v.Status = Waiting
	v.Rank = rank(r, e, p)
	pace, _ := o.pace(e)
	v.Wait, v.WaitLow, v.WaitHigh = r.Flow(e.ID).Wait(v.Rank, float64(pace))
	v.Slower = o.slowerFor(r, e, p)
	pickup := seconds(e.Rules.PickupSeconds)
	v.Poll = queue.PollWithin(v.Rank, pickup)
	if now = r.Calendar(); e.phaseFor(p.Class, now, line.Sold) == PhaseLobby || e.toDraw() && (e.Draw.Upto == 0 || p.Number < e.Draw.Upto) {
		v.Status, v.Now = Lobby, now // what he waits for goes by the calendar
		if v.OpensAt = e.OpensAt; p.Class == Member && e.PresaleAt != nil {
			v.OpensAt = e.PresaleAt
		}
		if e.toDraw() {
			v.drawn(r.Flow(e.ID), e.turns(now, line), p.Class, line, float64(pace))
		}
		left := max(0, v.OpensAt.Sub(now))
		until := int(left/time.Second) + 1
		v.Wait, v.WaitLow, v.WaitHigh = v.Wait+until, v.WaitLow+until, v.WaitHigh+until
		v.Poll = min(max(queue.PollWithin(v.Rank, pickup), 3*time.Second), left+min(time.Second, pickup/4))
	}
	if NoWait(v.Slower) {
		v.Wait, v.WaitLow, v.WaitHigh = 0, 0, 0
	}
	if taken, ok := taken(r, e); ok {
		v.Chance = chanceOf(taken, v.Rank+line.Active)
	}
	return v
}

// rank is how many will be called before a waiting place when nobody joins or
// leaves.
func rank(r Reader, e *Event, p Place) int {
	line := r.Line(e.ID)
	turns := e.turns(r.Calendar(), line)
	if p.Number+1 != line.Next || p.Number < r.Frontier(e.ID, p.Class) {
		return r.Rank(e.ID, p.Class, p.Number, turns)
	}
	own := line.of(p.Class) // the last in the line stands behind those of his own commit too
	others := line.Waiting - own
	back, othersBack := min(line.Back[p.Class], own-1), min(line.Back[1-p.Class], others)
	return back + othersBack + turns.Rank(p.Class, own-1-back, others-othersBack)
}

// drawn shows a place whose number is not drawn yet: it may be any of those waiting.
func (v *PlaceView) drawn(f *queue.Flow, turns queue.Cycle, c Class, line Line, pace float64) {
	own := line.of(c)
	at := func(ahead int) int { return turns.Rank(c, ahead, line.Waiting-own) }
	v.Number, v.Rank = 0, at(own/2)
	v.Wait, _, _ = f.Wait(v.Rank, pace)
	_, v.WaitLow, _ = f.Wait(at(0), pace)
	_, _, v.WaitHigh = f.Wait(at(max(0, own-1)), pace)
}

// Leave gives back the place, its turn and the seats held with it. Leaving
// twice is no fault; a place of somebody else or one that has ended is
// [ErrNotEntered].
func (o *Office) Leave(event string, visitor, queueID uuid.UUID) error {
	return o.store.Update(func(tx Tx) error {
		e, ok := tx.Event(event)
		if !ok {
			return ErrNoSuchEvent
		}
		p, ok := tx.Place(event, visitor)
		switch {
		case !ok && o.leftBefore(tx, e, visitor, queueID):
			return nil
		case !ok || o.QueueID(e, p) != queueID:
			return ErrNotEntered
		}
		p = o.refresh(tx, e, p)
		switch {
		case p.Turn.State == TurnLeft:
			return nil
		case !p.Turn.State.Live() || p.Turn.State == TurnAside:
			return ErrNotEntered
		}
		o.end(tx, p, TurnLeft, visitorActor)
		return nil
	})
}

// Revoke takes a visitor's place, turn and held seats away. A paid order stays.
func (o *Office) Revoke(actor, event string, visitor uuid.UUID) error {
	return o.store.Update(func(tx Tx) error {
		e, ok := tx.Event(event)
		if !ok {
			return ErrNoSuchEvent
		}
		p, ok := tx.Place(event, visitor)
		if ok {
			p = o.refresh(tx, e, p)
		}
		if !ok || !p.Turn.State.Live() {
			return ErrNotEntered.say("This visitor has no place in the event.")
		}
		o.end(tx, p, TurnRevoked, actor)
		o.audit(tx, actor, event, "turn.revoke", visitor.String())
		return nil
	})
}

// end takes a live place away and cancels the order that claims its turn.
func (o *Office) end(tx Tx, p Place, as TurnState, by string) {
	if p.Turn.State == TurnClaimed {
		if order, ok := tx.Order(p.Turn.Order); ok && order.Status.Open() {
			o.cancel(tx, order, "turn."+strings.ToLower(string(as)), by)
		}
	}
	p.Turn.State, p.Turn.EndedAt = as, tx.Now()
	tx.PutPlace(p)
}
