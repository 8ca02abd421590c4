package sale

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Ways to settle something on the attention list.
const (
	HowComplete = "complete" // it is well, or was made well
	HowRefund   = "refund"   // the money goes back the way it came
	HowDismiss  = "dismiss"  // nothing is done about it
)

// Decision is what staff decide about something on the attention list.
type Decision struct {
	Actor  string
	How    string    // [HowComplete], [HowRefund] or [HowDismiss]
	Reason string    // needed to dismiss, and to complete what Foyer cannot do itself
	Order  uuid.UUID // to complete money of an unknown order: the order that it is for
}

func (d Decision) check() error {
	if wrong := checkText("The reason", d.Reason, 0, maxReason); wrong != "" {
		return ErrBadReason.say(wrong)
	}
	switch d.How {
	case HowComplete, HowRefund:
	case HowDismiss:
		if strings.TrimSpace(d.Reason) == "" {
			return ErrBadReason.say("Say why nothing is to be done about it, for those who look at the books later.")
		}
	default:
		return ErrNotThatWay.say(`The ways are "complete", "refund" and "dismiss".`)
	}
	return nil
}

// SettlePayment decides about a payment fact on the attention list, by its
// number. What [HowComplete] does depends on it: money of the wrong sum makes its
// order PAID, and the difference is let go; money of an unknown order is booked in
// the order that the decision names; money that a provider was asked to return
// three days ago, and has not answered about, counts as returned; any other is
// only ticked off, with a reason. It refuses with [ErrNoSuchMatter],
// [ErrNoSuchOrder], [ErrNotThatWay], [ErrRefundRuns], [ErrSeatsTaken] and
// [ErrBadReason].
func (o *Office) SettlePayment(seq uint64, d Decision) error {
	if err := d.check(); err != nil {
		return err
	}
	return o.store.Update(func(tx Tx) error {
		found := tx.Matters(func(rc *Receipt) bool { return rc.Seq == seq && rc.undecided(tx.Now()) })
		if len(found) == 0 {
			return ErrNoSuchMatter
		}
		rc := found[0].clone()
		matter := rc.Attention
		var err error
		switch d.How {
		case HowComplete:
			err = o.completePayment(tx, rc, d)
		case HowRefund:
			err = o.refundPayment(tx, rc, d)
		default:
			err = rc.withdrawIfAsked(tx.Now())
		}
		if err != nil {
			return err
		}
		if rc.Attention == matter { // else it is well now, or something else is to be decided about it
			rc.Settled = &Settled{At: tx.Now(), By: d.Actor, How: d.How, Reason: d.Reason}
		}
		tx.PutReceipt(rc)
		o.audit(tx, d.Actor, "", "attention."+d.How, strings.TrimSpace(matter+" "+rc.Fact.Provider+" "+rc.Fact.PaymentID+" "+rc.Fact.sum()+" "+d.Reason))
		return nil
	})
}

// sum is the money of a fact for the audit, in minor units.
func (f Fact) sum() string {
	return cmp.Or(f.Odd, strconv.FormatInt(f.Amount, 10)) + " " + f.Currency + " (minor units)"
}

// patience is how long the answer about a refund is waited for: as long as the
// message that asks for it is tried. After that staff may have heard otherwise.
const patience = 72 * time.Hour

// undecided tells whether a person must look at a fact on the attention list.
func (rc *Receipt) undecided(now time.Time) bool {
	r := rc.Refund
	return rc.Settled == nil || rc.Settled.How == HowRefund && r != nil && r.waits() && now.Sub(r.At) >= patience
}

// waits tells whether the provider is, or is to be, asked.
func (r *Refund) waits() bool { return r.State == RefundRequested || r.State == RefundSent }

// completePayment makes well what a private copy of a receipt is about.
func (o *Office) completePayment(tx Tx, rc *Receipt, d Decision) error {
	if r := rc.Refund; r != nil && r.State == RefundSent && tx.Now().Sub(r.At) >= patience {
		if strings.TrimSpace(d.Reason) == "" {
			return ErrBadReason.say("Say how you know where the money is, for those who look at the books later.")
		}
		r.State, r.EndedAt, r.By = RefundDone, tx.Now(), d.Actor
		return nil
	}
	if rc.Attention == wrongSum && rc.Fact.Kind == FactSucceeded {
		return o.acceptSum(tx, rc, d)
	}
	if rc.Attention == unknownOrder && d.Order != uuid.Nil {
		if _, ok := tx.Order(d.Order); !ok {
			return ErrNoSuchOrder.say("There is no order with this id.")
		}
		if err := rc.withdrawRefund(tx.Now()); err != nil {
			return err
		}
		rc.Fact.Order = d.Order.String()
		rc.Outcome, rc.Attention, rc.Reason = "applied", "", "booked by "+d.Actor
		o.apply(tx, rc.Fact, rc)
		return nil
	}
	if strings.TrimSpace(d.Reason) == "" {
		return ErrBadReason.say("Say how it was settled, for those who look at the books later.")
	}
	return rc.withdrawIfAsked(tx.Now())
}

// acceptSum makes the order PAID for another sum than its total.
func (o *Office) acceptSum(tx Tx, rc *Receipt, d Decision) error {
	n, err := acceptable(tx, rc.Fact)
	if err != nil {
		return err
	}
	if err := rc.withdrawRefund(tx.Now()); err != nil {
		return err
	}
	n = n.clone()
	if gone := o.takeSeats(tx, n); gone != "" {
		return notHad(gone)
	}
	n.Waived = n.Total - rc.Fact.Amount
	p := Payment{Attempt: tx.NewID(), Provider: rc.Fact.Provider}
	if i := n.payment(rc.Fact); i >= 0 {
		p = n.Payments[i]
	}
	p.ID, p.Ref, p.State, p.Amount, p.At, p.By = rc.Fact.PaymentID, rc.Fact.Ref, PaymentSucceeded, rc.Fact.Amount, tx.Now(), d.Actor
	o.markPaid(tx, n, p)
	rc.Outcome, rc.Attention, rc.Reason = "applied", "", "another sum was accepted by "+d.Actor
	bookedSince(tx, rc.Fact)
	o.earlierRefunds(tx, rc.Fact)
	return nil
}

// notHad says why an order without money cannot have its seats, see takeSeats.
func notHad(gone string) error {
	if gone == lateOffSale {
		return ErrSeatsTaken.say("Seats of this order are not on sale any more. Put them back on sale first, or return the money.")
	}
	return ErrSeatsTaken.say("Somebody else has seats of this order now. Return the money.")
}

// acceptable finds the order that money of another sum than its total can pay.
func acceptable(r Reader, f Fact) (*Order, error) {
	n := orderOf(r, f)
	switch {
	case n == nil:
		return nil, ErrNoSuchOrder.say("The order is not known any more. Return the money.")
	case f.Currency != n.Currency || f.Odd != "" || f.Amount <= 0:
		return nil, ErrNotThatWay.say("The order is in " + n.Currency + ". Return the money.")
	case n.Status == Paid || n.Status == RefundDue || n.Status == Refunded:
		return nil, ErrNotThatWay.say("The order has its money already. Return this one.")
	}
	return n, nil
}

// withdrawRefund takes back that the money of a private copy of a receipt goes
// back by itself.
func (rc *Receipt) withdrawRefund(now time.Time) error {
	switch {
	case rc.Refund == nil || rc.Refund.State == RefundFailed:
	case rc.Refund.State == RefundRequested:
		rc.Refund.State, rc.Refund.EndedAt = RefundWithdrawn, now
	case rc.Refund.State == RefundSent:
		return ErrRefundRuns
	default:
		return ErrNotThatWay.say("The money has gone back.")
	}
	return nil
}

// withdrawIfAsked is withdrawRefund where it is well that the money has gone back.
func (rc *Receipt) withdrawIfAsked(now time.Time) error {
	if rc.returned() {
		return nil
	}
	return rc.withdrawRefund(now)
}

// refundPayment has the money of a private copy of a receipt returned now.
func (o *Office) refundPayment(tx Tx, rc *Receipt, d Decision) error {
	f := rc.Fact
	if err := o.returnable(f); err != nil {
		return err
	}
	switch {
	case rc.Refund != nil && rc.Refund.State == RefundDone:
		return nil
	case rc.Refund == nil || rc.Refund.State == RefundFailed || rc.Refund.State == RefundWithdrawn:
		rc.Refund = &Refund{ID: tx.NewID(), Amount: f.Amount, State: RefundRequested, Reason: d.Reason, By: d.Actor, At: tx.Now()}
	}
	o.sendReceiptRefund(tx, rc, time.Time{})
	return nil
}

// returnable refuses money that Foyer cannot return.
func (o *Office) returnable(f Fact) error {
	switch {
	case f.Kind != FactSucceeded:
		return ErrNotThatWay.say("There is no money to return: the provider has returned it.")
	case o.providers[f.Provider] == nil:
		return ErrNotThatWay.say("Foyer cannot return money of " + f.Provider + ". Return it there, then complete this.")
	case f.Odd != "" || f.Amount <= 0:
		return ErrNotThatWay.say("The sum cannot be read. Return the money at the provider, then complete this.")
	case !f.named():
		return ErrNotThatWay.say("The provider did not name the payment, so Foyer cannot ask for it. Return it there, then complete this.")
	}
	return nil
}

// SettleRefund decides about a refund of an order that is not done. To complete
// it says that a person has given the money back; to refund asks the provider
// again. It can be dismissed only when it failed and no seat was ever taken back
// from the buyer: else the money is his. It refuses as [Office.SettlePayment] does.
func (o *Office) SettleRefund(order, refund uuid.UUID, d Decision) error {
	if err := d.check(); err != nil {
		return err
	}
	return o.store.Update(func(tx Tx) error {
		n, ok := tx.Order(order)
		if !ok {
			return ErrNoSuchMatter
		}
		i := n.findRefund(refund)
		if i < 0 || !n.Refunds[i].State.Open() {
			return ErrNoSuchMatter
		}
		n = n.clone()
		o.audit(tx, d.Actor, n.Event, "refund."+d.How, strings.TrimSpace(n.ID.String()+" "+Fact{Amount: n.Refunds[i].Amount, Currency: n.Currency}.sum()+" "+d.Reason))
		switch d.How {
		case HowComplete:
			return o.returnedByHand(tx, n, i, d.Actor, d.Reason)
		case HowRefund:
			return o.askAgain(tx, n, i)
		}
		if r := &n.Refunds[i]; n.mayDrop(i) {
			r.State, n.UpdatedAt = RefundWithdrawn, tx.Now() // the buyer has the seats: nothing is owed
			n.note(tx.Now(), "refund.withdrawn", d.Actor, d.Reason)
			tx.PutOrder(n)
			return nil
		}
		return ErrNotThatWay.say("This money is owed: seats were taken back from the buyer, or he never had them. Return it, then complete this.")
	})
}

// mayDrop tells whether refund i can be dismissed: it failed, and the buyer has
// all his seats.
func (o *Order) mayDrop(i int) bool {
	taken := slices.ContainsFunc(o.Seats, func(s OrderSeat) bool { return s.Refund != uuid.Nil })
	return o.Refunds[i].State == RefundFailed && o.Status == Paid && !taken
}

// returnedByHand books that staff gave the money of refund i of a private copy
// back, unless the provider may be at it.
func (o *Office) returnedByHand(tx Tx, n *Order, i int, actor, reason string) error {
	r := &n.Refunds[i]
	p, _ := n.payer()
	asked := r.State == RefundSent || p != nil && o.providers[p.Provider] != nil
	if asked && r.waits() && tx.Now().Sub(r.At) < patience {
		return ErrRefundRuns.say("The provider is asked to return the money. Wait for its answer, for three days at most.")
	}
	if asked && r.waits() && strings.TrimSpace(reason) == "" {
		return ErrBadReason.say("Say how you know that the buyer has the money, for those who look at the books later.")
	}
	r.By, r.ByHand = actor, true // Reason stays: it is for the buyer, this one is not
	o.returnedAs(tx, n, i, reason)
	return nil
}

// askAgain has a provider asked again about refund i of a private copy. After a
// refusal that is a new refund: the same one would get the same answer.
func (o *Office) askAgain(tx Tx, n *Order, i int) error {
	r := &n.Refunds[i]
	p, _ := n.payer()
	switch {
	case p == nil || o.providers[p.Provider] == nil:
		return ErrNotThatWay.say("Foyer cannot return this money. Return it where it was paid, then complete this.")
	case r.State == RefundSent:
		return ErrRefundRuns
	case r.State == RefundFailed:
		was := r.ID
		*r = Refund{ID: tx.NewID(), Seats: r.Seats, Amount: r.Amount, State: RefundRequested, Reason: r.Reason, By: r.By, At: tx.Now(), ToldAt: r.ToldAt}
		for k := range n.Seats {
			if n.Seats[k].Refund == was {
				n.Seats[k].Refund = r.ID
			}
		}
	}
	n.UpdatedAt = tx.Now()
	n.note(tx.Now(), "refund.requested", r.By, "")
	o.sendRefund(tx, refundRef{Refund: r.ID, Order: n.ID}, n.ID, time.Time{})
	tx.PutOrder(n)
	return nil
}
