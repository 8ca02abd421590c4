package web

import (
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

// makeLink gives the return code of the visitor's place, and the link with it.
func (s *Server) makeLink(c echo.Context) error {
	if err := readNothing(c); err != nil {
		return err
	}
	visitor, place, err := s.needPlace(c)
	if err != nil {
		return err
	}
	code, err := s.office.ReturnCode(param(c, "event"), visitor, place)
	if err != nil {
		return err
	}
	return write(c, http.StatusCreated, struct {
		Code string `json:"code"`
		URL  string `json:"url"`
	}{code.Code, s.returnLink(c.Request(), param(c, "event"), "", code.Code)})
}

// returnLink is the link that takes a place to another browser. Its code is the
// fragment, which browsers keep from servers, proxies and logs.
func (s *Server) returnLink(r *http.Request, event, target, code string) string {
	return s.base(r) + eventPath(event) + "/return" + returnQuery(target) + "#" + code
}

// revokeLink takes the return code of the visitor's place back.
func (s *Server) revokeLink(c echo.Context) error {
	if err := readNothing(c); err != nil {
		return err
	}
	visitor, place, err := s.needPlace(c)
	if err != nil {
		return err
	}
	if err := s.limited(c); err != nil {
		return err
	}
	if err := s.office.RevokeReturn(param(c, "event"), visitor, place); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// redeem makes whoever brings a good return code the visitor whose place it is.
func (s *Server) redeem(c echo.Context) error {
	var body struct {
		Code string `json:"code"`
	}
	if err := readSome(c, &body); err != nil {
		return err
	}
	if err := s.limited(c); err != nil {
		return err
	}
	by, _ := s.visitor(c)
	found, err := s.office.Redeem("", body.Code, by)
	if err != nil {
		return err
	}
	credential := s.become(c, found.Visitor)
	return write(c, http.StatusOK, struct {
		VisitorID  uuid.UUID `json:"visitorId"`
		Credential string    `json:"credential"`
		EventID    string    `json:"eventId"`
		QueueID    uuid.UUID `json:"queueId"`
	}{found.Visitor, credential, found.Event, found.QueueID})
}
