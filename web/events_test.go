package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"foyer/sale"
	"foyer/static"
)

func TestTheStatusDocumentIsSharedAndHasAnETag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		defer func() { _ = h.store.Close() }()
		h.event("gala")
		const path = "/api/v1/events/gala/status"
		a := h.do("GET", path, "").want(200)
		if got := a.fields(); got != "active chance frontier message pace page phase pickupSeconds rates seatsLeft serverTime soldOut waiting" {
			t.Errorf("got fields %s", got)
		}
		if a.text("phase") != "OPEN" || a.field("seatsLeft") != 6.0 || a.field("soldOut") != false || a.field("pace") != 50.0 {
			t.Errorf("got %s", a.Body)
		}
		if got := a.Header.Get("Cache-Control"); got != "public, max-age=1, s-maxage=1, stale-while-revalidate=5" {
			t.Errorf("got Cache-Control %q", got)
		}
		if a.Header.Get("Set-Cookie") != "" || a.Header.Get("Vary") != "" {
			t.Error("a shared document depends on who asks")
		}
		etag := a.Header.Get("ETag")
		for _, match := range []string{etag, "W/" + etag, `"x", ` + etag, "*"} {
			if b := h.do("GET", path, "", "If-None-Match", match).want(304); len(b.Body) > 0 || b.Header.Get("ETag") != etag {
				t.Errorf("%s: got a body or another ETag", match)
			}
		}
		h.do("GET", path, "", "If-None-Match", `"x"`).want(200)
		h.clock.pass(time.Millisecond)
		if b := h.do("GET", path, ""); b.Header.Get("ETag") != etag {
			t.Error("rendered again within a second without a change")
		}
		time.Sleep(sheetAge) // in the bubble, at once
		if b := h.do("GET", path, ""); b.Header.Get("ETag") == etag {
			t.Error("not rendered again after a second")
		}
	})
}

func TestWhoJustActedSeesIt(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	const path = "/api/v1/events/gala/seats"
	if got := h.do("GET", path, "").want(200).text("states"); got != "AAAAAA" {
		t.Fatalf("got %s", got)
	}
	h.held("gala", `["A-2","A-3"]`)
	a := h.do("GET", path, "").want(200)
	if a.text("states") != "AHHAAA" || a.field("counts.available") != 4.0 || a.field("counts.held") != 2.0 || a.field("counts.sold") != 0.0 || a.field("counts.offSale") != 0.0 {
		t.Errorf("got %s", a.Body)
	}
	if a.fields() != "asOf counts planVersion states" {
		t.Errorf("got fields %s", a.fields())
	}
}

func TestRenderingIsBoundedUnderAStormOfChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changed := make(chan struct{})
		close(changed)
		rendered := 0
		slot := &sheetSlot{}
		for range 10_000 { // a change before each of 10 000 requests in 10 s; rendering takes 10 ms
			if d := slot.now.Load(); d == nil || !d.fresh(time.Now()) {
				if _, err := slot.next("gala", func(string) <-chan struct{} { return changed }, func() (*sheet, error) {
					rendered++
					time.Sleep(10 * time.Millisecond)
					return newSheet([]byte("{}"), nil), nil
				}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Millisecond)
		}
		if rendered > 70 { // 50 ms at once, then 5 % of 10 s
			t.Errorf("rendered %d times", rendered)
		}
		if rendered < 10 {
			t.Errorf("rendered only %d times in 10 s", rendered)
		}
	})
}

func TestThePlanIsImmutableUnderItsVersion(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	version := h.do("GET", "/api/v1/events/gala", "").want(200).text("planVersion")
	a := h.do("GET", "/api/v1/events/gala/plan?v="+version, "").want(200)
	if got := a.Header.Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
		t.Errorf("got Cache-Control %q", got)
	}
	if a.text("zones.0.rows.0.seats.0.id") != "A-1" {
		t.Errorf("got %s", a.Body)
	}
	for _, path := range []string{"", "?v=old", "?v=", "?x=" + version} {
		b := h.do("GET", "/api/v1/events/gala/plan"+path, "").want(200)
		if got := b.Header.Get("Cache-Control"); got != "public, no-cache" || b.Header.Get("ETag") != `"`+version+`"` {
			t.Errorf("%s: got Cache-Control %q, ETag %s", path, got, b.Header.Get("ETag"))
		}
	}
	h.do("GET", "/api/v1/events/gala/plan", "", "If-None-Match", `"`+version+`"`).want(304)
	h.staff("PUT", "/api/v1/admin/events/gala/plan", strings.ReplaceAll(smallPlan, "A-6", "A-7")).want(200)
	if b := h.do("GET", "/api/v1/events/gala/plan?v="+version, ""); b.Header.Get("ETag") == `"`+version+`"` || b.Header.Get("Cache-Control") != "public, no-cache" {
		t.Error("the old version's address is kept for a year")
	}
}

func TestPublicEventsShowMoneyAndTimes(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"startsAt":"2027-03-01T20:00:00+01:00"`, `"venue":"Hall"`)
	a := h.do("GET", "/api/v1/events", "").want(200)
	for path, want := range map[string]any{
		"next": nil, "items.0.id": "gala", "items.0.name": "Gala", "items.0.venue": "Hall", "items.0.startsAt": "2027-03-01T19:00:00.000Z",
		"items.0.opensAt": nil, "items.0.prices.Stalls.amount": 4250.0, "items.0.prices.Stalls.currency": "EUR",
		"items.0.rules.maxSeatsPerOrder": 4.0, "items.0.phase": "OPEN", "items.0.timeZone": "UTC",
	} {
		if got := a.field(path); got != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
	if strings.Contains(string(a.Body), "ordinal") {
		t.Errorf("inner fields are shown: %s", a.Body)
	}
	if a := newHouse(t).do("GET", "/api/v1/events", ""); string(a.Body) != `{"items":[],"next":null}` {
		t.Errorf("got %s", a.Body)
	}
}

func TestARemovedEventIsGoneEverywhere(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	for _, path := range []string{"", "/status", "/seats", "/plan"} {
		h.do("GET", "/api/v1/events/gala"+path, "").want(200)
	}
	h.staff("DELETE", "/api/v1/admin/events/gala", "").want(204)
	for _, path := range []string{"", "/status", "/seats", "/plan"} {
		h.do("GET", "/api/v1/events/gala"+path, "").refused(404, "no_such_event")
	}
	for _, s := range []*sheets{&h.server.statuses, &h.server.houses} {
		s.byEvent.Range(func(any, any) bool { t.Error("its documents are kept"); return false })
	}
}

// Names that clients make up must leave no trace in memory.
func TestUnknownEventsAreNotWatched(t *testing.T) {
	var s sheets
	watched := func(string) <-chan struct{} { t.Error("watched"); return nil }
	if _, err := s.find("none", func() error { return sale.ErrNoSuchEvent }, watched, nil); err != sale.ErrNoSuchEvent {
		t.Errorf("got %v", err)
	}
	s.byEvent.Range(func(any, any) bool { t.Error("kept"); return false })
}

func TestPlanAndSeatsArePackedForThoseWhoTakeIt(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	var csv strings.Builder
	csv.WriteString("zone,row,seat,category\n")
	for s := range 300 {
		fmt.Fprintf(&csv, "Stalls,A,%d,Stalls\n", s)
	}
	h.staff("PUT", "/api/v1/admin/events/gala/plan", csv.String(), "Content-Type", "text/csv").want(200)
	for _, path := range []string{"/api/v1/events/gala/plan", "/api/v1/events/gala/seats"} {
		plain := h.do("GET", path, "").want(200)
		packed := h.do("GET", path, "", "Accept-Encoding", "gzip").want(200)
		for _, a := range []*answer{plain, packed} {
			if a.Header.Get("Vary") != "Accept-Encoding" || a.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s: got headers %v", path, a.Header)
			}
		}
		if plain.Header.Get("Content-Encoding") != "" || packed.Header.Get("Content-Encoding") != "gzip" || len(packed.Body) > len(plain.Body)/2 {
			t.Fatalf("%s: %d bytes of %d, headers %v", path, len(packed.Body), len(plain.Body), packed.Header)
		}
		z, err := gzip.NewReader(bytes.NewReader(packed.Body))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, plain.Body) {
			t.Errorf("%s: the packed document is another, %v", path, err)
		}
		// A cache that has one coding must not be told that it may show it as the other.
		tag, tagZ := plain.Header.Get("ETag"), packed.Header.Get("ETag")
		if tag == tagZ {
			t.Errorf("%s: two codings have one strong ETag", path)
		}
		for _, c := range []struct {
			takes, has string
			status     int
		}{{"", tag, 304}, {"gzip", tagZ, 304}, {"", tagZ, 200}, {"gzip", tag, 200}, {"gzip", tag + ", " + tagZ, 304}} {
			a := h.do("GET", path, "", "Accept-Encoding", c.takes, "If-None-Match", c.has).want(c.status)
			if c.status == 304 && (len(a.Body) > 0 || a.Header.Get("Vary") != "Accept-Encoding" || a.Header.Get("Content-Encoding") != "") {
				t.Errorf("%s: 304 with %d bytes and headers %v", path, len(a.Body), a.Header)
			}
		}
	}
}

// Pages and the API look at one picture of the house: a thousand people who load
// the page of a big house must not paint it a thousand times.
func TestSeatsPageSharesThePictureOfTheHouse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		defer func() { _ = h.store.Close() }()
		h.event("gala")
		b := h.browser()
		b.turn("gala")
		b.get("/events/gala/seats").want(200)
		found, _ := h.server.houses.byEvent.Load("gala")
		slot, ok := found.(*sheetSlot)
		if !ok {
			t.Fatal("the page painted a picture of its own")
		}
		first := slot.now.Load()
		b.get("/events/gala/seats").want(200)
		h.do("GET", "/api/v1/events/gala/seats", "").want(200)
		if slot.now.Load() != first {
			t.Error("painted again within a second without a change")
		}
		time.Sleep(sheetAge) // in the bubble, at once
		b.get("/events/gala/seats").want(200)
		if slot.now.Load() == first {
			t.Error("the page shows a picture more than a second old")
		}
	})
}

// Two plans of the same size are two plans.
func TestSeatsPageNamesThePlanItShows(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	b := h.browser()
	b.turn("gala")
	e, _, _ := h.office.Event("gala")
	b.get("/events/gala/seats").want(200).says(`data-version="` + e.PlanVersion + `"`)
	found, _ := h.server.houses.byEvent.Load("gala")
	slot := found.(*sheetSlot)
	old := *slot.now.Load()
	old.changed, old.at = nil, time.Now().Add(time.Hour) // a picture that is shown although a new plan has come
	h.staff("PUT", "/api/v1/admin/events/gala/plan", strings.ReplaceAll(smallPlan, "A-6", "A-7")).want(200)
	slot.now.Store(&old)
	b.get("/events/gala/seats").want(503)
	script, err := static.Files.ReadFile("seats.js")
	if err != nil || bytes.Count(script, []byte("house.planVersion !== conf.version")) != 2 || bytes.Contains(script, []byte("states.length")) {
		t.Errorf("seats.js does not compare versions, %v", err)
	}
}
