package sale_test

import (
	"slices"
	"testing"
	"time"

	"foyer/queue"
	"foyer/sale"
)

// Who comes back stands before both lines, and takes nobody's share.
func TestWhoComesBackIsCalledBeforeMembersAndPublic(t *testing.T) {
	for share := range queue.Tens + 1 {
		play(t, func(s *sale.Settings) { oneSlot(s); s.Rules.MemberShare = share }, func(h *house) {
			_, codes := h.codes(9, sale.Member, 1)
			first := h.buyer()
			ann := h.visitor()
			ann.join()
			h.ok(first.leave())
			h.tick() // Ann is called, and is not there
			member := h.members(codes[0])[0]
			h.at(60 * sec)
			h.tick() // she is set aside, and the member is called and not there either
			all := []*visitor{}
			for i := range 8 {
				all = append(all, h.members(codes[i+1])...)
				all = append(all, h.crowd(1)...)
			}
			h.at(120 * sec)
			h.tick() // the member is set aside
			i := slices.IndexFunc(all, func(v *visitor) bool { return v.poll().Status == sale.Ready })
			inside := all[i]
			all = slices.Delete(all, i, i+1)
			owed := map[*visitor]int{}
			for _, v := range all {
				owed[v] = v.poll().Rank
			}
			if p := member.join(); p.Rank != 0 || p.Number != 3 {
				h.Errorf("share %d: the member comes back with number %d to rank %d, want 3 and 0", share, p.Number, p.Rank)
			}
			if p := ann.join(); p.Rank != 0 || p.Number != 2 || member.poll().Rank != 1 {
				h.Errorf("share %d: Ann comes back with number %d to rank %d, the member has rank %d, want 2, 0 and 1", share, p.Number, p.Rank, member.poll().Rank)
			}
			for _, v := range all {
				if p := v.poll(); p.Rank != owed[v]+2 {
					h.Errorf("share %d: behind the two who came back a rank is %d, want %d", share, p.Rank, owed[v]+2)
				}
			}
			late := h.visitor()
			if p := late.join(); late.poll().Rank != p.Rank {
				h.Errorf("share %d: who joins last is told rank %d, and then %d", share, p.Rank, late.poll().Rank)
			}
			order := append(all, ann, member, late)
			for _, v := range order {
				owed[v] = v.poll().Rank
			}
			slices.SortFunc(order, func(a, b *visitor) int { return owed[a] - owed[b] })
			h.ok(inside.leave())
			for n, v := range order {
				h.tick()
				if owed[v] != n || v.poll().Status != sale.Ready {
					h.Fatalf("share %d: the one of rank %d is not the %d. called", share, n, n+1)
				}
				h.ok(v.leave())
				time.Sleep(100 * time.Millisecond)
			}
			h.line(0, 0)
		})
	}
}

// graces lets staff change the times to come and to come back, in seconds.
func (h *house) graces(pickup, back int) {
	h.Helper()
	_, err := h.ChangeEvent("boss", gala, func(s *sale.Settings) error {
		s.Rules.PickupSeconds, s.Rules.ReturnSeconds = pickup, back
		return nil
	})
	h.ok(err)
}

func TestShorterRulesTakeNothingFromWhoWasCalledOrSetAside(t *testing.T) {
	play(t, func(s *sale.Settings) { s.Rules.MaxActive = 1 }, func(h *house) {
		first := h.buyer()
		ann, bob, cem, dee := h.visitor(), h.visitor(), h.visitor(), h.visitor()
		for _, v := range []*visitor{ann, bob, cem, dee} {
			v.join()
		}
		h.ok(first.leave())
		h.tick() // Ann is called, and is not there
		h.at(60 * sec)
		h.tick() // she is set aside, Bob is called
		if p := ann.is(sale.NotEntered); !p.KeptUntil.Equal(h.began.Add(660 * sec)) {
			h.Errorf("Ann's place is kept until %v", p.KeptUntil)
		}
		h.at(70 * sec)
		h.graces(30, 20)
		h.at(80 * sec)
		h.graces(2, 0)
		h.restart()
		if p := ann.is(sale.NotEntered); !p.KeptUntil.Equal(h.began.Add(660 * sec)) {
			h.Errorf("after the change Ann's place is kept until %v", p.KeptUntil)
		}
		h.at(120*sec - ms)
		h.tick()
		h.line(2, 1) // Bob has his minute
		h.at(120 * sec)
		h.tick()
		h.line(1, 1) // and is set aside; Cem is called, by the new rules
		if p := bob.is(sale.NotEntered); !p.KeptUntil.Equal(h.began.Add(720 * sec)) {
			h.Errorf("Bob was called before, and his place is kept until %v", p.KeptUntil)
		}
		h.at(122 * sec)
		h.tick()
		h.line(0, 1) // Dee is called
		if _, created, err := h.Join(gala, cem.id); err != nil || !created {
			h.Errorf("Cem's old place is kept: %v", err)
		}
		h.at(660*sec - ms)
		if p := ann.join(); p.Number != 2 {
			h.Errorf("Ann comes back as number %d, want 2", p.Number)
		}
	})
}

// Whoever was called has the longest time that the rules have said since then, and
// nobody more.
func TestEachHasTheLongestTimeSinceHisCall(t *testing.T) {
	play(t, func(s *sale.Settings) { oneSlot(s); s.Rules.PickupSeconds, s.Rules.ReturnSeconds = 20, 60 }, func(h *house) {
		first := h.buyer()
		ann, bob := h.visitor(), h.visitor()
		ann.join()
		bob.join()
		h.at(5 * sec)
		h.graces(2, 60)
		h.graces(2, 5)
		h.ok(first.leave())
		h.at(6 * sec)
		h.tick() // Ann is called, for 2 s
		h.at(7 * sec)
		h.graces(3, 10)
		h.graces(2, 5)
		h.at(9*sec - ms)
		h.tick()
		h.line(1, 1)
		h.at(9 * sec) // 3 s: the longest since
		h.tick()
		h.line(0, 1)
		if p := ann.is(sale.NotEntered); !p.KeptUntil.Equal(h.began.Add(19 * sec)) {
			h.Errorf("Ann's place is kept until %v, want 19 s", p.KeptUntil)
		}
		h.graces(2, 3)
		if p := ann.is(sale.NotEntered); !p.KeptUntil.Equal(h.began.Add(19 * sec)) {
			h.Errorf("after one more change Ann's place is kept until %v", p.KeptUntil)
		}
	})
	play(t, func(s *sale.Settings) { oneSlot(s); s.Rules.PickupSeconds, s.Rules.ReturnSeconds = 2, 20 }, func(h *house) {
		first, ann := h.buyer(), h.visitor()
		ann.join()
		h.ok(first.leave())
		h.tick() // Ann is called
		h.at(1 * sec)
		h.graces(2, 5)
		h.graces(15, 5)
		h.at(25 * sec)
		h.tick() // she was set aside after 15 s, for 20 s
		h.graces(15, 4)
		if p := ann.is(sale.NotEntered); !p.KeptUntil.Equal(h.began.Add(35 * sec)) {
			h.Errorf("Ann's place is kept until %v, want 35 s", p.KeptUntil)
		}
		if p := ann.join(); p.Number != 2 {
			h.Errorf("Ann comes back as number %d", p.Number)
		}
	})
}

func TestManyShorteningsAreKeptInBounds(t *testing.T) {
	play(t, nil, func(h *house) {
		for i := range 40 {
			_, err := h.ChangeEvent("boss", gala, func(s *sale.Settings) error { s.Rules.ReturnSeconds = 600 - i; return nil })
			h.ok(err)
			time.Sleep(ms)
		}
		e, _, err := h.Event(gala)
		h.ok(err)
		if n := len(e.Granted); n > 16 || e.Granted[0].Return != 600 || e.Granted[n-1].Return != 562 {
			h.Errorf("%d shortenings are kept: %+v", n, e.Granted)
		}
		h.at(2 * time.Hour)
		_, err = h.ChangeEvent("boss", gala, func(s *sale.Settings) error { s.Rules.ReturnSeconds = 1; return nil })
		h.ok(err)
		if e, _, _ := h.Event(gala); len(e.Granted) != 1 {
			h.Errorf("what matters to nobody is kept: %+v", e.Granted)
		}
	})
}

func TestFrontierIsNobodysWhoWaits(t *testing.T) {
	play(t, func(s *sale.Settings) { oneSlot(s); s.Rules.MemberShare = 0 }, func(h *house) {
		_, codes := h.codes(4, sale.Member, 1)
		first := h.buyer()
		h.members(codes...)
		public := h.crowd(3)
		h.ok(first.leave())
		for range 3 {
			h.tick()
			for _, v := range public {
				if v.poll().Status == sale.Ready {
					h.ok(v.leave())
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
		if s := h.status(); s.Waiting != 4 || s.Frontier != 2 || s.MemberFrontier != 2 {
			h.Errorf("with the members 2 to 5 waiting the frontiers are %d and %d of members", s.Frontier, s.MemberFrontier)
		}
	})
}
