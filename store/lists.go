package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"foyer/outbox"
	"foyer/sale"
)

// bbolt shows a commit to readers from before its last sync on, and one whose
// sync failed for as long as the file stays open. So lists are held to memory,
// which has a change only once it is on disk.

// Orders lists an event's orders, newest first, before an id, at most n.
func (s *Store) Orders(event string, before uuid.UUID, n int) ([]*sale.Order, error) {
	var found []*sale.Order
	err := s.db.View(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{bucketOrders, bucketClosed} {
			some, err := newestOrders(tx.Bucket(name).Cursor(), event, before, n)
			if err != nil {
				return err
			}
			found = append(found, some...)
		}
		return nil
	})
	slices.SortFunc(found, func(a, b *sale.Order) int { return bytes.Compare(b.ID[:], a.ID[:]) })
	found = found[:min(n, len(found))]
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i, o := range found {
		if known, ok := s.mem.orders[o.ID]; ok {
			found[i] = known
		}
	}
	return found, err
}

func newestOrders(c *bolt.Cursor, event string, before uuid.UUID, n int) (found []*sale.Order, err error) {
	k, v := c.Last()
	if before != uuid.Nil {
		if k, _ = c.Seek(orderKey(before)); k != nil {
			k, v = c.Prev()
		} else {
			k, v = c.Last()
		}
	}
	for ; k != nil && len(found) < n; k, v = c.Prev() {
		o, err := decodeOrder(v)
		if err != nil {
			return nil, err
		}
		if o.Event == event {
			found = append(found, o)
		}
	}
	return found, nil
}

// Entries lists audit entries, newest first, before seq (0: all), at most n.
func (s *Store) Entries(before uint64, n int) (found []sale.Entry, err error) {
	if next := s.given().entries; before == 0 || before > next {
		before = next
	}
	err = s.db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketAudit).Cursor()
		newest := c.Prev
		if k, _ := c.Seek(key64(before)); k == nil {
			newest = c.Last
		}
		for k, v := newest(); k != nil && len(found) < n; k, v = c.Prev() {
			var e sale.Entry
			if err := json.Unmarshal(v, &e); err != nil {
				return err
			}
			found = append(found, e)
		}
		return nil
	})
	return found, err
}

// given are the numbers that the next rows will get.
func (s *Store) given() sequences {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.mem.next
}

// RefundsDue lists the orders with money that must go back, oldest first.
func (s *Store) RefundsDue() []*sale.Order {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return byID(s.mem.orders, func(o *sale.Order) bool {
		_, open := o.Returned()
		return o.Status == sale.RefundDue || open > 0
	})
}

// Unsettled lists the orders with a payment under way, oldest first.
func (s *Store) Unsettled() []*sale.Order {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return byID(s.mem.running, func(*sale.Order) bool { return true })
}

func byID(all map[uuid.UUID]*sale.Order, want func(*sale.Order) bool) (found []*sale.Order) {
	for _, o := range all {
		if want(o) {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b *sale.Order) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return found
}

// forgetAtOnce bounds the rows that one commit drops.
const forgetAtOnce = 2000

// ForgetOrders drops orders that came to nothing, made before a time: their ids
// rise with time, so they lie at the front.
func (s *Store) ForgetOrders(before time.Time) (more bool, err error) {
	var old []uuid.UUID
	err = s.db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketClosed).Cursor()
		for k, _ := c.First(); len(k) == 16 && len(old) < forgetAtOnce; k, _ = c.Next() {
			id := uuid.UUID(k)
			if sec, nsec := id.Time().UnixTime(); !time.Unix(sec, nsec).Before(before) {
				break
			}
			old = append(old, id)
		}
		return nil
	})
	if err != nil || len(old) == 0 {
		return false, err
	}
	err = s.Update(func(t sale.Tx) error {
		for _, id := range old {
			t.(*tx).forgotten.add(id)
		}
		return nil
	})
	return len(old) == forgetAtOnce, err
}

// ServeOutbox hands over all messages not yet delivered, and from then on each
// new one after its commit, in the order of their sequence numbers and without
// their bodies. It is called once, before any Update. Those that may be under
// way for a run before come with a later time, see Options.Lease.
func (s *Store) ServeOutbox(offer func([]outbox.Message)) error {
	const page = 10_000
	now, stuck := s.now(), map[laneName]bool{}
	for after := uint64(0); ; {
		msgs, err := s.messages("", after, page)
		if err != nil {
			return err
		}
		if len(msgs) == 0 {
			break
		}
		s.lease(msgs, now, stuck)
		offer(msgs)
		after = msgs[len(msgs)-1].Seq
	}
	s.offer, s.served = offer, true
	return nil
}

// Messages lists messages of a state ("" = any) after a sequence number, at
// most n, without their bodies.
func (s *Store) Messages(state outbox.State, after uint64, n int) ([]outbox.Message, error) {
	return s.messages(state, after, n)
}

func (s *Store) messages(state outbox.State, after uint64, n int) (found []outbox.Message, err error) {
	next := s.given().message
	err = s.db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketOutbox).Cursor()
		for k, v := c.Seek(key64(after + 1)); k != nil && len(found) < n; k, v = c.Next() {
			m, err := decodeMessage(binary.BigEndian.Uint64(k), v, false)
			if err != nil || m.Seq >= next {
				return err
			}
			if state == "" || m.State == state {
				found = append(found, m)
			}
		}
		return nil
	})
	return found, err
}

// Load reads one message with its body.
func (s *Store) Load(seq uint64) (m outbox.Message, found bool, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		v := tx.Bucket(bucketOutbox).Get(key64(seq))
		if v == nil {
			return nil
		}
		found = true
		m, err = decodeMessage(seq, v, true)
		return err
	})
	edge(edgeDeliver)
	return m, found && err == nil, err
}

// Settle books delivery attempts in one transaction.
func (s *Store) Settle(outcomes []outbox.Outcome) error {
	edge(edgeDelivered)
	err := s.Update(func(t sale.Tx) error {
		for _, o := range outcomes {
			t.Settle(o)
		}
		return nil
	})
	edge(edgeSettled)
	return err
}

// watchers are those who wait for the next change of an event.
type watchers struct {
	mu sync.Mutex
	on map[string]chan struct{}
}

func (w *watchers) init() { w.on = map[string]chan struct{}{} }

func (w *watchers) tell(events map[string]struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for e := range events {
		if c, ok := w.on[e]; ok {
			close(c)
			delete(w.on, e)
		}
	}
}

// Freed tells, by one value at a time, that a turn of some event has ended, that a
// slot is free there and that somebody waits for one.
func (s *Store) Freed() <-chan struct{} { return s.freed }

// tellFreed says so after a commit. The writer calls it, who alone looks at freed.
func (s *Store) tellFreed() {
	if !s.mem.freed {
		return
	}
	s.mem.freed = false
	select {
	case s.freed <- struct{}{}:
	default:
	}
}

// Changed returns a channel that is closed at the next commit that touches the
// event; for an event that does not exist it never is.
func (s *Store) Changed(event string) <-chan struct{} {
	s.mu.RLock()
	_, known := s.mem.events[event]
	s.mu.RUnlock()
	if !known {
		return make(chan struct{})
	}
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	c, ok := s.watch.on[event]
	if !ok {
		c = make(chan struct{})
		s.watch.on[event] = c
	}
	return c
}
