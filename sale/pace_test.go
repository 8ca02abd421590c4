package sale_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"foyer/sale"
)

// pace wants at most limit calls in any second, both ends included.
func (h *house) pace(calls []time.Time, limit int) {
	h.Helper()
	slices.SortFunc(calls, time.Time.Compare)
	for i := limit; i < len(calls); i++ {
		if d := calls[i].Sub(calls[i-limit]); d <= time.Second {
			h.Fatalf("%d turns were given within %s, the pace is %d", limit+1, d, limit)
		}
	}
}

// calls gives the times at which turns began, as their deadlines tell.
func calls(all []*visitor) (list []time.Time) {
	for _, v := range all {
		if p := v.poll(); p.Status == sale.Ready {
			list = append(list, p.TokenExpiresAt.Add(-300*sec))
		}
	}
	return list
}

func TestPaceHoldsInEverySecondWithPassThroughIncluded(t *testing.T) {
	const limit = 3
	slow := func(s *sale.Settings) { s.Rules.AdmitPerSecond, s.Rules.MaxActive = limit, 1000 }
	play(t, slow, func(h *house) {
		random := rand.New(rand.NewPCG(3, 4))
		var all []*visitor
		next := time.Duration(0)
		for now := time.Duration(0); now < 60*sec; now += time.Duration(1+random.IntN(400)) * ms {
			h.at(now)
			if random.IntN(5) > 0 || now > 30*sec && now < 40*sec {
				all = append(all, h.crowd(1+random.IntN(2))...)
			}
			if now >= next {
				pause, err := h.Office.Tick(gala, time.Second)
				h.ok(err)
				next = now + pause
			}
		}
		for range 1000 {
			pause, err := h.Office.Tick(gala, time.Second)
			h.ok(err)
			if h.status().Waiting == 0 {
				break
			}
			time.Sleep(pause)
		}
		given := calls(all)
		h.pace(given, limit)
		if len(given) < 150 {
			h.Errorf("only %d turns were given in about a minute: the pace is not used", len(given))
		}
	})
}

func TestTickSaysWhenThePaceLetsTheNextOneIn(t *testing.T) {
	slow := func(s *sale.Settings) { s.Rules.AdmitPerSecond = 1 }
	play(t, slow, func(h *house) {
		all := h.crowd(5)
		for range 4 {
			pause, err := h.Office.Tick(gala, 10*time.Second)
			h.ok(err)
			if pause > time.Second+2*ms {
				h.Fatalf("the pause is %s while somebody waits for the pace of one a second", pause)
			}
			time.Sleep(pause)
		}
		h.tick()
		all[4].is(sale.Ready)
		if pause, _ := h.Office.Tick(gala, 10*time.Second); pause != 10*time.Second {
			h.Errorf("the pause is %s while nobody waits, want 10 s", pause)
		}
	})
}

func TestPaceHoldsAcrossARestart(t *testing.T) {
	slow := func(s *sale.Settings) { s.Rules.AdmitPerSecond = 2 }
	play(t, slow, func(h *house) {
		h.crowd(4)
		h.line(2, 2)
		h.restart()
		h.tick()
		h.line(2, 2)
		h.at(sec)
		h.tick()
		h.line(2, 2) // exactly a second old still counts
		h.at(sec + ms)
		h.tick()
		h.line(0, 4)
	})
}

func TestComingAndGoingDoesNotOutrunThePace(t *testing.T) {
	slow := func(s *sale.Settings) { s.Rules.AdmitPerSecond = 3 }
	play(t, slow, func(h *house) {
		ann, given := h.visitor(), 0
		for range 10 {
			if ann.join().Status == sale.Ready {
				given++
			}
			h.ok(ann.leave())
		}
		if given != 3 {
			h.Errorf("%d turns in one instant, the pace is 3", given)
		}
	})
}

func TestTurnGivenAndLeftInOneCommitCountsForThePace(t *testing.T) {
	slow := func(s *sale.Settings) { s.Rules.AdmitPerSecond = 1 }
	play(t, slow, func(h *house) {
		h.crowd(1)
		ann, bob := h.visitor(), h.visitor()
		ann.join()
		bob.join()
		h.at(2 * sec)
		h.together(func() { h.tick() }, func() { h.ok(ann.leave()) })
		h.tick()
		bob.is(sale.Waiting)
	})
}

func TestMaxActiveIsNeverExceeded(t *testing.T) {
	few := func(s *sale.Settings) { s.Rules.MaxActive = 5 }
	play(t, few, func(h *house) {
		random := rand.New(rand.NewPCG(5, 6))
		all := h.crowd(5)
		for i := range 400 {
			h.at(time.Duration(i) * sec)
			v := all[random.IntN(len(all))]
			switch random.IntN(5) {
			case 0, 1:
				all = append(all, h.crowd(1)...)
			case 2:
				_ = v.leave()
			case 3:
				v.poll()
				_, _ = v.try(fmt.Sprintf("A-%d", 1+random.IntN(12)))
			case 4:
				_ = h.Release(v.id, v.order)
			}
			h.tick()
			if s := h.status(); s.Active > 5 {
				h.Fatalf("step %d: %d turns are active", i, s.Active)
			}
		}
	})
}

func TestManyJoinsInOneCommitStayWithinSlotsAndPace(t *testing.T) {
	few := func(s *sale.Settings) { s.Rules.MaxActive, s.Rules.AdmitPerSecond = 7, 5 }
	play(t, few, func(h *house) {
		var fns []func()
		for range 20 {
			fns = append(fns, func() { h.visitor().join() })
		}
		h.together(fns...)
		h.line(15, 5)
		h.at(2 * sec)
		h.together(func() { h.tick() }, func() { h.tick() })
		h.line(13, 7)
	})
}

func TestLoweredMaxActiveWaitsForTurnsToEnd(t *testing.T) {
	few := func(s *sale.Settings) { s.Rules.MaxActive = 4 }
	play(t, few, func(h *house) {
		all := h.crowd(6)
		_, err := h.ChangeEvent("staff", gala, func(s *sale.Settings) error { s.Rules.MaxActive = 2; return nil })
		h.ok(err)
		h.tick()
		h.line(2, 4) // nobody loses a turn, nobody gets one
		h.ok(all[0].leave())
		h.ok(all[1].leave())
		h.tick()
		h.line(2, 2)
		h.ok(all[2].leave())
		h.tick()
		h.line(1, 2)
	})
}

// Where somebody waits, the next look is due when the first turn frees its slot by itself.
func TestNextLookIsDueWhenAClaimOnATurnLapses(t *testing.T) {
	for name, c := range map[string]struct {
		claim func(v *visitor)
		ends  time.Duration // of the turn or the claim on it
	}{
		"nobody claims it":    {func(*visitor) {}, 10 * sec},
		"a hold outlasts it":  {func(v *visitor) { v.hold("A-1") }, 12 * sec},
		"a shop claims it":    {func(v *visitor) { _, err := v.h.ClaimToken(v.asks("k", "")); v.h.ok(err) }, 12 * sec},
		"a payment lasts":     {func(v *visitor) { v.hold("A-1"); v.pay() }, 14 * sec},
		"a hold was released": {func(v *visitor) { v.h.ok(v.h.Release(v.id, v.hold("A-1").ID)) }, 10 * sec},
	} {
		rules := func(s *sale.Settings) {
			s.Line, s.Rules.MaxActive, s.Rules.TurnSeconds, s.Rules.PickupSeconds = "always", 1, 10, 10
			s.Rules.HoldSeconds, s.Rules.PaySeconds, s.Rules.PayMarginSeconds = 7, 8, 1
		}
		play(t, rules, func(h *house) {
			first, last := h.visitor(), h.visitor()
			first.join()
			last.join()
			h.tick()
			first.is(sale.Ready)
			h.at(5 * sec)
			c.claim(first)
			for _, at := range []time.Duration{5 * sec, c.ends - ms} {
				h.at(at)
				pause, err := h.Office.Tick(gala, time.Minute)
				h.ok(err)
				if want := min(max(c.ends-at, 100*ms), 10*sec); pause != want {
					h.Errorf("%s: %s in, the next look is due after %s, want %s", name, at, pause, want)
				}
			}
			h.at(c.ends)
			h.tick()
			last.is(sale.Ready)
		})
	}
}
