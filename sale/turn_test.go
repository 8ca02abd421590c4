package sale_test

import (
	"testing"
	"time"

	"foyer/sale"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// oneSlot lets one buyer in at a time.
func oneSlot(s *sale.Settings) { s.Rules.MaxActive = 1 }

func TestTurnEndsAtItsDeadlineToTheMillisecond(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		ann, bob := h.buyer(), h.visitor()
		bob.join()
		h.at(300*sec - ms)
		h.tick()
		ann.has(sale.TurnReady)
		h.line(1, 1)
		h.at(300 * sec)
		ann.is(sale.NotEntered) // right before any sweep
		_, err := ann.try("A-1")
		h.refused(err, sale.ErrTokenExpired)
		h.tick()
		bob.is(sale.Ready)
		h.line(0, 1)
		h.at(301 * sec)
		h.tick()
		h.line(0, 1) // the slot was freed once and only once
	})
}

func TestTurnDeadlineDoesNotMoveByPolling(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		first := ann.poll()
		h.at(100 * sec)
		again := ann.join()
		if !again.TokenExpiresAt.Equal(h.began.Add(300*sec)) || again.Token != first.Token || again.QueueID != first.QueueID {
			h.Errorf("got %+v, want the turn of %+v", again, first)
		}
	})
}

func TestTurnNobodyPicksUpIsSetAsideAndComesBackToTheFront(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		first := h.buyer()
		ann, bob, cem := h.visitor(), h.visitor(), h.visitor()
		ann.join()
		bob.join()
		cem.join()
		h.ok(first.leave())
		h.tick() // Ann is called, and is not there
		h.line(2, 1)
		h.at(60*sec - ms)
		h.tick()
		h.line(2, 1)
		h.at(60 * sec)
		h.tick()
		h.line(1, 1) // Bob has the slot
		bob.is(sale.Ready)
		ann.is(sale.NotEntered)
		h.refused(ann.leave(), sale.ErrNotEntered)

		p, created, err := h.Join(gala, ann.id)
		h.ok(err)
		if created || p.Status != sale.Waiting || p.Rank != 0 || p.Number != 2 {
			h.Errorf("back: created %v, %s, rank %d, number %d, want the old place at rank 0 with number 2", created, p.Status, p.Rank, p.Number)
		}
		if p := cem.is(sale.Waiting); p.Rank != 1 {
			h.Errorf("behind the one who came back: rank %d, want 1", p.Rank)
		}
		h.ok(bob.leave())
		h.tick()
		ann.is(sale.Ready)
		cem.is(sale.Waiting)
	})
}

func TestTurnSeenInTimeIsKeptPastThePickup(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		first, ann := h.buyer(), h.visitor()
		ann.join()
		h.ok(first.leave())
		h.tick()
		h.at(60*sec - ms)
		ann.is(sale.Ready)
		h.at(61 * sec)
		h.tick()
		ann.has(sale.TurnReady)
	})
}

func TestPlaceSetAsideIsGoneWhenTheGraceIsOver(t *testing.T) {
	for _, c := range []struct {
		at   time.Duration
		back bool
	}{{660*sec - ms, true}, {660 * sec, false}, {660*sec + ms, false}} {
		for _, swept := range []bool{true, false} {
			play(t, oneSlot, func(h *house) {
				first, ann := h.buyer(), h.visitor()
				ann.join()
				h.ok(first.leave())
				h.tick()
				h.at(60 * sec)
				if swept {
					h.tick()
				}
				h.at(c.at)
				if swept {
					h.tick()
				}
				p, created, err := h.Join(gala, ann.id)
				h.ok(err)
				if created == c.back || (p.Number == 2) != c.back {
					h.Errorf("at %s, swept %v: created %v, number %d, want back %v", c.at, swept, created, p.Number, c.back)
				}
			})
		}
	}
}

func TestLapsedHoldFreesItsSeatsAndGivesTheTurnBack(t *testing.T) {
	for _, swept := range []bool{true, false} {
		play(t, nil, func(h *house) {
			ann := h.buyer()
			o := ann.hold("A-1", "A-2", "A-3", "B-1")
			if !o.HoldExpiresAt.Equal(h.began.Add(120*sec)) || o.Total != 3*4250+2900 {
				h.Errorf("held until %s for %d", o.HoldExpiresAt, o.Total)
			}
			h.at(120*sec - ms)
			h.tick()
			ann.has(sale.TurnClaimed)
			h.seats("HHHA AAAA AAAA H")
			h.at(120 * sec)
			if swept {
				h.tick()
				h.wantTold(o.ID, sale.TopicOrderExpired)
			}
			h.seats("") // B24: all four, whatever their class
			ann.orderIs(sale.Expired)
			ann.has(sale.TurnReady)
			h.line(0, 1)
			h.tick()
			h.tick()
			h.wantTold(o.ID, sale.TopicOrderExpired) // told once
		})
	}
}

func TestLapsedHoldEndsATurnWithoutTimeLeft(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		h.at(290 * sec)
		o := ann.hold("A-1") // outlasts the turn by 110 s
		h.at(410*sec - ms)
		h.tick()
		ann.has(sale.TurnClaimed)
		if p := ann.poll(); !p.TokenExpiresAt.Equal(h.began.Add(300 * sec)) {
			h.Errorf("the token is shown until %s, want call + turnSeconds, which never moves", p.TokenExpiresAt)
		}
		h.at(410 * sec)
		ann.is(sale.NotEntered)
		_, err := ann.try("A-1")
		h.refused(err, sale.ErrTokenExpired)
		h.tick()
		h.line(0, 0)
		h.wantTold(o.ID, sale.TopicOrderExpired)
		if p := ann.join(); p.Number != 2 {
			h.Errorf("he joins again with number %d, want a new one", p.Number)
		}
	})
}

func TestReleaseGivesTheTurnBackOnlyWhileItHasTime(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, bob := h.buyer(), h.buyer()
		h.at(290 * sec)
		ann.hold("A-1")
		bob.hold("A-2")
		h.at(300*sec - ms)
		h.ok(h.Release(ann.id, ann.order))
		ann.has(sale.TurnReady)
		h.at(300 * sec)
		h.ok(h.Release(bob.id, bob.order))
		bob.is(sale.NotEntered)
		h.seats("")
		h.line(0, 1) // Ann's turn ended unswept; Bob's with the release
		h.ok(h.Release(bob.id, bob.order))
		bob.orderIs(sale.Cancelled)
	})
}

func TestEndedPlaceIsRememberedForAWhileAndThenForgotten(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		h.ok(ann.leave())
		h.at(900*sec - ms)
		h.tick()
		h.ok(ann.leave()) // leaving twice is no fault
		h.at(900 * sec)
		h.tick()
		h.refused(ann.leave(), sale.ErrNotEntered)
		if p := ann.join(); p.Number != 2 {
			h.Errorf("number %d, want 2: numbers are never given twice", p.Number)
		}
	})
}

func TestNoShowsDoNotStopTheLine(t *testing.T) { // B11, B12
	ten := func(s *sale.Settings) { s.Rules.MaxActive = 10 }
	play(t, ten, func(h *house) {
		first, gone, last := h.crowd(10), h.crowd(10), h.crowd(10)
		for _, v := range first {
			h.ok(v.leave())
		}
		for s := range 70 {
			h.at(time.Duration(s) * sec)
			h.tick()
			for _, v := range last {
				v.poll()
			}
			if a := h.status(); a.Active > 10 || a.Waiting > 0 && a.Active < 10 {
				h.Fatalf("second %d: %d active while %d wait", s, a.Active, a.Waiting)
			}
		}
		for _, v := range last {
			v.is(sale.Ready)
		}
		for _, v := range gone {
			v.is(sale.NotEntered)
		}
	})
}
