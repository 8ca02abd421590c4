package sale_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

// asks is a shop's request about the visitor's token.
func (v *visitor) asks(key, customer string) sale.TokenRequest {
	return sale.TokenRequest{Actor: "staff:shop", Event: v.event, Token: v.token, Customer: customer, Key: key}
}

// token wants a shop to be told this of the visitor's token.
func (v *visitor) tokenIs(valid bool, state sale.TurnState, customer string, until time.Duration) {
	v.h.Helper()
	got, err := v.h.VerifyToken(v.asks("", ""))
	v.h.ok(err)
	want := sale.TokenView{Valid: valid, State: state, Customer: customer, ExpiresAt: v.h.began.Add(until).UTC()}
	if got != want {
		v.h.Errorf("%s in: the token is %+v, want %+v", time.Since(v.h.began), got, want)
	}
}

func TestShopClaimsReleasesAndConsumesATurn(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		ann, bob := h.buyer(), h.visitor()
		bob.join()
		ann.tokenIs(true, sale.TurnReady, ann.id.String(), 300*sec)
		v, err := h.ClaimToken(ann.asks("k1", "c-9"))
		h.ok(err)
		if !v.Valid || v.State != sale.TurnClaimed || v.Customer != "c-9" || !v.ExpiresAt.Equal(h.began.Add(300*sec)) {
			h.Errorf("the claim is answered with %+v", v)
		}
		if p := ann.is(sale.Ready); p.TokenState != sale.TurnClaimed || p.OrderID != uuid.Nil {
			h.Errorf("the visitor sees %s with order %s", p.TokenState, p.OrderID)
		}
		h.line(1, 1)
		_, err = h.ReleaseToken(ann.asks("k2", ""))
		h.ok(err)
		ann.tokenIs(true, sale.TurnReady, ann.id.String(), 300*sec)
		_, err = h.ClaimToken(ann.asks("k3", ""))
		h.ok(err)
		h.restart()
		ann.tokenIs(true, sale.TurnClaimed, ann.id.String(), 300*sec)
		h.at(10 * sec)
		v, err = h.ConsumeToken(ann.asks("k4", ""))
		h.ok(err)
		if v.Valid || v.State != sale.TurnConsumed {
			h.Errorf("the use is answered with %+v", v)
		}
		ann.is(sale.NotEntered)
		h.tick()
		bob.is(sale.Ready)
		h.restart()
		ann.tokenIs(false, sale.TurnConsumed, ann.id.String(), 10*sec)
		_, err = h.ConsumeToken(ann.asks("k5", ""))
		h.refused(err, sale.ErrTurnInUse)
		_, err = h.ClaimToken(ann.asks("k6", ""))
		h.refused(err, sale.ErrTurnInUse)
		_, err = h.ReleaseToken(ann.asks("k7", ""))
		h.refused(err, sale.ErrTurnInUse)
	})
}

func TestOfManyClaimsOfOneTurnExactlyOneWins(t *testing.T) { // B15
	play(t, nil, func(h *house) {
		ann := h.buyer()
		errs := make([]error, 50)
		var all []func()
		for i := range errs {
			all = append(all, func() { _, errs[i] = h.ClaimToken(ann.asks("k"+strconv.Itoa(i), "")) })
		}
		h.together(all...)
		h.ok(errs[0])
		for _, err := range errs[1:] {
			h.refused(err, sale.ErrTurnInUse)
		}
		entries, err := h.store.Entries(0, 100)
		h.ok(err)
		n := 0
		for _, e := range entries {
			if e.Act == "turn.claim" {
				n++
			}
		}
		if n != 1 {
			h.Errorf("%d lines in the audit, want 1", n)
		}
	})
}

func TestShopsActIsRepeatedWithItsKeyAndNotDoneTwice(t *testing.T) { // B17
	play(t, nil, func(h *house) {
		ann := h.buyer()
		first, err := h.ClaimToken(ann.asks("k", "c"))
		h.ok(err)
		h.restart()
		again, err := h.ClaimToken(ann.asks("k", "c"))
		h.ok(err)
		if !same(again, first) {
			h.Errorf("got %+v, want %+v", again, first)
		}
		_, err = h.ClaimToken(ann.asks("k", "d"))
		h.refused(err, sale.ErrKeyReused)
		_, err = h.ConsumeToken(ann.asks("k", "c"))
		h.refused(err, sale.ErrKeyReused)
		_, err = h.ConsumeToken(ann.asks("l", "d"))
		h.refused(err, sale.ErrTurnInUse)
		used, err := h.ConsumeToken(ann.asks("l2", "c"))
		h.ok(err)
		h.at(400 * sec)
		again, err = h.ConsumeToken(ann.asks("l2", "c"))
		h.ok(err)
		if !same(again, used) {
			h.Errorf("got %+v, want %+v", again, used)
		}
	})
}

func TestTurnAShopClaimsIsNotTakenByAHold(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, bob := h.buyer(), h.buyer()
		_, err := h.ClaimToken(ann.asks("k", ""))
		h.ok(err)
		_, err = ann.try("A-1")
		h.refused(err, sale.ErrTurnInUse)
		_, err = ann.best(2, "Stalls")
		h.refused(err, sale.ErrTurnInUse)
		h.seats("")
		bob.hold("A-2")
		for _, act := range []func(sale.TokenRequest) (sale.TokenView, error){h.ClaimToken, h.ReleaseToken, h.ConsumeToken} {
			_, err = act(bob.asks("k", ""))
			h.refused(err, sale.ErrTurnInUse)
		}
		bob.tokenIs(true, sale.TurnClaimed, bob.id.String(), 120*sec)
		_, err = h.ReleaseToken(ann.asks("l", ""))
		h.ok(err)
		ann.hold("A-1")
		h.seats("HH")
	})
}

func TestShopTakesATurnOverFromALapsedHold(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		h.at(120 * sec)
		_, err := h.ClaimToken(ann.asks("k", ""))
		h.ok(err)
		ann.orderIs(sale.Expired)
		h.wantTold(ann.order, sale.TopicOrderExpired)
	})
}

func TestClaimOfAShopIsNeverStuck(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		ann, bob := h.buyer(), h.visitor()
		bob.join()
		h.at(299 * sec)
		_, err := h.ClaimToken(ann.asks("k", "")) // B16: a moment before the end, and the shop has its time
		h.ok(err)
		ann.tokenIs(true, sale.TurnClaimed, ann.id.String(), 419*sec)
		h.at(419*sec - ms)
		h.tick()
		h.line(1, 1)
		h.at(419 * sec)
		ann.is(sale.NotEntered)
		_, err = h.ConsumeToken(ann.asks("l", ""))
		h.refused(err, sale.ErrTokenExpired)
		h.tick()
		bob.is(sale.Ready)
		ann.tokenIs(false, sale.TurnExpired, ann.id.String(), 300*sec)
	})
}

func TestClaimAtTheEndOfATurnIsToldThatItExpired(t *testing.T) { // B12, B16
	play(t, nil, func(h *house) {
		ann := h.buyer()
		h.at(300 * sec)
		_, err := h.ClaimToken(ann.asks("k", ""))
		h.refused(err, sale.ErrTokenExpired)
		ann.tokenIs(false, sale.TurnExpired, ann.id.String(), 300*sec)
	})
}

func TestReleaseAfterTheTurnsTimeEndsIt(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		h.at(299 * sec)
		_, err := h.ClaimToken(ann.asks("k", ""))
		h.ok(err)
		h.at(310 * sec)
		v, err := h.ReleaseToken(ann.asks("l", ""))
		h.ok(err)
		if v.Valid || v.State != sale.TurnExpired {
			h.Errorf("got %+v", v)
		}
		h.line(0, 0)
	})
}

func TestConsumeNeedsAClaim(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		_, err := h.ConsumeToken(ann.asks("k", ""))
		h.refused(err, sale.ErrNotClaimed)
		_, err = h.ReleaseToken(ann.asks("l", "")) // no fault
		h.ok(err)
	})
}

func TestBadTokensAreNotValidAndNoErrors(t *testing.T) {
	play(t, nil, func(h *house) {
		h.event("other", nil)
		ann, there := h.buyer(), h.visitorOf("other")
		there.join()
		for _, token := range []string{"", "x", ann.token[1:], there.token} {
			v, err := h.VerifyToken(sale.TokenRequest{Event: gala, Token: token})
			h.ok(err)
			if v != (sale.TokenView{}) {
				h.Errorf("the token %q is %+v", token, v)
			}
		}
		_, err := h.VerifyToken(sale.TokenRequest{Event: "nowhere", Token: ann.token})
		h.refused(err, sale.ErrNoSuchEvent)
		claim := func(event, token string) error {
			_, err := h.ClaimToken(sale.TokenRequest{Event: event, Token: token, Key: "k"})
			return err
		}
		h.refused(claim(gala, ""), sale.ErrNoEntryToken)
		h.refused(claim(gala, "x"), sale.ErrNotAdmitted)
		h.refused(claim(gala, there.token), sale.ErrWrongEvent)
		h.refused(claim("nowhere", ann.token), sale.ErrNoSuchEvent)
		_, err = h.ClaimToken(ann.asks("k", "c"))
		h.ok(err)
		v, err := h.VerifyToken(ann.asks("", "d"))
		h.ok(err)
		if v.Valid || v.Customer != "" {
			h.Errorf("for another customer it is %+v", v)
		}
		h.ok(ann.leave())
		_, err = h.ConsumeToken(ann.asks("l", "c"))
		h.refused(err, sale.ErrNotAdmitted)
		ann.tokenIs(false, sale.TurnRevoked, "c", 0)
		_, err = h.ClaimToken(ann.asks("m", "c\n"))
		h.refused(err, sale.ErrBadCustomer)
	})
}
