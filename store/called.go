package store

import (
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

// calledPlaces are the places that have a turn, ended ones too. They lie there
// without pointers, so that the garbage collector need not look at them.
type calledPlaces map[uuid.UUID]calledPlace

// calledPlace is a sale.Place without its event and visitor; times are Unix
// milliseconds, 0 for none.
type calledPlace struct {
	number                            uint64
	calledAt, expires, aside, endedAt int64
	order                             uuid.UUID
	holds                             uint16
	state                             uint8 // index into turnCodes
	pickedUp                          bool
	class, links                      uint8
}

func (c calledPlaces) put(p sale.Place) {
	t := &p.Turn
	c[p.Visitor] = calledPlace{
		number: p.Number, calledAt: millis(t.CalledAt), expires: millis(t.ExpiresAt), aside: millis(t.AsideAt),
		endedAt: millis(t.EndedAt), order: t.Order, state: turnCode(t.State), pickedUp: t.PickedUp, holds: t.Holds,
		class: uint8(p.Class), links: p.Links,
	}
}

func (c calledPlaces) get(event string, visitor uuid.UUID) (sale.Place, bool) {
	r, ok := c[visitor]
	if !ok {
		return sale.Place{}, false
	}
	return sale.Place{Event: event, Number: r.number, Visitor: visitor, Class: sale.Class(r.class), Links: r.links, Turn: sale.Turn{
		State: turnCodes[r.state], CalledAt: moment(r.calledAt), ExpiresAt: moment(r.expires), AsideAt: moment(r.aside),
		EndedAt: moment(r.endedAt), PickedUp: r.pickedUp, Order: r.order, Holds: r.holds,
	}}, true
}

// calledPlace finds a place that has a turn, with what a shop did with it.
func (em *eventMemory) calledPlace(visitor uuid.UUID) (sale.Place, bool) {
	p, ok := em.called.get(em.event.ID, visitor)
	if ok {
		p.Turn.Shop = em.shops[visitor]
	}
	return p, ok
}

// putCalled keeps a place that has a turn.
func (em *eventMemory) putCalled(p sale.Place) {
	em.called.put(p)
	if p.Turn.Shop != nil {
		em.shops[p.Visitor] = p.Turn.Shop
	} else {
		delete(em.shops, p.Visitor)
	}
}

// turnCode is a turn state on disk and in memory.
func turnCode(s sale.TurnState) uint8 {
	for i, t := range turnCodes {
		if s == t {
			return uint8(i)
		}
	}
	panic("store: no such turn state: " + string(s))
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
