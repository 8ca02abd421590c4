package sale

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/google/uuid"

	"foyer/queue"
)

// Draw is the lottery of an event whose order is "draw". Everybody who is in the
// lobby at the opening takes part; the numbers from 1 go by the lots of their
// queue ids ([queue.Lot] over the canonical text). A *Draw is never changed.
type Draw struct {
	Seed       string    `json:"seed"`             // hex of 32 random bytes; secret until the draw was held
	Commitment string    `json:"commitment"`       // hex of SHA-256 over those bytes, public from the start
	Upto       uint64    `json:"upto,omitempty"`   // numbers of joins below took part; 0: nobody came since the opening
	HeldAt     time.Time `json:"heldAt,omitzero"`  // by the calendar
	Entries    int       `json:"entries,omitzero"` // how many took part
	Digest     string    `json:"digest,omitempty"` // hex of SHA-256 over the list of entries as it is published
}

// Drawn is one entry of a draw: whoever has the number k stands at index k-1.
type Drawn struct {
	Entry uint64    // the number of the join
	Name  uuid.UUID // the queue id
}

func newDraw() *Draw {
	seed := make([]byte, 32)
	_, _ = rand.Read(seed) // never fails (crypto/rand)
	sum := sha256.Sum256(seed)
	return &Draw{Seed: hex.EncodeToString(seed), Commitment: hex.EncodeToString(sum[:])}
}

// Held tells whether the numbers are drawn.
func (d *Draw) Held() bool { return d != nil && !d.HeldAt.IsZero() }

// Revealed is the seed once the draw was held, and "" before.
func (d *Draw) Revealed() string {
	if !d.Held() {
		return ""
	}
	return d.Seed
}

// toDraw tells whether the event's numbers are still to be drawn.
func (e *Event) toDraw() bool { return e.Draw != nil && !e.Draw.Held() }

// drawOf sees to it that an event has a draw just when its order asks for one.
// Once somebody has joined, the order is a promise.
func drawOf(e *Event, before string, line Line) error {
	if e.Order == before {
		return nil
	}
	if line.Next > 1 {
		return ErrPromise.say("People have joined and were told how their order comes about. It cannot change any more.")
	}
	e.Draw = nil
	if e.Order == "draw" {
		e.Draw = newDraw()
	}
	return nil
}

// late notes the first who joins between the opening and the draw: he and all
// after him stand behind those who were in the lobby.
func (o *Office) late(tx Tx, e *Event, line Line) {
	if !e.toDraw() || e.Draw.Upto > 0 || !e.opened(tx.Calendar()) {
		return
	}
	c, d := *e, *e.Draw
	d.Upto = line.Next
	c.Draw = &d
	tx.PutEvent(&c)
}

// holdDraw draws the numbers of those who are in the lobby, in one write. Those who
// left before are forgotten, so that their numbers are nobody's.
func (o *Office) holdDraw(tx Tx, e *Event) error {
	if err := tx.Alone(); err != nil {
		return err
	}
	c, d := *e, *e.Draw
	if d.Upto == 0 {
		d.Upto = tx.Line(e.ID).Next
	}
	seed, err := hex.DecodeString(d.Seed)
	if err != nil {
		return fmt.Errorf("sale: the seed of %s: %w", e.ID, err)
	}
	for p := range tx.Ended(e.ID) {
		if p.Number < d.Upto {
			tx.RemovePlace(p)
		}
	}
	var lobby []Drawn
	for number, visitor := range tx.Standing(e.ID) {
		if number < d.Upto {
			lobby = append(lobby, Drawn{number, o.queueID(e.Ordinal, number, visitor)})
		}
	}
	drawn := make([]Drawn, len(lobby))
	for k, i := range queue.Draw(seed, len(lobby), func(b []byte, i int) []byte { return appendName(b, lobby[i].Name) }) {
		drawn[k] = lobby[i]
	}
	tx.PutDraw(e.ID, drawn)
	d.HeldAt, d.Entries, d.Digest = tx.Calendar(), len(drawn), digest(drawn)
	c.Draw = &d
	tx.PutEvent(&c)
	o.audit(tx, houseActor, e.ID, "event.draw", fmt.Sprintf("%d entries, seed %s", d.Entries, d.Seed))
	return nil
}

// leftBefore tells whether a visitor who has no place now had one of this name in the
// lobby of a draw. The draw has forgotten those who had left, whoever took part has
// his place until at least keepEnded later, and so long this is known.
func (o *Office) leftBefore(r Reader, e *Event, visitor, name uuid.UUID) bool {
	if !e.Draw.Held() || r.Calendar().Sub(e.Draw.HeldAt) >= keepEnded {
		return false
	}
	number, ok := o.named(e.Ordinal, visitor, name)
	return ok && number < e.Draw.Upto
}

// appendName appends a queue id as the lots are drawn over it: 36 characters.
func appendName(b []byte, id uuid.UUID) []byte {
	for i, part := range [][]byte{id[:4], id[4:6], id[6:8], id[8:10], id[10:]} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, part)
	}
	return b
}

// digest is the SHA-256 of the published list, in hex: a line per number, which
// is a queue id and a line feed.
func digest(drawn []Drawn) string {
	h, line := sha256.New(), make([]byte, 0, 37)
	for i := range drawn {
		line = append(appendName(line[:0], drawn[i].Name), '\n')
		_, _ = h.Write(line)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Entries lists the queue ids that took part in an event's draw, by their
// numbers, after a number and at most n. It refuses with [ErrNotDrawn].
func (o *Office) Entries(event string, after, n int) ([]uuid.UUID, error) {
	e, _, err := o.Event(event)
	if err != nil {
		return nil, err
	}
	if !e.Draw.Held() {
		return nil, ErrNotDrawn
	}
	return o.store.Drawn(event, after, n)
}
