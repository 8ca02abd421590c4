package sale

import (
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
)

// ShopClaim is what a shop with orders of its own did with a turn. The JSON form
// is the one on disk.
type ShopClaim struct {
	By       string    `json:"by,omitempty"`       // the actor whose claim is on; "" in those of older versions, which any shop's key may act on
	Customer string    `json:"customer,omitempty"` // as the shop calls him; "" for the visitor's id
	Until    time.Time `json:"until,omitzero"`     // when the claim lapses; zero while none is on
	Acts     []ShopAct `json:"acts"`               // the newest last, at most maxShopActs
}

// ShopAct is the idempotency record of one act of a shop, and its answer.
type ShopAct struct {
	By       string    `json:"by,omitempty"` // the actor; "" in those of older versions
	Key      []byte    `json:"key"`          // SHA-256 of the Idempotency-Key
	Body     []byte    `json:"body"`         // SHA-256 of the act and its body
	State    TurnState `json:"state"`
	Customer string    `json:"customer,omitempty"`
	Until    time.Time `json:"until"`
}

// maxShopActs bounds the records of one turn; the oldest are forgotten first.
const maxShopActs = 32

// byShop tells whether a shop claims the turn, or did when that was stored.
func (t *Turn) byShop() bool {
	return t.State == TurnClaimed && t.Order == uuid.Nil && t.Shop != nil
}

// shopHas tells whether a shop's claim is on the turn at now.
func (t *Turn) shopHas(now time.Time) bool { return t.byShop() && now.Before(t.Shop.Until) }

// until is the claim with another deadline.
func (s *ShopClaim) until(at time.Time) *ShopClaim {
	c := *s
	c.Until = at
	return &c
}

// TokenRequest is a shop that asks about an entry token or acts on one.
type TokenRequest struct {
	Actor    string
	Admin    bool // the actor may act on the claims of others
	Event    string
	Token    string
	Customer string // the shop's name for the customer, at most 200 characters; "" is the visitor's id
	Key      string // the Idempotency-Key; not used by [Office.VerifyToken]
}

// TokenView is what a shop is told of a token.
type TokenView struct {
	Valid     bool      // the turn is active
	State     TurnState // READY, CLAIMED, CONSUMED, EXPIRED or REVOKED; "" for a token that is none of this event's
	Customer  string    // as the shop named him at the claim, else the visitor's id
	ExpiresAt time.Time // when the turn or the claim on it ends, or ended
}

// tokenView shows a place as it stands now.
func tokenView(r Reader, p Place) TokenView {
	t := &p.Turn
	v := TokenView{Valid: t.State.Active(), State: t.State, Customer: p.Visitor.String(), ExpiresAt: t.ExpiresAt}
	switch t.State {
	case TurnClaimed:
		if order, ok := r.Order(t.Order); ok {
			v.ExpiresAt = order.HoldExpiresAt
		}
	case TurnAside:
		v.State, v.ExpiresAt = TurnExpired, t.AsideAt
	case TurnLeft:
		v.State, v.ExpiresAt = TurnRevoked, t.EndedAt
	case TurnConsumed, TurnRevoked:
		v.ExpiresAt = t.EndedAt
	}
	if t.Order == uuid.Nil && t.Shop != nil && !t.Shop.Until.IsZero() {
		if t.Shop.Customer != "" {
			v.Customer = t.Shop.Customer
		}
		if t.State == TurnClaimed {
			v.ExpiresAt = t.Shop.Until
		}
	}
	return v
}

// tokenPlace finds the place of a token as it is stored. Without one it refuses
// with [ErrNoSuchEvent], [ErrNoEntryToken], [ErrNotAdmitted] or [ErrWrongEvent].
func (o *Office) tokenPlace(r Reader, event, token string) (*Event, Place, error) {
	e, ok := r.Event(event)
	if !ok {
		return nil, Place{}, ErrNoSuchEvent
	}
	if token == "" {
		return nil, Place{}, ErrNoEntryToken.say(`Send the visitor's entry token as "token".`)
	}
	claim, ok := o.parseToken(token)
	switch {
	case !ok:
		return nil, Place{}, ErrNotAdmitted
	case claim.ordinal != e.Ordinal:
		return nil, Place{}, ErrWrongEvent
	}
	p, ok := r.Place(event, claim.visitor)
	if !ok || p.Number != claim.number || p.Turn.State == TurnNone {
		return nil, Place{}, ErrNotAdmitted
	}
	return e, p, nil
}

// VerifyToken tells a shop how a token stands. A token that is unknown, over, of
// another event, or claimed for another customer than the one named is not valid,
// and no error; [ErrNoSuchEvent] is the only one.
func (o *Office) VerifyToken(r TokenRequest) (v TokenView, err error) {
	err = o.store.View(func(rd Reader) error {
		e, p, err := o.tokenPlace(rd, r.Event, r.Token)
		if err != nil {
			if errors.Is(err, ErrNoSuchEvent) {
				return err
			}
			return nil
		}
		p = place(rd, e, p)
		v = tokenView(rd, p)
		if p.Turn.byShop() && r.Customer != "" && r.Customer != v.Customer {
			v.Valid, v.Customer = false, ""
		}
		return nil
	})
	return v, err
}

// ClaimToken gives a READY turn to a shop, for one customer: CLAIMED until the
// turn ends and at least for holdSeconds, whichever is later, and then EXPIRED if
// nothing was done. Of many at once one wins; the others, and whoever comes while
// a hold or a claim is on the turn or it was used, get [ErrTurnInUse].
func (o *Office) ClaimToken(r TokenRequest) (TokenView, error) {
	return o.actOnToken(r, "turn.claim", func(tx Tx, e *Event, p *Place) error {
		t := &p.Turn
		if t.State != TurnReady {
			return t.inUse()
		}
		if t.Holds >= maxHolds {
			return ErrTooManyHolds
		}
		until := tx.Now().Add(seconds(e.Rules.HoldSeconds))
		if until.Before(t.ExpiresAt) {
			until = t.ExpiresAt
		}
		t.State, t.Order, t.PickedUp = TurnClaimed, uuid.Nil, true
		t.Holds++
		t.Shop.By, t.Shop.Customer, t.Shop.Until = r.Actor, r.Customer, until
		return nil
	})
}

// ReleaseToken takes the shop's claim off a turn, which is READY again while it
// has time left. One that is READY already stays so. The claim of another key is
// left alone ([ErrTurnInUse]) unless an admin asks.
func (o *Office) ReleaseToken(r TokenRequest) (TokenView, error) {
	return o.actOnToken(r, "turn.release", func(tx Tx, e *Event, p *Place) error {
		t := &p.Turn
		if t.State == TurnReady {
			return nil
		}
		if err := t.claimedBy(&r); err != nil {
			return err
		}
		t.State, t.Shop.By, t.Shop.Customer, t.Shop.Until = TurnReady, "", "", time.Time{}
		*p = p.at(e, nil, tx.Now())
		return nil
	})
}

// ConsumeToken ends a turn that a shop claims: its order is made. It refuses
// with [ErrNotClaimed] when no claim is on the turn, and with [ErrTurnInUse] when
// it is another customer's, another key's and no admin asks, or was used.
func (o *Office) ConsumeToken(r TokenRequest) (TokenView, error) {
	return o.actOnToken(r, "turn.consume", func(tx Tx, _ *Event, p *Place) error {
		t := &p.Turn
		if t.State == TurnReady {
			return ErrNotClaimed
		}
		if err := t.claimedBy(&r); err != nil {
			return err
		}
		t.State, t.EndedAt = TurnConsumed, tx.Now()
		return nil
	})
}

// claimedBy refuses who may not act on the claim: there is none, it is for another
// customer than the one named, or of another key.
func (t *Turn) claimedBy(r *TokenRequest) error {
	switch {
	case !t.byShop() || r.Customer != "" && r.Customer != t.Shop.Customer:
		return t.inUse()
	case t.Shop.By != "" && t.Shop.By != r.Actor && !r.Admin:
		return ErrTurnInUse.say("This turn is claimed with another key. Use the key that claimed it, or an admin key.")
	}
	return nil
}

func (t *Turn) inUse() error {
	switch {
	case t.State == TurnConsumed:
		return ErrTurnInUse.say("This turn was used for an order already. Its visitor must join the line again for another one.")
	case t.byShop():
		return ErrTurnInUse.say("This turn is claimed already, by another request or for another customer.")
	}
	return ErrTurnInUse.say("The visitor holds seats with this turn.")
}

// actOnToken runs one act on a turn and keeps its record, in one transaction.
// The same key and body of one actor get the first answer again, whatever has
// happened since; the same key with another body or act is [ErrKeyReused].
func (o *Office) actOnToken(r TokenRequest, act string, decide func(Tx, *Event, *Place) error) (v TokenView, err error) {
	if wrong := checkText("customerId", r.Customer, 0, 200); wrong != "" {
		return v, ErrBadCustomer.say(wrong)
	}
	key, body := hashesOf(r.Key, act, r.Token, r.Customer)
	err = o.store.Update(func(tx Tx) error {
		e, p, err := o.tokenPlace(tx, r.Event, r.Token)
		if err != nil {
			return err
		}
		if done, known, err := p.Turn.Shop.done(r.Actor, key, body); known {
			v = TokenView{Valid: done.State.Active(), State: done.State, Customer: done.Customer, ExpiresAt: done.Until}
			return err
		}
		p = o.refresh(tx, e, p)
		switch p.Turn.State {
		case TurnExpired, TurnAside:
			return ErrTokenExpired.say("The turn of this entry token has expired. Its visitor must join the line again.")
		case TurnLeft, TurnRevoked:
			return ErrNotAdmitted.say("This entry token gives no turn any more: its place was given back or taken away.")
		}
		p.Turn.Shop = p.Turn.Shop.clone()
		if err := decide(tx, e, &p); err != nil {
			return err
		}
		v = tokenView(tx, p)
		p.Turn.Shop.note(ShopAct{By: r.Actor, Key: key, Body: body, State: v.State, Customer: v.Customer, Until: v.ExpiresAt})
		tx.PutPlace(p)
		o.audit(tx, r.Actor, e.ID, act, o.QueueID(e, p).String())
		return nil
	})
	return v, err
}

// clone is a copy that may be changed; of nil an empty one.
func (s *ShopClaim) clone() *ShopClaim {
	if s == nil {
		return &ShopClaim{}
	}
	c := *s
	c.Acts = slices.Clone(s.Acts)
	return &c
}

// done finds the actor's record of an act with this key.
func (s *ShopClaim) done(actor string, key, body []byte) (a ShopAct, known bool, err error) {
	if s == nil {
		return a, false, nil
	}
	for _, a := range s.Acts {
		if a.By != "" && a.By != actor {
			continue
		}
		if known, err := again(key, body, a.Key, a.Body); known {
			return a, true, err
		}
	}
	return a, false, nil
}

func (s *ShopClaim) note(a ShopAct) {
	if len(s.Acts) >= maxShopActs {
		s.Acts = s.Acts[len(s.Acts)-maxShopActs+1:]
	}
	s.Acts = append(s.Acts, a)
}
