package sale_test

import (
	"testing"
	"time"

	"foyer/sale"
)

// because wants this reason in the visitor's place.
func (v *visitor) because(reason string) sale.PlaceView {
	v.h.Helper()
	p := v.poll()
	if p.Slower != reason {
		v.h.Errorf("%s in: the place (%s, rank %d) says %q, want %q", time.Since(v.h.began), p.Status, p.Rank, p.Slower, reason)
	}
	return p
}

// giving wants this reason in the status.
func (h *house) giving(reason string) sale.Status {
	h.Helper()
	s := h.status()
	if s.Slower != reason {
		h.Errorf("%s in: the status (%s) says %q, want %q", time.Since(h.began), s.Phase, s.Slower, reason)
	}
	return s
}

// early is an event with one slot whose presale runs for ten minutes.
func early(s *sale.Settings) {
	from, to := time.Now().Add(sec), time.Now().Add(10*time.Minute)
	s.PresaleAt, s.OpensAt, s.Line, s.Rules.AdmitPerSecond, s.Rules.MaxActive = &from, &to, "always", 5, 1
}

func TestFullPresaleIsSaidToBeSlow(t *testing.T) {
	play(t, early, func(h *house) {
		_, codes := h.codes(20, sale.Member, 1)
		members := h.members(codes...)
		public := h.crowd(1)[0]
		for i := range 60 {
			h.at(time.Duration(i+1) * sec)
			h.tick()
			if i == 20 {
				h.ok(members[0].leave())
			}
		}
		members[19].because(sale.SlowerTurns)
		public.because(sale.SlowerTurns)
		h.giving(sale.SlowerTurns)
	})
}

func TestPausedPresaleIsSaidToBePaused(t *testing.T) {
	play(t, early, func(h *house) {
		_, codes := h.codes(3, sale.Member, 1)
		members := h.members(codes...)
		public := h.crowd(1)[0]
		h.at(2 * sec)
		_, err := h.PauseEvent("staff", gala, "")
		h.ok(err)
		members[2].because(sale.SlowerPaused)
		public.because(sale.SlowerPaused)
		if s := h.giving(sale.SlowerPaused); s.Phase != sale.PhaseLobby {
			h.Errorf("the phase is %s", s.Phase)
		}
		_, err = h.ResumeEvent("staff", gala)
		h.ok(err)
		members[2].because("")
		h.giving("")
	})
}

func TestClosedSalePromisesNoWait(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		h.buyer()
		ann := h.crowd(1)[0]
		before := ann.because("")
		_, err := h.CloseEvent("staff", gala, "")
		h.ok(err)
		if p := ann.because(sale.SlowerClosed); p.Wait != 0 || p.WaitLow != 0 || p.WaitHigh != 0 {
			h.Errorf("a wait is promised: %+v", p)
		}
		h.giving(sale.SlowerClosed)
		_, err = h.OpenEvent("staff", gala)
		h.ok(err)
		if p := ann.because(""); p.Wait != before.Wait {
			h.Errorf("opened again the wait is %d, it was %d", p.Wait, before.Wait)
		}
	})
}

func TestMembersHearThatThePublicHasAShare(t *testing.T) {
	play(t, func(s *sale.Settings) { early(s); s.Rules.MemberShare = 10 }, func(h *house) {
		_, codes := h.codes(5, sale.Member, 1)
		last := h.members(codes...)[4]
		last.because("")
		public := h.crowd(3)
		last.because("") // the presale is theirs
		share := func(n int) {
			_, err := h.ChangeEvent("staff", gala, func(s *sale.Settings) error { s.Rules.MemberShare = n; return nil })
			h.ok(err)
		}
		share(5)
		last.because("")
		public[0].because(sale.SlowerMembers)
		_, err := h.OpenEvent("staff", gala)
		h.ok(err)
		last.because(sale.SlowerPublic)
		public[0].because(sale.SlowerMembers)
		share(10)
		last.because("")
		share(0)
		last.because(sale.SlowerPublic)
		public[0].because("")
		for _, v := range public {
			h.ok(v.leave())
		}
		last.because("")
	})
}

func TestWhoComesBackToTheFrontIsTheReasonOfThoseBehind(t *testing.T) {
	slow := func(s *sale.Settings) { s.Line, s.Rules.AdmitPerSecond, s.Rules.PickupSeconds = "always", 1, 2 }
	play(t, slow, func(h *house) {
		all := h.crowd(6)
		away, last := all[0], all[5]
		for i := range 3 { // away is called, and is not there
			h.at(time.Duration(i+1) * 1100 * ms)
			h.tick()
		}
		if p := last.because(""); p.Rank != 2 {
			h.Errorf("the rank is %d, want 2", p.Rank)
		}
		away.join()
		if p := last.because(sale.SlowerReturned); p.Rank != 3 {
			h.Errorf("the rank is %d, want 3", p.Rank)
		}
		h.giving(sale.SlowerReturned)
		h.at(4400 * ms)
		h.tick()
		away.is(sale.Ready)
		last.because("")
		h.giving("")
	})
}

func TestTheDrawIsTheReasonUntilItIsKnownToAll(t *testing.T) {
	drawn := func(s *sale.Settings) {
		at := time.Now().Add(time.Minute)
		s.OpensAt, s.Order, s.Rules.AdmitPerSecond, s.Rules.MaxActive = &at, "draw", 1, 1
	}
	play(t, drawn, func(h *house) {
		lobby := h.crowd(5)
		lobby[0].because(sale.SlowerDraw)
		h.at(time.Minute)
		late := h.crowd(1)[0]
		late.because("")
		h.tick()
		h.tick()
		waits := lobby[0]
		if waits.poll().Status == sale.Ready {
			waits = lobby[1]
		}
		waits.because(sale.SlowerDraw)
		h.at(2 * time.Minute)
		waits.because("")
	})
}

// Nobody is called in a lobby, in a pause or after the end. That is no evidence of a slow line.
func TestStandingOnPurposeDoesNotLengthenTheWait(t *testing.T) {
	later := func(s *sale.Settings) {
		at := time.Now().Add(10 * time.Minute)
		s.OpensAt, s.Line, s.Rules.AdmitPerSecond, s.Rules.MaxActive = &at, "always", 5, 100
	}
	play(t, later, func(h *house) {
		last := h.crowd(300)[299]
		at := 0
		stand := func(until int) {
			for ; at < until; at++ {
				h.at(time.Duration(at) * sec)
				h.tick()
			}
		}
		stand(600)
		h.at(10 * time.Minute)
		if p := last.because(""); p.Status != sale.Waiting || p.Wait != 60 {
			h.Errorf("at the opening 299 are ahead at 5 a second: %s, a wait of %d s", p.Status, p.Wait)
		}
		stand(610)
		_, err := h.PauseEvent("staff", gala, "")
		h.ok(err)
		before := last.poll().Wait
		stand(900)
		if p := last.because(sale.SlowerPaused); p.Wait != before {
			h.Errorf("after the pause the wait is %d s, before it was %d", p.Wait, before)
		}
	})
}
