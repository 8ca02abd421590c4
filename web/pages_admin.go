package web

import (
	"errors"
	"net/http"
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
	e.GET("/admin", s.adminPage)
	e.HEAD("/admin", s.adminPage)
	e.POST("/admin/login", s.loginForm)
	e.POST("/admin/logout", s.logoutForm)
	e.POST("/admin/events", s.staffForm(s.createForm))
	e.POST("/admin/outbox", s.staffForm(s.deadForm))
	e.POST("/admin/outbox/:message", s.staffForm(s.messageForm))
	e.GET("/admin/events/:event", s.adminEventPage)
	e.POST("/admin/events/:event/say", s.staffForm(s.sayForm))
	e.POST("/admin/events/:event/pace", s.staffForm(s.paceForm))
	e.POST("/admin/events/:event/prices", s.staffForm(s.pricesForm))
	e.POST(planFormPath, s.staffForm(s.planForm))
}

// staff tells which admin is logged in.
func (s *Server) staff(c echo.Context) (*sale.Key, bool) {
	k, err := s.staffSession(c)
	return k, err == nil && k.Role.Includes(sale.RoleAdmin)
}

// staffForm lets an admin's form through; anybody else gets the login.
func (s *Server) staffForm(h staffHandler) echo.HandlerFunc {
	return func(c echo.Context) error {
		k, ok := s.staff(c)
		if !ok {
			return seeOther(c, "/admin")
		}
		return h(c, k)
	}
}

func (s *Server) loginForm(c echo.Context) error {
	k, err := s.authenticate(c, strings.TrimSpace(c.FormValue("key")))
	if err == nil && k.Role.Includes(sale.RoleAdmin) {
		s.login(c, k)
		return seeOther(c, "/admin")
	}
	if p := s.problem(err); p.Code == "too_many_requests" {
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(wholeSeconds(p.RetryAfter)))
		return s.loginPage(c, p.Status, p.Detail)
	}
	return s.loginPage(c, http.StatusForbidden, "That key is not right.")
}

func (s *Server) loginPage(c echo.Context, status int, trouble string) error {
	return s.render(c, status, "login", struct {
		page
		Trouble string
	}{page{Title: "Staff – Foyer", Narrow: true}, trouble})
}

func (s *Server) logoutForm(c echo.Context) error {
	s.logout(c)
	return seeOther(c, "/admin")
}

// staffPage is what the frame of every staff page needs.
type staffPage struct {
	page
	Crumb   string
	Done    string
	Trouble *problem
}

// done are the sentences that may be shown after a form, by the word that the
// address carries; the address cannot make us say anything else.
var done = map[string]string{
	"made": "The event was made. Next: give it a plan.", "open": "The sale is open.", "pause": "The line is paused.",
	"resume": "The line goes on.", "announce": "The message was changed.", "close": "The sale is closed.",
	"pace": "The pace was set.", "prices": "The prices were set.", "plan": "The plan is in use.",
	"retry": "The message is tried again.", "drop": "The message was given up.",
	"retryall": "The messages are tried again.", "dropall": "The messages were given up.",
}

type liveRow struct {
	ID, Name string
	Phase    sale.Phase
	Live     sale.Live
	Sign     string
	Digits   int
}

func (s *Server) adminPage(c echo.Context) error {
	if _, ok := s.staff(c); !ok {
		return s.loginPage(c, http.StatusOK, "")
	}
	return s.showAdmin(c, nil, firstForm())
}

// firstForm is what the form of a new event suggests.
func firstForm() eventForm {
	d := sale.DefaultSettings()
	return eventForm{
		Zone: "Europe/Berlin", Currency: d.Currency, Buyer: d.Rules.Buyer, Pace: strconv.Itoa(d.Rules.AdmitPerSecond),
		Active: strconv.Itoa(d.Rules.MaxActive), Seats: strconv.Itoa(d.Rules.MaxSeatsPerOrder), Prices: "Stalls = 42.50\nBalcony = 29.00",
	}
}

func (s *Server) showAdmin(c echo.Context, trouble *problem, form eventForm) error {
	v := struct {
		staffPage
		Events    []liveRow
		Attention []moneyMatter
		Dead      []outbox.Message
		Lanes     []outbox.LaneTrouble
		Audit     []sale.Entry
		Form      eventForm
		Version   string
		Findings  []sale.Finding
		Unwell    error // why nothing can be written
	}{Form: form, Version: s.conf.Version, Findings: s.conf.Findings, Unwell: s.conf.Ready()}
	v.page = page{Title: "Box office – Foyer", Script: "admin.js"}
	if trouble != nil {
		trouble.Detail = labels.Replace(trouble.Detail)
	}
	v.Trouble = trouble
	v.Done = done[c.QueryParam("done")]
	v.Form.Buyers = []string{"none", "optional", "required"}
	for _, e := range s.office.Events() {
		live, err := s.office.Live(e.ID)
		if err != nil {
			continue // removed in between
		}
		v.Events = append(v.Events, liveRow{e.ID, e.Name, live.Status.Phase, live, moneySign(e.Currency), moneyDigits(e.Currency)})
	}
	v.Attention = s.attention()
	v.Lanes = s.office.Troubles(20)
	var err error
	if v.Dead, err = s.office.Messages(outbox.Dead, 0, 20); err != nil {
		return err
	}
	if v.Audit, err = s.office.Audit(0, 20); err != nil {
		return err
	}
	status := http.StatusOK
	if trouble != nil {
		status = trouble.Status
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
		p := s.problem(err)
		if p.Code == "internal" {
			return err
		}
		return s.showAdmin(c, &p, f)
	}
	return seeOther(c, "/admin/events/"+settings.ID+"?done=made")
}

// planCheck is the result of a plan that was only looked at.
type planCheck struct {
	Change  *sale.PlanChange
	Notices []seats.Problem
	Doc     string // the plan in Foyer's own form, for the form that sets it
}

func (s *Server) adminEventPage(c echo.Context) error {
	if _, ok := s.staff(c); !ok {
		return s.loginPage(c, http.StatusOK, "")
	}
	return s.showAdminEvent(c, nil, nil)
}

func (s *Server) showAdminEvent(c echo.Context, trouble error, check *planCheck) error {
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
		Event                 *sale.Event
		Phase                 sale.Phase
		Live                  sale.Live
		Starts, Opens, Prices string
		Sign                  string
		Digits                int
		Check                 *planCheck
	}{
		Event: e, Phase: phase, Live: live, Starts: zoned(e.StartsAt, e.TimeZone), Opens: zoned(e.OpensAt, e.TimeZone),
		Prices: writePrices(e.Prices, e.Currency), Sign: moneySign(e.Currency), Digits: moneyDigits(e.Currency), Check: check,
	}
	v.page = page{Title: e.Name + " – box office", Script: "admin.js"}
	v.Crumb = e.Name
	status := http.StatusOK
	if trouble != nil {
		p := s.problem(trouble)
		if p.Code == "internal" {
			return trouble
		}
		p.Detail = labels.Replace(p.Detail)
		if p.Problems != nil {
			p.Detail = "The plan cannot be used, and nothing was changed. What is wrong with it:"
		}
		v.Trouble, status = &p, p.Status
	} else if check == nil {
		v.Done = done[c.QueryParam("done")]
	}
	return s.render(c, status, "adminevent", v)
}

// after shows what went wrong, or goes on with the page of the event.
func (s *Server) after(c echo.Context, err error, word string) error {
	if err != nil {
		return s.showAdminEvent(c, err, nil)
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

func (s *Server) paceForm(c echo.Context, by *sale.Key) error {
	pace, err1 := strconv.Atoi(c.FormValue("admitPerSecond"))
	active, err2 := strconv.Atoi(c.FormValue("maxActive"))
	if err1 != nil || err2 != nil {
		return s.after(c, sayBad("The pace must be whole numbers."), "pace")
	}
	_, err := s.office.ChangeEvent(actor(by), param(c, "event"), func(v *sale.Settings) error {
		v.Rules.AdmitPerSecond, v.Rules.MaxActive = pace, active
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
			return s.showAdminEvent(c, errTooLarge, nil)
		}
		return s.showAdminEvent(c, errBadRequest, nil)
	}
	defer func() { _ = r.MultipartForm.RemoveAll() }() // temporary files only
	doc, looked, err := planDoc(r.MultipartForm)
	if err != nil {
		return s.showAdminEvent(c, err, nil)
	}
	plan, err := seats.Parse(doc)
	if err != nil {
		return s.showAdminEvent(c, err, nil)
	}
	change, err := s.office.SetPlan(actor(by), param(c, "event"), plan, !looked)
	if err != nil || looked {
		return s.after(c, err, "plan")
	}
	return s.showAdminEvent(c, nil, &planCheck{change, seats.Notices(doc), string(plan.JSON())})
}
