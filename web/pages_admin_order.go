package web

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"foyer/sale"
)

// staffOrderData is an order as the box office sees it.
type staffOrderData struct {
	staffPage
	Order    *sale.OrderView
	Event    *sale.Event
	Zone     string // of the event, in words
	Starts   string
	Word     string // the status
	Who      string
	Said     string // what is to be done after a refund
	Seats    []deskSeat
	Payments []deskPayment
	Refunds  []deskRefund
	Steps    []deskStep
	Received string
	Returned string // "" when nothing was
	Sum      string // what is paid to complete it
	Sells    bool   // it can be completed
	Runs     bool   // while a payment runs
	ByHand   bool   // a person returns the money, and says so
	Valid    int    // tickets that are good at the door
	Mail     bool   // tickets can be mailed as far as we know
}

type deskSeat struct {
	ID, Label, Category, Price string
	State                      string // in words
	Can                        bool   // be refunded
}

type deskPayment struct{ How, Sum, State, Name, At, By string }

type deskRefund struct{ Sum, State, Seats, Reason, Asked, Ended, By, Answer string }

type deskStep struct{ At, What, Detail, By string }

func (s *Server) staffOrderPage(c echo.Context, by *sale.Key) error {
	return s.showStaffOrder(c, by, nil)
}

// deskOrder finds the order of the address and its event.
func (s *Server) deskOrder(c echo.Context) (*sale.OrderView, *sale.Event, error) {
	order, ok := id(c, "order")
	if !ok {
		return nil, nil, sale.ErrNoSuchOrder
	}
	o, err := s.office.AnyOrder(order)
	if err != nil {
		return nil, nil, err
	}
	e, _, err := s.office.Event(o.Event)
	return o, e, err
}

func (s *Server) showStaffOrder(c echo.Context, by *sale.Key, trouble error) error {
	o, e, err := s.deskOrder(c)
	if err != nil {
		return err
	}
	in := localeOf(c.Request())
	v := &staffOrderData{
		staffPage: staffFrame(c, by, "Order of "+orderOwner(o)+" – box office", link{"/admin/orders", "Orders"}),
		Order:     o, Event: e, Zone: zoneWord(e.TimeZone), Starts: zoned(e.StartsAt, e.TimeZone), Word: orderWord(o.Status), Who: orderOwner(o),
		Received: formatMoney(o.Received(), o.Currency, in), Sum: formatMoney(o.Total, o.Currency, in), Mail: o.Buyer.Email != "",
	}
	status, err := v.fail(s, trouble)
	if err != nil {
		return err
	}
	if done, open := o.Returned(); done+open > 0 {
		v.Returned = formatMoney(done+open, o.Currency, in)
	}
	switch o.Status {
	case sale.Pending, sale.Expired, sale.Cancelled:
		v.Sells = true
	case sale.Paying:
		v.Sells, v.Runs = true, true
	case sale.RefundDue:
		for i := range o.Refunds {
			v.ByHand = v.ByHand || slices.Contains(s.office.RefundWays(&o.Order, i), sale.HowComplete)
		}
	}
	v.fill(s)
	if n := len(o.Refunds); n > 0 && c.QueryParam("done") == "refund" && trouble == nil {
		v.Said = handBack(o, o.Refunds[n-1], in)
	}
	return s.render(c, status, "stafforder", v)
}

func orderOwner(o *sale.OrderView) string {
	if o.Buyer.Name != "" || o.Buyer.Email != "" {
		return buyerWord(o.Buyer)
	}
	return "a buyer without a name"
}

// fill writes down seats, money and history.
func (v *staffOrderData) fill(s *Server) {
	o, zone := v.Order, v.Event.TimeZone
	money := func(n int64) string { return formatMoney(n, o.Currency, v.Locale) }
	when := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return atTime(t, zone)
	}
	for i, seat := range o.Seats {
		d := deskSeat{ID: seat.ID, Label: seat.Label, Category: seat.Category, Price: money(seat.Price), State: seatWord(o, i, zone), Can: o.Valid(i)}
		if d.Can {
			v.Valid++
		}
		v.Seats = append(v.Seats, d)
	}
	for _, p := range o.Payments {
		d := deskPayment{How: payWord(p), Sum: money(p.Amount), State: paymentState(p.State), Name: p.ID, At: when(p.At)}
		if p.Provider == "door" {
			d.Name = "" // ours, and of no use to people
		}
		if p.By != "" {
			d.By = s.operator(p.By)
		}
		v.Payments = append(v.Payments, d)
	}
	for _, r := range o.Refunds {
		d := deskRefund{Sum: money(r.Amount), Seats: strings.Join(seatLabels(o, r.Seats), "; "), Reason: r.Reason, Asked: when(r.At), By: s.operator(r.By), State: refundWord(r.State), Answer: r.Answer}
		if !r.State.Open() {
			d.Ended = when(r.EndedAt)
		}
		v.Refunds = append(v.Refunds, d)
	}
	for _, h := range o.Steps() {
		d := deskStep{At: when(h.At), What: causeWord(h.Cause), Detail: h.Detail, By: s.operator(h.By)}
		switch h.Cause {
		case "payment.succeeded", "payment.failed", "payment.too_late", "refund.sent":
			if !strings.Contains(h.Detail, " ") { // a name, which stands above
				d.Detail = ""
			}
		case "payment.started":
			d.Detail = providerWord(h.Detail)
		}
		v.Steps = append(v.Steps, d)
	}
}

func seatWord(o *sale.OrderView, i int, zone string) string {
	seat := o.Seats[i]
	used := ""
	if !seat.UsedAt.IsZero() {
		used = "let in at " + local(seat.UsedAt, zone).Format("15:04:05")
	}
	switch {
	case o.Gone(i) && used != "":
		return "refunded, had been " + used
	case o.Gone(i):
		return "refunded"
	case used != "":
		return used
	case o.Valid(i):
		return "sold"
	case o.Status.Open():
		return "held"
	}
	return "not sold by this order"
}

func refundWord(s sale.RefundState) string {
	switch s {
	case sale.RefundRequested:
		return "asked for"
	case sale.RefundSent:
		return "under way"
	case sale.RefundDone:
		return "returned"
	case sale.RefundFailed:
		return "failed"
	case sale.RefundWithdrawn:
		return "given up"
	}
	return string(s)
}

// resendPause is how long a second click on "send again" is the same one.
const resendPause = 10 * time.Second

func (s *Server) resendForm(c echo.Context, by *sale.Key) error {
	o, _, err := s.deskOrder(c)
	if err != nil {
		return err
	}
	n := len(o.History)
	if n == 0 || o.History[n-1].Cause != "resent" || o.Now.Sub(o.History[n-1].At) >= resendPause {
		if _, err := s.office.Resend(actor(by), o.ID); err != nil {
			return s.showStaffOrder(c, by, err)
		}
	}
	return seeOther(c, "/admin/orders/"+o.ID.String()+"?done=resend")
}

// completeForm says that the buyer has paid in another way, or has his money
// back. Which of them the page meant is in the form: the order may have moved on.
func (s *Server) completeForm(c echo.Context, by *sale.Key) error {
	o, _, err := s.deskOrder(c)
	if err != nil {
		return err
	}
	method, word := c.FormValue("method"), "complete"
	due := o.Status == sale.RefundDue || o.Status == sale.Refunded
	switch {
	case method == "returned":
		if word = "returned"; !due {
			return s.showStaffOrder(c, by, sale.ErrNotThatWay)
		}
	case method != sale.Cash && method != sale.Card:
		return errBadRequest
	case due:
		return s.showStaffOrder(c, by, refuse("refund_due", "Meanwhile money came for this order, and its seats were gone. Look below."))
	}
	if method == "returned" {
		method = sale.Cash // not looked at
	}
	if _, err := s.office.Complete(actor(by), o.ID, method, strings.TrimSpace(c.FormValue("reason"))); err != nil {
		return s.showStaffOrder(c, by, err)
	}
	return seeOther(c, "/admin/orders/"+o.ID.String()+"?done="+word)
}

// ticketsPage shows the tickets of an order, for printing.
func (s *Server) ticketsPage(c echo.Context, by *sale.Key) error {
	o, e, err := s.deskOrder(c)
	if err != nil {
		return err
	}
	list, err := ticketsOf(o, localeOf(c.Request()))
	if err != nil {
		return err
	}
	return s.render(c, http.StatusOK, "ticketsheet", struct {
		staffPage
		Event   *sale.Event
		Who     string
		Starts  string
		Tickets []ticketView
	}{staffFrame(c, by, "Tickets of "+orderOwner(o)+" – box office", link{"/admin/orders", "Orders"}, link{"/admin/orders/" + o.ID.String(), "Order of " + orderOwner(o)}),
		e, orderOwner(o), zoned(e.StartsAt, e.TimeZone), list})
}
