package web

import (
	"errors"
	"strings"
	"testing"

	"foyer/sale"
)

func TestStaffSeeThatTheFileWasNotSound(t *testing.T) {
	found := []sale.Finding{{Code: "I2", What: "seat <A-1> is claimed twice"}, {Code: "I4", What: "more"}}
	h := newHouse(t, func(c *Config) { c.Findings = found })
	b := h.browser()
	b.post("/admin/login", "key", adminKey).want(303)
	b.get("/admin").want(200).says("was not sound when Foyer opened it", "2 findings", "seat &lt;A-1&gt; is claimed twice", "foyer check").silent("<A-1>")
	if body := string(h.staff("GET", "/metrics", "").want(200).Body); !strings.Contains(body, "\nfoyer_check_findings 2\n") {
		t.Error("the metrics do not tell")
	}
	sound := newHouse(t)
	b = sound.browser()
	b.post("/admin/login", "key", adminKey).want(303)
	b.get("/admin").want(200).silent("was not sound")
	if body := string(sound.staff("GET", "/metrics", "").want(200).Body); !strings.Contains(body, "\nfoyer_check_findings 0\n") {
		t.Error("the metrics of a sound file tell something else")
	}
}

func TestB85StaffSeeThatNothingCanBeWritten(t *testing.T) {
	h := newHouse(t)
	b := h.browser()
	b.post("/admin/login", "key", adminKey).want(303)
	b.get("/admin").want(200).silent("takes no writes")
	h.server.conf.Ready = func() error { return errors.New("no space left <here>") }
	b.get("/admin").want(200).says("takes no writes at present: no space left &lt;here&gt;").silent("<here>")
	h.server.conf.Ready = func() error { return nil }
	b.get("/admin").want(200).silent("takes no writes")
}
