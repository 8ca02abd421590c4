package sale_test

import (
	"testing"

	"foyer/sale"
)

// The buyer's own newer hold never blocks his money; it ends in the same
// transaction, or the seat would be held and sold.
func TestLateMoneyEndsTheBuyersNewerHoldOfTheSameSeats(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1", "A-2")
		old := ann.order
		h.ok(h.Release(ann.id, old))
		ann.hold("A-2", "A-3")
		_, err := h.confirm(old, "k", 8500)
		h.ok(err)
		h.orderIs(old, sale.Paid)
		ann.orderIs(sale.Cancelled)
		h.line(0, 0)
		h.seats("SSA")
	})
}
