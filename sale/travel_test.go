package sale_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"foyer/sale"
)

// code is the return code of the visitor's place.
func (v *visitor) code() string {
	v.h.Helper()
	c, err := v.h.ReturnCode(v.event, v.id, uuid.Nil)
	v.h.ok(err)
	if !regexp.MustCompile(`^([0-9A-HJKMNP-TV-Z]{4}-){11}[0-9A-HJKMNP-TV-Z]{4}$`).MatchString(c.Code) {
		v.h.Errorf("the code is %q", c.Code)
	}
	return c.Code
}

// opens wants a code, shown by a browser without a visitor, to open v's place.
func (h *house) opens(code string, v *visitor) {
	h.Helper()
	got, err := h.Redeem("", code, uuid.Nil)
	h.ok(err)
	if got.Visitor != v.id || got.Event != v.event || v.name != uuid.Nil && got.QueueID != v.name {
		h.Errorf("the code opens %+v, want the place %s of %s in %s", got, v.name, v.id, v.event)
	}
}

func (h *house) shut(code string, want *sale.Refusal) {
	h.Helper()
	got, err := h.Redeem("", code, uuid.Nil)
	h.refused(err, want)
	if got != (sale.Returned{}) {
		h.Errorf("a code that is refused tells of %+v", got)
	}
}

func TestReturnCodeOpensThePlaceOnce(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		active, waiting := h.buyer(), h.visitor()
		behind := h.visitor()
		waiting.join()
		behind.join()
		for _, v := range []*visitor{active, waiting, active} {
			old, before := v.code(), v.poll()
			if v.code() != old {
				h.Error("a code that nobody used changes")
			}
			h.opens(old, v)
			h.shut(old, sale.ErrLinkUsed)
			if after := v.poll(); after.Number != before.Number || after.QueueID != before.QueueID || after.Status != before.Status || after.Rank != before.Rank || after.Token != before.Token {
				h.Errorf("after the use of a code the place is %+v, was %+v", after, before)
			}
			if v.code() == old {
				h.Error("the next code is the one that was used")
			}
			h.line(2, 1)
		}
		h.restart()
		h.opens(active.code(), active)
		h.ok(active.leave())
		h.at(2 * sec)
		h.tick()
		waiting.is(sale.Ready)
		if p := behind.is(sale.Waiting); p.Rank != 0 {
			h.Errorf("behind the one who travelled the rank is %d", p.Rank)
		}
	})
}

func TestReturnCodeOutlivesRestartsAndTheCall(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		first, v := h.buyer(), h.visitor()
		v.join()
		used := v.code()
		h.opens(used, v)
		code := v.code()
		h.restart()
		h.shut(used, sale.ErrLinkUsed)
		if v.code() != code {
			h.Error("a restart changes the code")
		}
		h.ok(first.leave())
		h.at(2 * sec)
		h.tick() // v is called
		h.shut(used, sale.ErrLinkUsed)
		h.restart()
		h.shut(used, sale.ErrLinkUsed)
		h.opens(code, v)
		last := v.code()
		h.restart()
		h.shut(code, sale.ErrLinkUsed)
		h.at(62*sec - ms)
		v.is(sale.Ready)
		h.opens(last, v)
	})
}

func TestReturnCodeOpensAPlaceThatWasSetAside(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		first, v := h.buyer(), h.visitor()
		v.join()
		code := v.code()
		h.ok(first.leave())
		h.at(2 * sec)
		h.tick() // called, and nobody is there
		h.at(70 * sec)
		h.opens(code, v) // before the sweep
		code = v.code()
		h.tick()
		h.shut("", sale.ErrNoSuchCode)
		h.opens(code, v)
		if p := v.join(); p.QueueID != v.name || p.Number != 2 {
			h.Errorf("back from aside the place is %+v", p)
		}
		h.shut(code, sale.ErrLinkUsed)
		last := v.code()
		h.at(100 * sec)
		h.tick()
		h.at(1000 * sec) // aside again, for too long
		h.shut(last, sale.ErrLinkUsed)
		_, err := h.ReturnCode(gala, v.id, uuid.Nil)
		h.refused(err, sale.ErrNotEntered)
	})
}

func TestReturnCodeOfTheLobbyOpensTheDrawnPlace(t *testing.T) {
	play(t, drawn, func(h *house) {
		crowd := h.crowd(20)
		var codes, used []string
		for _, v := range crowd {
			used = append(used, v.code())
			h.opens(used[len(used)-1], v)
			codes = append(codes, v.code())
		}
		h.at(600 * sec)
		h.tick()
		h.wantDrawn(crowd, nil)
		for i, v := range crowd {
			h.shut(used[i], sale.ErrLinkUsed)
			h.opens(codes[i], v)
			h.shut(codes[i], sale.ErrLinkUsed)
			codes[i] = v.code()
		}
		h.restart()
		h.wantDrawn(crowd, nil)
		h.tick()
		for i, v := range crowd {
			h.opens(codes[i], v)
		}
		h.wantDrawn(crowd, nil)
	})
}

func TestReturnCodeThatWasTakenBackOpensNothing(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		h.buyer()
		v, other := h.visitor(), h.visitor()
		v.join()
		other.join()
		code := v.code()
		h.refused(h.RevokeReturn(gala, other.id, v.name), sale.ErrNotEntered)
		h.refused(h.RevokeReturn("nowhere", v.id, v.name), sale.ErrNoSuchEvent)
		h.ok(h.RevokeReturn(gala, v.id, v.name))
		h.shut(code, sale.ErrLinkUsed)
		h.ok(h.RevokeReturn(gala, v.id, v.name))
		h.restart()
		h.shut(code, sale.ErrLinkUsed)
		if c, err := h.ReturnCode(gala, v.id, v.name); err != nil || c.Spent != 2 || c.QueueID != v.name {
			h.Errorf("after two were taken back the code is %+v, %v", c, err)
		}
		h.opens(v.code(), v)
		h.ok(v.leave())
		h.ok(h.RevokeReturn(gala, v.id, v.name))
		h.line(1, 1)
	})
}

func TestReturnCodeEndsWithThePlace(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		h.buyer()
		v := h.visitor()
		v.join()
		code := v.code()
		h.ok(v.leave())
		h.shut(code, sale.ErrLinkUsed)
		_, err := h.ReturnCode(gala, v.id, v.name)
		h.refused(err, sale.ErrNotEntered)
		v.join() // another place of the same visitor
		h.shut(code, sale.ErrNoSuchCode)
		h.opens(v.code(), v)
	})
}

func TestReturnCodeIsOfOneEvent(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		h.event("other", nil)
		here := h.buyer()
		there := &visitor{h: h, event: "other", id: here.id} // the same visitor
		there.join()
		code := there.code()
		_, err := h.Redeem(gala, code, uuid.Nil)
		h.refused(err, sale.ErrNoSuchCode)
		if here.code() == code {
			h.Error("the codes of two events are the same")
		}
		if got, err := h.Redeem("other", code, uuid.Nil); err != nil || got.Event != "other" {
			h.Errorf("at home it opens %+v, %v", got, err)
		}
		h.opens(here.code(), here)
		_, err = h.ReturnCode(gala, there.id, there.name)
		h.refused(err, sale.ErrNotEntered)
		_, err = h.ReturnCode("nowhere", here.id, here.name)
		h.refused(err, sale.ErrNoSuchEvent)
	})
}

func TestOwnReturnCodeIsNotUsedUp(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		v := h.buyer()
		code := v.code()
		for range 3 {
			got, err := h.Redeem(gala, code, v.id)
			h.ok(err)
			if got.Visitor != v.id {
				h.Errorf("the own code opens %+v", got)
			}
		}
		h.opens(code, v)
		_, err := h.Redeem(gala, code, v.id)
		h.refused(err, sale.ErrLinkUsed)
	})
}

func TestOfManyWithTheSameReturnCodeOneIsLetIn(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		h.buyer()
		v := h.visitor()
		v.join()
		code := v.code()
		var errs [50]error
		var got [50]sale.Returned
		var all []func()
		for i := range errs {
			all = append(all, func() { got[i], errs[i] = h.Redeem("", code, uuid.New()) })
		}
		h.together(all...)
		let := 0
		for i, err := range errs {
			if err == nil {
				let++
				continue
			}
			h.refused(err, sale.ErrLinkUsed)
			if got[i] != (sale.Returned{}) {
				h.Errorf("who is refused learns of %+v", got[i])
			}
		}
		if let != 1 {
			h.Errorf("%d are let in, want 1", let)
		}
	})
}

func TestReturnCodeIsReadAsPeopleTypeIt(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		v := h.buyer()
		for _, typed := range []func(string) string{
			strings.ToLower,
			func(s string) string { return strings.ReplaceAll(s, "-", "") },
			func(s string) string { return " " + strings.ReplaceAll(s, "-", " ") + "\r\n" },
			func(s string) string { return strings.NewReplacer("0", "O", "1", "l").Replace(s) },
			func(s string) string { return strings.NewReplacer("0", "o", "1", "I").Replace(s) },
		} {
			h.opens(typed(v.code()), v)
		}
	})
}

func TestForgedReturnCodesOpenNothing(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		v := h.buyer()
		code := v.code()
		const letters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
		for i, c := range code { // every single character counts
			if c != '-' {
				other := letters[(strings.IndexRune(letters, c)+1)%len(letters)]
				h.shut(code[:i]+string(other)+code[i+1:], sale.ErrNoSuchCode)
			}
		}
		for _, bad := range []string{
			"", "x", code[1:], code + "0", code + "-" + code, strings.Repeat("0", 48), strings.Repeat("U", 48), strings.Replace(code, "-", "_", 1),
			strings.Repeat("\xff", 48), strings.Repeat("-", 1<<20), code[:len(code)-1] + "\u0130", v.id.String(), v.token,
		} {
			h.shut(bad, sale.ErrNoSuchCode)
		}
		elsewhere := sale.New(sale.Config{Store: h.store, Secret: make([]byte, 32)})
		foreign, err := elsewhere.ReturnCode(gala, v.id, uuid.Nil)
		h.ok(err)
		h.shut(foreign.Code, sale.ErrNoSuchCode)
		h.opens(code, v)
	})
}

func TestReturnCodeSurvivesAHoldThatLapsed(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		v := h.buyer()
		v.hold("A-1")
		code := v.code()
		h.at(121 * sec) // the hold has lapsed and nobody has swept
		h.opens(code, v)
		v.orderIs(sale.Expired)
		v.has(sale.TurnReady)
		h.wantTold(v.order, sale.TopicOrderExpired)
	})
}
