package sale_test

import (
	"context"
	"flag"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"foyer/sale"
)

// eveningSeed replays one evening: go test -run Evening -evening.seed=7, or
// FOYER_EVENING_SEED=7. Everything that people, the bank, the sinks and staff do
// follows from it; who comes first within one instant is up to the scheduler.
var eveningSeed = flag.Uint64("evening.seed", 0, "seed of the simulated evening; 0 takes a new one")

// bigEvening has a line that matters: about a turn in two seconds for thousands.
var bigEvening = eveningSize{
	visitors: map[string]int{simGala: 1600, simTwins: 800},
	rows:     map[string]int{simGala: 18, simTwins: 12},
	rules:    map[string][2]int{simGala: {3, 30}, simTwins: {2, 16}},
	length:   40 * time.Minute,
	restarts: map[time.Duration]string{9 * time.Minute: "orderly", 19 * time.Minute: "abrupt"},
	down:     [2]time.Duration{15 * time.Minute, 25 * time.Minute},
}

// smallEvening is enough for a planted fault to show.
var smallEvening = eveningSize{
	visitors: map[string]int{simGala: 140, simTwins: 70},
	rows:     map[string]int{simGala: 5, simTwins: 4},
	rules:    map[string][2]int{simGala: {2, 12}, simTwins: {2, 8}},
	length:   8 * time.Minute,
	restarts: map[time.Duration]string{3 * time.Minute: "orderly", 5 * time.Minute: "abrupt"},
	down:     [2]time.Duration{2 * time.Minute, 6 * time.Minute},
}

// tinyEvening is enough for most of them, nearly always.
var tinyEvening = eveningSize{
	visitors: map[string]int{simGala: 60, simTwins: 30},
	rows:     map[string]int{simGala: 3, simTwins: 2},
	rules:    map[string][2]int{simGala: {2, 8}, simTwins: {2, 6}},
	length:   5 * time.Minute,
	restarts: map[time.Duration]string{100 * time.Second: "orderly", 200 * time.Second: "abrupt"},
	down:     [2]time.Duration{80 * time.Second, 4 * time.Minute},
}

func seedOfTheEvening(t *testing.T) uint64 {
	t.Helper()
	seed := *eveningSeed
	if s := os.Getenv("FOYER_EVENING_SEED"); seed == 0 && s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("FOYER_EVENING_SEED: %v", err)
		}
	}
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000
	}
	t.Logf("seed %d; replay with -evening.seed=%d", seed, seed)
	return seed
}

func TestASimulatedEveningKeepsEveryInvariant(t *testing.T) {
	t.Parallel()
	wrong := runEvening(t, seedOfTheEvening(t), bigEvening, simFault{})
	for i, w := range wrong {
		if i == 30 {
			t.Errorf("and %d more", len(wrong)-i)
			break
		}
		t.Error(w)
	}
}

// patience is how many evenings may pass before a fault shows: in some of them
// nobody does what it spoils.
var patience = []eveningSize{tinyEvening, smallEvening, smallEvening, smallEvening, smallEvening, smallEvening}

func TestASimulatedEveningNoticesEveryPlantedFault(t *testing.T) {
	seed := seedOfTheEvening(t)
	for _, f := range simFaults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			for i, size := range patience {
				kinds := map[string]int{}
				for _, w := range runEvening(t, seed+uint64(i), size, f) {
					kind, _, _ := strings.Cut(w, ":")
					kinds[kind]++
				}
				t.Logf("reported %v", kinds)
				if kinds[f.want] > 0 {
					return
				}
			}
			t.Errorf("no check reported a violation of %s in %d evenings", f.want, len(patience))
		})
	}
}

// TestSmallSimulatedEveningsAreClean shows that what the planted faults cause is
// their own.
func TestSmallSimulatedEveningsAreClean(t *testing.T) {
	t.Parallel()
	seed := seedOfTheEvening(t)
	for _, size := range []eveningSize{tinyEvening, smallEvening} {
		for _, w := range runEvening(t, seed, size, simFault{}) {
			t.Error(w)
		}
	}
}

// runEvening plays one evening and returns all violations.
func runEvening(t *testing.T, seed uint64, size eveningSize, fault simFault) (wrong []string) {
	dir := t.TempDir()
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		e := newEvening(t, seed, size, fault, dir)
		wrong = e.play()
	})
	t.Logf("played in %s", time.Since(began).Round(time.Millisecond))
	return wrong
}

// play runs the evening until nobody is left, everything has lapsed and the
// outbox is empty.
func (e *evening) play() []string {
	e.house.Store(e.open())
	e.setUp()
	ticking, stopTicks := context.WithCancel(context.Background())
	stopWatch := make(chan struct{})
	for _, event := range []string{simGala, simTwins} {
		e.background.Go(func() { e.tick(ticking, event) })
		for i := range e.size.visitors[event] {
			e.visitors.Go(newSimVisitor(e, event, i).live)
		}
	}
	e.background.Go(func() { e.watch(stopWatch) })
	looking, stopLooking := context.WithCancel(context.Background())
	defer stopLooking()
	looked := make(chan struct{})
	go func() { defer close(looked); e.lookingUp(looking) }()
	e.visitors.Go(e.staff)
	for at, how := range e.size.restarts {
		e.visitors.Go(func() {
			time.Sleep(at)
			e.restart(how)
		})
	}
	e.visitors.Wait()
	e.bank.idle()               // late money comes
	time.Sleep(8 * time.Minute) // the last holds and turns lapse
	stopTicks()
	close(stopWatch)
	e.background.Wait()
	e.drain()
	stopLooking()
	<-looked
	h := e.house.Load()
	h.stop()
	<-h.stopped
	e.bank.idle() // a delivery may have sent somebody to the bank
	end := simGather(e, h.store)
	wrong := e.check(end)
	if e.size.visitors[simGala] >= bigEvening.visitors[simGala] {
		wrong = append(wrong, e.dull(end)...)
	}
	if err := h.store.Close(); err != nil {
		e.t.Errorf("the store does not close: %v", err)
	}
	return append(wrong, e.inspect()...)
}

// drain waits until every message is delivered and what the bank refuses is asked
// for again. Money of the wrong sum goes back after a day, and its retries may take
// another: after two hours a look every ten minutes is enough. What is left when the
// planted fault was seen need not go out.
func (e *evening) drain() {
	e.late.Store(true)
	for began := time.Now(); time.Since(began) < 72*time.Hour && !e.noticed(); {
		e.bank.idle()
		e.refundDesk()
		if left, err := e.house.Load().store.Messages("", 0, 1); err == nil && len(left) == 0 {
			return
		}
		pause := time.Minute
		if time.Since(began) > 2*time.Hour {
			pause = 10 * time.Minute
		}
		time.Sleep(pause)
	}
}

// noticed tells whether the planted fault was reported while the evening ran.
func (e *evening) noticed() bool {
	e.ledger.mu.Lock()
	defer e.ledger.mu.Unlock()
	return e.fault.want != "" && slices.ContainsFunc(e.ledger.seen, func(w string) bool { return strings.HasPrefix(w, e.fault.want+":") })
}

// countMoney counts what happened to money.
func (e *evening) countMoney(end simEnd, had map[string]int) {
	for _, o := range end.orders {
		if o.Sold() > 0 && len(o.Refunds) > 0 {
			had["refunded in part"]++
		}
	}
	for i := range e.ledger.acts {
		for _, rc := range e.ledger.acts[i].receipts {
			if strings.HasPrefix(rc.Fact.EventID, "look:") && rc.Outcome == "applied" {
				had["looked up"]++
			}
		}
	}
	had["lost events"], had["refunds refused"], had["refunds told later"], had["by console"] = e.bank.lost, e.bank.back.refused, e.bank.back.later, len(e.bank.back.consoled)
}

// dull tells what an evening lacked that it should have had: an evening in
// which nothing happens shows nothing.
func (e *evening) dull(end simEnd) (lacks []string) {
	had := map[string]int{}
	for _, o := range end.orders {
		had[string(o.Status)]++
	}
	for _, rc := range end.attention {
		had[rc.Attention]++
	}
	for _, c := range e.ledger.calls {
		if c.again {
			had["called again"]++
		}
	}
	for _, s := range e.sinks {
		ids := map[string]bool{}
		for _, d := range s.deliveries() {
			if ids[d.id] {
				had["copies of messages"]++
			}
			ids[d.id] = true
		}
		had["messages"] += len(ids)
	}
	e.ledger.replay(func(a *simAct, before *simHistory) {
		for _, step := range a.steps(before) {
			was, is := step[0], step[1]
			if was != nil && is.Status == sale.Paid && !was.Has(a.at) {
				had["paid after the deadline"]++
			}
		}
		for _, p := range a.places {
			if p.Turn.State != before.places[simKey(p)].Turn.State {
				had["turns "+string(p.Turn.State)]++
			}
		}
	})
	e.countMoney(end, had)
	had["joins"], had["acts"] = len(e.ledger.joined), len(e.ledger.acts)
	e.t.Logf("%v, tau %v", had, simTau(e.ledger))
	for _, what := range []string{
		"PAID", "EXPIRED", "CANCELLED", "REFUNDED", "refunded in part", "looked up", "refunds refused", "refunds told later", "by console", "unknown_order", "amount_mismatch", "surplus_payment", "called again",
		"copies of messages", "paid after the deadline", "turns ASIDE", "turns CONSUMED", "turns EXPIRED", "turns LEFT", "turns REVOKED",
	} {
		if had[what] == 0 {
			lacks = append(lacks, "dull: no "+what)
		}
	}
	return lacks
}
