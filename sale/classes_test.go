package sale_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"foyer/sale"
)

// members is n visitors who joined with codes, one after the other.
func (h *house) members(codes ...string) (all []*visitor) {
	h.Helper()
	for _, code := range codes {
		v := h.visitor()
		v.joinWith(code)
		all = append(all, v)
	}
	return all
}

// called lets the tick give a turn at a time, ended at once, and tells the classes
// in their order: M and P. Each must be of whom it was said, by rank 0, to be next.
func (h *house) called(n int, members, public []*visitor) string {
	h.Helper()
	out := ""
	for range n {
		h.tick()
		for class, of := range map[string]*[]*visitor{"M": &members, "P": &public} {
			if len(*of) > 0 {
				if v := (*of)[0]; v.poll().Status == sale.Ready {
					out += class
					h.ok(v.leave())
					*of = (*of)[1:]
				}
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	return out
}

func TestOfTenTurnsSevenGoToMembersAndThreeToThePublic(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		_, codes := h.codes(80, sale.Member, 1)
		first := h.buyer()
		public := h.crowd(40)
		members := h.members(codes...)
		for k, v := range public {
			if got, want := v.poll().Rank, len(strings.TrimRight(turnsUntil(k+1, 'P'), "P")); k < 30 && got < want {
				h.Errorf("the public's %d. has rank %d, want at least %d", k+1, got, want)
			}
		}
		h.ok(first.leave())
		order := h.called(50, members, public)
		h.restart() // the cycle goes on where it stood
		order += h.called(50, members[strings.Count(order, "M"):], public[strings.Count(order, "P"):])
		for i := 0; i+10 <= len(order); i++ {
			if n := strings.Count(order[i:i+10], "M"); n != 7 {
				h.Fatalf("of the ten turns after %d, %d go to members: %s", i, n, order)
			}
		}
		if len(order) != 100 {
			h.Errorf("%d turns were given: %s", len(order), order)
		}
	})
}

func TestRankIsHowManyAreCalledBefore(t *testing.T) {
	for _, share := range []int{0, 1, 5, 7, 10} {
		play(t, func(s *sale.Settings) { oneSlot(s); s.Rules.MemberShare = share }, func(h *house) {
			_, codes := h.codes(9, sale.Member, 1)
			first := h.buyer()
			var all []*visitor
			for i := range 9 {
				all = append(all, h.crowd(1)...)
				all = append(all, h.members(codes[i])...)
			}
			h.ok(all[3].leave())
			h.ok(all[8].leave())
			all = slices.Delete(slices.Delete(all, 8, 9), 3, 4)
			rank := map[*visitor]int{}
			for _, v := range all {
				p := v.poll()
				rank[v] = p.Rank
				if p.Waiting != 16 {
					h.Errorf("%d wait, want all 16", p.Waiting)
				}
			}
			h.ok(first.leave())
			for called := range all {
				h.tick()
				for _, v := range all {
					if v.poll().Status == sale.Ready {
						if rank[v] != called {
							h.Errorf("share %d: who had rank %d is called after %d", share, rank[v], called)
						}
						h.ok(v.leave())
					}
				}
				time.Sleep(100 * time.Millisecond)
			}
			h.line(0, 0)
		})
	}
}

func TestTurnsThatAClassDoesNotNeedGoToTheOther(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		_, codes := h.codes(2, sale.Member, 1)
		first := h.buyer()
		public := h.crowd(6)
		members := h.members(codes...)
		h.ok(first.leave())
		if got := h.called(8, members, public); got != "PMMPPPPP" {
			h.Errorf("called were %s", got)
		}
	})
}

func TestShareOfTenLetsThePublicInOnlyWhenNoMemberWaits(t *testing.T) {
	play(t, func(s *sale.Settings) { oneSlot(s); s.Rules.MemberShare = 10 }, func(h *house) {
		_, codes := h.codes(6, sale.Member, 1)
		first := h.buyer()
		public := h.crowd(3)
		members := h.members(codes...)
		h.ok(first.leave())
		if got := h.called(9, members, public); got != "MMMMMMPPP" {
			h.Errorf("called were %s", got)
		}
	})
}

func TestJoinOfMemberTellsHisRankWithinItsCommit(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		_, codes := h.codes(3, sale.Member, 1)
		h.buyer()
		h.crowd(3)
		told := make([]sale.PlaceView, 3)
		h.together(
			func() { told[0] = h.visitor().joinWith(codes[0]) }, // P M M P M P: after the first of the public
			func() { told[1] = h.visitor().join() },
			func() { told[2] = h.visitor().joinWith(codes[1]) },
		)
		if told[0].Rank != 1 || told[1].Rank != 4 || told[2].Rank != 2 {
			h.Errorf("ranks %d, %d and %d, want 1, 4 and 2", told[0].Rank, told[1].Rank, told[2].Rank)
		}
	})
}

func TestInThePresaleMembersAreCalledAndThePublicStaysInTheLobby(t *testing.T) {
	play(t, presale, func(h *house) {
		_, codes := h.codes(4, sale.Member, 1)
		public := h.crowd(2)
		members := h.members(codes[:2]...)
		for _, v := range append(slices.Clone(public), members...) {
			v.is(sale.Lobby)
		}
		if m, p := members[0].poll(), public[0].poll(); m.Rank != 0 || p.Rank != 2 { // the presale comes first
			h.Errorf("before the presale the first member has rank %d, the first of the public %d", m.Rank, p.Rank)
		}
		h.at(60*sec - ms)
		h.tick()
		h.line(4, 0)
		if h.status().Presale {
			h.Error("the presale has begun too early")
		}
		h.at(60 * sec)
		if p := members[1].poll(); p.Status != sale.Waiting || p.Rank != 1 {
			h.Errorf("the second member sees %+v", p)
		}
		if s := h.status(); !s.Presale || s.Phase != sale.PhaseLobby {
			h.Errorf("the status is %+v", s)
		}
		h.tick()
		members[0].is(sale.Ready)
		public[0].is(sale.Lobby)
		members[0].hold("A-1")
		h.ok(members[0].leave())
		h.restart()
		h.tick()
		members[1].is(sale.Ready)
		h.ok(members[1].leave())
		if p := h.visitor().joinWith(codes[2]); p.Status != sale.Ready { // nobody waits who could be called
			h.Errorf("a member who comes alone is %s", p.Status)
		}
		h.at(119 * sec)
		h.tick()
		public[0].is(sale.Lobby)
		h.at(120 * sec)
		public[0].is(sale.Waiting)
		h.tick()
		public[0].is(sale.Ready)
		if h.status().Presale {
			h.Error("the presale goes on after the opening")
		}
	})
}

func TestPausedPresaleCallsNobody(t *testing.T) {
	play(t, presale, func(h *house) {
		_, codes := h.codes(1, sale.Member, 1)
		_, err := h.PauseEvent("staff", gala, "")
		h.ok(err)
		h.at(60 * sec)
		m := h.visitor()
		if p := m.joinWith(codes[0]); p.Status != sale.Waiting {
			h.Errorf("the member is %s", p.Status)
		}
		h.tick()
		m.is(sale.Waiting)
		_, err = h.ChangeEvent("staff", gala, func(s *sale.Settings) error { s.PresaleAt = nil; return nil })
		h.refused(err, sale.ErrPromise)
		_, err = h.OpenEvent("staff", gala)
		h.ok(err)
		h.tick()
		m.is(sale.Ready)
	})
}

func TestPresaleMustBeBeforeTheOpeningAndNotOfADraw(t *testing.T) {
	play(t, nil, func(h *house) {
		for _, change := range []func(s *sale.Settings){
			func(s *sale.Settings) { s.OpensAt = nil },
			func(s *sale.Settings) { s.PresaleAt = s.OpensAt },
			func(s *sale.Settings) { s.Order = "draw" },
			func(s *sale.Settings) { s.Access = "closed" },
			func(s *sale.Settings) { s.Rules.MemberShare = 11 },
			func(s *sale.Settings) { s.Rules.MemberShare = -1 },
		} {
			s := sale.DefaultSettings()
			s.ID, s.Name = "other", "Other"
			presale(&s)
			change(&s)
			_, err := h.CreateEvent("staff", s)
			h.refused(err, sale.ErrBadEvent)
		}
	})
}

func TestOpeningBeforeThePresaleEndsIt(t *testing.T) {
	play(t, presale, func(h *house) {
		_, err := h.OpenEvent("staff", gala)
		h.ok(err)
		_, err = h.Announce("staff", gala, "welcome")
		h.ok(err)
		_, err = h.ChangeEvent("staff", gala, func(s *sale.Settings) error { s.Name = "Another"; return nil })
		h.ok(err)
	})
}

func TestDrawGivesMembersTheirNumbersInTheirOwnLine(t *testing.T) {
	play(t, drawn, func(h *house) {
		_, codes := h.codes(20, sale.Member, 1)
		public, members := h.crowd(10), h.members(codes...)
		if p := members[0].poll(); p.Status != sale.Lobby || p.WaitLow > p.WaitHigh {
			h.Errorf("in the lobby a member sees %+v", p)
		}
		h.at(600 * sec)
		h.tick()
		byNumber := func(a, b *visitor) int { return int(a.poll().Number) - int(b.poll().Number) }
		slices.SortFunc(public, byNumber)
		slices.SortFunc(members, byNumber)
		h.restart()
		h.line(30, 0)
		want := turnsUntil(8, 'P')
		var m, p int
		for rank, class := range want {
			v := public[min(p, 9)]
			if class == 'M' {
				v = members[m]
				m++
			} else {
				p++
			}
			if got := v.poll().Rank; got != rank {
				h.Errorf("%c, drawn as %d, has rank %d, want %d", class, v.poll().Number, got, rank)
			}
		}
	})
}
