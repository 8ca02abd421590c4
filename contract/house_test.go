package contract

import (
	"bytes"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	adminKey = "an admin key for tests"
	patience = 20 * time.Second // how long a thing that must happen may take on a busy machine
)

var (
	hookSecret = "whsec_" + base64.StdEncoding.EncodeToString([]byte("what goes out is signed by this."))
	demoSecret = "whsec_" + base64.StdEncoding.EncodeToString([]byte("what comes in is signed by this."))

	binary string // the program under test
	shared *house // one that runs for all tests that need nothing special
)

// TestMain lets many tests run at once, as most only wait for a deadline.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	for _, v := range os.Environ() { // settings of whoever runs the tests are not those of the houses
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "FOYER_") {
			_ = os.Unsetenv(name)
		}
	}
	os.Exit(runAll(m))
}

// TestSourcesAreThere reads the program's sources, so that go test does not show
// an old result after they have changed: it sees which files a test opens, not
// what a program started by it is made of.
func TestSourcesAreThere(t *testing.T) {
	read := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		switch filepath.Ext(path) {
		case ".go", ".mod", ".html", ".css", ".js", ".yaml":
			_, err = os.ReadFile(path)
			read++
		}
		return err
	})
	if err != nil || read < 50 {
		t.Errorf("read %d sources, %v", read, err)
	}
}

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "foyer-contract-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "foyer")
	if out, err := exec.Command("go", "build", "-o", binary, "..").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	shared = &house{dir: filepath.Join(dir, "data"), sink: newSink(), args: []string{"--rate-limit", "0"}}
	if err := shared.start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer shared.kill()
	code := m.Run()
	if text := shared.log.String(); code == 0 && strings.Contains(text, "panic") {
		fmt.Fprintln(os.Stderr, "the log speaks of a panic:\n", text)
		return 1
	}
	return code
}

// house is one foyer, running or not, with its folder and its receiver of messages.
type house struct {
	dir  string
	sink *sink
	args []string // beyond those every test needs
	bare bool     // without any setting that can be left out

	addr string // HOST:PORT; chosen at the first start and kept
	cmd  *exec.Cmd
	log  *buffer // standard output and error of all its runs
	done chan struct{}
}

// newHouse starts a program for one test alone.
func newHouse(t *testing.T, args ...string) *house {
	t.Helper()
	h := &house{dir: filepath.Join(t.TempDir(), "data"), sink: newSink(), args: args}
	t.Cleanup(func() {
		h.sink.server.Close()
		if len(h.sink.faults) > 0 {
			t.Errorf("wrong in messages: %v", h.sink.faults)
		}
	})
	t.Cleanup(h.kill)
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *house) command() *exec.Cmd {
	if h.bare {
		return exec.Command(binary, "serve", "--addr", h.addr, "--data", h.dir)
	}
	args := []string{"serve", "--addr", h.addr, "--data", h.dir, "--demo-provider", "--sink", "*=" + h.sink.server.URL}
	cmd := exec.Command(binary, append(args, h.args...)...)
	cmd.Env = append(os.Environ(), "FOYER_ADMIN_KEY="+adminKey, "FOYER_DEMO_SECRET="+demoSecret, "FOYER_WEBHOOK_SECRET="+hookSecret)
	return cmd
}

// start runs the program and returns when it is ready.
func (h *house) start() error {
	if h.log == nil {
		h.log = &buffer{}
	}
	first := h.addr == ""
	for try := 0; ; try++ {
		if first {
			h.addr = freePort()
		}
		h.cmd = h.command()
		h.cmd.Stdout, h.cmd.Stderr = h.log, h.log
		if err := h.cmd.Start(); err != nil {
			return err
		}
		h.done = make(chan struct{})
		go func(cmd *exec.Cmd, done chan struct{}) { _ = cmd.Wait(); close(done) }(h.cmd, h.done)
		err := h.ready()
		if err == nil || !first || try == 3 { // a first port may be taken between the choice and the start
			return err
		}
		h.kill()
	}
}

func (h *house) ready() error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		select {
		case <-h.done:
			return fmt.Errorf("foyer ended with %v:\n%s", h.cmd.ProcessState, h.log)
		case <-time.After(10 * time.Millisecond):
		}
		res, err := http.Get(h.url() + "/readyz")
		if err != nil {
			continue
		}
		res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return nil
		}
	}
	return errors.New("foyer does not get ready")
}

func (h *house) url() string { return "http://" + h.addr }

// kill ends the program the way a power cut does.
func (h *house) kill() {
	if h.cmd != nil {
		_ = h.cmd.Process.Kill()
		<-h.done
	}
}

// stop asks the program to end and returns its exit code and how long it took.
func (h *house) stop(t *testing.T) (code int, took time.Duration) {
	t.Helper()
	asked := time.Now()
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-h.done:
	case <-time.After(patience):
		t.Fatal("foyer does not stop on SIGTERM")
	}
	return h.cmd.ProcessState.ExitCode(), time.Since(asked)
}

// ports are below those that the kernel gives to outgoing connections, which
// would take the port of a program between its end and its next start.
var ports atomic.Int64

func freePort() string {
	for {
		addr := fmt.Sprintf("127.0.0.1:%d", 10000+(int64(os.Getpid())*61+ports.Add(1))%20000)
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			return addr
		}
	}
}

// buffer is written by a running program while a test reads.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// until polls ok until it holds.
func until(t *testing.T, what string, within time.Duration, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", within, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// together runs n functions that start at one moment and waits for all.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	gun := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-gun
			f(i)
		})
	}
	close(gun)
	wg.Wait()
}

// each runs f for every i below n, a few at a time.
func each(n int, f func(i int)) {
	var next atomic.Int64
	together(min(n, 16), func(int) {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			f(i)
		}
	})
}
