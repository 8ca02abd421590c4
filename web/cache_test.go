package web

import (
	"encoding/json"
	stdflag "flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	waiters   = stdflag.String("waiters", "", "for TestOriginIsCalmBehindACache: numbers of people who wait, \"200,2000,20000\"")
	waitersOf = stdflag.Duration("waiters-for", 30*time.Second, "how long each number of people is watched")
)

// cached is a house behind a real nginx that runs the example's configuration.
type cached struct {
	*house
	url      string // nginx
	statuses atomic.Int64
	others   atomic.Int64 // requests that came through, the status document aside
}

func newCached(t *testing.T) *cached {
	t.Helper()
	bin, err := exec.LookPath("nginx")
	if err != nil {
		leaveOut(t, "no nginx on this machine")
	}
	g := &cached{house: newHouse(t)}
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/status") {
			g.statuses.Add(1)
		} else {
			g.others.Add(1)
		}
		g.server.ServeHTTP(w, r)
	}))
	t.Cleanup(origin.Close)
	t.Cleanup(g.server.EndStreams)
	port := freePort(t)
	g.url = "http://127.0.0.1:" + port
	runNginx(t, bin, strings.NewReplacer("127.0.0.1:8080", strings.TrimPrefix(origin.URL, "http://"), "listen 80", "listen 127.0.0.1:"+port), g.url)
	return g
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// runNginx runs nginx with the example until the end of the test.
func runNginx(t *testing.T, bin string, fit *strings.Replacer, url string) {
	t.Helper()
	dir := t.TempDir()
	site, err := os.ReadFile("../examples/nginx-cache/foyer.conf")
	if err != nil {
		t.Fatal(err)
	}
	user := ""
	if os.Getuid() == 0 {
		user = "user root;\n"
	}
	temp := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temp += kind + "_temp_path " + filepath.Join(dir, kind) + ";\n"
	}
	text := strings.ReplaceAll(fit.Replace(string(site)), "/var/lib/nginx/foyer", filepath.Join(dir, "cache"))
	conf := user + "daemon off;\npid " + filepath.Join(dir, "pid") + ";\nerror_log stderr warn;\nworker_rlimit_nofile 10000;\nevents { worker_connections 4096; }\nhttp {\naccess_log off;\n" + temp + text + "}\n"
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "-p", dir, "-c", file, "-e", "stderr")
	var said lockedBuffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // nginx: a fast shutdown
		_ = cmd.Wait()
	})
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); <-time.After(20 * time.Millisecond) {
		if res, err := http.Get(url + "/healthz"); err == nil {
			_ = res.Body.Close()
			return
		}
	}
	t.Fatalf("nginx does not answer: %s", said.String())
}

// waiting is one page in the line: it does what static/wait.js does.
type waiting struct {
	g          *cached
	client     *http.Client
	credential string
	number     uint64
	id         string
}

func (g *cached) waiting(client *http.Client) *waiting {
	g.t.Helper()
	w := &waiting{g: g, client: client, credential: g.visitor()}
	place := g.do("POST", "/api/v1/events/gala/queue", "", "X-Visitor", w.credential).want(201)
	w.number, w.id = uint64(place.field("number").(float64)), place.text("queueId")
	return w
}

// get asks nginx for JSON.
func (w *waiting) get(path string, into any) error {
	req, err := http.NewRequest("GET", w.g.url+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("X-Visitor", w.credential)
	req.Header.Set("Cache-Control", "no-cache") // as a page's fetch without the browser's own cache
	res, err := w.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, res.Status)
	}
	return json.NewDecoder(res.Body).Decode(into)
}

// live waits for the turn, as the page does, or until stop; it tells whether the turn came.
// Intervals are those of the page through by.
func (w *waiting) live(stop <-chan struct{}, by float64) (called bool, err error) {
	for {
		var s struct{ Frontier uint64 }
		if err := w.get("/api/v1/events/gala/status", &s); err != nil {
			return false, err
		}
		ahead := int64(w.number) - int64(s.Frontier)
		pause := 10.0
		switch {
		case ahead < 100:
			pause = 1
			var p struct{ Status string }
			if err := w.get("/api/v1/events/gala/queue", &p); err != nil {
				return false, err
			}
			if p.Status != "WAITING" {
				return p.Status == "READY", nil
			}
		case ahead < 1000:
			pause = 2
		case ahead < 10_000:
			pause = 4
		}
		select {
		case <-stop:
			return false, nil
		case <-time.After(time.Duration((0.8 + 0.4*rand.Float64()) * pause / by * float64(time.Second))):
		}
	}
}

// calm is what Foyer was asked while people waited.
type calm struct{ statuses, others, called, aside float64 }

// watch lets n people more wait for d, with intervals through by, while turns are
// given and end at a pace, and counts what reaches Foyer.
func (g *cached) watch(n int, d time.Duration, by float64) (c calm) {
	g.t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, MaxConnsPerHost: 256}}
	defer client.CloseIdleConnections()
	var all []*waiting
	for range n {
		all = append(all, g.waiting(client))
	}
	statuses, others := g.statuses.Load(), g.others.Load()
	stop := make(chan struct{})
	var called, aside atomic.Int64
	var run sync.WaitGroup
	for _, w := range all {
		run.Go(func() {
			select { // they did not come in one moment
			case <-stop:
				return
			case <-time.After(time.Duration(rand.Float64() / by * float64(10*time.Second))):
			}
			switch turn, err := w.live(stop, by); {
			case err != nil:
				g.t.Error(err)
			case turn:
				called.Add(1)
				g.do("DELETE", "/api/v1/events/gala/queue/"+w.id, "", "X-Visitor", w.credential)
			}
		})
	}
	began := time.Now()
	for time.Since(began) < d {
		g.clock.pass(200 * time.Millisecond)
		if _, err := g.office.Tick("gala", time.Second); err != nil {
			g.t.Error(err)
		}
		<-time.After(200 * time.Millisecond)
	}
	took := time.Since(began).Seconds()
	c = calm{float64(g.statuses.Load()-statuses) / took, float64(g.others.Load()-others) / took, float64(called.Load()) / took, float64(aside.Load())}
	close(stop)
	run.Wait()
	for _, w := range all { // the next crowd finds the line empty
		p := g.do("GET", "/api/v1/events/gala/queue", "", "X-Visitor", w.credential)
		if _, away := p.decodedField("aside"); away {
			c.aside++
		}
		g.do("DELETE", "/api/v1/events/gala/queue/"+w.id, "", "X-Visitor", w.credential)
	}
	return c
}

// decodedField finds a member that may be missing.
func (a *answer) decodedField(name string) (v any, ok bool) {
	a.field("")
	v, ok = a.decoded[name]
	return v, ok
}

// calmEvent is an event whose turns last until the visitor has seen them.
func (g *cached) calmEvent() {
	g.event("gala", `"line":"always"`, `"rules":{"maxActive":20,"admitPerSecond":20,"pickupSeconds":60}`)
}

// Ten times the people who wait, and Foyer hears of hardly more: each asks the cache.
func TestTenTimesTheWaitersAskFoyerHardlyMoreBehindACache(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	g := newCached(t)
	g.calmEvent()
	few, many := g.watch(150, 3*time.Second, 5), g.watch(1500, 3*time.Second, 5)
	t.Logf("per second: 150 wait: %+v; 1500 wait: %+v", few, many)
	if many.statuses > 3*few.statuses+5 {
		t.Errorf("with 1500 waiting Foyer is asked for the status %.1f times a second, with 150 %.1f times", many.statuses, few.statuses)
	}
	if many.others > 3*few.others+20 {
		t.Errorf("with 1500 waiting Foyer is asked %.1f times a second for places, with 150 %.1f times", many.others, few.others)
	}
	if few.called == 0 || many.called == 0 {
		t.Error("nobody was called: the line stands")
	}
	if few.aside+many.aside > 0 {
		t.Errorf("%v were called and did not come in time, though their pages were open", few.aside+many.aside)
	}
}

// The figures for docs/line.md.
func TestOriginIsCalmBehindACache(t *testing.T) {
	if *waiters == "" {
		t.Skip("-waiters 200,2000,20000 measures")
	}
	g := newCached(t)
	g.calmEvent()
	for s := range strings.SplitSeq(*waiters, ",") {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		c := g.watch(n, *waitersOf, 1)
		t.Logf("%6d wait: %.1f status requests a second reach Foyer, %.1f others, %.1f turns a second, %v set aside", n, c.statuses, c.others, c.called, c.aside)
	}
}

// B128: a cache in front that follows the standard never makes two people one.
func TestB128NoTwoVisitorsAreOneBehindACache(t *testing.T) {
	g := newCached(t)
	g.event("gala", `"line":"always"`)
	var mu sync.Mutex
	seen := map[string]int{} // cookie or queue id -> visitor
	var run sync.WaitGroup
	for i := range 100 {
		jar, _ := cookiejar.New(nil)
		client := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		run.Go(func() {
			defer client.CloseIdleConnections()
			once := func(what string) {
				mu.Lock()
				defer mu.Unlock()
				if other, met := seen[what]; met {
					t.Errorf("%d and %d share %s", other, i, what)
				}
				seen[what] = i
			}
			g.shellHasNoCookie(client)
			if i%2 == 0 {
				g.sent(client, "POST", "/api/v1/visitors")
				g.sent(client, "POST", "/api/v1/events/gala/queue")
			} else {
				g.sent(client, "POST", "/events/gala/line") // the first brings the cookie, the second the place
				g.sent(client, "POST", "/events/gala/line")
			}
			var place struct{ QueueID string }
			if err := json.Unmarshal(g.sent(client, "GET", "/api/v1/events/gala/queue"), &place); err != nil || place.QueueID == "" {
				t.Errorf("visitor %d has no place: %v", i, err)
			}
			once(place.QueueID)
			req, _ := http.NewRequest("GET", g.url, nil)
			for _, c := range jar.Cookies(req.URL) {
				once(c.Value)
			}
		})
	}
	run.Wait()
	if len(seen) != 200 {
		t.Errorf("100 visitors have %d cookies and places, want 200", len(seen))
	}
}

// sent gives the body of an answer; one with a cookie must say that it is nobody else's.
func (g *cached) sent(client *http.Client, method, path string) []byte {
	req, _ := http.NewRequest(method, g.url+path, nil)
	res, err := client.Do(req)
	if err != nil {
		g.t.Error(err)
		return nil
	}
	defer func() { _ = res.Body.Close() }()
	if len(res.Header["Set-Cookie"]) > 0 && !strings.Contains(res.Header.Get("Cache-Control"), "no-store") {
		g.t.Errorf("%s %s sets a cookie with Cache-Control %q", method, path, res.Header.Get("Cache-Control"))
	}
	body, _ := io.ReadAll(res.Body)
	return body
}

func (g *cached) shellHasNoCookie(client *http.Client) {
	res, err := client.Get(g.url + "/events/gala")
	if err != nil {
		g.t.Error(err)
		return
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK || len(res.Header["Set-Cookie"]) > 0 {
		g.t.Errorf("the waiting page: %s, cookies %q", res.Status, res.Header["Set-Cookie"])
	}
}

// A stream goes through nginx as it is: each event at once, and the end as an end.
func TestAStreamComesThroughNginxAtOnce(t *testing.T) {
	g := newCached(t)
	g.event("gala", `"line":"always"`, `"rules":{"maxActive":1}`)
	w := g.waiting(http.DefaultClient)
	front := &httptest.Server{URL: g.url}
	_, next := g.listenBy(http.DefaultClient, front, "/api/v1/events/gala/queue/"+w.id+"/stream", "X-Visitor", w.credential)
	next()
	if first := placeIn(t, next()); first["status"] != "WAITING" {
		t.Errorf("got %v", first)
	}
	if _, err := g.office.Tick("gala", time.Second); err != nil {
		t.Fatal(err)
	}
	if called := placeIn(t, next()); called["status"] != "READY" {
		t.Errorf("got %v", called)
	}
	g.server.EndStreams()
	for range 5 {
		if next() == "END" {
			return
		}
	}
	t.Error("the stream does not end")
}
