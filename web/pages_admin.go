package web

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"foyer/outbox"
	"foyer/sale"
	"foyer/seats"
)

func (s *Server) adminPages(e *echo.Echo) {
	e.GET("/admin", s.adminPage)
	e.HEAD("/admin", s.adminPage)
	e.POST("/admin/login", s.loginForm)
	e.POST("/admin/logout", s.logoutForm)
	e.POST("/admin/events", s.staffForm(s.createForm))
	e.POST("/admin/outbox/:message", s.staffForm(s.messageForm))
	e.GET("/admin/events/:event", s.adminEventPage)
	e.POST("/admin/events/:event/say", s.staffForm(s.sayForm))
	e.POST("/admin/events/:event/pace", s.staffForm(s.paceForm))
	e.POST("/admin/events/:event/prices", s.staffForm(s.pricesForm))
	e.POST("/admin/events/:event/plan", s.staffForm(s.planForm))
}

// staff tells which admin is logged in.
func (s *Server) staff(c echo.Context) (*sale.Key, bool) {
	k, ok := s.staffSession(c)
	return k, ok && k.Role.Includes(sale.RoleAdmin)
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

// door spaces out tries to log in, over all clients, so that a key cannot be
// guessed by trying many. The zero value is ready.
type door struct {
	mu   sync.Mutex
	next time.Time
}

const (
	loginGap   = 250 * time.Millisecond // between two tries
	loginQueue = 3 * time.Second        // who would wait longer is sent away
)

// wait tells how long the next try must wait, and whether it may try at all.
func (d *door) wait(now time.Time) (time.Duration, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.next
	if at.Before(now) {
		at = now
	}
	if at.Sub(now) > loginQueue {
		return 0, false
	}
	d.next = at.Add(loginGap)
	return at.Sub(now), true
}

var loginDoor door

func (s *Server) loginForm(c echo.Context) error {
	wait, ok := loginDoor.wait(time.Now())
	if ok && wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-c.Request().Context().Done():
			return c.Request().Context().Err()
		}
	}
	if ok {
		secret := strings.TrimSpace(c.FormValue("key"))
		k, known := s.office.Authenticate(secret)
		if known && k.Role.Includes(sale.RoleAdmin) && s.login(c, secret) {
			return seeOther(c, "/admin")
		}
	}
	return s.loginPage(c, http.StatusForbidden, true)
}

func (s *Server) loginPage(c echo.Context, status int, wrong bool) error {
	return s.render(c, status, "login", struct {
		page
		Wrong bool
	}{page{Title: "Staff – Foyer", Narrow: true}, wrong})
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
}

type eventForm struct {
	ID, Name, Venue, Zone, Starts, Opens, Currency, Buyer, Pace, Active, Seats, Prices string
	Buyers                                                                             []string
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
		return s.loginPage(c, http.StatusOK, false)
	}
	d := sale.DefaultSettings()
	return s.showAdmin(c, nil, eventForm{
		Zone: "Europe/Berlin", Currency: d.Currency, Buyer: d.Rules.Buyer, Pace: strconv.Itoa(d.Rules.AdmitPerSecond),
		Active: strconv.Itoa(d.Rules.MaxActive), Seats: strconv.Itoa(d.Rules.MaxSeatsPerOrder), Prices: "Stalls = 42.50\nBalcony = 29.00",
	})
}

func (s *Server) showAdmin(c echo.Context, trouble *problem, form eventForm) error {
	v := struct {
		staffPage
		Events    []liveRow
		Attention []*sale.Receipt
		Dead      []outbox.Message
		Audit     []sale.Entry
		Form      eventForm
		Version   string
	}{Form: form, Version: s.conf.Version}
	v.page = page{Title: "Box office – Foyer", Script: "admin.js"}
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
	v.Attention = s.office.Attention()
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
	f := eventForm{
		ID: c.FormValue("id"), Name: c.FormValue("name"), Venue: c.FormValue("venue"), Zone: c.FormValue("timeZone"),
		Starts: c.FormValue("startsAt"), Opens: c.FormValue("opensAt"), Currency: c.FormValue("currency"), Buyer: c.FormValue("buyer"),
		Pace: c.FormValue("admitPerSecond"), Active: c.FormValue("maxActive"), Seats: c.FormValue("maxSeats"), Prices: c.FormValue("prices"),
	}
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

// settings reads the form. What the sale itself checks is left to it.
func (f *eventForm) settings() (sale.Settings, error) {
	v := sale.DefaultSettings()
	v.ID, v.Name, v.Venue, v.TimeZone, v.Currency = f.ID, f.Name, f.Venue, strings.TrimSpace(f.Zone), f.Currency
	v.Rules.Buyer = f.Buyer
	loc, err := time.LoadLocation(v.TimeZone)
	if err != nil || v.TimeZone == "" || v.TimeZone == "Local" {
		return v, sayBad("The time zone must be a name such as Europe/Berlin.")
	}
	if v.StartsAt, err = wallTime(f.Starts, loc); err != nil {
		return v, err
	}
	if v.OpensAt, err = wallTime(f.Opens, loc); err != nil {
		return v, err
	}
	for _, n := range []struct {
		to   *int
		text string
		what string
	}{{&v.Rules.AdmitPerSecond, f.Pace, "People let in per second"}, {&v.Rules.MaxActive, f.Active, "People choosing at one time"}, {&v.Rules.MaxSeatsPerOrder, f.Seats, "Seats per order"}} {
		if *n.to, err = strconv.Atoi(strings.TrimSpace(n.text)); err != nil {
			return v, sayBad(n.what + " must be a whole number.")
		}
	}
	v.Prices, err = readPrices(f.Prices, v.Currency)
	return v, err
}

func sayBad(detail string) error { return refuse(sale.ErrBadEvent.Code, detail) }

// wallTime reads a local time of the house. An hour that the change to summer
// time leaves out is refused; of an hour that comes twice the first is meant.
func wallTime(text string, loc *time.Location) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	const layout, long = "2006-01-02T15:04", "2006-01-02T15:04:05"
	form := layout
	if len(text) == len(long) {
		form = long
	}
	t, err := time.ParseInLocation(form, text, loc)
	if err != nil {
		return nil, sayBad("A time must be written as 2027-03-01T19:00.")
	}
	if t.Format(form) != text {
		return nil, sayBad("The time " + text + " does not exist in " + loc.String() + ": the clocks are put forward then.")
	}
	if earlier := t.Add(-time.Hour); earlier.Format(form) == text {
		t = earlier
	}
	t = t.UTC()
	return &t, nil
}

// readPrices reads lines such as "Stalls = 42.50".
func readPrices(text, currency string) (map[string]int64, error) {
	prices := map[string]int64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		cut := strings.LastIndex(line, "=")
		if cut < 0 {
			return nil, sayBad(fmt.Sprintf("The price line %q must look like Stalls = 42.50.", line))
		}
		name := strings.TrimSpace(line[:cut])
		minor, err := parseMoney(line[cut+1:], currency)
		if err != nil {
			return nil, sayBad(fmt.Sprintf("The price of %q must be an amount of %s with at most %s.", name, currency, count(moneyDigits(currency), "decimal")))
		}
		if _, twice := prices[name]; twice {
			return nil, sayBad(fmt.Sprintf("The category %q has two prices.", name))
		}
		prices[name] = minor
	}
	return prices, nil
}

func writePrices(prices map[string]int64, currency string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(prices)) {
		amount := strings.TrimPrefix(formatMoney(prices[name], currency), moneySign(currency))
		b.WriteString(name + " = " + strings.ReplaceAll(amount, ",", "") + "\n")
	}
	return b.String()
}

// planCheck is the result of a plan that was only looked at.
type planCheck struct {
	Change  *sale.PlanChange
	Notices []seats.Problem
	Doc     string // the plan in Foyer's own form, for the form that sets it
}

func (s *Server) adminEventPage(c echo.Context) error {
	if _, ok := s.staff(c); !ok {
		return s.loginPage(c, http.StatusOK, false)
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
		_, err = s.office.CloseEvent(who, event, message)
	default:
		err = errBadRequest
	}
	return s.after(c, err, do)
}

func (s *Server) paceForm(c echo.Context, by *sale.Key) error {
	_, err := s.office.ChangeEvent(actor(by), param(c, "event"), func(v *sale.Settings) error {
		pace, err1 := strconv.Atoi(c.FormValue("admitPerSecond"))
		active, err2 := strconv.Atoi(c.FormValue("maxActive"))
		if err1 != nil || err2 != nil {
			return sayBad("The pace must be whole numbers.")
		}
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
	r.Body = http.MaxBytesReader(c.Response(), r.Body, maxPlan+64<<10)
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

// planDoc finds the document; looked tells that it is one shown before.
func planDoc(f *multipart.Form) (doc []byte, looked bool, err error) {
	if texts := f.Value["doc"]; len(texts) == 1 {
		return []byte(texts[0]), true, nil
	}
	files := f.File["file"]
	if len(files) != 1 {
		return nil, false, refuse("bad_request", "Choose a file first.")
	}
	file, err := files[0].Open()
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = file.Close() }() // read only
	doc, err = io.ReadAll(file)
	return doc, false, err
}
