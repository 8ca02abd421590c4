package storetest_test

import (
	"slices"

	"github.com/google/uuid"

	"foyer/sale"
	"foyer/sale/storetest"
)

type readerPaidBy struct{ sale.Reader }

func (r readerPaidBy) PaidBy(provider, payment, _ string) (*sale.Order, bool) { // one name only
	return r.Reader.PaidBy(provider, payment, "")
}

// txCommitted finds what was committed before, and nothing of its own.
type txCommitted struct {
	sale.Tx
	s storetest.Store
}

func (t txCommitted) Ticketed(ticket uuid.UUID) (o *sale.Order, ok bool) {
	_ = t.s.View(func(r sale.Reader) error { o, ok = r.Ticketed(ticket); return nil })
	return o, ok
}

func (t txCommitted) Matters(want func(*sale.Receipt) bool) (list []*sale.Receipt) {
	_ = t.s.View(func(r sale.Reader) error { list = r.Matters(want); return nil })
	return list
}

// txNumbers gives a receipt a new number each time it is written.
type txNumbers struct {
	sale.Tx
	last *uint64
}

func (t txNumbers) PutReceipt(rc *sale.Receipt) {
	*t.last++
	t.Tx.PutReceipt(rc)
	rc.Seq = *t.last
}

// tidy forgets orders that came to nothing, also those whose payment runs.
type tidy struct{ storetest.Store }

func (s tidy) Unsettled() []*sale.Order {
	return slices.DeleteFunc(s.Store.Unsettled(), func(o *sale.Order) bool { return o.Status == sale.Expired })
}

// wholeOnly lists no refunds of orders that are PAID.
type wholeOnly struct{ storetest.Store }

func (s wholeOnly) RefundsDue() []*sale.Order {
	return slices.DeleteFunc(s.Store.RefundsDue(), func(o *sale.Order) bool { return o.Status == sale.Paid })
}

// txWholeOrders takes no single seat back.
type txWholeOrders struct{ sale.Tx }

func (t txWholeOrders) PutOrder(o *sale.Order) {
	c := *o
	c.Seats = slices.Clone(o.Seats)
	for i := range c.Seats {
		c.Seats[i].Refund = uuid.Nil
	}
	t.Tx.PutOrder(&c)
}

type readerBlocks struct{ sale.Reader }

func (r readerBlocks) Event(id string) (*sale.Event, bool) {
	e, ok := r.Reader.Event(id)
	if !ok {
		return nil, false
	}
	c := *e
	c.Blocked = nil
	return &c, true
}

func init() {
	inside := func(tx func(storetest.Store, sale.Tx) sale.Tx) func(storetest.Store, int) storetest.Store {
		return func(s storetest.Store, _ int) storetest.Store {
			return broken{Store: s, update: func(t sale.Tx) sale.Tx { return tx(s, t) }}
		}
	}
	reads := func(r func(sale.Reader) sale.Reader) func(storetest.Store, int) storetest.Store {
		return func(s storetest.Store, _ int) storetest.Store { return broken{Store: s, view: r} }
	}
	last := uint64(0)
	brokenStores = append(brokenStores, []brokenStore{
		{"knows one name of a payment", "an order is found by either name of its payment", reads(func(r sale.Reader) sale.Reader { return readerPaidBy{r} })},
		{"finds no ticket before it is on disk", "an order is found by each of its tickets", inside(func(s storetest.Store, tx sale.Tx) sale.Tx { return txCommitted{tx, s} })},
		{"lists no fact before it is on disk", "facts for a person are found in the transaction that writes them", inside(func(s storetest.Store, tx sale.Tx) sale.Tx { return txCommitted{tx, s} })},
		{"numbers a receipt anew", "a receipt that is written again keeps its number and takes none", inside(func(_ storetest.Store, tx sale.Tx) sale.Tx { return txNumbers{tx, &last} })},
		{"forgets payments of orders that lapsed", "orders with a payment under way are listed, whatever became of them", func(s storetest.Store, _ int) storetest.Store { return tidy{s} }},
		{"forgets refunds of a part", "orders with money that must go back are listed until it has", func(s storetest.Store, _ int) storetest.Store { return wholeOnly{s} }},
		{"takes no single seat back", "a seat that was taken back has no holder and is not sold", inside(func(_ storetest.Store, tx sale.Tx) sale.Tx { return txWholeOrders{tx} })},
		{"forgets which seats are blocked", "blocked seats and the history of an order are kept", reads(func(r sale.Reader) sale.Reader { return readerBlocks{r} })},
	}...)
}
