package store

import (
	"github.com/google/uuid"

	"foyer/sale"
)

// tally are an event's counts.
type tally struct {
	waiting, active, sold int
	members               int       // of waiting
	lineSold              int       // of sold, those that visitors bought, not staff for them
	next                  uint64    // the number of the next join
	frontier              [2]uint64 // by class: one more than the highest number ever called
	owed                  int       // where the cycle of turns stands
	freed                 int       // slots that became free since the start
}

func newTally() tally { return tally{next: 1, frontier: [2]uint64{1, 1}} }

func (n *tally) count(p sale.Place, by int) {
	switch s := p.Turn.State; {
	case s == sale.TurnNone:
		n.waiting += by
		if p.Class == sale.Member {
			n.members += by
		}
	case s.Active():
		n.active += by
	}
}

func (n *tally) countOrder(o *sale.Order, by int) {
	n.sold += by * o.Sold()
	if o.Visitor != uuid.Nil {
		n.lineSold += by * o.Sold()
	}
}

// line is the tally as it is told; em is the event as committed, nil for a new one.
func (t tally) line(em *eventMemory) sale.Line {
	l := sale.Line{Waiting: t.waiting, Members: t.members, Owed: t.owed, Active: t.active, Next: t.next, Sold: t.sold, LineSold: t.lineSold}
	if em != nil && l.Members > 0 && l.Members < l.Waiting {
		l.Back = em.line.Back(em.tally.frontier)
	}
	return l
}
