package sale

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"foyer/queue"
)

// Receive books what a provider says, once per EventID. The fact is on disk
// when it returns, with what became of it. It never refuses a verified fact:
// one that fits no order or the wrong sum waits on the attention list.
func (o *Office) Receive(f Fact) (rc *Receipt, err error) {
	event := ""
	err = o.store.Update(func(tx Tx) error {
		if old, ok := tx.Receipt(f.Provider, f.EventID); ok {
			rc = old
			return nil
		}
		if n := orderOf(tx, f); n != nil {
			event = n.Event
		}
		rc = &Receipt{Fact: f, ReceivedAt: tx.Now(), Outcome: "applied"}
		o.apply(tx, f, rc)
		tx.PutReceipt(rc)
		return nil
	})
	switch {
	case err != nil || event == "":
	case f.Kind == FactSucceeded:
		o.saw(event, queue.Payments, 1, 0)
	case f.Kind == FactFailed:
		o.saw(event, queue.Payments, 0, 1)
	}
	return rc, err
}

func (rc *Receipt) ignore(reason string) { rc.Outcome, rc.Reason = "ignored", reason }

// onList is the reason of a fact that was told before.
const onList = "This payment is on the attention list already."

// attend puts a fact on the attention list, the same sum of a payment once,
// whatever number of events tell of it.
func (rc *Receipt) attend(r Reader, code, reason string) {
	f := rc.Fact
	told := func(old *Receipt) bool { return old.Attention == code && old.Fact.sameMoney(f) }
	if f.PaymentID != "" && len(r.Matters(told)) > 0 {
		rc.ignore(onList)
		return
	}
	rc.needsPerson(code, reason)
}

// sameMoney tells whether two facts speak of the same sum of the same payment,
// or of the same refund of it, for the same order.
func (f Fact) sameMoney(other Fact) bool {
	type money struct {
		provider, payment, order, refund, currency, odd string
		amount                                          int64
	}
	of := func(f Fact) money {
		return money{f.Provider, f.PaymentID, f.Order, f.RefundID, f.Currency, f.Odd, f.Amount}
	}
	return of(f) == of(other)
}

func (rc *Receipt) needsPerson(code, reason string) {
	rc.Outcome, rc.Attention, rc.Reason = "attention", code, reason
}

func (o *Office) apply(tx Tx, f Fact, rc *Receipt) {
	switch f.Kind {
	case FactSucceeded, FactFailed, FactRefunded, FactNotRefunded:
	default:
		rc.ignore("We do nothing about this kind of event.")
		return
	}
	n := orderOf(tx, f)
	if n == nil {
		o.applyToNone(tx, f, rc)
		return
	}
	switch f.Kind {
	case FactSucceeded:
		o.moneyCame(tx, n, f, rc)
	case FactFailed:
		o.moneyFailed(tx, n, f, rc)
	case FactRefunded:
		o.moneyWent(tx, n, f, rc)
	case FactNotRefunded:
		o.moneyStayed(tx, n, f, rc)
	}
}

// orderOf finds the order that a fact speaks of, by its id or, where the
// provider does not repeat that, by the payment.
func orderOf(tx Reader, f Fact) *Order {
	if id, err := uuid.Parse(f.Order); err == nil {
		n, _ := tx.Order(id)
		return n
	}
	if f.Order != "" {
		return nil
	}
	n, _ := tx.PaidBy(f.Provider, f.PaymentID, f.Ref)
	return n
}

// applyToNone is about money for an order that we do not know.
func (o *Office) applyToNone(tx Tx, f Fact, rc *Receipt) {
	switch f.Kind {
	case FactFailed:
		rc.ignore("A failed payment of an order we do not know.")
	case FactSucceeded:
		if n, known := tx.PaidBy(f.Provider, f.PaymentID, f.Ref); known && n.booked(f) { // staff found its order
			rc.ignore("This payment is booked already.")
			return
		}
		rc.attend(tx, unknownOrder, "Money for an order we do not know.")
	default:
		if !o.sideMoney(tx, f, rc) {
			rc.attend(tx, unknownOrder, "A refund of an order we do not know.")
		}
	}
}

func (o *Order) payment(f Fact) int {
	return slices.IndexFunc(o.Payments, func(p Payment) bool { return p.is(f) })
}

// booked tells whether the order has, or had, the money that a fact speaks of.
func (o *Order) booked(f Fact) bool {
	i := o.payment(f)
	return i >= 0 && o.Payments[i].State.Received()
}

// unnamed finds the attempt that the provider has not answered yet: its money
// may come before its name.
func (o *Order) unnamed(f Fact) int {
	return slices.IndexFunc(o.Payments, func(p Payment) bool {
		return p.Provider == f.Provider && p.ID == "" && p.State == PaymentStarted
	})
}

func (o *Office) moneyCame(tx Tx, n *Order, f Fact, rc *Receipt) {
	if n.booked(f) {
		rc.ignore("This payment is booked already.")
		return
	}
	if f.Odd != "" || f.Amount != n.Total || f.Currency != n.Currency {
		rc.Expected, rc.ExpectedIn = n.Total, n.Currency
		got := f.Odd
		if got == "" {
			got = fmt.Sprint(f.Amount)
		}
		rc.attend(tx, wrongSum, fmt.Sprintf("Paid %s %s, the order costs %d %s (minor units).", got, f.Currency, n.Total, n.Currency))
		remember(tx, n, rc)
		o.giveBack(tx, rc, decideTime)
		return
	}
	switch n.Status {
	case Paid, RefundDue, Refunded:
		why := SecondPayment
		if !f.named() {
			why += " It has no name: it may be the same payment, told twice."
		}
		rc.attend(tx, "surplus_payment", why)
		remember(tx, n, rc)
		o.giveBack(tx, rc, 0)
		return
	}
	if wentBack(tx, f) {
		rc.attend(tx, "surplus_payment", "The money of this payment went back already, when it was told with another sum.")
		remember(tx, n, rc)
		return
	}
	i := n.payment(f)
	if i < 0 {
		i = n.unnamed(f)
	}
	p := Payment{Attempt: tx.NewID(), Provider: f.Provider}
	if i >= 0 {
		p = n.Payments[i]
	}
	p.ID = f.PaymentID
	if f.Ref != "" {
		p.Ref = f.Ref
	}
	p.State, p.Amount, p.At = PaymentSucceeded, f.Amount, tx.Now()
	if s := o.settle(tx, n.clone(), p); s.Status == RefundDue {
		rc.Reason = "The money came after the deadline and the seats were gone: a refund is due."
	}
	if n.mismatched() {
		bookedSince(tx, f)
	}
	o.earlierRefunds(tx, f)
}

// wentBack tells whether money of the payment that a fact speaks of went back, or
// is on its way, from the attention list.
func wentBack(r Reader, f Fact) bool {
	return len(r.Matters(func(rc *Receipt) bool {
		return rc.paidBy(f) && rc.Refund != nil && (rc.Refund.State == RefundSent || rc.Refund.State == RefundDone)
	})) > 0
}

// earlierRefunds books the refunds of a payment that were told before its success.
func (o *Office) earlierRefunds(tx Tx, f Fact) {
	waits := func(rc *Receipt) bool {
		p := Payment{Provider: rc.Fact.Provider, ID: rc.Fact.PaymentID, Ref: rc.Fact.Ref}
		return rc.Fact.Kind == FactRefunded && rc.Outcome == "attention" && rc.Attention != partialRefund && rc.Settled == nil && p.is(f)
	}
	for _, old := range tx.Matters(waits) {
		c := old.clone()
		c.Outcome, c.Attention, c.Reason = "applied", "", ""
		if o.apply(tx, c.Fact, c); c.Reason != onList { // else it fits no better now
			tx.PutReceipt(c)
		}
	}
}

// remember notes in an order's history that money for it is on the attention list.
func remember(tx Tx, n *Order, rc *Receipt) {
	if rc.Outcome == "attention" {
		n = n.clone()
		n.UpdatedAt = tx.Now()
		n.note(tx.Now(), "payment."+rc.Attention, rc.Fact.Provider, rc.Reason)
		tx.PutOrder(n)
	}
}

// mismatched tells whether another sum was told of a payment of the order.
func (o *Order) mismatched() bool {
	return slices.ContainsFunc(o.History, func(c Change) bool { return c.Cause == "payment."+wrongSum })
}

// bookedSince takes other sums that were told of a payment off the attention
// list: its money is in its order now, and must not go back as well.
func bookedSince(tx Tx, f Fact) {
	for _, old := range tx.Matters(func(rc *Receipt) bool { return rc.paidBy(f) && rc.Fact.EventID != f.EventID && rc.Settled == nil }) {
		if c := old.clone(); c.withdrawRefund(tx.Now()) == nil {
			c.Outcome, c.Attention, c.Reason = "ignored", "", "The payment was booked with another sum since."
			tx.PutReceipt(c)
		}
	}
}

// named tells whether a fact says which payment it is about.
func (f Fact) named() bool { return f.PaymentID != "" || f.Ref != "" }

// paidBy tells whether a receipt is of money of the same payment as a fact.
func (rc *Receipt) paidBy(f Fact) bool {
	p := Payment{Provider: rc.Fact.Provider, ID: rc.Fact.PaymentID, Ref: rc.Fact.Ref}
	return rc.Fact.Kind == FactSucceeded && p.is(f)
}

// moneyFailed gives the order back to the buyer until its deadline. Only the
// attempt that runs can fail an order: an older one's failure says nothing
// about a newer one.
func (o *Office) moneyFailed(tx Tx, n *Order, f Fact, rc *Receipt) {
	i := n.payment(f)
	if i < 0 {
		i = n.unnamed(f)
	}
	if i < 0 || n.Payments[i].State != PaymentStarted {
		rc.ignore("No such payment is running.")
		return
	}
	n = n.clone()
	n.Payments[i].ID = cmp.Or(f.PaymentID, n.Payments[i].ID)
	if !o.failPayment(tx, n, i, "payment.failed", f.Provider) {
		rc.ignore("The order does not wait for this payment any more.")
	}
}

// failPayment ends payment i of a private copy without money, and tells whether
// the order waited for it.
func (o *Office) failPayment(tx Tx, n *Order, i int, cause, by string) (waited bool) {
	n.Payments[i].State, n.UpdatedAt = PaymentFailed, tx.Now()
	if waited = n.Status == Paying && i == len(n.Payments)-1; waited {
		n.Status = Pending
	}
	n.note(tx.Now(), cause, by, n.Payments[i].ID)
	tx.PutOrder(n)
	return waited
}

// Attention codes of money whose order we do not know, of money that is not what
// its order costs, of a part that went back in the provider's own pages, and of
// refunds that fit nothing.
const (
	unknownOrder     = "unknown_order"
	wrongSum         = "amount_mismatch"
	partialRefund    = "partial_refund"
	unexpectedRefund = "unexpected_refund"
)

// SecondPayment is the reason of a surplus that is nothing else.
const SecondPayment = "A second payment for an order that has its money."

// decideTime is how long staff have to decide about money of the wrong sum before
// it goes back by itself.
const decideTime = 24 * time.Hour

// giveBack has money on the attention list returned after some time, by the
// provider that took it. What the venue's own shop took, a sum that nobody can read,
// and a payment without a name, which may be told twice, wait for a person.
func (o *Office) giveBack(tx Tx, rc *Receipt, after time.Duration) {
	if rc.Outcome != "attention" || o.providers[rc.Fact.Provider] == nil || rc.Fact.Odd != "" || rc.Fact.Amount <= 0 || !rc.Fact.named() {
		return
	}
	goes := func(old *Receipt) bool {
		r := old.Refund
		return r != nil && (r.waits() || r.State == RefundDone) && old.paidBy(rc.Fact)
	}
	if len(tx.Matters(goes)) > 0 { // one payment told with two sums goes back once; a person decides about the other
		return
	}
	rc.Refund = &Refund{ID: tx.NewID(), Amount: rc.Fact.Amount, State: RefundRequested, Reason: rc.Reason, By: houseActor, At: tx.Now()}
	var at time.Time
	if after > 0 {
		at = tx.Now().Add(after)
	}
	o.sendReceiptRefund(tx, rc, at)
}

func (o *Office) sendReceiptRefund(tx Tx, rc *Receipt, at time.Time) {
	o.sendRefund(tx, refundRef{Refund: rc.Refund.ID, Provider: rc.Fact.Provider, Event: rc.Fact.EventID}, rc.Refund.ID, at)
}
