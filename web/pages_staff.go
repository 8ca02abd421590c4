package web

import (
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/sale"
)

// link is a step on the way to a page, or from it.
type link struct{ Path, Word string }

// staffPage is what the frame of every staff page needs.
type staffPage struct {
	page
	Role    sale.Role // of who looks: decides what the frame leads to
	Up      []link    // from the box office to the page above
	Done    string
	Trouble *problem
	wrong   *problem // of one field, and told beside it
}

func staffFrame(c echo.Context, by *sale.Key, title string, up ...link) staffPage {
	return staffPage{page: page{Title: title, Script: "staff.js", Locale: localeOf(c.Request())}, Role: by.Role, Up: up, Done: done[c.QueryParam("done")]}
}

// fail puts what went wrong on the page, in the words of its forms, and gives
// its status; an error that tells nothing comes back.
func (p *staffPage) fail(s *Server, trouble error) (status int, err error) {
	if trouble == nil {
		return http.StatusOK, nil
	}
	t := s.problem(trouble)
	if t.Code == "internal" {
		return 0, trouble
	}
	t.Detail = labels.Replace(t.Detail)
	p.Trouble, p.Done = &t, ""
	return t.Status, nil
}

// beside moves what is wrong with one of these fields to it. The fields have the
// names of the settings in the API, without "rules.".
func (p *staffPage) beside(fields ...string) {
	if p.Trouble == nil || !slices.Contains(fields, strings.TrimPrefix(p.Trouble.Field, "rules.")) {
		return
	}
	p.wrong, p.Trouble = p.Trouble, nil
	p.wrong.Detail = strings.ToUpper(p.wrong.Detail[:1]) + p.wrong.Detail[1:] // it may begin with the name of a setting
}

// Wrong is what is wrong with a field, or "".
func (p staffPage) Wrong(field string) string {
	if p.wrong == nil || strings.TrimPrefix(p.wrong.Field, "rules.") != field {
		return ""
	}
	return p.wrong.Detail
}

// Mark is what the tag of a field gets when something is wrong with it.
func (p staffPage) Mark(field string) template.HTMLAttr {
	if p.Wrong(field) == "" {
		return ""
	}
	return ` aria-invalid="true" aria-describedby="wrong" autofocus`
}

// done are the sentences that may be shown after a form, by the word that the
// address carries; the address cannot make us say anything else.
var done = map[string]string{
	"made": "The event was made. Next: give it a plan.", "open": "The sale is open.", "pause": "The line is paused.",
	"resume": "The line goes on.", "announce": "The message was changed.", "close": "The sale is closed.",
	"opening": "The opening, and who may join, were set.", "pace": "The pace was set.", "soldout": "What the public reads about seats left was changed.", "revoke": "The codes are taken back. Places that they gave stay.", "challenge": "What is asked of visitors was set.", "prices": "The prices were set.", "plan": "The plan is in use.",
	"retry": "The message is tried again.", "drop": "The message was given up.",
	"retryall": "The messages are tried again.", "dropall": "The messages were given up.",
	"resend": "The tickets are sent again.", "complete": "The order is paid. Its tickets are below.", "returned": "Noted: the buyer has the money back.",
	"keep": "The seats are kept.", "back": "The seats are on sale again.", "forget": "The buyers’ names and e-mail addresses are erased from the orders of this event.",
}

// desk lets keys of a role in. Anybody else gets the login, and staff of another
// role a page that says so.
func (s *Server) desk(role sale.Role, h staffHandler) echo.HandlerFunc {
	return func(c echo.Context) error {
		k, err := s.staffSession(c)
		r := c.Request()
		switch {
		case err != nil && (r.Method == http.MethodGet || r.Method == http.MethodHead):
			return s.loginPage(c, http.StatusOK, "", r.URL.RequestURI())
		case err != nil && strings.HasPrefix(r.URL.Path, "/door"):
			return seeOther(c, "/door")
		case err != nil:
			return seeOther(c, "/admin")
		case !k.Role.Includes(role):
			return errWrongDesk
		}
		return h(c, k)
	}
}

var errWrongDesk = refuse(errWrongRole.Code, "This page is for others of the staff; the key with which you logged in does not open it. Log out to use another key.")

func (s *Server) loginForm(c echo.Context) error {
	next := c.FormValue("next")
	k, err := s.authenticate(c, strings.TrimSpace(c.FormValue("key")))
	if err == nil && k.Role != sale.RoleShop {
		s.login(c, k)
		if !staffPath(next) {
			next = "/admin"
		}
		return seeOther(c, next)
	}
	if p := s.problem(err); p.Code == "too_many_requests" {
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(wholeSeconds(p.RetryAfter)))
		return s.loginPage(c, p.Status, p.Detail, next)
	}
	if err == nil {
		return s.loginPage(c, http.StatusForbidden, "This key is for the venue’s shop, not for people.", next)
	}
	return s.loginPage(c, http.StatusForbidden, "That key is not right.", next)
}

// staffPath tells whether an address is one of the staff pages here.
func staffPath(path string) bool {
	for _, p := range []string{"/admin/", "/door/", "/door?"} {
		if strings.HasPrefix(path, p) {
			return !strings.ContainsAny(path, "\\\r\n")
		}
	}
	return path == "/door"
}

func (s *Server) loginPage(c echo.Context, status int, trouble, next string) error {
	if !staffPath(next) {
		next = ""
	}
	return s.render(c, status, "login", struct {
		page
		Trouble, Next string
	}{page{Title: "Staff – Foyer", Narrow: true}, trouble, next})
}

func (s *Server) logoutForm(c echo.Context) error {
	s.logout(c)
	return seeOther(c, "/admin")
}

// adminPage is where staff begin: each role has a page of its own.
func (s *Server) adminPage(c echo.Context) error {
	k, err := s.staffSession(c)
	switch {
	case err != nil || k.Role == sale.RoleShop:
		return s.loginPage(c, http.StatusOK, "", "")
	case k.Role == sale.RoleDoor:
		return seeOther(c, "/door")
	case k.Role == sale.RoleBoxOffice:
		return s.counterPage(c, k)
	}
	return s.showAdmin(c, k, adminTry{form: firstForm()})
}

// deskEvent is an event in a list for staff.
type deskEvent struct {
	ID, Name, Venue, Starts string
	badge
	Free int
}

func (s *Server) deskEvents() (list []deskEvent) {
	for _, e := range s.office.Events() {
		live, err := s.office.Live(e.ID)
		if err != nil {
			continue // removed in between
		}
		list = append(list, deskEvent{e.ID, e.Name, e.Venue, zoned(e.StartsAt, e.TimeZone), s.badge(e, live.Status.Phase), live.Counts.Available})
	}
	return list
}

// counterPage is where a clerk of the box office begins.
func (s *Server) counterPage(c echo.Context, by *sale.Key) error {
	return s.render(c, http.StatusOK, "counter", struct {
		staffPage
		Events []deskEvent
		Query  string
	}{staffFrame(c, by, "Box office – Foyer"), s.deskEvents(), ""})
}

// upTo is the way to the page of an event, for those who may open it.
func upTo(by *sale.Key, e *sale.Event) []link {
	if by.Role.Includes(sale.RoleAdmin) {
		return []link{{"/admin/events/" + e.ID, e.Name}}
	}
	return nil
}

// operator names who did something, for staff: a key by its name.
func (s *Server) operator(by string) string {
	id, staff := strings.CutPrefix(by, staffActor)
	switch {
	case by == "visitor":
		return "the buyer"
	case by == "house":
		return "Foyer"
	case !staff:
		return by
	}
	if id == "preset" {
		return "the admin key"
	}
	k, ok := s.office.KeyByID(id)
	switch {
	case !ok:
		return "removed key " + shortKey(id)
	case k.Name == "":
		return string(k.Role) + " key " + shortKey(id)
	}
	return k.Name
}

// shortKey is enough of a key's id to tell keys apart, as [shortID].
func shortKey(id string) string {
	if len(id) <= 8 {
		return id
	}
	return "…" + id[len(id)-8:]
}

// shortID is enough of an id to tell orders apart at a glance: its end, since
// ids begin with their time.
func shortID(id uuid.UUID) string { return "…" + id.String()[28:] }
