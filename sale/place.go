package sale

import (
	"time"

	"github.com/google/uuid"

	"foyer/queue"
)

// Place is one visitor's entry in one event's line, from the join to the end of
// his turn. It is a plain value.
type Place struct {
	Event   string
	Number  uint64 // sequence number, rises in the order of committed joins, or as drawn, from 1
	Entry   uint64 // the number of the join where Number was drawn; 0: it is Number
	Visitor uuid.UUID
	Class   Class // which line it stands in
	Links   uint8 // return links that were used or taken back, modulo 256
	Turn    Turn  // zero while the place waits in the line
}

// Class tells members from the public.
type Class = queue.Class

// The classes.
const (
	Public = queue.Public
	Member = queue.Member
)

// entry is the number of the join.
func (p Place) entry() uint64 {
	if p.Entry != 0 {
		return p.Entry
	}
	return p.Number
}

// Turn is the right to buy that a place has once it reached the front.
type Turn struct {
	State     TurnState
	CalledAt  time.Time // when it became READY
	ExpiresAt time.Time // CalledAt + turnSeconds; never moves
	PickedUp  bool      // the visitor has seen it
	AsideAt   time.Time // when nobody came
	EndedAt   time.Time // when it became CONSUMED, EXPIRED, REVOKED or LEFT
	Order     uuid.UUID // the order that claims or last claimed it; uuid.Nil once a shop claims it
	Holds     uint16    // holds and claims of shops made with it so far
	// Shop is what a shop with orders of its own did with the turn; nil: nothing.
	// It is never changed, only replaced.
	Shop *ShopClaim
}

// TurnState is where a turn stands. The empty state means: still in the line.
type TurnState string

// The states of a turn.
const (
	TurnNone     TurnState = ""
	TurnReady    TurnState = "READY"
	TurnClaimed  TurnState = "CLAIMED"
	TurnAside    TurnState = "ASIDE" // called while nobody was there
	TurnConsumed TurnState = "CONSUMED"
	TurnExpired  TurnState = "EXPIRED"
	TurnRevoked  TurnState = "REVOKED"
	TurnLeft     TurnState = "LEFT" // the visitor gave the place back
)

// Active tells whether the turn fills one of the event's maxActive slots.
func (s TurnState) Active() bool { return s == TurnReady || s == TurnClaimed }

// Live tells whether the place still is somewhere between the join and the end
// of its turn: in the line, active or aside.
func (s TurnState) Live() bool { return s == TurnNone || s == TurnAside || s.Active() }

// PlaceView is what a visitor is shown of his place at one moment.
type PlaceView struct {
	Status   string // "LOBBY", "WAITING", "READY" or "NOT_ENTERED"
	QueueID  uuid.UUID
	Number   uint64
	Class    Class // in whose line it stands
	Rank     int   // zero-based: how many are ahead
	Waiting  int   // how many wait in all
	Wait     int   // estimated seconds
	WaitLow  int
	WaitHigh int
	Slower   string        // why the wait may have become longer, a Slower word; "" for no reason
	Chance   Chance        // WAITING only; the zero value for an event without a plan
	Poll     time.Duration // when to ask again, without jitter
	Now      time.Time
	OpensAt  *time.Time // LOBBY only
	Draw     *Draw      // nil unless the order is drawn; until it is held Number is 0 and Rank means nothing

	// NOT_ENTERED only, zero unless his turn came while he was away: when that was,
	// and until when he may come back to the front.
	CalledAt  time.Time
	KeptUntil time.Time

	Token          string // READY only: the entry token
	TokenExpiresAt time.Time
	TokenState     TurnState
	OrderID        uuid.UUID // READY only; uuid.Nil when there is none
}
