package crash

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// counts is how often things happened.
type counts struct {
	mu sync.Mutex
	of map[string]int
}

func (c *counts) add(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[what] += n
}

func (c *counts) get(what string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[what]
}

// count books a call.
func (r *rig) count(act string, a *answer) {
	switch {
	case a.unsent:
		return
	case !a.known():
		r.counts.add("unanswered", 1)
	case a.status >= 500:
		r.counts.add("unavailable", 1)
	default:
		r.counts.add("answered", 1)
		r.counts.add(act, 1)
		if a.status/100 == 2 {
			r.counts.add(act+" 2xx", 1)
		}
	}
}

// report says what the run was like, and fails it when it was not what it had
// to be.
func (r *rig) report() {
	rate := float64(r.served) / r.lived.Seconds()
	var edgesHit []string
	for _, e := range edges {
		edgesHit = append(edgesHit, fmt.Sprintf("%s %d", e, r.hits[e]))
	}
	r.t.Logf("%d kills in %v; %.0f requests/s over %v of life; %d unanswered", r.kills,
		time.Since(r.clock.zero).Round(time.Second), rate, r.lived.Round(time.Second), r.counts.get("unanswered"))
	r.t.Logf("edges: %s", strings.Join(edgesHit, ", "))
	r.t.Logf("acts: %v", r.counts.of)
	r.t.Logf("ledger: %d places, %d orders, %d payments, %d messages and %d copies", len(r.ledger.places), len(r.ledger.orders), len(r.ledger.money), len(r.sink.byID), r.sink.copies)
	all, lanes, calls := r.tasks.numbers()
	r.t.Logf("tasks: %d in %d lanes, %d calls; %d times a slot outlived the program that booked it", all, lanes, calls, r.tasks.kept)
	r.t.Logf("clocks: the program's was %v behind this one at most, and %v before it", r.ledger.behind, r.ledger.before)
	if max(r.ledger.behind, r.ledger.before) > slack {
		r.ledger.fault("time", "the program's clock is further from the machine's than %v", slack)
	}
	for _, f := range r.ledger.faults {
		r.t.Errorf("seed %d: %s", r.seed, f)
	}
	if r.ledger.many > 0 {
		r.t.Errorf("and %d more", r.ledger.many)
	}
	if !r.t.Failed() {
		r.proves(rate)
	}
}

// proves fails a run without faults that proves too little.
func (r *rig) proves(rate float64) {
	if rate < leastPer {
		r.t.Errorf("the load was %.0f requests/s, want %d at least: the run proves too little; give the machine some rest", rate, leastPer)
	}
	if r.kills < *killsFlag {
		r.t.Errorf("%d kills, want %d", r.kills, *killsFlag)
	}
	for _, act := range []string{"join", "poll", "hold", "order", "release", "cancel", "leave", "pay", "webhook", "confirm", "task",
		"join with a code", "token/claim", "token/release", "token/consume", "token/verify"} {
		if r.counts.get(act+" 2xx") < *killsFlag/2 {
			r.t.Errorf("%s succeeded %d times; the run proves too little", act, r.counts.get(act+" 2xx"))
		}
	}
	if r.tasks.kept < *killsFlag/14 {
		r.t.Errorf("%d times a slot outlived the program that booked it; the run proves too little", r.tasks.kept)
	}
	for _, what := range []string{"unanswered", "seats_taken", "code_used", "turn_in_use", "token CONSUMED", "token EXPIRED", "order EXPIRED", "order REFUNDED", "order CANCELLED", "order PAID", "attention"} {
		if r.counts.get(what) == 0 {
			r.t.Errorf("no %s in the whole run; the run proves too little", what)
		}
	}
	for _, e := range edges {
		if r.hits[e] == 0 && *killsFlag >= shortKills {
			r.t.Errorf("the edge %q was never hit", e)
		}
	}
}
