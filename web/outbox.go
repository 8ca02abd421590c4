package web

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"foyer/outbox"
	"foyer/sale"
)

// messageDoc is a message that is not delivered, as staff may see it.
type messageDoc struct {
	ID        string       `json:"id"`
	Topic     string       `json:"topic"`
	Key       string       `json:"key"`
	Sink      string       `json:"sink"` // without user, password and query
	State     outbox.State `json:"state"`
	Attempts  int          `json:"attempts"`
	NextAt    *stamp       `json:"nextAt,omitempty"`
	LastError string       `json:"lastError,omitempty"`
	CreatedAt stamp        `json:"createdAt"`
}

func (s *Server) listMessages(c echo.Context, _ *sale.Key) error {
	n, err := limitOf(c)
	if err != nil {
		return err
	}
	state, ok := map[string]outbox.State{"": "", "dead": outbox.Dead, "waiting": outbox.Waiting}[c.QueryParam("state")]
	if !ok {
		return refuse("bad_request", `"state" must be dead or waiting.`)
	}
	after := uint64(0)
	if cursor := c.QueryParam("cursor"); cursor != "" {
		if after, err = strconv.ParseUint(cursor, 10, 64); err != nil {
			return errBadCursor
		}
	}
	messages, err := s.office.Messages(state, after, n)
	if err != nil {
		return err
	}
	var docs []messageDoc
	for _, m := range messages {
		docs = append(docs, messageDoc{
			m.ID, m.Topic, m.Key, outbox.Mask(m.Sink), m.State, m.Attempts, stampOf(m.NextAt), m.LastError, stamp(m.CreatedAt),
		})
	}
	next := ""
	if len(messages) == n {
		next = strconv.FormatUint(messages[n-1].Seq, 10)
	}
	return write(c, http.StatusOK, pageOf(docs, next))
}

func (s *Server) retryMessage(c echo.Context, by *sale.Key) error {
	return s.decide(c, by, s.office.RetryMessage)
}

func (s *Server) dropMessage(c echo.Context, by *sale.Key) error {
	return s.decide(c, by, s.office.DropMessage)
}

// messageForm is what staff decide on the page.
func (s *Server) messageForm(c echo.Context, by *sale.Key) error {
	act, how := s.office.RetryMessage, "retry"
	if c.FormValue("act") == "drop" {
		act, how = s.office.DropMessage, "drop"
	}
	if err := act(actor(by), param(c, "message")); err != nil {
		return err
	}
	return seeOther(c, "/admin?done="+how)
}

func (s *Server) decide(c echo.Context, by *sale.Key, act func(actor, id string) error) error {
	if err := readNothing(c); err != nil {
		return err
	}
	if err := act(actor(by), param(c, "message")); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
