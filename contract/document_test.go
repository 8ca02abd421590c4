package contract

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestStatusAndSeatsAreCacheableForASecondWithAnETag(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, nil)
	for _, rest := range []string{"/status", "/seats"} {
		a := e.get(t, rest).want(t, http.StatusOK)
		cc, etag := a.header.Get("Cache-Control"), a.header.Get("ETag")
		if !strings.Contains(cc, "public") || !strings.Contains(cc, "max-age=1") || etag == "" {
			t.Errorf("%s: Cache-Control %q, ETag %q; want public, max-age=1 and an ETag", rest, cc, etag)
		}
		if a.header.Get("Set-Cookie") != "" {
			t.Errorf("%s sets a cookie though it is public", rest)
		}
		until(t, "304 for the ETag just seen of "+rest, patience, func() bool {
			b := e.get(t, rest, "If-None-Match", e.get(t, rest).header.Get("ETag"))
			return b.status == http.StatusNotModified && b.body == ""
		})
		e.get(t, rest, "If-None-Match", `"other"`).want(t, http.StatusOK)
		if head := e.h.call(t, "HEAD", e.path(rest), nil).want(t, http.StatusOK); head.body != "" {
			t.Errorf("HEAD %s has a body", rest)
		}
	}
	p := e.buyer(t)
	p.holds(t, "A-2")
	q := e.buyer(t)
	q.bought(t, "A-4")
	until(t, "states AHAS", patience, func() bool { return e.get(t, "/seats").text("states") == "AHAS" })
	a := e.get(t, "/seats")
	for state, want := range map[string]int{"available": 2, "held": 1, "sold": 1, "offSale": 0} {
		if got := a.number("counts", state); got != want {
			t.Errorf("%d %s, want %d", got, state, want)
		}
	}
	a.moment(t, "asOf")
	s := e.get(t, "/status")
	for _, member := range []string{"phase", "frontier", "pace", "waiting", "seatsLeft", "soldOut", "message", "serverTime"} {
		if s.at(member) == nil {
			t.Errorf("the status document lacks %s: %s", member, s.body)
		}
	}
	if got := s.number("frontier"); got != 3 {
		t.Errorf("frontier %d, want 3: everybody with a smaller number has been called", got)
	}
}

func TestUnknownEventIs404Everywhere(t *testing.T) {
	t.Parallel()
	_, c := shared.visitor(t)
	for _, id := range []string{"nowhere", "UPPER", strings.Repeat("x", 65), "%00", "%2e%2e", "%F0%9F%8E%AD", "a%2fb", "a%5cb", "..%2f..%2fetc"} {
		for _, rest := range []string{"", "/status", "/seats", "/plan", "/queue"} {
			a := shared.call(t, "GET", "/api/v1/events/"+id+rest, nil, "X-Visitor", c).problem(t)
			if a.status != http.StatusNotFound && a.status != http.StatusBadRequest {
				t.Errorf("%s%s: got %d, want 404", id, rest, a.status)
			}
		}
	}
	shared.call(t, "GET", "/api/v1/events/nowhere", nil).refused(t, http.StatusNotFound, "no_such_event")
	shared.call(t, "POST", "/api/v1/events/nowhere/queue", nil, "X-Visitor", c).refused(t, http.StatusNotFound, "no_such_event")
	shared.staff(t, "POST", "/admin/events/nowhere/pause", nil).refused(t, http.StatusNotFound, "no_such_event")
}

func TestListsAreCursorPages(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "--rate-limit", "0")
	e := eventOf(t, h, 130, nil)
	for i, p := range e.buyers(t, 120) {
		p.bought(t, fmt.Sprintf("A-%d", i+1))
	}
	for range 60 {
		eventOf(t, h, 0, nil)
	}
	for list, want := range map[string]int{"/admin/orders?query=": 120, "/admin/orders?limit=7": 120, "/admin/audit?": 0, "/admin/events?": 61, "/events?": 61} {
		seen, pages := map[string]bool{}, 0
		for cursor := ""; ; pages++ {
			a := h.staff(t, "GET", list+"&cursor="+cursor, nil).want(t, http.StatusOK)
			for _, item := range a.list("items") {
				o, _ := item.(map[string]any)
				id := fmt.Sprint(o["id"], o["orderId"], o["seq"])
				if seen[id] {
					t.Errorf("%s: twice in the pages: %s", list, id)
				}
				seen[id] = true
			}
			next, has := a.at("next").(string)
			if !has {
				break
			}
			if cursor = next; pages > 100 {
				t.Fatal("pages without end")
			}
		}
		if want > 0 && len(seen) != want {
			t.Errorf("%s: %d items on %d pages, want all %d", list, len(seen), pages+1, want)
		}
		if pages == 0 && !strings.Contains(list, "events") {
			t.Errorf("%s: %d items on one page", list, len(seen))
		}
	}
	for _, odd := range []string{"cursor=nonsense", "cursor=%00", "limit=0", "limit=-1", "limit=x", "limit=99999999999999999999"} {
		if a := h.staff(t, "GET", "/admin/orders?"+odd, nil); a.status >= 500 {
			t.Errorf("%s: got %d, want no 5xx", odd, a.status)
		}
	}
	if a := h.call(t, "GET", "/api/v1/events", nil).want(t, http.StatusOK); a.at("items") == nil {
		t.Errorf("events %s, want items and next", a.body)
	}
}
