package sale

import (
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"
)

// CodeBatch is codes that were made at once. The codes themselves are functions of
// the house's secret and are kept nowhere.
type CodeBatch struct {
	Number    uint32     `json:"batch"` // in its event, from 1
	Name      string     `json:"name,omitempty"`
	Class     Class      `json:"class"` // of the places it gives
	Count     int        `json:"count"`
	Uses      int        `json:"uses"` // how many people one code lets in
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	CreatedAt time.Time  `json:"createdAt"`
	RevokedAt time.Time  `json:"revokedAt,omitzero"`
}

// Code is one code of an event.
type Code struct {
	Batch uint32 // from 1
	Index uint32 // in its batch, from 0
}

// Bounds of codes. A batch and an index go into three bytes of the code.
const (
	maxCodes   = 10_000
	maxUses    = 1000
	maxBatches = 500
	indexBits  = 14
	codeHead   = 3 // bytes
	codeMAC    = 7 // bytes: 56 bits
)

// codeText writes a code of an event: "4X0K-...", 19 characters.
func (o *Office) codeText(ordinal uint32, c Code) string {
	b := o.codeBytes(ordinal, c)
	return writeLetters(b[:])
}

// codeBytes is batch and index, and 56 bits of a MAC over the event and them.
func (o *Office) codeBytes(ordinal uint32, c Code) (b [codeHead + codeMAC]byte) {
	var head [4 + 4]byte
	binary.BigEndian.PutUint32(head[:], ordinal)
	binary.BigEndian.PutUint32(head[4:], c.Batch<<indexBits|c.Index)
	copy(b[:], head[5:])
	copy(b[codeHead:], o.codes.Tag(nil, head[:]))
	return b
}

// readCode reads a code as somebody typed it.
func (o *Office) readCode(ordinal uint32, text string) (c Code, ok bool) {
	var b [codeHead + codeMAC]byte
	if !readLetters(text, b[:]) {
		return c, false
	}
	packed := uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])
	c = Code{packed >> indexBits, packed & (1<<indexBits - 1)}
	want := o.codeBytes(ordinal, c)
	return c, subtle.ConstantTimeCompare(b[:], want[:]) == 1
}

// shownCode is what a visitor shows when he joins.
type shownCode struct {
	given, ok bool
	code      Code
}

// shown reads what a visitor shows; blanks are nothing.
func (o *Office) shown(event, text string) (s shownCode, err error) {
	if s.given = strings.TrimSpace(text) != ""; !s.given {
		return s, nil
	}
	e, _, err := o.Event(event)
	if err == nil {
		s.code, s.ok = o.readCode(e.Ordinal, text)
	}
	return s, err
}

// batch finds a batch of the event's codes.
func (e *Event) batch(number uint32) (CodeBatch, bool) {
	i, ok := slices.BinarySearchFunc(e.Codes, number, func(b CodeBatch, n uint32) int { return int(b.Number) - int(n) })
	if !ok {
		return CodeBatch{}, false
	}
	return e.Codes[i], true
}

// Invited tells whether nobody gets a place without a code.
func (e *Event) Invited() bool { return e.Access == AccessCode }

// TakesCodes tells whether somebody may have a code that is good now (by the
// calendar).
func (e *Event) TakesCodes(now time.Time) bool {
	return e.Invited() || slices.ContainsFunc(e.Codes, func(b CodeBatch) bool { return b.good(now) })
}

// Welcomes tells whether somebody may have a code of a class that is good now.
func (e *Event) Welcomes(class Class, now time.Time) bool {
	return slices.ContainsFunc(e.Codes, func(b CodeBatch) bool { return b.Class == class && b.good(now) })
}

func (b *CodeBatch) good(now time.Time) bool {
	return b.RevokedAt.IsZero() && (b.ExpiresAt == nil || now.Before(*b.ExpiresAt))
}

// redeem tells which class of place a new one is, and writes down that its code
// was used. It refuses before it writes anything.
func redeem(tx Tx, e *Event, s shownCode, number uint64) (Class, error) {
	switch {
	case !s.given && e.Invited():
		return Public, ErrCodeRequired
	case !s.given:
		return Public, nil
	case !s.ok:
		return Public, ErrBadCode
	}
	b, found := e.batch(s.code.Batch)
	switch {
	case !found || int(s.code.Index) >= b.Count:
		return Public, ErrBadCode
	case !b.good(tx.Calendar()):
		return Public, ErrBadCode.say("This code is not valid any more.")
	case tx.Uses(e.ID, s.code) >= b.Uses:
		return Public, ErrCodeUsed
	}
	tx.UseCode(e.ID, s.code, number)
	return b.Class, nil
}

// CreateCodes makes a batch of codes; its number and its times are given here. The
// codes are shown this once. It refuses with [ErrBadBatch].
func (o *Office) CreateCodes(actor, event string, b CodeBatch) (CodeBatch, []string, error) {
	var wrong []string
	add := func(bad bool, format string, args ...any) {
		if bad {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	t := checkText("name", b.Name, 0, 100)
	add(t != "", "%s", t)
	add(b.Count < 1 || b.Count > maxCodes, "count must be 1 to %d.", maxCodes)
	add(!Writable(b.ExpiresAt), "expiresAt must lie in the years 1 to 9998.")
	add(b.Uses < 1 || b.Uses > maxUses, "uses must be 1 to %d.", maxUses)
	if wrong != nil {
		return b, nil, ErrBadBatch.say(strings.Join(wrong, " "))
	}
	e, err := o.change(actor, event, "codes.create", func(tx Tx, e *Event) error {
		switch {
		case len(e.Codes) >= maxBatches:
			return ErrBadBatch.say(fmt.Sprintf("An event may have %d batches.", maxBatches))
		case b.ExpiresAt != nil && !tx.Calendar().Before(*b.ExpiresAt):
			return ErrBadBatch.say("expiresAt has passed.")
		}
		b.Number, b.CreatedAt, b.RevokedAt = uint32(len(e.Codes)+1), tx.Now(), time.Time{}
		e.Codes = append(slices.Clone(e.Codes), b)
		return nil
	}, func(_, _ *Event) string { return b.say() })
	if err != nil {
		return b, nil, err
	}
	codes := make([]string, b.Count)
	for i := range codes {
		codes[i] = o.codeText(e.Ordinal, Code{b.Number, uint32(i)})
	}
	return b, codes, nil
}

// say tells of a batch in the audit.
func (b *CodeBatch) say() string {
	return fmt.Sprintf("batch %d, %q: %d codes (%s), good for %d each", b.Number, b.Name, b.Count, b.Class, b.Uses)
}

// BatchView is a batch and what became of it.
type BatchView struct {
	CodeBatch
	Used   int // codes that somebody used
	People int // places that were given
}

// Codes lists the batches of an event, oldest first.
func (o *Office) Codes(event string) (list []BatchView, err error) {
	err = o.store.View(func(r Reader) error {
		e, ok := r.Event(event)
		if !ok {
			return ErrNoSuchEvent
		}
		for _, b := range e.Codes {
			v := BatchView{CodeBatch: b}
			v.Used, v.People = r.Used(event, b.Number)
			list = append(list, v)
		}
		return nil
	})
	return list, err
}

// RevokeCodes makes the codes of a batch worth nothing. Places that they gave
// stay. Twice is no fault.
func (o *Office) RevokeCodes(actor, event string, batch uint32) error {
	_, err := o.change(actor, event, "codes.revoke", func(tx Tx, e *Event) error {
		b, ok := e.batch(batch)
		if !ok {
			return ErrNoSuchBatch
		}
		if b.RevokedAt.IsZero() {
			e.Codes = slices.Clone(e.Codes)
			e.Codes[b.Number-1].RevokedAt = tx.Now()
		}
		return nil
	}, func(_, e *Event) string { b, _ := e.batch(batch); return b.say() })
	return err
}
