package crash

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

const price = 4250 // minor units

// event is one sale with the rules that its ledger needs.
type event struct {
	id                                   string
	seats, perSecond, active             int
	turn, hold, pay, margin, seatsAtOnce int // seconds, seats
	line                                 string
	shop                                 bool // it has no seats: a shop with orders of its own claims its turns
	invited                              bool // nobody gets a place without a code
	presale                              bool // it opens long after the run, and members are called before
}

// path is an address of the event.
func (e *event) path(rest string) string { return "/api/v1/events/" + e.id + rest }

// roomy has a seat for everybody, and turns that never end by themselves.
func roomy(seats int) *event {
	return &event{id: "roomy", seats: seats, perSecond: 500, active: 400, turn: 3600, hold: 4, pay: 2, margin: 1, seatsAtOnce: 4, line: "auto"}
}

// tiny is fought over: few seats, short turns, shorter holds.
func tiny(n int) *event {
	return &event{id: fmt.Sprintf("tiny-%d", n), seats: 14, perSecond: 20, active: 8, turn: 6, hold: 2, pay: 1, margin: 1, seatsAtOnce: 3, line: "always"}
}

// long is a line that is joined faster than it moves.
func long() *event {
	return &event{id: "long", seats: 10, perSecond: 2, active: 1000, turn: 7200, hold: 60, pay: 60, margin: 1, seatsAtOnce: 2, line: "always"}
}

// club lets nobody in without a code, and its turns are a shop's.
func club() *event {
	return &event{id: "club", perSecond: 60, active: 30, turn: 6, hold: 3, pay: 1, margin: 1, seatsAtOnce: 1, line: "always", shop: true, invited: true}
}

// early is before its opening: members have their turns, the public waits.
func early() *event {
	return &event{id: "early", perSecond: 60, active: 20, turn: 5, hold: 6, pay: 1, margin: 1, seatsAtOnce: 1, line: "always", shop: true, presale: true}
}

// open makes the event, or finds it made by a try that was not answered.
func (e *event) open(r *rig) bool {
	staff := []string{"Authorization", "Bearer " + adminKey}
	doc := object{
		"id": e.id, "name": e.id, "timeZone": "UTC", "currency": "EUR", "line": e.line, "prices": object{"Stalls": price}, "providers": []string{"demo", "shop"},
		"rules": object{"admitPerSecond": e.perSecond, "maxActive": e.active, "turnSeconds": e.turn, "pickupSeconds": e.turn, "holdSeconds": e.hold,
			"paySeconds": e.pay, "payMarginSeconds": e.margin, "maxSeatsPerOrder": e.seatsAtOnce},
	}
	if e.invited {
		doc["access"] = "code"
	}
	if e.presale {
		doc["presaleAt"], doc["opensAt"] = time.Now().UTC().Add(-time.Hour), time.Now().UTC().Add(1000*time.Hour)
	}
	a, _ := r.insist(func() *answer { return r.call("staff", "POST", "/api/v1/admin/events", doc, staff...) })
	if a.status != http.StatusCreated && a.code() != "event_exists" {
		r.ledger.fault("answer", "event %s: %d %s", e.id, a.status, a.body)
		return false
	}
	if e.shop {
		return true
	}
	var csv strings.Builder
	csv.WriteString("zone,row,seat,category\n")
	for i := range e.seats {
		fmt.Fprintf(&csv, "Stalls,A,%d,Stalls\n", i+1)
	}
	a, _ = r.insist(func() *answer {
		return r.call("staff", "PUT", "/api/v1/admin/events/"+e.id+"/plan", []byte(csv.String()), append(staff, "Content-Type", "text/csv")...)
	})
	if a.status != http.StatusOK {
		r.ledger.fault("answer", "plan of %s: %d %s", e.id, a.status, a.body)
	}
	return a.status == http.StatusOK
}

// choose picks seats, most often few.
func (e *event) choose(rng *rand.Rand) (seats []string) {
	n := 1 + rng.IntN(e.seatsAtOnce)
	first := rng.IntN(e.seats)
	if e.seats < 20 && rng.IntN(2) == 0 {
		first = rng.IntN(3) // the best of a small house
	}
	for i := range n {
		seats = append(seats, fmt.Sprintf("A-%d", (first+i)%e.seats+1))
	}
	return seats
}
