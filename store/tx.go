package store

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/queue"
	"foyer/sale"
	"foyer/seats"
)

// tx is the write transaction: a reader of the committed memory under the
// shadows of what the batch wrote. It implements sale.Tx and is used again for
// every batch.
type tx struct {
	reader
	events    shadow[string, *sale.Event] // nil: removed
	plans     shadow[string, *seats.Plan]
	places    shadow[placeKey, placeWrite]
	tallies   shadow[string, tally]
	called    shadow[string, int] // turns given in this batch
	orders    shadow[uuid.UUID, *sale.Order]
	holders   shadow[seatKey, *sale.Order] // nil: given back
	receipts  shadow[receiptKey, *sale.Receipt]
	keys      shadow[sale.KeyHash, *sale.Key] // nil: removed
	ordinals  shadow[struct{}, uint32]
	nextFact  shadow[struct{}, uint64] // the number of the next new receipt
	removed   list[*sale.Event]
	messages  list[outbox.Message]
	entries   list[sale.Entry]
	settled   list[outbox.Outcome]
	forgotten list[uuid.UUID]              // closed orders
	laneRules shadow[string, *outbox.Rule] // nil: removed
	tasks     shadow[uuid.UUID, outbox.Message]
	slots     list[outbox.Slot]
	pastSlots list[outbox.Slot]
	pastTasks list[uuid.UUID]
	pastRows  list[uint64] // of ended tasks
	drawings  list[drawing]
	codes     shadow[codeKey, int] // joins of this batch that used it
	used      list[use]
	ran       int  // functions of this commit so far
	alone     bool // no other function may follow
	layers    []layer

	random  [4096]byte // unused random bytes from the front
	unused  []byte
	lastID  int64 // milliseconds of the newest id
	counter uint16
}

func newTx(s *Store) *tx {
	t := &tx{
		reader: reader{memory: s.mem, file: s},
		events: newShadow[string, *sale.Event](), plans: newShadow[string, *seats.Plan](),
		places: newShadow[placeKey, placeWrite](), tallies: newShadow[string, tally](), called: newShadow[string, int](),
		orders: newShadow[uuid.UUID, *sale.Order](), holders: newShadow[seatKey, *sale.Order](),
		receipts: newShadow[receiptKey, *sale.Receipt](), keys: newShadow[sale.KeyHash, *sale.Key](),
		ordinals: newShadow[struct{}, uint32](), nextFact: newShadow[struct{}, uint64](), codes: newShadow[codeKey, int](), laneRules: newShadow[string, *outbox.Rule](), tasks: newShadow[uuid.UUID, outbox.Message](),
	}
	t.lastID, t.counter = partsOf(s.mem.next.newest)
	t.layers = []layer{
		&t.events, &t.plans, &t.places, &t.tallies, &t.called, &t.orders, &t.holders, &t.receipts, &t.keys,
		&t.ordinals, &t.nextFact, &t.removed, &t.messages, &t.entries, &t.settled, &t.forgotten, &t.laneRules, &t.tasks, &t.slots, &t.pastSlots, &t.pastTasks, &t.pastRows, &t.drawings, &t.codes, &t.used,
	}
	return t
}

func (t *tx) begin(now time.Time, ahead time.Duration) {
	t.at, t.ahead, t.ran, t.alone = now, ahead, 0, false
}

func (t *tx) keep() {
	for _, l := range t.layers {
		l.keep()
	}
}

func (t *tx) drop() {
	for _, l := range t.layers {
		l.drop()
	}
}

func (t *tx) reset() {
	for _, l := range t.layers {
		l.reset()
	}
}

// dirty tells whether the batch wrote anything.
func (t *tx) dirty() bool {
	return len(t.events.batch)+len(t.plans.batch)+len(t.places.batch)+len(t.orders.batch)+len(t.receipts.batch)+len(t.ordinals.batch)+
		len(t.keys.batch)+len(t.removed.batch)+len(t.messages.batch)+len(t.entries.batch)+len(t.settled.batch)+len(t.forgotten.batch)+
		len(t.drawings.batch)+len(t.laneRules.batch)+len(t.slots.batch)+len(t.pastSlots.batch)+len(t.pastRows.batch) > 0
}

// NewID makes a UUID of version 7 (RFC 9562): milliseconds, then a counter that
// keeps ids of one millisecond rising, then 62 random bits.
func (t *tx) NewID() uuid.UUID {
	if len(t.unused) < 8 {
		t.unused = t.random[:]
		_, _ = rand.Read(t.unused) // never fails (crypto/rand)
	}
	ms := max(t.at.UnixMilli(), t.lastID)
	if ms == t.lastID {
		t.counter++
	} else {
		t.counter = 0
	}
	if t.counter == 1<<12 {
		t.counter = 0
		ms++
	}
	t.lastID = ms
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:], uint64(ms)<<16|0x7000|uint64(t.counter))
	copy(id[8:], t.unused[:8])
	t.unused = t.unused[8:]
	id[8] = id[8]&0x3f | 0x80
	return id
}

// partsOf reads the time and the counter of an id that NewID made.
func partsOf(id uuid.UUID) (ms int64, counter uint16) {
	n := binary.BigEndian.Uint64(id[:])
	return int64(n >> 16), uint16(n & 0xfff)
}

func (t *tx) NextOrdinal() uint32 {
	n, ok := t.ordinals.get(struct{}{})
	if !ok {
		n = t.next.ordinal
	}
	t.ordinals.put(struct{}{}, n+1)
	return n
}

func (t *tx) Event(id string) (*sale.Event, bool) {
	if e, ok := t.events.get(id); ok {
		return e, e != nil
	}
	return t.reader.Event(id)
}

func (t *tx) Events() []*sale.Event {
	events := map[string]*sale.Event{}
	for _, e := range t.reader.Events() {
		events[e.ID] = e
	}
	for id, e := range t.events.all() {
		events[id] = e
	}
	list := slices.DeleteFunc(slices.Collect(maps.Values(events)), func(e *sale.Event) bool { return e == nil })
	slices.SortFunc(list, func(a, b *sale.Event) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	return list
}

func (t *tx) PutEvent(e *sale.Event) { t.events.put(e.ID, e) }

func (t *tx) RemoveEvent(e *sale.Event) {
	t.events.put(e.ID, nil)
	t.removed.add(e)
}

func (t *tx) Plan(event string) *seats.Plan {
	if p, ok := t.plans.get(event); ok {
		return p
	}
	return t.reader.Plan(event)
}

func (t *tx) PutPlan(event string, p *seats.Plan) { t.plans.put(event, p) }

func (t *tx) Place(event string, visitor uuid.UUID) (sale.Place, bool) {
	if w, ok := t.places.get(placeKey{event, visitor}); ok {
		return w.place, !w.gone
	}
	return t.reader.Place(event, visitor)
}

func (t *tx) tally(event string) tally {
	if n, ok := t.tallies.get(event); ok {
		return n
	}
	if em, ok := t.reader.events[event]; ok {
		return em.tally
	}
	return newTally()
}

func (t *tx) Line(event string) sale.Line {
	return t.tally(event).line(t.reader.events[event])
}

func (t *tx) Recent(event string) int {
	n, _ := t.called.get(event)
	return t.reader.Recent(event) + n
}

func (t *tx) NextCall(event string, perSecond int) time.Time {
	n, _ := t.called.get(event)
	limit := perSecond - n
	if limit <= 0 {
		return t.at.Add(time.Second + time.Millisecond)
	}
	if em, ok := t.reader.events[event]; ok {
		return em.window.Next(t.at, limit)
	}
	return t.at
}

// PutPlace writes a place and counts what that changes.
func (t *tx) PutPlace(p sale.Place) {
	old, had := t.Place(p.Event, p.Visitor)
	n := t.tally(p.Event)
	if had {
		n.count(old, -1)
		if old.Turn.State.Active() && !p.Turn.State.Active() {
			n.freed++
		}
	}
	n.count(p, 1)
	n.next = max(n.next, p.Number+1)
	if p.Turn.State == sale.TurnReady && p.Turn.CalledAt.Equal(t.at) && (!had || old.Number != p.Number || !old.Turn.CalledAt.Equal(t.at)) {
		c, _ := t.called.get(p.Event)
		t.called.put(p.Event, c+1)
		n.frontier[p.Class] = max(n.frontier[p.Class], p.Number+1)
	}
	t.tallies.put(p.Event, n)
	t.places.put(placeKey{p.Event, p.Visitor}, placeWrite{place: p})
}

func (t *tx) RemovePlace(p sale.Place) {
	n := t.tally(p.Event)
	n.count(p, -1)
	t.tallies.put(p.Event, n)
	t.places.put(placeKey{p.Event, p.Visitor}, placeWrite{place: p, gone: true})
}

func (t *tx) Front(event string, n int, turns queue.Cycle) []sale.Place {
	var front [2][]sale.Place // by class
	if em, ok := t.reader.events[event]; ok {
		for class := range front {
			for number, id := range em.line.All(sale.Class(class)) {
				if len(front[class]) == n {
					break
				}
				if p, ok := t.Place(event, id); ok && p.Number == number && p.Class == sale.Class(class) && p.Turn.State == sale.TurnNone {
					front[class] = append(front[class], p)
				}
			}
		}
	}
	for k, w := range t.places.all() { // those who came or came back in this batch
		old, had := t.reader.Place(event, k.visitor)
		stood := had && old.Number == w.place.Number && old.Class == w.place.Class && old.Turn.State == sale.TurnNone
		if k.event == event && !w.gone && w.place.Turn.State == sale.TurnNone && !stood {
			front[w.place.Class] = append(front[w.place.Class], w.place)
		}
	}
	var back []sale.Place
	byNumber := func(a, b sale.Place) int { return cmp.Compare(a.Number, b.Number) }
	for class, called := range t.tally(event).frontier {
		of := front[class]
		slices.SortFunc(of, byNumber)
		again := 0
		for again < len(of) && of[again].Number < called {
			again++
		}
		back, front[class] = append(back, of[:again]...), of[again:]
	}
	slices.SortFunc(back, byNumber)
	back = back[:min(n, len(back))]
	return append(back, queue.Deal(turns, front[sale.Member], front[sale.Public], n-len(back))...)
}

func (t *tx) PutOwed(event string, owed int) {
	n := t.tally(event)
	n.owed = owed
	t.tallies.put(event, n)
}

func (t *tx) Turns(event string) iter.Seq[sale.Place] {
	return func(yield func(sale.Place) bool) {
		var before map[uuid.UUID]struct{}
		if em, ok := t.reader.events[event]; ok {
			before = em.live
		}
		for v := range before {
			if p, ok := t.Place(event, v); ok && hasTurn(p) && !yield(p) {
				return
			}
		}
		for k, w := range t.places.all() {
			if _, seen := before[k.visitor]; !seen && k.event == event && !w.gone && hasTurn(w.place) && !yield(w.place) {
				return
			}
		}
	}
}

func hasTurn(p sale.Place) bool { return p.Turn.State != sale.TurnNone && p.Turn.State.Live() }

func (t *tx) Ended(event string) iter.Seq[sale.Place] {
	return func(yield func(sale.Place) bool) {
		em, ok := t.reader.events[event]
		if !ok {
			return
		}
		for _, e := range em.ended {
			if p, ok := t.Place(event, e.visitor); ok && p.Number == e.number && !p.Turn.State.Live() && !yield(p) {
				return
			}
		}
	}
}

func (t *tx) Order(id uuid.UUID) (*sale.Order, bool) {
	if o, ok := t.orders.get(id); ok {
		return o, true
	}
	return t.reader.Order(id)
}

func (t *tx) Holder(event, seat string) (*sale.Order, bool) {
	if o, ok := t.holders.get(seatKey{event, seat}); ok {
		return o, o != nil
	}
	return t.reader.Holder(event, seat)
}

// PutOrder writes an order and keeps the index of its seats: an order that
// claims them becomes their holder, one that does not gives back those it had.
func (t *tx) PutOrder(o *sale.Order) {
	n := t.tally(o.Event)
	old, ok := t.orders.get(o.ID)
	if !ok {
		old, ok = t.reader.orders[o.ID] // one that lives on disk only has no money
	}
	if ok {
		n.countOrder(old, -1)
	}
	n.countOrder(o, 1)
	t.tallies.put(o.Event, n)
	t.orders.put(o.ID, o)
	for i, s := range o.Seats {
		if o.Keeps(i) {
			t.holders.put(seatKey{o.Event, s.ID}, o)
		} else if h, ok := t.Holder(o.Event, s.ID); ok && h.ID == o.ID {
			t.holders.put(seatKey{o.Event, s.ID}, nil)
		}
	}
}

func (t *tx) Key(hash sale.KeyHash) (*sale.Key, bool) {
	if k, ok := t.keys.get(hash); ok {
		return k, k != nil
	}
	return t.reader.Key(hash)
}

func (t *tx) Keys() []*sale.Key {
	keys := maps.Clone(t.reader.keys)
	for hash, k := range t.keys.all() {
		keys[hash] = k
	}
	return inOrder(keys)
}

func (t *tx) PutKey(k *sale.Key)    { t.keys.put(k.Hash, k) }
func (t *tx) RemoveKey(k *sale.Key) { t.keys.put(k.Hash, nil) }

func (t *tx) Settle(o outbox.Outcome)       { t.settled.add(o) }
func (t *tx) Audit(e sale.Entry)            { t.entries.add(e) }
func (t *tx) Flow(event string) *queue.Flow { return t.reader.Flow(event) }
