package contract

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// arrival is a call that a target got.
type arrival struct {
	at                 time.Time
	task, attempt, uri string
	method, body       string
	header             http.Header
}

// target is where tasks go. It notes what arrives, how many calls of one path
// are under way together, and answers as it is told.
type target struct {
	*httptest.Server
	answer func(w http.ResponseWriter, r *http.Request, n int) // n counts the calls of a task from 1; nil is 200

	mu   sync.Mutex
	seen map[string][]arrival // by path
	busy map[string]int
	most map[string]int
	made map[string]int // by task
}

func newTarget(t *testing.T) *target {
	x := &target{seen: map[string][]arrival{}, busy: map[string]int{}, most: map[string]int{}, made: map[string]int{}}
	x.Server = httptest.NewServer(http.HandlerFunc(x.take))
	t.Cleanup(x.CloseClientConnections)
	t.Cleanup(x.Close)
	return x
}

func (x *target) take(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, _ := io.ReadAll(r.Body)
	path, task := r.URL.Path, r.Header.Get("Foyer-Task")
	x.mu.Lock()
	x.seen[path] = append(x.seen[path], arrival{at, task, r.Header.Get("Foyer-Attempt"), r.RequestURI, r.Method, string(body), r.Header})
	x.busy[path]++
	x.most[path] = max(x.most[path], x.busy[path])
	x.made[task]++
	n := x.made[task]
	x.mu.Unlock()
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.busy[path]--
	}()
	if x.answer != nil {
		x.answer(w, r, n)
	}
}

// at is what arrived at a path.
func (x *target) at(path string) []arrival {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append([]arrival(nil), x.seen[path]...)
}

// together is how many calls of a path were under way at most.
func (x *target) together(path string) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.most[path]
}

// arrive waits until n calls of a path have come.
func (x *target) arrive(t *testing.T, path string, n int, within time.Duration) []arrival {
	t.Helper()
	until(t, fmt.Sprintf("%d calls of %s", n, path), within, func() bool { return len(x.at(path)) >= n })
	return x.at(path)
}

// apart wants no more than n calls in any interval. The pace holds at the call; what is seen here is the arrival, and a
// machine that stalls for a moment lets several late calls arrive at once. So one window in three may be short; a pace
// that is not kept has them all short, and is over too soon.
func apart(t *testing.T, got []arrival, n int, interval time.Duration) {
	t.Helper()
	short := 0
	for i := n; i < len(got); i++ {
		if got[i].at.Sub(got[i-n].at) < interval*3/4 {
			short++
		}
	}
	if windows := len(got) - n; windows > 0 && 3*short > windows {
		t.Errorf("%d of %d calls came less than %v after the one %d before", short, windows, interval, n)
	}
	const late = 500 * time.Millisecond // of the first call
	if rounds := (len(got) - 1) / n; rounds > 0 {
		if took := got[rounds*n].at.Sub(got[0].at); took < time.Duration(rounds)*interval-interval/4-late {
			t.Errorf("%d calls came in %v, want at least %v", rounds*n+1, took, time.Duration(rounds)*interval)
		}
	}
}

// laneHouse starts a program that may call targets on this machine.
func laneHouse(t *testing.T, args ...string) *house {
	t.Helper()
	return newHouse(t, append([]string{"--rate-limit", "0", "--allow-targets", "127.0.0.0/8"}, args...)...)
}

var lanes atomic.Int64

// lane makes up a key that no test used before.
func lane() string { return fmt.Sprintf("lane-%d", lanes.Add(1)) }

func lanePath(key string) string { return "/lanes/" + url.PathEscape(key) }

// rule sets the rule of a key or pattern.
func (h *house) rule(t *testing.T, key string, rule object) answer {
	t.Helper()
	return h.staff(t, "PUT", lanePath(key), rule).want(t, http.StatusOK)
}

// task asks for a POST to a path of a target; more are further fields.
func (h *house) task(t *testing.T, key, url string, more ...object) answer {
	t.Helper()
	body := object{"url": url, "method": "POST"}
	for _, m := range more {
		for k, v := range m {
			body[k] = v
		}
	}
	return h.staff(t, "POST", lanePath(key)+"/tasks", body)
}

// look is a task as it stands.
func (h *house) look(t *testing.T, task string) answer {
	t.Helper()
	return h.staff(t, "GET", "/tasks/"+task, nil).want(t, http.StatusOK)
}

// turns waits until a task has a state.
func (h *house) turns(t *testing.T, task, state string) (a answer) {
	t.Helper()
	until(t, "task "+task+" "+state, patience, func() bool {
		a = h.look(t, task)
		return a.text("state") == state
	})
	return a
}
