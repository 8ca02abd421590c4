package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/queue"
	"foyer/sale"
)

// The buckets. Keys rise: ordinals, numbers and sequence numbers big-endian,
// order ids of UUID version 7; no bucket is keyed by something random, which
// costs 30 to 50 times the bytes. Values are JSON where they are few, and a
// fixed binary form for the two kinds that are many.
var (
	bucketMeta     = []byte("meta")     // format, secret, next ordinal, the clock of the last run
	bucketEvents   = []byte("events")   // ordinal -> event
	bucketPlans    = []byte("plans")    // ordinal -> plan
	bucketCounts   = []byte("counts")   // ordinal -> next number, frontiers, where the cycle of turns stands
	bucketPlaces   = []byte("places")   // ordinal, number -> place: the line's journal and the turns
	bucketOrders   = []byte("orders")   // id -> order that has a claim or money
	bucketClosed   = []byte("closed")   // id -> order that came to nothing
	bucketReceipts = []byte("receipts") // seq -> payment fact and its outcome
	bucketOutbox   = []byte("outbox")   // seq -> message not yet delivered
	bucketAudit    = []byte("audit")    // seq -> who did what
	bucketKeys     = []byte("keys")     // hash -> API key
	bucketRules    = []byte("rules")    // key or pattern -> rule of its lanes
	bucketSlots    = []byte("slots")    // sink, key -> the next start of a lane with a pace is not before
	bucketEnded    = []byte("ended")    // seq -> task that is done or cancelled
	bucketUses     = []byte("uses")     // ordinal, number of a join -> the code it used
	bucketDraws    = []byte("draws")    // ordinal, piece -> who took part in a draw, by their numbers

	buckets = [][]byte{
		bucketMeta, bucketEvents, bucketPlans, bucketCounts, bucketPlaces, bucketOrders, bucketClosed,
		bucketReceipts, bucketOutbox, bucketAudit, bucketKeys, bucketRules, bucketSlots, bucketEnded, bucketDraws, bucketUses,
	}

	keyFormat  = []byte("format")
	keySecret  = []byte("secret")
	keyOrdinal = []byte("ordinal")
	keyProbe   = []byte("probe")
	keyClock   = []byte("clock")
)

// fillAppended is how full a leaf gets in buckets that only grow at their end.
const fillAppended = 0.95

func key32(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
func key64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func keyPlace(ordinal uint32, number uint64) []byte {
	return binary.BigEndian.AppendUint64(key32(ordinal), number)
}

// turnCodes are the turn states on disk.
var turnCodes = []sale.TurnState{
	sale.TurnNone, sale.TurnReady, sale.TurnClaimed, sale.TurnAside, sale.TurnConsumed, sale.TurnExpired, sale.TurnRevoked, sale.TurnLeft,
}

const (
	placeWaiting = 1 + 16                          // state, visitor
	placeCalled  = placeWaiting + 4*8 + 1 + 16 + 2 // four times, picked up, order, holds
)

// marked is a bit of the state of a place: its class and its links come first.
const marked = 0x80

// encodePlace writes a waiting place in 17 bytes and one with a turn in 68, and two
// more where it has a class or links; what a shop did with the turn follows as JSON.
func encodePlace(p sale.Place) []byte {
	b := make([]byte, 0, placeCalled+2)
	if p.Class != 0 || p.Links != 0 {
		b = append(b, turnCode(p.Turn.State)|marked, byte(p.Class), p.Links)
	} else {
		b = append(b, turnCode(p.Turn.State))
	}
	b = append(b, p.Visitor[:]...)
	if p.Turn.State == sale.TurnNone {
		return b
	}
	for _, t := range []time.Time{p.Turn.CalledAt, p.Turn.ExpiresAt, p.Turn.AsideAt, p.Turn.EndedAt} {
		b = appendTime(b, t)
	}
	picked := byte(0)
	if p.Turn.PickedUp {
		picked = 1
	}
	b = append(b, picked)
	b = append(b, p.Turn.Order[:]...)
	b = binary.BigEndian.AppendUint16(b, p.Turn.Holds)
	if p.Turn.Shop != nil {
		b = append(b, encodeJSON(p.Turn.Shop)...)
	}
	return b
}

const (
	countsPlain   = 2 * 8           // next, the public's frontier
	countsClasses = countsPlain + 9 // the members' frontier, where the cycle stands
)

// encodeCounts writes what the places alone would not tell: 16 bytes, and nine more
// once members were called or the cycle has moved.
func encodeCounts(t tally) []byte {
	b := binary.BigEndian.AppendUint64(key64(t.next), t.frontier[sale.Public])
	if t.owed == 0 && t.frontier[sale.Member] <= 1 {
		return b
	}
	return append(binary.BigEndian.AppendUint64(b, t.frontier[sale.Member]), byte(t.owed))
}

// decodeCounts reads the part of a tally that is on disk.
func decodeCounts(b []byte) (t tally, ok bool) {
	if len(b) != countsPlain && len(b) != countsClasses {
		return t, false
	}
	t = newTally()
	t.next, t.frontier[sale.Public] = binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
	if len(b) == countsClasses {
		t.frontier[sale.Member], t.owed = binary.BigEndian.Uint64(b[16:]), int(b[24])
	}
	return t, t.owed < queue.Tens
}

var errDamaged = errors.New("damaged row")

func decodePlace(event string, number uint64, b []byte) (sale.Place, error) {
	p := sale.Place{Event: event, Number: number}
	if len(b) > 2 && b[0]&marked != 0 {
		p.Class, p.Links = sale.Class(b[1]), b[2]
		if p.Class > sale.Member {
			return p, fmt.Errorf("place %d of %s: %w", number, event, errDamaged)
		}
		b = append([]byte{b[0] &^ marked}, b[3:]...)
	}
	if len(b) != placeWaiting && len(b) < placeCalled || int(b[0]) >= len(turnCodes) || (b[0] == 0) != (len(b) == placeWaiting) {
		return p, fmt.Errorf("place %d of %s: %w", number, event, errDamaged)
	}
	p.Turn.State = turnCodes[b[0]]
	copy(p.Visitor[:], b[1:])
	if len(b) == placeWaiting {
		return p, nil
	}
	b = b[placeWaiting:]
	for i, t := range []*time.Time{&p.Turn.CalledAt, &p.Turn.ExpiresAt, &p.Turn.AsideAt, &p.Turn.EndedAt} {
		*t = timeAt(b[8*i:])
	}
	p.Turn.PickedUp = b[32] == 1
	copy(p.Turn.Order[:], b[33:])
	p.Turn.Holds = binary.BigEndian.Uint16(b[49:])
	if b = b[placeCalled-placeWaiting:]; len(b) > 0 {
		p.Turn.Shop = &sale.ShopClaim{}
		if err := json.Unmarshal(b, p.Turn.Shop); err != nil || b[0] != '{' {
			return p, fmt.Errorf("place %d of %s: the shop's claim: %w", number, event, errDamaged)
		}
	}
	return p, nil
}

// appendTime writes Unix milliseconds; the zero time is the smallest value.
func appendTime(b []byte, t time.Time) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(millis(t)))
}

func timeAt(b []byte) time.Time {
	return moment(int64(binary.BigEndian.Uint64(b)))
}

// hasSince is a bit of a message's attempts: the time Since follows them.
const hasSince = 1 << 31

// encodeMessage writes length-prefixed texts, then the fixed part; the body is
// last and kept byte for byte. Few have a time Since.
func encodeMessage(m outbox.Message) []byte {
	b := appendTexts(make([]byte, 0, 128+len(m.Body)), m.ID, m.Topic, m.Key, m.Sink, string(m.State), m.LastError)
	b = appendTime(b, m.CreatedAt)
	b = appendTime(b, m.NextAt)
	if attempts := uint32(m.Attempts); m.Since.IsZero() {
		b = binary.BigEndian.AppendUint32(b, attempts)
	} else {
		b = appendTime(binary.BigEndian.AppendUint32(b, attempts|hasSince), m.Since)
	}
	return append(b, m.Body...)
}

// appendTexts writes each text after its length.
func appendTexts(b []byte, texts ...string) []byte {
	for _, s := range texts {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return b
}

// decodeMessage reads a row; the body is copied only when asked for.
func decodeMessage(seq uint64, b []byte, body bool) (outbox.Message, error) {
	m := outbox.Message{Seq: seq}
	var state string
	end := 0
	for range 6 { // one string for all, they live and die together
		n, w := binary.Uvarint(b[end:])
		if w <= 0 || n > uint64(len(b)-end-w) {
			return m, fmt.Errorf("message %d: %w", seq, errDamaged)
		}
		end += w + int(n)
	}
	all := string(b[:end])
	at := 0
	for _, s := range []*string{&m.ID, &m.Topic, &m.Key, &m.Sink, &state, &m.LastError} {
		n, w := binary.Uvarint(b[at:])
		*s = all[at+w : at+w+int(n)]
		at += w + int(n)
	}
	if b = b[end:]; len(b) < 20 {
		return m, fmt.Errorf("message %d: %w", seq, errDamaged)
	}
	m.State = outbox.State(state)
	m.CreatedAt, m.NextAt = timeAt(b), timeAt(b[8:])
	attempts := binary.BigEndian.Uint32(b[16:])
	m.Attempts = int(attempts &^ hasSince)
	if b = b[20:]; attempts&hasSince != 0 {
		if len(b) < 8 {
			return m, fmt.Errorf("message %d: %w", seq, errDamaged)
		}
		m.Since = timeAt(b)
		b = b[8:]
	}
	if body {
		m.Body = append([]byte(nil), b...)
	}
	return m, nil
}

func encodeJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // our own types always encode
		panic(err)
	}
	return b
}

func decodeOrder(b []byte) (*sale.Order, error) {
	o := &sale.Order{}
	if err := json.Unmarshal(b, o); err != nil {
		return nil, fmt.Errorf("order: %w: %v", errDamaged, err)
	}
	return o, nil
}

func orderKey(id uuid.UUID) []byte { return id[:] }
