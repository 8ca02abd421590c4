package web

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/sale"
)

// reportDoc is a report with what it is about.
type reportDoc struct {
	EventID    string `json:"eventId"`
	Name       string `json:"name"`
	Currency   string `json:"currency"`
	Since      *stamp `json:"since"` // null: no bound
	Until      *stamp `json:"until"`
	ServerTime stamp  `json:"serverTime"`
	*sale.Report
}

// window reads the parameters since and until.
func window(c echo.Context) (since, until time.Time, err error) {
	for name, to := range map[string]*time.Time{"since": &since, "until": &until} {
		v := c.QueryParam(name)
		if v == "" {
			continue
		}
		if *to, err = time.Parse(time.RFC3339, v); err != nil {
			return since, until, refuse("bad_request", "The parameter "+name+" must be a time such as 2027-03-01T19:00:00Z (a + in it is written %2B).")
		}
	}
	if !since.IsZero() && !until.IsZero() && !since.Before(until) {
		return since, until, refuse("bad_request", "The parameter since must be before until.")
	}
	return since, until, nil
}

func (s *Server) report(c echo.Context) (d reportDoc, err error) {
	since, until, err := window(c)
	if err != nil {
		return d, err
	}
	e, _, err := s.office.Event(param(c, "event"))
	if err != nil {
		return d, err
	}
	r, err := s.office.Report(e.ID, since, until)
	if err != nil {
		return d, err
	}
	return reportDoc{e.ID, e.Name, e.Currency, stampOf(since), stampOf(until), stamp(r.At), r}, nil
}

func (s *Server) showReport(c echo.Context, _ *sale.Key) error {
	d, err := s.report(c)
	if err != nil {
		return err
	}
	return write(c, http.StatusOK, d)
}

// sendReport answers with the report as a sheet: a line for each sum, named by
// section, name and method.
func (s *Server) sendReport(c echo.Context, _ *sale.Key) error {
	d, err := s.report(c)
	if err != nil {
		return err
	}
	f := openSheet(c, "report-"+d.EventID, d.At, "section", "name", "method", "orders", "tickets", "returned", "gross", "refunded", "net", "refunding", "failed", "currency", "label")
	f.row("event", text(d.EventID))
	f.row("since", plainTime(time.Time(*cmp.Or(d.Since, &stamp{}))))
	f.row("until", plainTime(time.Time(*cmp.Or(d.Until, &stamp{}))))
	f.row("made", plainTime(d.At))
	f.sums("total", "", "", d.Total)
	f.money("waived", "", d.Waived)
	f.money("late", "", d.Late)
	for _, p := range d.Providers {
		f.sums("provider", p.Provider, "", p.Sums)
	}
	for _, k := range d.Categories {
		f.sums("category", k.Category, "", sale.Sums{Tickets: k.Tickets, Returned: k.Returned, Gross: k.Sold, Refunded: k.Back, Net: k.Kept})
	}
	for _, o := range d.Operators {
		f.sums("operator", o.Operator, o.Method, o.Sums, text(o.Name))
	}
	for _, status := range slices.Sorted(maps.Keys(d.Orders)) {
		f.row("status", string(status), "", strconv.Itoa(d.Orders[status]))
	}
	f.attention(d.Attention)
	f.row("balanced", strconv.FormatBool(d.Balanced))
	for _, line := range d.Differences {
		f.row("difference", text(line))
	}
	return f.flush()
}

func (f *sheetFile) sums(section, name, method string, s sale.Sums, label ...string) {
	cur := s.Gross.Currency
	row := []string{section, text(name), text(method), strconv.Itoa(s.Orders), strconv.Itoa(s.Tickets), strconv.Itoa(s.Returned)}
	if section == "category" {
		row[3] = "" // an order may be of many
	}
	for _, m := range []sale.Money{s.Gross, s.Refunded, s.Net, s.Refunding, s.Failed} {
		amount := ""
		if m.Currency != "" {
			amount = sale.Decimal(m.Amount, cur)
		}
		row = append(row, amount)
	}
	f.row(append(append(row, cur), label...)...)
}

// money is a line with one sum, in the column gross.
func (f *sheetFile) money(section, name string, m sale.Money) {
	f.row(section, name, "", "", "", "", sale.Decimal(m.Amount, m.Currency), "", "", "", "", text(m.Currency))
}

func (f *sheetFile) attention(a sale.AttentionSums) {
	f.row("attention", "open", "", strconv.Itoa(a.Open))
	for _, part := range []struct {
		name string
		sums []sale.Money
	}{{"unsettled", a.Unsettled}, {"refunding", a.Refunding}, {"returned", a.Returned}, {"kept", a.Kept}, {"unplaced", a.Unplaced}} {
		for _, m := range part.sums {
			f.money("attention", part.name, m)
		}
	}
}

// orderColumns are those of orders.csv: a line for each seat of each order. What
// belongs to the whole order (orderTotal to orderRefunding) stands in its first
// line alone, so that sums over a column are right.
var orderColumns = []string{
	"order", "status", "created", "paid", "buyer", "email", "provider", "method", "payment", "operator", "currency",
	"orderTotal", "orderWaived", "orderReceived", "orderRefunded", "orderRefunding",
	"seat", "label", "category", "price", "sold", "back", "ticket", "used", "refund", "refundState", "refundAsked", "refundEnded", "refundBy", "refundReason",
}

// sendOrders answers with all orders of an event, newest first, a page at a time.
func (s *Server) sendOrders(c echo.Context, _ *sale.Key) error {
	event := param(c, "event")
	page, err := s.office.Orders(event, uuid.Nil, pageMax)
	if err != nil {
		return err
	}
	f := openSheet(c, "orders-"+event, time.Now(), orderColumns...)
	for c.Request().Method != http.MethodHead {
		for _, o := range page {
			f.order(o)
		}
		if err = f.flush(); err != nil || len(page) < pageMax {
			break
		}
		select {
		case <-s.done:
			err = errServerEnds
		default:
			page, err = s.office.Orders(event, page[len(page)-1].ID, pageMax)
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		s.log.Warn("a list of orders was broken off", "id", requestID(c), "error", err.Error())
		panic(http.ErrAbortHandler) // a torn answer must not look whole
	}
	return nil
}

func (f *sheetFile) order(o *sale.OrderView) {
	payer, _ := o.Paid()
	done, open := o.Returned()
	money := func(n int64) string { return sale.Decimal(n, o.Currency) }
	whole := []string{money(o.Total), money(o.Waived), money(o.Received()), money(done), money(open)}
	for _, s := range o.Seats {
		row := []string{
			o.ID.String(), string(o.Status), plainTime(o.CreatedAt), plainTime(o.PaidAt), text(o.Buyer.Name), text(o.Buyer.Email),
			text(payer.Provider), text(payer.Method), text(payer.ID), text(payer.By), o.Currency,
		}
		row = append(row, whole...)
		whole = make([]string, len(whole))
		sold, back := "", ""
		if !o.PaidAt.IsZero() {
			sold = money(s.Price)
		}
		if s.Refund != uuid.Nil {
			back = money(s.Price)
		}
		row = append(row, text(s.ID), text(s.Label), text(s.Category), money(s.Price), sold, back, plainID(s.Ticket), plainTime(s.UsedAt))
		var r sale.Refund // of this seat, or that of the money of an order whose seats were gone
		for _, one := range o.Refunds {
			if one.ID == s.Refund || s.Refund == uuid.Nil && o.PaidAt.IsZero() {
				r = one
			}
		}
		f.row(append(row, plainID(r.ID), string(r.State), plainTime(r.At), plainTime(r.EndedAt), text(r.By), text(r.Reason))...)
	}
}

// plainID is a cell with an id, "" for none.
func plainID(id uuid.UUID) string {
	if id == uuid.Nil {
		return ""
	}
	return id.String()
}

// forgetDoc tells what an erasure has come to.
type forgetDoc struct {
	EventID string `json:"eventId"`
	Orders  int    `json:"orders"` // whose buyers were erased by this request
}

func (s *Server) forget(c echo.Context, by *sale.Key) error {
	if err := readNothing(c); err != nil {
		return err
	}
	event := param(c, "event")
	n, err := s.office.Forget(actor(by), event)
	if err != nil {
		return err
	}
	return write(c, http.StatusOK, forgetDoc{event, n})
}
