package sale

import "github.com/google/uuid"

// ChallengeWork is the challenge that is always set up.
const ChallengeWork = "altcha"

const defaultChallengeCost = 100_000

// Ask is what must be proved before a place is given.
type Ask struct {
	Challenge string // as in [Settings]; "" is nothing
	Cost      int    // of the work
	After     uint64 // the latest join that he, or once it was held a draw, knows of; 0 for none: a proof is good for one more
}

// Ask is what the event asks of those who have no place.
func (e *Event) Ask() Ask {
	a := Ask{Challenge: e.Challenge, Cost: e.ChallengeCost}
	if a.Cost == 0 {
		a.Cost = defaultChallengeCost
	}
	return a
}

// Ask tells what the visitor must prove before he may join: nothing when he has
// a place, or when joining would be refused anyway.
func (o *Office) Ask(event string, visitor uuid.UUID) (a Ask, err error) {
	err = o.store.View(func(r Reader) error {
		e, ok := r.Event(event)
		if !ok {
			return ErrNoSuchEvent
		}
		if e.Challenge == "" {
			return nil
		}
		p, known := r.Place(event, visitor)
		if known && place(r, e, p).Turn.State.Live() {
			return nil
		}
		if phase := e.Phase(r.Calendar(), r.Line(event).Sold); phase == PhaseClosed || phase == PhaseSoldOut {
			return nil
		}
		a = e.Ask()
		switch {
		case known:
			a.After = p.entry()
		case e.Draw.Held(): // which forgot who left the lobby, and what he proved
			a.After = e.Draw.Upto - 1
		}
		return nil
	})
	return a, err
}
