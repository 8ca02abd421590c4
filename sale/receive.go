package sale

import (
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// Receive books what a provider says, once per EventID. The fact is on disk
// when it returns, with what became of it. It never refuses a verified fact:
// one that fits no order or the wrong sum waits on the attention list.
func (o *Office) Receive(f Fact) (rc *Receipt, err error) {
	err = o.store.Update(func(tx Tx) error {
		if old, ok := tx.Receipt(f.Provider, f.EventID); ok {
			rc = old
			return nil
		}
		rc = &Receipt{Fact: f, ReceivedAt: tx.Now(), Outcome: "applied"}
		o.apply(tx, f, rc)
		tx.PutReceipt(rc)
		return nil
	})
	return rc, err
}

func (rc *Receipt) ignore(reason string) { rc.Outcome, rc.Reason = "ignored", reason }

// attend puts a fact on the attention list, the same sum of a payment once,
// whatever number of events tell of it.
func (rc *Receipt) attend(r Reader, code, reason string) {
	if rc.Fact.PaymentID != "" && r.Attended(rc.Fact, code) {
		rc.ignore("This payment is on the attention list already.")
		return
	}
	rc.needsPerson(code, reason)
}

func (rc *Receipt) needsPerson(code, reason string) {
	rc.Outcome, rc.Attention, rc.Reason = "attention", code, reason
}

func (o *Office) apply(tx Tx, f Fact, rc *Receipt) {
	id, err := uuid.Parse(f.Order)
	var n *Order
	if err == nil {
		n, _ = tx.Order(id)
	}
	if n == nil {
		if f.Kind == FactFailed {
			rc.ignore("A failed payment of an order we do not know.")
			return
		}
		rc.attend(tx, "unknown_order", "Money for an order we do not know.")
		return
	}
	switch f.Kind {
	case FactSucceeded:
		o.moneyCame(tx, n, f, rc)
	case FactFailed:
		o.moneyFailed(tx, n, f, rc)
	case FactRefunded:
		o.moneyWent(tx, n, f, rc)
	default:
		rc.ignore("We do nothing about this kind of event.")
	}
}

func (o *Order) payment(f Fact) int {
	if f.PaymentID == "" {
		return -1
	}
	return slices.IndexFunc(o.Payments, func(p Payment) bool { return p.Provider == f.Provider && p.ID == f.PaymentID })
}

// unnamed finds the attempt that the provider has not answered yet: its money
// may come before its name.
func (o *Order) unnamed(f Fact) int {
	return slices.IndexFunc(o.Payments, func(p Payment) bool {
		return p.Provider == f.Provider && p.ID == "" && p.State == PaymentStarted
	})
}

func (o *Office) moneyCame(tx Tx, n *Order, f Fact, rc *Receipt) {
	i := n.payment(f)
	if i >= 0 && (n.Payments[i].State == PaymentSucceeded || n.Payments[i].State == PaymentRefunded) {
		rc.ignore("This payment is booked already.")
		return
	}
	if f.Odd != "" || f.Amount != n.Total || f.Currency != n.Currency {
		rc.Expected, rc.ExpectedIn = n.Total, n.Currency
		got := f.Odd
		if got == "" {
			got = fmt.Sprint(f.Amount)
		}
		rc.attend(tx, "amount_mismatch", fmt.Sprintf("Paid %s %s, the order costs %d %s (minor units).", got, f.Currency, n.Total, n.Currency))
		return
	}
	switch n.Status {
	case Paid, RefundDue, Refunded:
		rc.attend(tx, "surplus_payment", "A second payment for an order that has its money.")
		return
	}
	if i < 0 {
		i = n.unnamed(f)
	}
	p := Payment{Attempt: tx.NewID(), Provider: f.Provider}
	if i >= 0 {
		p = n.Payments[i]
	}
	p.ID = f.PaymentID
	p.State, p.Amount, p.At = PaymentSucceeded, f.Amount, tx.Now()
	if s := o.settle(tx, n.clone(), p); s.Status == RefundDue {
		rc.Reason = "The money came after the deadline and the seats were gone: a refund is due."
	}
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
	n.Payments[i].State, n.Payments[i].ID = PaymentFailed, f.PaymentID
	n.UpdatedAt = tx.Now()
	if n.Status == Paying && i == len(n.Payments)-1 {
		n.Status = Pending
	} else {
		rc.ignore("The order does not wait for this payment any more.")
	}
	tx.PutOrder(n)
}

func (o *Office) moneyWent(tx Tx, n *Order, f Fact, rc *Receipt) {
	i := n.payment(f)
	if n.Status == Refunded && i >= 0 && n.Payments[i].State == PaymentRefunded {
		rc.ignore("This refund is booked already.")
		return
	}
	if n.Status != RefundDue || i < 0 || f.Odd != "" || f.Amount != n.Total || f.Currency != n.Currency {
		rc.Expected, rc.ExpectedIn = n.Total, n.Currency
		rc.attend(tx, "unexpected_refund", "The provider returned money that we did not ask it to return.")
		return
	}
	n = n.clone()
	n.Payments[i].State = PaymentRefunded
	n.Status, n.UpdatedAt = Refunded, tx.Now()
	tx.PutOrder(n)
	o.send(tx, TopicOrderRefunded, orderKey(n), orderDoc(n))
}
