package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"foyer/sale"
)

// Protection puts Foyer in front of a shop without another proxy.
type Protection struct {
	// Upstream is the shop: scheme, host and perhaps a path to put in front.
	Upstream *url.URL
	// Event is whose turns let people in.
	Event string
	// Exclude are the paths that always get through.
	Exclude Patterns
	// FailOpen lets everybody in while Foyer cannot decide.
	FailOpen bool
}

// Patterns are paths: "/hooks/stripe" is that one, "/hooks/*" is all below
// /hooks/, and a * elsewhere is anything within its segment.
type Patterns []string

// CheckPattern tells what is wrong with a pattern.
func CheckPattern(p string) error {
	if _, err := path.Match(p, ""); err != nil || !sale.LocalTarget(strings.ReplaceAll(p, "*", "x")) || strings.ContainsAny(p, "?%;|<>\"^`{}") || strings.Contains(p, "**") {
		return errors.New("a pattern is a path such as /hooks/stripe or /hooks/* and takes none of % ; ? ** and no character that browsers write as %XX")
	}
	return nil
}

// match tells whether a path that has no escapes fits one of the patterns.
func (ps Patterns) match(at string) bool {
	for _, p := range ps {
		if fits(strings.Split(p, "/"), strings.Split(at, "/")) {
			return true
		}
	}
	return false
}

// fits compares segment by segment; a last * takes one or more.
func fits(pattern, at []string) bool {
	for i, p := range pattern {
		switch {
		case i >= len(at):
			return false
		case p == "*" && i == len(pattern)-1:
			return at[i] != "" || len(at) > i+1
		}
		if ok, _ := path.Match(p, at[i]); !ok {
			return false
		}
	}
	return len(pattern) == len(at)
}

// protector is the handler of a protected shop.
type protector struct {
	*Server
	Protection
	shop   *httputil.ReverseProxy
	counts map[outcome]prometheus.Counter
}

// Protect returns a handler that shows Foyer's waiting room to whoever has no
// turn and passes everybody else on to the shop. Of Foyer itself it serves what
// the waiting room needs and nothing else: staff come by another address.
func (s *Server) Protect(p Protection) http.Handler {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy, t.DisableCompression, t.MaxIdleConnsPerHost = nil, true, 256
	t.ResponseHeaderTimeout = 2 * time.Minute
	h := &protector{Server: s, Protection: p, counts: newOutcomes(s.conf.Registry)}
	h.shop = &httputil.ReverseProxy{
		Transport: t, Rewrite: h.rewrite, ModifyResponse: h.answered, ErrorHandler: h.unreached,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	return h
}

// admission is how a request gets to the shop.
type admission struct {
	by   outcome
	pass sale.Pass // zero when nobody looked
}

// admissionKey is where the request's context carries its admission.
type admissionKey struct{}

// ServeHTTP answers one request of the public.
func (p *protector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := r.URL.EscapedPath()
	plain := sale.LocalTarget(at) // what another program might read as another path is never let through by its path
	conn := http.NewResponseController(w)
	if plain && p.room(r.URL.Path) {
		limitOwn(conn)
		p.Server.ServeHTTP(w, r)
		return
	}
	_ = conn.SetWriteDeadline(time.Time{}) // a shop may take its time
	// a server of Java makes /checkout of /checkout;a.css
	if plain && !strings.ContainsAny(at, "%;") && p.Exclude.match(at) {
		p.letPass(admission{by: outExcluded}, w, r)
		return
	}
	pass, err := p.gate(r, p.Event)
	switch {
	case pass.In:
		p.letPass(admission{outPassed, pass}, w, r)
	case err != nil && p.FailOpen:
		p.log.Warn("let in without a look: fail-open", "error", err.Error())
		p.letPass(admission{by: outFailOpen}, w, r)
	default:
		limitOwn(conn) // net/http reads what is left of the body first
		p.keepOut(w, r, err)
	}
}

// letPass hands a request to the shop, as a copy: net/http looks at the body of
// its own.
func (p *protector) letPass(a admission, w http.ResponseWriter, r *http.Request) {
	r = r.WithContext(context.WithValue(r.Context(), admissionKey{}, a))
	if r.ContentLength != 0 {
		r.Body = heard{r.Body}
	}
	p.shop.ServeHTTP(w, r)
}

// limitOwn gives a request that Foyer answers itself the time-outs of the main
// address; not every writer can.
func limitOwn(conn *http.ResponseController) {
	_ = conn.SetReadDeadline(time.Now().Add(15 * time.Second))
	_ = conn.SetWriteDeadline(time.Now().Add(30 * time.Second))
}

// room tells whether a path is one of the waiting room.
func (p *protector) room(at string) bool {
	for _, own := range []string{"/events/" + p.Event, api + "/events/" + p.Event} {
		if rest, ok := strings.CutPrefix(at, own); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	if at == visitorsPath || at == returnPath {
		return true
	}
	for _, a := range assets {
		if a.address() == at {
			return true
		}
	}
	return false
}

var (
	errNoRoom = &sale.Refusal{
		Code: "unavailable", RetryAfter: refusedEntry,
		Detail: "The waiting room of this shop cannot let anybody in at present. Try again in a moment.",
	}
	errNoShop = &sale.Refusal{Code: "shop_unavailable", RetryAfter: refusedEntry, Detail: "The shop does not answer. If you have your turn, it goes on; try again in a moment."}
)

// keepOut answers whoever is not let in; err is why nobody knows.
func (p *protector) keepOut(w http.ResponseWriter, r *http.Request, err error) {
	c := p.echo.NewContext(r, w)
	p.prepare(c)
	if err != nil {
		p.counts[outUndecided].Inc()
		p.fail(c, errNoRoom.Because(err))
		return
	}
	a := askedBy(r.Method, r.URL.RequestURI(), r.Header)
	if a.page {
		p.counts[outWaiting].Inc()
	} else {
		p.counts[outRefused].Inc()
	}
	if err := p.turnAway(c, p.Event, a); err != nil {
		p.fail(c, err)
	}
}

// errBody is what stands before an error of a body that a client sends.
var errBody = errors.New("the client's body")

// heard is a body whose errors tell that they are the client's.
type heard struct{ io.ReadCloser }

// Read reads from the client.
func (h heard) Read(b []byte) (int, error) {
	n, err := h.ReadCloser.Read(b)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%w: %w", errBody, err)
	}
	return n, err
}

// unreached answers when the shop does not.
func (p *protector) unreached(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, context.Canceled) { // the client has gone
		p.counts[outBroken].Inc()
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	c := p.echo.NewContext(r, w)
	p.prepare(c)
	if errors.Is(err, errBody) { // no fault of the shop's, and nothing to log
		p.counts[outBroken].Inc()
		p.fail(c, errBadRequest)
		return
	}
	p.counts[outFailed].Inc()
	p.fail(c, errNoShop.Because(fmt.Errorf("the shop: %w", err)))
}

// rewrite makes the request that the shop gets: to its address, under the name
// that the public uses, with nothing that only Foyer or a proxy may say.
func (p *protector) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(p.Upstream)
	r.Out.Host = r.In.Host
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	proxied := inAny(p.conf.Proxies, parseAddr(r.In.RemoteAddr))
	for name := range r.Out.Header {
		if forged(name, proxied) {
			delete(r.Out.Header, name)
		}
	}
	dropStaff(r.Out.Header)
	if up := r.Out.Header.Get("Upgrade"); up != "" && !strings.EqualFold(up, "websocket") { // more requests could follow in what HTTP/2 would make of it, and nobody would look at them
		r.Out.Header.Del("Upgrade")
		r.Out.Header.Del("Connection")
	}
	if proxied {
		r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
	}
	r.SetXForwarded()
	r.Out.Header.Set("X-Forwarded-Proto", p.scheme(r.In))
	r.Out.Header.Set("X-Real-Ip", p.address(r.In))
	if a, ok := r.In.Context().Value(admissionKey{}).(admission); ok {
		p.passOn(r.Out.Header, a.pass, true)
	}
}

// dropStaff takes the session of staff out of the cookies: browsers send it to
// every port of a host, and the shop is somebody else's.
func dropStaff(h http.Header) {
	lines := h["Cookie"]
	for i, line := range lines {
		if !strings.Contains(line, staffCookie) {
			continue
		}
		var kept []string
		for part := range strings.SplitSeq(line, ";") {
			part = strings.TrimSpace(part)
			if name, _, _ := strings.Cut(part, "="); strings.TrimPrefix(name, hostPrefix) != staffCookie {
				kept = append(kept, part)
			}
		}
		lines[i] = strings.Join(kept, "; ")
	}
	if h["Cookie"] = slices.DeleteFunc(lines, func(line string) bool { return line == "" }); len(h["Cookie"]) == 0 {
		delete(h, "Cookie")
	}
}

// forged tells whether a header may not reach the shop as it came. CGI takes _
// for -, so what is spelled with _ comes from nobody who means well.
func forged(name string, proxied bool) bool {
	plain := strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	switch {
	case strings.HasPrefix(plain, "x-foyer-"):
		return true
	case plain == "x-original-url", plain == "x-rewrite-url": // some frameworks serve the path in it, whatever was asked for
		return true
	case strings.HasPrefix(plain, "x-forwarded-"), plain == "x-real-ip":
		return !proxied || strings.Contains(name, "_")
	}
	return plain == "http2-settings"
}
