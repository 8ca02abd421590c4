package sale_test

import (
	"testing"
	"testing/synctest"
	"time"

	"foyer/sale"
)

func TestB97WallClockThatIsSetMovesNoDeadline(t *testing.T) {
	onDesk(t, clockRules, func(h *house) {
		f := newFullHouse(h)
		shown := h.status().Now
		f.pass(10 * sec)
		for _, by := range []time.Duration{time.Hour, -time.Hour, -time.Hour, time.Hour} {
			h.desk.set(by)
			f.pass(6 * sec)
		}
		if n := h.desk.warnings(); n != 4 {
			t.Errorf("%d warnings for 4 steps:\n%s", n, &h.desk.log)
		}
		for range 100 {
			h.desk.set(sec)
			f.pass(200 * ms)
		}
		if v := f.holders[0].poll(); v.Now.Sub(shown) != time.Since(shown).Truncate(ms) {
			t.Errorf("serverTime went by %s in %s", v.Now.Sub(shown), time.Since(shown))
		}
		f.finish()
	})
}

func TestMachineThatSleptFindsItsDeadlinesOverAndNoBurst(t *testing.T) {
	onDesk(t, clockRules, func(h *house) {
		f := newFullHouse(h)
		f.pass(10 * sec)
		h.desk.sleep(30 * sec) // all go on
		f.pass(10 * sec)
		h.desk.sleep(time.Hour)
		time.Sleep(51 * ms)
		f.look()
		if n := h.desk.warnings(); n != 0 {
			t.Errorf("a sleep is taken for a clock that was set:\n%s", &h.desk.log)
		}
		f.finish()
	})
}

func TestSleepThatTheSystemHidesStopsDeadlinesAndLetsTheSaleOpen(t *testing.T) {
	planned := func(s *sale.Settings) {
		opens := time.Now().Add(30 * time.Minute).UTC()
		s.OpensAt = &opens
	}
	synctest.Test(t, func(t *testing.T) {
		h := &house{T: t, dir: t.TempDir(), began: time.Now(), bank: &bank{}, desk: newDesk()}
		h.desk.deaf = true
		h.sinks = func(string) []string { return nil }
		h.open()
		defer func() { h.ok(h.store.Close()) }()
		h.event(gala, planned)
		ann := h.visitor()
		ann.join()
		before := ann.is(sale.Lobby).Now
		h.desk.sleep(time.Hour)
		for range 5 {
			time.Sleep(sec)
			h.tick()
		}
		if v := ann.is(sale.Ready); v.Now.Sub(before) != 5*sec {
			t.Errorf("the store's time went on by %s, its clocks by 5 s", v.Now.Sub(before))
		}
	})
}

func TestPlannedOpeningFollowsTheWallClock(t *testing.T) {
	var opens time.Time
	planned := func(s *sale.Settings) {
		opens = time.Now().Add(time.Hour).UTC()
		closes := opens.Add(time.Hour)
		s.OpensAt, s.ClosesAt = &opens, &closes
	}
	onDesk(t, planned, func(h *house) {
		look := func(want sale.Phase) sale.Status {
			h.Helper()
			for range 50 {
				h.tick()
				time.Sleep(100 * ms)
			}
			s := h.status()
			if s.Phase != want {
				h.Errorf("%s in, the wall clock wrong by %s: the sale is %s, want %s", h.desk.real(), time.Duration(h.desk.wrong.Load()), s.Phase, want)
			}
			return s
		}
		ann := h.visitor()
		ann.join()
		look(sale.PhaseLobby)
		h.desk.set(58 * time.Minute)
		s := look(sale.PhaseLobby)
		if p := ann.is(sale.Lobby); p.OpensAt.Sub(p.Now) > 2*time.Minute || s.OpensAt.Sub(s.Now) > 2*time.Minute || p.Wait > 150 {
			t.Errorf("opens in %s, the status says %s, the wait %d s", p.OpensAt.Sub(p.Now), s.OpensAt.Sub(s.Now), p.Wait)
		}
		h.desk.set(2 * time.Minute)
		look(sale.PhaseOpen)
		ann.is(sale.Ready)
		h.buyer()
		h.desk.set(time.Hour)
		look(sale.PhaseClosed)
		_, _, err := h.Join(gala, h.visitor().id)
		h.refused(err, sale.ErrEventClosed)
		ann.has(sale.TurnReady)
		h.desk.set(-2 * time.Hour) // the first time was right
		look(sale.PhaseLobby)
		h.reopen()
		look(sale.PhaseLobby)
		time.Sleep(time.Hour)
		look(sale.PhaseOpen)
	})
}

func TestStaffOpenAndChangeByTheWallClock(t *testing.T) {
	planned := func(s *sale.Settings) {
		opens := time.Now().Add(time.Hour).UTC()
		s.OpensAt = &opens
	}
	onDesk(t, planned, func(h *house) {
		h.desk.set(-10 * time.Minute)
		for range 5 {
			h.status()
			time.Sleep(sec)
		}
		e, err := h.OpenEvent("staff", gala)
		h.ok(err)
		if s := h.status(); s.Phase != sale.PhaseOpen || s.Now.Sub(*e.OpensAt).Abs() > sec {
			t.Errorf("opened by staff at %s the sale is %s; it is %s", e.OpensAt, s.Phase, s.Now)
		}
		h.buyer()
		_, err = h.ChangeEvent("staff", gala, func(s *sale.Settings) error {
			later := e.OpensAt.Add(5 * time.Minute) // the store's time is past that
			s.OpensAt = &later
			return nil
		})
		h.refused(err, sale.ErrPromise)
	})
}

func TestWallClockThatJumpsForAMomentOpensNothing(t *testing.T) {
	planned := func(s *sale.Settings) {
		opens := time.Now().Add(time.Hour).UTC()
		s.OpensAt = &opens
	}
	onDesk(t, planned, func(h *house) {
		for range 20 {
			h.desk.set(2 * time.Hour)
			for range 20 {
				time.Sleep(100 * ms)
				if p := h.status().Phase; p != sale.PhaseLobby {
					t.Fatalf("the sale is %s", p)
				}
			}
			h.desk.set(-2 * time.Hour)
			time.Sleep(100 * ms)
			h.status()
		}
		if n := h.desk.warnings(); n != 0 {
			t.Errorf("%d warnings", n)
		}
	})
}
