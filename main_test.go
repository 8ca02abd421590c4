package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// world is a command line in a folder of its own.
type world struct {
	t        *testing.T
	dir      string
	env      map[string]string
	out, err lockedBuffer
}

func newWorld(t *testing.T) *world {
	return &world{t: t, dir: t.TempDir(), env: map[string]string{}}
}

// lockedBuffer is written by a running foyer while the test reads.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (w *world) program() program {
	return program{&w.out, &w.err, func(k string) (string, bool) { v, ok := w.env[k]; return v, ok }}
}

// run runs a command to its end.
func (w *world) run(args ...string) int {
	w.t.Helper()
	w.out, w.err = lockedBuffer{}, lockedBuffer{}
	return run(w.t.Context(), w.program(), args)
}

func (w *world) file(name, content string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// start runs a serving command until stop is called; it returns the address.
func (w *world) start(args ...string) (url string, stop func() int) {
	w.t.Helper()
	w.out, w.err = lockedBuffer{}, lockedBuffer{}
	ctx, cancel := context.WithCancel(context.Background())
	code := make(chan int, 1)
	go func() { code <- run(ctx, w.program(), args) }()
	deadline := time.After(20 * time.Second)
	for {
		if _, after, ok := strings.Cut(w.out.String(), "listens on "); ok && strings.Contains(after, "\n") {
			url, _, _ = strings.Cut(after, "\n")
			break
		}
		select {
		case c := <-code:
			cancel()
			w.t.Fatalf("foyer %v ended with %d: %s", args, c, w.err.String())
		case <-deadline:
			cancel()
			w.t.Fatalf("foyer %v does not listen: %s", args, w.err.String())
		case <-time.After(5 * time.Millisecond):
		}
	}
	stop = sync.OnceValue(func() int {
		cancel()
		select {
		case c := <-code:
			return c
		case <-time.After(20 * time.Second):
			w.t.Error("foyer does not stop")
			return -1
		}
	})
	w.t.Cleanup(func() { stop() })
	return url, stop
}

func TestWrongUseIsOneSentenceAndExitCode2(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	w := newWorld(t)
	aFile := w.file("a-file", "")
	free := []string{"serve", "--addr", "127.0.0.1:0", "--data"}
	for name, c := range map[string]struct {
		env  string
		args []string
		say  string
	}{
		"no command":                          {"", nil, ""},
		"unknown command":                     {"", []string{"sell"}, `there is no command "sell"`},
		"unknown flag":                        {"", []string{"serve", "--port", "1"}, "not defined: -port"},
		"bad value":                           {"", []string{"serve", "--tick", "soon"}, "invalid value for --tick: must be a duration such as 1s"},
		"bad value in environment":            {"FOYER_TICK=soon", []string{"serve"}, "invalid value for FOYER_TICK: must be a duration such as 1s"},
		"stray argument":                      {"", []string{"serve", "now"}, `takes no argument "now"`},
		"busy port":                           {"", []string{"serve", "--addr", busy.Addr().String(), "--data", filepath.Join(w.dir, "x")}, "is taken by another program"},
		"busy metrics port":                   {"", append(free, filepath.Join(w.dir, "x"), "--metrics", busy.Addr().String()), "is taken by another program"},
		"folder is a file":                    {"", append(free, aFile), "cannot make the folder"},
		"no address":                          {"", []string{"serve", "--addr", "8080"}, "must be HOST:PORT"},
		"password in a bad sink":              {"", []string{"serve", "--sink", "https://user:hunter2@example.org/hook"}, "invalid value for --sink: entry 1 must be TOPIC=URL"},
		"password in a bad sink's address":    {"", []string{"serve", "--sink", "*=user:hunter2@example.org/hook"}, "invalid value for --sink: "},
		"password in a bad sink, env":         {"FOYER_SINK=*=log: https://user:hunter2@example.org/hook", []string{"serve"}, "invalid value for FOYER_SINK: entry 2 must be TOPIC=URL"},
		"password in a bad base url":          {"", []string{"serve", "--base-url", "ftp://user:hunter2@example.org"}, "--base-url must be"},
		"password for a flag of another kind": {"FOYER_RATE_LIMIT=hunter2", []string{"serve"}, "invalid value for FOYER_RATE_LIMIT: must be a whole number"},
		"password for a switch":               {"", []string{"serve", "--http2=hunter2"}, "invalid value for --http2: must be true or false"},
		"password in a bad network":           {"FOYER_ALLOW_TARGETS=hunter2", []string{"serve"}, "entry 1 is no network"},
		"password in a stray argument":        {"", []string{"serve", "*=https://user:hunter2@example.org"}, "takes no argument like the one given"},
		"bad base url":                        {"", []string{"serve", "--base-url", "example.org"}, "--base-url"},
		"demo without secret":                 {"", []string{"serve", "--demo-provider"}, "FOYER_DEMO_SECRET"},
		"bad secret":                          {"FOYER_WEBHOOK_SECRET=whsec_short", []string{"serve"}, "FOYER_WEBHOOK_SECRET"},
		"stripe without secret":               {"FOYER_STRIPE_KEY=sk_test_hunter2", []string{"serve"}, "needs FOYER_STRIPE_WEBHOOK_SECRET: make an endpoint"},
		"stripe without key":                  {"FOYER_STRIPE_WEBHOOK_SECRET=whsec_hunter2hunter2hunter2", []string{"serve"}, "needs FOYER_STRIPE_KEY: set"},
		"stripe with a browser's key":         {"FOYER_STRIPE_WEBHOOK_SECRET=whsec_hunter2hunter2hunter2\nFOYER_STRIPE_KEY=pk_test_hunter2", []string{"serve"}, "pk_... is for browsers"},
		"stripe with a bad secret":            {"FOYER_STRIPE_WEBHOOK_SECRET=hunter2\nFOYER_STRIPE_KEY=sk_test_hunter2", []string{"serve"}, "secret 1 must be whsec_..."},
		"stripe at no address":                {"FOYER_STRIPE_WEBHOOK_SECRET=whsec_hunter2hunter2hunter2\nFOYER_STRIPE_KEY=sk_test_hunter2\nFOYER_STRIPE_URL=hunter2", []string{"serve"}, "FOYER_STRIPE_URL must be"},
		"a widget without a secret":           {"FOYER_TURNSTILE_SITE_KEY=hunter2", []string{"serve"}, "FOYER_TURNSTILE_SITE_KEY and FOYER_TURNSTILE_SECRET belong together"},
		"a widget without a site key":         {"FOYER_HCAPTCHA_SECRET=hunter2", []string{"serve"}, "FOYER_HCAPTCHA_SITE_KEY and FOYER_HCAPTCHA_SECRET belong together"},
		"a widget at no address":              {"FOYER_HCAPTCHA_SECRET=hunter2\nFOYER_HCAPTCHA_SITE_KEY=x\nFOYER_HCAPTCHA_URL=hunter2", []string{"serve"}, "FOYER_HCAPTCHA_URL must be"},
		"short admin key":                     {"FOYER_ADMIN_KEY=short", []string{"serve"}, "at least 8"},
		"bad sink":                            {"", []string{"serve", "--sink", "order.paid"}, "TOPIC=URL"},
		"unknown topic":                       {"", []string{"serve", "--sink", "order.payed=log:"}, "the topics are order.paid"},
		"sink without host":                   {"", []string{"serve", "--sink", "*=ftp://x"}, "http or https"},
		"sink without sender":                 {"", []string{"serve", "--sink", "*=smtp://ann:hunter2@mail.example"}, "the address needs ?from="},
		"sink without topic":                  {"", []string{"serve", "--sink", "*=kafka://ann:hunter2@h?tls=1"}, "the name of a topic"},
		"sink without subject":                {"", []string{"serve", "--sink", "*=nats://ann:hunter2@h/>"}, "without * and >"},
		"sink in no place":                    {"", []string{"serve", "--sink", "*=file:hunter2"}, "the absolute path"},
		"one sink, two passwords":             {"", []string{"serve", "--sink", "*=nats://ann:hunter2@h/x", "--sink", "*=nats://ann:hunter22@h/x"}, "another user or password"},
		"bad network":                         {"", []string{"serve", "--trusted-proxies", "10.0.0.0/99"}, "is no network"},
		"bad rate limit":                      {"", []string{"serve", "--rate-limit", "-1"}, "--rate-limit"},
		"plan without word":                   {"", []string{"plan", "x.csv"}, "plan check FILE"},
		"duration of a lane":                  {"", []string{"lane", "set", "K", "--interval=nonsense"}, "invalid value for --interval: must be a duration"},
		"duration without unit":               {"", []string{"lane", "set", "K", "--deadline=0"}, "invalid value for --deadline: must be a duration"},
		"lane of nobody":                      {"", []string{"lane", "set", "K", "--concurrency=0"}, "must be a whole number from 1 to 1000"},
		"tries of a lane":                     {"", []string{"lane", "set", "K", "--attempts=1001"}, "must be a whole number from 0 to 1000"},
		"no lane":                             {"", []string{"lane", "show", ""}, "KEY is empty"},
		"no message":                          {"", []string{"outbox", "show", ""}, "use outbox list"},
		"event without word":                  {"", []string{"event"}, "event create [flags] FILE"},
		"version with argument":               {"", []string{"version", "1"}, "no arguments"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for line := range strings.SplitSeq(c.env, "\n") {
				if k, v, ok := strings.Cut(line, "="); ok {
					w.env[k] = v
				}
			}
			if code := w.run(c.args...); code != exitUsage {
				t.Errorf("exit code %d, want %d", code, exitUsage)
			}
			said := w.err.String()
			if c.say != "" && (!strings.Contains(said, c.say) || strings.Count(strings.TrimSpace(lastLine(said)), "\n") > 0) {
				t.Errorf("said %q, want one sentence with %q", said, c.say)
			}
			if strings.Contains(said, "whsec_short") || strings.Contains(said, "hunter2") || strings.Contains(said, "goroutine") {
				t.Errorf("said too much: %q", said)
			}
		})
	}
}

// lastLine is what a person reads last: before it only log lines may stand.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

func TestBadFileIsExitCode1(t *testing.T) {
	w := newWorld(t)
	w.file("foyer.db", "")
	if code := w.run("serve", "--addr", "127.0.0.1:0", "--data", w.dir); code != exitFile {
		t.Errorf("exit code %d, want %d: %s", code, exitFile, w.err.String())
	}
	if !strings.Contains(w.err.String(), "is empty") {
		t.Errorf("said %q", w.err.String())
	}
	bad := w.file("bad.csv", "zone,row,seat,category\nStalls,A,1,\n")
	if code := w.run("plan", "check", bad); code != exitFile || !strings.Contains(w.out.String(), "line 2") {
		t.Errorf("plan check: exit code %d, said %q", code, w.out.String())
	}
	if code := w.run("plan", "check", filepath.Join(w.dir, "none.csv")); code != exitFile || !strings.Contains(w.err.String(), "cannot read") {
		t.Errorf("plan check of nothing: exit code %d, said %q", code, w.err.String())
	}
}

func TestSecondFoyerOnTheSameFolderIsRefused(t *testing.T) {
	w := newWorld(t)
	_, stop := w.start("serve", "--addr", "127.0.0.1:0", "--data", w.dir)
	other := newWorld(t)
	if code := other.run("serve", "--addr", "127.0.0.1:0", "--data", w.dir); code != exitUsage || !strings.Contains(other.err.String(), "open in another foyer") {
		t.Errorf("exit code %d, said %q", code, other.err.String())
	}
	if code := other.run("event", "list", "--data", w.dir); code != exitUsage || !strings.Contains(other.err.String(), "--server") {
		t.Errorf("event list: exit code %d, said %q", code, other.err.String())
	}
	if code := stop(); code != exitOK {
		t.Errorf("the first one ended with %d: %s", code, w.err.String())
	}
}

func TestEventsAreMadeAndListedWithAndWithoutAServer(t *testing.T) {
	w := newWorld(t)
	plan := w.file("plan.csv", "zone,row,seat,category\nStalls,A,1,Stalls\n")
	event := func(id string) string {
		return w.file(id+".json", `{"id":"`+id+`","name":"Evening `+id+`","prices":{"Stalls":100}}`)
	}
	data := filepath.Join(w.dir, "data")
	if code := w.run("event", "create", "--data", data, "--plan", plan, event("one")); code != exitOK {
		t.Fatalf("create: %d, %s", code, w.err.String())
	}
	if code := w.run("event", "create", "--data", data, event("one")); code != exitFile || !strings.Contains(w.err.String(), "already") {
		t.Errorf("create twice: %d, %s", code, w.err.String())
	}
	w.env["FOYER_ADMIN_KEY"] = "a key for this test"
	url, stop := w.start("serve", "--addr", "127.0.0.1:0", "--data", data)
	cli := newWorld(t)
	cli.env["FOYER_ADMIN_KEY"] = "a key for this test"
	if code := cli.run("event", "create", "--server", url, "--plan", plan, event("two")); code != exitOK {
		t.Fatalf("create there: %d, %s", code, cli.err.String())
	}
	if code := cli.run("event", "list", "--server", url); code != exitOK || !strings.Contains(cli.out.String(), "Evening one") || !strings.Contains(cli.out.String(), "Evening two") {
		t.Errorf("list there: %d, %s%s", code, cli.out.String(), cli.err.String())
	}
	cli.env["FOYER_ADMIN_KEY"] = "another key"
	if code := cli.run("event", "list", "--server", url); code != exitFile || cli.err.String() == "" {
		t.Errorf("list with a wrong key: %d, %s", code, cli.err.String())
	}
	stop()
	if code := w.run("event", "list", "--data", data); code != exitOK || strings.Count(w.out.String(), "OPEN ") != 2 {
		t.Errorf("list: %d, %s", code, w.out.String())
	}
}

func TestFirstStartPrintsTheAdminKeyOnce(t *testing.T) {
	w := newWorld(t)
	url, stop := w.start("serve", "--addr", "127.0.0.1:0", "--data", w.dir)
	_, after, ok := strings.Cut(w.out.String(), "): ")
	key, _, _ := strings.Cut(after, "\n")
	if !ok || key == "" {
		t.Fatalf("no key in %q", w.out.String())
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/v1/admin/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("the printed key gets %d", res.StatusCode)
	}
	if strings.Contains(w.err.String(), key) {
		t.Error("the key is in the log")
	}
	stop()
	w.start("serve", "--addr", "127.0.0.1:0", "--data", w.dir)
	if strings.Contains(w.out.String(), "Admin key") {
		t.Errorf("the second start prints a key: %q", w.out.String())
	}
}

func TestDemoGoesOnWhereItWas(t *testing.T) {
	w := newWorld(t)
	data := filepath.Join(w.dir, "demo")
	url, stop := w.start("demo", "--addr", "127.0.0.1:0", "--data", data)
	number := func() (n struct{ Frontier, Waiting int }) {
		get(t, url+"/api/v1/events/gala/status", &n)
		return n
	}
	password := func() string {
		_, after, _ := strings.Cut(w.out.String(), "password ")
		p, _, _ := strings.Cut(after, "\n")
		return p
	}
	waitFor(t, "the events are there", func() bool { return password() != "" })
	waitFor(t, "the crowd moves", func() bool { n := number(); return n.Waiting > 1000 && n.Frontier > 20 })
	before := number()
	first := password()
	if code := stop(); code != exitOK {
		t.Fatalf("demo ended with %d: %s", code, w.err.String())
	}
	url, _ = w.start("demo", "--addr", "127.0.0.1:0", "--data", data)
	waitFor(t, "the events are there", func() bool { return password() != "" })
	if after := number(); after.Frontier < before.Frontier {
		t.Errorf("frontier %d after the restart, %d before", after.Frontier, before.Frontier)
	}
	if password() != first {
		t.Error("the password is another one after the restart")
	}
}

func get(t *testing.T, url string, into any) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s %v", url, res.Status, err)
	}
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatal(err)
	}
}

// waitFor looks until it is so; a hundred times a second, at most 20 s.
func waitFor(t *testing.T, what string, so func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for !so() {
		select {
		case <-deadline:
			t.Fatalf("it never came to it that %s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestVersionAndHelp(t *testing.T) {
	w := newWorld(t)
	if code := w.run("version"); code != exitOK || !strings.HasPrefix(w.out.String(), "foyer ") {
		t.Errorf("version: %d, %q", code, w.out.String())
	}
	if w.run("demo", "--help"); !strings.Contains(strings.Join(strings.Fields(w.out.String()), " "), "except in a demo (default true)") {
		t.Errorf("the demo does not say that it has its provider: %s", w.out.String())
	}
	for _, args := range [][]string{{"help"}, {"serve", "--help"}, {"demo", "-h"}, {"event", "--help"}, {"plan", "--help"}, {"check", "--help"}, {"lane", "--help"}, {"outbox", "--help"}, {"report", "--help"}} {
		if code := w.run(args...); code != exitOK || len(w.out.String()) < 100 {
			t.Errorf("foyer %v: %d, %q", args, code, w.out.String())
		}
	}
}

func TestSentenceLeavesWordsWhole(t *testing.T) {
	for in, want := range map[string]string{
		"sale: bad":                              "bad",
		"store: seats: bad; webhook: worse":      "bad; worse",
		"a draw has no presale: it is one":       "a draw has no presale: it is one",
		"cannot read plan.csv: seats: no header": "cannot read plan.csv: no header",
	} {
		if got := sentence(errors.New(in)); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
