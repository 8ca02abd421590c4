package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"foyer/sale"
)

// tokenBody is what a shop sends about an entry token.
type tokenBody struct {
	Token      string `json:"token"`
	CustomerID string `json:"customerId"`
}

// tokenDoc is what a shop is told of an entry token; null is: nothing is known.
type tokenDoc struct {
	Valid      bool    `json:"valid"`
	TokenState *string `json:"tokenState"`
	CustomerID *string `json:"customerId"`
	ExpiresAt  *stamp  `json:"expiresAt"`
}

func tokenDocOf(v sale.TokenView) tokenDoc {
	text := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return tokenDoc{v.Valid, text(string(v.State)), text(v.Customer), stampOf(v.ExpiresAt)}
}

func tokenRequest(c echo.Context, by *sale.Key) (sale.TokenRequest, error) {
	var body tokenBody
	if err := read(c, &body); err != nil {
		return sale.TokenRequest{}, err
	}
	return sale.TokenRequest{Actor: actor(by), Admin: by.Role.Includes(sale.RoleAdmin), Event: param(c, "event"), Token: body.Token, Customer: body.CustomerID}, nil
}

func (s *Server) verifyToken(c echo.Context, by *sale.Key) error {
	r, err := tokenRequest(c, by)
	if err != nil {
		return err
	}
	v, err := s.office.VerifyToken(r)
	if err != nil {
		return err
	}
	return write(c, http.StatusOK, tokenDocOf(v))
}

// onToken answers an act of a shop on a token, once per Idempotency-Key.
func (s *Server) onToken(act func(sale.TokenRequest) (sale.TokenView, error)) staffHandler {
	return func(c echo.Context, by *sale.Key) error {
		key, err := idempotencyKey(c.Request().Header)
		if err != nil {
			return err
		}
		r, err := tokenRequest(c, by)
		if err != nil {
			return err
		}
		r.Key = key
		v, err := act(r)
		if err != nil {
			return err
		}
		return write(c, http.StatusOK, tokenDocOf(v))
	}
}
