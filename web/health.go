package web

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"foyer/sale"
)

// reportHealth takes what the shop that the line protects says of itself.
func (s *Server) reportHealth(c echo.Context, _ *sale.Key) error {
	var body struct {
		Requests *int  `json:"requests"`
		Failures int   `json:"failures"`
		Latency  int64 `json:"latencyMillis"`
	}
	if err := read(c, &body); err != nil {
		return err
	}
	const most, longest = 1_000_000_000, 24 * 60 * 60 * 1000
	switch n := body.Requests; {
	case n == nil || *n < 0 || *n > most:
		return refuse("bad_field", `"requests" must be the number of requests since the last report, 0 to 1000000000.`)
	case body.Failures < 0 || body.Failures > *n:
		return refuse("bad_field", `"failures" must be 0 to the number of requests.`)
	case body.Latency < 0 || body.Latency > longest:
		return refuse("bad_field", `"latencyMillis" must be the mean time of a request in milliseconds.`)
	}
	pace, reason, err := s.office.ReportHealth(param(c, "event"), sale.Health{Requests: *body.Requests, Failures: body.Failures, Latency: time.Duration(body.Latency) * time.Millisecond})
	if err != nil {
		return err
	}
	return write(c, http.StatusOK, struct {
		Pace       int    `json:"pace"`
		PaceReason string `json:"paceReason,omitempty"`
	}{pace, reason})
}
