package web

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"foyer/queue"
	"foyer/sale"
)

// gain says in one sentence what a member has of it, for an event of this share
// of ten turns.
func gain(share int) string {
	words := []string{"none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
	goes := func(n int) string {
		if n == 1 {
			return "one goes"
		}
		return words[n] + " go"
	}
	switch share {
	case 0:
		return "Members are let in when nobody else waits."
	case queue.Tens:
		return "Members are let in first."
	}
	return fmt.Sprintf("Of ten turns, %s to members and %s to the public.", goes(share), words[queue.Tens-share])
}

// codesForm makes a batch and shows it this once, or takes one back.
func (s *Server) codesForm(c echo.Context, by *sale.Key) error {
	event := param(c, "event")
	if c.FormValue("do") == "revoke" {
		if c.FormValue("sure") == "" {
			return s.after(c, refuse(sale.ErrBadBatch.Code, "Tick the box first. The codes are still good."), "")
		}
		return s.after(c, s.office.RevokeCodes(actor(by), event, batchNumber(c.FormValue("batch"))), "revoke")
	}
	count, err1 := strconv.Atoi(strings.TrimSpace(c.FormValue("count")))
	uses, err2 := strconv.Atoi(strings.TrimSpace(c.FormValue("uses")))
	class, err := classOf(c.FormValue("class"))
	switch {
	case err1 != nil || err2 != nil:
		return s.after(c, refuse(sale.ErrBadBatch.Code, "How many codes and people must be whole numbers."), "")
	case err != nil:
		return s.after(c, err, "")
	}
	e, _, err := s.office.Event(event)
	if err != nil {
		return err
	}
	loc, err := zone(e.TimeZone)
	if err != nil {
		loc = time.UTC
	}
	until, err := wallTime(c.FormValue("expiresAt"), loc)
	if err != nil {
		return s.after(c, err, "")
	}
	b, codes, err := s.office.CreateCodes(actor(by), event, sale.CodeBatch{Name: strings.TrimSpace(c.FormValue("name")), Class: class, Count: count, Uses: uses, ExpiresAt: until})
	if err != nil {
		return s.after(c, err, "")
	}
	v := struct {
		staffPage
		Event *sale.Event
		Batch sale.CodeBatch
		Codes string
		Rows  int
	}{staffFrame(c, by, "Codes – "+e.Name, link{"/admin" + eventPath(e.ID), e.Name}), e, b, strings.Join(codes, "\n"), min(20, len(codes)+1)}
	return s.render(c, http.StatusOK, "codes", v)
}
