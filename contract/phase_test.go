package contract

import (
	"net/http"
	"strconv"
	"testing"
	"time"
)

func TestLobbyOpensAtItsTimeInOrderOfArrival(t *testing.T) {
	t.Parallel()
	opens := time.Now().Add(3 * time.Second).UTC().Truncate(time.Millisecond)
	e := eventOf(t, shared, 4, object{"maxActive": 1}, object{"opensAt": opens.Format(time.RFC3339Nano)})
	var line []*person
	for range 3 {
		p := e.person(t)
		a := p.join(t).want(t, http.StatusCreated)
		if a.text("status") != "LOBBY" || !a.moment(t, "opensAt").Equal(opens) || a.header.Get("Retry-After") == "" || a.text("entryToken") != "" {
			t.Errorf("before the opening: %s, want LOBBY with opensAt and Retry-After, no token", a.body)
		}
		line = append(line, p)
	}
	if got := e.get(t, "/status").text("phase"); got != "LOBBY" {
		t.Errorf("phase %s, want LOBBY", got)
	}
	line[0].hold(t, "A-1").refused(t, http.StatusUnauthorized, "no_entry_token")
	for i, p := range line {
		a := p.ready(t, patience)
		if called := a.moment(t, "entryTokenExpiresAt").Add(-5 * time.Minute); called.Before(opens) {
			t.Errorf("called at %v, before the opening at %v", called, opens)
		}
		if a.number("number") != i+1 {
			t.Errorf("number %d, want %d", a.number("number"), i+1)
		}
		if i+1 < len(line) {
			if got := line[i+1].place(t).text("status"); got != "WAITING" {
				t.Errorf("the next in line is %s, want WAITING", got)
			}
		}
		p.leave(t)
	}
}

func TestStaffOpenALobbyEarly(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, nil, object{"opensAt": "2098-01-01T00:00:00Z"})
	p := e.joined(t)
	e.staff(t, "POST", "/open", nil).want(t, http.StatusOK)
	p.ready(t, patience)
}

func TestPauseResumeAnnounceClose(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, nil)
	inside := e.buyer(t)
	e.staff(t, "POST", "/pause", object{"message": "Five minutes' patience"}).want(t, http.StatusOK)
	waits := e.person(t)
	if got := waits.join(t).want(t, http.StatusCreated).text("status"); got != "WAITING" {
		t.Errorf("during a pause a join is %s, want WAITING", got)
	}
	until(t, "PAUSED with its message in the status", patience, func() bool {
		a := e.get(t, "/status")
		return a.text("phase") == "PAUSED" && a.text("message") == "Five minutes' patience" && a.number("waiting") == 1
	})
	inside.holds(t, "A-1") // who is inside may go on
	if got := waits.place(t).text("status"); got != "WAITING" {
		t.Errorf("after more than a tick of pause: %s, want WAITING", got)
	}
	e.staff(t, "POST", "/resume", nil).want(t, http.StatusOK)
	waits.ready(t, patience)
	e.staff(t, "POST", "/announce", object{"message": "Bring <ID> & \"ticket\""}).want(t, http.StatusOK)
	until(t, "the announcement", patience, func() bool { return e.get(t, "/status").text("message") == "Bring <ID> & \"ticket\"" })
	e.staff(t, "POST", "/close", object{"message": "That was it"}).want(t, http.StatusOK)
	e.person(t).join(t).refused(t, http.StatusForbidden, "event_closed")
	until(t, "CLOSED", patience, func() bool { return e.get(t, "/status").text("phase") == "CLOSED" })
	e.staff(t, "POST", "/announce", object{"message": 5}).problem(t)
	e.staff(t, "POST", "/announce", object{"text": "x"}).problem(t).want(t, http.StatusBadRequest)
}

func TestEventThatHasClosedTakesNobody(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, nil, object{"opensAt": "2020-01-01T00:00:00Z", "closesAt": "2020-01-02T00:00:00Z"})
	e.person(t).join(t).refused(t, http.StatusForbidden, "event_closed")
	if got := e.get(t, "/status").text("phase"); got != "CLOSED" {
		t.Errorf("phase %s, want CLOSED", got)
	}
}

func TestB25HeldHouseIsNotSoldOutASoldOneIs(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 2, nil)
	p := e.buyer(t)
	waits := e.buyer(t)
	o := p.holds(t, "A-1", "A-2")
	e.count(t, "held", 2)
	e.person(t).join(t).want(t, http.StatusCreated)
	a := e.get(t, "/status")
	if a.text("phase") != "OPEN" || a.at("soldOut") != false || a.number("seatsLeft") != 2 {
		t.Errorf("all held: status %s, want OPEN, 2 seats left, not sold out", a.body)
	}
	waits.hold(t, "A-1").refused(t, http.StatusConflict, "seats_taken")
	o.confirm(t, "k", o.money()).want(t, http.StatusOK)
	e.person(t).join(t).refused(t, http.StatusGone, "sold_out")
	until(t, "SOLD_OUT", patience, func() bool {
		a := e.get(t, "/status")
		return a.text("phase") == "SOLD_OUT" && a.at("soldOut") == true && a.number("seatsLeft") == 0
	})
}

func TestFullLineIsSaidWithRetryAfter(t *testing.T) {
	t.Parallel()
	e, _ := queue(t, object{"maxWaiting": 2})
	in := e.joined(t)
	e.joined(t)
	a := e.person(t).join(t).refused(t, http.StatusServiceUnavailable, "line_full")
	if after, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || after < 1 || a.number("retryAfterSeconds") != after {
		t.Errorf("Retry-After %q, retryAfterSeconds %d; want the same seconds", a.header.Get("Retry-After"), a.number("retryAfterSeconds"))
	}
	in.join(t).want(t, http.StatusOK)
	in.leave(t)
	e.person(t).join(t).want(t, http.StatusCreated)
}

func TestLineAlwaysAndOff(t *testing.T) {
	t.Parallel()
	always := eventOf(t, shared, 4, nil, object{"line": "always"})
	p := always.person(t)
	if got := p.join(t).text("status"); got != "WAITING" {
		t.Errorf("line always: first answer %s, want WAITING", got)
	}
	p.ready(t, patience)
	off := eventOf(t, shared, 4, nil, object{"line": "off"})
	if got := off.person(t).join(t).text("status"); got != "READY" {
		t.Errorf("line off: first answer %s, want READY", got)
	}
}
