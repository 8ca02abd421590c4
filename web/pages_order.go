package web

import (
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/sale"
	"foyer/tickets"
)

type orderData struct {
	page
	Order     *sale.OrderView
	Event     *sale.Event
	Starts    string
	Left      string // of the hold, "4:59"
	LeftFor   int64  // milliseconds
	Free      string // when the seats of a running payment are free again, in the house's time
	Late      bool   // money may still come although the time is over
	Refused   bool   // the last payment failed
	Buyer     sale.Buyer
	Asks      bool // for the buyer's name and address
	Must      bool // and insists
	Pays      []payView
	Elsewhere string // where to pay when there is no way on this page
	Continue  string // the provider's page of a running payment
	Tickets   []ticketView
	Back      backView // what goes back to the buyer
	Stray     []string // a sentence for each sum that did not fit
	GaveWay   bool     // to the buyer's order Older, when that is known
	Older     string
	Trouble   *problem
	Created   string
}

type payView struct{ Name, Word string }

type ticketView struct {
	Seat, Category, Price, Code string
	QR                          template.HTML
}

// ownOrder finds the visitor's own order; unknown and foreign are the same.
func (s *Server) ownOrder(c echo.Context) (visitor uuid.UUID, o *sale.OrderView, err error) {
	visitor, known := s.visitor(c)
	order, ok := id(c, "order")
	if !known || !ok {
		return visitor, nil, sale.ErrNoSuchOrder
	}
	o, err = s.office.Order(visitor, order)
	return visitor, o, err
}

func (s *Server) orderPage(c echo.Context) error {
	_, o, err := s.ownOrder(c)
	if err != nil {
		return err
	}
	return s.showOrderPage(c, o, nil, o.Buyer)
}

// payForm starts a payment and sends the buyer to the provider's page. Sent
// twice it leads to the same payment.
func (s *Server) payForm(c echo.Context) error {
	visitor, o, err := s.ownOrder(c)
	if err != nil {
		return err
	}
	b := sale.Buyer{Name: strings.TrimSpace(c.FormValue("name")), Email: strings.TrimSpace(c.FormValue("email"))}
	started, err := s.office.Pay(c.Request().Context(), sale.PayRequest{
		Visitor: visitor, Order: o.ID, Provider: c.FormValue("provider"), Buyer: b, Back: s.orderAddress(c, o.ID),
	})
	if err == nil {
		if started.RedirectURL == "" { // nothing to pay
			return seeOther(c, "/orders/"+o.ID.String())
		}
		return seeOther(c, started.RedirectURL)
	}
	return s.orderTrouble(c, visitor, o.ID, err, b)
}

// releaseForm gives the seats back and the turn with them.
func (s *Server) releaseForm(c echo.Context) error {
	visitor, o, err := s.ownOrder(c)
	if err != nil {
		return err
	}
	if o.Status != sale.Pending { // money is on its way, or it is over already: a second click
		return seeOther(c, "/orders/"+o.ID.String())
	}
	if err := s.office.Release(visitor, o.ID); err != nil {
		return s.orderTrouble(c, visitor, o.ID, err, o.Buyer)
	}
	return seeOther(c, "/orders/"+o.ID.String())
}

// orderTrouble shows the order as it is now and what went wrong. What has only
// moved on, such as a paid order, needs no words but a look.
func (s *Server) orderTrouble(c echo.Context, visitor, order uuid.UUID, trouble error, b sale.Buyer) error {
	p := s.problem(trouble)
	o, err := s.office.Order(visitor, order)
	if err != nil || p.Code == "internal" {
		return trouble
	}
	switch p.Code {
	case "order_paid", "payment_running":
		return seeOther(c, "/orders/"+order.String())
	case "hold_expired":
		if o.Status == sale.Expired || o.Status == sale.Cancelled {
			return seeOther(c, "/orders/"+order.String())
		}
	}
	return s.showOrderPage(c, o, &p, b)
}

func (s *Server) showOrderPage(c echo.Context, o *sale.OrderView, trouble *problem, b sale.Buyer) error {
	e, _, err := s.office.Event(o.Event)
	if err != nil {
		return err
	}
	v := &orderData{
		page:  page{Title: orderTitle(o.Status) + " – " + e.Name, Script: "order.js", Locale: localeOf(c.Request())},
		Order: o, Event: e, Starts: zoned(e.StartsAt, e.TimeZone), Trouble: trouble, Buyer: b,
		Asks: e.Rules.Buyer != "none", Must: e.Rules.Buyer == "required", Created: zoned(&o.CreatedAt, e.TimeZone),
	}
	v.Back, v.Stray = backOf(o, e.TimeZone, v.Locale), strayLines(s.office.Stray(o.ID), e.TimeZone, v.Locale)
	switch o.Status {
	case sale.Pending:
		v.timeLeft(o.HoldExpiresAt)
		v.pays(e)
		n := len(o.Payments)
		v.Refused = trouble == nil && n > 0 && o.Payments[n-1].State == sale.PaymentFailed
	case sale.Paying:
		v.timeLeft(o.HoldExpiresAt)
		v.Free = inZone(o.HoldExpiresAt.Add(time.Minute-1).Truncate(time.Minute), e.TimeZone, "15:04") // not too early
		v.Reload = 5
		if n := len(o.Payments); n > 0 {
			v.Continue = webAddress(o.Payments[n-1].RedirectURL)
		}
	case sale.Expired:
		v.Late = slices.ContainsFunc(o.Payments, func(p sale.Payment) bool { return p.State == sale.PaymentStarted })
	case sale.Cancelled:
		v.Older, v.GaveWay = o.GaveWay()
	case sale.Paid:
		if v.Tickets, err = ticketsOf(o, v.Locale); err != nil {
			return err
		}
	}
	status := http.StatusOK
	if trouble != nil {
		status = trouble.Status
	}
	// Browsers hold form-action against the redirect that answers the form, and
	// paying leads to the provider's own site.
	return s.renderTo(c, status, "order", v, "'self' https: http:")
}

func (v *orderData) timeLeft(until time.Time) {
	left := until.Sub(v.Order.Now)
	v.Left, v.LeftFor = clock(left), max(0, left.Milliseconds())
}

// pays lists the ways to pay on this page; the venue's own shop and the door
// take money elsewhere.
func (v *orderData) pays(e *sale.Event) {
	v.Elsewhere = "Pay in the venue's own shop"
	if !slices.Contains(e.Providers, "shop") {
		v.Elsewhere = "Pay at the venue's box office"
	}
	for _, p := range e.Providers {
		switch p {
		case "shop", "door":
		case "demo":
			v.Pays = append(v.Pays, payView{p, "Pay (demo, no real money)"})
		case "stripe":
			v.Pays = append(v.Pays, payView{p, "Pay by card"})
		default:
			v.Pays = append(v.Pays, payView{p, "Pay with " + p})
		}
	}
}

// ticketsOf are the tickets of an order that are good at the door.
func ticketsOf(o *sale.OrderView, in locale) (list []ticketView, err error) {
	for i, seat := range o.Seats {
		if !o.Valid(i) {
			continue
		}
		t := ticketView{Seat: seat.Label, Category: seat.Category, Price: formatMoney(seat.Price, o.Currency, in)}
		if i < len(o.Codes) && o.Codes[i] != "" {
			t.Code = o.Codes[i]
			svg, err := tickets.QR(t.Code, "QR code of the ticket")
			if err != nil {
				return nil, err
			}
			t.QR = template.HTML(svg) // made of digits by our own code
		}
		list = append(list, t)
	}
	return list, nil
}

// webAddress lets http, https and our own paths through.
func webAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return address
}

func orderTitle(s sale.OrderStatus) string {
	switch s {
	case sale.Pending:
		return "Your seats are held"
	case sale.Paying:
		return "Payment running"
	case sale.Paid:
		return "Your tickets"
	case sale.Expired:
		return "The time is over"
	case sale.Cancelled:
		return "Order cancelled"
	case sale.RefundDue:
		return "Your money comes back"
	case sale.Refunded:
		return "Money returned"
	}
	return "Your order"
}
