package sale

import (
	"math"
	"time"

	"foyer/queue"
)

// Slowed tells how staff lowered what lets people in.
type Slowed struct {
	At   time.Time `json:"at"`
	What string    `json:"what"` // "admitPerSecond" or "maxActive"
	From int       `json:"from"`
	To   int       `json:"to"`
	Also *Slowed   `json:"also,omitempty"` // the other of the two, lowered before and not back either
}

// slowedBy tells what a change of the rules means for those who wait, the newest
// lowering first: before is what was known of earlier ones.
func slowedBy(old, now Rules, at time.Time, before *Slowed) *Slowed {
	first := lowered("admitPerSecond", old.AdmitPerSecond, now.AdmitPerSecond, at, before)
	other := lowered("maxActive", old.MaxActive, now.MaxActive, at, before)
	if first == nil || other != nil && other.At.After(first.At) {
		first, other = other, first
	}
	if first != nil {
		first.Also = other
	}
	return first
}

// lowered tells how far a setting stands below the height from which one or
// several steps led down, and nil once it is back.
func lowered(what string, from, to int, at time.Time, before *Slowed) *Slowed {
	n := &Slowed{At: at, What: what, From: from, To: to}
	for ; before != nil; before = before.Also {
		if before.What != what {
			continue
		}
		if n.From = max(from, before.From); to >= from {
			n.At = before.At
		}
	}
	if n.To >= n.From {
		return nil
	}
	return n
}

// Why an estimate may have risen, or is none.
const (
	SlowerClosed   = "closed"       // the sale is closed, so nobody is called and the wait is not known
	SlowerSeats    = "no_seats"     // no seat is left, so nobody is called and the wait is not known
	SlowerPaused   = "paused"       // staff paused the line
	SlowerTrouble  = "trouble"      // holds, payments or the shop fail or are slow, and the pace is lowered for it
	SlowerLowered  = "pace_lowered" // staff lowered the pace or the places in the house; see [Slowed]
	SlowerReturned = "returned"     // people who were called before came back to the front
	SlowerTurns    = "slower"       // turns end more slowly than the pace allows
	SlowerMembers  = "members"      // members wait too and have a share of the turns
	SlowerPublic   = "public"       // to members: others wait too and have a share of the turns
	SlowerDraw     = "draw"         // the draw decides, or has just decided, who comes before
)

// drawTold is how long after a draw it is the reason of what it changed: longer
// than anybody waits before he asks again.
const drawTold = time.Minute

// NoWait tells whether the reason is one for which nobody is called, so that no
// wait can be told.
func NoWait(slower string) bool { return slower == SlowerClosed || slower == SlowerSeats }

// slower tells why the wait of everybody may have become longer; "" when nothing
// stands against the pace.
func (o *Office) slower(r Reader, e *Event) string {
	now, line := r.Calendar(), r.Line(e.ID)
	phase := e.Phase(now, line.Sold)
	set, trouble := o.pace(e)
	pace := float64(set)
	_, rate, _ := r.Flow(e.ID).Rates(pace)
	switch {
	case phase == PhaseClosed:
		return SlowerClosed
	case phase == PhaseSoldOut || e.allSold(line.Sold):
		return SlowerSeats
	case phase == PhasePaused || e.Paused && e.Presale(now):
		return SlowerPaused
	case trouble != "":
		return SlowerTrouble
	case e.Slowed != nil:
		return SlowerLowered
	case returned(r, e, line):
		return SlowerReturned
	case rate < pace:
		return SlowerTurns
	}
	return ""
}

// slowerFor is slower for one waiting place.
func (o *Office) slowerFor(r Reader, e *Event, p Place) string {
	all, line := o.slower(r, e), r.Line(e.ID)
	share := e.turns(r.Calendar(), line).Share
	switch {
	case all != "":
		return all
	case p.Class == Public && line.Members > 0 && share > 0:
		return SlowerMembers
	case p.Class == Member && line.Members < line.Waiting && share < queue.Tens:
		return SlowerPublic
	case e.Draw != nil && (e.Draw.Upto == 0 || p.Number < e.Draw.Upto) && (e.toDraw() || r.Calendar().Sub(e.Draw.HeldAt) < drawTold):
		return SlowerDraw
	}
	return ""
}

// returned tells whether people wait who were called before: none but they have
// numbers behind the frontier.
func returned(r Reader, e *Event, line Line) bool {
	if line.Members > 0 && line.Members < line.Waiting {
		return line.Back != [2]int{}
	}
	class := Public
	if line.Members > 0 {
		class = Member
	}
	return r.Rank(e.ID, class, r.Frontier(e.ID, class), e.turns(r.Calendar(), line)) > 0
}

// frontier is the number at which the line stands. It begins with the draw where
// there is one: who leaves the lobby before had none of its numbers.
func frontier(r Reader, e *Event) uint64 {
	if e.toDraw() {
		return 1
	}
	return r.Frontier(e.ID, Public)
}

// taken is what the people before the front have bought; ok is false for an
// event without seats of its own, of which nothing can be said. Who was set
// aside counts as done, until he comes back.
func taken(r Reader, e *Event) (t queue.Taken, ok bool) {
	line := r.Line(e.ID)
	called := min(frontier(r, e)-1, math.MaxInt32)
	if line.Members > 0 && !e.toDraw() { // in two lines the numbers are not called in order
		called = min(line.Next-1-uint64(line.Waiting), math.MaxInt32)
	}
	return queue.Taken{
		People: max(0, int(called)-line.Active), Seats: line.LineSold,
		Most: e.Rules.MaxSeatsPerOrder, Left: max(0, e.Sellable-line.Sold),
	}, e.Sellable > 0
}

// Chance is what a waiting visitor may hope for.
type Chance struct {
	Level  string // see queue.ChanceGood; "" when nothing can be said
	Left   int    // seats not sold
	Likely int    // seats that the people before him will take
}

func chanceOf(t queue.Taken, ahead int) Chance {
	return Chance{Level: t.Chance(ahead), Left: t.Left, Likely: t.Likely(ahead)}
}

// Outlook is what a page needs to tell its visitor his wait and his chance from
// his number alone. It is learned while running: after a restart anew.
type Outlook struct {
	Slow, Rate, Fast float64 // turns per second, see queue.Flow.Rates
	Slower           string  // why the wait may have become longer
	SeatsPerTurn     float64 // negative without seats of our own
	Known            bool    // enough turns are over to tell more than what is certain
	Good, Fair       int     // the greatest ranks with such a chance; -1 for none
	Small            int
}

func (o *Office) outlook(r Reader, e *Event) (v Outlook) {
	pace, _ := o.pace(e)
	v.Slow, v.Rate, v.Fast = r.Flow(e.ID).Rates(float64(pace))
	v.Slower = o.slower(r, e)
	t, ok := taken(r, e)
	if !ok {
		v.SeatsPerTurn, v.Good, v.Fair, v.Small = -1, -1, -1, -1
		return v
	}
	active := r.Line(e.ID).Active
	v.SeatsPerTurn, v.Known = t.PerTurn(), t.Known()
	rank := func(level string) int { return max(-1, t.Within(level)-active) }
	v.Good, v.Fair, v.Small = rank(queue.ChanceGood), rank(queue.ChanceFair), rank(queue.ChanceSmall)
	return v
}
