package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"foyer/outbox"
	"foyer/outbox/httptask"
	"foyer/pay/demo"
	"foyer/pay/stripe"
	"foyer/sale"
	"foyer/store"
	"foyer/tickets"
	"foyer/web"
)

const aboutServe = "Run the waiting room and the box office. It keeps one file, FOLDER/foyer.db, and logs JSON lines to standard error."

// gcPercent trades memory for time: most of what a request makes is garbage at
// once, and what stays has few pointers. GOGC in the environment overrules it.
const gcPercent = 200

func serveCommand(ctx context.Context, p program, args []string) error {
	s, err := parseSettings(p, "serve", aboutServe, args, nil)
	if err != nil {
		return err
	}
	return serve(ctx, p, s, nil)
}

// house is everything that runs while Foyer serves.
type house struct {
	settings *settings
	log      *slog.Logger
	lines    *lineWriter
	store    *store.Store
	office   *sale.Office
	targets  map[string]outbox.Sink // by name
	relay    *outbox.Relay
	demo     *demo.Provider
	web      *web.Server
	registry *prometheus.Registry
	listener net.Listener
	public   net.Listener // of a protected shop, or nil
	url      string       // where it can be reached from this machine
	loops    sync.WaitGroup
}

// serve opens the house, runs it until ctx ends and closes it in order. Opened
// is called once it takes requests; what it starts must end with its context.
func serve(ctx context.Context, p program, s *settings, opened func(context.Context, *house) error) error {
	if _, set := p.env("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
	signal.Ignore(syscall.SIGPIPE) // who reads the log may go; the sale goes on
	h, err := openHouse(p, s)
	if err != nil {
		return err
	}
	if err := h.adminKey(p); err != nil {
		return errors.Join(err, h.shut())
	}
	return h.run(ctx, p, opened)
}

// openHouse listens, opens the file and wires the rooms. It starts nothing.
func openHouse(p program, s *settings) (*house, error) {
	h := &house{settings: s, lines: newLineWriter(p.err), registry: prometheus.NewRegistry()}
	h.log = newLog(h.lines)
	var err error
	if h.listener, err = listen("--addr", s.Addr); err != nil {
		return nil, err
	}
	if err = h.listenPublic(); err != nil {
		_ = h.listener.Close()
		return nil, err
	}
	if h.store, err = store.Open(s.Data, store.Options{Log: h.log, Machine: store.ThisMachine(), Lease: outbox.DefaultTimeout}); err != nil {
		_ = h.listener.Close()
		if h.public != nil {
			_ = h.public.Close()
		}
		return nil, err
	}
	h.url = localURL(h.listener.Addr())
	h.wire()
	return h, nil
}

func listen(flag, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, usageError("the port of %s %s is taken by another program; stop it, or choose another port", flag, addr)
	case errors.Is(err, syscall.EACCES):
		return nil, usageError("no permission to listen on %s %s; choose a port above 1023", flag, addr)
	case err != nil:
		return nil, usageError("cannot listen on %s %s: %v", flag, addr, err)
	}
	return l, nil
}

// localURL is how this machine reaches a listener that may listen everywhere.
func localURL(a net.Addr) string {
	t := a.(*net.TCPAddr)
	if t.IP.IsUnspecified() {
		return fmt.Sprintf("http://127.0.0.1:%d", t.Port)
	}
	return "http://" + t.String()
}

// wire makes the rooms and ties them together.
func (h *house) wire() {
	s := h.settings
	if len(s.Sinks) == 0 {
		s.Sinks = sinks{{"*", "log:", "log:"}}
	}
	providers := []sale.Provider{}
	hooks := map[string]web.Webhook{}
	extra := map[string]http.Handler{}
	if s.DemoProvider {
		h.demo = demo.New(demo.Config{
			Secret: s.DemoSecret, Notify: h.url + "/api/v1/payments/demo/webhook", Log: h.log,
			Lookup: func(id uuid.UUID) (*sale.OrderView, error) { return h.office.AnyOrder(id) },
		})
		providers = append(providers, h.demo)
		hooks[h.demo.Name()] = h.demo
		extra[demo.Prefix] = h.demo
	}
	if s.StripeKey != "" {
		p := stripe.New(stripe.Config{Key: s.StripeKey, Secrets: s.StripeSecrets, URL: s.StripeURL})
		providers = append(providers, p)
		hooks[p.Name()] = p
	}
	codes := tickets.New(sale.NewSigner(sale.Subkey(h.store.Secret(), "ticket code")).Tag)
	h.targets = h.sinks()
	h.targets[outbox.TaskSink] = httptask.New(httptask.Config{Allow: s.AllowTargets, Version: versionText()})
	h.targets[sale.RefundSink] = refunds{h}
	h.relay = outbox.NewRelay(outbox.Config{
		Book: h.store, Sinks: h.targets, Log: h.log, Now: h.store.Now, Many: map[string]int{outbox.TaskSink: outbox.TasksAtOnce},
		Rules: map[string]outbox.Rule{outbox.TaskSink: {Interval: sale.TaskInterval, Concurrency: 1}},
	})
	h.office = sale.New(sale.Config{
		Store: h.store, Secret: h.store.Secret(), Sinks: s.Sinks.names, TicketCode: codes.Code, Ticket: codes.Ticket, Relay: h.relay, Lanes: h.relay, Providers: providers,
		Challenges: slices.Collect(maps.Keys(s.Widgets)),
	})
	var requests io.Writer
	if s.LogRequests {
		requests = h.lines
	}
	h.web = web.New(web.Config{
		Office: h.office, Ready: h.store.Ready, Findings: h.store.Findings(), Backup: h.backup, Log: h.log, Requests: requests, Secret: h.store.Secret(), BaseURL: s.BaseURL,
		Proxies: s.Proxies, RateLimit: s.RateLimit, Widgets: s.Widgets, Webhooks: hooks, Extra: extra, Version: versionText(),
		Metrics: s.Metrics == "", Registry: h.registry, Messages: h.relay.Stats, Sinks: h.relay.Sinks,
	})
}

// adminKey makes sure that staff can get in.
func (h *house) adminKey(p program) error {
	if h.settings.AdminKey != "" {
		return h.office.SetAdminKey(h.settings.AdminKey)
	}
	for _, k := range h.office.Keys() {
		if k.Role == sale.RoleAdmin {
			return nil
		}
	}
	_, secret, err := h.office.CreateKey("house", sale.RoleAdmin, "made at the first start")
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "Admin key (shown this once, also the password of %s/admin): %s\n", h.url, secret)
	return nil
}

// run takes requests until ctx ends, then ends everything in order: no new
// requests, streams, requests under way, loops, the file.
func (h *house) run(ctx context.Context, p program, opened func(context.Context, *house) error) error {
	if err := h.serveOutbox(); err != nil {
		return errors.Join(err, h.shut())
	}
	servers := []*http.Server{h.server(h.web)}
	listeners := []net.Listener{h.listener}
	if h.settings.Metrics != "" {
		l, err := listen("--metrics", h.settings.Metrics)
		if err != nil {
			return errors.Join(err, h.shut())
		}
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", promhttp.HandlerFor(h.registry, promhttp.HandlerOpts{}))
		servers, listeners = append(servers, h.server(mux)), append(listeners, l)
	}
	if h.settings.Protect != nil {
		servers, listeners = append(servers, h.protector()), append(listeners, h.public)
	}
	background, stopBackground := context.WithCancel(context.Background())
	defer stopBackground()
	delivering, stopDelivering := context.WithCancel(background)
	defer stopDelivering()
	h.start(background, delivering)
	served := make(chan error, len(servers))
	for i, srv := range servers {
		h.loops.Go(func() { served <- srv.Serve(listeners[i]) })
	}
	fmt.Fprintf(p.out, "Foyer %s listens on %s\n", versionText(), h.url)
	h.log.Info("open", "address", h.listener.Addr().String(), "data", h.settings.Data, "version", versionText())
	if strings.HasPrefix(h.settings.BaseURL, "https:") && len(h.settings.Proxies) == 0 {
		h.log.Warn("--base-url is https, so a proxy must stand in front, and no --trusted-proxies names it: visitors will share one limit")
	}
	var err error
	if opened != nil {
		err = opened(background, h)
	}
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-served:
		}
	}
	h.log.Info("stopping")
	stopDelivering() // has its own patience with sinks that hang; what waits is on disk
	h.drain(servers)
	stopBackground()
	h.loops.Wait()
	return errors.Join(err, h.shut())
}

// serveOutbox hands to the relay what the run before left: rules, slots,
// messages.
func (h *house) serveOutbox() error {
	if err := h.office.LoadLanes(); err != nil {
		return err
	}
	slots, err := h.store.Slots()
	if err != nil {
		return err
	}
	h.relay.Resume(slots)
	return h.store.ServeOutbox(h.relay.Offer)
}

// maxHeader is what the headers of a request may have, in bytes. A proxy asks
// with all the cookies of a shop, and what is refused here lets nobody in.
const maxHeader = 64 << 10

// server is an http.Server with every time-out set; streams set their own.
func (h *house) server(handler http.Handler) *http.Server {
	srv := &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: 75 * time.Second, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(h.log.Handler(), slog.LevelWarn),
	}
	srv.Protocols = new(http.Protocols)
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetUnencryptedHTTP2(h.settings.HTTP2)
	return srv
}

// start starts the loops. Each ends with ctx, deliveries end with theirs.
func (h *house) start(ctx, delivering context.Context) {
	h.loops.Go(func() { h.lines.flushing(ctx) })
	h.loops.Go(func() { h.admitting(ctx) })
	h.loops.Go(func() { repeat(ctx, h.tidy) })
	h.loops.Go(func() { repeat(ctx, func() time.Duration { return h.lookUp(ctx) }) })
	h.loops.Go(func() {
		if err := h.relay.Run(delivering); err != nil {
			h.log.Warn("outbox", "error", err.Error())
		}
		h.store.LeaveOpen(h.relay.LeftOpen())
	})
	if h.demo != nil {
		h.loops.Go(func() { h.demo.Run(ctx) })
	}
}

// drainTime is how long requests under way may take once Foyer stops.
const drainTime = 5 * time.Second

func (h *house) drain(servers []*http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	h.web.EndStreams()
	for _, srv := range servers {
		if err := srv.Shutdown(ctx); err != nil {
			h.log.Warn("requests were cut off at the end", "error", err.Error())
			_ = srv.Close()
		}
	}
	if err := h.web.AwaitStreams(ctx); err != nil {
		h.log.Warn("streams were cut off at the end", "error", err.Error())
	}
}

// shut closes what openHouse opened.
func (h *house) shut() error {
	_ = h.listener.Close() // closed already when it was served
	if h.public != nil {
		_ = h.public.Close()
	}
	h.closeSinks()
	err := h.store.Close()
	h.log.Info("closed")
	h.lines.flush()
	return err
}

// repeat calls step, and again each time after the pause that it asks for, until
// ctx ends.
func repeat(ctx context.Context, step func() (pause time.Duration)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timer.Reset(step())
	}
}

// tidy forgets, once an hour, what nobody will ask for again.
func (h *house) tidy() time.Duration {
	if err := h.office.Tidy(); err != nil {
		h.log.Warn("tidy", "error", err.Error())
	}
	return time.Hour
}

// lookUp asks the providers about payments whose end nobody told.
func (h *house) lookUp(ctx context.Context) time.Duration {
	pause, err := h.office.LookUp(ctx)
	if err != nil && ctx.Err() == nil {
		h.log.Warn("payments cannot be looked up, trying again", "error", err.Error())
	}
	return pause
}

// breath is the least time between a look at all events and one that a free slot
// asks for; a house with short turns frees many.
const breath = 50 * time.Millisecond

// admitting looks at every event once per tick, and sooner when a slot is free.
func (h *house) admitting(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var next, soonest time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.store.Freed():
			if soonest.Before(next) {
				next = soonest
				timer.Reset(time.Until(next))
			}
			continue
		case <-timer.C:
		}
		pause := h.admit()
		now := time.Now()
		next, soonest = now.Add(pause), now.Add(breath)
		timer.Reset(pause)
	}
}

// admit looks at every event, and tells after how long it must be done again: a
// tick, or less when only the pace or a turn that ends keeps the next visitor out.
func (h *house) admit() time.Duration {
	wait := h.settings.Tick
	for _, e := range h.office.Events() {
		pause, err := h.office.Tick(e.ID, h.settings.Tick)
		if err != nil {
			if !errors.Is(err, sale.ErrNoSuchEvent) && !errors.Is(err, sale.ErrUnavailable) {
				h.log.Error("tick", "event", e.ID, "error", err.Error())
			}
			continue
		}
		wait = min(wait, pause)
	}
	return max(wait, time.Millisecond)
}
