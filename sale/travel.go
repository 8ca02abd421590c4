package sale

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"

	"github.com/google/uuid"
)

// A return code takes a place to another browser, once: event ordinal (4 bytes),
// visitor (16), generation (1), and a tag over these and the number of the join.
// It is 48 characters of Crockford's base32, in groups of four. A code is good
// while its generation is [Place.Links]; nothing of it lies on disk.
const (
	returnBody = 21
	returnMAC  = 9 // 72 bits: with the body it fills 48 characters
)

// ReturnCode is the code of a place.
type ReturnCode struct {
	Code    string
	QueueID uuid.UUID
	Spent   int // codes of this place that were used or taken back so far, modulo 256
}

// Returned is whose place a code has opened.
type Returned struct {
	Visitor uuid.UUID
	Event   string
	QueueID uuid.UUID
}

type returnClaim struct {
	ordinal    uint32
	visitor    uuid.UUID
	generation uint8
	tag        [returnMAC]byte
}

// ReturnCode gives the code of the visitor's place of this name, or of whichever
// he has (queueID uuid.Nil): the same one until it is used or taken back. It
// refuses with [ErrNotEntered] when the place is not his or is over.
func (o *Office) ReturnCode(event string, visitor, queueID uuid.UUID) (c ReturnCode, err error) {
	err = o.store.View(func(r Reader) error {
		e, p, err := o.ownPlace(r, event, visitor, queueID)
		if err != nil {
			return err
		}
		if !p.Turn.State.Live() {
			return ErrNotEntered
		}
		c = ReturnCode{o.returnCode(e, p), o.QueueID(e, p), int(p.Links)}
		return nil
	})
	return c, err
}

// RevokeReturn takes the place's code back: it opens nothing any more. A place
// that is over has none, which is no fault; one of somebody else is
// [ErrNotEntered].
func (o *Office) RevokeReturn(event string, visitor, queueID uuid.UUID) error {
	return o.store.Update(func(tx Tx) error {
		e, p, err := o.ownPlace(tx, event, visitor, queueID)
		if err == nil && p.Turn.State.Live() {
			o.spend(tx, e, p)
		}
		return err
	})
}

// Redeem uses a code up and tells whose place it is: of all who come with the
// same one, one is let in. A visitor's own code stays good when he shows it
// himself. event, unless "", must be the place's. Whatever is no code of a place
// here is [ErrNoSuchCode]; one that was good is [ErrLinkUsed].
func (o *Office) Redeem(event, code string, by uuid.UUID) (found Returned, err error) {
	claim, ok := readReturn(code)
	if !ok {
		return found, ErrNoSuchCode
	}
	find := func(r Reader) (*Event, Place, error) {
		e, p, err := o.opened(r, claim)
		if err != nil {
			return nil, p, err
		}
		if event != "" && event != e.ID {
			return nil, p, ErrNoSuchCode.say("This code is of a place in another event. Use its link, or open that event's page.")
		}
		found = Returned{p.Visitor, e.ID, o.QueueID(e, p)}
		return e, p, nil
	}
	err = o.store.View(func(r Reader) error {
		_, _, err := find(r)
		return err
	})
	if err != nil || claim.visitor == by {
		return found, err
	}
	err = o.store.Update(func(tx Tx) error {
		e, p, err := find(tx)
		if err == nil {
			o.spend(tx, e, p)
		}
		return err
	})
	if err != nil {
		return Returned{}, err
	}
	return found, nil
}

// ownPlace finds the visitor's place of a name, as it stands now.
func (o *Office) ownPlace(r Reader, event string, visitor, queueID uuid.UUID) (*Event, Place, error) {
	e, ok := r.Event(event)
	if !ok {
		return nil, Place{}, ErrNoSuchEvent
	}
	p, ok := r.Place(event, visitor)
	if !ok || queueID != uuid.Nil && queueID != o.QueueID(e, p) {
		return nil, p, ErrNotEntered
	}
	return e, place(r, e, p), nil
}

// opened finds the live place of an authentic code of the present generation.
func (o *Office) opened(r Reader, c returnClaim) (*Event, Place, error) {
	for _, e := range r.Events() {
		if e.Ordinal != c.ordinal {
			continue
		}
		p, ok := r.Place(e.ID, c.visitor)
		if tag := o.returnTag(e, p, c.generation); !ok || !hmac.Equal(tag[:], c.tag[:]) {
			break
		}
		p = place(r, e, p)
		switch {
		case !p.Turn.State.Live():
			return nil, p, ErrLinkUsed.say("The place that this code was made for is over. Join the line again.")
		case p.Links != c.generation:
			return nil, p, ErrLinkUsed
		}
		return e, p, nil
	}
	return nil, Place{}, ErrNoSuchCode
}

// spend makes the present code of a live place void.
func (o *Office) spend(tx Tx, e *Event, p Place) {
	p, _ = tx.Place(e.ID, p.Visitor)
	p = o.refresh(tx, e, p)
	p.Links++
	tx.PutPlace(p)
}

func (o *Office) returnCode(e *Event, p Place) string {
	var b [returnBody + returnMAC]byte
	returnHead(b[:], e, p, p.Links)
	tag := o.returnTag(e, p, p.Links)
	copy(b[returnBody:], tag[:])
	return writeLetters(b[:])
}

func returnHead(b []byte, e *Event, p Place, generation uint8) {
	binary.BigEndian.PutUint32(b, e.Ordinal)
	copy(b[4:], p.Visitor[:])
	b[20] = generation
}

// returnTag is over the number of the join too, so that a code of an older place
// of the same visitor opens nothing.
func (o *Office) returnTag(e *Event, p Place, generation uint8) (tag [returnMAC]byte) {
	var b [returnBody + 8]byte
	returnHead(b[:], e, p, generation)
	binary.BigEndian.PutUint64(b[returnBody:], p.entry())
	var whole [sha256.Size]byte
	copy(tag[:], o.returns.Tag(whole[:0], b[:]))
	return tag
}

// readReturn reads a code as somebody typed it.
func readReturn(code string) (c returnClaim, ok bool) {
	var b [returnBody + returnMAC]byte
	if !readLetters(code, b[:]) {
		return c, false
	}
	c.ordinal, c.generation = binary.BigEndian.Uint32(b[:]), b[20]
	copy(c.visitor[:], b[4:])
	copy(c.tag[:], b[returnBody:])
	return c, true
}
