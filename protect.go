package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"foyer/sale"
	"foyer/web"
)

const aboutProtect = `Run Foyer in front of a shop: whoever has a turn in the event gets through to the shop, everybody else sees the waiting
room. This is serve with a second address, --listen, for the public; --addr stays the one for staff and for the shop's server.
At --listen Foyer keeps these addresses for itself, everything else is the shop's: /events/EVENT, /api/v1/visitors and
/api/v1/visitors/return, /api/v1/events/EVENT and Foyer's own files under /static/.`

// protection is what protect needs beyond serve.
type protection struct {
	Upstream string
	Event    string
	Listen   string
	Exclude  patterns
	FailOpen bool

	upstream *url.URL
}

func (p *protection) bind(f *flag.FlagSet) {
	f.StringVar(&p.Upstream, "upstream", "", "`URL` of the shop, such as http://127.0.0.1:3000")
	f.StringVar(&p.Event, "event", "", "`EVENT` whose turns let people in, by its id")
	f.StringVar(&p.Listen, "listen", "127.0.0.1:8000", "`HOST:PORT` where the public comes; port 0 takes a free one")
	f.Var(&p.Exclude, "exclude", "`PATTERN` of paths that need no turn: payment callbacks, webhooks, health checks, the page after the purchase; /hooks/pay is one path, /hooks/* all below; repeatable")
	f.BoolVar(&p.FailOpen, "fail-open", false, "let everybody in while Foyer cannot tell who has a turn (its disk is full, the event is not there); the risk: the whole crowd reaches the shop at once, just when something is wrong")
}

func (p *protection) check() error {
	u, err := url.Parse(p.Upstream)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return usageError("--upstream must be the address of the shop such as http://127.0.0.1:3000")
	}
	if _, err := strconv.ParseUint(u.Port(), 10, 16); err != nil && u.Port() != "" {
		return usageError("--upstream has no such port; it must be the address of the shop such as http://127.0.0.1:3000")
	}
	p.upstream = u
	if !sale.EventID(p.Event) {
		return usageError("--event must name the event whose turns let people in: 1 to 64 of a-z, 0-9 and -")
	}
	if !isHostPort(p.Listen) {
		return usageError("--listen %q must be HOST:PORT such as 0.0.0.0:80", p.Listen)
	}
	return nil
}

// patterns are those of --exclude.
type patterns web.Patterns

func (p *patterns) String() string { return strings.Join(*p, " ") }

// Set adds a pattern; several in one environment variable are separated by blanks.
func (p *patterns) Set(v string) error {
	for _, one := range strings.Fields(v) {
		if err := web.CheckPattern(one); err != nil {
			return err
		}
		*p = append(*p, one)
	}
	return nil
}

func protectCommand(ctx context.Context, p program, args []string) error {
	s := &settings{Protect: &protection{}}
	if err := s.parse(p, "protect", aboutProtect, args, nil); err != nil {
		return err
	}
	return serve(ctx, p, s, func(_ context.Context, h *house) error {
		if _, _, err := h.office.Event(s.Protect.Event); err != nil {
			who := "nobody gets in"
			if s.Protect.FailOpen {
				who = "--fail-open lets everybody in"
			}
			fmt.Fprintf(p.out, "There is no event %q yet, so %s. Make it at %s/admin or with foyer event create.\n", s.Protect.Event, who, h.url)
		}
		fmt.Fprintf(p.out, "The public comes to %s, the shop is %s\n", localURL(h.public.Addr()), s.Protect.upstream)
		return nil
	})
}

// listenPublic listens where the public comes to a protected shop. An upstream
// that is Foyer itself would show the staff's address to all, or ask for ever.
func (h *house) listenPublic() (err error) {
	p := h.settings.Protect
	if p == nil {
		return nil
	}
	if h.public, err = listen("--listen", p.Listen); err != nil {
		return err
	}
	for flag, l := range map[string]net.Listener{"--addr": h.listener, "--listen": h.public} {
		if reaches(p.upstream, l.Addr().(*net.TCPAddr)) {
			_ = h.public.Close()
			return usageError("--upstream %s is Foyer itself, by %s; name the address of the shop", p.upstream, flag)
		}
	}
	return nil
}

// reaches tells whether an address of this machine's own is that of a listener.
func reaches(u *url.URL, a *net.TCPAddr) bool {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if port != strconv.Itoa(a.Port) {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	here := ip.IsLoopback() || ip.IsUnspecified() || u.Hostname() == "localhost" || u.Hostname() == ""
	return ip.Equal(a.IP) || here && (a.IP.IsUnspecified() || ip == nil && a.IP.IsLoopback())
}

// protector is the server of a protected shop. Requests and answers of the shop
// may take their time; Foyer's own have theirs set in web.
func (h *house) protector() *http.Server {
	p := h.settings.Protect
	return &http.Server{
		Handler:           h.web.Protect(web.Protection{Upstream: p.upstream, Event: p.Event, Exclude: web.Patterns(p.Exclude), FailOpen: p.FailOpen}),
		ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 75 * time.Second, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(h.log.Handler(), slog.LevelWarn),
	}
}
