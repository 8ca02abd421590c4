package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/sale"
	"foyer/seats"
)

// readRows feeds all rows to an inspection, in the order that it wants them, and
// tells of the first that cannot be decoded.
func readRows(p *pages, rows map[string][]byte, look *sale.Inspection) (unreadable string) {
	x := &rowReader{look: look, events: map[uint32]string{}, drawn: map[uint32]numbers{}}
	each := []struct {
		name []byte
		read func(key, value []byte) error
	}{
		{bucketMeta, x.meta}, {bucketEvents, x.event}, {bucketPlans, x.plan}, {bucketCounts, x.counts}, {bucketDraws, x.draw}, {bucketUses, x.use}, {bucketPlaces, x.place},
		{bucketOrders, x.open}, {bucketClosed, x.closed}, {bucketReceipts, x.receipt}, {bucketKeys, x.key}, {bucketOutbox, x.message}, {bucketAudit, x.entry},
		{bucketRules, x.rule}, {bucketSlots, x.slot}, {bucketEnded, x.ended},
	}
	if row := rows[string(bucketOutbox)]; len(row) >= bucketHead {
		look.MessageSequence(native.Uint64(row[8:]))
	}
	for _, b := range each {
		row, ok := rows[string(b.name)]
		if !ok {
			continue
		}
		delete(rows, string(b.name))
		p.bucket(row, 0, func(key, value []byte, bucket bool, _ int) {
			err := errDamaged
			if !bucket {
				err = b.read(key, value)
			}
			if err != nil {
				what := fmt.Sprintf("row %.32x of %s: %s", key, b.name, oneLine(err))
				look.Add("row", "%s", what)
				unreadable = cmp.Or(unreadable, what)
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		look.Add("note", "there is a bucket %q that this foyer does not know", name)
		p.bucket(rows[name], 0, skip)
	}
	return unreadable
}

// rowReader decodes rows for an inspection.
type rowReader struct {
	look   *sale.Inspection
	events map[uint32]string  // ids by ordinal
	drawn  map[uint32]numbers // by ordinal
}

// ordinalKey is a key that is an event's ordinal.
func ordinalKey(key []byte) (uint32, error) {
	if len(key) != 4 {
		return 0, fmt.Errorf("its name is no ordinal: %w", errDamaged)
	}
	return binary.BigEndian.Uint32(key), nil
}

// numberKey is a key that is a number.
func numberKey(key []byte) (uint64, error) {
	if len(key) != 8 {
		return 0, fmt.Errorf("its name is no number: %w", errDamaged)
	}
	return binary.BigEndian.Uint64(key), nil
}

func (x *rowReader) meta(key, value []byte) error {
	switch {
	case bytes.Equal(key, keyOrdinal):
		n, err := ordinalKey(value)
		x.look.NextOrdinal(n)
		return err
	case bytes.Equal(key, keyClock):
		return json.Unmarshal(value, &sitting{})
	}
	return nil
}

func (x *rowReader) event(key, value []byte) error {
	n, err := ordinalKey(key)
	e := &sale.Event{}
	if err := errors.Join(err, json.Unmarshal(value, e)); err != nil {
		return err
	}
	x.events[n] = e.ID
	x.look.Event(n, e)
	return nil
}

func (x *rowReader) plan(key, value []byte) error {
	n, err := ordinalKey(key)
	if err != nil {
		return err
	}
	p, err := seats.Parse(bytes.Clone(value))
	if err == nil {
		x.look.Plan(n, p)
	}
	return err
}

func (x *rowReader) counts(key, value []byte) error {
	n, err := ordinalKey(key)
	c, ok := decodeCounts(value)
	if err != nil || !ok {
		return errDamaged
	}
	x.look.Counts(n, c.next, c.frontier)
	return nil
}

func (x *rowReader) draw(key, value []byte) error {
	if len(key) != 8 {
		return errDamaged
	}
	ordinal := binary.BigEndian.Uint32(key)
	n := x.drawn[ordinal]
	err := n.readDraw(key, value, func(number int, e sale.Drawn) { x.look.Drawn(ordinal, number, e) })
	x.drawn[ordinal] = n
	return err
}

func (x *rowReader) use(key, value []byte) error {
	ordinal, number, c, err := decodeUse(key, value)
	if err == nil {
		x.look.Use(ordinal, number, c)
	}
	return err
}

func (x *rowReader) place(key, value []byte) error {
	if len(key) != 12 {
		return errDamaged
	}
	n := binary.BigEndian.Uint32(key)
	p, err := decodePlace(x.events[n], binary.BigEndian.Uint64(key[4:]), value)
	if err == nil {
		x.look.Place(n, x.drawn[n].place(p))
	}
	return err
}

func (x *rowReader) open(key, value []byte) error   { return x.order(key, value, false) }
func (x *rowReader) closed(key, value []byte) error { return x.order(key, value, true) }

func (x *rowReader) order(key, value []byte, closed bool) error {
	o, err := decodeOrder(value)
	if err != nil {
		return err
	}
	if id, err := uuid.FromBytes(key); err != nil || id != o.ID {
		return fmt.Errorf("it says that it is order %s", o.ID)
	}
	x.look.Order(o, closed)
	return nil
}

func (x *rowReader) receipt(key, value []byte) error {
	n, err := numberKey(key)
	rc := &sale.Receipt{}
	if err := errors.Join(err, json.Unmarshal(value, rc)); err != nil {
		return err
	}
	x.look.Receipt(n, rc)
	return nil
}

func (x *rowReader) key(key, value []byte) error {
	k := &sale.Key{}
	if err := json.Unmarshal(value, k); err != nil {
		return err
	}
	x.look.Key(key, k)
	return nil
}

func (x *rowReader) message(key, value []byte) error {
	n, err := numberKey(key)
	if err != nil {
		return err
	}
	m, err := decodeMessage(n, value, true)
	if err == nil {
		x.look.Message(m)
	}
	return err
}

func (x *rowReader) entry(key, value []byte) error {
	n, err := numberKey(key)
	var e sale.Entry
	if err := errors.Join(err, json.Unmarshal(value, &e)); err != nil {
		return err
	}
	x.look.Entry(n, e)
	return nil
}

func (x *rowReader) rule(key, value []byte) error {
	var r outbox.Rule
	if err := json.Unmarshal(value, &r); err != nil {
		return err
	}
	x.look.LaneRule(string(key), r)
	return nil
}

func (x *rowReader) slot(key, value []byte) error {
	_, err := decodeSlot(key, value)
	return err
}

func (x *rowReader) ended(key, value []byte) error {
	n, err := numberKey(key)
	if err != nil {
		return err
	}
	m, err := decodeMessage(n, value, true)
	if err == nil {
		x.look.Ended(m)
	}
	return err
}
