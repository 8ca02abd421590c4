package web

import (
	"strings"
	"testing"
	"time"
)

func TestTheShopsWordLowersThePaceThatEverybodySees(t *testing.T) {
	h := newHouse(t)
	h.event("gala", `"rules":{"control":"auto","admitPerSecond":40}`)
	shop := []string{"Authorization", "Bearer " + h.key("shop")}
	const path = "/api/v1/events/gala/health"
	tick := func() {
		h.clock.pass(time.Second)
		if _, err := h.office.Tick("gala", time.Second); err != nil {
			t.Fatal(err)
		}
	}
	tick()
	if a := h.do("POST", path, `{"requests":100,"failures":100,"latencyMillis":80}`, shop...).want(200); a.field("pace") != 40.0 {
		t.Errorf("got %s", a.Body)
	}
	tick()
	if a := h.do("POST", path, `{"requests":0}`, shop...).want(200); a.field("pace") != 20.0 || a.text("paceReason") != "the shop fails or is slow" {
		t.Errorf("got %s", a.Body)
	}
	if a := h.do("GET", "/api/v1/events/gala/status", "").want(200); a.field("pace") != 20.0 || a.text("paceReason") == "" {
		t.Errorf("got %s", a.Body)
	}
	b := h.browser()
	b.post("/admin/login", "key", adminKey)
	b.get("/admin/events/gala").says(`data-n="slowed">Lowered to`, ">20<", "the shop fails or is slow", `value="40"`)
	if a := string(b.get("/admin").Body); !strings.Contains(a, "pace.lower") {
		t.Error("the audit does not tell")
	}

	for _, body := range []string{"", "{}", `{"requests":-1}`, `{"requests":1,"failures":2}`, `{"requests":1,"failures":-1}`, `{"requests":1,"latencyMillis":-1}`, `{"requests":2000000000}`, `{"requests":1,"latencyMillis":1000000000000}`} {
		h.do("POST", path, body, shop...).refused(422, "bad_field")
	}
	h.do("POST", path, `{"requests":1,"more":1}`, shop...).refused(400, "unknown_field")
	h.do("POST", path, `{"requests":1}`).refused(401, "no_key")
	h.do("POST", path, `{"requests":1}`, "Authorization", "Bearer "+h.key("door")).refused(403, "wrong_role")
	h.do("POST", "/api/v1/events/nothing/health", `{"requests":1}`, shop...).refused(404, "no_such_event")
}

func TestStaffLetThePaceSteerItself(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	b := h.browser()
	b.post("/admin/login", "key", adminKey)
	b.get("/admin/events/gala").says(`name="control"`, `data-n="slowed" hidden>Lowered to`)
	b.follow(b.post("/admin/events/gala/pace", "admitPerSecond", "30", "maxActive", "90", "control", "auto")).says("The pace was set.", `name="control" value="auto" checked`)
	b.follow(b.post("/admin/events/gala/pace", "admitPerSecond", "30", "maxActive", "90")).silent(`name="control" value="auto" checked`)
	h.staff("PATCH", "/api/v1/admin/events/gala", `{"rules":{"control":"sometimes"}}`).refused(422, "bad_event")
}
