package web

import (
	"net/http"
	"strconv"
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
