package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"foyer/sale"
	"foyer/seats"
)

// load builds memory from the file.
func (s *Store) load() error {
	m := newMemory()
	m.look = sale.NewInspection(time.Now(), true)
	var last *sitting
	err := s.db.View(func(tx *bolt.Tx) error {
		s.secret = bytes.Clone(tx.Bucket(bucketMeta).Get(keySecret))
		if v := tx.Bucket(bucketMeta).Get(keyOrdinal); len(v) == 4 {
			m.next.ordinal = binary.BigEndian.Uint32(v)
			m.look.NextOrdinal(m.next.ordinal)
		}
		m.next.message = max(lastKey(tx, bucketOutbox), tx.Bucket(bucketOutbox).Sequence()) + 1
		m.next.receipt = lastKey(tx, bucketReceipts) + 1
		m.next.entries = lastKey(tx, bucketAudit) + 1
		m.next.newest = newestID(tx)
		var err error
		if last, err = loadSitting(tx); err != nil {
			return err
		}
		return cmp.Or(m.loadEvents(tx), m.loadKeys(tx), m.loadReceipts(tx), m.loadOrders(tx), m.loadPlaces(tx), m.loadLanes(tx))
	})
	if err != nil {
		return damaged(s.db.Path(), err)
	}
	s.tellFindings(m.look.Findings())
	m.look = nil
	b := &rebase{}
	b.step, b.unsure = s.clock.resume(last)
	now := s.now()
	b.now = now
	if b.needed() {
		b.memory(m)
	}
	for _, em := range m.events {
		em.settleIn(now)
		em.toldAt = now
	}
	s.mem = m
	s.takeOver(last, b.needed(), now)
	return s.begin(b)
}

// newestID finds the largest order id in the file. New ones must be larger, also
// when the clock was set back: lists of orders go by it.
func newestID(tx *bolt.Tx) (id uuid.UUID) {
	for _, name := range [][]byte{bucketOrders, bucketClosed} {
		if k, _ := tx.Bucket(name).Cursor().Last(); len(k) == len(id) && bytes.Compare(k, id[:]) > 0 {
			id = uuid.UUID(k)
		}
	}
	return id
}

func lastKey(tx *bolt.Tx, bucket []byte) uint64 {
	if k, _ := tx.Bucket(bucket).Cursor().Last(); len(k) == 8 {
		return binary.BigEndian.Uint64(k)
	}
	return 0
}

func (m *memory) loadEvents(tx *bolt.Tx) error {
	return tx.Bucket(bucketEvents).ForEach(func(k, v []byte) error {
		e := &sale.Event{}
		if err := json.Unmarshal(v, e); err != nil {
			return fmt.Errorf("event: %w: %v", errDamaged, err)
		}
		if len(k) != 4 {
			return fmt.Errorf("event %s: %w", e.ID, errDamaged)
		}
		ordinal := binary.BigEndian.Uint32(k)
		m.look.Event(ordinal, e)
		m.putEvent(e)
		em := m.events[e.ID]
		if raw := tx.Bucket(bucketPlans).Get(k); raw != nil {
			p, err := seats.Parse(bytes.Clone(raw))
			if err != nil {
				return fmt.Errorf("plan of %s: %w: %v", e.ID, errDamaged, err)
			}
			em.plan = p
			m.look.Plan(ordinal, p)
		}
		if c, ok := decodeCounts(tx.Bucket(bucketCounts).Get(k)); ok {
			em.tally.next, em.tally.frontier, em.tally.owed = c.next, c.frontier, c.owed
			m.look.Counts(ordinal, c.next, c.frontier)
		}
		return nil
	})
}

func (m *memory) loadKeys(tx *bolt.Tx) error {
	return tx.Bucket(bucketKeys).ForEach(func(_, v []byte) error {
		k := &sale.Key{}
		if err := json.Unmarshal(v, k); err != nil {
			return fmt.Errorf("key: %w: %v", errDamaged, err)
		}
		m.keys[k.Hash] = k
		return nil
	})
}

func (m *memory) loadReceipts(tx *bolt.Tx) error {
	return tx.Bucket(bucketReceipts).ForEach(func(k, v []byte) error {
		rc := &sale.Receipt{}
		if err := json.Unmarshal(v, rc); err != nil {
			return fmt.Errorf("receipt: %w: %v", errDamaged, err)
		}
		if len(k) != 8 {
			return fmt.Errorf("receipt: %w", errDamaged)
		}
		m.look.Receipt(binary.BigEndian.Uint64(k), rc)
		m.putReceipt(rc)
		return nil
	})
}

// loadOrders finds the holder of each seat.
func (m *memory) loadOrders(tx *bolt.Tx) error {
	return tx.Bucket(bucketOrders).ForEach(func(_, v []byte) error {
		o, err := decodeOrder(v)
		if err != nil {
			return err
		}
		m.look.Order(o, false)
		m.putOrder(o)
		em, ok := m.events[o.Event]
		if !ok {
			return nil
		}
		em.tally.countOrder(o, 1)
		for i, s := range o.Seats {
			if h := em.holders[s.ID]; o.Keeps(i) && (h == nil || o.Outranks(h)) {
				em.holders[s.ID] = o
			}
		}
		return nil
	})
}

func (m *memory) loadPlaces(tx *bolt.Tx) error {
	byOrdinal := map[uint32]*eventMemory{}
	for _, em := range m.events {
		byOrdinal[em.event.Ordinal] = em
	}
	drawn, err := m.loadDraws(tx, byOrdinal)
	if err = cmp.Or(err, m.loadUses(tx, byOrdinal)); err != nil {
		return err
	}
	return tx.Bucket(bucketPlaces).ForEach(func(k, v []byte) error {
		if len(k) != 12 {
			return fmt.Errorf("place: %w", errDamaged)
		}
		ordinal := binary.BigEndian.Uint32(k)
		em, ok := byOrdinal[ordinal]
		if !ok {
			m.look.Place(ordinal, sale.Place{})
			return nil
		}
		p, err := decodePlace(em.event.ID, binary.BigEndian.Uint64(k[4:]), v)
		if err != nil {
			return err
		}
		p = drawn[ordinal].place(p)
		m.look.Place(ordinal, p)
		em.tally.count(p, 1)
		em.tally.next = max(em.tally.next, p.Number+1)
		if p.Turn.State == sale.TurnNone {
			if em.entries == nil {
				em.line.Append(p.Class, p.Number, p.Visitor)
			} else { // rows are in the order of joins, not in that of the draw
				em.line.Restore(p.Class, p.Number, p.Visitor)
			}
			em.mark(p)
			return nil
		}
		em.putCalled(p)
		if p.Turn.State.Live() {
			em.live[p.Visitor] = struct{}{}
		} else {
			em.ended = append(em.ended, endedPlace{p.Visitor, p.Number})
		}
		return nil
	})
}

// settleIn puts in order what rows by number do not tell by themselves.
func (em *eventMemory) settleIn(now time.Time) {
	for _, e := range em.ended { // what ended in the future would be remembered until then
		if p := em.called[e.visitor]; p.endedAt > now.UnixMilli() {
			p.endedAt = now.UnixMilli()
			em.called[e.visitor] = p
		}
	}
	slices.SortFunc(em.ended, func(a, b endedPlace) int {
		return cmp.Compare(em.called[a.visitor].endedAt, em.called[b.visitor].endedAt)
	})
	var calls []int64
	for _, p := range em.called {
		if at := p.calledAt; at <= now.UnixMilli() && at > now.Add(-2*time.Second).UnixMilli() { // a clock that ran ahead must not stop the pace
			calls = append(calls, at)
		}
	}
	slices.Sort(calls)
	for _, at := range calls {
		em.window.Add(moment(at), 1)
	}
}

// coldOrder reads an order that is not in memory: a hold that came to nothing.
// While money that has come for it after all is on its way to disk, and for good
// when nobody knows whether it got there, it is what it was.
func (s *Store) coldOrder(id uuid.UUID) (o *sale.Order, found bool) {
	if revived := s.revived.Load(); revived != nil {
		if o, found = (*revived)[id]; found {
			return o, true
		}
	}
	err := s.db.View(func(tx *bolt.Tx) (err error) {
		v := tx.Bucket(bucketClosed).Get(orderKey(id))
		if v == nil {
			v = tx.Bucket(bucketOrders).Get(orderKey(id))
		}
		if v == nil {
			return nil
		}
		o, err = decodeOrder(v)
		found = err == nil
		return err
	})
	if err != nil {
		s.log.Error("cannot read an order", "order", id.String(), "error", err.Error())
	}
	return o, found
}

// reviving gives the orders of the batch that are not in memory although they
// were made before it, as they were.
func (s *Store) reviving(t *tx) *map[uuid.UUID]*sale.Order {
	var before map[uuid.UUID]*sale.Order
	for id, o := range t.orders.batch {
		if _, hot := s.mem.orders[id]; hot || o.CreatedAt.Equal(t.at) {
			continue
		}
		if old, found := s.coldOrder(id); found {
			if before == nil {
				before = map[uuid.UUID]*sale.Order{}
			}
			before[id] = old
		}
	}
	if before == nil {
		return nil
	}
	return &before
}
