package sale

import (
	"slices"
	"strconv"

	"github.com/google/uuid"
)

// Confirmation is the venue's own server saying that money has come.
type Confirmation struct {
	Actor     string
	Key       string // the Idempotency-Key
	Amount    int64  // minor units
	Currency  string
	Reference string // the venue's name for the payment
}

// maxConfirms bounds the idempotency records of one order. Of further keys nothing
// is remembered: they give the order as it is, and money is known by its reference.
const maxConfirms = 64

// Confirm makes the order PAID on the word of the venue's own server. It is
// idempotent by key and by order: one that was PAID is given as it is, refunded or
// not. After the deadline it takes the same seats if they can be had; otherwise the
// order is REFUND_DUE and the refusal [ErrRefundDue] carries it.
func (o *Office) Confirm(order uuid.UUID, c Confirmation) (v *OrderView, err error) {
	key, body := hashesOf(c.Key, c.Amount, c.Currency, c.Reference)
	var late *Refusal
	err = o.store.Update(func(tx Tx) error {
		v, late = nil, nil
		n, ok := tx.Order(order)
		if !ok {
			return ErrNoSuchOrder
		}
		known, err := n.confirmed(key, body)
		if err != nil {
			return err
		}
		if !known {
			if n, err = o.confirm(tx, n, c, Confirmed{Key: key, Body: body}); err != nil {
				return err
			}
		}
		v = o.view(tx, n)
		if !n.wasPaid() {
			late = n.tooLate()
			late.Order = v
		}
		return nil
	})
	if err == nil && late != nil {
		return v, late
	}
	return v, err
}

// tooLate says of an order that never had its seats what became of its money.
func (o *Order) tooLate() *Refusal {
	who, then := "somebody else has them", "The money must be returned."
	if o.SeatsOffSale() {
		who = "they are not on sale any more"
	}
	if o.Status == Refunded {
		then = "The money was returned."
	}
	return ErrRefundDue.say("The money came when the time for these seats was over, and " + who + ". " + then)
}

// confirmed finds the record of a confirmation with this key.
func (o *Order) confirmed(key, body []byte) (known bool, err error) {
	for _, k := range o.Confirms {
		if known, err := again(key, body, k.Key, k.Body); known {
			return true, err
		}
	}
	return false, nil
}

func (o *Office) confirm(tx Tx, n *Order, c Confirmation, rec Confirmed) (*Order, error) {
	switch {
	case c.Amount <= 0 || c.Amount != n.Total:
		return nil, ErrAmount.say("The order costs " + strconv.FormatInt(n.Total, 10) + " minor units of " + n.Currency + ".")
	case c.Currency != n.Currency:
		return nil, ErrCurrency.say("The order is in " + n.Currency + ".")
	}
	n = n.clone()
	if len(n.Confirms) < maxConfirms {
		n.Confirms = append(n.Confirms, rec)
	}
	switch n.Status {
	case Paid, RefundDue, Refunded:
		surplus(tx, n, c)
		tx.PutOrder(n)
		return n, nil
	}
	n = o.settle(tx, n, Payment{Attempt: tx.NewID(), Provider: shop, ID: c.Reference, State: PaymentSucceeded, Amount: c.Amount, At: tx.Now(), By: c.Actor})
	return n, nil
}

// Names of providers that are none of [Config.Providers].
const (
	shop = "shop" // the venue's own server took the money
	door = "door" // staff took it
	free = "free" // there was nothing to take
)

// surplus puts the shop's money for an order that has its money already on the
// attention list, and notes it in a private copy of the order. The same reference
// is the same money.
func surplus(tx Tx, n *Order, c Confirmation) {
	booked := slices.ContainsFunc(n.Payments, func(p Payment) bool {
		return p.Provider == shop && p.ID == c.Reference && p.State != PaymentFailed
	})
	rc := &Receipt{ReceivedAt: tx.Now(), Fact: Fact{
		Provider: shop, EventID: n.ID.String() + " " + c.Reference, Kind: FactSucceeded, PaymentID: c.Reference,
		Order: n.ID.String(), Amount: c.Amount, Currency: c.Currency, CreatedAt: tx.Now(),
	}}
	if _, known := tx.Receipt(shop, rc.Fact.EventID); known || booked {
		return
	}
	rc.needsPerson("surplus_payment", SecondPayment)
	n.UpdatedAt = tx.Now()
	n.note(tx.Now(), "payment."+rc.Attention, shop, rc.Reason)
	tx.PutReceipt(rc)
}
