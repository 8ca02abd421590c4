package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/sale"
)

// hitsAtOnce is how many orders one page of a search shows.
const hitsAtOnce = 25

// hitView is an order in the results of a search.
type hitView struct {
	ID                                  uuid.UUID
	Short, Who, Event, Seats, Sum, When string
	Status                              sale.OrderStatus
	Word                                string
}

// ordersPage finds orders by whatever name somebody has of a purchase.
func (s *Server) ordersPage(c echo.Context, by *sale.Key) error {
	v := struct {
		staffPage
		Query, Event string
		Events       []*sale.Event
		Hits         []hitView
		More         string // address of the next page
	}{staffFrame(c, by, "Orders – box office"), strings.TrimSpace(c.QueryParam("query")), c.QueryParam("event"), s.office.Events(), nil, ""}
	if v.Query != "" {
		v.Title = "Orders: " + v.Query + " – box office"
	}
	if o, _, ok := s.office.TicketOf(v.Query); ok { // a ticket was scanned
		return seeOther(c, "/admin/orders/"+o.ID.String())
	}
	events, before, err := s.orderCursor(v.Event, c.QueryParam("cursor"))
	if err != nil {
		return err
	}
	if o, whole := s.findOrder(strings.ToLower(v.Query), events); whole {
		return seeOther(c, "/admin/orders/"+o.ID.String())
	}
	found, next, err := s.searchOrders(events, before, v.Query, hitsAtOnce)
	if err != nil {
		return err
	}
	for _, o := range found {
		v.Hits = append(v.Hits, s.hit(o, v.Locale))
	}
	if next != "" {
		v.More = "/admin/orders?" + url.Values{"query": {v.Query}, "event": {v.Event}, "cursor": {next}}.Encode()
	}
	return s.render(c, http.StatusOK, "orders", v)
}

func (s *Server) hit(o *sale.OrderView, in locale) hitView {
	v := hitView{ID: o.ID, Short: shortID(o.ID), Who: buyerWord(o.Buyer), Event: o.Event, Sum: formatMoney(o.Total, o.Currency, in), Status: o.Status, Word: orderWord(o.Status)}
	zone := "UTC"
	if e, _, err := s.office.Event(o.Event); err == nil {
		v.Event, zone = e.Name, e.TimeZone
	}
	v.When = dayTime(o.CreatedAt, zone)
	var labels []string
	for i := range o.Seats {
		if i == 6 {
			labels = append(labels, "…")
			break
		}
		labels = append(labels, o.Seats[i].Label)
	}
	v.Seats = strings.Join(labels, "; ")
	return v
}

func buyerWord(b sale.Buyer) string {
	switch {
	case b.Name != "":
		return b.Name
	case b.Email != "":
		return b.Email
	}
	return "No name"
}

// orderWord is a status for staff.
func orderWord(s sale.OrderStatus) string {
	switch s {
	case sale.Pending:
		return "Held, not paid"
	case sale.Paying:
		return "Payment running"
	case sale.Paid:
		return "Paid"
	case sale.Expired:
		return "Not paid in time"
	case sale.Cancelled:
		return "Given up"
	case sale.RefundDue:
		return "Money goes back"
	case sale.Refunded:
		return "Money returned"
	}
	return string(s)
}

// causeWord is a step of an order for staff.
func causeWord(cause string) string {
	words := map[string]string{
		"hold.made": "Seats held", "hold.lapsed": "The time to pay was over", "hold.released": "Seats given back", "hold.replaced": "Other seats chosen",
		"hold.gave_way": "Gave its seats to another order of the buyer", "payment.started": "Went to pay", "payment.succeeded": "Paid",
		"payment.failed": "Payment failed", "payment.too_late": "Paid too late: the seats were gone", "payment.not_booked": "Payment could not be booked",
		"refund.requested": "Refund asked for", "refund.sent": "Refund taken on by the provider", "refund.done": "Money returned", "refund.failed": "Refund failed",
		"refund.withdrawn": "Refund given up", "ticket.used": "Let in at the door", "resent": "Tickets sent again",
	}
	if w, ok := words[cause]; ok {
		return w
	}
	return cause
}

// payWord is how a payment was made.
func payWord(p sale.Payment) string {
	switch {
	case p.Provider == "door" && p.Method == sale.Cash:
		return "Cash at the box office"
	case p.Provider == "door" && p.Method == sale.Card:
		return "Card at the box office"
	case p.Provider == "door", p.Provider == "free":
		return "Free"
	case p.Provider == "shop":
		return "The venue’s shop"
	case p.Provider == "demo":
		return "Demo (no real money)"
	case p.Provider == "stripe":
		return "Online, Stripe"
	}
	return "Online, " + p.Provider
}

func paymentState(s sale.PaymentState) string {
	switch s {
	case sale.PaymentStarted:
		return "not made yet"
	case sale.PaymentSucceeded:
		return "received"
	case sale.PaymentFailed:
		return "failed, nothing received"
	case sale.PaymentRefunded:
		return "returned"
	}
	return string(s)
}
