package sale

import (
	"iter"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/queue"
	"foyer/seats"
)

// Reader shows one moment of the sale: what is committed, or, inside a [Tx],
// that and everything written before in the same transaction.
type Reader interface {
	// Now is the time of the transaction: whole milliseconds, UTC, never
	// earlier than that of any transaction committed before since the store
	// was opened.
	Now() time.Time
	// Calendar is the wall clock's time at Now, for what was planned by it
	// (openings and closings). It may be set while Now goes on.
	Calendar() time.Time
	// Event finds an event by id.
	Event(id string) (*Event, bool)
	// Events gives all events in the order of their creation.
	Events() []*Event
	// Plan gives an event's plan; nil when none was set.
	Plan(event string) *seats.Plan
	// Place finds a visitor's latest place in an event, ended ones included
	// for as long as they are kept.
	Place(event string, visitor uuid.UUID) (Place, bool)
	// Line gives the counts of an event's line.
	Line(event string) Line
	// Rank counts the turns before that of a place of this class and number when
	// nobody joins or leaves and turns are shared out so, as committed: those with
	// a smaller number in its line, and those of the other one whose turn is earlier.
	Rank(event string, class Class, number uint64, turns queue.Cycle) int
	// Frontier is the smallest number of a class that has never been called nor
	// left: everybody of it with a smaller one had his turn, as committed.
	Frontier(event string, class Class) uint64
	// Uses counts the joins that used a code.
	Uses(event string, c Code) int
	// Used counts, of a batch, the codes that were used and the joins that used
	// them, as committed.
	Used(event string, batch uint32) (codes, people int)
	// Recent counts the turns given within the last second.
	Recent(event string) int
	// Flow is what leaves the line. Read only.
	Flow(event string) *queue.Flow
	// Order finds an order by id.
	Order(id uuid.UUID) (*Order, bool)
	// Holder finds the order that last claimed a seat and did not give it
	// back. It may have lapsed: ask [Order.Has].
	Holder(event, seat string) (*Order, bool)
	// Key finds an API key by the hash of its secret.
	Key(hash KeyHash) (*Key, bool)
	// Keys gives all API keys in the order of their creation.
	Keys() []*Key
	// LaneRules gives the rules of lanes that were set, by key or pattern.
	LaneRules() map[string]outbox.Rule
	// Task finds a task that waits, is dead, or ended within [KeepTasks], with its body.
	Task(id uuid.UUID) (outbox.Message, bool)
	// PaidBy finds the order with a payment of this name or second name (empty
	// ones fit nothing); one that came to nothing need not be found. It may look
	// at every order: it is for what is rare.
	PaidBy(provider, payment, ref string) (*Order, bool)
	// Ticketed finds the order of a ticket.
	Ticketed(ticket uuid.UUID) (*Order, bool)
	// Matters gives the payment facts that came onto the attention list, also
	// those that are settled, oldest first: those that are wanted, nil is all.
	Matters(want func(*Receipt) bool) []*Receipt
	// Receipt finds what became of a payment event seen before.
	Receipt(provider, eventID string) (*Receipt, bool)
}

// Line is the state of an event's line in numbers.
type Line struct {
	Waiting  int    // places in the line, of members and of the public
	Members  int    // those of members
	Back     [2]int // by class, while both wait: places that were called before and came back, as committed
	Owed     int    // where the cycle of turns stands, see queue.Cycle
	Active   int    // turns READY or CLAIMED as stored
	Next     uint64 // the number the next join gets
	Sold     int    // seats in PAID orders
	LineSold int    // those of them that visitors bought, not staff at the door
}

// of counts the places of a class in the line.
func (l Line) of(c Class) int {
	if c == Member {
		return l.Members
	}
	return l.Waiting - l.Members
}

// Tx is one write transaction. Nothing it writes is seen by others before the
// commit, and all of it is dropped when its function returns an error.
type Tx interface {
	Reader
	// NewID returns a fresh random id; ids rise with time (UUID version 7).
	NewID() uuid.UUID
	// NextOrdinal returns an event ordinal never given before.
	NextOrdinal() uint32
	PutEvent(*Event)
	// RemoveEvent forgets an event with its places and its plan. Another one may be
	// made under its id, by a later function.
	RemoveEvent(*Event)
	PutPlan(event string, p *seats.Plan)
	// NextCall is the earliest time at which a pace of so many turns per second
	// allows one more in the event.
	NextCall(event string, perSecond int) time.Time
	// Front gives the first waiting places, at most n: first those below the frontiers
	// of their classes, who were called before and came back, by number, then the
	// others in the order in which turns are shared out between the classes.
	Front(event string, n int, turns queue.Cycle) []Place
	// PutOwed keeps where the cycle of turns stands: Line.Owed.
	PutOwed(event string, owed int)
	// Alone is nil for the only function of its commit. Any other must return the
	// error, and is run again, alone.
	Alone() error
	// Standing gives the numbers and visitors of those who wait, in order, as committed.
	Standing(event string) iter.Seq2[uint64, uuid.UUID]
	// PutDraw gives the waiting places of these entries the numbers from 1, in
	// this order; those who wait with other numbers, all of them larger, stay. Only
	// for a function that is [Tx.Alone].
	PutDraw(event string, drawn []Drawn)
	// Turns gives every place that is READY, CLAIMED or ASIDE, in no order.
	// Nothing may be written while it runs.
	Turns(event string) iter.Seq[Place]
	// Ended gives places whose turn ended in earlier commits, oldest first.
	Ended(event string) iter.Seq[Place]
	// PutPlace writes a place; a new one must carry Line.Next as its number.
	PutPlace(Place)
	// UseCode notes that the join of this number used a code. It is remembered as
	// long as the event.
	UseCode(event string, c Code, number uint64)
	// RemovePlace forgets a place that ended.
	RemovePlace(Place)
	PutOrder(*Order)
	PutReceipt(*Receipt)
	// Settle books what became of a message: delivered or dropped, or what
	// is to happen next.
	Settle(outbox.Outcome)
	// PutLaneRule sets the rule of a key or pattern.
	PutLaneRule(pattern string, r outbox.Rule)
	// RemoveLaneRule takes the rule of a key or pattern away.
	RemoveLaneRule(pattern string)
	// Send adds a message to the outbox.
	Send(outbox.Message)
	// Audit records who did what.
	Audit(Entry)
	PutKey(*Key)
	RemoveKey(*Key)
}

// Store keeps the sale. Update and View return the function's own error, or
// [ErrUnavailable] when writing does not work at present.
type Store interface {
	// Update runs fn in the one write transaction and returns after its
	// changes are on disk. It may share its commit with neighbours. fn must
	// have no effect outside its Tx.
	Update(fn func(Tx) error) error
	// View runs fn over the committed state. fn must be quick and must not
	// keep the Reader.
	View(fn func(Reader) error) error
	// Orders lists an event's orders, newest first, starting before the given
	// id (uuid.Nil: from the newest), at most n. Not inside View or Update.
	Orders(event string, before uuid.UUID, n int) ([]*Order, error)
	// Entries lists audit entries newest first, before seq (0: all), at most n.
	Entries(before uint64, n int) ([]Entry, error)
	// Unsettled lists the orders with a payment that was started and has not
	// ended, oldest first.
	Unsettled() []*Order
	// RefundsDue lists the orders with money that must go back and has not gone
	// yet, oldest first.
	RefundsDue() []*Order
	// ForgetOrders drops orders that came to nothing before a time, a few
	// thousand at once; more tells that there are others.
	ForgetOrders(before time.Time) (more bool, err error)
	// ForgetTasks drops tasks that ended before a time, and what has passed of
	// the slots of lanes, a few thousand at once.
	ForgetTasks(before time.Time) (more bool, err error)
	// Messages lists messages of a state ("" = any) that are not delivered,
	// by rising sequence number after one, at most n, without bodies.
	Messages(state outbox.State, after uint64, n int) ([]outbox.Message, error)
	// Load reads one message that is not delivered, with its body.
	Load(seq uint64) (m outbox.Message, found bool, err error)
	// Tasks lists the tasks of a lane, ended ones included, by rising
	// sequence number after one, at most n, with bodies; next is where to go
	// on, 0 at the end. A page may be short before the end.
	Tasks(key string, after uint64, n int) (list []outbox.Message, next uint64, err error)
	// Drawn lists the queue ids of an event's draw by their numbers, after one, at most n.
	Drawn(event string, after, n int) ([]uuid.UUID, error)
	// Changed returns a channel that is closed at the next commit that
	// touches the event.
	Changed(event string) <-chan struct{}
}

// Entry is one line of the audit: who did what, when, to which event.
type Entry struct {
	Seq    uint64    `json:"seq"` // given by the store
	At     time.Time `json:"at"`
	Actor  string    `json:"actor"` // "staff:<key id>", "command line", "house"
	Event  string    `json:"event,omitempty"`
	Act    string    `json:"act"` // "event.open"
	Detail string    `json:"detail,omitempty"`
}
