package sale_test

import (
	"testing"

	"foyer/sale"
)

// by is a request of another key than the usual one.
func by(r sale.TokenRequest, actor string) sale.TokenRequest {
	r.Actor = actor
	return r
}

func TestClaimBelongsToTheKeyThatMadeIt(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		_, err := h.ClaimToken(ann.asks("k", "c"))
		h.ok(err)
		for _, restarted := range []bool{false, true} {
			if restarted {
				h.restart()
			}
			for _, customer := range []string{"", "c"} {
				for _, act := range []func(sale.TokenRequest) (sale.TokenView, error){h.ReleaseToken, h.ConsumeToken} {
					_, err = act(by(ann.asks("other", customer), "staff:other"))
					h.refused(err, sale.ErrTurnInUse)
				}
			}
			ann.tokenIs(true, sale.TurnClaimed, "c", 300*sec)
		}
		_, err = h.ReleaseToken(ann.asks("l", ""))
		h.ok(err)
		_, err = h.ClaimToken(by(ann.asks("m", ""), "staff:other")) // it is nobody's now
		h.ok(err)
		_, err = h.ConsumeToken(ann.asks("n", ""))
		h.refused(err, sale.ErrTurnInUse)
		admin := by(ann.asks("o", ""), "staff:admin")
		admin.Admin = true
		_, err = h.ReleaseToken(admin)
		h.ok(err)
		_, err = h.ClaimToken(ann.asks("p", ""))
		h.ok(err)
		admin.Key = "q"
		_, err = h.ConsumeToken(admin)
		h.ok(err)
	})
}

// Two shops may number their orders alike: the answer to one is not the other's.
func TestIdempotencyKeysOfTwoShopsAreNotMixedUp(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		first, err := h.ClaimToken(ann.asks("order-1", ""))
		h.ok(err)
		_, err = h.ClaimToken(by(ann.asks("order-1", ""), "staff:other"))
		h.refused(err, sale.ErrTurnInUse)
		_, err = h.ConsumeToken(by(ann.asks("order-1", ""), "staff:other"))
		h.refused(err, sale.ErrTurnInUse)
		again, err := h.ClaimToken(ann.asks("order-1", ""))
		h.ok(err)
		if !same(again, first) {
			h.Errorf("got %+v, want %+v", again, first)
		}
	})
}

// Claims of a version that kept no keys are any shop's, and so are their answers.
func TestClaimWithoutAKeyIsAnyShops(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		first, err := h.ClaimToken(ann.asks("k", ""))
		h.ok(err)
		h.ok(h.store.Update(func(tx sale.Tx) error {
			p, _ := tx.Place(ann.event, ann.id)
			old := *p.Turn.Shop
			old.By, old.Acts = "", []sale.ShopAct{old.Acts[0]}
			old.Acts[0].By = ""
			p.Turn.Shop = &old
			tx.PutPlace(p)
			return nil
		}))
		h.restart()
		again, err := h.ClaimToken(by(ann.asks("k", ""), "staff:other"))
		h.ok(err)
		if !same(again, first) {
			h.Errorf("got %+v, want %+v", again, first)
		}
		_, err = h.ConsumeToken(by(ann.asks("l", ""), "staff:other"))
		h.ok(err)
	})
}
