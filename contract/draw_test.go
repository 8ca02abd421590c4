package contract

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// lot is what a place draws under a seed.
func lot(seed []byte, queueID string) string {
	m := hmac.New(sha256.New, seed)
	m.Write([]byte(queueID))
	return string(m.Sum(nil))
}

func TestDrawIsAnnouncedHeldAndProved(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 10, object{"maxActive": 1}, object{"order": "draw", "line": "always", "opensAt": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
	var lobby []*person
	for range 30 {
		p := e.person(t)
		a := p.join(t).want(t, http.StatusCreated)
		if a.text("status") != "LOBBY" || a.at("number") != nil || a.at("rank") != nil || len(a.text("draw", "commitment")) != 64 || a.at("draw", "seed") != nil {
			t.Fatalf("in the lobby the place is %s", a.body)
		}
		lobby = append(lobby, p)
	}
	status := shared.call(t, "GET", e.path("/status"), nil).want(t, http.StatusOK)
	commitment := status.text("draw", "commitment")
	if status.text("phase") != "LOBBY" || status.at("draw", "seed") != nil {
		t.Errorf("the status is %s", status.body)
	}
	shared.call(t, "GET", e.path("/draw/entries"), nil).refused(t, http.StatusConflict, "not_drawn")
	quitter := lobby[3]
	quitter.call(t, "DELETE", e.path("/queue/"+quitter.queueId), nil).want(t, http.StatusNoContent)
	lobby = slices.Delete(lobby, 3, 4)

	shared.staff(t, "POST", "/admin/events/"+e.id+"/open", nil).want(t, http.StatusOK)
	until(t, "the draw", patience, func() bool {
		status = shared.call(t, "GET", e.path("/status"), nil)
		return status.at("draw", "seed") != nil
	})
	seed, err := hex.DecodeString(status.text("draw", "seed"))
	if sum := sha256.Sum256(seed); err != nil || len(seed) != 32 || hex.EncodeToString(sum[:]) != commitment || status.text("draw", "commitment") != commitment {
		t.Errorf("the seed %x does not fit the commitment %s", seed, commitment)
	}
	if late := e.person(t).join(t); late.number("number") <= 30 {
		t.Errorf("who comes later has number %d", late.number("number"))
	}
	slices.SortFunc(lobby, func(a, b *person) int { return strings.Compare(lot(seed, a.queueId), lot(seed, b.queueId)) })
	want := ""
	for i, p := range lobby {
		want += p.queueId + "\n"
		if a := p.place(t); a.number("number") != i+1 || a.text("queueId") != p.queueId || a.text("draw", "seed") != hex.EncodeToString(seed) {
			t.Errorf("lot %d has the place %s", i+1, a.body)
		}
	}
	list := shared.call(t, "GET", e.path("/draw/entries"), nil).want(t, http.StatusOK)
	if list.body != want {
		t.Errorf("the list of entries is\n%s\nwant\n%s", list.body, want)
	}
	sum := sha256.Sum256([]byte(list.body))
	if doc := shared.call(t, "GET", e.path("/draw"), nil).want(t, http.StatusOK); doc.text("digest") != hex.EncodeToString(sum[:]) || doc.number("entries") != 29 {
		t.Errorf("the draw is %s", doc.body)
	}
	if a := lobby[0].place(t); a.text("status") != "READY" {
		t.Errorf("number 1 is %s", a.text("status"))
	}
}

// Killed at any moment around the draw, it was held or it was not; once a number
// was told it stays.
func TestKillInTheDrawLosesNoNumber(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "--rate-limit", "0")
	for round := range 6 {
		e := eventOf(t, h, 10, object{"maxActive": 1}, object{"order": "draw", "line": "always", "opensAt": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
		lobby := make([]*person, 300)
		for i := range lobby {
			lobby[i] = e.person(t)
		}
		each(len(lobby), func(i int) { lobby[i].join(t).want(t, http.StatusCreated) })
		told := map[string]int{}
		h.staff(t, "POST", "/admin/events/"+e.id+"/open", nil).want(t, http.StatusOK)
		for until := time.Now().Add(time.Duration(round) * 250 * time.Millisecond); time.Now().Before(until); {
			p := lobby[len(told)%len(lobby)]
			if a := p.place(t); a.at("number") != nil {
				told[p.queueId] = a.number("number")
			}
		}
		h.kill()
		if err := h.start(); err != nil {
			t.Fatal(err)
		}
		var status answer
		until(t, "the draw", patience, func() bool {
			status = h.call(t, "GET", e.path("/status"), nil)
			return status.at("draw", "seed") != nil
		})
		seed, _ := hex.DecodeString(status.text("draw", "seed"))
		slices.SortFunc(lobby, func(a, b *person) int { return strings.Compare(lot(seed, a.queueId), lot(seed, b.queueId)) })
		for i, p := range lobby {
			a := p.place(t)
			if a.number("number") != i+1 || told[p.queueId] != 0 && told[p.queueId] != i+1 {
				t.Fatalf("round %d: lot %d has the place %s; before the kill it was told number %d", round, i+1, a.body, told[p.queueId])
			}
		}
	}
}
