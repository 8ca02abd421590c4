package web

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"foyer/outbox"
	"foyer/sale"
)

// metrics counts requests and shows the state of the events. Label values come
// from closed sets: route patterns, known methods, status codes, ids of events.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	counters sync.Map            // requestKind -> prometheus.Counter, to spare the look-up by labels
	timers   sync.Map            // route -> prometheus.Observer
	passed   prometheus.Counter  // of what Server.passes answers
	passing  prometheus.Observer // and its time
	handler  http.Handler
}

type requestKind struct {
	route, method string
	status        int
}

func newMetrics(c Config) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "foyer_http_requests_total", Help: "Answered requests by route pattern, method and status code.",
		}, []string{"route", "method", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "foyer_http_request_duration_seconds", Help: "Time to answer by route pattern; of streams, until they begin.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"route"}),
		handler: promhttp.HandlerFor(c.Registry, promhttp.HandlerOpts{}),
	}
	m.passed = m.requests.WithLabelValues(checkPath, http.MethodGet, "204")
	m.passing = m.seconds.WithLabelValues(checkPath)
	c.Registry.MustRegister(m.requests, m.seconds)
	if c.Office != nil {
		c.Registry.MustRegister(gauges{c.Office})
	}
	if c.Messages != nil {
		c.Registry.MustRegister(outboxGauges(c.Messages))
	}
	if c.Sinks != nil {
		c.Registry.MustRegister(sinkGauges(c.Sinks))
	}
	return m
}

// findingsGauge shows how much was wrong with the file when it was opened.
func findingsGauge(n int) prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "foyer_check_findings", Help: "What was wrong with the file when it was opened; 0 is sound.",
	})
	g.Set(float64(n))
	return g
}

// showMetrics tells a scraper on this machine, or one with an admin key. How
// well a sale goes is not for everybody. A request that a proxy has passed on is
// not from this machine.
func (s *Server) showMetrics(c echo.Context) error {
	r := c.Request()
	if s.client(r).Unmap().IsLoopback() && !passedOn(r.Header) {
		s.metrics.handler.ServeHTTP(c.Response(), r)
		return nil
	}
	return s.as(sale.RoleAdmin, func(c echo.Context, _ *sale.Key) error {
		s.metrics.handler.ServeHTTP(c.Response(), r)
		return nil
	})(c)
}

// passedOn tells whether a proxy says that it has passed the request on.
func passedOn(h http.Header) bool {
	return h.Get("X-Forwarded-For") != "" || h.Get("X-Real-IP") != "" || h.Get("X-Forwarded-Host") != "" || h.Get("Forwarded") != "" || h.Get("Via") != ""
}

func (m *metrics) observe(route, verb string, status int, took time.Duration) {
	k := requestKind{route, method(verb), status}
	counter, ok := m.counters.Load(k)
	if !ok {
		counter, _ = m.counters.LoadOrStore(k, m.requests.WithLabelValues(k.route, k.method, strconv.Itoa(status)))
	}
	counter.(prometheus.Counter).Inc()
	timer, ok := m.timers.Load(route)
	if !ok {
		timer, _ = m.timers.LoadOrStore(route, m.seconds.WithLabelValues(route))
	}
	timer.(prometheus.Observer).Observe(took.Seconds())
}

// gauges reads the state of every event when it is asked.
type gauges struct{ office *sale.Office }

var (
	eventLabel  = []string{"event"}
	descWaiting = prometheus.NewDesc("foyer_event_waiting", "Places waiting in the line.", eventLabel, nil)
	descActive  = prometheus.NewDesc("foyer_event_active", "Turns that are READY or CLAIMED.", eventLabel, nil)
	descLeft    = prometheus.NewDesc("foyer_event_seats_left", "Seats that are not sold.", eventLabel, nil)
	descSold    = prometheus.NewDesc("foyer_event_seats_sold", "Seats in PAID orders.", eventLabel, nil)
)

// Describe sends the descriptions of the gauges.
func (g gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descWaiting, descActive, descLeft, descSold} {
		ch <- d
	}
}

// Collect sends the gauges of every event.
func (g gauges) Collect(ch chan<- prometheus.Metric) {
	for _, e := range g.office.Events() {
		v, err := g.office.Status(e.ID)
		if err != nil {
			continue // removed meanwhile
		}
		gauge := func(d *prometheus.Desc, n int) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), e.ID)
		}
		gauge(descWaiting, v.Waiting)
		gauge(descActive, v.Active)
		gauge(descLeft, v.SeatsLeft)
		gauge(descSold, v.Sold)
	}
}

// outboxGauges reads the state of the outbox when it is asked.
type outboxGauges func() outbox.Stats

var (
	descMessages = prometheus.NewDesc("foyer_outbox_messages", "Messages that are not delivered, by state.", []string{"state"}, nil)
	descBlocked  = prometheus.NewDesc("foyer_outbox_blocked_lanes", "Lanes that wait for a receiver that fails, is stopped or is not configured.", nil, nil)
	descPaused   = prometheus.NewDesc("foyer_outbox_paused_lanes", "Lanes with messages that staff have paused.", nil, nil)
	descOldest   = prometheus.NewDesc("foyer_outbox_oldest_seconds", "Age of the oldest message that waits or is being delivered; 0 when there is none.", nil, nil)
	descTries    = prometheus.NewDesc("foyer_outbox_attempts_total", "Deliveries tried since the start, by what became of them.", []string{"outcome"}, nil)
)

// Describe sends the descriptions of the gauges.
func (g outboxGauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descMessages, descBlocked, descPaused, descOldest, descTries} {
		ch <- d
	}
}

// Collect sends the gauges.
func (g outboxGauges) Collect(ch chan<- prometheus.Metric) {
	s := g()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(descMessages, float64(s.Waiting), "waiting")
	gauge(descMessages, float64(s.InFlight), "in_flight")
	gauge(descMessages, float64(s.Dead), "dead")
	gauge(descBlocked, float64(s.BlockedLanes))
	gauge(descOldest, s.Oldest.Seconds())
	gauge(descPaused, float64(s.PausedLanes))
	ch <- prometheus.MustNewConstMetric(descTries, prometheus.CounterValue, float64(s.Delivered), "delivered")
	ch <- prometheus.MustNewConstMetric(descTries, prometheus.CounterValue, float64(s.Failed), "failed")
}

// sinkGauges reads how the receivers behave when it is asked.
type sinkGauges func() []outbox.SinkState

var (
	sinkLabel   = []string{"sink"}
	descDown    = prometheus.NewDesc("foyer_outbox_sink_down", "1: the receiver cannot be reached, and gets one attempt at a time until it can.", sinkLabel, nil)
	descStopped = prometheus.NewDesc("foyer_outbox_sink_stopped", "1: the receiver wants no more (410).", sinkLabel, nil)
)

// Describe sends the descriptions of the gauges.
func (g sinkGauges) Describe(ch chan<- *prometheus.Desc) {
	ch <- descDown
	ch <- descStopped
}

// Collect sends the gauges. Sinks whose names look the same without their secrets
// are one, which is down or stopped when any of them is.
func (g sinkGauges) Collect(ch chan<- prometheus.Metric) {
	all := map[string]outbox.SinkState{}
	for _, s := range g() {
		one := all[s.Name]
		all[s.Name] = outbox.SinkState{Down: one.Down || s.Down, Stopped: one.Stopped || s.Stopped}
	}
	for name, s := range all {
		ch <- prometheus.MustNewConstMetric(descDown, prometheus.GaugeValue, oneIf(s.Down), name)
		ch <- prometheus.MustNewConstMetric(descStopped, prometheus.GaugeValue, oneIf(s.Stopped), name)
	}
}

func oneIf(so bool) float64 {
	if so {
		return 1
	}
	return 0
}
