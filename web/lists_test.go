package web

import (
	"strings"
	"testing"
)

func TestListsRefuseParametersTheyDoNotKnow(t *testing.T) {
	h := newHouse(t)
	h.lanes()
	for list, known := range map[string]string{
		"/api/v1/events": "limit, cursor", "/api/v1/admin/events": "limit, cursor", "/api/v1/admin/orders": "limit, cursor, event, query", "/api/v1/admin/attention": "limit, cursor, settled",
		"/api/v1/admin/audit": "limit, cursor", "/api/v1/admin/outbox": "limit, cursor, state", "/api/v1/admin/keys": "limit, cursor", "/api/v1/lanes": "limit, cursor", "/api/v1/lanes/k/tasks": "limit, cursor",
	} {
		h.staff("GET", list+"?limit=5&cursor=", "").want(200)
		detail := h.staff("GET", list+"?limt=5", "").refused(400, "bad_request").text("detail")
		if !strings.Contains(detail, `"limt"`) || !strings.HasSuffix(detail, " knows "+known+".") {
			t.Errorf("%s says %s", list, detail)
		}
		for _, bad := range []string{"x", "0", "007", "18446744073709551615", "18446744073709551616", "-1"} {
			h.staff("GET", list+"?cursor="+bad, "").refused(400, "bad_cursor")
		}
		h.staff("GET", list+"?limit=1&limit=2", "").refused(400, "bad_request")
		h.staff("GET", list+"?limit=501", "").refused(400, "bad_request")
		h.staff("GET", list+"?limit=%zz", "").refused(400, "bad_request")
	}
}
