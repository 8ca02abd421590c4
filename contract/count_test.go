package contract

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// gauge reads a number of an event from /metrics; -1 when it is not there.
func (e event) gauge(t *testing.T, name string) int {
	t.Helper()
	return e.h.metric(t, fmt.Sprintf("%s{event=%q}", name, e.id))
}

// metric reads one series from /metrics as a whole number; -1 when it is not there.
func (h *house) metric(t *testing.T, series string) int {
	t.Helper()
	a := h.call(t, "GET", "/metrics", nil).want(t, http.StatusOK)
	for line := range strings.Lines(a.body) {
		if value, found := strings.CutPrefix(line, series+" "); found {
			f, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Errorf("%s: %v", series, err)
			}
			return int(f)
		}
	}
	return -1
}

func TestB11VisitorsWhoVanishWhileWaitingDoNotStopTheLine(t *testing.T) {
	t.Parallel()
	const most = 10
	e := eventOf(t, shared, 20, object{"maxActive": most, "pickupSeconds": 2, "turnSeconds": 10})
	tabs := make([]*tab, 3*most)
	leave := make([]context.CancelFunc, len(tabs))
	client := &http.Client{Transport: &http.Transport{}}
	for i := range tabs {
		p := e.joined(t)
		tabs[i] = &tab{person: p, number: i + 1}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		leave[i] = cancel
		go tabs[i].follow(ctx, client)
	}
	until(t, "everybody sees where he stands", patience, func() bool {
		return !slices.ContainsFunc(tabs, func(b *tab) bool { b.mu.Lock(); defer b.mu.Unlock(); return b.shown == 0 })
	})
	for _, vanish := range leave[most : 2*most] { // the second ten are gone
		vanish()
	}
	for i, p := range tabs[:most] { // the first ten leave, hold until their time is over, or do nothing until then
		switch i % 3 {
		case 0:
			p.leave(t)
		case 1:
			q := *p.person                 // its stream goes on meanwhile
			if q.place(t); q.token != "" { // his turn may be over by now
				q.hold(t, fmt.Sprintf("A-%d", i+1))
			}
		}
	}
	var low time.Time // since when a slot has been free while somebody waited
	until(t, "the last ten inside", 2*patience, func() bool {
		active, waiting := e.gauge(t, "foyer_event_active"), e.gauge(t, "foyer_event_waiting")
		switch {
		case active > most:
			t.Errorf("%d are active, want at most %d", active, most)
		case active == most || waiting == 0:
			low = time.Time{}
		case low.IsZero():
			low = time.Now()
		case time.Since(low) > 6*time.Second:
			t.Fatalf("%d of %d slots are in use for 6 s while %d wait", active, most, waiting)
		}
		inside := 0
		for _, b := range tabs[2*most:] {
			b.mu.Lock()
			if b.status != "WAITING" { // called, or called and through already
				inside++
			}
			b.mu.Unlock()
		}
		return inside == most
	})
}

// recount is what everybody of the event says about himself.
func recount(t *testing.T, e event, all []*person) (waiting, active int) {
	t.Helper()
	for _, p := range all {
		switch p.call(t, "GET", e.path("/queue"), nil).text("status") {
		case "WAITING":
			waiting++
		case "READY":
			active++
		}
	}
	return waiting, active
}

func TestB13GaugesEqualARecountAfterAThousandActsAndAfterACrash(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "--rate-limit", "0", "--tick", "100ms")
	e := eventOf(t, h, 40, object{"maxActive": 8, "turnSeconds": 2, "pickupSeconds": 2, "returnSeconds": 1, "holdSeconds": 2})
	all := make([]*person, 64)
	each(len(all), func(i int) { all[i] = e.joined(t) })
	each(1000, func(i int) { // one person may act from two places at once
		q := *all[rand.IntN(len(all))]
		switch a := q.call(t, "GET", e.path("/queue"), nil); i % 5 {
		case 0:
			if id := a.text("queueId"); id != "" {
				q.call(t, "DELETE", e.path("/queue/"+id), nil)
			}
		case 1, 2:
			q.join(t)
		case 3:
			if token := a.text("entryToken"); token != "" {
				q.token = token
				q.ask(t, object{"best": object{"count": 1 + i%3}})
			}
		case 4:
			if id := a.text("orderId"); id != "" {
				q.call(t, "POST", "/api/v1/orders/"+id+"/cancel", nil)
			}
		}
	})
	equal := func(when string) {
		t.Helper()
		var told string
		until(t, "gauges and status equal to a recount "+when, patience, func() bool {
			waiting, active := recount(t, e, all)
			s := e.get(t, "/status")
			told = fmt.Sprintf("counted %d and %d; gauges %d and %d; status %d", waiting, active,
				e.gauge(t, "foyer_event_waiting"), e.gauge(t, "foyer_event_active"), s.number("waiting"))
			return told == fmt.Sprintf("counted %d and %d; gauges %d and %d; status %d", waiting, active, waiting, active, waiting)
		})
		t.Log(when+":", told)
	}
	equal("while turns run out")
	e.staff(t, "POST", "/pause", nil).want(t, http.StatusOK)
	each(len(all), func(i int) { all[i].join(t) })
	until(t, "all turns over", patience, func() bool { return e.gauge(t, "foyer_event_active") == 0 })
	each(len(all), func(i int) { all[i].join(t) })
	equal("while paused")
	if got := e.gauge(t, "foyer_event_waiting"); got != len(all) {
		t.Errorf("%d wait, want all %d", got, len(all))
	}
	h.kill()
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	equal("after a crash")
	if got := e.gauge(t, "foyer_event_waiting"); got != len(all) {
		t.Errorf("%d wait after the crash, want all %d", got, len(all))
	}
}
