package sale

import (
	"github.com/google/uuid"
)

// inspectedFact is a payment fact that was applied, with what it says of a payment.
type inspectedFact struct {
	seq  uint64
	kind FactKind
	Payment
	order    uuid.UUID
	currency string
	ignored  bool // it told of a refund that was booked before
}

// Receipt is fed a receipt and the number that its row is named by.
func (i *Inspection) Receipt(seq uint64, rc *Receipt) {
	i.count.Receipts++
	i.stamp(rc.ReceivedAt)
	if gap := i.receipts.gap(seq); gap != "" {
		i.Add("I8", "%s", "the payment facts lack "+gap)
	}
	f := &rc.Fact
	if rc.Seq != seq {
		i.Add("row", "payment fact %d says that it is number %d", seq, rc.Seq)
	}
	if _, twice := i.facts[[2]string{f.Provider, f.EventID}]; twice {
		i.Add("I8", "fact %q of provider %q was booked twice", f.EventID, f.Provider)
	}
	i.facts[[2]string{f.Provider, f.EventID}] = struct{}{}
	if (rc.Outcome == "attention") != (rc.Attention != "") {
		i.Add("I8", "payment fact %d is %q, and on the attention list as %q", seq, rc.Outcome, rc.Attention)
	}
	switch rc.Outcome {
	case "attention":
		if rc.Attention == partialRefund { // it was booked, and a person chooses the seats
			i.keepFact(seq, rc)
		}
		if f.Kind == FactSucceeded {
			m := i.count.Money[f.Currency]
			if rc.Refund != nil && rc.Refund.State == RefundDone {
				i.add(&m.Refunded, f.Amount, f.Currency)
			} else {
				i.add(&m.Attention, f.Amount, f.Currency)
			}
			i.count.Money[f.Currency] = m
		}
	case "ignored":
		if f.Kind == FactRefunded {
			i.keepFact(seq, rc)
		}
	case "applied":
		i.keepFact(seq, rc)
	default:
		i.Add("row", "payment fact %d has the unknown outcome %q", seq, rc.Outcome)
	}
}

// keepFact keeps what must be found in an order. Failures need not: later
// payments may have taken their place.
func (i *Inspection) keepFact(seq uint64, rc *Receipt) {
	f := &rc.Fact
	id, err := uuid.Parse(f.Order)
	switch {
	case f.Kind == FactFailed:
		return
	case f.Kind != FactSucceeded && err != nil: // its order was found by its payment
		i.nameless = true
		return
	case err != nil:
		i.Add("I8", "payment fact %d was applied to an order %q, which is no order's id", seq, f.Order)
		return
	}
	i.applied = append(i.applied, inspectedFact{seq, f.Kind, Payment{Provider: f.Provider, ID: f.PaymentID, Ref: f.Ref, Amount: f.Amount}, id, f.Currency, rc.Outcome == "ignored"})
}

// closeFacts holds the facts that were applied against the orders, and the other
// way round. A refund may be done without a fact: by the provider's answer.
func (i *Inspection) closeFacts() {
	for _, f := range i.applied {
		o := i.orders[f.order]
		switch {
		case f.kind != FactSucceeded:
			i.closeRefunded(f, o)
			continue
		case o == nil || !o.status.hasMoney():
			i.Add("I8", "payment fact %d: %d %s were booked for order %s, which is %s", f.seq, f.Amount, f.currency, f.order, o.is())
			continue
		case o.provider != f.Provider || o.payment != f.ID && f.ID != "" || o.received != f.Amount || o.currency != f.currency:
			i.Add("I8", "payment fact %d: %d %s of payment %q were booked for order %s, which has %d %s of another payment",
				f.seq, f.Amount, f.currency, f.ID, f.order, o.received, o.currency)
		}
		o.facts++
	}
	for id, o := range i.orders {
		byItself := o.provider == shop || o.provider == free || o.provider == door || o.provider == "" // no provider speaks of these
		if o.status.hasMoney() && !byItself && o.facts != 1 {
			i.Add("I8", "order %s has %d %s of provider %q, and %d payment facts say so", id, o.received, o.currency, o.provider, o.facts)
		}
		if o.told > 0 && o.toldBack == 0 && !i.nameless {
			i.Add("I8", "order %s has a refund of which provider %q told, and no payment fact does", id, o.provider)
		}
	}
}

// closeRefunded wants a refund where the provider told of one. Orders of older
// files have none when they are REFUNDED.
func (i *Inspection) closeRefunded(f inspectedFact, o *inspectedOrder) {
	if o == nil || !(&Payment{Provider: o.provider, ID: o.payment, Ref: o.ref}).is(Fact{Provider: f.Provider, PaymentID: f.ID, Ref: f.Ref}) {
		return // of a payment on the attention list
	}
	if o.toldBack++; f.kind == FactRefunded && !f.ignored && o.told == 0 && o.status != Refunded {
		i.Add("I8", "payment fact %d: %d %s went back from order %s, which is %s and has no such refund", f.seq, f.Amount, f.currency, f.order, o.status)
	}
}
