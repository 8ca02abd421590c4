package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// settledDoc is what a person, or the house, decided about a payment fact.
type settledDoc struct {
	At     stamp  `json:"at"`
	By     string `json:"by"`
	How    string `json:"how"` // complete, refund, dismiss
	Reason string `json:"reason,omitempty"`
}

// listSettled lists the payment facts that were decided, the newest fact first.
func (s *Server) listSettled(c echo.Context) error {
	n, err := askPage(c, "settled")
	if err != nil {
		return err
	}
	if v := c.QueryParam("settled"); v != "1" {
		return refuse("bad_request", "The parameter settled is "+quoted(v)+", but it can only be 1.")
	}
	before, err := numberCursor(c)
	if err != nil {
		return err
	}
	if before == 0 && c.QueryParam("cursor") != "" {
		return errBadCursor
	}
	var docs []attentionDoc
	next := uint64(0)
	for _, rc := range s.office.Decided(before, n+1) {
		if len(docs) == n {
			next = docs[n-1].Seq
			break
		}
		d := receiptOf(moneyMatter{ID: matterID{payment: rc.Seq}.String(), Receipt: rc})
		d.Settled = &settledDoc{stamp(rc.Settled.At), rc.Settled.By, rc.Settled.How, rc.Settled.Reason}
		docs = append(docs, d)
	}
	return write(c, http.StatusOK, pageOf(docs, cursorOf(next)))
}
