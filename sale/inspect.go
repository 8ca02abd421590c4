package sale

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"foyer/seats"
)

// Finding is one thing that the rows of a file show and must not. Code is the
// invariant that is broken ("I1" to "I10" as in the README), "row" for a row
// that cannot be read or hangs in the air, "page" and "file" for what is below
// the rows, or "note" for what may be right and is worth a look.
type Finding struct{ Code, What string }

// Note tells whether the finding breaks nothing.
func (f Finding) Note() bool { return f.Code == codeNote }

const codeNote = "note"

// findingsOfOne bounds the findings that are told of one code; the rest is
// counted.
const findingsOfOne = 100

// Inspection holds the rows of a file against the invariants and against each
// other. It is fed every row once: events, then plans and counts, then places,
// orders, receipts and keys in any order, then messages and the audit. It does
// no I/O. A quick one is not fed closed orders, messages and the audit, and
// remembers nothing of those who only wait.
//
// It speaks of the rows of one moment between two commits. What only a history
// could show (an order that was PAID before, a number that was given out) it
// cannot see.
type Inspection struct {
	now      time.Time
	quick    bool
	found    []Finding
	told     map[string]int // by code
	events   map[uint32]*inspectedEvent
	byName   map[string]*inspectedEvent
	ordinal  uint32
	turns    map[uuid.UUID]inspectedTurn // by the order they name
	orders   map[uuid.UUID]*inspectedOrder
	holds    map[visitorOf]uuid.UUID
	tickets  map[uuid.UUID]uuid.UUID // ticket -> order
	applied  []inspectedFact
	nameless bool // a fact about a refund names no order
	facts    map[[2]string]struct{}
	keys     map[string]struct{}
	outbox   inspectedOutbox
	receipts rowNumbers
	entries  rowNumbers
	strays   map[uint32]int // places of no event, by ordinal
	late     time.Time      // the newest stamp that lies in the future
	ahead    int            // how many do
	tooMuch  bool           // a sum was, see add
	count    Tally
}

// Tally is what a file holds, in numbers.
type Tally struct {
	Events, Waiting, Called  int // Called: places with a turn, ended ones too
	Orders                   map[OrderStatus]int
	Receipts, Messages, Keys int
	Entries                  int
	Money                    map[string]MoneyTally // by currency
}

// MoneyTally is the money of one currency, in minor units: what orders have, and
// what the attention list says has come.
type MoneyTally struct{ Paid, RefundDue, Refunded, Attention int64 }

// add sums minor units of a currency; what is too much for an int64 stays there,
// and is noted.
func (i *Inspection) add(to *int64, n int64, currency string) {
	switch sum := *to + n; {
	case n > 0 && sum < *to:
		*to = math.MaxInt64
	case n < 0 && sum > *to:
		*to = math.MinInt64
	default:
		*to = sum
		return
	}
	if !i.tooMuch {
		i.tooMuch = true
		i.Add(codeNote, "the sums of %s are larger than numbers can be here: the file has more, or less, than its last line says", currency)
	}
}

type visitorOf struct {
	event   string
	visitor uuid.UUID
}

// inspectedEvent is an event with what its rows have shown so far.
type inspectedEvent struct {
	event         *Event
	plan          *seats.Plan
	next          uint64    // 0: no counts row
	frontier      [2]uint64 // by class
	highest       uint64    // highest number of a place
	highestCalled [2]uint64 // by class
	visitors      []uuid.UUID
	active        int
	calls         []int64 // Unix milliseconds
	changed       bool    // staff changed its rules once
	holders       map[string]uuid.UUID
	uses          map[Code]int
	lastUse       uint64 // the highest number of a join with a code
	draw          *inspectedDraw
}

// NewInspection begins an inspection. Stamps later than now are noted.
func NewInspection(now time.Time, quick bool) *Inspection {
	return &Inspection{
		now: now, quick: quick, told: map[string]int{}, events: map[uint32]*inspectedEvent{}, byName: map[string]*inspectedEvent{},
		turns: map[uuid.UUID]inspectedTurn{}, orders: map[uuid.UUID]*inspectedOrder{}, holds: map[visitorOf]uuid.UUID{},
		tickets: map[uuid.UUID]uuid.UUID{}, facts: map[[2]string]struct{}{}, keys: map[string]struct{}{}, strays: map[uint32]int{},
		outbox: newInspectedOutbox(), count: Tally{Orders: map[OrderStatus]int{}, Money: map[string]MoneyTally{}},
	}
}

// Add notes a finding that somebody else made.
func (i *Inspection) Add(code, format string, args ...any) {
	if i.told[code]++; i.told[code] <= findingsOfOne {
		i.found = append(i.found, Finding{code, fmt.Sprintf(format, args...)})
	}
}

// Tally gives the numbers of what was fed.
func (i *Inspection) Tally() Tally { return i.count }

// NextOrdinal is fed the ordinal that the next event will get; 0 when the file
// does not say.
func (i *Inspection) NextOrdinal(n uint32) { i.ordinal = n }

// Event is fed an event and the ordinal that its row is named by.
func (i *Inspection) Event(ordinal uint32, e *Event) {
	i.count.Events++
	i.stamp(e.CreatedAt)
	if e.Ordinal != ordinal || ordinal == 0 {
		i.Add("row", "the row of event %q has the ordinal %d and says %d", e.ID, ordinal, e.Ordinal)
	}
	if _, twice := i.byName[e.ID]; twice {
		i.Add("row", "there are two events %q", e.ID)
	}
	ie := &inspectedEvent{event: e, holders: map[string]uuid.UUID{}}
	i.events[ordinal], i.byName[e.ID] = ie, ie
}

// Plan is fed an event's plan.
func (i *Inspection) Plan(ordinal uint32, p *seats.Plan) {
	ie, ok := i.events[ordinal]
	if !ok {
		i.Add("row", "there is a plan of an event with the ordinal %d, and no such event", ordinal)
		return
	}
	ie.plan = p
}

// Counts is fed an event's counts: the number of the next join, and one more
// than the highest number ever called, by class.
func (i *Inspection) Counts(ordinal uint32, next uint64, frontier [2]uint64) {
	ie, ok := i.events[ordinal]
	switch {
	case !ok:
		i.Add("row", "there are counts of an event with the ordinal %d, and no such event", ordinal)
	case next == 0 || min(frontier[Public], frontier[Member]) == 0 || max(frontier[Public], frontier[Member]) > next:
		i.Add("I4", "event %q: the next number is %d, and numbers up to %d are said to have been called, of members up to %d", ie.event.ID, next, int64(frontier[Public])-1, int64(frontier[Member])-1)
		ie.next, ie.frontier = max(next, 1), [2]uint64{max(frontier[Public], 1), max(frontier[Member], 1)}
	default:
		ie.next, ie.frontier = next, frontier
	}
}

// Key is fed an API key and the hash that its row is named by.
func (i *Inspection) Key(hash []byte, k *Key) {
	i.count.Keys++
	if !bytes.Equal(hash, k.Hash[:]) {
		i.Add("row", "the row of key %q is named by another hash than its own", k.ID)
	}
	if _, twice := i.keys[k.ID]; twice {
		i.Add("row", "there are two keys with the id %q", k.ID)
	}
	if !k.Role.valid() {
		i.Add("row", "key %q has the unknown role %q", k.ID, k.Role)
	}
	i.keys[k.ID] = struct{}{}
}

// Entry is fed a line of the audit and the number that its row is named by.
func (i *Inspection) Entry(seq uint64, e Entry) {
	i.count.Entries++
	i.stamp(e.At)
	if gap := i.entries.gap(seq); gap != "" {
		i.Add("I9", "%s", "the audit lacks "+gap)
	}
	if e.Seq != seq {
		i.Add("row", "line %d of the audit says that it is line %d", seq, e.Seq)
	}
	if ie, ok := i.byName[e.Event]; ok && e.Act == "event.change" {
		ie.changed = true
	}
}

// rowNumbers watches numbers that are given out one by one and never taken back.
type rowNumbers struct{ last uint64 }

// gap tells which numbers are missing before n, or "".
func (r *rowNumbers) gap(n uint64) (missing string) {
	switch before := r.last; {
	case n == before+2:
		missing = fmt.Sprintf("number %d", before+1)
	case n > before+2:
		missing = fmt.Sprintf("the numbers %d to %d", before+1, n-1)
	}
	r.last = n
	return missing
}

// stamp takes in a time that something is said to have happened at.
func (i *Inspection) stamp(t time.Time) {
	if t.After(i.now) {
		i.ahead++
		if t.After(i.late) {
			i.late = t
		}
	}
}

// Findings ends the inspection and tells what it found, in the order of the
// codes. Nothing may be fed afterwards.
func (i *Inspection) Findings() []Finding {
	for _, ordinal := range slices.Sorted(maps.Keys(i.events)) {
		i.closeEvent(ordinal, i.events[ordinal])
	}
	for _, ordinal := range slices.Sorted(maps.Keys(i.strays)) {
		i.Add("row", "places of an event with the ordinal %d, which is not there: %d", ordinal, i.strays[ordinal])
	}
	i.closeTurns()
	i.closeOrders()
	i.closeFacts()
	if i.ahead > 0 {
		i.Add(codeNote, "%d stamps lie in the future, the latest at %s: the clock of this machine is behind, or the one that wrote them was ahead",
			i.ahead, i.late.Format(time.RFC3339))
	}
	for code, n := range i.told {
		if n > findingsOfOne {
			i.found = append(i.found, Finding{code, fmt.Sprintf("and %d more of this kind", n-findingsOfOne)})
		}
	}
	slices.SortStableFunc(i.found, func(a, b Finding) int { return codeOrder(a.Code) - codeOrder(b.Code) })
	return i.found
}

func codeOrder(code string) int {
	return slices.Index([]string{"file", "page", "row", "I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I9", "I10", codeNote}, code)
}

// closeEvent holds an event's row against its plan, its counts and its places.
func (i *Inspection) closeEvent(ordinal uint32, ie *inspectedEvent) {
	e := ie.event
	if i.ordinal > 0 && ordinal >= i.ordinal {
		i.Add("I4", "event %q has the ordinal %d, and the next event would get %d", e.ID, ordinal, i.ordinal)
	}
	switch {
	case ie.plan == nil && e.PlanVersion != "":
		i.Add("I9", "event %q has lost its plan %s", e.ID, e.PlanVersion)
	case ie.plan != nil && e.PlanVersion != ie.plan.Version():
		i.Add("I9", "event %q is sold by plan %q and its plan is %s", e.ID, e.PlanVersion, ie.plan.Version())
	}
	switch {
	case ie.highest > 0 && ie.next == 0:
		i.Add("I4", "event %q has places and no counts", e.ID)
	case ie.highest > 0 && ie.next <= ie.highest:
		i.Add("I4", "event %q has a place with the number %d, and the next join would get %d", e.ID, ie.highest, ie.next)
	}
	for class, called := range ie.highestCalled {
		if ie.next > 0 && called >= ie.frontier[class] {
			i.Add("I4", "event %q has called number %d, and only numbers below %d are said to have been called", e.ID, called, ie.frontier[class])
		}
	}
	i.closeLine(ie)
	i.closeDraw(ie)
	i.closeCodes(ie)
}
