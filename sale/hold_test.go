package sale_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

func TestB21FiftyBuyersAtOneSeatMakeOneHold(t *testing.T) {
	play(t, nil, func(h *house) {
		all := h.crowd(50)
		for round := range 5 {
			seat := fmt.Sprintf("A-%d", 12-round)
			var mu sync.Mutex
			var winners []*visitor
			var wg sync.WaitGroup
			for _, v := range all {
				wg.Go(func() {
					_, err := v.try(seat)
					var r *sale.Refusal
					mu.Lock()
					defer mu.Unlock()
					switch {
					case err == nil:
						winners = append(winners, v)
					case !errors.As(err, &r) || r.Code != "seats_taken" || !slices.Equal(r.Seats, []string{seat}):
						h.Errorf("a loser is told %v", err)
					}
				})
			}
			wg.Wait()
			if len(winners) != 1 {
				h.Fatalf("%s has %d winners", seat, len(winners))
			}
			if o := winners[0].seen(); o.Status != sale.Pending || o.Seats[0].ID != seat {
				h.Errorf("the winner has %+v", o)
			}
			all = slices.DeleteFunc(all, func(v *visitor) bool { return v == winners[0] })
		}
		h.seats("AAAA AAAH HHHH")
	})
}

func TestHoldsOfOneCommitShareNoSeat(t *testing.T) { // B21, B28: overlapping sets
	play(t, nil, func(h *house) {
		all := h.crowd(3)
		wishes := [][]string{{"A-1", "A-2"}, {"A-2", "A-3"}, {"A-3", "A-1"}}
		errs := make([]error, 3)
		var fns []func()
		for i := range all {
			fns = append(fns, func() { _, errs[i] = all[i].try(wishes[i]...) })
		}
		h.together(fns...)
		h.ok(errs[0])
		h.refused(errs[1], sale.ErrSeatsTaken, "A-2")
		h.refused(errs[2], sale.ErrSeatsTaken, "A-1")
		h.seats("HH")
	})
}

func TestB28HoldIsAllOrNone(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, bob := h.buyer(), h.buyer()
		ann.hold("A-3", "A-4")
		_, err := bob.try("A-1", "A-4", "A-2", "A-3")
		h.refused(err, sale.ErrSeatsTaken, "A-3", "A-4")
		_, err = bob.try("A-1", "A-99", "Z-1")
		h.refused(err, sale.ErrNoSuchSeat, "A-99", "Z-1")
		h.seats("AAHH")
		bob.has(sale.TurnReady)
		h.restart()
		h.seats("AAHH")
	})
}

func TestRefusalsOfAHoldComeInTheirOrder(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, bob := h.buyer(), h.buyer()
		ann.hold("A-1")
		good := bob.token
		bob.token = "rubbish"
		_, err := bob.try()
		h.refused(err, sale.ErrNotAdmitted) // token before shape
		bob.token = good
		_, err = bob.try()
		h.refused(err, sale.ErrNoSeats)
		_, err = bob.try("A-1", "X", "A-1", "X", "X")
		h.refused(err, sale.ErrTooMany) // shape before 404
		_, err = bob.try("A-1", "X", "A-1")
		h.refused(err, sale.ErrDuplicate)
		_, err = bob.try("A-1", "X")
		h.refused(err, sale.ErrNoSuchSeat, "X") // 404 before 409
		bob.hold("A-2")
		bob.pay()
		_, err = bob.try("A-1")
		h.refused(err, sale.ErrTurnInUse) // a running payment before taken seats
		h.seats("HH")
	})
}

func TestB104OneOrderHasAtMostItsNumberOfDistinctSeats(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		many := make([]string, 600)
		for i := range many {
			many[i] = fmt.Sprintf("A-%d", i+1)
		}
		_, err := ann.try(many...)
		h.refused(err, sale.ErrTooMany)
		_, err = ann.try(many[:5]...)
		h.refused(err, sale.ErrTooMany)
		_, err = ann.try("A-1", " A-1", "a-1")
		h.refused(err, sale.ErrNoSuchSeat, " A-1", "a-1")
		for _, n := range []int{-1, 0} {
			_, err = ann.best(n, "Stalls")
			h.refused(err, sale.ErrNoSeats) // B102
		}
		_, err = ann.best(1e9, "Stalls")
		h.refused(err, sale.ErrTooMany)
		h.seats("")
		tab := func(seats ...string) func() {
			return func() {
				_, err := h.Hold(sale.HoldRequest{Event: gala, Token: ann.token, Seats: seats})
				h.ok(err)
			}
		}
		h.together(tab("A-1", "A-2", "A-3"), tab("A-4", "A-5", "A-6"))
		h.seats("AAAH HH") // two tabs: the second replaced the first
	})
}

func TestB15OneTokenInManyTabsHasOneLiveHold(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		var fns []func()
		for i := range 12 {
			fns = append(fns, func() {
				_, err := h.Hold(sale.HoldRequest{Event: gala, Token: ann.token, Seats: []string{fmt.Sprintf("A-%d", i+1)}})
				h.ok(err)
			})
		}
		h.together(fns...)
		h.seats("AAAA AAAA AAAH")
		orders, err := h.Orders(gala, uuid.Nil, 100)
		h.ok(err)
		live := 0
		for _, o := range orders {
			if o.Status == sale.Pending {
				live++
			}
		}
		if len(orders) != 12 || live != 1 {
			h.Errorf("%d orders, %d live, want 12 and 1", len(orders), live)
		}
		h.line(0, 1)
	})
}

func TestB27OwnHoldIsReplacedInOneStep(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		first := ann.hold("A-1", "A-2", "A-3", "A-4")
		h.at(10 * sec)
		second := ann.hold("A-2", "A-3", "A-4", "A-5")
		h.seats("AHHH H")
		h.orderIs(first.ID, sale.Cancelled)
		if second.ID == first.ID || !second.HoldExpiresAt.Equal(first.HoldExpiresAt) {
			h.Errorf("the new hold ends %s, want a new order with the deadline of the kept seats %s", second.HoldExpiresAt, first.HoldExpiresAt)
		}
		_, err := ann.try("A-1", "A-2", "A-3", "A-4", "A-5")
		h.refused(err, sale.ErrTooMany)
		bob := h.buyer()
		bob.hold("A-6")
		_, err = ann.try("A-5", "A-6")
		h.refused(err, sale.ErrSeatsTaken, "A-6")
		h.seats("AHHH HH") // the old hold is untouched
		ann.orderIs(sale.Pending)
		h.wantTold(first.ID)
	})
}

func TestRenewingTheSameSeatsNeverMovesTheDeadline(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		for i := range 12 {
			h.at(time.Duration(i) * 10 * sec)
			if o := ann.hold("A-1", fmt.Sprintf("A-%d", 2+i%5)); !o.HoldExpiresAt.Equal(h.began.Add(120 * sec)) {
				h.Fatalf("after %d renewals the hold ends %s", i, o.HoldExpiresAt)
			}
		}
		h.at(120 * sec)
		h.seats("")
	})
}

func TestOtherSeatsGetTheirOwnTimeAndTheChainIsBounded(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		var last *sale.OrderView
		for i := 0; ; i++ {
			h.at(time.Duration(i) * 50 * sec)
			o, err := ann.try(fmt.Sprintf("A-%d", 1+i%2))
			if err != nil {
				h.refused(err, sale.ErrTokenExpired)
				break
			}
			last = o
		}
		if want := h.began.Add(420 * sec); !last.HoldExpiresAt.Equal(want) {
			h.Errorf("the chain ends %s, want the turn's end and one hold: %s", last.HoldExpiresAt, want)
		}
	})
}

func TestHoldThatWouldBeOverAtOnceIsRefusedAndTheOldOneStays(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		h.at(299 * sec)
		ann.hold("A-1")
		h.at(418 * sec)
		id := ann.pay().PaymentID // lasts to 718 s, past any chain of holds
		h.at(421 * sec)
		h.says("e1", sale.FactFailed, id, ann.order, 4250)
		ann.orderIs(sale.Pending)
		_, err := ann.try("A-2")
		h.refused(err, sale.ErrTokenExpired)
		ann.orderIs(sale.Pending)
		h.seats("HA")
	})
}

func TestLapsedHoldIsTakenOverWithoutASweep(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		_, err := h.ChangeEvent("staff", gala, func(s *sale.Settings) error { s.Rules.MaxActive = 2; return nil })
		h.ok(err)
		ann, bob := h.buyer(), h.buyer()
		ann.hold("A-1", "A-2")
		h.at(120*sec - ms)
		_, err = bob.try("A-1")
		h.refused(err, sale.ErrSeatsTaken, "A-1")
		h.at(120 * sec)
		bob.hold("A-1")
		h.seats("HA")
		ann.orderIs(sale.Expired)
		h.wantTold(ann.order, sale.TopicOrderExpired)
		ann.has(sale.TurnReady)
		h.tick()
		h.tick()
		h.seats("HA") // the sweep does not free the seat taken over
		h.wantTold(ann.order, sale.TopicOrderExpired)
		bob.orderIs(sale.Pending)
		h.restart()
		h.seats("HA")
		h.ok(h.Release(ann.id, ann.order)) // nor does its old owner
		h.seats("HA")
	})
}

func TestLapsedHoldWhoseTurnIsOverIsTakenOver(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		h.at(250 * sec)
		ann.hold("A-1")
		bob := h.buyer()
		h.at(370 * sec) // Ann's turn ended at 300
		bob.hold("A-1")
		ann.is(sale.NotEntered)
		h.line(0, 1)
		ann.join()
		h.line(0, 2)
	})
}

func TestOwnLapsedHoldEndsWhenOtherSeatsAreHeld(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		first := ann.hold("A-1", "A-2")
		h.at(120 * sec)
		second := ann.hold("A-3") // no sweep came by
		h.wantTold(first.ID, sale.TopicOrderExpired)
		orders, err := h.store.Orders(gala, uuid.Nil, 10)
		h.ok(err)
		for _, o := range orders {
			if want := map[bool]sale.OrderStatus{true: sale.Pending, false: sale.Expired}[o.ID == second.ID]; o.Status != want {
				h.Errorf("an order is stored as %s, want %s", o.Status, want)
			}
		}
		h.tick()
		h.wantTold(first.ID, sale.TopicOrderExpired)
		h.at(130 * sec)
		third := ann.hold("A-1", "A-3") // takes one of the lapsed seats again
		h.orderIs(third.ID, sale.Pending)
		h.seats("HAH")
	})
}

func TestOwnLapsedSeatsMayBeHeldAgain(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		first := ann.hold("A-1", "A-2")
		h.at(120 * sec)
		o := ann.hold("A-2", "A-3")
		if !o.HoldExpiresAt.Equal(h.began.Add(240 * sec)) {
			h.Errorf("held until %s, want a whole hold", o.HoldExpiresAt)
		}
		h.wantTold(first.ID, sale.TopicOrderExpired)
		h.seats("AHH")
	})
}

func TestSweepAndTakeoverInOneCommitAgree(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, bob := h.buyer(), h.buyer()
		ann.hold("A-1")
		h.at(120 * sec)
		h.together(func() { bob.hold("A-1") }, func() { h.tick() }, func() { h.ok(h.Release(ann.id, ann.order)) })
		h.seats("H")
		h.wantTold(ann.order, sale.TopicOrderExpired)
		ann.has(sale.TurnReady)
		bob.has(sale.TurnClaimed)
	})
}

func TestReleasedSeatsAreFreeAtOnceAndReleasingTwiceIsNoFault(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, bob := h.buyer(), h.buyer()
		ann.hold("A-1", "A-2")
		h.ok(h.Release(ann.id, ann.order))
		h.seats("")
		ann.has(sale.TurnReady)
		bob.hold("A-1")
		h.ok(h.Release(ann.id, ann.order))
		h.seats("H")
		h.refused(h.Release(bob.id, ann.order), sale.ErrNoSuchOrder)
		h.refused(h.Release(uuid.Nil, ann.order), sale.ErrNoSuchOrder)
		h.refused(h.Release(ann.id, uuid.New()), sale.ErrNoSuchOrder)
	})
}

func TestBestSeatsAreTheBestFreeOnesAndPricedOnes(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, bob := h.buyer(), h.buyer()
		o, err := ann.best(2, "Balcony")
		h.ok(err)
		if len(o.Seats) != 2 || o.Total != 5800 {
			h.Errorf("got %+v", o.Seats)
		}
		again, err := ann.best(2, "Balcony") // his own seats do not stand in his way
		h.ok(err)
		if len(again.Seats) != 2 || again.Seats[0].ID != o.Seats[0].ID {
			h.Errorf("got %+v, before %+v", again.Seats, o.Seats)
		}
		_, err = bob.best(1, "Box")
		h.refused(err, sale.ErrNoSuchSeat)
		_, err = bob.best(4, "Balcony")
		h.ok(err)
		cem := h.buyer()
		_, err = cem.best(1, "Balcony")
		h.refused(err, sale.ErrNotEnough)
		_, err = h.ChangeEvent("staff", gala, func(s *sale.Settings) error { delete(s.Prices, "Stalls"); return nil })
		h.ok(err)
		_, err = cem.best(1, "")
		h.refused(err, sale.ErrNotEnough)
		_, err = cem.try("A-1")
		h.refused(err, sale.ErrNoSuchSeat, "A-1")
	})
}

func TestBestSeatsOfOneCommitDiffer(t *testing.T) {
	play(t, nil, func(h *house) {
		all := h.crowd(6)
		var fns []func()
		for _, v := range all {
			fns = append(fns, func() {
				if _, err := v.best(2, "Stalls"); err != nil {
					h.Error(err)
				}
			})
		}
		h.together(fns...)
		h.seats("HHHH HHHH HHHH")
	})
}

func TestPriceIsTheOneAtTheHold(t *testing.T) { // B150
	play(t, nil, func(h *house) {
		ann, bob := h.buyer(), h.buyer()
		ann.hold("A-1")
		price := func(n int64) {
			_, err := h.ChangeEvent("staff", gala, func(s *sale.Settings) error { s.Prices["Stalls"] = n; return nil })
			h.ok(err)
		}
		price(6000)
		if o := ann.seen(); o.Total != 4250 || o.Seats[0].Price != 4250 {
			h.Errorf("the held seat costs %d now", o.Total)
		}
		if o := bob.hold("A-2"); o.Total != 6000 {
			h.Errorf("the new hold costs %d", o.Total)
		}
		price(0)
		h.outcome(h.says("e1", sale.FactSucceeded, "p", ann.order, 6000), "attention", "amount_mismatch")
		h.outcome(h.says("e2", sale.FactSucceeded, "p", ann.order, 4250), "applied", "")
		ann.orderIs(sale.Paid)
	})
}

func TestWithoutAPlanNothingIsHeld(t *testing.T) {
	play(t, nil, func(h *house) {
		s := sale.DefaultSettings()
		s.ID, s.Name = "bare", "Bare"
		_, err := h.CreateEvent("staff", s)
		h.ok(err)
		ann := h.visitorOf("bare")
		ann.join()
		_, err = ann.try("A-1")
		h.refused(err, sale.ErrNoSuchSeat, "A-1")
		_, err = ann.best(1, "")
		h.refused(err, sale.ErrNoSuchSeat)
		_, err = h.Plan("bare")
		h.refused(err, sale.ErrNoPlan)
	})
}

func TestLeavingFreesHeldSeatsAtOnce(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		ann, bob := h.buyer(), h.visitor()
		bob.join()
		ann.hold("A-1")
		h.ok(ann.leave())
		h.seats("")
		ann.orderIs(sale.Cancelled)
		_, err := ann.try("A-1")
		h.refused(err, sale.ErrNotAdmitted)
		h.tick()
		bob.is(sale.Ready)
	})
}
