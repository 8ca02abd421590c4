package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"foyer/outbox"
	"foyer/sale"
	"foyer/static"
)

// pages registers everything that people see: the pages and their files. Forms
// answer 303 to a GET, so that going back or loading again never sends twice.
func (s *Server) pages(e *echo.Echo) {
	get := func(path string, h echo.HandlerFunc) { e.GET(path, h); e.HEAD(path, h) }
	get("/", s.eventsPage)
	get("/events/:event", s.waitPage)
	get("/events/:event/line", s.linePage)
	e.POST("/events/:event/line", s.joinForm)
	get("/events/:event/draw", s.drawPage)
	e.POST("/events/:event/leave", s.leaveForm)
	get("/events/:event/travel", s.travelPage)
	e.POST("/events/:event/travel", s.travelForm)
	get("/events/:event/return", s.returnPage)
	e.POST("/events/:event/return", s.returnForm)
	get("/events/:event/seats", s.seatsPage)
	get("/events/:event/hold", s.holdAgain)
	e.POST("/events/:event/hold", s.holdForm)
	get("/orders/:order", s.orderPage)
	e.POST("/orders/:order/pay", s.payForm)
	e.POST("/orders/:order/release", s.releaseForm)
	s.adminPages(e)
	get("/favicon.svg", s.serveFile("favicon.svg"))
	get("/favicon.ico", s.serveFile("favicon.svg"))
	get("/robots.txt", s.serveFile("robots.txt"))
	get("/static/*", s.serveAsset)
}

var errNoPage = &sale.Refusal{Code: "no_such_route", Detail: "There is no page at this address."}

// page is what the frame of every page needs.
type page struct {
	Title  string
	Narrow bool
	Locale locale // of the amounts
	Script string // name of its script, or ""
	Reload int    // seconds after which a browser without scripts loads again; 0 is never
}

// views are all templates, parsed at start. Each page is a file in static/pages.
var views = template.Must(template.New("").Funcs(template.FuncMap{
	"asset": assetPath,
	"money": formatMoney,
	"sum":   moneyOf,
	"count": count,
	"zoned": zoned,
	"utc":   func(t time.Time) string { return inZone(t, "UTC", toTheSecond) },
	"mask":  outbox.Mask,
	"why":   func(w string) string { return whyWords[w] },
	"json": func(v any) (string, error) {
		b, err := json.Marshal(v)
		return string(b), err
	},
}).ParseFS(static.Files, "pages/*.html"))

// policy is the Content-Security-Policy of every page: everything is our own
// and nothing is inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"manifest-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action "

// policyWith is the policy of a page with a widget of these origins.
func policyWith(origins []string) string {
	also := " " + strings.Join(origins, " ")
	p := strings.NewReplacer("script-src 'self'", "script-src 'self'"+also, "style-src 'self'", "style-src 'self'"+also, "connect-src 'self'", "connect-src 'self'"+also).Replace(policy)
	return "frame-src" + also + "; " + p
}

func pageHeaders(h http.Header, formAction string) {
	h.Set("Content-Security-Policy", policy+formAction)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
}

// render answers with one personal page, whole or not at all.
func (s *Server) render(c echo.Context, status int, name string, data any) error {
	return s.renderTo(c, status, name, data, "'self'")
}

func (s *Server) renderTo(c echo.Context, status int, name string, data any, formAction string) error {
	var b bytes.Buffer
	if err := views.ExecuteTemplate(&b, name, data); err != nil {
		return fmt.Errorf("page %s: %w", name, err)
	}
	h := c.Response().Header()
	pageHeaders(h, formAction)
	h.Set("Cache-Control", "no-store")
	body := b.Bytes()
	h.Add("Vary", "Accept-Encoding, Accept-Language") // the latter for amounts
	if len(body) > 4<<10 && takesGzip(c.Request()) {
		h.Set("Content-Encoding", "gzip")
		body = squeeze(body)
	}
	return c.Blob(status, "text/html; charset=utf-8", body)
}

// seeOther sends the browser on with a GET.
func seeOther(c echo.Context, path string) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.Redirect(http.StatusSeeOther, path)
}

// eventPath is the address of an event's page, whatever its id may be.
func eventPath(id string) string { return "/events/" + url.PathEscape(id) }

// errorPage is a problem for people: what it is, and where to go from here.
func (s *Server) errorPage(c echo.Context, p problem) error {
	v := struct {
		page
		Status   int
		Detail   string
		Next     string
		NextWord string
	}{page: page{Title: p.Title, Narrow: true}, Status: p.Status, Detail: p.Detail, Next: "/", NextWord: "All events"}
	switch {
	case p.Code == "no_such_route":
		v.Title, v.Detail = "There is no such page", "The address may be mistyped, or what was here is over."
	case p.Code == "not_your_turn":
		v.Detail = "It is not your turn yet, or your turn is over. What you sent did not reach the shop."
		v.Next, v.NextWord = c.Response().Header().Get(headerShopWait), "To the waiting room"
	case p.Code == "no_such_order":
		v.Title = "There is no such order"
		v.Detail = "No order of yours has this address. Orders open only in the browser that made them; please use that one."
	case p.Status == http.StatusServiceUnavailable, p.Code == "shop_unavailable":
		v.Title, v.NextWord = "One moment, please", "Try again"
		if to := c.Request().URL.RequestURI(); sale.LocalTarget(to) { // a shop's visitor may ask for //other.site
			v.Next = to
		}
		if c.Request().Method == http.MethodGet {
			v.Reload = max(3, wholeSeconds(p.RetryAfter))
		}
	}
	if staff := c.Path(); strings.HasPrefix(staff, "/admin") || strings.HasPrefix(staff, "/door") {
		if v.Next == "/" {
			v.Next, v.NextWord = "/admin", "To the box office"
		}
		if p.Code == "no_such_order" {
			v.Detail = "The order may be of another house, or it came to nothing long ago and was forgotten."
		}
	}
	if id := param(c, "event"); id != "" && p.Code != "no_such_event" && v.Next == "/" && strings.HasPrefix(c.Path(), "/events/") {
		v.Next, v.NextWord = eventPath(id), "Back to the waiting room"
	}
	return s.render(c, p.Status, "error", v)
}

// count writes a number with its noun: "1 seat", "2 seats".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// eventsPage lists the public events.
func (s *Server) eventsPage(c echo.Context) error {
	type card struct {
		ID, Name, Venue, Starts, Opens string
		badge
	}
	v := struct {
		page
		Events []card
	}{page: page{Title: "Events", Script: "events.js"}}
	for _, e := range s.office.Events() {
		_, phase, err := s.office.Event(e.ID)
		if err != nil {
			continue // removed in between
		}
		k := card{ID: e.ID, Name: e.Name, Venue: e.Venue, Starts: zoned(e.StartsAt, e.TimeZone), badge: s.badge(e, phase)}
		if phase == sale.PhaseLobby {
			k.Opens = zoned(e.OpensAt, e.TimeZone)
		}
		v.Events = append(v.Events, k)
	}
	return s.render(c, http.StatusOK, "events", v)
}

// shell is the waiting page of one event, the same for everybody, ready to go.
type shell struct {
	view waitData
	*document
}

var shellCaching = []string{"public, max-age=10"}

// waitPage answers the static shell. It sets no cookie and may be kept by any
// cache for ten seconds.
func (s *Server) waitPage(c echo.Context) error {
	e, phase, target, err := s.waitingRoom(c)
	if err != nil {
		return err
	}
	pageHeaders(c.Response().Header(), "'self'")
	if w := s.conf.Widgets[e.Challenge]; w != nil {
		c.Response().Header().Set("Content-Security-Policy", policyWith(w.Origins)+"'self'")
	}
	view := s.waitView(e, phase, target)
	if target != "" { // a page for everybody who wants to go there, not kept
		one, err := newShell(view)
		if err != nil {
			return err
		}
		return one.send(c, shellCaching)
	}
	found, _ := s.shells.Load(e.ID)
	kept, _ := found.(*shell)
	if kept == nil || kept.view != view { // also when time alone has changed it: a code may be over
		if kept, err = newShell(view); err != nil {
			return err
		}
		s.shells.Store(e.ID, kept)
	}
	return kept.send(c, shellCaching)
}

// waitingRoom finds the event of a page of its waiting room, and where the visitor
// wants to go when it is his turn, "" for the event's own.
func (s *Server) waitingRoom(c echo.Context) (e *sale.Event, phase sale.Phase, target string, err error) {
	if e, phase, err = s.office.Event(param(c, "event")); err == nil {
		target, err = returnTarget(c.Request())
	}
	return e, phase, target, err
}

// newShell makes the waiting page.
func newShell(view waitData) (*shell, error) {
	var b bytes.Buffer
	if err := views.ExecuteTemplate(&b, "wait.html", view); err != nil {
		return nil, fmt.Errorf("page wait: %w", err)
	}
	var packed []byte
	if view.Return == "" {
		packed = pack(b.Bytes())
	}
	return &shell{view, newDocument("text/html; charset=utf-8", hashOf(b.Bytes()), b.Bytes(), packed)}, nil
}

// soldOutWords say that no seat is left, and whether some may come back; the
// page's script has the same words.
func soldOutWords(phase sale.Phase, returns bool) string {
	switch {
	case phase == sale.PhaseSoldOut && !returns:
		return "Sold out. No seats are expected back."
	case phase == sale.PhaseSoldOut:
		return "Sold out. Seats that come back go to the line."
	case returns:
		return "All seats are taken now. Seats that come back go to the line."
	}
	return ""
}

type waitData struct {
	ID, Name, Venue, Starts, Opens, Message, Lead string
	Joinable, Drawn, Asks                         bool   // Asks for a proof, which takes scripts
	Zone                                          string // of the house
	Codes, Invited                                bool   // somebody may have a code; nobody joins without one
	Gain                                          string // what members have of it
	Return                                        string // where the visitor came from, and wants to go back to
	Go, GoWord                                    string // where a turn leads: to the seat map or the shop
}

// Own tells whether the turn leads to seats of ours, and "/" to our events.
func (v waitData) Own() bool { return v.GoWord == chooseSeats }

const chooseSeats = "Choose seats"

func (s *Server) waitView(e *sale.Event, phase sale.Phase, target string) waitData {
	v := waitData{ID: e.ID, Name: e.Name, Venue: e.Venue, Starts: zoned(e.StartsAt, e.TimeZone), Message: e.Message, Zone: e.TimeZone, Joinable: true, Drawn: e.Draw != nil, Asks: e.Challenge != "", Return: target}
	now := s.office.Calendar()
	v.Codes, v.Invited = e.TakesCodes(now), e.Invited()
	if e.Welcomes(sale.Member, now) {
		v.Gain = gain(e.Rules.MemberShare)
		if phase == sale.PhaseLobby && e.PresaleAt != nil {
			v.Gain = "Members are let in from " + zoned(e.PresaleAt, e.TimeZone) + ". " + v.Gain
		}
	}
	v.Go, v.GoWord = eventPath(e.ID)+"/seats", chooseSeats
	if target != "" || e.PlanVersion == "" {
		v.Go, v.GoWord = cmp.Or(target, e.ShopURL, "/"), "Go to the shop"
	}
	switch phase {
	case sale.PhaseLobby:
		v.Opens = zoned(e.OpensAt, e.TimeZone)
		v.Lead = "You can join the line now. It starts moving when the sale opens."
		if e.Presale(now) {
			v.Lead = "You can join the line now. Members are let in already; for everybody else it starts moving when the sale opens."
		}
		if v.Drawn {
			v.Lead = "You can join now. When the sale opens, the order is drawn by lot among all who are here: coming first makes no difference."
		}
	case sale.PhaseOpen:
		v.Lead = "The sale is open."
	case sale.PhasePaused:
		v.Lead = "The line is paused for a moment. You can join it."
	case sale.PhaseSoldOut:
		v.Lead, v.Joinable = soldOutWords(phase, e.SoldOut != sale.SoldOutYes), false
	case sale.PhaseClosed:
		v.Lead, v.Joinable = "The sale is closed.", false
	}
	return v
}
