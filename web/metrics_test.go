package web

import (
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestMetricsCountRequestsAndEvents(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"line":"always"`)
	h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", h.visitor()).want(201)
	h.do("GET", "/api/v1/some/where", "")
	h.do("BREW", "/api/v1/events", "")
	body := string(h.staff("GET", "/metrics", "").want(200).Body)
	for _, line := range []string{
		`foyer_http_requests_total{code="201",method="POST",route="/api/v1/events/:event/queue"} 1`,
		`foyer_http_requests_total{code="404",method="GET",route="none"} 1`,
		`foyer_http_requests_total{code="405",method="other",route="/api/v1/events"} 1`,
		`foyer_event_waiting{event="gala"} 1`,
		`foyer_event_active{event="gala"} 0`,
		`foyer_event_seats_left{event="gala"} 6`,
		`foyer_event_seats_sold{event="gala"} 0`,
		`foyer_http_request_duration_seconds_count{route="/api/v1/events/:event/queue"} 1`,
	} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("no %s", line)
		}
	}
	if strings.Contains(body, "some/where") || strings.Contains(body, "BREW") {
		t.Error("labels are made of what clients send")
	}
	off := newHouse(t, func(c *Config) { c.Metrics = false })
	off.staff("GET", "/metrics", "").refused(404, "no_such_route")
}

func TestMetricsAreForThisMachineAndAdmins(t *testing.T) {
	for _, c := range []struct {
		from, proxies string
		headers       []string
		status        int
	}{
		{"127.0.0.1", "", nil, 200},
		{"[::1]", "", nil, 200},
		{"192.0.2.1", "", nil, 401},
		{"127.0.0.1", "", []string{"X-Forwarded-For", "192.0.2.1"}, 401}, // a proxy that nobody has told us of
		{"127.0.0.1", "127.0.0.0/8", []string{"X-Forwarded-For", "192.0.2.1"}, 401},
		{"127.0.0.1", "10.0.0.0/8", []string{"X-Forwarded-For", "192.0.2.1"}, 401},
		{"127.0.0.1", "127.0.0.0/8", nil, 200},
		{"192.0.2.1", "", []string{"X-Forwarded-For", "127.0.0.1"}, 401},
		{"192.0.2.1", "", []string{"Authorization", "Bearer " + adminKey}, 200},
		{"192.0.2.1", "", []string{"Authorization", "Bearer wrong"}, 401},
	} {
		h := newHouse(t, func(conf *Config) {
			if c.proxies != "" {
				conf.Proxies = []netip.Prefix{netip.MustParsePrefix(c.proxies)}
			}
		})
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.RemoteAddr = c.from + ":1"
		for i := 0; i+1 < len(c.headers); i += 2 {
			r.Header.Set(c.headers[i], c.headers[i+1])
		}
		if a := h.send(r); a.Status != c.status || a.Status != 200 && strings.Contains(string(a.Body), "foyer_") {
			t.Errorf("%+v: got %d", c, a.Status)
		}
	}
	h := newHouse(t)
	h.do("GET", "/metrics", "", "Authorization", "Bearer "+h.key("shop")).refused(403, "wrong_role")
}

func TestSoldSeatsAreCountedWhenMoreAreSoldThanOnSale(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	_, order := h.held("gala", `["A-1","A-2"]`)
	h.clock.pass(time.Hour)
	h.staff("PATCH", "/api/v1/admin/events/gala", `{"prices":{"Stalls":null}}`).want(200) // nothing is on sale
	h.staff("POST", "/api/v1/orders/"+order+"/confirm", `{"amount":8500,"currency":"EUR"}`, "Idempotency-Key", "k").want(200)
	if body := string(h.staff("GET", "/metrics", "").want(200).Body); !strings.Contains(body, `foyer_event_seats_sold{event="gala"} 2`+"\n") || !strings.Contains(body, `foyer_event_seats_left{event="gala"} 0`+"\n") {
		t.Errorf("got %s", body)
	}
}
