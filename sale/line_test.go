package sale_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

func TestB01SecondJoinNeverMovesOrDoublesAPlace(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		h.buyer()
		all := h.crowd(4)
		before := all[1].poll()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				p, created, err := h.Join(gala, all[1].id)
				if err != nil || created || p.QueueID != before.QueueID || p.Rank != 1 || p.Number != before.Number {
					h.Errorf("again: %+v, created %v, %v", p, created, err)
				}
			})
		}
		wg.Wait()
		for i, v := range all {
			if p := v.poll(); p.Rank != i || p.Waiting != 4 {
				h.Errorf("visitor %d has rank %d of %d", i, p.Rank, p.Waiting)
			}
		}
	})
}

func TestJoinsOfOneCommitAreToldTheirRanksExactly(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		h.buyer()
		h.crowd(2)
		told := make([]sale.PlaceView, 5)
		var fns []func()
		for i := range told {
			fns = append(fns, func() { told[i] = h.visitor().join() })
		}
		h.together(fns...)
		for i, p := range told {
			if p.Rank != i+2 || p.Waiting != i+3 {
				h.Errorf("joiner %d was told rank %d of %d, want %d of %d", i, p.Rank, p.Waiting, i+2, i+3)
			}
		}
	})
}

func TestOneVisitorJoiningManyTimesInOneCommitHasOnePlace(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		h.buyer()
		ann := h.visitor()
		join := func() { _, _, err := h.Join(gala, ann.id); h.ok(err) }
		h.together(join, join, join)
		h.line(1, 1)
	})
}

func TestB03EventsDoNotTouchEachOther(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		var events []string
		for i := range 20 {
			events = append(events, fmt.Sprintf("room-%d", i))
			h.event(events[i], oneSlot)
			h.visitorOf(events[i]).join() // takes the slot
		}
		random := rand.New(rand.NewPCG(1, 2))
		ranks := map[string]int{}
		for range 300 {
			e := events[random.IntN(len(events))]
			if p := h.visitorOf(e).join(); p.Status != sale.Waiting || p.Rank != ranks[e] || p.Waiting != ranks[e]+1 || p.Number != uint64(ranks[e]+2) {
				h.Fatalf("%s: %+v, want rank %d", e, p, ranks[e])
			}
			ranks[e]++
		}
		ann := h.visitorOf(events[0])
		rank := ann.join().Rank
		h.tick(events[1:]...)
		if p := ann.poll(); p.Rank != rank {
			h.Errorf("traffic elsewhere moved the rank from %d to %d", rank, p.Rank)
		}
		same := h.visitorOf(events[2]) // one person in two lines
		same.id = ann.id
		if p := same.join(); p.QueueID == ann.name {
			h.Error("two events named a visitor's places alike")
		}
		h.refused(h.Leave(events[2], ann.id, ann.name), sale.ErrNotEntered)
	})
}

func TestB07FrontOfAnEmptyLineIsReadyAtOnce(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		ann := h.visitor()
		if p := ann.join(); p.Status != sale.Ready || p.Token == "" || p.Wait != 0 {
			h.Errorf("alone: %+v, want READY with a token", p)
		}
		bob := h.visitor()
		if p := bob.join(); p.Status != sale.Waiting || p.Rank != 0 {
			h.Errorf("behind one active: %+v", p)
		}
		h.at(10 * sec)
		h.ok(ann.leave())
		h.tick()
		bob.is(sale.Ready)
	})
}

func TestNobodyPassesThroughWhileSomebodyWaits(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		ann := h.buyer()
		bob, cem := h.visitor(), h.visitor()
		bob.join()
		h.ok(ann.leave()) // the slot is free and Bob not yet called
		if p := cem.join(); p.Status != sale.Waiting || p.Rank != 1 {
			h.Errorf("the late one is %s with rank %d, want WAITING behind Bob", p.Status, p.Rank)
		}
	})
}

func TestLeavingInTheMiddleMovesOnlyThoseBehind(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		h.buyer()
		all := h.crowd(5)
		h.ok(all[2].leave())
		h.ok(all[2].leave())
		for i, want := range []int{0, 1, -1, 2, 3} {
			if p := all[i].poll(); want >= 0 && p.Rank != want || (want < 0) != (p.Status == sale.NotEntered) {
				h.Errorf("visitor %d is %s with rank %d, want rank %d", i, p.Status, p.Rank, want)
			}
		}
		h.line(4, 1)
		h.refused(h.Leave(gala, all[0].id, all[1].name), sale.ErrNotEntered)
		h.refused(h.Leave(gala, uuid.New(), all[1].name), sale.ErrNotEntered)
		if p := all[2].join(); p.Rank != 4 || p.Number != 7 {
			h.Errorf("back at the end: rank %d, number %d, want 4 and 7", p.Rank, p.Number)
		}
	})
}

func TestPlaceIsShownToItsOwnerByItsNameOnly(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		ann := h.buyer()
		bob := h.visitor()
		bob.join()
		_, err := h.PollPlace(gala, ann.id, bob.name)
		h.refused(err, sale.ErrNotEntered)
		_, err = h.PollPlace(gala, bob.id, uuid.New())
		h.refused(err, sale.ErrNotEntered)
		p, err := h.PollPlace(gala, bob.id, bob.name)
		h.ok(err)
		if p.Status != sale.Waiting {
			h.Errorf("got %s", p.Status)
		}
		if p, err := h.Poll(gala, uuid.New()); err != nil || p.Status != sale.NotEntered {
			h.Errorf("a stranger: %s, %v", p.Status, err)
		}
		_, err = h.Poll("nowhere", ann.id)
		h.refused(err, sale.ErrNoSuchEvent)
	})
}

func TestPausedEventLetsNobodyInAndKeepsTheLine(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		_, err := h.PauseEvent("staff", gala, "A short break")
		h.ok(err)
		bob := h.visitor()
		if p := bob.join(); p.Status != sale.Waiting {
			h.Errorf("joining a paused event: %s", p.Status)
		}
		h.tick()
		h.line(1, 1)
		ann.hold("A-1") // turns go on
		if s := h.status(); s.Phase != sale.PhasePaused || s.Message != "A short break" {
			h.Errorf("status %+v", s)
		}
		_, err = h.ResumeEvent("staff", gala)
		h.ok(err)
		h.tick()
		bob.is(sale.Ready)
	})
}

func TestClosedEventTakesNobodyAndTurnsRunOut(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		ann, bob := h.buyer(), h.visitor()
		bob.join()
		_, err := h.CloseEvent("staff", gala, "")
		h.ok(err)
		_, _, err = h.Join(gala, uuid.New())
		h.refused(err, sale.ErrEventClosed)
		if p, _, err := h.Join(gala, bob.id); err != nil || p.Rank != 0 {
			h.Errorf("who has a place is shown it: %+v, %v", p, err)
		}
		ann.hold("A-1")
		h.ok(h.Release(ann.id, ann.order))
		h.ok(ann.leave())
		h.tick()
		bob.is(sale.Waiting)
		_, err = h.OpenEvent("staff", gala)
		h.ok(err)
		h.tick()
		bob.is(sale.Ready)
	})
}

func TestEventClosesAndOpensByTheClock(t *testing.T) {
	hours := func(s *sale.Settings) {
		opens, closes := time.Now().Add(10*sec), time.Now().Add(20*sec)
		s.OpensAt, s.ClosesAt = &opens, &closes
	}
	play(t, hours, func(h *house) {
		ann := h.visitor()
		if p := ann.join(); p.Status != sale.Lobby || p.Token != "" || !p.OpensAt.Equal(h.began.Add(10*sec)) || p.Wait < 10 {
			h.Errorf("before the opening: %+v", p)
		}
		h.at(10*sec - ms)
		h.tick()
		ann.is(sale.Lobby)
		h.at(10 * sec)
		ann.is(sale.Waiting)
		h.tick()
		ann.is(sale.Ready)
		h.at(20*sec - ms)
		h.buyer()
		h.at(20 * sec)
		_, _, err := h.Join(gala, uuid.New())
		h.refused(err, sale.ErrEventClosed)
		_, err = h.OpenEvent("staff", gala)
		h.refused(err, sale.ErrPromise)
	})
}

func TestSoldOutHouseTakesNobodyAndHeldSeatsDoNotMakeIt(t *testing.T) { // B25
	play(t, nil, func(h *house) {
		_, err := h.SetPlan("staff", gala, hall(2, 0), false)
		h.ok(err)
		ann, bob := h.buyer(), h.buyer()
		ann.hold("A-1", "A-2")
		if s := h.status(); s.SoldOut || s.SeatsLeft != 2 || s.Phase != sale.PhaseOpen {
			h.Errorf("held seats: %+v", s)
		}
		h.buyer() // still let in: seats may come back
		_, err = bob.try("A-1")
		h.refused(err, sale.ErrSeatsTaken, "A-1")
		h.at(120 * sec)
		if v, _ := h.Office.Seats(gala); v.Counts.Available != 2 {
			h.Errorf("after the lapse: %+v", v.Counts)
		}
		bob.hold("A-1", "A-2")
		_, err = h.confirm(bob.order, "k", 8500)
		h.ok(err)
		if s := h.status(); !s.SoldOut || s.SeatsLeft != 0 || s.Phase != sale.PhaseSoldOut {
			h.Errorf("sold: %+v", s)
		}
		_, _, err = h.Join(gala, uuid.New())
		h.refused(err, sale.ErrSoldOut)
	})
}

func TestFullLineSaysWhenToTryAgain(t *testing.T) {
	small := func(s *sale.Settings) { s.Rules.MaxActive, s.Rules.MaxWaiting = 1, 2 }
	play(t, small, func(h *house) {
		all := h.crowd(3)
		_, _, err := h.Join(gala, uuid.New())
		h.refused(err, sale.ErrLineFull)
		if p := all[2].join(); p.Rank != 1 {
			h.Errorf("who is in keeps his place: rank %d", p.Rank)
		}
		h.ok(all[1].leave())
		h.crowd(1)
	})
}

func TestLineOffLetsEverybodyInAtOnce(t *testing.T) {
	off := func(s *sale.Settings) { s.Line, s.Rules.MaxActive, s.Rules.AdmitPerSecond = "off", 1, 1 }
	play(t, off, func(h *house) {
		for _, v := range h.crowd(5) {
			v.is(sale.Ready)
		}
	})
}

func TestLineSwitchedOffEmptiesAtTheNextTick(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		h.crowd(4)
		_, err := h.ChangeEvent("staff", gala, func(s *sale.Settings) error { s.Line = "off"; return nil })
		h.ok(err)
		h.tick()
		h.line(0, 4)
	})
}

func TestLineAlwaysShowsTheLineToTheFirstOneToo(t *testing.T) {
	always := func(s *sale.Settings) { s.Line = "always" }
	play(t, always, func(h *house) {
		ann := h.visitor()
		if p := ann.join(); p.Status != sale.Waiting {
			h.Errorf("got %s", p.Status)
		}
		h.tick()
		ann.is(sale.Ready)
	})
}

func TestFrontierIsTheSmallestNumberNotYetCalled(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		want := func(n uint64) {
			h.Helper()
			if s := h.status(); s.Frontier != n {
				h.Errorf("frontier %d, want %d", s.Frontier, n)
			}
		}
		want(1)
		all := h.crowd(5)
		want(2)
		h.ok(all[1].leave())
		want(3)
		h.ok(all[0].leave())
		h.tick()
		want(4)
		h.at(60 * sec)
		h.tick() // 3 aside, 4 called
		all[2].join()
		want(5) // who comes back waits with a number below the frontier: it never falls
		h.restart()
		want(5)
	})
}

func TestRevokeTakesPlaceTurnAndSeats(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		ann, bob := h.buyer(), h.visitor()
		bob.join()
		ann.hold("A-1")
		h.ok(h.Revoke("staff", gala, ann.id))
		h.seats("")
		ann.orderIs(sale.Cancelled)
		ann.is(sale.NotEntered)
		_, err := ann.try("A-1")
		h.refused(err, sale.ErrNotAdmitted)
		h.refused(h.Revoke("staff", gala, ann.id), sale.ErrNotEntered)
		h.tick()
		bob.is(sale.Ready)
		h.ok(h.Revoke("staff", gala, bob.id))
		h.refused(h.Revoke("staff", gala, uuid.New()), sale.ErrNotEntered)
	})
}

func TestB13CountsEqualARecountAfterAnyActs(t *testing.T) {
	tight := func(s *sale.Settings) {
		s.Rules.MaxActive, s.Rules.AdmitPerSecond, s.Rules.TurnSeconds, s.Rules.PickupSeconds, s.Rules.ReturnSeconds = 6, 4, 40, 10, 20
		s.Rules.HoldSeconds, s.Rules.PaySeconds, s.Rules.PayMarginSeconds = 12, 8, 5
	}
	for seed := range uint64(4) {
		play(t, tight, func(h *house) {
			random := rand.New(rand.NewPCG(seed, 13))
			all := h.crowd(8)
			for i := range 400 {
				time.Sleep(time.Duration(random.IntN(1500)) * ms)
				v := all[random.IntN(len(all))]
				switch random.IntN(12) {
				case 0, 1, 2:
					all = append(all, h.crowd(1)...)
				case 3:
					_ = v.leave()
				case 4:
					_, _, _ = h.Join(gala, v.id)
				case 5, 6:
					v.poll()
					_, _ = v.try(fmt.Sprintf("A-%d", 1+random.IntN(12)), fmt.Sprintf("B-%d", 1+random.IntN(6)))
				case 7:
					_ = h.Release(v.id, v.order)
				case 8:
					_, _ = v.tryPay()
				case 9:
					_ = h.Revoke("staff", gala, v.id)
				case 10:
					if random.IntN(12) == 0 {
						_, _ = h.confirm(v.order, "k", 7150)
					}
				case 11:
					h.tick()
				}
				if s := h.status(); s.Active > 6 {
					h.Fatalf("step %d: %d turns are active", i, s.Active)
				}
				if i%40 == 0 {
					h.restart()
				}
			}
		})
	}
}

func TestRepeatedJoinsCostNoCommitInLobbyAndPause(t *testing.T) {
	later := func(s *sale.Settings) {
		opens := time.Now().Add(time.Hour).UTC()
		s.OpensAt = &opens
	}
	play(t, later, func(h *house) {
		repeat := func() {
			h.Helper()
			ann := h.visitor()
			ann.join()
			changed := h.Changed(gala)
			for range 100 {
				ann.join()
			}
			select {
			case <-changed:
				t.Error("a repeated join was written")
			default:
			}
		}
		repeat()
		h.at(2 * time.Hour)
		_, err := h.PauseEvent("staff", gala, "")
		h.ok(err)
		repeat()
	})
}
