package sale

import "time"

// Status is the public state of one event, the same for everybody.
type Status struct {
	Phase          Phase
	Frontier       uint64 // everybody with a smaller number has been called
	Pace           int    // turns per second, as it is now
	PaceReason     string // why that is less than what staff have set; "" when it is not
	Waiting        int
	Active         int
	SeatsLeft      int // not sold: free or held
	Sold           int // seats in PAID orders
	SoldOut        bool
	Override       string // what staff decided about that: [SoldOutYes], [SoldOutNo] or ""
	Returns        bool   // no seat is left, and those that come back go to the line
	Message        string
	OpensAt        *time.Time
	Presale        bool       // members are called, although it is LOBBY
	Members        int        // of those who wait
	MemberFrontier uint64     // of members, everybody with a smaller number has been called
	Draw           *Draw      // nil unless the order is drawn
	Now            time.Time  // by the calendar, as OpensAt
	Pickup         int        // seconds: who is called must ask for his place within
	Slowed         *Slowed    // how staff lowered the pace, if that is why
	Outlook        `json:"-"` // learned while running, so no part of what a restart keeps
}

// Status gives the public state of an event.
func (o *Office) Status(id string) (s Status, err error) {
	err = o.store.View(func(r Reader) error {
		e, ok := r.Event(id)
		if !ok {
			return ErrNoSuchEvent
		}
		s = o.status(r, e)
		return nil
	})
	return s, err
}

func (o *Office) status(r Reader, e *Event) Status {
	l := r.Line(e.ID)
	now := r.Calendar()
	pace, reason := o.pace(e)
	members := r.Frontier(e.ID, Member)
	return Status{
		Phase: e.Phase(now, l.Sold), Frontier: min(frontier(r, e), members), Pace: pace, PaceReason: reason,
		Waiting: l.Waiting, Active: l.Active, SeatsLeft: max(0, e.Sellable-l.Sold), Sold: l.Sold,
		SoldOut: e.soldOut(l.Sold), Override: e.SoldOut, Returns: e.SoldOut != SoldOutYes && e.allSold(l.Sold),
		Message: e.Message, OpensAt: e.OpensAt, Presale: e.Presale(now), Draw: e.Draw, Now: now,
		Members: l.Members, MemberFrontier: members,
		Pickup: e.Rules.PickupSeconds, Slowed: e.Slowed, Outlook: o.outlook(r, e),
	}
}
