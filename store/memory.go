package store

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/queue"
	"foyer/sale"
	"foyer/seats"
)

// memory is the committed sale. Only the writer changes it, under Store.mu.
type memory struct {
	events   map[string]*eventMemory
	list     []*sale.Event // in the order of creation
	orders   map[uuid.UUID]*sale.Order
	receipts map[receiptKey]*sale.Receipt
	matters  map[receiptKey]*sale.Receipt // those of receipts that came onto the attention list
	tickets  map[uuid.UUID]uuid.UUID      // ticket -> order
	running  map[uuid.UUID]*sale.Order    // orders with a payment that was started and has not ended
	keys     map[sale.KeyHash]*sale.Key
	next     sequences

	laneRules map[string]outbox.Rule
	tasks     map[uuid.UUID]uint64 // ids of tasks, ended ones too -> seq
	look      *sale.Inspection     // while the file is loaded
	freed     bool                 // by the commit just applied, see Store.Freed
}

// sequences are the numbers that the next rows get.
type sequences struct {
	ordinal                   uint32
	message, receipt, entries uint64
	newest                    uuid.UUID // the largest order id given so far
}

func (m *memory) putReceipt(rc *sale.Receipt) {
	k := receiptKey{rc.Fact.Provider, rc.Fact.EventID}
	m.receipts[k] = rc
	if rc.Attention != "" {
		m.matters[k] = rc
	} else {
		delete(m.matters, k)
	}
}

type receiptKey struct{ provider, event string }

// seatKey names a seat across events.
type seatKey struct{ event, seat string }

// placeKey names a visitor's place across events.
type placeKey struct {
	event   string
	visitor uuid.UUID
}

// eventMemory is one event with its line and house.
type eventMemory struct {
	event   *sale.Event
	plan    *seats.Plan
	line    *queue.Classes      // waiting places
	links   map[uuid.UUID]uint8 // of those who wait and have used some
	entries []uint32            // number-1 -> the number of the join; empty unless numbers were drawn
	called  calledPlaces
	shops   map[uuid.UUID]*sale.ShopClaim // of those of called that a shop had to do with
	live    map[uuid.UUID]struct{}        // those of called that are READY, CLAIMED or ASIDE
	ended   []endedPlace                  // oldest first; entries may be outdated
	uses    uses
	holders map[string]*sale.Order // seat -> the order that claims it
	window  queue.Window           // turns given lately
	flow    queue.Flow             // what leaves the line
	tally   tally
	given   int       // turns given since flow was told last
	done    int       // turns ended since flow was told last
	toldAt  time.Time // when flow was told last
}

type endedPlace struct {
	visitor uuid.UUID
	number  uint64
}

func newMemory() *memory {
	return &memory{
		events: map[string]*eventMemory{}, orders: map[uuid.UUID]*sale.Order{},
		laneRules: map[string]outbox.Rule{}, tasks: map[uuid.UUID]uint64{},
		receipts: map[receiptKey]*sale.Receipt{}, matters: map[receiptKey]*sale.Receipt{},
		tickets: map[uuid.UUID]uuid.UUID{}, running: map[uuid.UUID]*sale.Order{}, keys: map[sale.KeyHash]*sale.Key{},
		next: sequences{ordinal: 1, message: 1, receipt: 1, entries: 1},
	}
}

func newEventMemory(e *sale.Event) *eventMemory {
	return &eventMemory{
		event: e, line: queue.NewClasses(), called: calledPlaces{}, shops: map[uuid.UUID]*sale.ShopClaim{}, live: map[uuid.UUID]struct{}{},
		links: map[uuid.UUID]uint8{}, uses: uses{}, holders: map[string]*sale.Order{}, tally: newTally(),
	}
}

func (m *memory) putEvent(e *sale.Event) {
	if em, ok := m.events[e.ID]; ok {
		em.event = e
	} else {
		m.events[e.ID] = newEventMemory(e)
	}
	m.list = slices.DeleteFunc(slices.Clone(m.list), func(o *sale.Event) bool { return o.Ordinal == e.Ordinal })
	at, _ := slices.BinarySearchFunc(m.list, e.Ordinal, func(o *sale.Event, n uint32) int { return int(o.Ordinal) - int(n) })
	m.list = slices.Insert(m.list, at, e)
}

func (m *memory) removeEvent(e *sale.Event) {
	delete(m.events, e.ID)
	m.list = slices.DeleteFunc(slices.Clone(m.list), func(o *sale.Event) bool { return o.Ordinal == e.Ordinal })
}

// place finds the committed place of a visitor.
func (em *eventMemory) place(visitor uuid.UUID) (sale.Place, bool) {
	if p, ok := em.calledPlace(visitor); ok {
		p.Entry = em.entry(p.Number)
		return p, true
	}
	if n, class, ok := em.line.Number(visitor); ok {
		return sale.Place{Event: em.event.ID, Number: n, Entry: em.entry(n), Visitor: visitor, Class: class, Links: em.links[visitor]}, true
	}
	return sale.Place{}, false
}

// mark keeps what few waiting places have.
func (em *eventMemory) mark(p sale.Place) {
	if p.Links != 0 {
		em.links[p.Visitor] = p.Links
	}
}

// forget takes a place out of every index.
func (em *eventMemory) forget(p sale.Place) {
	if p.Turn.State == sale.TurnNone {
		em.line.Remove(p.Class, p.Number)
		delete(em.links, p.Visitor)
		return
	}
	delete(em.called, p.Visitor)
	delete(em.shops, p.Visitor)
	delete(em.live, p.Visitor)
}

// putPlace moves a visitor's place to where it belongs now.
func (em *eventMemory) putPlace(p sale.Place) {
	old, had := em.place(p.Visitor)
	if had && (old.Number != p.Number || old.Turn.State == sale.TurnNone || p.Turn.State == sale.TurnNone) {
		em.forget(old)
	}
	s := p.Turn.State
	if s == sale.TurnNone {
		if p.Number >= em.tally.next {
			em.line.Append(p.Class, p.Number, p.Visitor)
		} else {
			em.line.Restore(p.Class, p.Number, p.Visitor)
		}
		em.mark(p)
		return
	}
	em.putCalled(p)
	if s.Live() {
		em.live[p.Visitor] = struct{}{}
	} else {
		delete(em.live, p.Visitor)
		if !had || old.Number != p.Number || old.Turn.State.Live() {
			em.ended = append(em.ended, endedPlace{p.Visitor, p.Number})
			em.done++
		}
	}
}

// putOrder keeps what still matters in memory; a hold that came to nothing lives
// on disk only.
func (m *memory) putOrder(o *sale.Order) {
	if o.Live() {
		m.orders[o.ID] = o
	} else {
		delete(m.orders, o.ID)
	}
	if o.Running() {
		m.running[o.ID] = o
	} else {
		delete(m.running, o.ID)
	}
	for _, s := range o.Seats {
		if s.Ticket != uuid.Nil {
			m.tickets[s.Ticket] = o.ID
		}
	}
}

// frontier is the smallest number of a class that nobody before has missed.
func (em *eventMemory) frontier(class sale.Class) uint64 {
	if n, ok := em.line.First(class); ok {
		return max(n, em.tally.frontier[class])
	}
	return em.tally.next
}

// tellFlow tells the estimate what left the line in the last second or so. Those who
// may not be called at this time by the calendar are no evidence that it is slow.
func (em *eventMemory) tellFlow(now, calendar time.Time) {
	if now.Sub(em.toldAt) < time.Second {
		return
	}
	em.flow.Observe(now, em.given, em.event.Callable(calendar, em.tally.line(em)))
	em.flow.Done(now, em.done)
	em.given, em.done, em.toldAt = 0, 0, now
}

// reader is memory at one moment; it implements sale.Reader.
type reader struct {
	*memory
	at    time.Time
	ahead time.Duration // of the wall clock
	file  *Store        // for what is not in memory
}

func (r *reader) Now() time.Time { return r.at }

func (r *reader) Calendar() time.Time { return r.at.Add(r.ahead) }

func (r *reader) Event(id string) (*sale.Event, bool) {
	if em, ok := r.events[id]; ok {
		return em.event, true
	}
	return nil, false
}

func (r *reader) Events() []*sale.Event { return r.list }

func (r *reader) Plan(event string) *seats.Plan {
	if em, ok := r.events[event]; ok {
		return em.plan
	}
	return nil
}

func (r *reader) Place(event string, visitor uuid.UUID) (sale.Place, bool) {
	if em, ok := r.events[event]; ok {
		return em.place(visitor)
	}
	return sale.Place{}, false
}

func (r *reader) Line(event string) sale.Line {
	em, ok := r.events[event]
	if !ok {
		return sale.Line{Next: 1}
	}
	return em.tally.line(em)
}

func (r *reader) Rank(event string, class sale.Class, number uint64, turns queue.Cycle) int {
	if em, ok := r.events[event]; ok {
		return em.line.Rank(class, number, turns, em.tally.frontier)
	}
	return 0
}

func (r *reader) Frontier(event string, class sale.Class) uint64 {
	if em, ok := r.events[event]; ok {
		return em.frontier(class)
	}
	return 1
}

func (r *reader) Recent(event string) int {
	if em, ok := r.events[event]; ok {
		return em.window.Count(r.at)
	}
	return 0
}

var noFlow queue.Flow

func (r *reader) Flow(event string) *queue.Flow {
	if em, ok := r.events[event]; ok {
		return &em.flow
	}
	return &noFlow
}

func (r *reader) Order(id uuid.UUID) (*sale.Order, bool) {
	if o, ok := r.orders[id]; ok {
		return o, true
	}
	return r.file.coldOrder(id)
}

func (r *reader) Holder(event, seat string) (*sale.Order, bool) {
	if em, ok := r.events[event]; ok {
		o, ok := em.holders[seat]
		return o, ok
	}
	return nil, false
}

func (r *reader) Key(hash sale.KeyHash) (*sale.Key, bool) {
	k, ok := r.keys[hash]
	return k, ok
}

func (r *reader) Keys() []*sale.Key { return inOrder(r.keys) }

// inOrder lists keys in the order of their creation; nil ones are removed.
func inOrder(keys map[sale.KeyHash]*sale.Key) (list []*sale.Key) {
	for _, k := range keys {
		if k != nil {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b *sale.Key) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return list
}

func (r *reader) PaidBy(provider, payment, ref string) (*sale.Order, bool) {
	if payment == "" && ref == "" {
		return nil, false
	}
	for _, o := range r.orders {
		if o.HasPayment(provider, payment, ref) {
			return o, true
		}
	}
	return nil, false
}

func (r *reader) Ticketed(ticket uuid.UUID) (*sale.Order, bool) {
	if id, ok := r.tickets[ticket]; ok {
		return r.Order(id)
	}
	return nil, false
}

func (r *reader) Matters(want func(*sale.Receipt) bool) []*sale.Receipt {
	return inTheirOrder(r.eachMatter(want, nil))
}

// eachMatter gives the receipts on the attention list that are wanted (nil: all)
// and are not among others.
func (m *memory) eachMatter(want func(*sale.Receipt) bool, others func(receiptKey) bool) (found []*sale.Receipt) {
	for k, rc := range m.matters {
		if (want == nil || want(rc)) && (others == nil || !others(k)) {
			found = append(found, rc)
		}
	}
	return found
}

// inTheirOrder puts receipts in the order in which they came.
func inTheirOrder(list []*sale.Receipt) []*sale.Receipt {
	slices.SortFunc(list, func(a, b *sale.Receipt) int { return cmp.Compare(a.Seq, b.Seq) })
	return list
}

func (r *reader) Receipt(provider, eventID string) (*sale.Receipt, bool) {
	rc, ok := r.receipts[receiptKey{provider, eventID}]
	return rc, ok
}
