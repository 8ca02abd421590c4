package sale_test

import (
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/sale"
)

// simPlaceKey names a visitor's place across events.
type simPlaceKey struct {
	event   string
	visitor uuid.UUID
}

func simKey(p sale.Place) simPlaceKey { return simPlaceKey{p.Event, p.Visitor} }

// simAct is one transaction as the office wrote it, in the order of its writes.
type simAct struct {
	at       time.Time
	places   []sale.Place
	removed  []sale.Place
	orders   []*sale.Order
	sent     []outbox.Message
	receipts []sale.Receipt
	events   []*sale.Event
}

// order finds the last write of an order in the act.
func (a *simAct) order(id uuid.UUID) (found *sale.Order) {
	for _, o := range a.orders {
		if o.ID == id {
			found = o
		}
	}
	return found
}

// place finds the last write of a place in the act.
func (a *simAct) place(k simPlaceKey) (found sale.Place, ok bool) {
	for _, p := range a.places {
		if simKey(p) == k {
			found, ok = p, true
		}
	}
	return found, ok
}

// simCall is a turn that was given.
type simCall struct {
	event     string
	number    uint64
	class     sale.Class
	at        time.Time
	again     bool // the place had been called before and was set aside
	active    int  // turns active after the act
	pace, max int  // the rules of the event at that time
}

// simLedger is the simulation's own book. It sits between the office and the
// store, above every planted fault, and keeps what the office wrote; beside that
// what visitors, the bank and the shop were told.
type simLedger struct {
	mu     sync.Mutex
	acts   []simAct
	events map[string]*sale.Event
	places map[simPlaceKey]sale.Place
	since  map[simPlaceKey]time.Time // when a place was last written
	orders map[uuid.UUID]*sale.Order
	joined []sale.Place // places as they were made, in order of commit
	calls  []simCall
	active map[string]int
	called map[simPlaceNumber]bool

	toldPlaces []simToldPlace
	toldHolds  []*sale.OrderView
	toldPaid   []*sale.OrderView
	shop       map[string]simMoney // by reference, as far as Foyer took it
	seen       []string            // violations that were observed while the evening ran
}

type simPlaceNumber struct {
	event  string
	number uint64
}

type simToldPlace struct {
	simPlaceKey
	number uint64
}

func newSimLedger() *simLedger {
	return &simLedger{
		events: map[string]*sale.Event{}, places: map[simPlaceKey]sale.Place{}, orders: map[uuid.UUID]*sale.Order{},
		since: map[simPlaceKey]time.Time{}, active: map[string]int{}, called: map[simPlaceNumber]bool{}, shop: map[string]simMoney{},
	}
}

// book takes in a transaction whose function did not fail. It runs on the
// store's writer, so acts come in order of commit.
func (l *simLedger) book(a simAct) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range a.events {
		l.events[e.ID] = e
	}
	from := len(l.calls)
	for _, p := range a.places {
		l.bookPlace(p, a.at)
	}
	for i := from; i < len(l.calls); i++ {
		c := &l.calls[i]
		c.active, c.pace, c.max = l.active[c.event], l.events[c.event].Rules.AdmitPerSecond, l.events[c.event].Rules.MaxActive
	}
	for _, p := range a.removed {
		delete(l.places, simKey(p))
	}
	for _, o := range a.orders {
		l.orders[o.ID] = o
	}
	l.acts = append(l.acts, a)
}

func (l *simLedger) bookPlace(p sale.Place, at time.Time) {
	old, had := l.places[simKey(p)]
	if !had || old.Number != p.Number {
		l.joined = append(l.joined, p)
		had = false
	}
	if had && old.Turn.State.Active() {
		l.active[p.Event]--
	}
	if p.Turn.State.Active() {
		l.active[p.Event]++
	}
	if p.Turn.State == sale.TurnReady && p.Turn.CalledAt.Equal(at) && (!had || !old.Turn.CalledAt.Equal(at)) {
		n := simPlaceNumber{p.Event, p.Number}
		l.calls = append(l.calls, simCall{event: p.Event, number: p.Number, class: p.Class, at: at, again: l.called[n]})
		l.called[n] = true
	}
	l.places[simKey(p)], l.since[simKey(p)] = p, at
}

// observe notes a violation at the time it is seen.
func (l *simLedger) observe(violations ...string) {
	if len(violations) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, violations...)
}

func (l *simLedger) place(k simPlaceKey) (sale.Place, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.places[k]
	return p, ok
}

func (l *simLedger) tellPlace(k simPlaceKey, v sale.PlaceView) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.toldPlaces = append(l.toldPlaces, simToldPlace{k, v.Number})
}

func (l *simLedger) tellHold(v *sale.OrderView) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.toldHolds = append(l.toldHolds, v)
}

func (l *simLedger) tellPaid(v *sale.OrderView) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.toldPaid = append(l.toldPaid, v)
}

func (l *simLedger) tellShop(reference string, m simMoney) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shop[reference] = m
}

// simHistory is the state between two acts.
type simHistory struct {
	places map[simPlaceKey]sale.Place
	orders map[uuid.UUID]*sale.Order
	called map[simPlaceNumber]bool
}

// replay walks through the acts; visit sees the state before each.
func (l *simLedger) replay(visit func(a *simAct, before *simHistory)) {
	h := &simHistory{places: map[simPlaceKey]sale.Place{}, orders: map[uuid.UUID]*sale.Order{}, called: map[simPlaceNumber]bool{}}
	for i := range l.acts {
		a := &l.acts[i]
		visit(a, h)
		for _, p := range a.places {
			h.places[simKey(p)] = p
			if p.Turn.State == sale.TurnReady {
				h.called[simPlaceNumber{p.Event, p.Number}] = true
			}
		}
		for _, p := range a.removed {
			delete(h.places, simKey(p))
		}
		for _, o := range a.orders {
			h.orders[o.ID] = o
		}
	}
}

// steps are the orders whose status an act changed, as they were (nil: new) and
// as they are.
func (a *simAct) steps(before *simHistory) (steps [][2]*sale.Order) {
	var done []uuid.UUID
	for _, o := range a.orders {
		if slices.Contains(done, o.ID) {
			continue
		}
		done = append(done, o.ID)
		was, is := before.orders[o.ID], a.order(o.ID)
		if was == nil || was.Status != is.Status {
			steps = append(steps, [2]*sale.Order{was, is})
		}
	}
	return steps
}

// simStore is a store under the ledger's eyes.
type simStore struct {
	sale.Store
	ledger *simLedger
}

func (s simStore) Update(fn func(sale.Tx) error) error {
	return s.Store.Update(func(tx sale.Tx) error {
		t := &simTx{Tx: tx, act: simAct{at: tx.Now()}}
		if err := fn(t); err != nil {
			return err
		}
		if t.wrote {
			s.ledger.book(t.act)
		}
		return nil
	})
}

type simTx struct {
	sale.Tx
	act   simAct
	wrote bool
}

func (t *simTx) PutPlace(p sale.Place) {
	t.wrote = true
	t.act.places = append(t.act.places, p)
	t.Tx.PutPlace(p)
}

func (t *simTx) RemovePlace(p sale.Place) {
	t.wrote = true
	t.act.removed = append(t.act.removed, p)
	t.Tx.RemovePlace(p)
}

func (t *simTx) PutOrder(o *sale.Order) {
	t.wrote = true
	t.act.orders = append(t.act.orders, o)
	t.Tx.PutOrder(o)
}

func (t *simTx) PutReceipt(rc *sale.Receipt) {
	t.wrote = true
	t.act.receipts = append(t.act.receipts, *rc)
	t.Tx.PutReceipt(rc)
}

func (t *simTx) Send(m outbox.Message) {
	t.wrote = true
	t.act.sent = append(t.act.sent, m)
	t.Tx.Send(m)
}

func (t *simTx) PutEvent(e *sale.Event) {
	t.wrote = true
	t.act.events = append(t.act.events, e)
	t.Tx.PutEvent(e)
}
