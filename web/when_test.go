package web

import (
	"regexp"
	"testing"
	"time"
)

// otherStyles are times as people write them elsewhere.
var otherStyles = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d|\d (Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec),? \d{4}|(Jan|Dec)[a-z]* \d{1,2}, \d{4}|\d [AP]M\b`)

func TestEveryPageWritesTimesInOneStyle(t *testing.T) {
	h := newHouse(t)
	b := h.clerk("admin")
	pages := h.evening()
	h.codes("gala", `{"count":1,"class":"member","expiresAt":"`+h.clock.now().Add(time.Hour).UTC().Format(time.RFC3339)+`"}`)
	h.staff("PATCH", "/api/v1/admin/events/matinee", `{"opensAt":"2026-12-24T09:00:00Z"}`)
	for _, path := range []string{"/", "/events/gala", "/events/matinee", "/events/gala/line"} {
		pages = append(pages, staffPageAt{path, path})
	}
	for _, p := range pages {
		if found := otherStyles.FindAll(b.get(p.path).Body, 5); found != nil {
			t.Errorf("%s: %q", p.name, found)
		}
	}
	b.get("/admin/orders").says("Tue 1 December 2026, 20:")
	b.get("/admin/events/gala/house").says("Tue 1 December 2026, 20:")
	for _, other := range []string{"2026-12-01 19:00", "Tue 1 Dec 2026", "Dec 2, 2026", "at 5:00 AM"} {
		if !otherStyles.MatchString(other) {
			t.Errorf("%q would not be noticed", other)
		}
	}
}
