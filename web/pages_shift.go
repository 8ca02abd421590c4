package web

import (
	"time"

	"github.com/labstack/echo/v4"

	"foyer/sale"
)

// shiftRow is what one clerk took and gave back in one way.
type shiftRow struct {
	Method                   string
	Sales, Tickets, Returned int
	Received, GivenBack, Net string
}

// shiftPage sums up what the key that looks has sold and given back, since the
// login or a time that is asked for.
func (s *Server) shiftPage(c echo.Context, by *sale.Key) error {
	e, _, err := s.office.Event(param(c, "event"))
	if err != nil {
		return err
	}
	v := struct {
		staffPage
		Event  *sale.Event
		Since  string // in words
		Typed  string // as the form has it
		Who    string
		Rows   []shiftRow
		Cash   string
		Now    string
		Shared bool
	}{staffPage: staffFrame(c, by, "My shift – "+e.Name, link{"/admin/events/" + e.ID + "/door", "Sell " + e.Name}), Event: e, Who: s.operator(actor(by)), Typed: c.QueryParam("since")}
	since, trouble := fromForm(v.Typed, e.TimeZone)
	status, err := v.fail(s, trouble)
	if err != nil {
		return err
	}
	if since.IsZero() {
		since = s.shiftBegan(c)
		if v.Trouble == nil {
			v.Typed = local(since, e.TimeZone).Format("2006-01-02T15:04")
		}
	}
	r, err := s.office.Report(e.ID, since, time.Time{})
	if err != nil {
		return err
	}
	v.Since, v.Now = dayTime(since, e.TimeZone), dayTime(r.At, e.TimeZone)
	v.Cash = formatMoney(0, e.Currency, v.Locale)
	for _, o := range r.Operators {
		if o.Operator != actor(by) {
			continue
		}
		v.Rows = append(v.Rows, shiftRow{methodWord(o.Method), o.Orders, o.Tickets, o.Returned, moneyOf(o.Gross, v.Locale), moneyOf(o.Refunded, v.Locale), moneyOf(o.Net, v.Locale)})
		if o.Method == sale.Cash {
			v.Cash = moneyOf(o.Net, v.Locale)
		}
	}
	return s.render(c, status, "shift", v)
}

// shiftBegan is when the session began; who sends a key with each request has
// none, and his shift is twelve hours.
func (s *Server) shiftBegan(c echo.Context) time.Time {
	r, now := c.Request(), time.Now()
	began, _, ok := s.readSession(cookie(r.Header, s.cookieName(r, staffCookie)), now)
	if !ok {
		return now.Add(-staffSession)
	}
	return began
}

func moneyOf(m sale.Money, in locale) string { return formatMoney(m.Amount, m.Currency, in) }

func methodWord(method string) string {
	switch method {
	case sale.Cash:
		return "Cash"
	case sale.Card:
		return "Card"
	case sale.Free:
		return "Free"
	case "shop":
		return "Through the venue’s shop"
	}
	return "Through " + method
}
