package web

import (
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

// createVisitor always makes a new visitor, whoever asks: two clients that share
// a cookie must be able to become two.
func (s *Server) createVisitor(c echo.Context) error {
	var body struct {
		Event string `json:"event"` // the one to be joined, to get its challenge at once
	}
	if c.Request().ContentLength != 0 {
		if err := read(c, &body); err != nil {
			return err
		}
	}
	if body.Event != "" {
		if _, _, err := s.office.Event(body.Event); err != nil {
			return err
		}
	}
	v, credential, err := s.newVisitor(c)
	if err != nil {
		return err
	}
	var asked any
	if body.Event != "" {
		if asked, err = s.challenge(body.Event, v); err != nil {
			return err
		}
	}
	return write(c, http.StatusCreated, struct {
		VisitorID  uuid.UUID `json:"visitorId"`
		Credential string    `json:"credential"`
		Challenge  any       `json:"challenge,omitempty"`
	}{v, credential, asked})
}
