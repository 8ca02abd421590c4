package web

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"foyer/sale"
)

// drawDoc is how a draw stands; what is not known before it was held is left out.
type drawDoc struct {
	Commitment string `json:"commitment"` // hex of SHA-256 of the seed's 32 bytes
	Seed       string `json:"seed,omitempty"`
	HeldAt     *stamp `json:"heldAt,omitempty"`
	Entries    *int   `json:"entries,omitempty"`
	Digest     string `json:"digest,omitempty"` // hex of SHA-256 of the list of entries
}

func drawOf(d *sale.Draw) *drawDoc {
	if d == nil {
		return nil
	}
	doc := &drawDoc{Commitment: d.Commitment, Seed: d.Revealed(), Digest: d.Digest}
	if d.Held() {
		doc.HeldAt, doc.Entries = stampAt(&d.HeldAt), &d.Entries
	}
	return doc
}

// appendDraw appends what a place tells of the draw.
func appendDraw(b []byte, d *sale.Draw) []byte {
	b = append(append(b, `,"draw":{"commitment":"`...), d.Commitment...)
	if d.Held() {
		b = append(append(b, `","seed":"`...), d.Seed...)
		b = strconv.AppendInt(append(b, `","entries":`...), int64(d.Entries), 10)
		return append(b, '}')
	}
	return append(b, `"}`...)
}

func (s *Server) showDraw(c echo.Context) error {
	e, _, err := s.office.Event(param(c, "event"))
	if err != nil {
		return err
	}
	if e.Draw == nil {
		return sale.ErrNotDrawn
	}
	return write(c, http.StatusOK, drawOf(e.Draw))
}

// entriesAtOnce is how many entries are read and sent at once.
const entriesAtOnce = 4096

// listEntries sends the queue ids that took part in a draw: a line for each number
// from 1. Under the address with its digest it may be kept for a year; under the plain
// one another event of this id may have another list some day.
func (s *Server) listEntries(c echo.Context) error {
	e, _, err := s.office.Event(param(c, "event"))
	if err != nil {
		return err
	}
	if !e.Draw.Held() {
		return sale.ErrNotDrawn
	}
	h := c.Response().Header()
	etag := `"` + e.Draw.Digest[:32] + `"`
	h["Etag"] = []string{etag}
	h[headerCacheControl] = revalidate
	if c.QueryParam("v") == e.Draw.Digest {
		h[headerCacheControl] = forAYear
	}
	if matches(c.Request().Header["If-None-Match"], etag) {
		return c.NoContent(http.StatusNotModified)
	}
	h[headerContentType] = []string{"text/plain; charset=utf-8"}
	h["Content-Length"] = []string{strconv.Itoa(37 * e.Draw.Entries)}
	c.Response().WriteHeader(http.StatusOK)
	if c.Request().Method == http.MethodHead {
		return nil
	}
	var b []byte
	for sent := 0; sent < e.Draw.Entries; {
		names, err := s.office.Entries(e.ID, sent, entriesAtOnce)
		if err != nil || len(names) == 0 {
			panic(http.ErrAbortHandler) // the length promises more: cut it off, so that nobody takes it for the whole
		}
		b = b[:0]
		for _, name := range names {
			b = append(appendID(b, name), '\n')
		}
		if _, err := c.Response().Write(b); err != nil {
			return nil
		}
		sent += len(names)
	}
	return nil
}

// drawPage explains the draw, and lets everybody check it.
func (s *Server) drawPage(c echo.Context) error {
	e, _, err := s.office.Event(param(c, "event"))
	if err != nil {
		return err
	}
	if e.Draw == nil {
		return errNoPage
	}
	v := struct {
		page
		ID, Name, Opens, Held, Commitment, Seed, Digest, Server string
		Entries                                                 int
	}{
		page: page{Title: "The draw of " + e.Name, Narrow: true, Script: "draw.js"},
		ID:   e.ID, Name: e.Name, Opens: zoned(e.OpensAt, e.TimeZone), Commitment: e.Draw.Commitment,
		Seed: e.Draw.Revealed(), Digest: e.Draw.Digest, Entries: e.Draw.Entries, Server: s.base(c.Request()),
	}
	if e.Draw.Held() {
		v.Held = zoned(&e.Draw.HeldAt, e.TimeZone)
	}
	return s.render(c, http.StatusOK, "draw", v)
}
