package sale_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

// codes makes a batch of the gala.
func (h *house) codes(n int, class sale.Class, uses int) (uint32, []string) {
	h.Helper()
	b, codes, err := h.CreateCodes("staff", gala, sale.CodeBatch{Name: "Friends", Count: n, Class: class, Uses: uses})
	h.ok(err)
	if len(codes) != n {
		h.Fatalf("%d codes, want %d", len(codes), n)
	}
	return b.Number, codes
}

// joinWith joins with a code that must be good.
func (v *visitor) joinWith(code string) sale.PlaceView {
	v.h.Helper()
	p, _, err := v.h.JoinWith(v.event, v.id, code)
	v.h.ok(err)
	return v.saw(p)
}

// turnsUntil steps through the turns at 7 of 10 until so many went to a class.
func turnsUntil(k int, class rune) (order string) {
	for owed := 0; k > 0; {
		next := 'P'
		if owed += 7; owed >= 10 {
			owed, next = owed-10, 'M'
		}
		if order += string(next); next == class {
			k--
		}
	}
	return order
}

func presale(s *sale.Settings) {
	oneSlot(s)
	from, open := time.Now().Add(time.Minute), time.Now().Add(2*time.Minute)
	s.PresaleAt, s.OpensAt, s.Rules.TurnSeconds = &from, &open, 30
}

func TestByInvitationNobodyJoinsWithoutACode(t *testing.T) {
	play(t, func(s *sale.Settings) { s.Access, s.Line = "code", "off" }, func(h *house) {
		_, codes := h.codes(2, sale.Public, 1)
		ann := h.visitor()
		_, _, err := h.Join(gala, ann.id)
		h.refused(err, sale.ErrCodeRequired)
		_, _, err = h.JoinWith(gala, ann.id, " - ")
		h.refused(err, sale.ErrBadCode)
		h.line(0, 0)
		if pass, err := h.Admits(gala, ann.id, ""); err != nil || pass.In {
			h.Errorf("without a code somebody is let into the shop: %+v, %v", pass, err)
		}
		ann.joinWith(codes[0])
		if pass, err := h.Admits(gala, ann.id, ""); err != nil || !pass.In {
			h.Errorf("with a code nobody is let into the shop: %+v, %v", pass, err)
		}
	})
}

func TestCodeIsReadAsPeopleTypeIt(t *testing.T) {
	play(t, nil, func(h *house) {
		_, codes := h.codes(3, sale.Member, 5)
		h.event("other", nil)
		if len(codes[0]) != 19 || codes[0] == codes[1] {
			h.Fatalf("codes are %q", codes)
		}
		typed := strings.NewReplacer("0", "o", "1", "l").Replace(strings.ToLower(codes[0]))
		for _, text := range []string{codes[0], typed, strings.ReplaceAll(typed, "-", ""), "  " + strings.ReplaceAll(codes[0], "-", " – ") + "\n", strings.ReplaceAll(codes[0], "1", "I")} {
			if text = strings.TrimSuffix(text, "\n"); h.visitor().joinWith(text).Number == 0 {
				h.Errorf("%q is not taken", text)
			}
		}
		for _, text := range []string{
			codes[0][:18], codes[0] + "0", "0000-0000-0000-0000", "U" + codes[0][1:], "\xff", strings.Repeat("0", 1<<10), "ſ" + codes[0][1:], codes[0][:15] + codes[1][15:],
		} {
			_, _, err := h.JoinWith(gala, uuid.New(), text)
			h.refused(err, sale.ErrBadCode)
		}
		_, _, err := h.JoinWith("other", uuid.New(), codes[1])
		h.refused(err, sale.ErrBadCode)
		_, _, err = h.JoinWith("none", uuid.New(), codes[1])
		h.refused(err, sale.ErrNoSuchEvent)
		h.restart()
		h.visitor().joinWith(codes[1])
	})
}

func TestOfManyWhoUseACodeAtOnceExactlyOneGetsIn(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		batch, codes := h.codes(2, sale.Member, 1)
		var in, used int
		var mu sync.Mutex
		var fns []func()
		for range 50 {
			fns = append(fns, func() {
				_, _, err := h.JoinWith(gala, uuid.New(), codes[1])
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					in++
				} else {
					h.refused(err, sale.ErrCodeUsed)
					used++
				}
			})
		}
		h.together(fns...)
		if in != 1 || used != 49 {
			h.Errorf("%d got in and %d were told that the code was used", in, used)
		}
		for range 2 {
			list, err := h.Codes(gala)
			h.ok(err)
			if len(list) != 1 || list[0].Number != batch || list[0].Used != 1 || list[0].People != 1 {
				h.Errorf("the batches are %+v", list)
			}
			_, _, err = h.JoinWith(gala, uuid.New(), codes[1])
			h.refused(err, sale.ErrCodeUsed)
			h.restart()
		}
	})
}

func TestCodeIsUsedByWhoGetsAPlaceAndByNobodyElse(t *testing.T) {
	play(t, func(s *sale.Settings) { oneSlot(s); s.Rules.MaxWaiting = 2 }, func(h *house) {
		_, codes := h.codes(3, sale.Member, 2)
		people := func(want int) {
			h.Helper()
			if list, err := h.Codes(gala); err != nil || list[0].People != want {
				h.Errorf("%+v, %v: want %d people", list, err, want)
			}
		}
		first := h.buyer()
		all := h.members(codes[0])
		people(1)
		all[0].joinWith(codes[1]) // has a place, so it is not looked at
		all[0].joinWith("nonsense")
		people(1)
		h.crowd(1)
		_, _, err := h.JoinWith(gala, uuid.New(), codes[0])
		h.refused(err, sale.ErrLineFull)
		people(1)
		h.ok(all[0].leave()) // does not give it back
		people(1)
		all[0].joinWith(codes[0])
		people(2)
		_, _, err = h.JoinWith(gala, uuid.New(), codes[0])
		h.refused(err, sale.ErrLineFull)
		h.ok(first.leave())
		h.tick()
		h.at(61 * sec) // who was called is set aside and comes back without a use
		h.tick()
		for range 20 {
			h.tick()
			time.Sleep(time.Minute)
		}
		people(2) // also when the places are forgotten
		_, _, err = h.JoinWith(gala, uuid.New(), codes[0])
		h.refused(err, sale.ErrCodeUsed)
	})
}

func TestMemberWhoWasAwayComesBackToTheFrontOfHisLineWithoutAnotherUse(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		_, codes := h.codes(3, sale.Member, 1)
		first := h.buyer()
		public := h.crowd(3)
		members := h.members(codes...)
		h.ok(first.leave())
		h.tick()
		public[0].poll()
		h.ok(public[0].leave())
		h.tick()
		h.at(61 * sec)
		h.tick() // the first member is aside, the second called
		if p := members[0].joinWith(codes[0]); p.Status != sale.Waiting || p.Number != 5 {
			h.Errorf("he comes back as %+v", p)
		}
		h.ok(members[1].leave())
		h.tick()
		public[1].poll() // P M M P: his turn comes after that
		h.ok(public[1].leave())
		h.tick()
		members[0].is(sale.Ready)
		members[2].is(sale.Waiting)
	})
}

func TestRevokedAndExpiredCodesAreWorthNothingAndTheirPlacesStay(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		h.buyer()
		batch, codes := h.codes(2, sale.Member, 1)
		until := time.Now().Add(time.Minute)
		_, short, err := h.CreateCodes("staff", gala, sale.CodeBatch{Count: 2, Uses: 1, ExpiresAt: &until})
		h.ok(err)
		in := h.members(codes[0], short[0])
		h.ok(h.RevokeCodes("staff", gala, batch))
		h.ok(h.RevokeCodes("staff", gala, batch))
		_, _, err = h.JoinWith(gala, uuid.New(), codes[1])
		h.refused(err, sale.ErrBadCode)
		h.at(60 * sec)
		_, _, err = h.JoinWith(gala, uuid.New(), short[1])
		h.refused(err, sale.ErrBadCode)
		for _, v := range in {
			v.is(sale.Waiting)
		}
		h.refused(h.RevokeCodes("staff", gala, 3), sale.ErrNoSuchBatch)
		h.refused(h.RevokeCodes("staff", gala, 0), sale.ErrNoSuchBatch)
		h.restart()
		_, _, err = h.JoinWith(gala, uuid.New(), codes[1])
		h.refused(err, sale.ErrBadCode)
		list, err := h.Audit(0, 4)
		h.ok(err)
		if list[0].Act != "codes.revoke" || list[2].Act != "codes.create" || strings.Contains(fmt.Sprint(list), codes[0]) || !strings.Contains(list[3].Detail, "2 codes (member), good for 1 each") {
			h.Errorf("the audit says %+v", list)
		}
	})
}

func TestRemovedEventTakesTheUsesOfItsCodesAlong(t *testing.T) {
	play(t, nil, func(h *house) {
		_, codes := h.codes(1, sale.Member, 1)
		ann := h.members(codes[0])[0]
		h.ok(ann.leave())
		h.restart()
		h.ok(h.RemoveEvent("staff", gala))
		h.restart() // and the file is looked at
		h.event(gala, nil)
		_, _, err := h.JoinWith(gala, uuid.New(), codes[0])
		h.refused(err, sale.ErrBadCode)
	})
}

func TestBatchOfCodesThatCannotBeIsRefused(t *testing.T) {
	play(t, nil, func(h *house) {
		past := time.Now()
		for _, b := range []sale.CodeBatch{
			{Count: 0, Uses: 1}, {Count: 10_001, Uses: 1}, {Count: 1, Uses: 0}, {Count: 1, Uses: 1001},
			{Count: 1, Uses: 1, Name: strings.Repeat("x", 101)}, {Count: 1, Uses: 1, ExpiresAt: &past},
		} {
			_, _, err := h.CreateCodes("staff", gala, b)
			h.refused(err, sale.ErrBadBatch)
		}
		_, _, err := h.CreateCodes("staff", "none", sale.CodeBatch{Count: 1, Uses: 1})
		h.refused(err, sale.ErrNoSuchEvent)
		_, codes := h.codes(10_000, sale.Public, 1000)
		slices.Sort(codes)
		if len(slices.Compact(codes)) != 10_000 {
			h.Error("two codes are the same")
		}
	})
}
