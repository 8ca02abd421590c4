package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"foyer/outbox"
	"foyer/sale"
)

// slotKey names a lane in the bucket of slots: neither part has a zero byte.
func slotKey(s outbox.Slot) []byte { return []byte(s.Sink + "\x00" + s.Key) }

func decodeSlot(key, value []byte) (s outbox.Slot, err error) {
	sink, lane, ok := bytes.Cut(key, []byte{0})
	if !ok || len(value) != 8 {
		return s, fmt.Errorf("slot: %w", errDamaged)
	}
	return outbox.Slot{Sink: string(sink), Key: string(lane), At: timeAt(value)}, nil
}

func (t *tx) LaneRules() map[string]outbox.Rule {
	all := map[string]outbox.Rule{}
	for pattern, r := range t.reader.laneRules {
		all[pattern] = r
	}
	for pattern, r := range t.laneRules.all() {
		if r == nil {
			delete(all, pattern)
		} else {
			all[pattern] = *r
		}
	}
	return all
}

func (r *reader) LaneRules() map[string]outbox.Rule { return r.laneRules }

func (t *tx) PutLaneRule(pattern string, r outbox.Rule) { t.laneRules.put(pattern, &r) }
func (t *tx) RemoveLaneRule(pattern string)             { t.laneRules.put(pattern, nil) }

// Send adds a message; a task is found by its id from then on.
func (t *tx) Send(m outbox.Message) {
	t.messages.add(m)
	if m.Sink == outbox.TaskSink {
		if id, err := uuid.Parse(m.ID); err == nil {
			t.tasks.put(id, m)
		}
	}
}

// Task finds a task, also one of this batch, whose number is not known yet.
func (t *tx) Task(id uuid.UUID) (m outbox.Message, found bool) {
	if m, found = t.tasks.get(id); found {
		return m, true
	}
	if m, found = t.reader.Task(id); !found {
		return m, false
	}
	for _, some := range [][]outbox.Outcome{t.settled.batch, t.settled.own} {
		for _, o := range some {
			if o.Seq == m.Seq {
				m = settledAs(m, o, t.at)
			}
		}
	}
	return m, true
}

func (r *reader) Task(id uuid.UUID) (outbox.Message, bool) {
	seq, ok := r.tasks[id]
	if !ok {
		return outbox.Message{}, false
	}
	return r.file.coldTask(seq)
}

// coldTask reads a task from the file.
func (s *Store) coldTask(seq uint64) (m outbox.Message, found bool) {
	err := s.db.View(func(tx *bolt.Tx) (err error) {
		for _, name := range [][]byte{bucketOutbox, bucketEnded} {
			if v := tx.Bucket(name).Get(key64(seq)); v != nil {
				m, err = decodeMessage(seq, v, true)
				found = err == nil
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.log.Error("cannot read a task", "seq", seq, "error", err.Error())
	}
	return m, found
}

// settledAs is a message after an outcome at now.
func settledAs(m outbox.Message, o outbox.Outcome, now time.Time) outbox.Message {
	m.Attempts, m.NextAt, m.LastError, m.State = o.Attempts, o.NextAt, o.LastError, o.State
	if !o.Since.IsZero() {
		m.Since = o.Since
	}
	if o.Delivered {
		m.NextAt = now
		if m.State == "" {
			m.State = outbox.Done
		}
	}
	return m
}

func (t *tx) ruleRows() *rows {
	r := &rows{bucket: bucketRules}
	for pattern, rule := range t.laneRules.batch {
		if rule == nil {
			r.del([]byte(pattern))
		} else {
			r.put([]byte(pattern), encodeJSON(rule))
		}
	}
	return r
}

func (t *tx) slotRows() *rows {
	r := &rows{bucket: bucketSlots}
	for _, s := range t.pastSlots.batch {
		r.del(slotKey(s))
	}
	for _, s := range t.slots.batch { // booked anew, perhaps
		r.put(slotKey(s), appendTime(nil, s.At))
	}
	return r
}

// applyLanes moves rules and tasks of the batch into memory.
func (t *tx) applyLanes(m *memory) {
	if len(t.laneRules.batch) > 0 {
		m.laneRules = t.LaneRules() // a new map: readers may hold the old one
	}
	for _, msg := range t.messages.batch {
		m.putTask(msg)
	}
	for _, id := range t.pastTasks.batch {
		delete(m.tasks, id)
	}
}

func (m *memory) putTask(msg outbox.Message) {
	if msg.Sink != outbox.TaskSink {
		return
	}
	if id, err := uuid.Parse(msg.ID); err == nil {
		m.tasks[id] = msg.Seq
	}
}

// loadLanes reads rules and finds the tasks.
func (m *memory) loadLanes(tx *bolt.Tx) error {
	err := tx.Bucket(bucketRules).ForEach(func(k, v []byte) error {
		var r outbox.Rule
		if err := json.Unmarshal(v, &r); err != nil {
			return fmt.Errorf("rule of a lane: %w: %v", errDamaged, err)
		}
		m.laneRules[string(k)] = r
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range [][]byte{bucketEnded, bucketOutbox} {
		err := tx.Bucket(name).ForEach(func(k, v []byte) error {
			if len(k) != 8 {
				return fmt.Errorf("message: %w", errDamaged)
			}
			msg, err := decodeMessage(binary.BigEndian.Uint64(k), v, false)
			if err == nil {
				m.putTask(msg)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Begin stores the next slots of lanes; see [outbox.Book].
func (s *Store) Begin(slots []outbox.Slot) error {
	return s.Update(func(t sale.Tx) error {
		for _, at := range slots {
			t.(*tx).slots.add(at)
		}
		return nil
	})
}

// Slots gives the slots that are still to come, for [outbox.Relay.Resume].
func (s *Store) Slots() (slots []outbox.Slot, err error) {
	now := s.now()
	err = s.eachSlot(func(at outbox.Slot) {
		if at.At.After(now) {
			slots = append(slots, at)
		}
	})
	return slots, err
}

func (s *Store) eachSlot(each func(outbox.Slot)) error {
	return s.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketSlots).ForEach(func(k, v []byte) error {
			at, err := decodeSlot(k, v)
			if err == nil {
				each(at)
			}
			return err
		})
	})
}

// Bounds of what one page of tasks looks at.
const (
	scanAtOnce = 20_000 // rows in one look at the file, which holds up what the writer may use again
	scanTime   = 200 * time.Millisecond
)

// Tasks lists the tasks of a lane, see [sale.Store].
func (s *Store) Tasks(key string, after uint64, n int) (list []outbox.Message, next uint64, err error) {
	for began := time.Now(); ; {
		some, next, err := s.someTasks(key, after, n-len(list))
		list = append(list, some...)
		if err != nil || next == 0 || len(list) == n || time.Since(began) > scanTime {
			return list, next, err
		}
		after = next
	}
}

// someTasks lists what one look at the file finds.
func (s *Store) someTasks(key string, after uint64, n int) (list []outbox.Message, next uint64, err error) {
	sought := appendTexts(nil, key, outbox.TaskSink)
	err = s.db.View(func(tx *bolt.Tx) error {
		waiting, ended := tx.Bucket(bucketOutbox).Cursor(), tx.Bucket(bucketEnded).Cursor()
		wk, wv := waiting.Seek(key64(after + 1))
		ek, ev := ended.Seek(key64(after + 1))
		for scanned := 0; wk != nil || ek != nil; scanned++ {
			if len(list) == n || scanned == scanAtOnce {
				next = after
				return nil
			}
			k, v := wk, wv
			if wk == nil || ek != nil && bytes.Compare(ek, wk) < 0 {
				k, v = ek, ev
				ek, ev = ended.Next()
			} else {
				wk, wv = waiting.Next()
			}
			after = binary.BigEndian.Uint64(k)
			if !bytes.Contains(v, sought) { // far quicker than to decode what others have
				continue
			}
			m, err := decodeMessage(after, v, true)
			if err != nil {
				return err
			}
			if m.Sink == outbox.TaskSink && m.Key == key {
				list = append(list, m)
			}
		}
		return nil
	})
	return list, next, err
}

// ForgetTasks drops tasks that ended before a time, and slots that have passed; more tells that there are others.
func (s *Store) ForgetTasks(before time.Time) (more bool, err error) {
	var ids []uuid.UUID
	var seqs []uint64
	err = s.db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketEnded).Cursor()
		for k, v := c.First(); len(k) == 8 && len(seqs) < forgetAtOnce; k, v = c.Next() {
			m, err := decodeMessage(binary.BigEndian.Uint64(k), v, false)
			if err != nil {
				return err
			}
			if m.NextAt.Before(before) {
				id, _ := uuid.Parse(m.ID)
				ids, seqs = append(ids, id), append(seqs, m.Seq)
			}
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	var past []outbox.Slot
	now := s.now()
	if err := s.eachSlot(func(at outbox.Slot) {
		if !at.At.After(now) && len(past) < forgetAtOnce {
			past = append(past, at)
		}
	}); err != nil || len(seqs)+len(past) == 0 {
		return false, err
	}
	err = s.Update(func(t sale.Tx) error {
		w := t.(*tx)
		for i := range seqs {
			w.pastTasks.add(ids[i])
			w.pastRows.add(seqs[i])
		}
		return s.dropSlots(w, past, now)
	})
	return len(seqs) == forgetAtOnce || len(past) == forgetAtOnce, err
}

// dropSlots takes away slots that have passed, but for those that were booked anew since they were read.
func (s *Store) dropSlots(w *tx, past []outbox.Slot, now time.Time) error {
	booked := map[string]bool{}
	for _, at := range w.slots.batch {
		booked[string(slotKey(at))] = true
	}
	return s.db.View(func(tx *bolt.Tx) error {
		for _, at := range past {
			key := slotKey(at)
			if v := tx.Bucket(bucketSlots).Get(key); len(v) == 8 && !timeAt(v).After(now) && !booked[string(key)] {
				w.pastSlots.add(at)
			}
		}
		return nil
	})
}
