package sale_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/uuid"

	"foyer/sale"
)

func TestOnlyTheRightTokenGivesATurn(t *testing.T) { // I12: fail closed
	play(t, oneSlot, func(h *house) {
		h.event("other", nil)
		ann, bob, there := h.buyer(), h.visitor(), h.visitorOf("other")
		bob.join()
		there.join()
		hold := func(event, token string, who uuid.UUID) error {
			_, err := h.Hold(sale.HoldRequest{Event: event, Token: token, Visitor: who, Seats: []string{"A-1"}})
			return err
		}
		raw, err := base64.RawURLEncoding.DecodeString(ann.token)
		h.ok(err)
		for i := range raw { // every single byte counts
			forged := append([]byte(nil), raw...)
			forged[i] ^= 1
			h.refused(hold(gala, base64.RawURLEncoding.EncodeToString(forged), ann.id), sale.ErrNotAdmitted)
		}
		for _, token := range []string{"x", ann.token + "A", ann.token[1:], strings.ToLower(ann.token), ann.token + "\n", "Bearer " + ann.token} {
			h.refused(hold(gala, token, ann.id), sale.ErrNotAdmitted)
		}
		h.refused(hold(gala, "", ann.id), sale.ErrNoEntryToken)
		h.refused(hold(gala, ann.token, bob.id), sale.ErrNotAdmitted) // another visitor's
		h.refused(hold(gala, there.token, uuid.Nil), sale.ErrWrongEvent)
		h.refused(hold("nowhere", ann.token, ann.id), sale.ErrNoSuchEvent)
		h.seats("")
		h.ok(hold(gala, ann.token, uuid.Nil)) // the token alone is enough
		h.seats("H")
	})
}

func TestTokenOfAnotherHouseIsForged(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		elsewhere := sale.New(sale.Config{Store: h.store, Secret: make([]byte, 32)})
		p, err := elsewhere.Poll(gala, ann.id)
		h.ok(err)
		_, err = h.Hold(sale.HoldRequest{Event: gala, Token: p.Token, Seats: []string{"A-1"}})
		h.refused(err, sale.ErrNotAdmitted)
		if who, ok := h.TokenVisitor(ann.token); !ok || who != ann.id {
			h.Errorf("the token's visitor is %s, %v", who, ok)
		}
		if _, ok := h.TokenVisitor(p.Token); ok {
			h.Error("a foreign token is taken for ours")
		}
	})
}

func TestTokenOfAnEarlierPlaceGivesNothing(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		old := ann.token
		h.ok(ann.leave())
		ann.join()
		_, err := h.Hold(sale.HoldRequest{Event: gala, Token: old, Visitor: ann.id, Seats: []string{"A-1"}})
		h.refused(err, sale.ErrNotAdmitted)
		ann.hold("A-1")
	})
}

func TestTokenOfARemovedEventDoesNotOpenItsNamesake(t *testing.T) {
	play(t, nil, func(h *house) {
		h.event("ball", nil)
		ann := h.visitorOf("ball")
		ann.join()
		h.ok(ann.leave())
		h.ok(h.RemoveEvent("staff", "ball"))
		h.event("ball", nil)
		bob := h.visitorOf("ball")
		bob.id = ann.id
		if p := bob.join(); p.Number != 1 {
			h.Errorf("number %d in the new event, want 1", p.Number)
		}
		_, err := ann.try("A-1")
		h.refused(err, sale.ErrWrongEvent)
		bob.hold("A-1")
	})
}

func TestTokenStandsAcrossARestart(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		token, name := ann.token, ann.name
		h.restart()
		if p := ann.poll(); p.Token != token || p.QueueID != name {
			h.Error("a restart changed the token or the place's name")
		}
		ann.hold("A-1")
		h.restart()
		ann.has(sale.TurnClaimed)
		if p := ann.poll(); p.OrderID != ann.order {
			h.Errorf("the turn's order is %s, want %s", p.OrderID, ann.order)
		}
		h.ok(h.Release(ann.id, ann.order))
	})
}
