package web

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"foyer/outbox"
	"foyer/sale"
)

// deadMessage makes the message of a paid order one that nobody took.
func (h *house) deadMessage() (id string) {
	h.t.Helper()
	h.event("gala")
	_, order := h.held("gala", `["A-1"]`)
	h.staff("POST", "/api/v1/orders/"+order+"/confirm", `{"amount":4250,"currency":"EUR"}`, "Idempotency-Key", "k").want(200)
	waiting, err := h.office.Messages(outbox.Waiting, 0, 9)
	if err != nil || len(waiting) != 1 {
		h.t.Fatalf("%d messages wait, %v; want 1", len(waiting), err)
	}
	err = h.store.Settle([]outbox.Outcome{{Seq: waiting[0].Seq, State: outbox.Dead, Attempts: 7, LastError: "500 Internal Server Error"}})
	if err != nil {
		h.t.Fatal(err)
	}
	return waiting[0].ID
}

func TestDeadMessageIsShownTriedAgainAndDropped(t *testing.T) {
	h := newHouse(t)
	id := h.deadMessage()
	type item struct {
		ID, Topic, LastError string
		Attempts             int
	}
	list := func(state string) []item {
		t.Helper()
		var page struct{ Items []item }
		a := h.staff("GET", "/api/v1/admin/outbox?state="+state, "").want(200)
		if strings.Contains(string(a.Body), "secret") {
			t.Errorf("the list tells a secret: %s", a.Body)
		}
		if err := json.Unmarshal(a.Body, &page); err != nil {
			t.Fatal(err)
		}
		return page.Items
	}
	if got := list("dead"); len(got) != 1 || got[0].ID != id || got[0].Attempts != 7 || got[0].LastError == "" || got[0].Topic != "order.paid" {
		t.Errorf("dead messages are %+v", got)
	}
	h.staff("POST", "/api/v1/admin/outbox/"+id+"/retry", "").want(204)
	if dead, waiting := list("dead"), list("waiting"); len(dead) != 0 || len(waiting) != 1 || waiting[0].Attempts != 0 {
		t.Errorf("after the retry %+v are dead and %+v wait", dead, waiting)
	}
	h.staff("POST", "/api/v1/admin/outbox/"+id+"/drop", "{}").want(204)
	h.staff("POST", "/api/v1/admin/outbox/"+id+"/drop", "").refused(404, "no_such_message")
	if got := list(""); len(got) != 0 {
		t.Errorf("after the drop there are %+v", got)
	}
	h.staff("GET", "/api/v1/admin/outbox?state=lost", "").refused(400, "bad_request")
	h.do("POST", "/api/v1/admin/outbox/"+id+"/drop", "").refused(401, "no_key")
}

func TestStaffDecideAboutDeadMessagesOnTheirPage(t *testing.T) {
	h := newHouse(t)
	id := h.deadMessage()
	b := h.browser()
	b.post("/admin/login", "key", adminKey).want(303)
	b.get("/admin").want(200).says("Messages that nobody took (1)", "https://shop.example/hook", "500 Internal Server Error")
	b.post("/admin/outbox/"+id, "act", "retry").want(303)
	if dead, err := h.office.Messages(outbox.Dead, 0, 9); err != nil || len(dead) != 0 {
		t.Errorf("%d messages are dead after the retry, %v", len(dead), err)
	}
	b.get("/admin?done=retry").want(200).says("The message is tried again.")
}

// many makes n dead messages.
func (h *house) many(n int) {
	h.t.Helper()
	err := h.store.Update(func(tx sale.Tx) error {
		for range n {
			tx.Send(outbox.Message{
				ID: tx.NewID().String(), Topic: "test", Key: "k", Sink: "https://shop.example/hook?key=secret", CreatedAt: tx.Now(), Body: []byte("{}"),
				State: outbox.Dead, Attempts: 9, LastError: "500",
			})
		}
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

func TestMessageIsShownWithItsBodyAndNoSecret(t *testing.T) {
	h := newHouse(t)
	id := h.deadMessage()
	a := h.staff("GET", "/api/v1/admin/outbox/"+id, "").want(200)
	for path, want := range map[string]any{
		"id": id, "topic": "order.paid", "copies.0.state": "DEAD", "copies.0.attempts": 7.0, "copies.0.lastError": "500 Internal Server Error",
		"copies.0.running": false, "copies.0.sink": "https://shop.example/hook?...", "copies.1": nil, "body.id": id, "body.data.status": "PAID",
		"copies.0.position": nil, "copies.0.nextAt": nil, "serverTime": "2026-12-01T19:00:00.000Z",
	} {
		if got := a.field(path); got != want {
			t.Errorf("%s is %v, want %v: %s", path, got, want, a.Body)
		}
	}
	if strings.Contains(string(a.Body), "secret") {
		t.Errorf("it tells a secret: %s", a.Body)
	}
	h.staff("POST", "/api/v1/admin/outbox/"+id+"/retry", "").want(204)
	if a := h.staff("GET", "/api/v1/admin/outbox/"+id, "").want(200); a.text("copies.0.state") != "WAITING" || a.field("copies.0.position") != 0.0 {
		t.Errorf("after the retry: %s", a.Body)
	}
	h.staff("GET", "/api/v1/admin/outbox/none", "").refused(404, "no_such_message")
	h.do("GET", "/api/v1/admin/outbox/"+id, "").refused(401, "no_key")
	h.do("GET", "/api/v1/admin/outbox/"+id, "", "Authorization", "Bearer "+h.key("shop")).refused(403, "wrong_role")
}

// B57: every dead message is tried again or given up by one request, or by age.
func TestB57AllDeadMessagesAreDecidedAtOnce(t *testing.T) {
	h := newHouse(t)
	h.many(3)
	h.clock.pass(time.Hour)
	h.many(2)
	old := `{"state":"dead","before":"2026-12-01T19:30:00Z"}`
	for _, c := range []struct {
		body, code string
		status     int
	}{
		{"", "bad_field", 422}, {"{}", "bad_field", 422}, {`{"state":"waiting"}`, "bad_field", 422}, {`{"state":"dead","cursor":"x"}`, "bad_cursor", 400}, {`{"state":"dead","cursor":"0"}`, "bad_cursor", 400}, {`{"state":"dead","cursor":"18446744073709551615"}`, "bad_cursor", 400},
		{`{"state":"dead","before":"soon"}`, "bad_field", 422}, {`{"state":"dead","all":true}`, "unknown_field", 400},
	} {
		h.staff("POST", "/api/v1/admin/outbox/drop", c.body).refused(c.status, c.code)
		h.staff("POST", "/api/v1/admin/outbox/retry", c.body).refused(c.status, c.code)
	}
	h.do("POST", "/api/v1/admin/outbox/drop", old, "Authorization", "Bearer "+h.key("shop")).refused(403, "wrong_role")
	if a := h.staff("POST", "/api/v1/admin/outbox/drop", old).want(200); string(a.Body) != `{"count":3,"next":null}` {
		t.Errorf("drop: %s", a.Body)
	}
	if a := h.staff("POST", "/api/v1/admin/outbox/retry", `{"state":"dead"}`).want(200); string(a.Body) != `{"count":2,"next":null}` {
		t.Errorf("retry: %s", a.Body)
	}
	if a := h.staff("GET", "/api/v1/admin/outbox?state=waiting", "").want(200); a.field("items.1") == nil || a.field("items.2") != nil {
		t.Errorf("afterwards there wait %s", a.Body)
	}
	if a := h.staff("GET", "/api/v1/admin/audit", "").want(200); a.text("items.0.act") != "message.retry_all" || a.text("items.1.act") != "message.drop_all" {
		t.Errorf("the audit: %s", a.Body)
	}
}

func TestB57ManyDeadMessagesAreDecidedPartByPart(t *testing.T) {
	h := newHouse(t)
	h.many(10_001)
	a := h.staff("POST", "/api/v1/admin/outbox/drop", `{"state":"dead"}`).want(200)
	if a.field("count") != 10_000.0 || a.text("next") == "" {
		t.Fatalf("the first part: %s", a.Body)
	}
	a = h.staff("POST", "/api/v1/admin/outbox/drop", `{"state":"dead","cursor":"`+a.text("next")+`"}`).want(200)
	if string(a.Body) != `{"count":1,"next":null}` {
		t.Errorf("the second part: %s", a.Body)
	}
}

func TestDeadMessageNeedsAttention(t *testing.T) {
	h := newHouse(t)
	id := h.deadMessage()
	h.clock.pass(time.Hour)
	h.do("POST", "/api/v1/payments/demo/webhook", `{"id":"e","type":"payment.succeeded","paymentId":"p","orderId":"none","amount":1,"currency":"EUR"}`, "Signature", "right")
	if a := h.staff("GET", "/api/v1/admin/attention", "").want(200); a.text("items.0.kind") != "dead_message" || a.text("items.1.kind") != "payment" {
		t.Errorf("the list is not oldest first: %s", a.Body)
	}
	h.many(150)
	a := h.staff("GET", "/api/v1/admin/attention", "").want(200)
	for path, want := range map[string]any{
		"items.0.kind": "dead_message", "items.0.id": "message-" + id, "items.0.messageId": id, "items.0.topic": "order.paid", "items.0.attempts": 7.0, "items.0.lastError": "500 Internal Server Error",
		"items.0.sink": "https://shop.example/hook?...", "items.0.since": "2026-12-01T19:00:00.000Z", "items.0.reason": deadReason, "next": nil,
	} {
		if got := a.field(path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	if n := strings.Count(string(a.Body), `"dead_message"`); n != attentionDead {
		t.Errorf("%d dead messages on the list, want at most %d", n, attentionDead)
	}
}

func TestStaffDecideAboutAllDeadMessagesOnTheirPage(t *testing.T) {
	h := newHouse(t)
	h.many(3)
	dead := func() int {
		t.Helper()
		list, err := h.office.Messages(outbox.Dead, 0, 9)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	b := h.browser()
	b.post("/admin/outbox", "act", "drop", "sure", "yes").want(303) // nobody is logged in
	b.post("/admin/login", "key", adminKey).want(303)
	b.get("/admin").want(200).says("Try all again", "Give all up", "the messages below need you").silent("secret", "Nothing. All money")
	b.post("/admin/outbox", "act", "drop").want(422).says("Tick the box first. No message was given up.")
	if n := dead(); n != 3 {
		t.Errorf("%d are dead, want 3", n)
	}
	b.post("/admin/outbox", "act", "retry").want(303)
	if n := dead(); n != 0 {
		t.Errorf("%d are dead after all were tried again", n)
	}
	h.many(2)
	b.post("/admin/outbox", "act", "drop", "sure", "yes").want(303)
	if n := dead(); n != 0 {
		t.Errorf("%d are dead after all were given up", n)
	}
	if a := h.staff("GET", "/api/v1/admin/outbox", "").want(200); a.field("items.2") == nil || a.field("items.3") != nil {
		t.Errorf("the 3 that are tried again must wait: %s", a.Body)
	}
	b.get("/admin?done=dropall").want(200).says("The messages were given up.").silent("Messages that nobody took", "Lanes that do not go on")
}

// idle is a sink that is never called.
type idle struct{}

func (idle) Deliver(context.Context, outbox.Message) error { return nil }

func TestStaffSeeLanesThatDoNotGoOnAndMetricsCountThem(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	_, order := h.held("gala", `["A-1"]`)
	h.staff("POST", "/api/v1/orders/"+order+"/confirm", `{"amount":4250,"currency":"EUR"}`, "Idempotency-Key", "k").want(200)
	relay := outbox.NewRelay(outbox.Config{Book: h.store, Now: h.clock.now, Sinks: map[string]outbox.Sink{
		"https://x.example/in?key=secret": idle{}, "https://x.example/in?key=other": idle{},
	}})
	relay.SetRule("quiet", &outbox.Rule{Paused: true})
	waiting, err := h.store.Messages("", 0, 9)
	if err != nil || len(waiting) != 1 {
		t.Fatalf("%d messages wait, %v", len(waiting), err)
	}
	relay.Offer(append(waiting, outbox.Message{Seq: 900, Key: "quiet", Sink: "https://x.example/in?key=secret"}))
	h.office = sale.New(sale.Config{Store: h.store, Secret: h.store.Secret(), Lanes: relay})
	h.server = New(Config{Office: h.office, Secret: h.store.Secret(), Metrics: true, Messages: relay.Stats, Sinks: relay.Sinks})
	b := h.browser()
	b.post("/admin/login", "key", adminKey).want(303)
	b.get("/admin").want(200).says("Lanes that do not go on (2)", "Its sink is not configured.", "order:"+order, "It is paused.", "quiet").silent("secret")
	body := string(h.staff("GET", "/metrics", "").want(200).Body)
	for _, line := range []string{
		"foyer_outbox_paused_lanes 1", "foyer_outbox_blocked_lanes 1",
		`foyer_outbox_sink_down{sink="https://x.example/in?..."} 0`, `foyer_outbox_sink_stopped{sink="https://x.example/in?..."} 0`,
	} {
		if !strings.Contains(body, "\n"+line+"\n") {
			t.Errorf("no %s", line)
		}
	}
}

// Names of sinks are shown without their secrets, so that two may look the same. The metrics must be readable all the same.
func TestMetricsOfSinksThatLookTheSameAreOne(t *testing.T) {
	h := newHouse(t, func(c *Config) {
		c.Sinks = func() []outbox.SinkState {
			return []outbox.SinkState{{Name: "a?..."}, {Name: "a?...", Down: true}, {Name: "a?..."}, {Name: "b", Stopped: true}}
		}
	})
	body := string(h.staff("GET", "/metrics", "").want(200).Body)
	for _, line := range []string{
		`foyer_outbox_sink_down{sink="a?..."} 1`, `foyer_outbox_sink_stopped{sink="a?..."} 0`, `foyer_outbox_sink_down{sink="b"} 0`, `foyer_outbox_sink_stopped{sink="b"} 1`,
	} {
		if !strings.Contains(body, "\n"+line+"\n") {
			t.Errorf("no %s", line)
		}
	}
}
