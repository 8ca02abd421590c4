package contract

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// inOrder wants the first arrivals of tasks to come in this order.
func inOrder(t *testing.T, got []arrival, want []string) {
	t.Helper()
	var order []string
	for _, a := range got {
		if !slices.Contains(order, a.task) {
			order = append(order, a.task)
		}
	}
	if !slices.Equal(order, want) {
		t.Errorf("%d tasks came in another order than they were accepted in, or not all of %d:\n%v\n%v", len(order), len(want), order, want)
	}
}

// tasks asks for n tasks, one after the other.
func (h *house) tasks(t *testing.T, key, url string, n int) (ids []string) {
	t.Helper()
	for i := range n {
		ids = append(ids, h.task(t, key, url, object{"body": i}).want(t, 202).text("taskId"))
	}
	return ids
}

func TestB66PaceIsKeptFromStartToStartAtTheReceiver(t *testing.T) {
	t.Parallel()
	h, x := laneHouse(t), newTarget(t)
	const interval = 200 * time.Millisecond
	for _, n := range []int{1, 2, 5} {
		t.Run(fmt.Sprint("n=", n), func(t *testing.T) {
			t.Parallel()
			key, path := lane(), fmt.Sprint("/n", n)
			h.rule(t, key, object{"interval": (interval * time.Duration(n)).String(), "concurrency": n})
			ids := h.tasks(t, key, x.URL+path, 30)
			got := x.arrive(t, path, 30, 30*time.Second)
			apart(t, got, n, interval*time.Duration(n))
			apart(t, got, 1, interval) // evenly
			if n == 1 {                // calls that are under way together may overtake each other
				inOrder(t, got, ids)
			}
			if took := got[29].at.Sub(got[0].at); took > 3*29*interval { // one lost slot per call, and as much again for the machine
				t.Errorf("30 at one per %v took %v", interval, took)
			}
			for _, id := range ids {
				h.turns(t, id, "DONE")
			}
			until(t, "an empty lane", patience, func() bool {
				a := h.staff(t, "GET", lanePath(key), nil)
				return a.number("queueCount") == 0 && a.number("inFlight") == 0 && a.number("concurrency") == n
			})
		})
	}
}

func TestB73ConcurrencyIsUsedAndNeverPassed(t *testing.T) {
	t.Parallel()
	h, x := laneHouse(t), newTarget(t)
	x.answer = func(http.ResponseWriter, *http.Request, int) { time.Sleep(200 * time.Millisecond) } // work that takes its time
	for _, n := range []int{1, 2, 5} {
		t.Run(fmt.Sprint("n=", n), func(t *testing.T) {
			t.Parallel()
			key, path, count := lane(), fmt.Sprint("/n", n), 12*n
			h.rule(t, key, object{"interval": "0s", "concurrency": n, "paused": true})
			h.tasks(t, key, x.URL+path, count)
			h.rule(t, key, object{"paused": false})
			x.arrive(t, path, count, 30*time.Second)
			if most := x.together(path); most != n { // how long it takes is for the engine's tests in virtual time
				t.Errorf("%d at once, want %d", most, n)
			}
		})
	}
}

func TestRulesChangeWhileTheLaneGoes(t *testing.T) {
	t.Parallel()
	h, x, key := laneHouse(t), newTarget(t), lane()
	h.rule(t, key, object{"interval": "0s", "paused": true})
	ids := h.tasks(t, key, x.URL+"/r", 40)
	if a := h.staff(t, "GET", lanePath(key), nil).want(t, 200); a.at("paused") != true || a.number("queueCount") != 40 || a.number("inFlight") != 0 {
		t.Errorf("paused it is %s", a.body)
	}
	if n := len(x.at("/r")); n > 0 {
		t.Fatalf("%d went in a paused lane", n)
	}
	a := h.rule(t, key, object{"interval": "150ms", "paused": false})
	if a.text("interval") != "150ms" || a.at("paused") != false || a.number("concurrency") != 1 {
		t.Errorf("the rule is %s", a.body)
	}
	x.arrive(t, "/r", 5, patience)
	h.rule(t, key, object{"paused": true})
	var still int
	until(t, "a lane at rest", patience, func() bool {
		still = len(x.at("/r"))
		return h.staff(t, "GET", lanePath(key), nil).number("inFlight") == 0
	})
	if n := h.staff(t, "GET", lanePath(key), nil).number("queueCount"); n != 40-len(x.at("/r")) {
		t.Errorf("%d wait and %d came of 40", n, len(x.at("/r")))
	}
	<-time.After(400 * time.Millisecond) // more than two slots
	if n := len(x.at("/r")); n != still {
		t.Errorf("%d came after the pause", n-still)
	}
	h.rule(t, key, object{"interval": "1h", "paused": false}) // much slower ...
	shown := h.staff(t, "GET", lanePath(key), nil)
	if wait := time.Until(shown.moment(t, "nextSlot")); wait > time.Hour {
		t.Errorf("the next slot is in %v", wait)
	}
	before := len(x.at("/r"))
	h.rule(t, key, object{"interval": "0s"}) // ... and as fast as can be
	got := x.arrive(t, "/r", 40, patience)
	if took := got[39].at.Sub(got[before].at); took > 5*time.Second {
		t.Errorf("without a pace %d took %v", 40-before, took)
	}
	inOrder(t, got, ids)
	apart(t, got[:still], 1, 150*time.Millisecond)
}

func TestKeyComesBeforePatternAndLongPatternBeforeShort(t *testing.T) {
	t.Parallel()
	h, prefix := newHouse(t, "--rate-limit", "0"), "tenant-"
	interval := func(key string) string { return h.staff(t, "GET", lanePath(key), nil).want(t, 200).text("interval") }
	h.rule(t, prefix+"*", object{"interval": "10s"})
	h.rule(t, prefix+"a*", object{"interval": "20s", "concurrency": 4})
	h.rule(t, prefix+"a1", object{"paused": true}) // the rest as it is
	check := func() {
		t.Helper()
		for key, want := range map[string]string{
			"other": "1m0s", prefix: "10s", prefix + "b": "10s", prefix + "a": "20s", prefix + "a2": "20s", prefix + "a1": "20s", prefix + "a11": "20s",
		} {
			if got := interval(key); got != want {
				t.Errorf("the interval of %s is %s, want %s", key, got, want)
			}
		}
		a := h.staff(t, "GET", lanePath(prefix+"a1"), nil)
		if a.at("paused") != true || a.number("concurrency") != 4 {
			t.Errorf("the lane is %s", a.body)
		}
		if keys := h.staff(t, "GET", "/lanes", nil).texts("items", "key"); !slices.Equal(keys, []string{prefix + "*", prefix + "a*", prefix + "a1"}) {
			t.Errorf("rules are listed for %v", keys)
		}
	}
	check()
	h.kill()
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	check()
	h.rule(t, "*", object{"interval": "5s"})
	if got := interval("other"); got != "5s" {
		t.Errorf("under * the interval is %s", got)
	}
}

func TestPausingLanesOfOrdersLeavesTheirPaceAlone(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "--rate-limit", "0")
	h.rule(t, "*", object{"paused": true})
	e := eventOf(t, h, 6, nil)
	o := e.buyer(t).bought(t, "A-1", "A-2")
	h.rule(t, "*", object{"paused": false})
	began := time.Now()
	h.sink.sold(t, o.id, 2) // three messages of one lane, and no pace
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("three messages took %v", took)
	}
	if got := h.staff(t, "GET", lanePath("any"), nil).text("interval"); got != "1m0s" {
		t.Errorf("tasks have the interval %s", got)
	}
}

func TestFailedTasksAreTriedAgainAndGoneOnesEndAlone(t *testing.T) {
	t.Parallel()
	h, x, key := laneHouse(t), newTarget(t), lane()
	x.answer = func(w http.ResponseWriter, r *http.Request, n int) {
		switch {
		case r.URL.Path == "/gone":
			w.WriteHeader(http.StatusGone)
			fmt.Fprint(w, "moved out")
		case r.URL.Path == "/again" && n == 1:
			w.WriteHeader(http.StatusInternalServerError)
		case r.URL.Path == "/later" && n == 1:
			w.Header().Set("Retry-After", "12")
			w.WriteHeader(http.StatusTooManyRequests)
		case r.URL.Path == "/hop":
			http.Redirect(w, r, "/landed", http.StatusFound)
		}
	}
	h.rule(t, key, object{"interval": "0s"})
	gone := h.task(t, key, x.URL+"/gone").want(t, 202).text("taskId")
	neighbour := h.task(t, key, x.URL+"/fine").want(t, 202).text("taskId") // same lane, same host
	dead := h.turns(t, gone, "DEAD")
	if !strings.Contains(dead.text("lastAnswer"), "410") || !strings.Contains(dead.text("lastAnswer"), "moved out") || dead.number("attempts") != 1 {
		t.Errorf("dead it is %s", dead.body)
	}
	h.turns(t, neighbour, "DONE")
	if list := h.staff(t, "GET", "/admin/outbox?state=dead", nil); !strings.Contains(list.body, gone) {
		t.Errorf("the dead are %s", list.body)
	}
	h.staff(t, "DELETE", "/tasks/"+gone, nil).want(t, 204)
	h.look(t, gone).want(t, 200)

	retried := h.task(t, key, x.URL+"/again").want(t, 202).text("taskId")
	behind := h.task(t, key, x.URL+"/behind").want(t, 202).text("taskId")
	got := x.arrive(t, "/again", 2, 12*time.Second)
	if wait := got[1].at.Sub(got[0].at); wait > 10*time.Second || wait < 500*time.Millisecond {
		t.Errorf("the first retry came after %v", wait)
	}
	if got[0].task != got[1].task || got[1].attempt != "2" || got[0].header.Get("Idempotency-Key") != got[1].header.Get("Idempotency-Key") {
		t.Error("the retry is not the same task")
	}
	if b := x.arrive(t, "/behind", 1, patience); b[0].at.Before(got[1].at) {
		t.Error("the one behind it went first")
	}
	h.turns(t, retried, "DONE")
	h.turns(t, behind, "DONE")

	limited, hop := lane(), lane()
	h.rule(t, limited, object{"interval": "0s"})
	h.rule(t, hop, object{"interval": "0s", "attempts": 1})
	h.task(t, limited, x.URL+"/later").want(t, 202)
	follow := h.task(t, hop, x.URL+"/hop").want(t, 202).text("taskId")
	if a := h.turns(t, follow, "DEAD"); !strings.Contains(a.text("lastAnswer"), "302") {
		t.Errorf("a redirect came to %s", a.body)
	}
	got = x.arrive(t, "/later", 2, 30*time.Second)
	if wait := got[1].at.Sub(got[0].at); wait < 12*time.Second {
		t.Errorf("asked to wait 12 s it came after %v", wait)
	}
	if len(x.at("/landed")) > 0 {
		t.Error("a redirect was followed")
	}
}

// Without --allow-targets nothing on this machine is dialled, whatever it is called.
func TestB162PrivateTargetsAreRefusedWhenDialled(t *testing.T) {
	t.Parallel()
	h, x := shared, newTarget(t)
	_, port, err := net.SplitHostPort(x.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, own, _ := net.SplitHostPort(h.addr)
	var ids []string
	for _, host := range []string{
		"127.0.0.1:" + port, "localhost:" + port, "localhost.:" + port, "[::1]:" + port, "[::ffff:127.0.0.1]:" + port, "[::ffff:a00:1]:80", "0.0.0.0:" + port, "[::]:" + port,
		"127.0.0.1:" + own, "10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "[fe80::1%25lo]:" + port, "[fd00:ec2::254]", "100.100.100.200",
	} {
		key := lane()
		h.rule(t, key, object{"interval": "0s", "attempts": 1})
		a := h.task(t, key, "http://"+host+"/private").want(t, 202)
		ids = append(ids, a.text("taskId"))
	}
	for _, id := range ids {
		a := h.turns(t, id, "DEAD")
		if why := a.text("lastAnswer"); !strings.Contains(why, "closed range") && !strings.Contains(why, "no such host") {
			t.Errorf("%s: %s", a.text("url"), why)
		}
	}
	for _, numeric := range []string{"0x7f000001", "2130706433", "0177.0.0.1", "127.1"} { // some resolvers read these as addresses
		key := lane()
		h.rule(t, key, object{"interval": "0s", "attempts": 1})
		if a := h.task(t, key, "http://"+numeric+":"+port+"/private"); a.status == 202 {
			h.turns(t, a.text("taskId"), "DEAD")
		} else {
			a.refused(t, 422, "bad_task")
		}
	}
	if n := len(x.at("/private")); n > 0 {
		t.Errorf("%d calls came through", n)
	}
}

// The process dies at any moment: what was acknowledged is made, in order; the pace is not doubled, nothing of one key
// is under way twice; a task that may have been under way waits until that call must be over.
func TestB70B71KilledInTheMiddleThePaceIsWholeAndNothingIsLost(t *testing.T) {
	t.Parallel()
	h, x := laneHouse(t), newTarget(t)
	const interval = 500 * time.Millisecond
	const lease = 15 * time.Second // README: as long as an attempt may take
	paced, free, slow := lane(), lane(), lane()
	h.rule(t, paced, object{"interval": interval.String()})
	h.rule(t, free, object{"interval": "0s", "concurrency": 2})
	h.rule(t, slow, object{"interval": "40s"})
	x.answer = func(_ http.ResponseWriter, r *http.Request, n int) {
		if r.URL.Path == "/free" && n == 1 {
			select { // busy when the process dies, and after it
			case <-time.After(3 * time.Second):
			case <-t.Context().Done():
			}
		}
	}
	first := h.task(t, slow, x.URL+"/slow").want(t, 202).text("taskId")
	h.task(t, slow, x.URL+"/slow").want(t, 202)
	started := x.arrive(t, "/slow", 1, patience)[0].at
	h.turns(t, first, "DONE")
	ids := h.tasks(t, paced, x.URL+"/paced", 12)
	more := h.tasks(t, free, x.URL+"/free", 6)
	x.arrive(t, "/paced", 4, patience)
	x.arrive(t, "/free", 2, patience)
	again := h.task(t, paced, x.URL+"/paced", object{"id": "mine", "body": 12}).want(t, 202).text("taskId")
	h.kill()
	killed, before := time.Now(), len(x.at("/paced"))
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	if a := h.task(t, paced, x.URL+"/paced", object{"id": "mine", "body": 12}).want(t, 200); a.text("taskId") != again {
		t.Error("the same id is another task after a restart")
	}
	if a := h.staff(t, "GET", lanePath(paced), nil); a.text("interval") != "500ms" || a.number("queueCount")+a.number("inFlight") < 13-before {
		t.Errorf("after the restart the lane is %s", a.body)
	}
	if next := h.staff(t, "GET", lanePath(slow), nil).moment(t, "nextSlot").Sub(started); next < 40*time.Second-20*time.Millisecond || next > 42*time.Second {
		t.Errorf("the slot of the slow lane is %v after its last start, want 40 s", next)
	}
	until(t, "every task made", lease+30*time.Second, func() bool {
		return h.staff(t, "GET", lanePath(paced), nil).number("queueCount") == 0 && h.look(t, again).text("state") == "DONE" && h.look(t, more[5]).text("state") == "DONE"
	})
	got := x.at("/paced")
	apart(t, got, 1, interval)
	inOrder(t, got, append(ids, again))
	if wait := got[before].at.Sub(killed); wait > lease+5*time.Second {
		t.Errorf("the lane went on %v after the kill", wait)
	}
	if len(got) > 13+1 {
		t.Errorf("%d calls for 13 tasks and one kill", len(got))
	}
	if n := x.together("/free"); n > 2 {
		t.Errorf("%d under way at once, want 2 at most", n)
	}
	if n := len(x.at("/free")); n > 6+2 {
		t.Errorf("%d calls for 6 tasks and one kill", n)
	}
}

func TestStoppedInOrderTasksGoOnAtOnce(t *testing.T) {
	t.Parallel()
	h, x, key := laneHouse(t), newTarget(t), lane()
	const interval = 300 * time.Millisecond
	h.rule(t, key, object{"interval": interval.String()})
	ids := h.tasks(t, key, x.URL+"/s", 10)
	x.arrive(t, "/s", 3, patience)
	if code, took := h.stop(t); code != 0 || took > 5*time.Second {
		t.Errorf("ended with %d after %v", code, took)
	}
	before := len(x.at("/s"))
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	ready := time.Now()
	got := x.arrive(t, "/s", 10, patience)
	if wait := got[before].at.Sub(ready); wait > 2*time.Second {
		t.Errorf("the lane went on %v after the start", wait)
	}
	h.turns(t, ids[9], "DONE")
	got = x.at("/s")
	apart(t, got, 1, interval)
	inOrder(t, got, ids)
	if len(got) != 10 {
		t.Errorf("%d calls for 10 tasks and no crash", len(got))
	}
}
