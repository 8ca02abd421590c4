package web

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"mime"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
)

// headerRequestID names each answer; the same id is in the log.
const headerRequestID = "X-Request-Id"

var (
	apiPolicy  = []string{"default-src 'none'; frame-ancestors 'none'"}
	noSniff    = []string{"nosniff"}
	sameOrigin = []string{"same-origin"} // not no-referrer: browsers then send Origin: null with forms
)

// around is what every request passes: its id, the headers of its answer, the
// check for forged requests, recovery from panics, metrics and the log line. It
// is one middleware, for each one costs.
func (s *Server) around(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		start := time.Now()
		s.prepare(c)
		if len(s.conf.Proxies) == 0 && c.Request().URL.Path != checkPath && s.hidden.note(c.Request()) { // who asks there is a proxy
			s.log.Warn("every request comes from one private address and says that it was passed on: visitors share one limit until the proxy is named with --trusted-proxies", "proxy", s.hidden.proxy())
		}
		defer func() {
			if v := recover(); v != nil {
				err = s.recovered(c, v)
			}
			if err != nil {
				s.fail(c, err)
				err = nil
			}
			s.finish(c, start)
		}()
		if c.Path() == checkPath { // it changes nothing, and the method, the site and the body are another request's
			return next(c)
		}
		if err := s.admit(c.Request()); err != nil {
			return err
		}
		if err := s.readForm(c); err != nil {
			return err
		}
		return next(c)
	}
}

func (s *Server) prepare(c echo.Context) {
	h, r := c.Response().Header(), c.Request()
	h[headerCacheControl] = noStore
	if c.Path() == checkPath {
		return // most of these answers have no content and are not logged; check dresses the others
	}
	dress(h, r)
}

// dress names an answer and adds the headers that protect what is in it.
func dress(h http.Header, r *http.Request) {
	h[headerRequestID] = []string{newRequestID()}
	if !isAPI(r.URL.Path) {
		pageHeaders(h, "'self'")
		return
	}
	h["Content-Security-Policy"] = apiPolicy
	h["X-Content-Type-Options"] = noSniff
	h["Referrer-Policy"] = sameOrigin
}

// newRequestID returns 16 hex digits. They name, they do not protect.
func newRequestID() string {
	const digits = "0123456789abcdef"
	var b [16]byte
	for i, v := 0, rand.Uint64(); i < len(b); i, v = i+1, v>>4 {
		b[i] = digits[v&15]
	}
	return string(b[:])
}

func requestID(c echo.Context) string { return c.Response().Header().Get(headerRequestID) }

// admit refuses changes that another site made a browser send with its cookies,
// and compressed bodies. What is authenticated by a header of its own cannot be
// forged this way, and a provider's webhook is signed.
func (s *Server) admit(r *http.Request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	if e := r.Header["Content-Encoding"]; len(e) > 0 && e[0] != "" && !strings.EqualFold(e[0], "identity") {
		return errEncoding
	}
	h := r.Header
	if len(h[headerVisitor]) > 0 || len(h["Authorization"]) > 0 || len(h["X-Entry-Token"]) > 0 || len(h["X-Queue-Token"]) > 0 ||
		strings.HasPrefix(r.URL.Path, api+"/payments/") {
		return nil
	}
	if s.cross.Check(r) != nil {
		return errCrossSite
	}
	return nil
}

// readForm reads the form of a page, at most maxBody of it, so that handlers
// look at memory only and what is too large is not taken for an empty form. The
// API, the plan's form and Extra handlers have limits of their own.
func (s *Server) readForm(c echo.Context) error {
	r := c.Request()
	if r.Method == http.MethodGet || r.Method == http.MethodHead || isAPI(r.URL.Path) || c.Path() == planFormPath || s.extra[c.Path()] {
		return nil
	}
	if r.ContentLength > maxBody {
		return errTooLarge
	}
	if r.Body != nil {
		r.Body = http.MaxBytesReader(c.Response().Writer, r.Body, maxBody)
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get(echo.HeaderContentType)); err == nil && strings.HasPrefix(kind, "multipart/") {
		return errFormType
	}
	err := r.ParseForm()
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return errTooLarge
	case err != nil:
		return errBadRequest
	}
	return nil
}

func (s *Server) recovered(c echo.Context, v any) error {
	if v == http.ErrAbortHandler {
		panic(v) // net/http's own way to drop a connection
	}
	s.log.Error("panic", "id", requestID(c), "route", c.Path(), "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	if c.Response().Committed {
		panic(http.ErrAbortHandler) // a torn answer must not look whole
	}
	return errPanic
}

// errPanic is what the client is told of a panic; it is logged already.
var errPanic = errors.New("panic")

// finish counts and logs an answered request: one JSON line, written by hand,
// because it is written more often than anything else. Everything in it is from
// a closed set or has no character that JSON would escape.
func (s *Server) finish(c echo.Context, start time.Time) {
	r, w := c.Request(), c.Response()
	now := time.Now()
	took := now.Sub(start)
	route := c.Path()
	if route == "" {
		route = "none"
	}
	s.metrics.observe(route, r.Method, w.Status, took)
	if s.conf.Requests == nil || route == checkPath && w.Status == http.StatusNoContent { // the shop and its proxy log what they let in
		return
	}
	buf := buffers.Get().(*[]byte)
	b := append((*buf)[:0], `{"time":"`...)
	b = append(appendTime(b, now), `","level":"INFO","msg":"request","id":"`...)
	b = append(append(b, requestID(c)...), `","method":"`...)
	b = append(append(b, method(r.Method)...), `","route":"`...)
	b = append(append(b, route...), `","path":"`...)
	b = append(s.appendPath(b, c, route), `","status":`...)
	b = append(strconv.AppendInt(b, int64(w.Status), 10), `,"bytes":`...)
	b = append(strconv.AppendInt(b, w.Size, 10), `,"durMicros":`...)
	b = append(strconv.AppendInt(b, took.Microseconds(), 10), `,"addr":"`...)
	b = append(append(b, address(s.address(r))...), "\"}\n"...)
	_, _ = s.conf.Requests.Write(b) // a log that cannot be written cannot say so
	*buf = b
	buffers.Put(buf)
}

// address is a client's address, or nothing when it is none.
func address(a string) string {
	for i := range len(a) {
		if c := a[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') && c != '.' && c != ':' {
			return ""
		}
	}
	return a
}

// appendPath appends the path with ids of ours and with nothing else: what a
// client put in the place of an id may be a secret sent to the wrong address.
func (s *Server) appendPath(b []byte, c echo.Context, route string) []byte {
	if route == "none" {
		return b
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(route, "/"), "/") {
		b = append(b, '/')
		if name, ok := strings.CutPrefix(part, ":"); !ok {
			b = append(b, part...)
		} else if v := c.Param(name); s.known(name, v) {
			b = append(b, v...)
		} else {
			b = append(b, '?')
		}
	}
	return b
}

// known tells whether v is an id that is no secret: an event, a provider, a uuid.
func (s *Server) known(param, v string) (ok bool) {
	switch param {
	case "event":
		_, _, err := s.office.Event(v)
		return err == nil
	case "provider":
		_, ok = s.conf.Webhooks[v]
		return ok
	}
	return len(v) == 36 && uuid.Validate(v) == nil
}

// method is a request's method from a closed set.
func method(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return m
	}
	return "other"
}
