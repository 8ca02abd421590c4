package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/sale"
)

// Webhook verifies what a payment provider sends in: the raw body, before
// anything is made of it. It refuses with [sale.ErrBadSignature] or
// [sale.ErrStaleEvent]; any error that is no [sale.Refusal] means a signed event
// that cannot be understood.
type Webhook interface {
	Verify(h http.Header, body []byte, now time.Time) (sale.Fact, error)
}

func (s *Server) pay(c echo.Context) error {
	var body struct {
		Provider string `json:"provider"`
		Name     string `json:"name"`
		Email    string `json:"email"`
	}
	if err := read(c, &body); err != nil {
		return err
	}
	o, err := orderID(c)
	if err != nil {
		return err
	}
	p, err := s.office.Pay(c.Request().Context(), sale.PayRequest{
		Visitor: s.buyer(c), Order: o, Provider: body.Provider, Buyer: sale.Buyer{Name: body.Name, Email: body.Email}, Back: s.orderAddress(c, o),
	})
	if err != nil {
		return err
	}
	doc := struct {
		RedirectURL *string `json:"redirectUrl"` // null when nothing is to be paid: the order is PAID
		PayBy       *stamp  `json:"payBy"`
		PaymentID   string  `json:"paymentId,omitempty"`
	}{PayBy: stampOf(p.PayBy), PaymentID: p.PaymentID}
	if p.RedirectURL != "" {
		url := p.RedirectURL
		if strings.HasPrefix(url, "/") { // a page of ours
			url = s.base(c.Request()) + url
		}
		doc.RedirectURL = &url
	}
	return write(c, http.StatusOK, doc)
}

// orderAddress is where a provider sends a buyer who has paid.
func (s *Server) orderAddress(c echo.Context, order uuid.UUID) string {
	return s.base(c.Request()) + "/orders/" + order.String()
}

// base is how the client reaches Foyer, without a slash at the end.
func (s *Server) base(r *http.Request) string {
	if s.conf.BaseURL != "" {
		return strings.TrimSuffix(s.conf.BaseURL, "/")
	}
	return s.scheme(r) + "://" + r.Host
}

// confirm takes the shop's word that money has come.
func (s *Server) confirm(c echo.Context, by *sale.Key) error {
	key, err := idempotencyKey(c.Request().Header)
	if err != nil {
		return err
	}
	var body struct {
		Amount    json.RawMessage `json:"amount"`
		Currency  string          `json:"currency"`
		Reference string          `json:"reference"`
	}
	if err := read(c, &body); err != nil {
		return err
	}
	o, err := orderID(c)
	if err != nil {
		return err
	}
	amount, err := strconv.ParseInt(string(body.Amount), 10, 64)
	if err != nil {
		return refuse("amount_mismatch", "The amount must be a whole number of minor units, written as a JSON integer such as 4250.")
	}
	v, err := s.office.Confirm(o, sale.Confirmation{
		Actor: actor(by), Key: key, Amount: amount, Currency: body.Currency, Reference: body.Reference,
	})
	if err != nil {
		return err
	}
	return write(c, http.StatusOK, staffOrderOf(v))
}

// idempotencyKey reads the header as draft-ietf-httpapi-idempotency-key-header
// has it, a quoted structured-field string, or bare as most clients send it.
// Both ways of writing one key are the same key.
func idempotencyKey(h http.Header) (string, error) {
	values := h["Idempotency-Key"]
	if len(values) == 0 {
		return "", sale.ErrKeyMissing
	}
	v := strings.Trim(values[0], " \t")
	switch {
	case v == "" && len(values) == 1:
		return "", sale.ErrKeyMissing
	case len(values) > 1:
		return "", errBadIdemKey
	}
	if v[0] == '"' {
		var ok bool
		if v, ok = unquote(v); !ok {
			return "", errBadIdemKey
		}
	}
	if len(v) < 1 || len(v) > 255 {
		return "", errBadIdemKey
	}
	for i := range len(v) {
		if v[i] < 0x20 || v[i] > 0x7e {
			return "", errBadIdemKey
		}
	}
	return v, nil
}

// unquote reads a structured-field string (RFC 9651, 3.3.3) and nothing after it.
func unquote(v string) (string, bool) {
	var b strings.Builder
	for i := 1; i < len(v); i++ {
		switch v[i] {
		case '"':
			return b.String(), i == len(v)-1
		case '\\':
			if i++; i == len(v) || v[i] != '"' && v[i] != '\\' {
				return "", false
			}
		}
		b.WriteByte(v[i])
	}
	return "", false
}

// webhook takes a provider's event and answers once it is on disk.
func (s *Server) webhook(c echo.Context) error {
	hook, ok := s.conf.Webhooks[param(c, "provider")]
	if !ok {
		return refuse("no_such_provider", "No payment provider of this name is set up.")
	}
	body, err := readBody(c, maxBody)
	if err != nil {
		return err
	}
	fact, err := hook.Verify(c.Request().Header, body, time.Now())
	var known *sale.Refusal
	switch {
	case errors.As(err, &known):
		return err
	case err != nil:
		return sale.ErrBadFact
	}
	receipt, err := s.office.Receive(fact)
	if err != nil {
		return err
	}
	return write(c, http.StatusOK, struct {
		Outcome string `json:"outcome"`
	}{receipt.Outcome})
}
