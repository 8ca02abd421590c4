package store

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	bolt "go.etcd.io/bbolt"

	"foyer/outbox"
	"foyer/sale"
)

// row is one write to a bucket; a nil value deletes.
type row struct{ key, value []byte }

// rows gathers the writes to one bucket, so that they go in by rising key.
type rows struct {
	bucket []byte
	fill   float64
	rows   []row
}

func (r *rows) put(key, value []byte) { r.rows = append(r.rows, row{key, value}) }
func (r *rows) del(key []byte)        { r.rows = append(r.rows, row{key, nil}) }

func (r *rows) write(tx *bolt.Tx) error {
	b := tx.Bucket(r.bucket)
	if r.fill > 0 {
		b.FillPercent = r.fill
	}
	slices.SortStableFunc(r.rows, func(a, b row) int { return bytes.Compare(a.key, b.key) })
	for _, w := range r.rows {
		var err error
		if w.value == nil {
			err = b.Delete(w.key)
		} else {
			err = b.Put(w.key, w.value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeRows puts everything the batch wrote into the bbolt transaction.
func (t *tx) writeRows(b *bolt.Tx) error {
	for _, e := range t.removed.batch {
		if err := dropEvent(b, e); err != nil {
			return err
		}
	}
	for _, r := range []*rows{
		t.eventRows(), t.planRows(), t.countRows(), t.placeRows(), t.drawRows(), t.useRows(), t.receiptRows(), t.messageRows(), t.entryRows(), t.keyRows(), t.ruleRows(), t.slotRows(),
	} {
		if err := r.write(b); err != nil {
			return err
		}
	}
	open, closed := t.orderRows()
	if err := open.write(b); err != nil {
		return err
	}
	if err := closed.write(b); err != nil {
		return err
	}
	if err := t.settleRows(b); err != nil {
		return err
	}
	if n := len(t.messages.batch); n > 0 { // delivered rows are gone, their numbers are not given again
		if err := b.Bucket(bucketOutbox).SetSequence(t.messages.batch[n-1].Seq); err != nil {
			return err
		}
	}
	if n, ok := t.ordinals.batch[struct{}{}]; ok {
		if err := b.Bucket(bucketMeta).Put(keyOrdinal, key32(n)); err != nil {
			return err
		}
	}
	return edgeError(edgeWritten)
}

func (t *tx) eventRows() *rows {
	r := &rows{bucket: bucketEvents}
	for _, e := range t.events.batch {
		if e != nil {
			r.put(key32(e.Ordinal), encodeJSON(e))
		}
	}
	return r
}

// ordinalOf finds the row name of an event, also of one made in this batch.
func (t *tx) ordinalOf(event string) (uint32, bool) {
	if e, ok := t.Event(event); ok {
		return e.Ordinal, true
	}
	return 0, false
}

func (t *tx) planRows() *rows {
	r := &rows{bucket: bucketPlans}
	for event, p := range t.plans.batch {
		if n, ok := t.ordinalOf(event); ok {
			r.put(key32(n), p.JSON())
		}
	}
	return r
}

// countRows keeps what the places alone would not tell after some are gone.
func (t *tx) countRows() *rows {
	r := &rows{bucket: bucketCounts}
	for event, c := range t.tallies.batch {
		n, ok := t.ordinalOf(event)
		em, known := t.reader.events[event]
		if ok && (!known || em.tally.next != c.next || em.tally.frontier != c.frontier || em.tally.owed != c.owed) {
			r.put(key32(n), encodeCounts(c))
		}
	}
	return r
}

func (t *tx) placeRows() *rows {
	r := &rows{bucket: bucketPlaces, fill: fillAppended}
	for k, w := range t.places.batch {
		n, ok := t.ordinalOf(k.event)
		if !ok {
			continue
		}
		key := keyPlace(n, w.place.Number)
		if em, known := t.reader.events[k.event]; known {
			if old, had := em.place(k.visitor); had && (w.gone || old.Number != w.place.Number) {
				r.del(em.keyOf(old.Number))
			}
			key = em.keyOf(w.place.Number)
		}
		if !w.gone {
			r.put(key, encodePlace(w.place))
		}
	}
	return r
}

func (t *tx) orderRows() (open, closed *rows) {
	open = &rows{bucket: bucketOrders, fill: fillAppended}
	closed = &rows{bucket: bucketClosed, fill: fillAppended}
	for id, o := range t.orders.batch {
		if o.Live() {
			open.put(orderKey(id), encodeJSON(o))
			if _, hot := t.reader.orders[id]; !hot {
				closed.del(orderKey(id))
			}
			continue
		}
		closed.put(orderKey(id), encodeJSON(o))
		open.del(orderKey(id))
	}
	for _, id := range t.forgotten.batch {
		if _, written := t.orders.batch[id]; !written {
			closed.del(orderKey(id))
		}
	}
	return open, closed
}

func (t *tx) receiptRows() *rows {
	r := &rows{bucket: bucketReceipts, fill: fillAppended}
	for _, rc := range t.receipts.batch {
		r.put(key64(rc.Seq), encodeJSON(rc))
	}
	return r
}

func (t *tx) messageRows() *rows {
	r := &rows{bucket: bucketOutbox, fill: fillAppended}
	for i := range t.messages.batch {
		m := &t.messages.batch[i]
		m.Seq = t.next.message + uint64(i)
		r.put(key64(m.Seq), encodeMessage(*m))
	}
	return r
}

func (t *tx) entryRows() *rows {
	r := &rows{bucket: bucketAudit, fill: fillAppended}
	for i := range t.entries.batch {
		e := &t.entries.batch[i]
		e.Seq = t.next.entries + uint64(i)
		r.put(key64(e.Seq), encodeJSON(e))
	}
	return r
}

func (t *tx) keyRows() *rows {
	r := &rows{bucket: bucketKeys}
	for hash, k := range t.keys.batch {
		if k == nil {
			r.del(hash[:])
		} else {
			r.put(hash[:], encodeJSON(k))
		}
	}
	return r
}

// settleRows books delivery attempts: delivered messages go, others keep their
// body and get what was learnt.
func (t *tx) settleRows(b *bolt.Tx) error {
	bucket := b.Bucket(bucketOutbox)
	for _, o := range t.settled.batch {
		key := key64(o.Seq)
		v := bucket.Get(key)
		if v == nil {
			continue // dropped by staff meanwhile
		}
		if o.Delivered && !o.Keep {
			if err := bucket.Delete(key); err != nil {
				return err
			}
			continue
		}
		m, err := decodeMessage(o.Seq, v, true)
		if err != nil {
			return err
		}
		m = settledAs(m, o, t.at)
		if o.Keep {
			if err := errors.Join(bucket.Delete(key), b.Bucket(bucketEnded).Put(key, encodeMessage(m))); err != nil {
				return err
			}
			continue
		}
		if err := bucket.Put(key, encodeMessage(m)); err != nil {
			return err
		}
	}
	ended := b.Bucket(bucketEnded)
	for _, seq := range t.pastRows.batch {
		if err := ended.Delete(key64(seq)); err != nil {
			return err
		}
	}
	return nil
}

// dropEvent deletes an event's rows. Keys are gathered first: deleting under a
// bbolt cursor skips keys.
func dropEvent(b *bolt.Tx, e *sale.Event) error {
	prefix := key32(e.Ordinal)
	for _, name := range [][]byte{bucketEvents, bucketPlans, bucketCounts, bucketPlaces, bucketDraws, bucketUses} {
		bucket := b.Bucket(name)
		var keys [][]byte
		c := bucket.Cursor()
		for k, _ := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, _ = c.Next() {
			keys = append(keys, bytes.Clone(k))
		}
		for _, k := range keys {
			if err := bucket.Delete(k); err != nil {
				return err
			}
		}
	}
	return nil
}

// apply moves the batch, now on disk, into memory and tells those who watch.
func (s *Store) apply(t *tx) {
	touched := map[string]struct{}{}
	s.mu.Lock()
	t.applyTo(s.mem, touched)
	for _, em := range s.mem.events {
		em.tellFlow(t.at, t.Calendar())
	}
	s.mu.Unlock()
	edge(edgeApplied)
	s.watch.tell(touched)
	s.tellFreed()
	if s.offer != nil && len(t.messages.batch) > 0 {
		light := slices.Clone(t.messages.batch)
		for i := range light {
			light[i].Body = nil
		}
		s.offer(light)
		edge(edgeOffered)
	}
	t.reset()
}

func (t *tx) applyTo(m *memory, touched map[string]struct{}) {
	for _, e := range t.removed.batch {
		m.removeEvent(e)
	}
	for id, e := range t.events.batch {
		touched[id] = struct{}{}
		if e != nil {
			m.putEvent(e)
		}
	}
	for event, p := range t.plans.batch {
		if em, ok := m.events[event]; ok {
			em.plan = p
		}
	}
	t.applyPlaces(m, touched)
	t.applyUses(m)
	for _, d := range t.drawings.batch {
		if em, ok := m.events[d.event]; ok {
			em.line, em.entries = d.line, d.entries
		}
	}
	for _, o := range t.orders.batch {
		touched[o.Event] = struct{}{}
		m.putOrder(o)
	}
	for k, o := range t.holders.batch {
		em, ok := m.events[k.event]
		switch {
		case !ok:
		case o == nil:
			delete(em.holders, k.seat)
		default:
			em.holders[k.seat] = o
		}
	}
	for _, rc := range t.receipts.batch {
		m.putReceipt(rc)
		m.next.receipt = max(m.next.receipt, rc.Seq+1)
	}
	for hash, k := range t.keys.batch {
		if k == nil {
			delete(m.keys, hash)
		} else {
			m.keys[hash] = k
		}
	}
	if n, ok := t.ordinals.batch[struct{}{}]; ok {
		m.next.ordinal = n
	}
	t.applyLanes(m)
	m.next.message += uint64(len(t.messages.batch))
	m.next.entries += uint64(len(t.entries.batch))
}

// applyPlaces goes by rising number: the line takes appends only in order.
func (t *tx) applyPlaces(m *memory, touched map[string]struct{}) {
	writes := make([]placeWrite, 0, len(t.places.batch))
	for _, w := range t.places.batch {
		writes = append(writes, w)
	}
	slices.SortFunc(writes, func(a, b placeWrite) int { return cmp.Compare(a.place.Number, b.place.Number) })
	for _, w := range writes {
		touched[w.place.Event] = struct{}{}
		em, ok := m.events[w.place.Event]
		if !ok {
			continue
		}
		if w.gone {
			if old, had := em.place(w.place.Visitor); had {
				em.forget(old)
			}
			continue
		}
		em.putPlace(w.place)
	}
	for event, n := range t.called.batch {
		if em, ok := m.events[event]; ok {
			em.window.Add(t.at, n)
			em.given += n
		}
	}
	for event, n := range t.tallies.batch {
		if em, ok := m.events[event]; ok {
			m.freed = m.freed || n.freed > em.tally.freed && n.waiting > 0 && n.active < em.event.Rules.MaxActive
			em.tally = n
			em.trimEnded()
		}
	}
}

// trimEnded drops outdated entries from the front of the list of ended places.
func (em *eventMemory) trimEnded() {
	i := 0
	for ; i < len(em.ended); i++ {
		if p, ok := em.called[em.ended[i].visitor]; ok && p.number == em.ended[i].number && !turnCodes[p.state].Live() {
			break
		}
	}
	em.ended = em.ended[i:]
}

var _ outbox.Book = (*Store)(nil)
