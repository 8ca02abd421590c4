package store

import (
	"slices"

	"github.com/google/uuid"

	"foyer/sale"
)

func (t *tx) Receipt(provider, eventID string) (*sale.Receipt, bool) {
	if rc, ok := t.receipts.get(receiptKey{provider, eventID}); ok {
		return rc, true
	}
	return t.reader.Receipt(provider, eventID)
}

func (t *tx) PaidBy(provider, payment, ref string) (*sale.Order, bool) {
	for _, o := range t.orders.all() {
		if o.HasPayment(provider, payment, ref) {
			return o, true
		}
	}
	if o, ok := t.reader.PaidBy(provider, payment, ref); ok {
		return t.Order(o.ID)
	}
	return nil, false
}

func (t *tx) Ticketed(ticket uuid.UUID) (*sale.Order, bool) {
	for _, o := range t.orders.all() {
		if slices.ContainsFunc(o.Seats, func(s sale.OrderSeat) bool { return s.Ticket == ticket }) {
			return o, true
		}
	}
	return t.reader.Ticketed(ticket)
}

func (t *tx) Matters(want func(*sale.Receipt) bool) []*sale.Receipt {
	found := t.reader.eachMatter(want, func(k receiptKey) bool { _, written := t.receipts.get(k); return written })
	for _, rc := range t.receipts.all() {
		if rc.Attention != "" && (want == nil || want(rc)) {
			found = append(found, rc)
		}
	}
	return inTheirOrder(found)
}

func (t *tx) PutReceipt(rc *sale.Receipt) {
	if old, ok := t.Receipt(rc.Fact.Provider, rc.Fact.EventID); ok {
		rc.Seq = old.Seq
	} else {
		n, some := t.nextFact.get(struct{}{})
		if !some {
			n = t.next.receipt
		}
		rc.Seq = n
		t.nextFact.put(struct{}{}, n+1)
	}
	t.receipts.put(receiptKey{rc.Fact.Provider, rc.Fact.EventID}, rc)
}
