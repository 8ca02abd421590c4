package web

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/sale"
)

// fields are the names of an object, sorted.
func (a *answer) fields() string {
	a.t.Helper()
	a.field("")
	return strings.Join(slices.Sorted(maps.Keys(a.decoded)), " ")
}

func TestWhoMustComeSoonIsToldToAskOften(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"line":"always"`, `"rules":{"maxActive":1,"pickupSeconds":2}`)
	v := h.visitor()
	h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", v).want(201)
	for range 50 {
		a := h.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", v).want(200)
		if ms := a.field("pollAfterMillis").(float64); ms < 400 || ms > 600 || a.field("pollingIntervalSeconds") != 1.0 || a.Header.Get("Retry-After") != "1" {
			t.Fatalf("Retry-After %s, %s", a.Header.Get("Retry-After"), a.Body)
		}
	}
	b := h.browser()
	b.follow(b.post("/events/gala/line")).says(`http-equiv="refresh" content="1"`, "It loads itself again every second.")
}

func TestAPlaceIsShownAsTheContractSays(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"line":"always"`, `"rules":{"maxActive":1}`)
	const queue = "/api/v1/events/gala/queue"
	first, second := h.visitor(), h.visitor()
	a := h.do("GET", queue, "", "X-Visitor", first).want(200)
	if a.text("status") != "NOT_ENTERED" || a.fields() != "serverTime status" {
		t.Errorf("not entered: %s", a.Body)
	}
	h.do("POST", queue, "", "X-Visitor", first).want(201)
	a = h.do("POST", queue, "{}", "X-Visitor", second).want(201)
	const waiting = "chance currentTotalWaitingCount estimatedWaitRange estimatedWaitSeconds number pollAfterMillis pollingIntervalSeconds queueId rank serverTime status"
	if a.text("status") != "WAITING" || a.fields() != waiting || a.field("rank") != 1.0 || a.field("number") != 2.0 || a.field("currentTotalWaitingCount") != 2.0 {
		t.Errorf("waiting: %s", a.Body)
	}
	if a.text("serverTime") != "2026-12-01T19:00:00.000Z" {
		t.Errorf("got serverTime %s", a.text("serverTime"))
	}
	id := a.text("queueId")
	again := h.do("POST", queue, "", "X-Visitor", second).want(200)
	if again.text("queueId") != id || again.field("rank") != 1.0 {
		t.Errorf("joining again: %s", again.Body)
	}
	for range 100 {
		a = h.do("GET", queue+"/"+id, "", "X-Visitor", second).want(200)
		millis := a.field("pollAfterMillis").(float64)
		seconds, _ := strconv.Atoi(a.Header.Get("Retry-After"))
		if millis < 800 || millis > 1200 || float64(seconds)*1000 < millis || seconds > 2 || seconds < 1 {
			t.Fatalf("pollAfterMillis %v, Retry-After %d", millis, seconds)
		}
	}
	if _, err := h.office.Tick("gala", time.Second); err != nil {
		t.Fatal(err)
	}
	a = h.do("GET", queue, "", "X-Visitor", first).want(200)
	const ready = "currentTotalWaitingCount entryToken entryTokenExpiresAt estimatedWaitRange estimatedWaitSeconds number pollAfterMillis pollingIntervalSeconds queueId rank serverTime status tokenState"
	if a.text("status") != "READY" || a.fields() != ready || a.text("tokenState") != "READY" || a.text("entryTokenExpiresAt") != "2026-12-01T19:05:00.000Z" || a.field("rank") != 0.0 || a.field("estimatedWaitSeconds") != 0.0 {
		t.Errorf("ready: %s", a.Body)
	}
	if a.Header.Get("Retry-After") != "" {
		t.Error("READY carries Retry-After")
	}
	order := h.do("POST", "/api/v1/events/gala/holds", `{"seats":["A-1"]}`, "X-Queue-Token", a.text("entryToken")).want(201)
	a = h.do("GET", queue, "", "X-Visitor", first).want(200)
	if a.text("tokenState") != "CLAIMED" || a.text("orderId") != order.text("orderId") {
		t.Errorf("claimed: %s", a.Body)
	}
	if got, want := a.Header.Get("Content-Length"), strconv.Itoa(len(a.Body)); got != want || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("got length %s, want %s; Cache-Control %s", got, want, a.Header.Get("Cache-Control"))
	}
}

func TestTheLobbyTellsWhenItOpens(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"opensAt":"2026-12-01T20:00:00Z"`)
	a := h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", h.visitor()).want(201)
	if a.text("status") != "LOBBY" || a.text("opensAt") != "2026-12-01T20:00:00.000Z" || a.Header.Get("Retry-After") == "" {
		t.Errorf("got %s", a.Body)
	}
	if a = h.do("GET", "/api/v1/events/gala/status", "").want(200); a.text("phase") != "LOBBY" || a.text("opensAt") != "2026-12-01T20:00:00.000Z" {
		t.Errorf("got %s", a.Body)
	}
}

func TestOnlyTheOwnerSeesAPlace(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	h.event("other")
	visitor, _ := h.ready("gala")
	id := h.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", visitor).text("queueId")
	path := "/api/v1/events/gala/queue/" + id
	for _, p := range []string{path, path + "/stream"} {
		h.do("GET", p, "").refused(401, "no_visitor")
		h.do("GET", p, "", "X-Visitor", h.visitor()).refused(404, "not_entered")
		h.do("GET", strings.Replace(p, "gala", "other", 1), "", "X-Visitor", visitor).refused(404, "not_entered")
		h.do("GET", strings.Replace(p, "gala", "none", 1), "", "X-Visitor", visitor).refused(404, "no_such_event")
	}
	h.do("DELETE", path, "", "X-Visitor", h.visitor()).refused(404, "not_entered")
	h.do("DELETE", path, "", "X-Visitor", visitor).want(204)
	h.do("DELETE", path, "", "X-Visitor", visitor).want(204)
	h.do("GET", path, "", "X-Visitor", visitor).refused(404, "not_entered")
	h.do("GET", path+"/stream", "", "X-Visitor", visitor).refused(404, "not_entered")
}

// B107, B160: whatever stands in a path, the answer is a problem and none of ours fails.
func TestOddPathsAreProblems(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	visitor := h.visitor()
	for _, odd := range []string{"%00", "%2f", "%5C", "..", "%2e%2e", "%ff%fe", "gala%00", "GALA", strings.Repeat("a", 10_000), "%E2%80%AE", "'\"<script>", "//x", ":event", "*", "%25"} {
		for _, path := range []string{
			"/api/v1/events/%s", "/api/v1/events/%s/status", "/api/v1/events/%s/seats", "/api/v1/events/%s/plan", "/api/v1/events/%s/queue",
			"/api/v1/events/gala/queue/%s", "/api/v1/events/gala/queue/%s/stream", "/api/v1/orders/%s", "/api/v1/admin/events/%s", "/api/v1/admin/events/%s/live",
			"/api/v1/%s", "/%s/x", "/api/v1/events/gala/%s",
		} {
			u, err := url.Parse("http://example.com" + strings.Replace(path, "%s", odd, 1))
			if err != nil {
				u = &url.URL{Scheme: "http", Host: "example.com", Path: strings.Replace(path, "%s", odd, 1)}
			}
			r := httptest.NewRequest("GET", "/", nil)
			r.URL = u
			r.Header.Set("X-Visitor", visitor)
			if strings.Contains(path, "/admin/") {
				r.Header.Set("Authorization", "Bearer "+adminKey)
			}
			a := h.send(r)
			if a.Status != 404 || a.text("code") == "" {
				t.Errorf("%s: got %d %s", u, a.Status, a.Body)
			}
			if l := a.Header.Get("Location"); l != "" {
				t.Errorf("%s: sent on to %s", u, l)
			}
		}
	}
	if a := h.do("GET", "/api/v1/events/%67ala", ""); a.Status != 200 {
		t.Errorf("an escaped id: got %d", a.Status)
	}
	h.staff("DELETE", "/api/v1/admin/keys/a/b", "").refused(404, "no_such_key")
}

func TestHeadAnswersWhereGetDoes(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	visitor, _ := h.ready("gala")
	id := h.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", visitor).text("queueId")
	server := httptest.NewServer(h.server)
	defer server.Close()
	for _, r := range h.server.routes() {
		if r.method != http.MethodGet {
			continue
		}
		path := strings.NewReplacer(":event", "gala", ":queueId", id, ":order", uuid.NewString(), "/check", "/check?event=gala").Replace(r.path)
		req, _ := http.NewRequest("HEAD", server.URL+path, nil)
		req.Header.Set("X-Visitor", visitor)
		if strings.Contains(path, "/admin/") || strings.Contains(path, "/lanes") || strings.Contains(path, "/tasks/") {
			req.Header.Set("Authorization", "Bearer "+adminKey)
		}
		res, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		want := 200
		switch {
		case strings.Contains(path, "/orders/") || strings.Contains(path, "/tasks/") || strings.HasSuffix(path, ":message"):
			want = 404
		case strings.Contains(path, "/check"):
			want = 204
		case strings.Contains(path, "/draw"):
			want = 409 // the order of this event is no draw
		}
		if res.StatusCode != want {
			t.Errorf("HEAD %s: got %d, want %d", path, res.StatusCode, want)
		}
	}
}

func TestAppendIDWritesWhatUUIDDoes(t *testing.T) {
	for range 100 {
		u := uuid.New()
		if got := string(appendID(nil, u)); got != u.String() {
			t.Fatalf("got %s, want %s", got, u)
		}
	}
}

func TestPlacesAreValidJSON(t *testing.T) {
	opens := time.Now()
	for _, v := range []sale.PlaceView{
		{Status: sale.NotEntered, Now: opens},
		{Status: sale.Lobby, Now: opens, OpensAt: &opens},
		{Status: sale.Lobby, Now: opens},
		{Status: sale.Waiting, Now: opens, Rank: 1 << 40, Number: 1 << 63, Wait: -1},
		{Status: sale.Ready, Now: opens, Token: "a_b-c", OrderID: uuid.New()},
	} {
		if b := appendPlace(nil, &v, time.Second); !json.Valid(b) {
			t.Errorf("got %s", b)
		}
	}
}

// The hot path against its floor: the same router and a handler that writes ready bytes.
func BenchmarkPollAgainstABareHandler(b *testing.B) {
	h := newHouse(b)
	h.event("gala", `"line":"always"`, `"rules":{"maxActive":1}`)
	h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", h.visitor())
	visitor := h.visitor()
	place := h.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", visitor)
	path := "/api/v1/events/gala/queue/" + place.text("queueId")
	h.server = New(Config{Office: h.office, Secret: h.store.Secret()})

	e := echo.New()
	e.GET(api+"/events/:event/queue/:queueId", func(c echo.Context) error {
		return c.JSONBlob(http.StatusOK, place.Body)
	})
	for name, handler := range map[string]http.Handler{"foyer": h.server, "bare": e} {
		b.Run(name, func(b *testing.B) {
			server := httptest.NewServer(handler)
			defer server.Close()
			r, _ := http.NewRequest("GET", server.URL+path, nil)
			r.Header.Set("X-Visitor", visitor)
			for b.Loop() {
				res, err := server.Client().Do(r)
				if err != nil || res.StatusCode != 200 {
					b.Fatal(err)
				}
				_ = res.Body.Close()
			}
		})
		b.Run(name+"/handler", func(b *testing.B) {
			r := httptest.NewRequest("GET", path, nil)
			r.Header.Set("X-Visitor", visitor)
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(&memoryWriter{header: http.Header{}}, r)
			}
		})
	}
}
