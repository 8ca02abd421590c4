package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"foyer/queue"
	"foyer/sale"
)

// A draw is kept in pieces of drawPiece records under ordinal and the number of
// the piece: the queue id and the number of the join (32 bits), by drawn number.
// Rows of places go on under the numbers of their joins, so that a draw of any
// size is one write of 20 bytes per entry and no row moves.
const (
	drawRecord = 16 + 4
	drawPiece  = 4096
)

// drawing is a draw on its way into memory.
type drawing struct {
	event   string
	drawn   []sale.Drawn
	line    *queue.Classes
	entries []uint32
}

// errCrowded tells the writer to run a function again, alone.
var errCrowded = errors.New("store: this function wants a commit of its own")

func (t *tx) Alone() error {
	if t.ran > 0 {
		return errCrowded
	}
	t.alone = true
	return nil
}

func (t *tx) Standing(event string) iter.Seq2[uint64, uuid.UUID] {
	return func(yield func(uint64, uuid.UUID) bool) {
		em, ok := t.reader.events[event]
		if !ok {
			return
		}
		for number, id := range em.line.ByNumber() {
			if !yield(number, id) {
				return
			}
		}
	}
}

// PutDraw makes the line as it is after the draw. Readers go on with the old one
// until the commit.
func (t *tx) PutDraw(event string, drawn []sale.Drawn) {
	em, ok := t.reader.events[event]
	if !ok {
		return
	}
	d := drawing{event: event, drawn: drawn, line: queue.NewClasses(), entries: make([]uint32, len(drawn))}
	for k, e := range drawn {
		id, class, _ := em.line.At(e.Entry)
		d.entries[k] = uint32(e.Entry)
		d.line.Append(class, uint64(k+1), id)
	}
	for number, id := range em.line.ByNumber() {
		if _, _, in := d.line.Number(id); !in {
			_, class, _ := em.line.At(number)
			d.line.Append(class, number, id)
		}
	}
	t.drawings.add(d)
}

// entry is the number of the join of a place with this number, 0 when it is the
// same.
func (em *eventMemory) entry(number uint64) uint64 {
	if number == 0 || number > uint64(len(em.entries)) {
		return 0
	}
	return uint64(em.entries[number-1])
}

// keyOf names the row of a place with this number.
func (em *eventMemory) keyOf(number uint64) []byte {
	if e := em.entry(number); e != 0 {
		number = e
	}
	return keyPlace(em.event.Ordinal, number)
}

// drawRows are all records of the draws in the batch.
func (t *tx) drawRows() *rows {
	r := &rows{bucket: bucketDraws, fill: fillAppended}
	for _, d := range t.drawings.batch {
		ordinal, ok := t.ordinalOf(d.event)
		for at := 0; ok && at < len(d.drawn); at += drawPiece {
			piece := make([]byte, 0, drawPiece*drawRecord)
			for _, e := range d.drawn[at:min(at+drawPiece, len(d.drawn))] {
				piece = binary.BigEndian.AppendUint32(append(piece, e.Name[:]...), uint32(e.Entry))
			}
			r.put(append(key32(ordinal), key32(uint32(at/drawPiece))...), piece)
		}
	}
	return r
}

// numbers are the drawn numbers by the number of the join, 0 where there is none.
type numbers []uint32

// place gives a place, whose row has the number of its join, its own number.
func (n numbers) place(p sale.Place) sale.Place {
	if p.Number < uint64(len(n)) && n[p.Number] != 0 {
		p.Number, p.Entry = uint64(n[p.Number]), p.Number
	}
	return p
}

// readDraw adds one row of draws. Rows come in order.
func (n *numbers) readDraw(k, v []byte, each func(number int, e sale.Drawn)) error {
	if len(k) != 8 || len(v) == 0 || len(v)%drawRecord != 0 || len(v) > drawPiece*drawRecord {
		return fmt.Errorf("draw: %w", errDamaged)
	}
	at := int(binary.BigEndian.Uint32(k[4:])) * drawPiece
	for i := 0; i < len(v); i += drawRecord {
		e := sale.Drawn{Name: uuid.UUID(v[i : i+16]), Entry: uint64(binary.BigEndian.Uint32(v[i+16:]))}
		if e.Entry > maxEntry {
			return fmt.Errorf("draw: %w", errDamaged)
		}
		at++
		if missing := int(e.Entry) + 1 - len(*n); missing > 0 {
			*n = append(*n, make([]uint32, missing)...)
		}
		(*n)[e.Entry] = uint32(at)
		each(at, e)
	}
	return nil
}

// loadDraws reads the draws of all events; what it returns is by their ordinals.
func (m *memory) loadDraws(tx *bolt.Tx, events map[uint32]*eventMemory) (map[uint32]numbers, error) {
	drawn := map[uint32]numbers{}
	err := tx.Bucket(bucketDraws).ForEach(func(k, v []byte) error {
		if len(k) != 8 {
			return fmt.Errorf("draw: %w", errDamaged)
		}
		ordinal := binary.BigEndian.Uint32(k)
		n := drawn[ordinal]
		err := n.readDraw(k, v, func(number int, e sale.Drawn) {
			m.look.Drawn(ordinal, number, e)
			if em := events[ordinal]; em != nil {
				em.entries = append(em.entries, uint32(e.Entry))
			}
		})
		drawn[ordinal] = n
		return err
	})
	return drawn, err
}

// maxEntry bounds the numbers that take part in a draw: no line is that long, and
// a damaged row must not ask for memory without end.
const maxEntry = 1 << 28

// Drawn lists the queue ids of a draw. It reads one or two pieces at a time and
// keeps no transaction open.
func (s *Store) Drawn(event string, after, n int) (names []uuid.UUID, err error) {
	s.mu.RLock()
	em, ok := s.mem.events[event]
	s.mu.RUnlock()
	if !ok || after < 0 {
		return nil, nil
	}
	prefix := key32(em.event.Ordinal)
	err = s.db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketDraws).Cursor()
		skip := after % drawPiece
		for k, v := c.Seek(append(prefix, key32(uint32(after/drawPiece))...)); bytes.HasPrefix(k, prefix) && len(names) < n; k, v = c.Next() {
			for at := skip * drawRecord; at+drawRecord <= len(v) && len(names) < n; at += drawRecord {
				names = append(names, uuid.UUID(v[at:at+16]))
			}
			skip = 0
		}
		return nil
	})
	return names, err
}
