package store

import (
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"foyer/sale"
)

// A use of a code is a row of its own, named as the place that it gave: by ordinal
// and the number of the join, which rises. How often a code was used is counted in
// memory.
const useLength = 2 + 2 // batch, index

// use is the use of a code by the join of this number.
type use struct {
	event  string
	code   sale.Code
	number uint64
}

// codeKey names a code across events.
type codeKey struct {
	event string
	code  sale.Code
}

func encodeUse(c sale.Code) []byte {
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, uint16(c.Batch)), uint16(c.Index))
}

func decodeUse(k, v []byte) (ordinal uint32, number uint64, c sale.Code, err error) {
	if len(k) != 12 || len(v) != useLength {
		return 0, 0, c, fmt.Errorf("use of a code: %w", errDamaged)
	}
	c = sale.Code{Batch: uint32(binary.BigEndian.Uint16(v)), Index: uint32(binary.BigEndian.Uint16(v[2:]))}
	return binary.BigEndian.Uint32(k), binary.BigEndian.Uint64(k[4:]), c, nil
}

// uses counts how often the codes of an event were used: by batch, then by index.
type uses map[uint32][]uint16

func (u uses) of(c sale.Code) int {
	if of := u[c.Batch]; int(c.Index) < len(of) {
		return int(of[c.Index])
	}
	return 0
}

func (u uses) add(c sale.Code) {
	of := u[c.Batch]
	if missing := int(c.Index) + 1 - len(of); missing > 0 {
		of = append(of, make([]uint16, missing)...)
		u[c.Batch] = of
	}
	of[c.Index]++
}

func (r *reader) Uses(event string, c sale.Code) int {
	if em, ok := r.events[event]; ok {
		return em.uses.of(c)
	}
	return 0
}

func (r *reader) Used(event string, batch uint32) (codes, people int) {
	if em, ok := r.events[event]; ok {
		for _, n := range em.uses[batch] {
			people += int(n)
			codes += min(int(n), 1)
		}
	}
	return codes, people
}

func (t *tx) Uses(event string, c sale.Code) int {
	n, _ := t.codes.get(codeKey{event, c})
	return t.reader.Uses(event, c) + n
}

func (t *tx) UseCode(event string, c sale.Code, number uint64) {
	k := codeKey{event, c}
	n, _ := t.codes.get(k)
	t.codes.put(k, n+1)
	t.used.add(use{event, c, number})
}

func (t *tx) useRows() *rows {
	r := &rows{bucket: bucketUses, fill: fillAppended}
	for _, u := range t.used.batch {
		if n, ok := t.ordinalOf(u.event); ok {
			r.put(keyPlace(n, u.number), encodeUse(u.code))
		}
	}
	return r
}

func (t *tx) applyUses(m *memory) {
	for _, u := range t.used.batch {
		if em, ok := m.events[u.event]; ok {
			em.uses.add(u.code)
		}
	}
}

// loadUses counts the uses of all codes.
func (m *memory) loadUses(tx *bolt.Tx, events map[uint32]*eventMemory) error {
	return tx.Bucket(bucketUses).ForEach(func(k, v []byte) error {
		ordinal, number, c, err := decodeUse(k, v)
		if err != nil {
			return err
		}
		m.look.Use(ordinal, number, c)
		if em := events[ordinal]; em != nil {
			em.uses.add(c)
		}
		return nil
	})
}
