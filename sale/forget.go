package sale

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Forget erases the buyers' names and e-mail addresses from all orders of a
// CLOSED event, a part in each transaction, and returns from how many. Seats,
// sums, history and audit stay; none of them tells who bought. It refuses with
// [ErrStillSelling] while the event is open or an order can still be paid, and
// with [ErrMessagesLeft] while messages that carry buyers wait or are dead: they
// must have gone out or been given up first. Calling again does the rest, and
// erases what came since.
func (o *Office) Forget(actor, event string) (n int, err error) {
	if err := o.forgettable(event); err != nil {
		return 0, err
	}
	if err := o.buyersGone(event); err != nil {
		return 0, err
	}
	err = o.eachOrders(event, func(some []*Order) error {
		var named []uuid.UUID
		for _, order := range some {
			if order.Buyer != (Buyer{}) {
				named = append(named, order.ID)
			}
		}
		if len(named) == 0 {
			return nil
		}
		if err := o.forgetSome(actor, event, named); err != nil {
			return err
		}
		n += len(named)
		return nil
	})
	if err != nil {
		return n, err
	}
	// Money that came meanwhile may have told of a buyer who was still known.
	if err := o.buyersGone(event); err != nil {
		return n, err
	}
	err = o.store.Update(func(tx Tx) error {
		e, ok := tx.Event(event)
		if !ok {
			return ErrNoSuchEvent
		}
		c := *e
		c.Forgotten = tx.Now()
		tx.PutEvent(&c)
		return nil
	})
	return n, err
}

// forgettable tells whether nothing is sold any more: the event is closed and no
// order can still be paid.
func (o *Office) forgettable(event string) error {
	open := 0
	err := o.eachOrders(event, func(some []*Order) error {
		return o.store.View(func(r Reader) error {
			for _, n := range some {
				if n.StatusAt(r.Now()).Open() {
					open++
				}
			}
			return closed(r, event)
		})
	})
	if err != nil {
		return err
	}
	if open > 0 {
		return ErrStillSelling.say(fmt.Sprintf("Orders that can still be paid: %d. Ask again when their time is over.", open))
	}
	return nil
}

func closed(r Reader, event string) error {
	e, ok := r.Event(event)
	switch {
	case !ok:
		return ErrNoSuchEvent
	case e.Phase(r.Calendar(), r.Line(event).Sold) != PhaseClosed:
		return ErrStillSelling
	}
	return nil
}

// forgetSome erases the buyers of a few orders in one transaction.
func (o *Office) forgetSome(actor, event string, orders []uuid.UUID) error {
	return o.store.Update(func(tx Tx) error {
		if err := closed(tx, event); err != nil { // opened again meanwhile
			return err
		}
		for _, id := range orders {
			if n, ok := tx.Order(id); ok && n.Buyer != (Buyer{}) {
				n = n.clone()
				n.Buyer = Buyer{}
				tx.PutOrder(n)
			}
		}
		o.audit(tx, actor, event, "event.forget", fmt.Sprintf("the buyers of %d orders", len(orders)))
		return nil
	})
}

// buyersGone refuses with [ErrMessagesLeft] when messages about orders of the
// event that are not delivered carry a buyer.
func (o *Office) buyersGone(event string) error {
	const page = 1000
	left := 0
	for after, size := uint64(0), page; size == page; {
		some, err := o.store.Messages("", after, page)
		if err != nil {
			return err
		}
		if size = len(some); size > 0 {
			after = some[size-1].Seq
		}
		for _, m := range some {
			if !slices.Contains(Topics, m.Topic) || !o.about(event, m.Key) {
				continue
			}
			m, found, err := o.store.Load(m.Seq)
			if err != nil {
				return err
			}
			// Inside a text of JSON the quotes would be escaped.
			if found && bytes.Contains(m.Body, []byte(`"buyer":`)) {
				left++
			}
		}
	}
	if left > 0 {
		return ErrMessagesLeft.say(fmt.Sprintf("Messages that tell of buyers of this event and are not delivered: %d. Have them delivered or give them up (foyer outbox), then ask again.", left))
	}
	return nil
}

// about tells whether the lane is that of an order of the event.
func (o *Office) about(event, lane string) (yes bool) {
	id, err := uuid.Parse(strings.TrimPrefix(lane, "order:"))
	if err != nil {
		return false
	}
	_ = o.store.View(func(r Reader) error {
		n, ok := r.Order(id)
		yes = ok && n.Event == event
		return nil
	})
	return yes
}
