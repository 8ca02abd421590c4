package sale

import (
	"github.com/google/uuid"
)

// inspectedFact is a payment fact that was applied.
type inspectedFact struct {
	seq               uint64
	kind              FactKind
	order             uuid.UUID
	provider, payment string
	amount            int64
	currency          string
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
		if f.Kind == FactSucceeded {
			m := i.count.Money[f.Currency]
			m.Attention += f.Amount
			i.count.Money[f.Currency] = m
		}
	case "ignored":
	case "applied":
		i.keepFact(seq, f)
	default:
		i.Add("row", "payment fact %d has the unknown outcome %q", seq, rc.Outcome)
	}
}

// keepFact keeps what must be found in an order. A failure need not: a later
// success may have taken its place.
func (i *Inspection) keepFact(seq uint64, f *Fact) {
	if f.Kind != FactSucceeded && f.Kind != FactRefunded {
		return
	}
	id, err := uuid.Parse(f.Order)
	if err != nil {
		i.Add("I8", "payment fact %d was applied to an order %q, which is no order's id", seq, f.Order)
		return
	}
	i.applied = append(i.applied, inspectedFact{seq, f.Kind, id, f.Provider, f.PaymentID, f.Amount, f.Currency})
}

// closeFacts holds the facts that were applied against the orders, and the other
// way round.
func (i *Inspection) closeFacts() {
	for _, f := range i.applied {
		o := i.orders[f.order]
		switch {
		case o == nil || !o.status.hasMoney():
			i.Add("I8", "payment fact %d: %d %s were booked for order %s, which is %s", f.seq, f.amount, f.currency, f.order, o.is())
			continue
		case o.provider != f.provider || o.payment != f.payment && f.payment != "" || o.total != f.amount || o.currency != f.currency:
			i.Add("I8", "payment fact %d: %d %s of payment %q were booked for order %s, which has %d %s of another payment",
				f.seq, f.amount, f.currency, f.payment, f.order, o.total, o.currency)
		case f.kind == FactRefunded && o.status != Refunded:
			i.Add("I8", "payment fact %d: the money of order %s went back, and it is %s", f.seq, f.order, o.status)
		}
		if f.kind == FactSucceeded {
			o.facts++
		} else {
			o.refunds++
		}
	}
	for id, o := range i.orders {
		byItself := o.provider == shop || o.provider == "free" || o.provider == "door" || o.provider == "" // no provider speaks of these
		if !o.status.hasMoney() || byItself {
			continue
		}
		if o.facts != 1 {
			i.Add("I8", "order %s has %d %s of provider %q, and %d payment facts say so", id, o.total, o.currency, o.provider, o.facts)
		}
		if o.status == Refunded && o.refunds != 1 {
			i.Add("I8", "the %d %s of order %s went back through provider %q, and %d payment facts say so", o.total, o.currency, id, o.provider, o.refunds)
		}
	}
}
