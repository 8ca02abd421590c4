package web

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/sale"
)

// What a shop behind Foyer and its proxy are told. Proxies must overwrite them in
// what clients send.
const (
	headerShopVisitor = "X-Foyer-Visitor"  // the visitor's id, to the shop
	headerShopToken   = "X-Foyer-Token"    // his entry token, to the shop
	headerShopWait    = "X-Foyer-Location" // where who is not let in should go
	headerShopStatus  = "X-Foyer-Status"   // 303 or 429: how to answer him, for nginx
)

// refusedEntry is how long a program that is not let in should wait.
const refusedEntry = 5 * time.Second

// notYourTurn is a refusal that people may get to read too: in answer to a form
// that came after the end of a turn.
func notYourTurn(wait string) error {
	return &sale.Refusal{
		Code: "not_your_turn", RetryAfter: refusedEntry,
		Detail: "It is not your turn yet, or your turn is over. Join the line in the waiting room, at " + wait + ".",
	}
}

// gate asks whether a request may go into the shop behind an event.
func (s *Server) gate(r *http.Request, event string) (sale.Pass, error) {
	visitor, _ := s.visitorIn(r)
	return s.office.Admits(event, visitor, entryToken(r.Header))
}

const checkPath = api + "/check"

// passes answers a proxy's check (see check) of somebody who may come in, without
// routing and a context: a shop asks it for each of its requests. Everybody else,
// and whatever goes wrong here, is left to check.
func (s *Server) passes(w http.ResponseWriter, r *http.Request) (done bool) {
	if r.Method != http.MethodGet || r.URL.Path != checkPath || r.URL.RawPath != "" {
		return false
	}
	defer func() {
		if v := recover(); v != nil {
			s.log.Error("panic", "route", checkPath, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		}
	}()
	start := time.Now()
	if _, in, _ := s.letIn(w.Header(), r); !in {
		return false
	}
	w.Header()[headerCacheControl] = noStore
	w.WriteHeader(http.StatusNoContent)
	s.metrics.passed.Inc()
	s.metrics.passing.Observe(time.Since(start).Seconds())
	return true
}

// letIn reads a check and, when the one it is about may come in, tells the shop in
// the header who it is.
func (s *Server) letIn(h http.Header, r *http.Request) (q checkQuery, in bool, err error) {
	if q, err = readCheckQuery(r.URL.RawQuery); err != nil {
		return q, false, err
	}
	pass, err := s.gate(r, q.event)
	if err != nil || !pass.In {
		return q, false, err
	}
	s.passOn(h, pass, q.token)
	return q, true, nil
}

// check answers proxies that ask before they let a request pass (forward auth),
// whatever the method: some ask with that of the request. It reads no body, sets
// no cookie, and what is malformed is nobody.
func (s *Server) check(c echo.Context) error {
	r, h := c.Request(), c.Response().Header()
	q, in, err := s.letIn(h, r)
	if in {
		c.Response().WriteHeader(http.StatusNoContent)
		return nil
	}
	dress(h, r)
	if err != nil {
		return err
	}
	a := askedFor(r)
	if !q.nginx {
		return s.turnAway(c, q.event, a)
	}
	h.Set(headerShopWait, a.waitingPage(q.event))
	h.Set(headerShopStatus, "429")
	if a.page {
		h.Set(headerShopStatus, "303")
	}
	h.Set(echo.HeaderRetryAfter, "5")
	return c.NoContent(http.StatusUnauthorized)
}

// checkQuery is what a proxy asks.
type checkQuery struct {
	event        string
	nginx, token bool
}

// readCheckQuery reads the query by hand, for this is asked for every request of
// a shop. What is not its own may be anything: a proxy may put what the visitor
// asked for behind it, which must not change the event.
func readCheckQuery(raw string) (q checkQuery, err error) {
	named := false
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		name, value, _ := strings.Cut(pair, "=")
		if name = unescaped(name); name != "event" && name != "proxy" && name != "token" {
			continue
		}
		switch value = unescaped(value); {
		case name == "event" && named && value != q.event:
			return q, refuse("bad_request", `The parameter "event" is there twice. Name one event: /api/v1/check?event=ID.`)
		case name == "event":
			q.event, named = value, true
		case name == "proxy" && value == "nginx":
			q.nginx = true
		case name == "token" && value == "1":
			q.token = true
		default:
			return q, refuse("bad_request", `The parameter "proxy" takes "nginx" only, "token" takes "1".`)
		}
	}
	if q.event == "" {
		return q, refuse("bad_request", "Name the event: /api/v1/check?event=ID.")
	}
	return q, nil
}

// unescaped reads a name or value of a query; what cannot be read stays as it is,
// and names nothing then.
func unescaped(s string) string {
	if !strings.ContainsAny(s, "%+") {
		return s
	}
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}

// passOn tells the shop who comes in, and with which token if it wants to know.
func (s *Server) passOn(h http.Header, pass sale.Pass, token bool) {
	if pass.Visitor != uuid.Nil {
		h[headerShopVisitor] = []string{pass.Visitor.String()}
	}
	if !token {
		return
	}
	if t := s.office.PassToken(pass); t != "" {
		h[headerShopToken] = []string{t}
	}
}

// turnAway sends a person to the waiting page, and tells a program to come again.
func (s *Server) turnAway(c echo.Context, event string, a asked) error {
	if a.page {
		return seeOther(c, a.waitingPage(event))
	}
	wait := a.waitingPage(event)
	c.Response().Header().Set(headerShopWait, wait)
	return notYourTurn(wait)
}

// asked is the request that a proxy asks about.
type asked struct {
	page   bool   // somebody wants to look at a page
	target string // what he wanted, when it is fit to send him back there
}

// askedFor reads what Caddy and Traefik (X-Forwarded-*) or the recipe for nginx
// (X-Original-*) tell of the original request; a proxy that tells no method asks
// with that of the request. All of it may be forged and
// decides only where the one who sent it is sent.
func askedFor(r *http.Request) asked {
	first := func(names ...string) string {
		for _, n := range names {
			if v := r.Header[n]; len(v) > 0 {
				return v[0]
			}
		}
		return ""
	}
	return askedBy(cmp.Or(first("X-Original-Method", "X-Forwarded-Method"), r.Method), first("X-Original-Uri", "X-Forwarded-Uri"), r.Header)
}

// askedBy is a request of this method for this target.
func askedBy(method, target string, h http.Header) (a asked) {
	a.page = (method == http.MethodGet || method == http.MethodHead) && strings.Contains(h.Get(echo.HeaderAccept), "text/html")
	if a.page && sale.LocalTarget(target) {
		a.target = target
	}
	return a
}

// waitingPage is the event's waiting page, which leads back to what was asked for.
func (a asked) waitingPage(event string) string {
	return eventPath(event) + returnQuery(a.target)
}

func returnQuery(target string) string {
	if target == "" {
		return ""
	}
	return "?return=" + url.QueryEscape(target)
}

var errBadReturn = &sale.Refusal{Code: "bad_return", Detail: "The address to return to must be a path on this site."}

// returnTarget reads where the visitor wants to go when it is his turn; "" is
// wherever the event leads. Anything but a path on this site is refused.
func returnTarget(r *http.Request) (string, error) {
	if r.URL.RawQuery == "" {
		return "", nil
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return "", errBadReturn
	}
	to, there := q["return"]
	switch {
	case !there:
		return "", nil
	case len(to) != 1 || !sale.LocalTarget(to[0]):
		return "", errBadReturn
	}
	return to[0], nil
}
