package web

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"foyer/sale"
)

const (
	maxBody  = 64 << 10 // bytes
	maxPlan  = 32 << 20 // bytes
	maxDepth = 32       // of nested JSON
)

// stamp is a time as the API writes it: RFC 3339, UTC, milliseconds.
type stamp time.Time

// MarshalJSON writes exactly three digits of milliseconds.
func (t stamp) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 26), '"')
	return append(appendTime(b, time.Time(t)), '"'), nil
}

// stampOf is nil for no time.
func stampOf(t time.Time) *stamp {
	if t.IsZero() {
		return nil
	}
	return (*stamp)(&t)
}

func stampAt(t *time.Time) *stamp { return (*stamp)(t) }

// appendTime appends RFC 3339 with milliseconds, for years 0 to 9999.
func appendTime(b []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	b = appendDigits(b, year, 4)
	b = appendDigits(append(b, '-'), int(month), 2)
	b = appendDigits(append(b, '-'), day, 2)
	b = appendDigits(append(b, 'T'), hour, 2)
	b = appendDigits(append(b, ':'), minute, 2)
	b = appendDigits(append(b, ':'), second, 2)
	b = appendDigits(append(b, '.'), t.Nanosecond()/1e6, 3)
	return append(b, 'Z')
}

// appendDigits appends the last n decimal digits of v.
func appendDigits(b []byte, v, n int) []byte {
	at := len(b)
	b = append(b, "0000"[:n]...)
	for i := at + n - 1; i >= at; i-- {
		b[i] = byte('0' + v%10)
		v /= 10
	}
	return b
}

// list is a page of a longer list.
type list[T any] struct {
	Items []T     `json:"items"`
	Next  *string `json:"next"` // cursor of the next page; null on the last
}

func pageOf[T any](items []T, next string) list[T] {
	l := list[T]{Items: items}
	if items == nil {
		l.Items = []T{}
	}
	if next != "" {
		l.Next = &next
	}
	return l
}

// write answers with v as JSON.
func write(c echo.Context, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	c.Response().Header()[headerContentType] = typeJSON
	c.Response().WriteHeader(status)
	_, _ = c.Response().Write(body) // an error here: the client is gone
	return nil
}

// read decodes the request's JSON body into v, a pointer to a struct, strictly:
// fields are matched byte by byte and once, nothing may follow, texts carry no
// control characters and no halves of characters. An empty body reads as {}.
func read(c echo.Context, v any) error {
	body, err := readBody(c, maxBody)
	if err != nil || len(body) == 0 {
		return err
	}
	return readJSON(c, body, v)
}

func readJSON(c echo.Context, body []byte, v any) error {
	if err := checkType(c.Request()); err != nil {
		return err
	}
	return decode(body, v)
}

// readSome is read for a body that must be sent; {} will do.
func readSome(c echo.Context, v any) error {
	body, err := readBody(c, maxBody)
	if err == nil && len(body) == 0 {
		return refuse("bad_request", "The body is empty. Send a JSON object with what is to change.")
	}
	if err != nil {
		return err
	}
	return readJSON(c, body, v)
}

// readNothing takes an empty body or {}.
func readNothing(c echo.Context) error {
	if c.Request().ContentLength == 0 {
		return nil
	}
	return read(c, &struct{}{})
}

// readBody reads the raw body, at most limit bytes.
func readBody(c echo.Context, limit int64) ([]byte, error) {
	r := c.Request()
	if r.ContentLength > limit {
		return nil, errTooLarge
	}
	if r.Body == nil || r.ContentLength == 0 {
		return nil, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Response().Writer, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, errTooLarge
	case err != nil: // the client went away or was too slow
		return nil, errBadRequest
	}
	return body, nil
}

// checkType takes JSON in UTF-8, or a body whose type is not said.
func checkType(r *http.Request) error {
	t := r.Header.Get(echo.HeaderContentType)
	if t == "" || t == echo.MIMEApplicationJSON {
		return nil
	}
	name, params, err := mime.ParseMediaType(t)
	if err != nil || name != echo.MIMEApplicationJSON {
		return errMediaType
	}
	if cs, ok := params["charset"]; ok && !strings.EqualFold(cs, "utf-8") && !strings.EqualFold(cs, "us-ascii") {
		return errMediaType
	}
	return nil
}

// unmarshal puts what was found sound into v.
func unmarshal(body []byte, v any) error {
	err := json.Unmarshal(body, v)
	var wrong *json.UnmarshalTypeError
	var refusal *sale.Refusal
	switch {
	case errors.As(err, &refusal): // a type of ours says it better
		return refusal
	case errors.As(err, &wrong):
		a := "a "
		if strings.HasPrefix(wrong.Value, "array") || strings.HasPrefix(wrong.Value, "object") {
			a = "an "
		}
		return refuse("bad_field", "The field "+quoted(fieldOf(wrong.Field))+" cannot be "+a+wrong.Value+".")
	case err != nil: // a time that is none
		return refuse("bad_field", "A field has a value that it cannot have. Times are RFC 3339, such as 2027-03-01T19:00:00Z.")
	}
	return nil
}

// fieldOf is a field as clients know it: without the struct of ours, if it lies in
// one that another embeds.
func fieldOf(path string) string {
	first, rest, inner := strings.Cut(path, ".")
	if inner && first != "" && first[0] >= 'A' && first[0] <= 'Z' {
		return rest
	}
	return path
}
