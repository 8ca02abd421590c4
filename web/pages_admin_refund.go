package web

import (
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"foyer/sale"
)

// handBack says to the clerk what is to be done about the money of a refund.
func handBack(o *sale.OrderView, r sale.Refund, in locale) string {
	sum := formatMoney(r.Amount, o.Currency, in)
	p, _ := o.Paid()
	switch {
	case r.Amount == 0:
		return "Taken back. There is no money to return."
	case p.Provider == "door" && p.Method == sale.Card:
		return "Taken back. Return " + sum + " on the card machine now."
	case p.Provider == "door":
		return "Taken back. Give the buyer " + sum + " in cash now."
	case p.Provider == "shop":
		return "Taken back. Return " + sum + " in the venue’s own shop; it stays on the attention list until somebody says that it is done."
	}
	return "Taken back. " + sum + " goes back the way the buyer paid; there is nothing else to do."
}

// deskWay says to the clerk how money of a payment goes back.
func deskWay(p sale.Payment) string {
	switch {
	case p.Provider == "door" && p.Method == sale.Card:
		return "You return it on the card machine"
	case p.Provider == "door" && p.Method == sale.Cash:
		return "You give it back in cash"
	case p.Provider == "shop":
		return "The venue’s own shop returns it"
	case p.Provider == "door", p.Provider == "free":
		return "Nothing was paid"
	}
	return "Goes back the way the buyer paid"
}

// refundPage names the sum before anything happens.
func (s *Server) refundPage(c echo.Context, by *sale.Key) error {
	chosen := c.QueryParams()["seat"]
	if c.QueryParam("all") == "" && len(chosen) == 0 {
		return s.showStaffOrder(c, by, refuse("no_seats", "Mark the seats that are to be refunded first."))
	}
	if c.QueryParam("all") != "" {
		chosen = nil
	}
	return s.showRefund(c, by, chosen, refundTry{release: true})
}

// refundTry is a refund that did not come through.
type refundTry struct {
	trouble error
	reason  string
	release bool
}

func (s *Server) showRefund(c echo.Context, by *sale.Key, chosen []string, try refundTry) error {
	o, e, err := s.deskOrder(c)
	if err != nil {
		return err
	}
	amount, seats, err := o.RefundAmount(chosen)
	if err != nil {
		return s.showStaffOrder(c, by, err)
	}
	if len(seats) == 0 {
		return s.showStaffOrder(c, by, refuse("no_seats", "These seats were refunded already."))
	}
	p, _ := o.Paid()
	v := struct {
		staffPage
		Order   *sale.OrderView
		Event   *sale.Event
		Who     string
		Sum     string
		Way     string
		Seats   []sale.OrderSeat
		Used    bool // some were let in; they do not go back on sale
		Whole   bool
		Reason  string
		Release bool
	}{
		staffPage: staffFrame(c, by, "Refund of "+orderOwner(o)+" – box office", link{"/admin/orders", "Orders"}, link{"/admin/orders/" + o.ID.String(), "Order of " + orderOwner(o)}),
		Order:     o, Event: e, Who: orderOwner(o), Sum: formatMoney(amount, o.Currency, localeOf(c.Request())), Way: deskWay(p), Seats: seats, Reason: try.reason, Release: try.release,
	}
	status, err := v.fail(s, try.trouble)
	if err != nil {
		return err
	}
	left := 0
	for i := range o.Seats {
		if o.Valid(i) {
			left++
		}
	}
	v.Whole = left == len(seats)
	v.Used = slices.ContainsFunc(seats, func(s sale.OrderSeat) bool { return !s.UsedAt.IsZero() })
	return s.render(c, status, "refund", v)
}

// refundForm takes the seats back that were shown. Sent twice it does so once.
func (s *Server) refundForm(c echo.Context, by *sale.Key) error {
	form, err := c.FormParams()
	if err != nil {
		return errBadRequest
	}
	order, ok := id(c, "order")
	if !ok {
		return sale.ErrNoSuchOrder
	}
	chosen := form["seat"]
	if len(chosen) == 0 { // never all by mistake
		return s.showStaffOrder(c, by, refuse("no_seats", "Mark the seats that are to be refunded first."))
	}
	try := refundTry{reason: strings.TrimSpace(form.Get("reason")), release: form.Get("release") != ""}
	if _, try.trouble = s.office.Refund(order, sale.RefundWish{Actor: actor(by), Seats: chosen, OffSale: !try.release, Reason: try.reason}); try.trouble != nil {
		return s.showRefund(c, by, chosen, try)
	}
	return seeOther(c, "/admin/orders/"+order.String()+"?done=refund")
}
