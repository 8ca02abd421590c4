package sale

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"foyer/seats"
)

// SeatBlock says why a seat that nobody has is not on sale.
type SeatBlock struct {
	State  BlockState `json:"state"`
	Reason string     `json:"reason,omitempty"`
	By     string     `json:"by,omitempty"`
	At     time.Time  `json:"at"`
}

// BlockState is what staff keep a seat for.
type BlockState string

// The states of a blocked seat.
const (
	BlockHouse   BlockState = "HOUSE"    // kept by the house; staff may sell it at the door
	BlockOffSale BlockState = "OFF_SALE" // sold to nobody
)

// BlockSeats takes free seats off sale or, with the state "", puts blocked ones
// back on sale. It does all or nothing, and doing it again changes nothing. It
// refuses with [ErrNoSuchEvent], [ErrNoPlan], [ErrNoSeats], [ErrNoSuchSeat],
// [ErrBadReason], and [ErrSeatsTaken] for seats that somebody has.
func (o *Office) BlockSeats(actor, event string, ids []string, state BlockState, reason string) (*Event, error) {
	if wrong := checkText("The reason", reason, 0, maxReason); wrong != "" {
		return nil, ErrBadReason.say(wrong)
	}
	var e *Event
	err := o.store.Update(func(tx Tx) error {
		if _, ok := tx.Event(event); !ok {
			return ErrNoSuchEvent
		}
		if err := blockable(tx, event, ids, state); err != nil {
			return err
		}
		if state == "" {
			o.unblock(tx, event, ids)
		} else {
			o.block(tx, event, ids, SeatBlock{State: state, Reason: reason, By: actor, At: tx.Now()})
		}
		e, _ = tx.Event(event)
		o.audit(tx, actor, event, "seats.block", strings.TrimSpace(string(state)+" "+strconv.Itoa(len(ids))+" seats: "+strings.Join(ids[:min(10, len(ids))], " ")+" "+reason))
		return nil
	})
	return e, err
}

// blockable refuses what cannot be blocked.
func blockable(r Reader, event string, ids []string, state BlockState) error {
	p := r.Plan(event)
	switch {
	case p == nil:
		return ErrNoPlan
	case len(ids) == 0:
		return ErrNoSeats
	case state != "" && state != BlockHouse && state != BlockOffSale:
		return ErrBadSale.say(`state is "HOUSE", "OFF_SALE", or "AVAILABLE" to put seats back on sale.`)
	}
	var unknown, taken []string
	for _, id := range ids {
		h, had := r.Holder(event, id)
		switch {
		case !planHas(p, id):
			unknown = append(unknown, id)
		case state != "" && had && h.Has(r.Now()):
			taken = append(taken, id)
		}
	}
	switch {
	case unknown != nil:
		return ErrNoSuchSeat.with(unknown)
	case taken != nil:
		return ErrSeatsTaken.say("Somebody holds or has bought these seats. Refund them, or wait for the hold to end.").with(taken)
	}
	return nil
}

// block keeps seats off sale, unless they are kept in the same way already.
func (o *Office) block(tx Tx, event string, ids []string, b SeatBlock) {
	o.reblock(tx, event, func(all map[string]SeatBlock) {
		for _, id := range ids {
			if all[id].State != b.State {
				all[id] = b
			}
		}
	})
}

func (o *Office) unblock(tx Tx, event string, ids []string) {
	o.reblock(tx, event, func(all map[string]SeatBlock) {
		for _, id := range ids {
			delete(all, id)
		}
	})
}

func (o *Office) reblock(tx Tx, event string, change func(map[string]SeatBlock)) {
	old, ok := tx.Event(event)
	if !ok {
		return
	}
	e := *old
	if e.Blocked = maps.Clone(old.Blocked); e.Blocked == nil {
		e.Blocked = map[string]SeatBlock{}
	}
	change(e.Blocked)
	if maps.Equal(e.Blocked, old.Blocked) {
		return
	}
	e.Sellable = sellable(tx, &e, tx.Plan(event))
	tx.PutEvent(&e)
}

// House is the house as staff see it: [SeatsView] with what they keep.
type House struct {
	SeatsView
	Kept   []bool // by seat in plan order: free, and only staff may sell it
	Blocks []KeptSeat
}

// KeptSeat is a blocked seat of the plan, whether or not somebody has it.
type KeptSeat struct {
	Seat string // id
	SeatBlock
}

// House paints the house for staff.
func (o *Office) House(id string) (v House, err error) {
	err = o.store.View(func(r Reader) error {
		e, p, err := planned(r, id)
		if err != nil {
			return err
		}
		v = House{SeatsView: seatsView(r, e, p), Kept: make([]bool, p.Len())}
		for i, state := range v.States {
			b, is := e.Blocked[p.Seat(i).ID]
			if !is {
				continue
			}
			v.Kept[i] = state == seats.OffSale && b.State == BlockHouse
			v.Blocks = append(v.Blocks, KeptSeat{p.Seat(i).ID, b})
		}
		return nil
	})
	return v, err
}

// blocked tells whether staff keep a seat from buyers.
func (o *Office) blocked(r Reader, event, seat string) bool {
	e, ok := r.Event(event)
	if !ok {
		return false
	}
	_, is := e.Blocked[seat]
	return is
}
