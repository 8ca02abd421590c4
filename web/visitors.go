package web

import (
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

// createVisitor always makes a new visitor, whoever asks: two clients that share
// a cookie must be able to become two.
func (s *Server) createVisitor(c echo.Context) error {
	if err := readNothing(c); err != nil {
		return err
	}
	v, credential, err := s.newVisitor(c)
	if err != nil {
		return err
	}
	return write(c, http.StatusCreated, struct {
		VisitorID  uuid.UUID `json:"visitorId"`
		Credential string    `json:"credential"`
	}{v, credential})
}
