package contract

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestPlanIsImmutableUnderItsVersionedAddress(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 3, nil)
	version := e.get(t, "/seats").text("planVersion")
	plain := e.get(t, "/plan").want(t, http.StatusOK)
	if got := plain.texts("zones", "name"); !slices.Equal(got, []string{"Stalls"}) {
		t.Errorf("zones %v, want Stalls", got)
	}
	e.get(t, "/plan", "If-None-Match", plain.header.Get("ETag")).want(t, http.StatusNotModified)
	a := e.get(t, "/plan?v="+version).want(t, http.StatusOK)
	if cc := a.header.Get("Cache-Control"); !strings.Contains(cc, "max-age=31536000") || !strings.Contains(cc, "immutable") {
		t.Errorf("Cache-Control %q, want a year and immutable", cc)
	}
	if a := e.get(t, "/plan?v=other"); a.status == http.StatusOK && strings.Contains(a.header.Get("Cache-Control"), "immutable") {
		t.Error("a version that does not exist is cacheable for a year")
	}
	before := a.body
	e.plan(t, rows(5)).want(t, http.StatusOK)
	if got := e.get(t, "/seats").text("states"); got != "AAAAA" {
		until(t, "five seats", patience, func() bool { return e.get(t, "/seats").text("states") == "AAAAA" })
	}
	if a := e.get(t, "/plan?v="+version); a.status == http.StatusOK && a.body != before && strings.Contains(a.header.Get("Cache-Control"), "immutable") {
		t.Error("an immutable address changed what it holds")
	}
}

func TestPlanForms(t *testing.T) {
	t.Parallel()
	pretix := `{"name":"Hall","categories":[{"name":"Stalls","color":"red"}],"size":{"width":100,"height":100},"zones":[{"name":"Z","zone_id":"z","position":{"x":0,"y":0},
	"rows":[{"row_number":"A","row_number_position":"both","position":{"x":1,"y":1},"seats":[{"seat_number":"1","seat_guid":"guid-1","uuid":"u1","position":{"x":0,"y":0},"category":"Stalls"},{"seat_number":"2","seat_guid":"guid-2","uuid":"u2","position":{"x":25,"y":0},"category":"Stalls"}]}],"areas":[]}]}`
	foyer := `{"name":"Town Hall","categories":[{"name":"Stalls","color":"#7a1f2b"}],"zones":[{"name":"Stalls","rows":[{"name":"A","seats":[{"id":"X 1","number":"12","category":"Stalls","x":10.5,"y":3,"accessible":true,"companion":false},{"id":"X 2","number":"13","category":"Stalls","x":11.5,"y":3}]}]}]}`
	for name, c := range map[string]struct {
		body, kind string
		ids        []string
	}{
		"CSV":               {"zone,row,seat,category\nS,A,1,Stalls\nS,A,2,Stalls\n", "text/csv", []string{"A-1", "A-2"}},
		"CSV with ids":      {"zone,row,seat,category,id,x,y,accessible,companion\nS,A,1,Stalls,one,1,2,true,false\nS,A,2,Stalls,,1.5,2,,\n", "text/csv", []string{"one", "A-2"}},
		"CSV, two zones":    {"zone,row,seat,category\nS,A,1,Stalls\nT,A,1,Stalls\n", "text/csv", []string{"S-A-1", "T-A-1"}},
		"CSV, BOM and CRLF": {"\ufeffZone , ROW,Seat,category\r\nS,A,1,Stalls\r\nS,A,2,Stalls\r\n", "text/csv", []string{"A-1", "A-2"}},
		"CSV, other order":  {"category,seat,row,zone\nStalls,1,A,S\nStalls,2,A,S\n", "text/csv; charset=utf-8", []string{"A-1", "A-2"}},
		"Foyer":             {foyer, "application/json", []string{"X 1", "X 2"}},
		"pretix":            {pretix, "application/json", []string{"guid-1", "guid-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := eventOf(t, shared, 0, nil)
			e.h.staff(t, "PUT", "/admin/events/"+e.id+"/plan?dryRun=1", c.body, "Content-Type", c.kind).want(t, http.StatusOK)
			if got := e.get(t, "/seats").text("states"); got != "" {
				t.Errorf("a dry run made seats %q", got)
			}
			a := e.h.staff(t, "PUT", "/admin/events/"+e.id+"/plan", c.body, "Content-Type", c.kind).want(t, http.StatusOK)
			if got := a.number("seats"); got != 2 {
				t.Errorf("%d seats, want 2", got)
			}
			o := e.buyer(t).holds(t, c.ids...)
			if o.total != 8500 {
				t.Errorf("total %d, want 8500", o.total)
			}
		})
	}
}

func TestBadPlanListsEveryProblemWithItsPlace(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 2, nil)
	a := e.plan(t, "zone,row,seat,category\nS,A,1,Stalls\nS,A,1,Stalls\nS,A,,Stalls\nS,A,3,\nS,A\n").refused(t, http.StatusUnprocessableEntity, "bad_plan")
	text := a.body
	for _, line := range []string{"3", "4", "5", "6"} {
		if !strings.Contains(text, "line "+line) {
			t.Errorf("line %s is not named in %s", line, text)
		}
	}
	var many strings.Builder
	many.WriteString("zone,row,seat,category\n")
	for range 500 {
		many.WriteString("S,A,,Stalls\n")
	}
	if got := len(e.plan(t, many.String()).refused(t, http.StatusUnprocessableEntity, "bad_plan").list("problems")); got != 100 {
		t.Errorf("%d problems listed, want 100 at most", got)
	}
	for _, body := range []string{"", "{", "[]", "null", "{}", "5", `{"zones":[]}`, `{"zones":5}`, `{"zones":[{"name":"Z","rows":[{"name":"A","seats":[{"id":"","category":"Stalls"}]}]}]}`, "zone,row\nS,A\n", "\xff\xd8\xff\xe0JFIF", strings.Repeat("x", 100000),
		`{"name":"x","categories":[{"name":"Stalls"}],"zones":[{"name":"Z","rows":[{"name":"A","seats":[{"id":"a","category":"Nowhere"},{"id":"a","category":"Stalls"}]}]}]}`, "zone,row,seat,category,zone\nS,A,1,Stalls,S\n"} {
		for _, kind := range []string{"text/csv", "application/json"} {
			e.h.staff(t, "PUT", "/admin/events/"+e.id+"/plan", body, "Content-Type", kind).problem(t)
		}
	}
	if got := e.get(t, "/seats").text("states"); got != "AA" {
		t.Errorf("after refused plans the seats are %q, want AA", got)
	}
}

func TestB151NewPlanMayDropOnlyFreeSeats(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 6, nil)
	e.buyer(t).holds(t, "A-5")
	sold := e.buyer(t).bought(t, "A-6")
	a := e.plan(t, rows(3)).refused(t, http.StatusConflict, "seats_in_use")
	got := a.texts("seats")
	slices.Sort(got)
	if !slices.Equal(got, []string{"A-5", "A-6"}) {
		t.Errorf("seats in use %v, want A-5 and A-6", got)
	}
	e.plan(t, "zone,row,seat,category\nStalls,A,5,Stalls\nStalls,A,6,Stalls\nStalls,A,7,Stalls\n").want(t, http.StatusOK)
	until(t, "states HSA", patience, func() bool { return e.get(t, "/seats").text("states") == "HSA" })
	if got := sold.get(t).text("seats", 0, "id"); got != "A-6" {
		t.Errorf("the sold order has seat %s, want A-6", got)
	}
}
