package contract

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestEventTakesItsDefaultsAndKeepsItsRules(t *testing.T) {
	t.Parallel()
	id := fmt.Sprintf("e-%d", events.Add(1))
	a := shared.staff(t, "POST", "/admin/events", object{"id": id, "name": "Gala", "timeZone": "Europe/Berlin", "currency": "EUR"}).want(t, http.StatusCreated)
	for rule, want := range map[string]int{"admitPerSecond": 50, "maxActive": 500, "turnSeconds": 300, "pickupSeconds": 60, "returnSeconds": 600,
		"holdSeconds": 300, "paySeconds": 240, "payMarginSeconds": 60, "maxSeatsPerOrder": 4} {
		if got := a.number("rules", rule); got != want {
			t.Errorf("%s is %d, want %d", rule, got, want)
		}
	}
	if a.text("order") != "fifo" || a.text("line") != "auto" {
		t.Errorf("order %s, line %s; want fifo, auto", a.text("order"), a.text("line"))
	}
	shared.staff(t, "PATCH", "/admin/events/"+id, object{"rules": object{"maxActive": 7}, "prices": object{"Stalls": 100}}).want(t, http.StatusOK)
	b := shared.staff(t, "PATCH", "/admin/events/"+id, object{"rules": object{"holdSeconds": 9}, "prices": object{"Balcony": 50}}).want(t, http.StatusOK)
	if b.number("rules", "maxActive") != 7 || b.number("rules", "holdSeconds") != 9 || b.number("rules", "turnSeconds") != 300 ||
		b.number("prices", "Stalls", "amount") != 100 || b.number("prices", "Balcony", "amount") != 50 || b.text("name") != "Gala" {
		t.Errorf("after two PATCHes %s, want rules and prices merged", b.body)
	}
	shared.staff(t, "POST", "/admin/events", object{"id": id, "name": "Again", "timeZone": "Europe/Berlin", "currency": "EUR"}).problem(t).want(t, http.StatusConflict)
	shared.staff(t, "DELETE", "/admin/events/"+id, nil).want(t, http.StatusNoContent)
	shared.call(t, "GET", "/api/v1/events/"+id, nil).refused(t, http.StatusNotFound, "no_such_event")
}

func TestB102BadEventsAreRefused(t *testing.T) {
	t.Parallel()
	good := func() object {
		return object{"id": fmt.Sprintf("e-%d", events.Add(1)), "name": "Gala", "timeZone": "Europe/Berlin", "currency": "EUR"}
	}
	for _, c := range []struct {
		member string
		values []any
	}{
		{"id", []any{"", "UPPER", "a b", "ä", strings.Repeat("x", 65), "../x", 5, nil}},
		{"name", []any{"", 5, "A\u0000B", strings.Repeat("n", 10000)}},
		{"timeZone", []any{"Mars/Olympus", "", "../../etc/passwd", 5}},
		{"currency", []any{"", "EURO", "XXQ", "eur", 5}},
		{"startsAt", []any{"soon", "2027-13-01T00:00:00Z", 5}},
		{"opensAt", []any{"2027-01-01", "x"}},
		{"order", []any{"lifo", 5}},
		{"line", []any{"never", true}},
		{"providers", []any{[]string{"nobody"}, "demo", []any{5}}},
		{"prices", []any{object{"Stalls": -1}, object{"Stalls": 1.5}, object{"Stalls": "5"}, object{"Stalls": 1e300}, []any{}, object{"": 5}, object{"S": object{"amount": 5}}}},
		{"rules", []any{object{"turnSeconds": 1}, object{"pickupSeconds": 1}, object{"holdSeconds": 1}, object{"paySeconds": 0}, object{"payMarginSeconds": 0}, object{"admitPerSecond": 5001},
			object{"admitPerSecond": 0}, object{"maxActive": 20001}, object{"maxActive": 0}, object{"maxSeatsPerOrder": 0}, object{"maxSeatsPerOrder": -4}, object{"maxWaiting": -1}, object{"turnSeconds": 1.5},
			object{"turnSeconds": "300"}, object{"turnSeconds": 1e18}, object{"holdSeconds": 9e15}, object{"buyer": "maybe"}, object{"speed": 5}, []any{}, 5}},
		{"surprise", []any{1}},
	} {
		for _, v := range c.values {
			body := good()
			body[c.member] = v
			a := shared.staff(t, "POST", "/admin/events", body)
			if a.status < 400 || a.status > 499 {
				t.Errorf("%s = %v: got %d, want a refusal", c.member, v, a.status)
				continue
			}
			a.problem(t)
		}
	}
	for _, rules := range []object{{"turnSeconds": 2, "pickupSeconds": 2, "holdSeconds": 2, "paySeconds": 1, "payMarginSeconds": 1}, {"admitPerSecond": 5000, "maxActive": 20000}} {
		body := good()
		body["rules"] = rules
		shared.staff(t, "POST", "/admin/events", body).want(t, http.StatusCreated)
	}
}

func TestB105TextsOfEveryScriptComeBackByteForByte(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Gala \U0001F469\u200d\U0001F469\u200d\U0001F467", "e\u0301 and \u00e9", "\u202eesrever", "\u200bzero\u200d", "\U00020000\U00020001", "<b>\"O'Brien\" & co</b>",
		"{{.}}", "'; DROP TABLE--", "=1+1", "שלום مرحبا", "%s %d %n", "a\\b", "\u2028line\u2029"} {
		id := fmt.Sprintf("e-%d", events.Add(1))
		a := shared.staff(t, "POST", "/admin/events", object{"id": id, "name": name, "venue": name, "timeZone": "UTC", "currency": "EUR"})
		if a.status != http.StatusCreated {
			a.problem(t) // refused by a rule that it names
			continue
		}
		b := shared.call(t, "GET", "/api/v1/events/"+id, nil).want(t, http.StatusOK)
		if b.text("name") != name || b.text("venue") != name {
			t.Errorf("name %q came back as %q, %q", name, b.text("name"), b.text("venue"))
		}
		if page := shared.call(t, "GET", "/events/"+id, nil, "Accept", "text/html"); page.status >= 500 || strings.Contains(page.body, "<b>\"O'") {
			t.Errorf("the page of %q: %d, or its name as markup", name, page.status)
		}
	}
	for _, raw := range []string{`"a\ud800b"`, `"\udc00"`, `"a\u0000b"`, `"a\nb"`, `"a\u001bb"`, "\"\xff\xfe\"", "\"\xed\xa0\x80\"", "\"\xc0\xaf\""} {
		body := fmt.Sprintf(`{"id":"e-%d","name":%s,"timeZone":"UTC","currency":"EUR"}`, events.Add(1), raw)
		shared.staff(t, "POST", "/admin/events", body).problem(t)
	}
}

func TestB105TextOfEveryFieldIsKeptOrRefusedByARule(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 1, nil)
	o := e.buyer(t).holds(t, "A-1")
	o.pays(t)
	for _, text := range []string{"\U0001F469\u200d\U0001F52C", "e\u0301", "\u00e9", "\u202eesrever", "zero\u200bwidth", "\U00020000", "\u200f\u05d0", "'\"<&>", "\u0000", "\u0007", "a\nb", "\u009f", "\ufffe", " ", strings.Repeat("\u00e9", 300)} {
		fields := map[string]func() (sent answer, read func() string){
			"announcement": func() (answer, func() string) {
				return e.staff(t, "POST", "/announce", object{"message": text}), func() string { return e.staff(t, "GET", "", nil).text("message") }
			},
			"venue": func() (answer, func() string) {
				return e.staff(t, "PATCH", "", object{"venue": text}), func() string { return e.staff(t, "GET", "", nil).text("venue") }
			},
			"key's name": func() (answer, func() string) {
				a := shared.staff(t, "POST", "/admin/keys", object{"role": "door", "name": text})
				return a, func() string { return a.text("name") }
			},
			"price's category": func() (answer, func() string) {
				return e.staff(t, "PATCH", "", object{"prices": object{text: 5}}), func() string {
					if prices, _ := e.staff(t, "GET", "", nil).at("prices").(map[string]any); prices[text] != nil {
						return text
					}
					return "no such category"
				}
			},
			"buyer's name": func() (answer, func() string) {
				q := eventOf(t, shared, 1, nil).buyer(t).holds(t, "A-1")
				return q.call(t, "POST", q.path("/pay"), object{"provider": "demo", "name": text}), func() string { return q.get(t).text("buyer", "name") }
			},
			"seat's id": func() (answer, func() string) {
				f := eventOf(t, shared, 0, nil)
				plan := object{"categories": []object{{"name": "Stalls"}}, "zones": []object{{"name": "Z", "rows": []object{{"name": "A", "seats": []object{{"id": text, "number": "1", "category": "Stalls"}}}}}}}
				return f.h.staff(t, "PUT", "/admin/events/"+f.id+"/plan", plan), func() string { return f.buyer(t).hold(t, text).text("seats", 0, "id") }
			},
		}
		for name, field := range fields {
			sent, read := field()
			if sent.status >= 400 {
				sent.problem(t)
			} else if got := read(); got != text {
				t.Errorf("%s %q came back as %q", name, text, got)
			}
		}
	}
	if got := o.get(t).text("status"); got != "PAYING" {
		t.Errorf("order %s, want PAYING", got)
	}
}

func TestB150PriceOfAHoldIsThePriceAtTheHold(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 4, nil)
	o := e.buyer(t).holds(t, "A-1")
	e.staff(t, "PATCH", "", object{"prices": object{"Stalls": 9900}}).want(t, http.StatusOK)
	if got := o.get(t).number("total", "amount"); got != 4250 {
		t.Errorf("total %d after the price rose, want 4250", got)
	}
	o.confirm(t, "k", o.money()).want(t, http.StatusOK)
	if got := e.buyer(t).holds(t, "A-2").total; got != 9900 {
		t.Errorf("a new hold costs %d, want 9900", got)
	}
	if a := e.staff(t, "PATCH", "", object{"currency": "USD"}); a.status < 400 {
		t.Errorf("the currency changed under an order: %d", a.status)
	}
	e.staff(t, "DELETE", "", nil).problem(t).want(t, http.StatusConflict)
}

func TestPerformancesWithOpenDeadlinesStillRead(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 2, nil, object{"opensAt": nil, "closesAt": nil})
	a := e.get(t, "").want(t, http.StatusOK)
	for _, member := range []string{"name", "venue", "startsAt", "timeZone", "currency", "rules", "phase"} {
		if a.at(member) == nil {
			t.Errorf("the event lacks %s: %s", member, a.body)
		}
	}
	e.staff(t, "PATCH", "", object{"startsAt": "2027-03-01T20:00:00+01:00"}).want(t, http.StatusOK)
	if got := e.get(t, "").text("startsAt"); got != "2027-03-01T19:00:00.000Z" {
		t.Errorf("startsAt %s, want UTC with milliseconds", got)
	}
}
