package sale

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"

	"foyer/queue"
)

// inspectedDraw is a draw as its rows have shown it so far.
type inspectedDraw struct {
	urn    *queue.Urn
	last   [sha256.Size]byte
	number int
	digest hash.Hash
	joins  map[uint64]struct{} // nil in a quick inspection
	wrong  bool                // one finding is enough
}

// Drawn is fed an entry of a draw and the ordinal of its event, by rising number
// from 1, before any place.
func (i *Inspection) Drawn(ordinal uint32, number int, e Drawn) {
	ie, ok := i.events[ordinal]
	if !ok {
		if number == 1 {
			i.Add("row", "there is a draw of an event with the ordinal %d, and no such event", ordinal)
		}
		return
	}
	d := ie.draw
	if d == nil {
		d = &inspectedDraw{digest: sha256.New()}
		if !i.quick {
			d.joins = map[uint64]struct{}{}
		}
		if ie.event.Draw != nil {
			seed, _ := hex.DecodeString(ie.event.Draw.Seed)
			d.urn = queue.NewUrn(seed)
		}
		ie.draw = d
	}
	if d.number++; number != d.number && !d.wrong {
		d.wrong = true
		i.Add("I4", "event %q: the draw has no number %d", ie.event.ID, d.number)
	}
	if i.quick {
		return
	}
	d.look(i, ie.event.ID, e)
}

// look holds an entry against the lots.
func (d *inspectedDraw) look(i *Inspection, event string, e Drawn) {
	name := appendName(make([]byte, 0, 37), e.Name)
	if d.urn != nil {
		lot := d.urn.Lot(name)
		if bytes.Compare(lot[:], d.last[:]) <= 0 && d.number > 1 && !d.wrong {
			d.wrong = true
			i.Add("I4", "event %q: number %d of the draw stands before a smaller lot", event, d.number)
		}
		d.last = lot
	}
	if _, twice := d.joins[e.Entry]; twice || e.Entry == 0 {
		i.Add("I4", "event %q: join %d is in the draw twice, or is none", event, e.Entry)
	}
	d.joins[e.Entry] = struct{}{}
	_, _ = d.digest.Write(append(name, '\n'))
}

// closeDraw holds what an event says of its draw against the rows of it.
func (i *Inspection) closeDraw(ie *inspectedEvent) {
	d := ie.event.Draw
	entries := 0
	if ie.draw != nil {
		entries = ie.draw.number
	}
	if d == nil {
		if entries > 0 {
			i.Add("I4", "event %q has no draw, and there are %d entries of one", ie.event.ID, entries)
		}
		return
	}
	switch {
	case entries != d.Entries:
		i.Add("I4", "event %q says that %d took part in its draw, and there are %d entries", ie.event.ID, d.Entries, entries)
	case !i.quick && entries > 0 && hex.EncodeToString(ie.draw.digest.Sum(nil)) != d.Digest:
		i.Add("I4", "event %q: the entries of the draw are not those that were published", ie.event.ID)
	}
	seed, _ := hex.DecodeString(d.Seed)
	if sum := sha256.Sum256(seed); hex.EncodeToString(sum[:]) != d.Commitment {
		i.Add("I4", "event %q: the seed of the draw does not fit its commitment", ie.event.ID)
	}
}
