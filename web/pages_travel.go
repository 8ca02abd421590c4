package web

import (
	"errors"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/sale"
	"foyer/tickets"
)

// travelReload is how often the page with a return code looks whether it is the
// visitor's turn, in seconds, in a browser without scripts.
const travelReload = 15

type travelData struct {
	page
	waitData
	Code    sale.ReturnCode // zero: there is no place to take along
	URL     string
	Typed   string // where the code can be typed
	QR      template.HTML
	Status  string
	Aside   bool
	Revoked bool
}

// travelPage shows the code that takes the visitor's place to another browser.
func (s *Server) travelPage(c echo.Context) error {
	e, phase, target, err := s.waitingRoom(c)
	if err != nil {
		return err
	}
	v := travelData{page: page{Title: "Your place on another device – " + e.Name, Narrow: true, Script: "travel.js"}, waitData: s.waitView(e, phase, target)}
	v.Status, v.Revoked = sale.NotEntered, c.QueryParam("done") == "back"
	visitor, known := s.visitor(c)
	if known {
		p, err := s.office.Poll(e.ID, visitor) // it may be his turn
		if err != nil {
			return err
		}
		v.Status, v.Aside = p.Status, p.Status == sale.NotEntered && p.KeptUntil.After(p.Now)
		v.Code, err = s.office.ReturnCode(e.ID, visitor, p.QueueID)
		if err != nil && !errors.Is(err, sale.ErrNotEntered) {
			return err
		}
	}
	if v.Code.Code == "" {
		return s.render(c, http.StatusOK, "travel", v)
	}
	v.Reload = travelReload
	v.URL = s.returnLink(c.Request(), e.ID, target, v.Code.Code)
	v.Typed, _, _ = strings.Cut(v.URL, "?")
	v.Typed, _, _ = strings.Cut(v.Typed, "#")
	svg, err := tickets.QR(v.URL, "QR code of the link")
	if err != nil { // a target too long for a picture: the shop's own page will do
		svg, err = tickets.QR(s.returnLink(c.Request(), e.ID, "", v.Code.Code), "QR code of the link")
	}
	if err != nil {
		return err
	}
	v.QR = template.HTML(svg) // made of digits and our own words
	return s.render(c, http.StatusOK, "travel", v)
}

// travelForm takes the code back.
func (s *Server) travelForm(c echo.Context) error {
	event := param(c, "event")
	target, err := returnTarget(c.Request())
	if err != nil {
		return err
	}
	visitor, err := s.need(c)
	if err != nil {
		return err
	}
	place, err := uuid.Parse(c.FormValue("place"))
	if err != nil || place == uuid.Nil {
		return sale.ErrNotEntered
	}
	if err := s.limited(c); err != nil {
		return err
	}
	if err := s.office.RevokeReturn(event, visitor, place); err != nil {
		return err
	}
	to := eventPath(event) + "/travel?done=back"
	if target != "" {
		to += "&" + returnQuery(target)[1:]
	}
	return seeOther(c, to)
}

type returnData struct {
	page
	waitData
	Code    string // as it was typed
	Known   bool   // the browser is a visitor's
	Own     string // the queueId of a place that it has in this event, or ""
	Trouble string
}

// returnPage takes a code. What is behind the # of a link stays in the browser
// until a person presses the button, so that previews of links use nothing up.
func (s *Server) returnPage(c echo.Context) error { return s.showReturn(c, "", nil) }

func (s *Server) showReturn(c echo.Context, code string, trouble error) error {
	e, phase, target, err := s.waitingRoom(c)
	if err != nil {
		return err
	}
	v := returnData{page: page{Title: "Bring your place here – " + e.Name, Narrow: true, Script: "return.js"}, waitData: s.waitView(e, phase, target), Code: code}
	_, v.Known = s.visitor(c)
	if v.Own, err = s.ownPlaceID(c, e.ID); err != nil {
		return err
	}
	status := http.StatusOK
	if trouble != nil {
		p := s.problem(trouble)
		if p.Status >= http.StatusInternalServerError {
			return trouble
		}
		if p.RetryAfter > 0 {
			c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(wholeSeconds(p.RetryAfter)))
		}
		status, v.Trouble, v.Title = p.Status, p.Detail, p.Title+" – "+e.Name
	}
	return s.render(c, status, "return", v)
}

// ownPlaceID is the queueId of the place that the browser's visitor has, or "".
func (s *Server) ownPlaceID(c echo.Context, event string) (string, error) {
	visitor, known := s.visitor(c)
	if !known {
		return "", nil
	}
	own, err := s.office.ReturnCode(event, visitor, uuid.Nil)
	switch {
	case errors.Is(err, sale.ErrNotEntered):
		return "", nil
	case err != nil:
		return "", err
	}
	return own.QueueID.String(), nil
}

// returnForm makes the browser that of the visitor whose code it brings. A place
// that it has itself is given up, once a page has said so: the form names it then.
func (s *Server) returnForm(c echo.Context) error {
	event := param(c, "event")
	target, err := returnTarget(c.Request())
	if err != nil {
		return err
	}
	code := strings.TrimSpace(c.FormValue("code"))
	if _, after, link := strings.Cut(code, "#"); link {
		code = after
	}
	own, err := s.ownPlaceID(c, event)
	if err != nil {
		return err
	}
	if own != c.FormValue("instead") {
		return s.showReturn(c, code, nil)
	}
	if err := s.limited(c); err != nil {
		return s.showReturn(c, code, err)
	}
	by, _ := s.visitor(c)
	found, err := s.office.Redeem(event, code, by)
	if err != nil {
		return s.showReturn(c, code, err)
	}
	s.become(c, found.Visitor)
	if place, err := uuid.Parse(own); err == nil && found.Visitor != by {
		if err := s.office.Leave(event, by, place); err != nil {
			s.log.Warn("a place that was given up for another stays until its turn", "id", requestID(c), "error", err.Error())
		}
	}
	to := "/line" // which works without scripts
	if c.FormValue("scripts") != "" {
		to = ""
	}
	return seeOther(c, eventPath(event)+to+returnQuery(target))
}
