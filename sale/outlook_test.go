package sale_test

import (
	"testing"
	"time"

	"foyer/queue"
	"foyer/sale"
)

// buys takes the visitor's turn through to a paid order.
func (v *visitor) buys(seats ...string) {
	v.h.Helper()
	o := v.hold(seats...)
	_, err := v.h.confirm(o.ID, "key-"+o.ID.String(), o.Total)
	v.h.ok(err)
}

// changes sets the pace and the places in the house.
func (h *house) changes(perSecond, active int) {
	h.Helper()
	_, err := h.ChangeEvent("staff", gala, func(s *sale.Settings) error {
		s.Rules.AdmitPerSecond, s.Rules.MaxActive = perSecond, active
		return nil
	})
	h.ok(err)
}

func TestLoweredPaceIsToldUntilItIsBack(t *testing.T) {
	play(t, nil, func(h *house) {
		steps := []struct {
			perSecond, active int
			what              string
			from, to          int
		}{
			{40, 100, "admitPerSecond", 50, 40},
			{20, 100, "admitPerSecond", 50, 20}, // from where it was
			{30, 100, "admitPerSecond", 50, 30},
			{50, 100, "", 0, 0},
			{50, 60, "maxActive", 100, 60},
			{60, 60, "maxActive", 100, 60}, // another number is no remedy
			{60, 100, "", 0, 0},
			{6, 100, "admitPerSecond", 60, 6},
			{6, 80, "maxActive", 100, 80}, // the newest
			{6, 100, "admitPerSecond", 60, 6},
			{6, 70, "maxActive", 100, 70},
			{60, 70, "maxActive", 100, 70},
			{30, 50, "admitPerSecond", 60, 30}, // both at once
			{60, 50, "maxActive", 100, 50},
			{60, 100, "", 0, 0},
		}
		for _, c := range steps {
			h.at(time.Since(h.began) + sec)
			h.changes(c.perSecond, c.active)
			s := h.status()
			switch {
			case c.what == "" && (s.Slowed != nil || s.Slower == sale.SlowerLowered):
				h.Errorf("%d a second, %d active: still lowered, %+v", c.perSecond, c.active, *s.Slowed)
			case c.what == "":
			case s.Slowed == nil || s.Slower != sale.SlowerLowered || s.Slowed.What != c.what || s.Slowed.From != c.from || s.Slowed.To != c.to:
				h.Errorf("%d a second, %d active: got %+v, %q, want %s from %d to %d", c.perSecond, c.active, s.Slowed, s.Slower, c.what, c.from, c.to)
			}
		}
	})
}

func TestLongerWaitHasItsReason(t *testing.T) {
	few := func(s *sale.Settings) { s.Rules.MaxActive, s.Rules.AdmitPerSecond = 2, 1 }
	play(t, few, func(h *house) {
		all := h.crowd(2)
		ann := h.visitor()
		if p := ann.join(); p.Slower != "" {
			h.Errorf("before anything was seen: %q", p.Slower)
		}
		for i := range 40 { // a turn ends every 10 s, the pace allows ten in that time
			h.at(time.Duration(i+1) * 10 * sec)
			h.ok(all[0].leave())
			all = append(all[1:], h.crowd(1)...)
			h.tick()
		}
		bob := h.visitor()
		if p := bob.join(); p.Slower != sale.SlowerTurns {
			h.Errorf("a line slower than its pace: got %q, want %q", p.Slower, sale.SlowerTurns)
		}
		_, err := h.PauseEvent("staff", gala, "")
		h.ok(err)
		if p := bob.poll(); p.Slower != sale.SlowerPaused || h.status().Slower != sale.SlowerPaused {
			h.Errorf("paused: got %q", p.Slower)
		}
	})
}

func TestWhoWasCalledWhileAwayIsToldWhenAndUntilWhen(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		first, ann := h.buyer(), h.visitor()
		ann.join()
		h.at(10 * sec)
		h.ok(first.leave())
		h.tick() // called
		h.at(75 * sec)
		for range 2 { // swept or not
			p := ann.is(sale.NotEntered)
			if called, until := p.CalledAt.Sub(h.began), p.KeptUntil.Sub(h.began); called != 10*sec || until != 670*sec {
				h.Errorf("called after %s, kept until %s, want 10 s and 670 s", called, until)
			}
			h.tick()
		}
		h.at(670 * sec)
		h.tick()
		if p := ann.is(sale.NotEntered); p.KeptUntil.Sub(h.began) != 670*sec {
			h.Errorf("after the grace: kept until %s", p.KeptUntil.Sub(h.began))
		}
		if p := h.visitor().poll(); !p.CalledAt.IsZero() || !p.KeptUntil.IsZero() {
			h.Errorf("a stranger was called at %s", p.CalledAt)
		}
	})
}

func TestChanceIsToldFromWhatTheLineBought(t *testing.T) {
	few := func(s *sale.Settings) { s.Rules.MaxActive = 1 }
	play(t, few, func(h *house) {
		_, err := h.Sell(atDoor("B-1", "B-2", "B-3", "B-4"))
		h.ok(err)
		ann, n := h.visitor(), 0
		for _, seats := range [][]string{{"A-1", "A-2"}, nil, {"A-3"}, nil, {"A-4"}} {
			v := h.buyer()
			if seats == nil {
				h.ok(v.leave())
				continue
			}
			n += len(seats)
			v.buys(seats...)
		}
		s := h.status()
		if want := float64(n) / 5; s.SeatsPerTurn != want {
			h.Errorf("got %v seats a turn, want %v: two of five bought nothing, and the box office is no turn", s.SeatsPerTurn, want)
		}
		h.restart()
		if again := h.status(); again.SeatsPerTurn != s.SeatsPerTurn || again.Good != s.Good || again.Small != s.Small {
			h.Errorf("after a restart %+v, before %+v", again.Outlook, s.Outlook)
		}
		h.buyer()
		p := ann.join()
		if p.Chance.Level != queue.ChanceGood || p.Chance.Left != 10 || p.Chance.Likely < 1 || p.Chance.Likely > 4 {
			h.Errorf("got %+v, want a good chance of ten seats with one buyer ahead", p.Chance)
		}
		for range 40 {
			p = h.visitor().join()
		}
		if p.Chance.Level != queue.ChanceSmall {
			h.Errorf("with 41 ahead and ten seats: got %+v", p.Chance)
		}
		s = h.status()
		if s.Good < 1 || s.Fair < s.Good || s.Small < s.Fair || s.Fair >= 40 || s.Small < 40 || !s.Known {
			h.Errorf("the bounds are %d, %d and %d, known %v", s.Good, s.Fair, s.Small, s.Known)
		}
	})
}

func TestShopWithoutSeatsPromisesNoChance(t *testing.T) {
	play(t, nil, func(h *house) {
		s := sale.DefaultSettings()
		s.ID, s.Name, s.Line = "shop", "Shop", "always"
		_, err := h.CreateEvent("staff", s)
		h.ok(err)
		if p := h.visitorOf("shop").join(); p.Status != sale.Waiting || p.Chance != (sale.Chance{}) {
			h.Errorf("got %s with the chance %+v", p.Status, p.Chance)
		}
		got, err := h.Status("shop")
		h.ok(err)
		if got.SeatsPerTurn >= 0 || got.Good != -1 {
			h.Errorf("the status has a chance: %+v", got.Outlook)
		}
	})
}
