package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"foyer/sale"
	"foyer/store"
)

const (
	haste     = 600  // how much faster than ours the time of the sale runs: an hour in 6 s
	passersBy = 3000 // visitors in an hour who join and are never heard of again
	guests    = 240  // visitors in an hour who come over sockets and do something
	nuisances = 120  // requests in an hour that are no good
	heapGrows = 1.1  // at most, from hour to hour
)

// hastyHouse is all of Foyer on a real socket, with a clock that runs fast.
type hastyHouse struct {
	*house
	t       *testing.T
	began   time.Time
	skipped atomic.Int64 // nanoseconds that the clock was put forward
	client  *http.Client
	comers  atomic.Int64 // numbers their addresses

	mu    sync.Mutex
	stale []net.Conn // of those who have vanished without a word
}

func (h *hastyHouse) now() time.Time {
	return h.began.Add(haste*time.Since(h.began) + time.Duration(h.skipped.Load()))
}

// openHasty opens the house as serve does, but for the clock, and runs it.
func openHasty(t *testing.T, sink string) (h *hastyHouse, stop func() error) {
	t.Helper()
	w := newWorld(t)
	w.env["FOYER_DEMO_SECRET"] = "whsec_" + "d2hhdCBjb21lcyBpbiBpcyBzaWduZWQgYnkgdGhpcw=="
	w.env["FOYER_ADMIN_KEY"] = "a key for an hour"
	s, err := parseSettings(w.program(), "serve", aboutServe, []string{"--addr", "127.0.0.1:0", "--data", w.dir, "--tick", "20ms",
		"--trusted-proxies", "127.0.0.1/32", "--demo-provider", "--sink", "*=" + sink}, nil)
	if err != nil {
		t.Fatal(err)
	}
	h = &hastyHouse{t: t, began: time.Now(), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 20 * time.Second}}
	h.house = &house{settings: s, lines: newLineWriter(io.Discard), registry: prometheus.NewRegistry()}
	h.log = newLog(h.lines)
	if h.listener, err = listen("--addr", s.Addr); err != nil {
		t.Fatal(err)
	}
	if h.store, err = store.Open(s.Data, store.Options{Log: h.log, Now: h.now}); err != nil {
		t.Fatal(err)
	}
	h.url = localURL(h.listener.Addr())
	h.wire()
	if err := h.adminKey(w.program()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	open := make(chan struct{})
	go func() {
		ended <- h.run(ctx, w.program(), func(context.Context, *house) error { close(open); return nil })
	}()
	<-open
	return h, func() error {
		cancel()
		return <-ended
	}
}

// ask sends one request and gives what the answer holds; who is the visitor's credential or "".
func (h *hastyHouse) ask(method, path, body, who string, headers ...string) (status int, answer map[string]any) {
	q, err := http.NewRequest(method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Error(err)
		return 0, nil
	}
	n := h.comers.Add(1)
	q.Header.Set("X-Forwarded-For", fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255))
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	if who != "" {
		q.Header.Set("X-Visitor", who)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	res, err := h.client.Do(q)
	if err != nil {
		h.t.Errorf("%s %s: %v", method, path, err)
		return 0, nil
	}
	defer res.Body.Close()
	raw, _ := io.ReadAll(res.Body)
	if strings.Contains(res.Header.Get("Content-Type"), "json") && json.Unmarshal(raw, &answer) != nil {
		h.t.Errorf("%s %s: %s", method, path, raw)
	}
	if res.StatusCode >= 500 {
		h.t.Errorf("%s %s: %d %s", method, path, res.StatusCode, raw)
	}
	return res.StatusCode, answer
}

// raw sends bytes over a connection of its own.
func (h *hastyHouse) raw(text string) net.Conn {
	c, err := net.Dial("tcp", h.listener.Addr().String())
	if err != nil {
		h.t.Error(err)
		return nil
	}
	if _, err := io.WriteString(c, text); err != nil {
		h.t.Error(err)
	}
	return c
}

// vanish leaves a connection as it is until the end of the hour.
func (h *hastyHouse) vanish(c net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stale = append(h.stale, c)
}

// guest is a visitor who does one of the things that visitors do, and never buys.
func (h *hastyHouse) guest(i int) {
	_, v := h.ask("POST", "/api/v1/visitors", "", "")
	who, _ := v["credential"].(string)
	const queue = "/api/v1/events/gala/queue"
	status, place := h.ask("POST", queue, "", who)
	id, _ := place["queueId"].(string)
	token, _ := place["entryToken"].(string)
	if status != http.StatusCreated || token == "" {
		h.t.Errorf("join: %d %v", status, place)
		return
	}
	stream := "GET " + queue + "/" + id + "/stream HTTP/1.1\r\nHost: foyer\r\nX-Visitor: " + who + "\r\n\r\n"
	switch i % 8 {
	case 0:
		for range 3 {
			h.ask("GET", queue+"/"+id, "", who)
		}
		h.ask("DELETE", queue+"/"+id, "", who)
		return
	case 1: // watches for a moment and goes
		c := h.raw(stream)
		for lines := bufio.NewScanner(c); lines.Scan() && !strings.HasPrefix(lines.Text(), "data:"); {
		}
		c.Close()
		return
	case 2: // the phone goes out of reach
		h.vanish(h.raw(stream))
		return
	case 7:
		return
	}
	status, o := h.ask("POST", "/api/v1/events/gala/holds", `{"best":{"count":2}}`, who, "X-Entry-Token", token)
	order, _ := o["orderId"].(string)
	if status == http.StatusConflict { // too few seats at the moment
		return
	}
	if status != http.StatusCreated && status/100 != 4 { // on a slow machine the turn may be over
		h.t.Errorf("hold: %d %v", status, o)
	}
	switch i % 8 {
	case 4:
		h.ask("POST", "/api/v1/orders/"+order+"/cancel", "", who)
	case 5:
		h.ask("POST", "/api/v1/orders/"+order+"/pay", `{"provider":"demo"}`, who)
	case 6:
		h.ask("DELETE", queue+"/"+id, "", who)
	}
}

// nuisance is one of the requests that lead nowhere.
func (h *hastyHouse) nuisance(i int) {
	const staff = "Authorization"
	switch i % 10 {
	case 0:
		h.raw("POST /api/v1/visitors HTTP/1.1\r\nHost: fo").Close()
	case 1:
		h.raw("POST /api/v1/visitors HTTP/1.1\r\nHost: foyer\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{").Close()
	case 2: // asks and never reads
		h.vanish(h.raw(strings.Repeat("GET /api/v1/events/gala/plan HTTP/1.1\r\nHost: foyer\r\n\r\n", 20)))
	case 3:
		h.ask("POST", "/api/v1/payments/demo/webhook", `{"type":"payment.succeeded"}`, "", "webhook-id", fmt.Sprint("m", h.comers.Load()), "webhook-timestamp", fmt.Sprint(h.now().Unix()), "webhook-signature", "v1,no")
	case 4:
		h.ask("GET", "/api/v1/admin/orders", "", "", staff, fmt.Sprint("Bearer wrong key ", h.comers.Load()))
	case 5:
		_, v := h.ask("POST", "/api/v1/visitors", "", "")
		who, _ := v["credential"].(string)
		h.ask("POST", "/api/v1/events/closed/queue", "", who)
		h.ask("POST", "/api/v1/events/gala/holds", `{"seats":["A-1"]}`, who, "X-Entry-Token", "no token")
	case 6:
		for _, path := range []string{"/", "/events/gala", "/api/v1/events/gala/seats", "/api/v1/events/gala/status", "/nowhere/" + fmt.Sprint(i), "/metrics"} {
			h.ask("GET", path, "", "")
		}
	case 7:
		for _, path := range []string{"/api/v1/admin/events", "/api/v1/admin/orders?query=nobody", "/api/v1/admin/attention", "/api/v1/admin/outbox", "/admin"} {
			h.ask("GET", path, "", "", staff, "Bearer a key for an hour")
		}
	case 8:
		h.vanish(h.raw("GET /api/v1/admin/events/gala/live HTTP/1.1\r\nHost: foyer\r\nAuthorization: Bearer a key for an hour\r\n\r\n"))
	case 9: // connected, silent
		h.vanish(h.raw(""))
	}
}

// hour is an hour of the sale, all that comes in it so many times, and the end
// of all that.
func (h *hastyHouse) hour(times int) {
	h.t.Helper()
	end := h.now().Add(time.Hour)
	var crowd sync.WaitGroup
	spread := func(workers, n int, act func(int)) {
		var next atomic.Int64
		for range workers {
			crowd.Go(func() {
				for i := int(next.Add(1)) - 1; i < n && !h.t.Failed(); i = int(next.Add(1)) - 1 {
					act(i)
				}
			})
		}
	}
	visitors := make([]uuid.UUID, times*passersBy)
	spread(64, len(visitors), func(i int) {
		visitors[i] = uuid.New()
		if _, _, err := h.office.Join("gala", visitors[i]); err != nil {
			h.t.Error(err)
		}
	})
	spread(8, times*guests, h.guest)
	spread(4, times*nuisances, h.nuisance)
	crowd.Wait()
	if h.t.Failed() {
		h.t.FailNow()
	}
	waitFor(h.t, "the end of the hour", func() bool { return h.now().After(end) })
	for _, c := range h.stale {
		_ = c.(*net.TCPConn).SetLinger(0) // the network gives up on them
		_ = c.Close()
	}
	h.stale = nil
	h.client.CloseIdleConnections()
	h.skipped.Add(int64(2 * time.Hour))
	waitFor(h.t, "all turns over, all places forgotten, all messages delivered", func() bool {
		s, err := h.office.Status("gala")
		left := 0
		err2 := h.store.View(func(r sale.Reader) error {
			for _, v := range visitors {
				if _, found := r.Place("gala", v); found {
					left++
				}
			}
			return nil
		})
		m := h.relay.Stats()
		return err == nil && err2 == nil && s.Active+s.Waiting+left+m.Waiting+m.InFlight == 0
	})
	if err := h.office.Tidy(); err != nil {
		h.t.Error(err)
	}
}

// heap is the bytes that are in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // what pools kept over the first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestHourOfSaleEndsWithTheMemoryAndTheGoroutinesItBeganWith sells nothing for
// good, so that after each hour the house stands as before it. The first hour is
// the busier one, so that what grows with the largest crowd has grown.
func TestHourOfSaleEndsWithTheMemoryAndTheGoroutinesItBeganWith(t *testing.T) {
	before := goleak.IgnoreCurrent()
	taken := atomic.Int64{}
	sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { taken.Add(1) }))
	defer goleak.VerifyNone(t, before)
	defer http.DefaultClient.CloseIdleConnections()
	defer sink.Close()
	sink.Config.SetKeepAlivesEnabled(false) // so that no connection to it stays
	h, stop := openHasty(t, sink.URL)
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	for _, e := range []string{"gala", "closed"} {
		s := sale.DefaultSettings()
		s.ID, s.Name, s.TimeZone, s.Prices = e, e, "UTC", map[string]int64{"Stalls": 4250}
		s.Rules.AdmitPerSecond, s.Rules.MaxActive = 5000, 20_000
		if _, err := h.office.CreateEvent("test", s); err != nil {
			t.Fatal(err)
		}
	}
	var plan strings.Builder
	plan.WriteString("zone,row,seat,category\n")
	for i := range 400 {
		fmt.Fprintf(&plan, "Stalls,A,%d,Stalls\n", i+1)
	}
	admin := []string{"Authorization", "Bearer a key for an hour"}
	if status, a := h.ask("PUT", "/api/v1/admin/events/gala/plan", plan.String(), "", append(admin, "Content-Type", "text/csv")...); status != 200 {
		t.Fatal(a)
	}
	h.ask("POST", "/api/v1/admin/events/closed/close", "", "", admin...)

	h.client.CloseIdleConnections()
	standing := runtime.NumGoroutine()
	quiet := func() bool { return runtime.NumGoroutine() <= standing }
	h.hour(2)
	waitFor(t, "the goroutines of the first hour ended", quiet)
	first := heap()
	h.hour(1)
	waitFor(t, "the goroutines of the second hour ended", quiet)
	second := heap()
	t.Logf("before the first hour %d goroutines and after the second %d; %.2f MB and %.2f MB; %d messages delivered",
		standing, runtime.NumGoroutine(), float64(first)/(1<<20), float64(second)/(1<<20), taken.Load())
	if float64(second) > heapGrows*float64(first) {
		t.Errorf("an hour of sale took %.2f MB more, want at most a tenth of %.2f MB", float64(second-first)/(1<<20), float64(first)/(1<<20))
	}
}
