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
}

// slowedBy tells what a change of the rules means for those who wait: before is
// what was known of an earlier one. It is over when what was lowered is back.
func slowedBy(old, now Rules, at time.Time, before *Slowed) *Slowed {
	switch {
	case now.AdmitPerSecond < old.AdmitPerSecond:
		return lowered("admitPerSecond", old.AdmitPerSecond, now.AdmitPerSecond, at, before)
	case now.MaxActive < old.MaxActive:
		return lowered("maxActive", old.MaxActive, now.MaxActive, at, before)
	case before == nil:
		return nil
	}
	n := *before
	if n.To = now.AdmitPerSecond; n.What == "maxActive" {
		n.To = now.MaxActive
	}
	if n.To >= n.From {
		return nil
	}
	return &n
}

// lowered keeps the height from which several steps led down.
func lowered(what string, from, to int, at time.Time, before *Slowed) *Slowed {
	if before != nil && before.What == what {
		from = max(from, before.From)
	}
	return &Slowed{At: at, What: what, From: from, To: to}
}

// Why an estimate may have risen, or is none.
const (
	SlowerSeats   = "no_seats"     // no seat is left, so nobody is called and the wait is not known
	SlowerPaused  = "paused"       // staff paused the line
	SlowerLowered = "pace_lowered" // staff lowered the pace or the places in the house; see [Slowed]
	SlowerTrouble = "trouble"      // holds, payments or the shop fail or are slow, and the pace is lowered for it
	SlowerTurns   = "slower"       // turns end more slowly than the pace allows
	SlowerMembers = "members"      // members wait too and have a share of the turns
)

// slower tells why the wait may have become longer; "" when nothing stands against
// the pace.
func (o *Office) slower(r Reader, e *Event) string {
	phase := e.Phase(r.Calendar(), r.Line(e.ID).Sold)
	set, trouble := o.pace(e)
	pace := float64(set)
	_, rate, _ := r.Flow(e.ID).Rates(pace)
	switch {
	case phase == PhaseSoldOut || phase != PhaseClosed && e.allSold(r.Line(e.ID).Sold):
		return SlowerSeats
	case phase == PhasePaused:
		return SlowerPaused
	case trouble != "":
		return SlowerTrouble
	case e.Slowed != nil:
		return SlowerLowered
	case phase == PhaseOpen && rate < pace:
		return SlowerTurns
	}
	return ""
}

// Callable is how many of those who wait may be called at now (by the calendar)
// once there is room: in the presale members, before it, in a pause and where
// there is nothing to sell nobody.
func (e *Event) Callable(now time.Time, l Line) int {
	waiting, class := l.Waiting, Public
	if e.Presale(now) {
		waiting, class = l.Members, Member
	}
	if e.phaseFor(class, now, l.Sold) != PhaseOpen || e.allSold(l.Sold) {
		return 0
	}
	return waiting
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
