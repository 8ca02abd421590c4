package sale

import (
	"slices"

	"github.com/google/uuid"
)

// TicketOf finds the order of a code that the door was shown, and the index of
// the seat in it, of whatever event and whatever became of the ticket.
func (o *Office) TicketOf(code string) (v *OrderView, seat int, ok bool) {
	ticket, known := o.ticket(code)
	if !known || ticket == uuid.Nil {
		return nil, 0, false
	}
	_ = o.store.View(func(r Reader) error {
		n, found := r.Ticketed(ticket)
		if !found {
			return nil
		}
		seat = slices.IndexFunc(n.Seats, func(s OrderSeat) bool { return s.Ticket == ticket })
		if ok = seat >= 0; ok {
			v = o.view(r, n)
		}
		return nil
	})
	return v, seat, ok
}

// Turnout counts the tickets of an event that are good at the door, and how many
// of them were let in.
func (o *Office) Turnout(event string) (in, valid int, err error) {
	err = o.store.View(func(r Reader) error {
		if _, ok := r.Event(event); !ok {
			return ErrNoSuchEvent
		}
		p := r.Plan(event)
		if p == nil {
			return nil
		}
		for i := range p.Len() {
			id := p.Seat(i).ID
			n, ok := r.Holder(event, id)
			if !ok || n.Status != Paid {
				continue
			}
			valid++
			if k := slices.IndexFunc(n.Seats, func(s OrderSeat) bool { return s.ID == id }); k >= 0 && !n.Seats[k].UsedAt.IsZero() {
				in++
			}
		}
		return nil
	})
	return in, valid, err
}

// RefundAmount is what taking back some seats of a PAID order would return, in
// minor units, and which of them are still to be taken back; no ids mean all.
// It refuses as [Office.Refund] does.
func (o *Order) RefundAmount(ids []string) (amount int64, seats []OrderSeat, err error) {
	chosen, err := o.refundable(ids)
	if err != nil || len(chosen) == 0 {
		return 0, nil, err
	}
	for _, i := range chosen {
		seats = append(seats, o.Seats[i])
	}
	return o.worth(chosen), seats, nil
}
