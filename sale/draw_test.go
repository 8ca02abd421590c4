package sale_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/queue"
	"foyer/sale"
)

// drawn opens ten minutes after the script begins, by lot.
func drawn(s *sale.Settings) {
	at := time.Now().Add(10 * time.Minute)
	s.Order, s.OpensAt, s.Line = "draw", &at, "always"
	s.Rules.MaxActive = 2
}

// lotOrder is the order in which a draw must put these queue ids.
func (h *house) lotOrder(names []uuid.UUID) []uuid.UUID {
	h.Helper()
	seed, err := hex.DecodeString(h.status().Draw.Revealed())
	h.ok(err)
	sorted := slices.Clone(names)
	slices.SortFunc(sorted, func(a, b uuid.UUID) int {
		x, y := queue.Lot(seed, []byte(a.String())), queue.Lot(seed, []byte(b.String()))
		return strings.Compare(string(x[:]), string(y[:]))
	})
	return sorted
}

func TestLobbyOfADrawHasNoNumbersAndItsSeedIsSecret(t *testing.T) {
	play(t, drawn, func(h *house) {
		crowd := h.crowd(3)
		for _, v := range crowd {
			if p := v.poll(); p.Status != sale.Lobby || p.Number != 0 || p.Draw == nil || len(p.Draw.Commitment) != 64 || p.Draw.Revealed() != "" {
				h.Errorf("in the lobby the place is %+v, its draw %+v", p, p.Draw)
			}
		}
		if _, err := h.Entries(gala, 0, 10); err == nil {
			h.Error("entries are listed before the draw")
		}
		h.at(600*sec - ms)
		h.tick()
		h.line(3, 0)
		if h.status().Draw.Held() {
			h.Error("the draw was held before the opening")
		}
	})
}

func TestDrawGivesNumbersByLotAndLaterOnesStandBehind(t *testing.T) {
	play(t, drawn, func(h *house) {
		crowd := h.crowd(40)
		gone := crowd[7]
		h.ok(h.Leave(gala, gone.id, gone.name))
		h.at(600 * sec)
		late := h.visitor()
		if p := late.join(); p.Number != 41 || p.Status != sale.Waiting {
			h.Errorf("who comes after the opening and before the draw is %s with number %d", p.Status, p.Number)
		}
		if p := crowd[0].poll(); p.Status != sale.Lobby || p.Number != 0 {
			h.Errorf("before the draw was held a place is %s with number %d", p.Status, p.Number)
		}
		h.tick()
		later := h.visitor()
		if p := later.join(); p.Number != 42 || p.Rank != 40 {
			h.Errorf("who comes after the draw has number %d and rank %d", p.Number, p.Rank)
		}
		h.wantDrawn(crowd, gone)
		h.restart()
		h.wantDrawn(crowd, gone)
		h.tick()
		h.line(39, 2)
		h.restart()
		h.wantDrawn(crowd, gone)
		h.at(1300 * sec) // the two are gone and forgotten
		for range 3 {
			h.tick()
		}
		if p := late.poll(); p.Number != 41 {
			h.Errorf("the late one has number %d", p.Number)
		}
	})
}

// wantDrawn wants the numbers of a crowd to go by their lots, and the published
// list to say the same. gone has left before.
func (h *house) wantDrawn(crowd []*visitor, gone *visitor) {
	h.Helper()
	var names []uuid.UUID
	for _, v := range crowd {
		if v != gone {
			names = append(names, v.name)
		}
	}
	order := h.lotOrder(names)
	for _, v := range crowd {
		p, want := v.poll(), slices.Index(order, v.name)+1
		if v == gone {
			if p.Status != sale.NotEntered {
				h.Errorf("who has left is %s", p.Status)
			}
			continue
		}
		if p.Number != uint64(want) || p.QueueID != v.name {
			h.Errorf("%s has number %d, want %d", p.QueueID, p.Number, want)
		}
		if _, err := h.PollPlace(gala, v.id, v.name); err != nil {
			h.Errorf("the place is not found under its name: %v", err)
		}
	}
	list, err := h.Entries(gala, 0, 1000)
	h.ok(err)
	if !slices.Equal(list, order) {
		h.Errorf("the list of entries is not in the order of the lots")
	}
	if part, err := h.Entries(gala, 5, 3); err != nil || !slices.Equal(part, order[5:8]) {
		h.Errorf("entries 6 to 8 are %v, %v", part, err)
	}
	text := ""
	for _, n := range order {
		text += n.String() + "\n"
	}
	if d := h.status().Draw; d.Entries != len(order) || d.Digest != fmt.Sprintf("%x", sha256.Sum256([]byte(text))) {
		h.Errorf("the draw tells of %d entries with the digest %s", d.Entries, d.Digest)
	}
}

func TestTurnsGoByTheDrawnNumbers(t *testing.T) {
	play(t, drawn, func(h *house) {
		crowd := h.crowd(12)
		h.at(600 * sec)
		h.tick()
		h.tick()
		for range 6 {
			var called []*visitor
			for _, v := range crowd {
				if p := v.poll(); p.Status == sale.Ready {
					called = append(called, v)
				}
			}
			if len(called) != 2 {
				h.Fatalf("%d are called", len(called))
			}
			for _, v := range called {
				if p := v.poll(); p.Number > uint64(12-len(crowd)+2) {
					h.Errorf("number %d is called with %d left", p.Number, len(crowd))
				}
				v.hold("A-" + fmt.Sprint(13-len(crowd)))
				_, err := h.confirm(v.order, "k", 4250)
				h.ok(err)
				crowd = slices.DeleteFunc(crowd, func(o *visitor) bool { return o == v })
			}
			h.at(time.Since(h.began) + sec)
			h.tick()
		}
	})
}

func TestWhoTookPartMayLeaveComeAsideAndReturn(t *testing.T) {
	play(t, drawn, func(h *house) {
		crowd := h.crowd(6)
		h.at(600 * sec)
		h.tick()
		h.tick()
		h.at(661 * sec) // nobody picked up
		h.tick()
		back := 0
		for _, v := range crowd {
			before := v.name
			p := v.join()
			if p.QueueID != before {
				h.Errorf("the place of %s has another name after its return: %s", before, p.QueueID)
			}
			back++
		}
		h.restart()
		first := crowd[0]
		h.ok(h.Leave(gala, first.id, first.name))
		if p := first.join(); p.Number != 7 || p.QueueID == first.name && back == 0 {
			h.Errorf("who left and joined again has number %d", p.Number)
		}
		h.restart()
	})
}

func TestOrderIsAPromiseOnceSomebodyJoined(t *testing.T) {
	play(t, drawn, func(h *house) {
		to := func(order string) error {
			_, err := h.ChangeEvent("staff", gala, func(s *sale.Settings) error { s.Order = order; return nil })
			return err
		}
		first := h.status().Draw.Commitment
		h.ok(to("fifo"))
		if h.status().Draw != nil {
			h.Error("an event without a draw has one")
		}
		h.ok(to("draw"))
		if h.status().Draw.Commitment == first {
			h.Error("the seed of the draw that was taken back is used again")
		}
		h.crowd(1)
		h.refused(to("fifo"), sale.ErrPromise)
		_, err := h.ChangeEvent("staff", gala, func(s *sale.Settings) error { s.OpensAt = nil; return nil })
		h.refused(err, sale.ErrBadEvent)
	})
}

func TestDrawOpenedByHandAndWhilePausedIsHeld(t *testing.T) {
	play(t, drawn, func(h *house) {
		crowd := h.crowd(3)
		_, err := h.OpenEvent("staff", gala)
		h.ok(err)
		_, err = h.PauseEvent("staff", gala, "")
		h.ok(err)
		h.tick()
		for _, v := range crowd {
			if p := v.poll(); p.Status != sale.Waiting || p.Number < 1 || p.Number > 3 {
				h.Errorf("%s with number %d", p.Status, p.Number)
			}
		}
	})
}

func TestDrawOfNobody(t *testing.T) {
	play(t, drawn, func(h *house) {
		h.at(600 * sec)
		h.tick()
		if d := h.status().Draw; !d.Held() || d.Entries != 0 {
			h.Errorf("the draw is %+v", d)
		}
		if p := h.visitor().join(); p.Number != 1 {
			h.Errorf("the first has number %d", p.Number)
		}
	})
}

func TestADrawOfNobodyIsHeldAgainWhenTheOpeningIsMoved(t *testing.T) {
	play(t, drawn, func(h *house) {
		h.at(600 * sec)
		h.tick()
		first := *h.status().Draw
		_, err := h.ChangeEvent("staff", gala, func(s *sale.Settings) error {
			at := s.OpensAt.Add(10 * time.Minute)
			s.OpensAt = &at
			return nil
		})
		h.ok(err)
		if d := h.status().Draw; d.Held() || d.Commitment == first.Commitment {
			h.Errorf("after the opening was moved the draw is %+v", d)
		}
		crowd := h.crowd(3)
		crowd[0].is(sale.Lobby)
		h.at(1200 * sec)
		h.tick()
		if d := h.status().Draw; !d.Held() || d.Entries != 3 || d.Seed == first.Seed {
			h.Errorf("the draw is %+v", d)
		}
		h.restart()
	})
}

func TestLeavingTheLobbyOfADrawTellsNothingOfTheLine(t *testing.T) {
	play(t, drawn, func(h *house) {
		crowd := h.crowd(20)
		for _, v := range crowd[:10] {
			h.ok(v.leave())
		}
		if s := h.status(); s.Frontier != 1 || s.Known {
			h.Errorf("in the lobby the frontier is %d, and how many buy is known: %t", s.Frontier, s.Known)
		}
		last := uint64(1)
		h.at(600 * sec)
		for range 4 {
			h.tick()
			if f := h.status().Frontier; f < last {
				h.Errorf("the frontier fell from %d to %d", last, f)
			} else {
				last = f
			}
		}
		if last != 3 {
			h.Errorf("two were called and the frontier is %d", last)
		}
	})
}

// The draw forgets who had left the lobby, and leaving twice is no fault all the
// same, as long as it is none elsewhere.
func TestLeavingAgainAfterTheDrawIsNoFault(t *testing.T) {
	play(t, drawn, func(h *house) {
		crowd := h.crowd(99)
		gone, other := crowd[4], crowd[95]
		for _, v := range crowd[:90] {
			h.ok(h.Leave(gala, v.id, v.name))
			h.ok(h.Leave(gala, v.id, v.name))
		}
		h.at(600 * sec)
		late := h.visitor()
		late.join()
		h.tick()
		for _, restarted := range []bool{false, true} {
			if restarted {
				h.restart()
			}
			for _, v := range crowd[:90] {
				h.ok(h.Leave(gala, v.id, v.name))
			}
			for _, name := range []uuid.UUID{other.name, late.name, uuid.New(), uuid.Nil} {
				h.refused(h.Leave(gala, gone.id, name), sale.ErrNotEntered)
			}
			h.refused(h.Leave(gala, h.visitor().id, gone.name), sale.ErrNotEntered)
			h.refused(h.Leave(gala, other.id, gone.name), sale.ErrNotEntered)
		}
		h.line(10, 0)
		h.at(1500*sec - ms)
		h.ok(h.Leave(gala, gone.id, gone.name))
		h.at(1500 * sec)
		h.refused(h.Leave(gala, gone.id, gone.name), sale.ErrNotEntered)
	})
}

// The draw shares its commit with nobody, and joins beside it lose nothing.
func TestJoinsBesideTheDrawAllCount(t *testing.T) {
	play(t, drawn, func(h *house) {
		crowd := h.crowd(5)
		h.at(600*sec - ms)
		var fns []func()
		for range 5 {
			v := h.visitor()
			crowd = append(crowd, v)
			fns = append(fns, func() { v.join() })
		}
		time.Sleep(ms)
		fns = slices.Insert(fns, 2, func() { h.tick() })
		h.together(fns...)
		seen := map[uint64]bool{}
		for _, v := range crowd {
			p := v.poll()
			if p.Status != sale.Waiting || seen[p.Number] || p.Number < 1 || p.Number > 10 {
				h.Errorf("%s with number %d", p.Status, p.Number)
			}
			seen[p.Number] = true
		}
		h.line(10, 0)
	})
}
