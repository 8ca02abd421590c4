package web

import (
	"encoding/csv"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"foyer/cell"
)

// sheetFile is a CSV file on its way to a client (RFC 4180), for spreadsheets:
// UTF-8 with a byte order mark, lines that end in CRLF, amounts as plain
// decimals, texts guarded against being formulas (package cell). It is sent as
// it is made; a client that takes nothing for backupPatience is cut off.
type sheetFile struct {
	c     echo.Context
	w     *csv.Writer
	limit *http.ResponseController
	width int // of every line
}

// openSheet begins the answer, with a name like "orders-gala-2027-03-01.csv".
func openSheet(c echo.Context, name string, now time.Time, columns ...string) *sheetFile {
	h := c.Response().Header()
	h[headerContentType] = []string{"text/csv; charset=utf-8; header=present"}
	h[headerCacheControl] = []string{"no-store, no-transform"}
	h.Set(echo.HeaderContentDisposition, `attachment; filename="`+name+"-"+now.UTC().Format(time.DateOnly)+`.csv"`)
	h.Set("X-Content-Type-Options", "nosniff")
	c.Response().WriteHeader(http.StatusOK)
	f := &sheetFile{c: c, w: csv.NewWriter(c.Response()), limit: http.NewResponseController(c.Response()), width: len(columns)}
	f.w.UseCRLF = true
	_, _ = c.Response().Write([]byte("\ufeff")) // an error here comes again below
	f.row(columns...)
	return f
}

// row adds a line; values that are not given are empty. They are numbers and
// codes of ours, or went through text.
func (f *sheetFile) row(values ...string) {
	_ = f.w.Write(append(values, make([]string, f.width-len(values))...)) // flush tells of errors
}

// flush sends what there is; an error means that the client is gone.
func (f *sheetFile) flush() error {
	_ = f.limit.SetWriteDeadline(time.Now().Add(backupPatience)) // not there in tests
	f.w.Flush()
	return f.w.Error()
}

// text is a cell with a text of somebody else. encoding/csv reads any break as a
// line feed, so it is written as one.
func text(s string) string {
	return cell.Guard(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s))
}

// plainTime is a cell with a time, "" for none.
func plainTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return string(appendTime(nil, t))
}
