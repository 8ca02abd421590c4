package web

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"foyer/outbox"
	"foyer/sale"
	"foyer/seats"
)

// planFormPath takes the one form that carries a file, and has a limit of its own.
const planFormPath = "/admin/events/:event/plan"

func (s *Server) adminPages(e *echo.Echo) {
	get := func(path string, role sale.Role, h staffHandler) {
		e.GET(path, s.desk(role, h))
		e.HEAD(path, s.desk(role, h))
	}
	post := func(path string, role sale.Role, h staffHandler) { e.POST(path, s.desk(role, h)) }
	const admin, box, door = sale.RoleAdmin, sale.RoleBoxOffice, sale.RoleDoor
	e.GET("/admin", s.adminPage)
	e.HEAD("/admin", s.adminPage)
	e.POST("/admin/login", s.loginForm)
	e.POST("/admin/logout", s.logoutForm)
	post("/admin/events", admin, s.createForm)
	post("/admin/outbox", admin, s.deadForm)
	post("/admin/outbox/:message", admin, s.messageForm)
	post("/admin/attention/:matter", admin, s.matterForm)
	get("/admin/events/:event", admin, s.adminEventPage)
	post("/admin/events/:event/say", admin, s.sayForm)
	post("/admin/events/:event/soldout", admin, s.soldOutForm)
	post("/admin/events/:event/opening", admin, s.setOpeningForm)
	post("/admin/events/:event/pace", admin, s.paceForm)
	post("/admin/events/:event/challenge", admin, s.challengeForm)
	post("/admin/events/:event/codes", admin, s.codesForm)
	post("/admin/events/:event/prices", admin, s.pricesForm)
	post(planFormPath, admin, s.planForm)
	get("/admin/events/:event/report", admin, s.reportPage)
	get("/admin/events/:event/forget", admin, s.forgetPage)
	post("/admin/events/:event/forget", admin, s.forgetForm)
	get("/admin/events/:event/house", box, s.keptPage)
	post("/admin/events/:event/house", box, s.keptForm)
	get("/admin/events/:event/door", box, s.sellPage)
	post("/admin/events/:event/door", box, s.sellForm)
	get("/admin/events/:event/door/:order", box, s.soldPage)
	get("/admin/events/:event/shift", box, s.shiftPage)
	get("/admin/orders", box, s.ordersPage)
	get("/admin/orders/:order", box, s.staffOrderPage)
	get("/admin/orders/:order/refund", box, s.refundPage)
	post("/admin/orders/:order/refund", box, s.refundForm)
	post("/admin/orders/:order/resend", box, s.resendForm)
	post("/admin/orders/:order/complete", box, s.completeForm)
	get("/admin/orders/:order/tickets", box, s.ticketsPage)
	get("/door", door, s.doorPage)
	get("/door/:event", door, s.checkInPage)
	post("/door/:event", door, s.checkInForm)
}

type liveRow struct {
	ID, Name string
	badge
	Live  sale.Live
	Money moneyStyle
}

// firstForm is what the form of a new event suggests.
func firstForm() eventForm {
	d := sale.DefaultSettings()
	return eventForm{
		openingForm: openingForm{Access: d.Access, Share: strconv.Itoa(d.Rules.MemberShare)},
		Zone:        "Europe/Berlin", Currency: d.Currency, Buyer: d.Rules.Buyer, Pace: strconv.Itoa(d.Rules.AdmitPerSecond),
		Active: strconv.Itoa(d.Rules.MaxActive), Seats: strconv.Itoa(d.Rules.MaxSeatsPerOrder), Prices: "Stalls = 42.50\nBalcony = 29.00",
	}
}

// adminTry is a form of the first page that did not come through.
type adminTry struct {
	trouble error
	form    eventForm
	matter  matterTry
}

func (s *Server) showAdmin(c echo.Context, by *sale.Key, try adminTry) error {
	v := struct {
		staffPage
		Events    []liveRow
		Attention []matterView
		Settled   string // what became of the last of them
		Query     string
		Dead      []outbox.Message
		Lanes     []outbox.LaneTrouble
		Audit     []auditRow
		Form      eventForm
		Version   string
		Findings  []sale.Finding
		Unwell    error  // why nothing can be written
		Hidden    string // the address of a proxy that nobody named
	}{staffPage: staffFrame(c, by, "Box office – Foyer"), Form: try.form, Version: s.conf.Version, Findings: s.conf.Findings, Unwell: s.conf.Ready()}
	if len(s.conf.Proxies) == 0 {
		v.Hidden = s.hidden.proxy()
	}
	v.Script = "admin.js"
	status, err := v.fail(s, try.trouble)
	if err != nil {
		return err
	}
	v.beside(eventFields...)
	v.Settled = settled[c.QueryParam("settled")]
	v.Form.Buyers = []string{"none", "optional", "required"}
	for _, e := range s.office.Events() {
		live, err := s.office.Live(e.ID)
		if err != nil {
			continue // removed in between
		}
		v.Events = append(v.Events, liveRow{e.ID, e.Name, s.badge(e, live.Status.Phase), live, styleOf(e.Currency, v.Locale)})
	}
	v.Attention = s.matters(try.matter, v.Locale)
	if v.Trouble != nil && slices.ContainsFunc(v.Attention, func(m matterView) bool { return m.Trouble != nil }) {
		v.Trouble = nil // it stands with the matter
	}
	v.Lanes = s.office.Troubles(20)
	if v.Dead, err = s.office.Messages(outbox.Dead, 0, 20); err != nil {
		return err
	}
	if v.Audit, err = s.auditRows(20); err != nil {
		return err
	}
	return s.render(c, status, "admin", v)
}

func (s *Server) createForm(c echo.Context, by *sale.Key) error {
	f := readEventForm(c)
	settings, err := f.settings()
	if err == nil {
		_, err = s.office.CreateEvent(actor(by), settings)
	}
	if err != nil {
		return s.showAdmin(c, by, adminTry{trouble: err, form: f})
	}
	return seeOther(c, "/admin/events/"+settings.ID+"?done=made")
}

// planCheck is the result of a plan that was only looked at.
type planCheck struct {
	Change  *sale.PlanChange
	Notices []seats.Problem
	Doc     string // the plan in Foyer's own form, for the form that sets it
}

func (s *Server) adminEventPage(c echo.Context, _ *sale.Key) error {
	return s.showAdminEvent(c, eventTry{})
}

// eventTry is what a form of an event's page came to, when it did not lead to the
// page anew.
type eventTry struct {
	trouble error
	check   *planCheck
	opening *openingForm // as it was typed
}

func (s *Server) showAdminEvent(c echo.Context, try eventTry) error {
	e, phase, err := s.office.Event(param(c, "event"))
	if err != nil {
		return err
	}
	live, err := s.office.Live(e.ID)
	if err != nil {
		return err
	}
	v := struct {
		staffPage
		Event *sale.Event
		badge
		Live                        sale.Live
		Starts, Opens, Prices, Zone string
		Money                       moneyStyle
		Check                       *planCheck
		Form                        openingForm
		Challenges                  []challengeWord
		Batches                     []sale.BatchView
		Gain, Presale               string
	}{
		Event: e, badge: s.badge(e, phase), Live: live, Starts: zoned(e.StartsAt, e.TimeZone), Opens: zoned(e.OpensAt, e.TimeZone),
		Prices: writePrices(e.Prices, e.Currency), Check: try.check, Form: openingOf(e), Zone: zoneWord(e.TimeZone), Challenges: s.challengeWords(e.Challenge),
		Gain: gain(e.Rules.MemberShare), Presale: zoned(e.PresaleAt, e.TimeZone),
	}
	if v.Batches, err = s.office.Codes(e.ID); err != nil {
		return err
	}
	v.page, v.Role = page{Title: e.Name + " – box office", Script: "admin.js", Locale: localeOf(c.Request())}, sale.RoleAdmin
	v.Money = styleOf(e.Currency, v.Locale)
	status := http.StatusOK
	if try.trouble != nil {
		p := s.problem(try.trouble)
		if p.Code == "internal" {
			return try.trouble
		}
		p.Detail = labels.Replace(p.Detail)
		if p.Problems != nil {
			p.Detail = "The plan cannot be used, and nothing was changed. What is wrong with it:"
		}
		v.Trouble, status = &p, p.Status
	} else if try.check == nil {
		v.Done = done[c.QueryParam("done")]
	}
	if try.opening != nil {
		v.Form = *try.opening
		v.beside(openingFields...)
	}
	return s.render(c, status, "adminevent", v)
}

// after shows what went wrong, or goes on with the page of the event.
func (s *Server) after(c echo.Context, err error, word string) error {
	if err != nil {
		return s.showAdminEvent(c, eventTry{trouble: err})
	}
	return seeOther(c, "/admin"+eventPath(param(c, "event"))+"?done="+word)
}

func (s *Server) sayForm(c echo.Context, by *sale.Key) error {
	who, event, message := actor(by), param(c, "event"), strings.TrimSpace(c.FormValue("message"))
	do := c.FormValue("do")
	var err error
	switch do {
	case "open":
		_, err = s.office.OpenEvent(who, event)
	case "pause":
		_, err = s.office.PauseEvent(who, event, message)
	case "resume":
		_, err = s.office.ResumeEvent(who, event)
	case "announce":
		_, err = s.office.Announce(who, event, message)
	case "close":
		if c.FormValue("sure") == "" {
			err = sayBad("Tick the box first. The sale was not closed.")
			break
		}
		_, err = s.office.CloseEvent(who, event, message)
	default:
		err = errBadRequest
	}
	return s.after(c, err, do)
}

func (s *Server) soldOutForm(c echo.Context, by *sale.Key) error {
	if c.FormValue("sure") == "" {
		return s.after(c, sayBad("Tick the box first. Nothing was changed."), "soldout")
	}
	message := strings.TrimSpace(c.FormValue("message"))
	_, err := s.office.SetSoldOut(actor(by), param(c, "event"), c.FormValue("override"), &message)
	return s.after(c, err, "soldout")
}

func (s *Server) paceForm(c echo.Context, by *sale.Key) error {
	pace, err1 := strconv.Atoi(c.FormValue("admitPerSecond"))
	active, err2 := strconv.Atoi(c.FormValue("maxActive"))
	if err1 != nil || err2 != nil {
		return s.after(c, sayBad("The pace must be whole numbers."), "pace")
	}
	_, err := s.office.ChangeEvent(actor(by), param(c, "event"), func(v *sale.Settings) error {
		v.Rules.AdmitPerSecond, v.Rules.MaxActive, v.Rules.Control = pace, active, "off"
		if c.FormValue("control") != "" {
			v.Rules.Control = sale.ControlAuto
		}
		return nil
	})
	return s.after(c, err, "pace")
}

func (s *Server) pricesForm(c echo.Context, by *sale.Key) error {
	text := c.FormValue("prices")
	_, err := s.office.ChangeEvent(actor(by), param(c, "event"), func(v *sale.Settings) error {
		prices, err := readPrices(text, v.Currency)
		v.Prices = prices
		return err
	})
	return s.after(c, err, "prices")
}

// planForm looks at a file that was sent up, or sets the plan that was looked at.
func (s *Server) planForm(c echo.Context, by *sale.Key) error {
	r := c.Request()
	_ = http.NewResponseController(c.Response()).SetReadDeadline(time.Now().Add(planPatience))
	r.Body = http.MaxBytesReader(c.Response().Writer, r.Body, maxPlan+maxBody)
	if err := r.ParseMultipartForm(8 << 20); err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return s.showAdminEvent(c, eventTry{trouble: errTooLarge})
		}
		return s.showAdminEvent(c, eventTry{trouble: errBadRequest})
	}
	defer func() { _ = r.MultipartForm.RemoveAll() }() // temporary files only
	doc, looked, err := planDoc(r.MultipartForm)
	if err != nil {
		return s.showAdminEvent(c, eventTry{trouble: err})
	}
	plan, err := seats.Parse(doc)
	if err != nil {
		return s.showAdminEvent(c, eventTry{trouble: err})
	}
	change, err := s.office.SetPlan(actor(by), param(c, "event"), plan, !looked)
	if err != nil || looked {
		return s.after(c, err, "plan")
	}
	return s.showAdminEvent(c, eventTry{check: &planCheck{change, seats.Notices(doc), string(plan.JSON())}})
}
