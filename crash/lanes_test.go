package crash

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// pace is a rule for the lanes of tasks whose keys begin with its name.
type pace struct {
	name     string
	interval time.Duration
	n        int
}

var paces = []pace{
	{"one", 250 * time.Millisecond, 1},
	{"two", 400 * time.Millisecond, 2},
	{"slow", 1500 * time.Millisecond, 1},
}

const (
	paceSlack = moment(120 * time.Millisecond) // a call may take so much longer than another to reach the receiver
	longCall  = 2500 * time.Millisecond        // shorter than an end in order waits for calls under way
)

// task is one request that the program was asked to make.
type task struct {
	pace   *pace
	key    string
	number int    // in its lane, in the order in which they were acknowledged
	id     string // the program's; empty while it is not acknowledged
	calls  []moment
	lives  []int // of the program when the calls came
	took   bool  // a call was answered with 2xx
}

// tasks asks for requests and receives them.
type tasks struct {
	r      *rig
	server *httptest.Server
	wait   sync.WaitGroup

	mu     sync.Mutex
	rng    *rand.Rand
	all    map[string]*task // by key and number
	lanes  map[string][]*task
	calls  map[string][]moment // of a lane, in the order in which they came
	flying map[string]int      // calls that the receiver is busy with, whoever made them
	kept   int                 // times that a slot outlived the program that booked it
	tight  []string            // calls that came sooner after others than the pace allows
}

func newTasks(r *rig) *tasks {
	t := &tasks{
		r: r, rng: rand.New(rand.NewPCG(r.seed, 66)),
		all: map[string]*task{}, lanes: map[string][]*task{}, calls: map[string][]moment{}, flying: map[string]int{},
	}
	t.server = httptest.NewServer(t)
	return t
}

// rules tells the program the rules of the lanes.
func (t *tasks) rules() {
	for _, p := range paces {
		a, _ := t.r.insist(func() *answer {
			rule := object{"interval": p.interval.String(), "concurrency": p.n}
			return t.r.call("rule", "PUT", "/api/v1/lanes/"+p.name+"-*", rule, "Authorization", "Bearer "+adminKey)
		})
		if a.status != http.StatusOK {
			t.r.ledger.fault("answer", "rule of %s: %d %s", p.name, a.status, a.body)
		}
	}
}

// start lets tasks come as long as there are visitors.
func (t *tasks) start() {
	t.rules()
	for i := range 2 {
		t.wait.Go(func() { t.busy(&paces[i], rand.New(rand.NewPCG(t.r.seed, uint64(2000+i)))) })
	}
	for i := range 4 {
		t.wait.Go(func() { t.slowly(&paces[2], i, rand.New(rand.NewPCG(t.r.seed, uint64(3000+i)))) })
	}
}

// busy asks for more than the pace lets go. What waits when the program dies waits for the lease after each start, so each
// life has lanes of its own; some tasks come to older ones.
func (t *tasks) busy(p *pace, rng *rand.Rand) {
	for !t.r.ending() {
		life := t.r.life.Load()
		if rng.IntN(5) == 0 {
			life = rng.Int64N(life + 1)
		}
		t.ask(p, fmt.Sprintf("%s-%d", p.name, life), rng)
		time.Sleep(time.Duration(rng.IntN(250)) * time.Millisecond)
	}
}

// slowly asks for a task, sees it go, and asks for the next in the life after: it must wait for the slot that the program
// had booked before it died.
func (t *tasks) slowly(p *pace, who int, rng *rand.Rand) {
	for lane := 0; !t.r.ending(); lane++ {
		for key := fmt.Sprintf("%s-%d-%d", p.name, who, lane); !t.r.ending(); {
			life := t.r.life.Load()
			k := t.ask(p, key, rng)
			for !t.called(k) && t.r.life.Load() == life && !t.r.ending() {
				time.Sleep(10 * time.Millisecond)
			}
			if !t.called(k) {
				break // it waits for the lease now
			}
			for life = t.r.life.Load(); t.r.life.Load() == life && !t.r.ending(); {
				time.Sleep(10 * time.Millisecond)
			}
		}
	}
}

func (t *tasks) called(k *task) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(k.calls) > 0
}

// ask asks for a task until it is acknowledged, at times twice. Each lane has one who asks.
func (t *tasks) ask(p *pace, key string, rng *rand.Rand) *task {
	t.mu.Lock()
	k := &task{pace: p, key: key, number: len(t.lanes[key])}
	t.lanes[key] = append(t.lanes[key], k)
	t.all[fmt.Sprint(key, "/", k.number)] = k
	t.mu.Unlock()
	for range 1 + rng.IntN(5)/4 {
		a, _ := t.r.insist(func() *answer {
			return t.r.call("task", "POST", "/api/v1/lanes/"+key+"/tasks", object{
				"id": fmt.Sprint("task-", k.number), "url": t.server.URL, "method": "POST", "body": object{"key": key, "number": k.number},
			}, "Authorization", "Bearer "+adminKey)
		})
		var d struct{ TaskID string }
		a.decode(&d)
		if !a.known() || a.status >= 500 {
			return k // the run is over
		}
		if a.status/100 != 2 || d.TaskID == "" || k.id != "" && k.id != d.TaskID {
			t.r.ledger.fault("tasks", "task %d of %s: was %q, %d %s", k.number, key, k.id, a.status, a.body)
		}
		t.mu.Lock()
		k.id = d.TaskID
		t.mu.Unlock()
	}
	return k
}

func (t *tasks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender died
	}
	var d struct {
		Key    string
		Number int
	}
	if json.Unmarshal(body, &d) != nil {
		t.r.ledger.fault("tasks", "a call with %s", body)
	}
	k, status, busy := t.take(d.Key, d.Number, r.Header.Get("Foyer-Task"))
	if k == nil {
		return
	}
	time.Sleep(busy) // also when the caller is dead
	t.mu.Lock()
	t.flying[k.key]--
	k.took = k.took || status == http.StatusOK
	t.mu.Unlock()
	w.WriteHeader(status)
}

// take books a call, and holds it to the rule of its lane.
func (t *tasks) take(key string, number int, id string) (k *task, status int, busy time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, l := t.r.clock.now(), t.r.ledger
	if k = t.all[fmt.Sprint(key, "/", number)]; k == nil {
		l.fault("tasks", "a call of task %d of %s, which nobody asked for", number, key)
		return nil, 0, 0
	}
	if k.id != "" && k.id != id {
		l.fault("tasks", "task %d of %s was acknowledged as %s, and came as %s", number, key, k.id, id)
	}
	if t.flying[key]++; t.flying[key] > k.pace.n {
		l.fault("tasks", "%d calls of %s at once, %d may be", t.flying[key], key, k.pace.n)
	}
	if len(k.calls) == 0 {
		for _, before := range t.lanes[key][:max(0, number-k.pace.n+1)] { // n calls may pass each other on their way
			if len(before.calls) == 0 {
				l.fault("tasks", "task %d of %s came before task %d", number, key, before.number)
			}
		}
	}
	all := t.calls[key]
	if n := k.pace.n; len(all) >= n {
		if gap := now - all[len(all)-n]; gap < moment(k.pace.interval)-paceSlack {
			t.tight = append(t.tight, fmt.Sprintf("%d calls of %s within %v, %d may be in %v", n+1, key, gap, n, k.pace.interval))
		}
	}
	life := int(t.r.life.Load())
	if last := t.last(key); last != nil && last.lives[len(last.lives)-1] != life && now-all[len(all)-1] < 2*moment(k.pace.interval) {
		t.kept++
	}
	t.calls[key] = append(all, now)
	k.calls, k.lives = append(k.calls, now), append(k.lives, life)
	status = http.StatusOK
	if len(k.calls) == 1 && t.rng.IntN(20) == 0 {
		status = http.StatusInternalServerError
	}
	busy = time.Duration(t.rng.IntN(60)) * time.Millisecond
	if k.pace.name != "slow" && t.rng.IntN(12) == 0 {
		busy = time.Duration(t.rng.Int64N(int64(longCall)))
	}
	return k, status, busy
}

// last finds the task of a lane that was called last.
func (t *tasks) last(key string) (last *task) {
	for _, k := range t.lanes[key] {
		if len(k.calls) > 0 && (last == nil || k.calls[len(k.calls)-1] > last.calls[len(last.calls)-1]) {
			last = k
		}
	}
	return last
}

// reckon asks for every task that was acknowledged: its request was made and answered, and the program knows. A call
// that a busy machine holds up on its way comes close before the next one; more than a few of those are no accident.
func (t *tasks) reckon() {
	_, _, calls := t.numbers()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.tight) > 2+calls/200 {
		t.r.ledger.fault("tasks", "%d of %d calls came too early; the first: %s", len(t.tight), calls, t.tight[0])
	}
	for name, k := range t.all {
		if k.id == "" {
			continue
		}
		if !k.took {
			t.r.ledger.fault("tasks", "task %s was acknowledged, its call was never answered", name)
		}
		a := t.r.call("audit", "GET", "/api/v1/tasks/"+k.id, nil, "Authorization", "Bearer "+adminKey)
		if a.status != http.StatusOK || !strings.Contains(string(a.body), `"state":"DONE"`) {
			t.r.ledger.fault("tasks", "task %s at the end: %d %s", name, a.status, a.body)
		}
	}
}

// numbers counts tasks, lanes and calls.
func (t *tasks) numbers() (tasks, lanes, calls int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, all := range t.calls {
		calls += len(all)
	}
	return len(t.all), len(t.lanes), calls
}
