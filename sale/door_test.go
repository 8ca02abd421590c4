package sale_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

func atDoor(seats ...string) sale.DoorSale {
	return sale.DoorSale{Actor: "staff:ann", Event: gala, Seats: seats, Method: sale.Cash}
}

func (h *house) sell(s sale.DoorSale) *sale.OrderView {
	h.Helper()
	o, err := h.Sell(s)
	h.ok(err)
	return o
}

func TestSellingAtTheDoor(t *testing.T) {
	play(t, nil, func(h *house) {
		o := h.sell(atDoor("A-1", "A-2"))
		if p := o.Payments; o.Status != sale.Paid || o.Total != 8500 || len(o.Codes) != 2 || len(p) != 1 || p[0].Method != sale.Cash || p[0].By != "staff:ann" || p[0].Amount != 8500 {
			h.Errorf("%+v", o)
		}
		h.wantTold(o.ID, sale.TopicOrderPaid, sale.TopicTicketIssued, sale.TopicTicketIssued)
		best := atDoor()
		best.Best, best.Count, best.Category, best.Method = true, 6, "Stalls", sale.Card
		if o := h.sell(best); len(o.Seats) != 6 || o.Total != 6*4250 {
			h.Errorf("%+v", o)
		}
		friends := atDoor("B-1")
		friends.Method, friends.Buyer = sale.Free, sale.Buyer{Name: "Zoë"}
		if o := h.sell(friends); o.Total != 0 || o.Seats[0].Price != 0 || o.Status != sale.Paid {
			h.Errorf("%+v", o)
		}
		h.line(0, 0)
		if s := h.status(); s.Sold != 9 {
			h.Errorf("%d sold", s.Sold)
		}
		h.restart()
		_, err := h.PauseEvent("staff", gala, "")
		h.ok(err)
		h.sell(atDoor("B-2"))
		_, err = h.CloseEvent("staff", gala, "")
		h.ok(err)
		h.sell(atDoor("B-3"))
	})
}

func TestWhatTheDoorCannotSell(t *testing.T) {
	play(t, nil, func(h *house) {
		h.buyer().hold("A-1")
		h.bought("A-2")
		_, err := h.Sell(atDoor("A-1", "A-2", "A-3"))
		h.refused(err, sale.ErrSeatsTaken, "A-1", "A-2")
		for want, change := range map[*sale.Refusal]func(*sale.DoorSale){
			sale.ErrBadSale:     func(s *sale.DoorSale) { s.Method = "gold" },
			sale.ErrNoSuchSeat:  func(s *sale.DoorSale) { s.Seats = []string{"Z-1"} },
			sale.ErrNoSeats:     func(s *sale.DoorSale) { s.Seats = nil },
			sale.ErrDuplicate:   func(s *sale.DoorSale) { s.Seats = []string{"A-3", "A-3"} },
			sale.ErrNoSuchEvent: func(s *sale.DoorSale) { s.Event = "none" },
			sale.ErrBadBuyer:    func(s *sale.DoorSale) { s.Buyer.Email = "?" },
			sale.ErrTooMany:     func(s *sale.DoorSale) { s.Seats, s.Best, s.Count = nil, true, 51 },
			sale.ErrNotEnough:   func(s *sale.DoorSale) { s.Seats, s.Best, s.Count = nil, true, 50 },
		} {
			s := atDoor("A-3")
			change(&s)
			_, err := h.Sell(s)
			h.refused(err, want)
		}
		time.Sleep(120 * sec) // a hold whose time is over does not block the door
		h.sell(atDoor("A-1"))
		_, err = h.ChangeEvent("staff", gala, func(s *sale.Settings) error { s.Providers = []string{"bank"}; return nil })
		h.ok(err)
		_, err = h.Sell(atDoor("A-3"))
		h.refused(err, sale.ErrNoProvider)
		h.seats("SS")
	})
}

func TestSeatsOfTheHouse(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-3")
		_, err := h.BlockSeats("staff", gala, []string{"A-1", "A-3"}, sale.BlockHouse, "press")
		h.refused(err, sale.ErrSeatsTaken, "A-3")
		_, err = h.BlockSeats("staff", gala, []string{"A-1", "Z-9"}, sale.BlockHouse, "press")
		h.refused(err, sale.ErrNoSuchSeat, "Z-9")
		_, err = h.BlockSeats("staff", gala, []string{"A-1"}, sale.BlockHouse, "press")
		h.ok(err)
		_, err = h.BlockSeats("staff", gala, []string{"A-2"}, sale.BlockOffSale, "broken")
		h.ok(err)
		h.restart()
		h.seats("OOH")
		if s := h.status(); s.SeatsLeft != 16 {
			h.Errorf("%d seats left, want those on sale", s.SeatsLeft)
		}
		_, err = h.buyer().try("A-1")
		h.refused(err, sale.ErrSeatsTaken, "A-1")
		_, err = h.Sell(atDoor("A-1", "A-2"))
		h.refused(err, sale.ErrSeatsTaken, "A-2")
		o := h.sell(atDoor("A-1"))
		h.seats("SOH")
		if s := h.status(); s.Sold != 1 || s.SeatsLeft != 16 {
			h.Errorf("%d sold, %d left", s.Sold, s.SeatsLeft)
		}
		_, err = h.Refund(o.ID, sale.RefundWish{Actor: "staff"})
		h.ok(err)
		h.seats("OOH") // it is the house's again
		_, err = h.BlockSeats("staff", gala, []string{"A-1", "A-2"}, "", "")
		h.ok(err)
		h.seats("AAH")
		if s := h.status(); s.SeatsLeft != 18 {
			h.Errorf("%d seats left", s.SeatsLeft)
		}
	})
}

// B45: the key and the sale are one transaction, so neither can be there alone.
func TestB45TheSameKeySellsOnce(t *testing.T) {
	play(t, nil, func(h *house) {
		s := atDoor("A-1")
		s.Key = "k1"
		first := h.sell(s)
		h.together(func() { h.sell(s) }, func() { h.sell(s) })
		h.restart()
		if again := h.sell(s); again.ID != first.ID {
			h.Error("the same key sold again")
		}
		s.Seats = []string{"A-2"}
		_, err := h.Sell(s)
		h.refused(err, sale.ErrKeyReused)
		s.Actor = "staff:bob" // keys are each operator's own
		h.sell(s)
		s.Actor, s.Key, s.Seats = "staff:ann", "k2", []string{"A-1"}
		_, err = h.Sell(s)
		h.refused(err, sale.ErrSeatsTaken)
		s.Seats = []string{"A-3"}
		h.sell(s) // a refused sale used no key up
		h.seats("SSS")
		_, err = h.Refund(first.ID, sale.RefundWish{Actor: "staff"})
		h.ok(err)
		s.Key, s.Seats = "k1", []string{"A-1"}
		if again := h.sell(s); again.ID != first.ID || again.Status != sale.Refunded {
			h.Errorf("a repeat after the refund gives %s", again.Status)
		}
	})
}

func TestStaffTakeMoneyForAnOrder(t *testing.T) {
	play(t, nil, func(h *house) {
		h.bank.answer = done
		ann := h.buyer()
		ann.hold("A-1")
		p := ann.pay()
		_, err := h.Complete("staff:ann", ann.order, "", "")
		h.refused(err, sale.ErrBadSale)
		o, err := h.Complete("staff:ann", ann.order, sale.Cash, "at the desk")
		h.ok(err)
		if o.Status != sale.Paid || o.Payments[1].Method != sale.Cash || o.Payments[1].By != "staff:ann" {
			h.Errorf("%+v", o)
		}
		_, err = h.Complete("staff:ann", ann.order, sale.Cash, "")
		h.ok(err)
		for _, c := range [][2]string{{"staff:ann", sale.Card}, {"staff:bob", sale.Cash}} { // other money, which Foyer must not swallow
			_, err = h.Complete(c[0], ann.order, c[1], "")
			h.refused(err, sale.ErrOrderPaid)
		}
		_, err = h.Complete("staff:ann", h.sell(atDoor("B-1")).ID, sale.Cash, "")
		h.refused(err, sale.ErrOrderPaid)
		h.wantTold(ann.order, sale.TopicOrderPaid, sale.TopicTicketIssued)
		h.says("e1", sale.FactSucceeded, p.PaymentID, ann.order, 4250) // and the bank's money too
		h.matter("surplus_payment")
		h.asks()
		h.nothing()
		ann.orderIs(sale.Paid)

		bob, cem := h.buyer(), h.buyer()
		bob.hold("A-2")
		cem.hold("A-3")
		time.Sleep(121 * sec)
		h.tick()
		h.restart()
		_, err = h.Complete("staff:ann", bob.order, sale.Card, "") // the seat is free still
		h.ok(err)
		bob.orderIs(sale.Paid)
		h.buyer().hold("A-3")
		_, err = h.Complete("staff:ann", cem.order, sale.Card, "")
		h.refused(err, sale.ErrSeatsTaken)
		_, err = h.Complete("staff:ann", uuid.New(), sale.Card, "")
		h.refused(err, sale.ErrNoSuchOrder)
	})
}

func TestATicketLetsInOnce(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, _ := h.bought("A-1", "A-2")
		h.event("other", nil)
		o := ann.seen()
		a, err := h.CheckIn("door", gala, o.Codes[0])
		h.ok(err)
		if a.Order != ann.order || a.Seat.ID != "A-1" || !a.At.Equal(time.Now()) {
			h.Errorf("%+v", a)
		}
		h.restart()
		_, err = h.CheckIn("door", gala, o.Codes[0])
		h.refused(err, sale.ErrTicketUsed)
		if !strings.Contains(err.Error(), a.At.Format(time.RFC3339)) {
			h.Errorf("it does not say when: %v", err)
		}
		_, err = h.CheckIn("door", "other", o.Codes[1])
		h.refused(err, sale.ErrNoSuchTicket)
		for _, code := range []string{"code-" + uuid.NewString(), "", "code-" + uuid.Nil.String()} {
			_, err = h.CheckIn("door", gala, code)
			h.refused(err, sale.ErrNoSuchTicket)
		}
		h.ok(ann.let(1))
	})
}

// B42: what the return page is about to do cannot make the webhook's answer a lie.
func TestB42TheWebhookIsOnDiskWhateverTheReturnPageDoes(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		h.bank.during = func(r sale.StartRequest) { // Start has not answered, and never will
			h.outcome(h.says("e1", sale.FactSucceeded, "p-"+r.Attempt.String(), ann.order, 4250), "applied", "")
			h.restart()
			h.bank.down = true
		}
		_, err := ann.tryPay()
		h.refused(err, sale.ErrProviderDown)
		ann.orderIs(sale.Paid)
		h.wantTold(ann.order, sale.TopicOrderPaid, sale.TopicTicketIssued)
	})
}
