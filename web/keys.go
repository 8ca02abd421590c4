package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"foyer/sale"
)

// keyDoc is a key; its secret is shown once, when it is made.
type keyDoc struct {
	ID        string    `json:"id"`
	Role      sale.Role `json:"role"`
	Name      string    `json:"name"`
	Key       string    `json:"key,omitempty"`
	CreatedAt stamp     `json:"createdAt"`
}

func (s *Server) listKeys(c echo.Context, _ *sale.Key) error {
	if err := askAll(c); err != nil {
		return err
	}
	var docs []keyDoc
	for _, k := range s.office.Keys() {
		docs = append(docs, keyDoc{ID: k.ID, Role: k.Role, Name: k.Name, CreatedAt: stamp(k.CreatedAt)})
	}
	return write(c, http.StatusOK, pageOf(docs, ""))
}

func (s *Server) createKey(c echo.Context, by *sale.Key) error {
	var body struct {
		Role sale.Role `json:"role"`
		Name string    `json:"name"`
	}
	if err := read(c, &body); err != nil {
		return err
	}
	k, secret, err := s.office.CreateKey(actor(by), body.Role, body.Name)
	if err != nil {
		return err
	}
	return write(c, http.StatusCreated, keyDoc{k.ID, k.Role, k.Name, secret, stamp(k.CreatedAt)})
}

func (s *Server) removeKey(c echo.Context, by *sale.Key) error {
	if err := s.office.RemoveKey(actor(by), param(c, "key")); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
