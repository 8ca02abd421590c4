// Package web is the HTTP face of Foyer: the JSON API of API.md, the event
// streams, health and metrics, and the pages. It decodes, asks [sale.Office],
// and encodes; it decides nothing about lines, seats or money.
//
// Invariants: every refusal is a problem (RFC 9457) from the one table in
// errors.go; nothing secret is logged; a panic answers 500 and leaks nothing; an
// echo.Context never outlives its handler. It is the only importer of echo.
package web

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	_ "embed"
	"log/slog"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"foyer/challenge"
	"foyer/outbox"
	"foyer/sale"
)

// api is the prefix of every API route.
const api = "/api/v1"

// Config wires a [Server].
type Config struct {
	Office *sale.Office
	// Ready tells whether writes work; nil error means yes.
	Ready func() error
	// Findings are what was wrong with the file when it was opened.
	Findings []sale.Finding
	// Backup copies the whole database, as it is at one moment; nil: not here.
	Backup func(context.Context) (*Backup, error)
	// Log takes errors.
	Log *slog.Logger
	// Requests takes one JSON line per request, each in one Write; nil: none.
	Requests io.Writer
	// Secret is the house's 32-byte master secret; the keys of credentials and
	// sessions are derived from it.
	Secret []byte
	// BaseURL is how the public reaches Foyer; "" is taken from each request.
	BaseURL string
	// Proxies are trusted to tell the client's address and scheme.
	Proxies []netip.Prefix
	// RateLimit is how many visitors and joins, and tries with return codes, taken
	// together, one address (of IPv6 a /64) may make per second, with bursts of
	// four seconds' worth; 0 is no limit. A network (/24, of IPv6 /48) may make
	// four times as many, a visitor a tenth of the joins.
	RateLimit int
	// Widgets ask their providers about visitors, by the name of the challenge.
	Widgets map[string]*challenge.Widget
	// Webhooks verify what payment providers send in, by provider name.
	Webhooks map[string]Webhook
	// Extra are handlers by path prefix, e.g. "/demo/".
	Extra map[string]http.Handler
	// Version is shown to staff.
	Version string
	// Metrics serves /metrics on this address too, to clients on this machine
	// and to admin keys.
	Metrics bool
	// Messages tells how the outbox stands, for the metrics; nil: not told.
	Messages func() outbox.Stats
	// Sinks tells how the receivers behave, for the metrics; nil: not told.
	Sinks func() []outbox.SinkState
	// Registry takes the metrics; nil makes one.
	Registry *prometheus.Registry
}

// Server answers HTTP. It is an http.Handler; the caller owns the listener.
type Server struct {
	conf       Config
	office     *sale.Office
	log        *slog.Logger
	echo       *echo.Echo
	visitorKey *sale.Signer
	staffKey   *sale.Signer
	limits     limits
	wrongKeys  *limiter[netip.Addr] // of tries to guess one, by customer
	wrongCodes *limiter[netip.Addr] // the same of codes for joining
	work       *challenge.Work
	hidden     hidden // the proxy that nobody named
	cross      *http.CrossOriginProtection
	address    func(*http.Request) string // the client's, or ""
	scheme     func(*http.Request) string // "http" or "https"
	metrics    *metrics
	statuses   sheets
	houses     sheets
	plans      planBook
	shells     sync.Map        // event id -> *shell, the last waiting page of each
	extra      map[string]bool // route patterns of Config.Extra
	streams    streams
	entries    entries
	done       chan struct{} // closed when streams must end
	endOnce    sync.Once
}

// New returns a server over an office.
func New(c Config) *Server {
	if c.Registry == nil {
		c.Registry = prometheus.NewRegistry()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Ready == nil {
		c.Ready = func() error { return nil }
	}
	s := &Server{
		conf:       c,
		office:     c.Office,
		log:        c.Log,
		visitorKey: sale.NewSigner(sale.Subkey(c.Secret, "visitor")),
		staffKey:   sale.NewSigner(sale.Subkey(c.Secret, "staff session")),
		limits:     newLimits(c.RateLimit),
		work:       challenge.NewWork(sale.Subkey(c.Secret, "challenge")),
		wrongKeys:  newLimiter[netip.Addr](wrongKeysPerSecond, wrongKeys),
		wrongCodes: newLimiter[netip.Addr](wrongKeysPerSecond, wrongKeys),
		cross:      http.NewCrossOriginProtection(),
		address:    func(r *http.Request) string { return addrText(clientOf(r, c.Proxies)) },
		scheme:     echo.ExtractSchemeDirect(),
		extra:      map[string]bool{},
		done:       make(chan struct{}),
	}
	s.metrics = newMetrics(c)
	c.Registry.MustRegister(findingsGauge(len(c.Findings)))
	if len(c.Proxies) > 0 {
		s.scheme = echo.ExtractSchemeFromHeaders(trusted(c.Proxies)...)
	}
	if u, err := url.Parse(c.BaseURL); err == nil && u.Host != "" {
		_ = s.cross.AddTrustedOrigin(u.Scheme + "://" + u.Host)
	}
	s.echo = s.router()
	return s
}

func trusted(proxies []netip.Prefix) []echo.TrustOption {
	opts := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, p := range proxies {
		opts = append(opts, echo.TrustIPRange(&net.IPNet{
			IP:   p.Masked().Addr().AsSlice(),
			Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen()),
		}))
	}
	return opts
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.passes(w, r) {
		s.echo.ServeHTTP(w, r)
	}
}

// EndStreams ends every open event stream, and those that come later, so that
// http.Server.Shutdown need not wait for them, and lets /readyz say so.
func (s *Server) EndStreams() { s.endOnce.Do(func() { close(s.done) }) }

func (s *Server) router() *echo.Echo {
	e := echo.New()
	e.IPExtractor = s.address
	e.SchemeExtractor = s.scheme
	e.HTTPErrorHandler = func(err error, c echo.Context) { s.fail(c, err) }
	e.Use(s.around)
	for _, r := range s.routes() {
		e.Add(r.method, r.path, r.handler)
		if r.method == http.MethodGet {
			e.Add(http.MethodHead, r.path, r.handler)
		}
	}
	e.RouteNotFound(checkPath, s.check) // any other method: echo's own answer to OPTIONS is 204, which a proxy takes for a yes
	if s.conf.Metrics {
		e.GET("/metrics", s.showMetrics)
	}
	for prefix, h := range s.conf.Extra {
		path := strings.TrimSuffix(prefix, "/") + "/*"
		s.extra[path] = true
		e.Any(path, echo.WrapHandler(h))
	}
	s.pages(e)
	return e
}

// Paths of visitors that name no event.
const (
	visitorsPath = api + "/visitors"
	returnPath   = visitorsPath + "/return"
)

type route struct {
	method, path string
	handler      echo.HandlerFunc
}

// routes is the whole API; openapi.yaml says the same, held to it by a test.
func (s *Server) routes() []route {
	const (
		event = api + "/events/:event"
		place = event + "/queue/:queueId"
		order = api + "/orders/:order"
		staff = api + "/admin"
		edit  = staff + "/events/:event"
		lane  = api + "/lanes/:key"
		task  = api + "/tasks/:task"
	)
	admin := func(h staffHandler) echo.HandlerFunc { return s.as(sale.RoleAdmin, h) }
	box := func(h staffHandler) echo.HandlerFunc { return s.as(sale.RoleBoxOffice, h) }
	door := func(h staffHandler) echo.HandlerFunc { return s.as(sale.RoleDoor, h) }
	shop := func(h staffHandler) echo.HandlerFunc { return s.as(sale.RoleShop, h) }
	return []route{
		{"POST", visitorsPath, s.createVisitor},
		{"POST", returnPath, s.redeem},
		{"GET", api + "/events", s.listEvents},
		{"GET", event, s.showEvent},
		{"GET", event + "/status", s.showStatus},
		{"GET", event + "/plan", s.showPlan},
		{"GET", event + "/seats", s.showSeats},
		{"GET", event + "/draw", s.showDraw},
		{"GET", event + "/draw/entries", s.listEntries},
		{"POST", event + "/queue", s.join},
		{"GET", event + "/queue", s.ownPlace},
		{"GET", place, s.showPlace},
		{"GET", place + "/stream", s.streamPlace},
		{"DELETE", place, s.leave},
		{"POST", place + "/link", s.makeLink},
		{"DELETE", place + "/link", s.revokeLink},
		{"POST", event + "/holds", s.hold},
		{"DELETE", order + "/hold", s.release},
		{"GET", order, s.showOrder},
		{"POST", order + "/pay", s.pay},
		{"POST", order + "/cancel", s.cancel},
		{"POST", event + "/health", shop(s.reportHealth)},
		{"POST", order + "/confirm", shop(s.confirm)},
		{"POST", api + "/payments/:provider/webhook", s.webhook},
		{"POST", event + "/tokens/verify", shop(s.verifyToken)},
		{"POST", event + "/tokens/claim", shop(s.onToken(s.office.ClaimToken))},
		{"POST", event + "/tokens/release", shop(s.onToken(s.office.ReleaseToken))},
		{"POST", event + "/tokens/consume", shop(s.onToken(s.office.ConsumeToken))},
		{"GET", checkPath, s.check},

		{"GET", api + "/lanes", shop(s.listLanes)},
		{"GET", lane, shop(s.showLane)},
		{"PUT", lane, shop(s.setLane)},
		{"DELETE", lane, shop(s.unsetLane)},
		{"GET", lane + "/tasks", shop(s.listTasks)},
		{"POST", lane + "/tasks", shop(s.addTask)},
		{"GET", task, shop(s.showTask)},
		{"DELETE", task, shop(s.cancelTask)},

		{"GET", staff + "/events", admin(s.staffEvents)},
		{"POST", staff + "/events", admin(s.createEvent)},
		{"GET", edit, admin(s.staffEvent)},
		{"PATCH", edit, admin(s.changeEvent)},
		{"DELETE", edit, admin(s.removeEvent)},
		{"PUT", edit + "/plan", admin(s.setPlan)},
		{"POST", edit + "/open", admin(s.openEvent)},
		{"POST", edit + "/pause", admin(s.pauseEvent)},
		{"POST", edit + "/resume", admin(s.resumeEvent)},
		{"POST", edit + "/close", admin(s.closeEvent)},
		{"POST", edit + "/announce", admin(s.announce)},
		{"POST", edit + "/soldout", admin(s.setSoldOut)},
		{"PATCH", edit + "/pace", admin(s.setPace)},
		{"GET", edit + "/live", admin(s.streamLive)},
		{"POST", edit + "/revoke", admin(s.revoke)},
		{"GET", edit + "/codes", shop(s.listCodes)},
		{"POST", edit + "/codes", shop(s.createCodes)},
		{"DELETE", edit + "/codes/:batch", shop(s.revokeCodes)},
		{"GET", edit + "/seats", box(s.staffSeats)},
		{"POST", edit + "/seats", box(s.blockSeats)},
		{"POST", edit + "/sell", box(s.sell)},
		{"POST", edit + "/checkin", door(s.checkIn)},
		{"GET", edit + "/tickets", door(s.listTickets)},
		{"POST", edit + "/forget", admin(s.forget)},
		{"GET", edit + "/report.json", admin(s.showReport)},
		{"GET", edit + "/report.csv", admin(s.sendReport)},
		{"GET", edit + "/orders.csv", admin(s.sendOrders)},
		{"GET", staff + "/orders", box(s.listOrders)},
		{"GET", staff + "/orders/:order", box(s.staffOrder)},
		{"POST", staff + "/orders/:order/refund", box(s.refund)},
		{"POST", staff + "/orders/:order/resend", box(s.resend)},
		{"POST", staff + "/orders/:order/complete", box(s.complete)},
		{"GET", staff + "/attention", admin(s.listAttention)},
		{"POST", staff + "/attention/:matter/complete", admin(s.settle(sale.HowComplete))},
		{"POST", staff + "/attention/:matter/refund", admin(s.settle(sale.HowRefund))},
		{"POST", staff + "/attention/:matter/dismiss", admin(s.settle(sale.HowDismiss))},
		{"GET", staff + "/audit", admin(s.listAudit)},
		{"GET", staff + "/outbox", admin(s.listMessages)},
		{"POST", staff + "/outbox/retry", admin(s.retryDead)},
		{"POST", staff + "/outbox/drop", admin(s.dropDead)},
		{"GET", staff + "/outbox/:message", admin(s.showMessage)},
		{"POST", staff + "/outbox/:message/retry", admin(s.retryMessage)},
		{"POST", staff + "/outbox/:message/drop", admin(s.dropMessage)},
		{"GET", staff + "/backup", admin(s.sendBackup)},
		{"GET", staff + "/keys", admin(s.listKeys)},
		{"POST", staff + "/keys", admin(s.createKey)},
		{"DELETE", staff + "/keys/:key", admin(s.removeKey)},

		{"GET", "/healthz", s.healthz},
		{"GET", "/readyz", s.readyz},
		{"GET", "/openapi.yaml", s.openAPI},
	}
}

//go:embed openapi.yaml
var openAPI []byte

func (s *Server) openAPI(c echo.Context) error {
	c.Response().Header()[headerCacheControl] = noCache
	return c.Blob(http.StatusOK, "application/yaml", openAPI)
}

func (s *Server) healthz(c echo.Context) error {
	return c.JSONBlob(http.StatusOK, []byte(`{"status":"alive"}`))
}

// readyz answers 200 when writes work, else 503 with the reason. Once the end
// has begun it says so to whoever still has a connection, such as a proxy.
func (s *Server) readyz(c echo.Context) error {
	select {
	case <-s.done:
		return &sale.Refusal{Code: "unavailable", Detail: "Foyer is stopping and takes no new requests; try again when it is back.", RetryAfter: 5 * time.Second}
	default:
	}
	if err := s.conf.Ready(); err != nil {
		return &sale.Refusal{Code: "unavailable", Detail: "Foyer takes no writes at present: " + err.Error(), RetryAfter: 5 * time.Second}
	}
	return c.JSONBlob(http.StatusOK, []byte(`{"status":"ready"}`))
}
