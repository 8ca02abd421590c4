package web

import (
	"encoding/json"
	"strings"
	"testing"

	"foyer/outbox"
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
