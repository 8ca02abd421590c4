package web

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/queue"
	"foyer/sale"
)

// returned marks the second step of joining: the browser sends the form again,
// now with the cookie. Who keeps no cookie gets no number.
const returned = "returned"

var errNoCookie = refuse(sale.ErrNoVisitor.Code, "Your browser did not keep the cookie that keeps your place. Please allow cookies for this site and join again.")

// joinForm joins the line for a browser without scripts.
func (s *Server) joinForm(c echo.Context) error {
	e, _, target, err := s.waitingRoom(c)
	if err != nil {
		return err
	}
	visitor, known := s.visitor(c)
	switch {
	case !known && c.QueryParam(returned) != "":
		return errNoCookie
	case !known:
		if _, _, err := s.newVisitor(c); err != nil {
			return err
		}
		again := url.Values{returned: {"1"}}
		if target != "" {
			again.Set("return", target)
		}
		return c.Redirect(http.StatusTemporaryRedirect, eventPath(e.ID)+"/line?"+again.Encode()) // it keeps the method
	}
	code := c.Request().PostFormValue("code") // never from the address
	if _, _, err := s.joinLine(c, visitor, code, ""); err != nil {
		return err
	}
	return seeOther(c, eventPath(e.ID)+"/line"+returnQuery(target))
}

// leaveForm gives the place back.
func (s *Server) leaveForm(c echo.Context) error {
	event := param(c, "event")
	visitor, ok := s.visitor(c)
	if !ok {
		return seeOther(c, eventPath(event))
	}
	id, err := uuid.Parse(c.FormValue("place"))
	if err != nil {
		return sale.ErrNotEntered
	}
	if err := s.office.Leave(event, visitor, id); err != nil && !errors.Is(err, sale.ErrNotEntered) {
		return err
	}
	return seeOther(c, eventPath(event)+"/line")
}

type lineData struct {
	page
	waitData
	Place   sale.PlaceView
	Phase   sale.Phase
	Paused  bool   // nobody is called for a while
	Wait    string // in words
	Left    string // of the turn, "4:59"
	Over    bool   // no seats are expected
	Gone    string // why nobody is called, when no seat is left
	Updated string
	Why     string // the wait may be longer than it was
	Odds    string // seats left, and the chance of one
	Called  string // when his turn came while he was away, or ""
	Kept    string // until when he may come back to the front
	InTime  bool   // he still may
}

// HasOrder tells whether the turn has an order already.
func (v lineData) HasOrder() bool { return v.Place.OrderID != uuid.Nil }

// linePage is one visitor's own place, for a browser without scripts: it loads
// itself again at the pace the line asks for.
func (s *Server) linePage(c echo.Context) error {
	e, phase, target, err := s.waitingRoom(c)
	if err != nil {
		return err
	}
	v := lineData{page: page{Title: e.Name}, waitData: s.waitView(e, phase, target), Phase: phase}
	v.Place.Status = sale.NotEntered
	status, err := s.office.Status(e.ID)
	if err != nil {
		return err
	}
	v.Gone, v.Over = soldOutWords(phase, status.Returns), !status.Returns
	if visitor, ok := s.visitor(c); ok {
		if v.Place, err = s.office.Poll(e.ID, visitor); err != nil {
			return err
		}
	}
	p := &v.Place
	if !p.CalledAt.IsZero() {
		v.Called, v.Kept, v.InTime = zonedTime(p.CalledAt, e.TimeZone), zonedTime(p.KeptUntil, e.TimeZone), p.Now.Before(p.KeptUntil)
	}
	switch p.Status {
	case sale.Lobby, sale.Waiting:
		if v.Reload = int(math.Ceil(p.Poll.Seconds())); p.Poll >= time.Second { // else there is little time to come
			v.Reload = max(2, v.Reload)
		}
		v.Title = e.Name + " – waiting"
		if p.Status == sale.Waiting && phase != sale.PhaseClosed {
			v.Title = strconv.Itoa(p.Rank) + " ahead – " + e.Name
		}
		v.Wait, v.Paused = waitWords(p.WaitLow, p.WaitHigh), phase == sale.PhasePaused || p.Slower == sale.SlowerPaused
		v.Why, v.Odds = slowerWords(p.Slower, e.Slowed), chanceWords(p.Chance)
		if p.OpensAt != nil && p.OpensAt.After(p.Now) { // for a member the presale
			v.Opens = zoned(p.OpensAt, e.TimeZone)
		}
	case sale.Ready:
		v.Reload = 15
		v.Title = "Your turn – " + e.Name
		v.Left = clock(p.TokenExpiresAt.Sub(p.Now))
	}
	if !p.Now.IsZero() {
		now := p.Now
		v.Updated = zoned(&now, e.TimeZone)
	}
	return s.render(c, http.StatusOK, "line", v)
}

// whySlower is what [slowerWords] say of the reasons that need no numbers.
var whySlower = map[string]string{
	sale.SlowerTurns:    "People take longer than expected.",
	sale.SlowerMembers:  "Members wait too and have a share of the turns.",
	sale.SlowerPublic:   "Others wait too and have a share of the turns.",
	sale.SlowerReturned: "People who were called before came back to the front.",
	sale.SlowerDraw:     "The draw decides who comes before you.",
	sale.SlowerTrouble:  "Fewer people are let in for a while, because something behind the line is slow.",
}

// slowerWords say why a wait may have become longer.
func slowerWords(why string, l *sale.Slowed) string {
	switch {
	case why != sale.SlowerLowered || l == nil:
		return whySlower[why]
	case l.What == "maxActive":
		return fmt.Sprintf("Fewer people are let in at a time: %d instead of %d.", l.To, l.From)
	}
	return fmt.Sprintf("The pace was lowered from %d to %d people a second.", l.From, l.To)
}

// chanceWords say what is left and what a visitor may hope for.
func chanceWords(c sale.Chance) string {
	if c.Level == "" || c.Left == 0 {
		return ""
	}
	left := fmt.Sprintf("%d seats are left.", c.Left)
	if c.Left == 1 {
		left = "One seat is left."
	}
	before := fmt.Sprintf(" The people before you will take about %d.", c.Likely)
	if c.Likely == 0 {
		before = ""
	}
	switch c.Level {
	case queue.ChanceUnknown:
		return left
	case queue.ChanceNone:
		return left + before + " A seat for you is not likely."
	}
	return left + before + " Your chance of a seat is " + c.Level + "."
}

// waitWords is an estimate in seconds as a range in words.
func waitWords(low, high int) string {
	if high < 60 {
		return "less than a minute"
	}
	unit, word := 60, "minute"
	if high > 5400 {
		unit, word = 3600, "hour"
	}
	a := max(1, low/unit)
	b := max(a, (high+unit-1)/unit)
	if a == b {
		return "about " + count(b, word)
	}
	return fmt.Sprintf("about %d–%s", a, count(b, word))
}

// clock writes what is left as "4:59", never below "0:00".
func clock(d time.Duration) string {
	n := max(0, int((d+time.Second-1)/time.Second))
	if n >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", n/3600, n/60%60, n%60)
	}
	return fmt.Sprintf("%d:%02d", n/60, n%60)
}
