package crash

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"
)

// blow is how one life of the program ends.
type blow struct {
	name string
	// failpoint is passed to the program, which then ends by itself, or is
	// stopped at the edge; empty for a blow from outside.
	failpoint string
	after     time.Duration // of load before a blow from outside
	pause     time.Duration // SIGSTOP for so long first
	goesOn    bool          // and then SIGCONT and more load before the end
	polite    bool          // SIGTERM
}

// edges are the points of a commit and of a message (store/edge.go).
var edges = []string{"taken", "decided", "written", "committed", "applied", "offered", "answered", "deliver", "delivered", "settled"}

// plan makes n blows that kill: every edge at least once when n is edges and
// fourteen, and the rest at random moments. Some more that do not kill are
// strewn in.
func plan(rng *rand.Rand, n int) (all []blow) {
	at := func(edge, action string) blow {
		pass := 15 + rng.IntN(150)
		if slices.Contains(edges[5:], edge) && edge != "answered" { // of messages: there are fewer
			pass = 3 + rng.IntN(30)
		}
		b := blow{name: "edge " + edge, failpoint: fmt.Sprintf("%s:%d", edge, pass), after: 3 * time.Second}
		if action != "" {
			b.name += " " + action
			b.failpoint += ":" + action
		}
		return b
	}
	ms := func(from, to int) time.Duration { return time.Duration(from+rng.IntN(to-from)) * time.Millisecond }
	for round := 0; len(all) < n; round++ {
		for _, e := range edges {
			all = append(all, at(e, ""))
		}
		all = append(all, at("written", "linger"), at("decided", "linger"), at("committed", "linger"), at("applied", "linger"), at("delivered", "linger"))
		stopped := at(edges[rng.IntN(len(edges))], "stop")
		stopped.pause = ms(100, 400)
		all = append(all, stopped)
		for range 3 {
			all = append(all, blow{name: "SIGSTOP, SIGKILL", after: ms(300, 1200), pause: ms(100, 500)})
		}
		all = append(all, blow{name: "SIGSTOP, SIGCONT, SIGKILL", after: ms(400, 1000), pause: ms(100, 800), goesOn: true})
		for range 8 {
			all = append(all, blow{name: "SIGKILL", after: ms(200, 1800)})
		}
	}
	all = all[:n]
	for i := 0; i < n; i += 14 {
		failing := at("written", "fail") // a commit that fails; the house goes on, and is killed later
		failing.after = 2500 * time.Millisecond
		all = append(all, failing, blow{name: "SIGTERM", after: ms(300, 1200), polite: true})
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return append([]blow{{name: "SIGKILL", after: ms(800, 1500)}}, all...)
}

// blows lives one life after the other and ends each as planned.
func (r *rig) blows(all []blow) {
	for i := 0; i < len(all) && !r.ledger.broken(); i++ {
		r.fall(all[i])
		if r.ledger.broken() {
			break
		}
		next := ""
		if i+1 < len(all) {
			next = all[i+1].failpoint
		}
		r.rise(next)
		if i%6 == 5 {
			r.provider.tasks.Go(func() { r.newEvent(tiny(i)) })
		}
	}
	r.house.signal(syscall.SIGCONT)
}

// fall lets the house live under load and ends its life.
func (r *rig) fall(b blow) {
	began := time.Now()
	asked := r.counts.get("answered")
	stopped := r.strike(b)
	lived := time.Since(began) - stopped
	r.lived += lived
	served := r.counts.get("answered") - asked
	r.served += served
	r.busy.Store(float64(served) > aimPer*lived.Seconds())
	r.shutDoor()
	if b.polite {
		r.house.signal(syscall.SIGTERM)
		if !r.house.ended(patience) {
			r.ledger.fault("process", "it does not end on SIGTERM")
		} else if code := r.house.cmd.ProcessState.ExitCode(); code != 0 {
			r.ledger.fault("process", "it ended on SIGTERM with %d:\n%s", code, r.house.log)
		}
	} else {
		r.house.kill()
		r.kills++
		if !r.house.killed() {
			r.ledger.fault("process", "it ended by itself, %v:\n%s", r.house.cmd.ProcessState, r.house.log)
		}
	}
	r.buried()
}

// buried notes the end of a life, and reads what it left.
func (r *rig) buried() {
	r.mu.Lock()
	r.deaths = append(r.deaths, r.clock.now())
	r.mu.Unlock()
	if r.house.log.has("panic") || r.house.log.has("DATA RACE") {
		r.ledger.fault("process", "its log speaks of a panic or a race:\n%s", r.house.log)
	}
	if *blindFlag {
		return
	}
	if err := r.house.checkFile(); err != nil {
		r.ledger.fault("file", "%v", err)
	}
}

// strike waits for the moment of the blow. It returns how long the program was
// stopped meanwhile.
func (r *rig) strike(b blow) (stopped time.Duration) {
	if b.failpoint == "" {
		r.house.ended(b.after)
		if b.pause > 0 {
			stopped = r.pause(b)
		}
		return stopped
	}
	action := b.failpoint[strings.LastIndex(b.failpoint, ":")+1:]
	switch action {
	case "stop":
		for deadline := time.Now().Add(b.after); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
			if r.house.isStopped() {
				r.hit(b)
				return r.pause(blow{pause: b.pause, goesOn: true})
			}
		}
	case "fail":
		if r.house.ended(b.after); r.house.log.has("commit failed") {
			r.hit(b)
		}
	default:
		if r.house.ended(b.after) {
			r.hit(b)
		}
	}
	return 0
}

// hit counts an edge.
func (r *rig) hit(b blow) {
	edge, _, _ := strings.Cut(b.failpoint, ":")
	r.hits[edge]++
}

// pause stops the program for a while.
func (r *rig) pause(b blow) time.Duration {
	began := time.Now()
	r.house.signal(syscall.SIGSTOP)
	r.house.ended(b.pause)
	stopped := time.Since(began)
	if b.goesOn {
		r.house.signal(syscall.SIGCONT)
		r.house.ended(300 * time.Millisecond)
	}
	return stopped
}

// rise starts the house again, audits it, and opens the door. A failpoint may
// end it before that; then it rises without.
func (r *rig) rise(failpoint string) {
	for {
		r.life.Add(1)
		err := r.house.start(failpoint)
		if err == nil && r.audit() {
			r.openDoor()
			return
		}
		if err != nil && (!errors.Is(err, errDied) || failpoint == "" || !r.house.killed()) {
			r.ledger.fault("process", "%v:\n%s", err, r.house.log)
			return
		}
		if failpoint == "" && !r.ledger.broken() {
			r.ledger.fault("process", "it died during the audit:\n%s", r.house.log)
		}
		r.house.kill()
		if r.ledger.broken() {
			return
		}
		r.kills++
		r.hit(blow{failpoint: failpoint})
		r.buried()
		failpoint = ""
	}
}
