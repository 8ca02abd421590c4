package web

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"foyer/sale"
)

// batchDoc is a batch of codes; the codes are shown once, when they are made.
type batchDoc struct {
	Batch     uint32     `json:"batch"`
	Name      string     `json:"name"`
	Class     sale.Class `json:"class"`
	Count     int        `json:"count"`
	Uses      int        `json:"uses"`
	ExpiresAt *stamp     `json:"expiresAt"`
	CreatedAt stamp      `json:"createdAt"`
	RevokedAt *stamp     `json:"revokedAt"`
	Used      int        `json:"used"`   // codes that somebody used
	People    int        `json:"people"` // places they gave
	Codes     []string   `json:"codes,omitempty"`
}

func batchOf(b sale.BatchView, codes []string) batchDoc {
	return batchDoc{
		Batch: b.Number, Name: b.Name, Class: b.Class, Count: b.Count, Uses: b.Uses, ExpiresAt: stampAt(b.ExpiresAt),
		CreatedAt: stamp(b.CreatedAt), RevokedAt: stampOf(b.RevokedAt), Used: b.Used, People: b.People, Codes: codes,
	}
}

func (s *Server) listCodes(c echo.Context, _ *sale.Key) error {
	if err := askAll(c); err != nil {
		return err
	}
	list, err := s.office.Codes(param(c, "event"))
	if err != nil {
		return err
	}
	var docs []batchDoc
	for _, b := range list {
		docs = append(docs, batchOf(b, nil))
	}
	return write(c, http.StatusOK, pageOf(docs, ""))
}

// classOf reads a class as the API has it.
func classOf(text string) (class sale.Class, err error) {
	if class.UnmarshalText([]byte(text)) != nil {
		return class, refuse(sale.ErrBadBatch.Code, `class must be "member" or "public".`)
	}
	return class, nil
}

func (s *Server) createCodes(c echo.Context, by *sale.Key) error {
	body := struct {
		Count     int        `json:"count"`
		Class     string     `json:"class"`
		Uses      int        `json:"uses"`
		Name      string     `json:"name"`
		ExpiresAt *time.Time `json:"expiresAt"`
	}{Uses: 1}
	if err := read(c, &body); err != nil {
		return err
	}
	class, err := classOf(body.Class)
	if err != nil {
		return err
	}
	b, codes, err := s.office.CreateCodes(actor(by), param(c, "event"), sale.CodeBatch{
		Name: body.Name, Class: class, Count: body.Count, Uses: body.Uses, ExpiresAt: body.ExpiresAt,
	})
	if err != nil {
		return err
	}
	c.Response().Header()[headerCacheControl] = noStore
	return write(c, http.StatusCreated, batchOf(sale.BatchView{CodeBatch: b}, codes))
}

// batchNumber reads the number of a batch; what is none is a batch that is not there.
func batchNumber(text string) uint32 {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}

func (s *Server) revokeCodes(c echo.Context, by *sale.Key) error {
	if err := readNothing(c); err != nil {
		return err
	}
	if err := s.office.RevokeCodes(actor(by), param(c, "event"), batchNumber(param(c, "batch"))); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

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
	case 10:
		return "Members are let in first."
	}
	return fmt.Sprintf("Of ten turns, %s to members and %s to the public.", goes(share), words[10-share])
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
