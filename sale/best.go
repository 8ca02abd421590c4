package sale

import (
	"errors"
	"slices"
	"sync"

	"foyer/seats"
)

// bestTries is how often the best seats are looked for, the last time in the
// writer.
const bestTries = 3

// errOutrun tells that the best seats found before are not free any more.
var errOutrun = errors.New("sale: somebody was quicker")

// wishes are seats that somebody has just found to be his best and is about to
// hold. Whoever looks at the same moment looks past them; nothing else rests on
// them. Wishes are looked for one after the other, so that two never find the
// same.
type wishes struct {
	looking sync.Mutex
	mu      sync.Mutex
	seats   map[wish]int
}

type wish struct{ event, seat string }

func (w *wishes) has(event, seat string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seats[wish{event, seat}] > 0
}

func (w *wishes) add(h *holdPlan, by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, i := range h.seats {
		k := wish{h.event.ID, h.plan.Seat(i).ID}
		if w.seats[k] += by; w.seats[k] == 0 {
			delete(w.seats, k)
		}
	}
}

// look decides a hold over the committed state: a refusal costs no commit, and
// a search none of the writer's time. done must be called once the hold is
// made or refused.
func (o *Office) look(r HoldRequest) (found *holdPlan, done func(), err error) {
	if r.Best {
		o.wishes.looking.Lock() // before the View: nobody may wait while he holds up a commit
		defer o.wishes.looking.Unlock()
		r.avoid = func(seat string) bool { return o.wishes.has(r.Event, seat) }
	}
	plan := func(rd Reader) error {
		found, err = o.planHold(rd, r, nil)
		return err
	}
	err = o.store.View(plan)
	if r.Best && errors.Is(err, ErrNotEnough) {
		r.avoid = nil // what others are about to hold may still come free
		err = o.store.View(plan)
	}
	if err != nil {
		return nil, nil, err
	}
	if !r.Best {
		return found, func() {}, nil
	}
	o.wishes.add(found, 1)
	return found, func() { o.wishes.add(found, -1) }, nil
}

func (h *holdPlan) chooseBest(r Reader, w HoldRequest, found *holdPlan) error {
	if h.plan == nil || w.Category != "" && !h.plan.HasCategory(w.Category) {
		return ErrNoSuchSeat.say("The house has no seats of this category.")
	}
	if err := h.checkUse(); err != nil {
		return err
	}
	free := func(i int) bool {
		if !h.priced(i) || h.offSale(i) {
			return false
		}
		_, keeps := h.holder(r, i)
		return !keeps && (w.avoid == nil || !w.avoid(h.plan.Seat(i).ID))
	}
	switch {
	case found == nil:
		h.seats = seats.Best(h.plan, w.Count, w.Category, free)
	case found.plan == h.plan && !slices.ContainsFunc(found.seats, func(i int) bool { return !free(i) }):
		h.seats = slices.Clone(found.seats)
	default:
		return errOutrun
	}
	if h.seats == nil {
		return ErrNotEnough
	}
	slices.Sort(h.seats)
	return h.checkFree(r)
}
