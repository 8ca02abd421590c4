package crash

import (
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	workers  = 48   // visitors at a time
	leastPer = 300  // answered requests per second of life that a run must have had
	aimPer   = 1500 // above this the visitors take their time
)

// rig is one run: the house, those who use it, and what they were told.
type rig struct {
	t        *testing.T
	seed     uint64
	clock    clock
	house    *house
	ledger   *ledger
	sink     *sink
	provider *provider
	tasks    *tasks

	mu     sync.Mutex
	up     chan struct{} // closed while the house is open
	events []*event      // all so far
	deaths []moment      // of each life, by its number

	life    atomic.Int64
	busy    atomic.Bool // the load is high enough
	stop    atomic.Bool // no visitors any more
	broken  atomic.Bool // the run is over, whatever is under way
	counts  counts
	lived   time.Duration // with the load on
	served  int           // calls answered meanwhile
	kills   int
	hits    map[string]int // edges at which the program ended or was stopped
	lastAsk moment         // when the audit last asked for all orders
}

// waitUp returns when the house is open.
func (r *rig) waitUp() {
	r.mu.Lock()
	up := r.up
	r.mu.Unlock()
	<-up
}

func (r *rig) over() bool { return r.broken.Load() }

func (r *rig) ending() bool { return r.stop.Load() }

func (r *rig) shutDoor() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.up = make(chan struct{})
}

func (r *rig) openDoor() {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.up: // open already
	default:
		close(r.up)
	}
}

// deathOf is the end of a life: what was not answered in it can take effect
// until then.
func (r *rig) deathOf(life int) moment {
	r.mu.Lock()
	defer r.mu.Unlock()
	if life < len(r.deaths) {
		return r.deaths[life]
	}
	return never
}

// TestB78WhatWasAcknowledgedSurvivesEveryKill is the rig. By default it kills 28
// times; -crash.kills=1000 is the long form.
func TestB78WhatWasAcknowledgedSurvivesEveryKill(t *testing.T) {
	r := &rig{t: t, seed: seed(), clock: clock{time.Now()}, ledger: newLedger(), up: make(chan struct{}), hits: map[string]int{},
		counts: counts{of: map[string]int{}}}
	t.Logf("seed %d; the same choices again: go test ./crash -run B78 -crash.seed=%d -crash.kills=%d", r.seed, r.seed, *killsFlag)
	r.sink = newSink(r.seed)
	defer r.sink.server.Close()
	r.house = &house{dir: filepath.Join(t.TempDir(), "data"), addr: freePort(), sink: r.sink.server.URL}
	defer r.house.kill()
	r.provider, r.tasks = &provider{r: r}, newTasks(r)
	defer r.tasks.server.Close()
	if err := r.house.start(""); err != nil {
		t.Fatal(err)
	}
	r.openDoor()
	r.newEvent(roomy(3000 + 60*(*killsFlag)))
	r.newEvent(long())
	r.newEvent(club())
	r.newEvent(early())
	r.newEvent(tiny(0))
	if len(r.events) < 5 {
		t.Fatal(r.ledger.faults)
	}

	r.tasks.start()
	var crowd sync.WaitGroup
	for i := range workers {
		crowd.Go(func() { r.work(rand.New(rand.NewPCG(r.seed, uint64(i)))) })
	}
	r.blows(plan(rand.New(rand.NewPCG(r.seed, 1000)), *killsFlag))
	r.stop.Store(true)
	if r.ledger.broken() {
		r.broken.Store(true)
		r.openDoor() // whoever waits shall go home
	}
	crowd.Wait()
	r.tasks.wait.Wait()
	r.provider.tasks.Wait()
	if !r.over() {
		r.reckon()
		r.checkModels()
	}
	r.report()
}

// newEvent opens an event and lets visitors find it.
func (r *rig) newEvent(e *event) {
	if !e.open(r) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// work is one visitor after the other.
func (r *rig) work(rng *rand.Rand) {
	for !r.ending() {
		r.mu.Lock()
		e := r.events[0]
		switch n := rng.IntN(10); {
		case n < 4:
			e = r.events[len(r.events)-1] // the newest tiny one
		case n < 7:
			e = r.events[n-3] // those where somebody only waits, or shows a code
		}
		r.mu.Unlock()
		v := &visitor{r: r, rng: rng, event: e}
		v.evening()
	}
}
