package sale

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
)

// SendRefund carries out the message that asks a provider to return money: body
// is that of a message of [TopicRefund]. It may be called again with the same
// body; the provider sees the same idempotency key, and what it answered is on
// disk when SendRefund returns nil. An error means that it is to be tried again.
func (o *Office) SendRefund(ctx context.Context, body []byte) error {
	var ref refundRef
	if err := json.Unmarshal(body, &ref); err != nil {
		return fmt.Errorf("sale: no refund: %w", err)
	}
	req, provider, wanted, err := o.beginRefund(ref)
	if err != nil || !wanted {
		return err
	}
	p, known := o.providers[provider]
	if !known {
		return fmt.Errorf("sale: the payment provider %q is not set up", provider)
	}
	answer, err := p.Refund(ctx, req)
	if err != nil && !errors.Is(err, ErrRefundRefused) {
		return err
	}
	return o.endRefund(ref, answer, err)
}

// beginRefund finds what is to be returned. Of money in no order it writes down
// that the provider is asked now: from then on nobody can book it elsewhere. The
// refund of an order is never withdrawn before the provider has refused it.
func (o *Office) beginRefund(ref refundRef) (req RefundRequest, provider string, wanted bool, err error) {
	req = RefundRequest{ID: ref.Refund, Order: ref.Order}
	err = o.store.Update(func(tx Tx) error {
		wanted = false
		if ref.Event != "" {
			rc, r := receiptRefund(tx, ref)
			if r == nil || !r.waits() {
				return nil
			}
			f := rc.Fact
			if id, err := uuid.Parse(f.Order); err == nil {
				req.Order = id
			}
			req.Payment, req.Ref, req.Amount, req.Currency = f.PaymentID, f.Ref, r.Amount, f.Currency
			provider, wanted = f.Provider, true
			if r.State != RefundSent {
				r.State = RefundSent
				tx.PutReceipt(rc)
			}
			return nil
		}
		n, ok := tx.Order(ref.Order)
		if !ok {
			return nil
		}
		i := n.findRefund(ref.Refund)
		p, paid := n.payer()
		if i < 0 || !paid || n.Refunds[i].State != RefundRequested {
			return nil
		}
		req.Payment, req.Ref, req.Amount, req.Currency = p.ID, p.Ref, n.Refunds[i].Amount, n.Currency
		provider, wanted = p.Provider, true
		return nil
	})
	return req, provider, wanted, err
}

// receiptRefund gives a private copy of a receipt with the refund that is meant,
// or nil.
func receiptRefund(r Reader, ref refundRef) (*Receipt, *Refund) {
	rc, ok := r.Receipt(ref.Provider, ref.Event)
	if !ok || rc.Refund == nil || rc.Refund.ID != ref.Refund {
		return nil, nil
	}
	rc = rc.clone()
	return rc, rc.Refund
}

func (rc *Receipt) clone() *Receipt {
	c := *rc
	if rc.Refund != nil {
		r := *rc.Refund
		c.Refund = &r
	}
	return &c
}

// endRefund books the provider's answer.
func (o *Office) endRefund(ref refundRef, a RefundAnswer, refused error) error {
	return o.store.Update(func(tx Tx) error {
		if ref.Event != "" {
			rc, r := receiptRefund(tx, ref)
			if r != nil && r.State == RefundSent { // else an event was quicker
				rc.endRefund(tx.Now(), a, refused)
				tx.PutReceipt(rc)
			}
			return nil
		}
		n, ok := tx.Order(ref.Order)
		if !ok {
			return nil
		}
		i := n.findRefund(ref.Refund)
		if i >= 0 && refused == nil && a.Done && n.Refunds[i].wentAs(a.ID) {
			o.returnedTwice(tx, n, i, a)
		}
		if i >= 0 && n.Refunds[i].State == RefundDone && n.Refunds[i].Provider == "" && a.ID != "" {
			n = n.clone()
			n.Refunds[i].Provider = a.ID // an event without a name was quicker
			tx.PutOrder(n)
		}
		if i < 0 || n.Refunds[i].State != RefundRequested {
			return nil
		}
		n = n.clone()
		n.Refunds[i].Provider = a.ID
		switch {
		case refused != nil:
			o.notReturned(tx, n, i, refused.Error())
		case a.Done:
			o.returned(tx, n, i)
		default:
			n.Refunds[i].State, n.UpdatedAt = RefundSent, tx.Now()
			n.note(tx.Now(), "refund.sent", houseActor, a.ID)
			tx.PutOrder(n)
		}
		return nil
	})
}

// returnedTwice books what a provider has returned for refund i, which somebody
// had made in the provider's own pages while it was asked.
func (o *Office) returnedTwice(tx Tx, n *Order, i int, a RefundAnswer) {
	p, _ := n.payer()
	rc := &Receipt{ReceivedAt: tx.Now(), Outcome: "applied", Fact: Fact{
		Provider: p.Provider, EventID: "refund:" + n.Refunds[i].ID.String(), Kind: FactRefunded, PaymentID: p.ID, Ref: p.Ref, Order: n.ID.String(),
		Amount: n.Refunds[i].Amount, Currency: n.Currency, RefundID: a.ID, CreatedAt: tx.Now(),
	}}
	if _, known := tx.Receipt(p.Provider, rc.Fact.EventID); !known {
		o.moneyWent(tx, n, rc.Fact, rc)
		tx.PutReceipt(rc)
	}
}

// endRefund books a provider's answer in a private copy. What could not be
// returned is on the attention list again; what went back by itself stays there
// until a person has seen it.
func (rc *Receipt) endRefund(now time.Time, a RefundAnswer, refused error) {
	r := rc.Refund
	r.Provider = cmp.Or(a.ID, r.Provider)
	switch {
	case refused != nil:
		r.State, r.Answer, r.EndedAt, rc.Settled = RefundFailed, outbox.Clip(refused.Error()), now, nil
	case a.Done:
		r.State, r.EndedAt, r.Answer = RefundDone, now, ""
	}
}

// moneyWent books that a provider returned money: because we asked, or because
// somebody did so in the provider's own pages.
func (o *Office) moneyWent(tx Tx, n *Order, f Fact, rc *Receipt) {
	p, ok := n.payer()
	mine := ok && p.is(f)
	if !mine && o.sideMoney(tx, f, rc) {
		return
	}
	if !mine || f.Odd != "" || f.Amount <= 0 || f.Currency != n.Currency {
		rc.Expected, rc.ExpectedIn = n.Total, n.Currency
		rc.attend(tx, unexpectedRefund, "The provider returned money that the order does not have.")
		return
	}
	done, open := n.Returned()
	i := n.refundOf(f)
	switch left := n.Received() - done - open; {
	case i >= 0 && f.Amount != n.Refunds[i].Amount:
		rc.Expected, rc.ExpectedIn = n.Refunds[i].Amount, n.Currency
		rc.attend(tx, unexpectedRefund, "The provider returned another sum than it was asked for.")
	case i >= 0 && n.Refunds[i].State == RefundDone:
		rc.ignore("This refund is booked already.")
		if n.Refunds[i].ToldAt.IsZero() {
			n = n.clone()
			n.Refunds[i].ToldAt = f.toldAt(tx)
			tx.PutOrder(n)
		}
	case i >= 0 && f.toldAt(tx).Before(n.Refunds[i].ToldAt):
		rc.ignore("This refund has failed since.")
	case i >= 0 && n.Refunds[i].State == RefundWithdrawn && f.Amount > left:
		rc.Expected, rc.ExpectedIn = left, n.Currency
		rc.attend(tx, unexpectedRefund, "The provider returned more than the order has left.")
	case i >= 0:
		n = n.clone()
		n.Refunds[i].Provider, n.Refunds[i].ToldAt = cmp.Or(f.RefundID, n.Refunds[i].Provider), f.toldAt(tx)
		o.returned(tx, n, i)
	case left == 0 && n.toldBefore(f):
		rc.ignore("All the money of this order is returned.")
	case f.nameless() && n.refundedOnce(f.Amount):
		rc.Expected, rc.ExpectedIn = left, n.Currency
		rc.attend(tx, unexpectedRefund, "The provider returned this sum before, and does not say which refund it tells of: it may be the same refund told again. Look there; if it is another one, return the rest by hand.")
	case f.Amount > left:
		rc.Expected, rc.ExpectedIn = left, n.Currency
		rc.attend(tx, unexpectedRefund, "The provider returned more than the order has left.")
	default:
		o.returnedByProvider(tx, n.clone(), f, rc, f.Amount == left)
	}
}

// returnedByProvider books a refund that nobody here asked for, in a private
// copy. With the last of the money the seats go back on sale, but for those that
// were used, and the tickets are dead; which seats a part of it is for, staff must
// say.
func (o *Office) returnedByProvider(tx Tx, n *Order, f Fact, rc *Receipt, whole bool) {
	r := Refund{
		ID: tx.NewID(), Amount: f.Amount, State: RefundRequested, Reason: "returned in the provider's own pages",
		By: f.Provider, At: tx.Now(), Provider: f.RefundID, ToldAt: f.toldAt(tx),
	}
	var keep []string
	if whole && n.Status == Paid {
		left, _ := n.refundable(nil)
		keep = n.endClaims(left, &r)
	}
	n.Refunds = append(n.Refunds, r)
	if !whole {
		rc.needsPerson(partialRefund, "The provider returned a part of the price. Take back the seats that it is for, or leave them to the buyer.")
	}
	o.returned(tx, n, len(n.Refunds)-1)
	o.seatsCameBack(tx, n, keep, f.Provider)
}

// moneyStayed books that a refund has failed after all.
func (o *Office) moneyStayed(tx Tx, n *Order, f Fact, rc *Receipt) {
	if p, ok := n.payer(); !(ok && p.is(f)) {
		if !o.sideMoney(tx, f, rc) {
			rc.ignore("No such refund is under way.")
		}
		return
	}
	i := n.refundOf(f)
	switch {
	case i < 0 || n.Refunds[i].State == RefundFailed || n.Refunds[i].State == RefundWithdrawn:
		rc.ignore("No such refund is under way.")
	case f.toldAt(tx).Before(n.Refunds[i].ToldAt):
		rc.ignore("The money was returned since.")
	default:
		n = n.clone()
		n.Refunds[i].ToldAt = f.toldAt(tx)
		o.notReturned(tx, n, i, errNotReturned.Error())
	}
}

// toldAt is when, by the provider's clock, things were as a fact says.
func (f Fact) toldAt(r Reader) time.Time {
	if f.CreatedAt.IsZero() {
		return r.Now()
	}
	return f.CreatedAt
}

var errNotReturned = errors.New("the provider could not return the money")

// is tells whether a fact speaks of this payment.
func (p *Payment) is(f Fact) bool {
	return p.Provider == f.Provider && (f.PaymentID != "" && p.ID == f.PaymentID || f.Ref != "" && p.Ref == f.Ref)
}

// nameless tells whether a fact does not say which refund it is about.
func (f Fact) nameless() bool { return f.RefundID == "" && f.Refund == "" }

// refundedOnce tells whether a refund of this sum is done.
func (o *Order) refundedOnce(sum int64) bool {
	return slices.ContainsFunc(o.Refunds, func(r Refund) bool { return r.State == RefundDone && r.Amount == sum })
}

// refundOf finds the refund that a fact speaks of: by our name, by the
// provider's, else the oldest of its sum that is under way and has no name yet.
// When the provider does not name refunds, it may be one that is done by the
// provider's answer and of which no event has told, or one that has failed since.
func (o *Order) refundOf(f Fact) int {
	id, err := uuid.Parse(f.Refund)
	ours := err == nil
	if i := o.findRefund(id); ours && i >= 0 && !o.Refunds[i].wentAs(f.RefundID) {
		return i
	}
	if f.RefundID != "" {
		if i := slices.IndexFunc(o.Refunds, func(r Refund) bool { return r.Provider == f.RefundID }); i >= 0 {
			return i
		}
	}
	if ours {
		return -1
	}
	fits := func(r Refund) bool { return r.Amount == f.Amount && (r.Provider == "" || f.RefundID == "") }
	untold := func(r Refund) bool {
		return f.Kind == FactRefunded && f.nameless() && r.State == RefundDone && r.ToldAt.IsZero() && !r.ByHand
	}
	i := slices.IndexFunc(o.Refunds, func(r Refund) bool { return (r.State.Open() || untold(r)) && fits(r) })
	if i < 0 && f.Kind == FactNotRefunded && f.RefundID == "" {
		i = slices.IndexFunc(o.Refunds, func(r Refund) bool { return r.State == RefundDone && fits(r) })
	}
	return i
}

// wentAs tells whether a refund is done by another one of the provider's than the
// one of this name: then both were made.
func (r *Refund) wentAs(other string) bool {
	return r.State == RefundDone && r.Provider != "" && other != "" && r.Provider != other
}

// toldBefore tells whether a refund without a name may be one that is booked.
func (o *Order) toldBefore(f Fact) bool {
	return slices.ContainsFunc(o.Refunds, func(r Refund) bool {
		return r.State == RefundDone && r.Amount == f.Amount && f.Refund == "" && (f.RefundID == "" || r.Provider == "")
	})
}

// sideMoney books a refund of money that is in no order: a payment on the
// attention list. It returns false when the fact speaks of another.
func (o *Office) sideMoney(tx Tx, f Fact, rc *Receipt) bool {
	same := func(rc *Receipt) bool {
		return rc.paidBy(f) && rc.Fact.Amount == f.Amount && rc.Fact.Currency == f.Currency
	}
	for _, old := range tx.Matters(same) {
		r := old.Refund
		if r != nil && f.Refund != "" && f.Refund != r.ID.String() {
			continue
		}
		c := old.clone()
		switch {
		case f.Kind == FactNotRefunded && (r == nil || !r.waits() && r.State != RefundDone):
			rc.ignore("No such refund is under way.")
			return true
		case f.Kind == FactNotRefunded:
			c.endRefund(tx.Now(), RefundAnswer{ID: f.RefundID}, errNotReturned)
		case r != nil && r.State == RefundDone:
			rc.ignore("This refund is booked already.")
			return true
		case r == nil: // somebody did so in the provider's own pages
			c.Refund = &Refund{ID: tx.NewID(), Amount: f.Amount, By: f.Provider, At: tx.Now()}
			fallthrough
		default:
			c.endRefund(tx.Now(), RefundAnswer{ID: f.RefundID, Done: true}, nil)
		}
		tx.PutReceipt(c)
		return true
	}
	return false
}
