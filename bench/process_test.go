//go:build linux

package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// child is a server in a process of its own, on a port of its own.
type child struct {
	cmd  *exec.Cmd
	port int
	took time.Duration // from its start until it said that it listens
}

// program builds the real program once per run.
var program = sync.OnceValues(func() (string, error) {
	out := filepath.Join(scratch, "foyer")
	args := []string{"build", "-o", out}
	if *profiles != "" {
		overlay, err := profileOverlay()
		if err != nil {
			return "", err
		}
		args = append(args, "-overlay", overlay)
	}
	if said, err := exec.Command("go", append(args, "foyer")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build foyer: %w: %s", err, said)
	}
	return out, nil
})

// profileOverlay lays testdata/profile.go into package main without touching it.
func profileOverlay() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	doc, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(filepath.Dir(here), "bench_profile.go"): filepath.Join(here, "testdata", "profile.go"),
	}})
	if err != nil {
		return "", err
	}
	name := filepath.Join(scratch, "overlay.json")
	return name, os.WriteFile(name, doc, 0o600)
}

// startFoyer starts the program with its default settings, apart from the rate
// limit (all our visitors come from one address), over a folder. Its log goes
// nowhere, after it was encoded and gathered as ever.
func startFoyer(t testing.TB, folder string) *child {
	t.Helper()
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"serve", "--addr", "127.0.0.1:0", "--data", folder, "--rate-limit", "0"}
	cmd := exec.Command(bin, append(args, strings.Fields(*with)...)...)
	cmd.Env = append(os.Environ(), "FOYER_ADMIN_KEY=a-key-for-measuring", "FOYER_BENCH_PROFILE="+profileFile())
	return start(t, cmd)
}

// floorEnv makes this test binary be the floor, see TestMain.
const (
	floorEnv     = "FOYER_BENCH_FLOOR"
	floorPlain   = "1"
	floorGuarded = "guarded" // with time-outs
)

// startFloor starts the bare echo handler.
func startFloor(t testing.TB) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	kind := floorPlain
	if *guarded {
		kind = floorGuarded
	}
	cmd.Env = append(os.Environ(), floorEnv+"="+kind)
	return start(t, cmd)
}

// start starts a server and waits for the line in which it says where it listens.
func start(t testing.TB, cmd *exec.Cmd) *child {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: cmd}
	t.Cleanup(c.stop)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		_, addr, found := strings.Cut(lines.Text(), "listens on http://")
		if !found {
			continue
		}
		c.took = time.Since(began)
		_, port, err := net.SplitHostPort(addr)
		if err == nil {
			c.port, err = strconv.Atoi(port)
		}
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	t.Fatalf("%s does not listen", cmd.Path)
	return nil
}

// stop ends the process, at once: nothing of what it did is needed any more.
func (c *child) stop() {
	if c.cmd.ProcessState == nil {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	}
}

// profileFile is where a program built for it leaves its profile.
func profileFile() string { return filepath.Join(scratch, "cpu.pprof") }

// profile profiles the server while fn runs and keeps the result under name.
func (c *child) profile(t testing.TB, name string, fn func()) {
	t.Helper()
	if *profiles == "" {
		fn()
		return
	}
	_ = c.cmd.Process.Signal(syscall.SIGUSR1)
	fn()
	_ = c.cmd.Process.Signal(syscall.SIGUSR1)
	for until := time.Now().Add(5 * time.Second); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		data, err := os.ReadFile(profileFile())
		if err != nil {
			continue
		}
		_ = os.Remove(profileFile())
		if err := os.WriteFile(filepath.Join(*profiles, name+".pprof"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("no profile of %s came", name)
}

// calm waits until the server has done what it does after its answers (messages
// go out, rows are settled), and returns how long that took.
func (c *child) calm() time.Duration {
	const look = 500 * time.Millisecond
	began := time.Now()
	for before := c.usage().server; time.Since(began) < 2*time.Minute; {
		time.Sleep(look)
		now := c.usage().server
		if now-before < look/8 {
			break
		}
		before = now
	}
	return time.Since(began)
}

// usage is CPU time spent until now.
type usage struct{ server, us, busy, total time.Duration }

// othersSince is the share of the machine that somebody else used since before:
// above a fifth, do not trust the run.
func (u usage) othersSince(before usage) float64 {
	total := u.total - before.total
	if total <= 0 {
		return 0
	}
	return max(0, float64((u.busy-before.busy)-(u.server-before.server)-(u.us-before.us))/float64(total))
}

const clockTick = 10 * time.Millisecond // USER_HZ is 100 on every Linux that Go runs on

func (c *child) usage() usage {
	u := usage{server: processTime(c.cmd.Process.Pid), us: processTime(os.Getpid())}
	u.busy, u.total = machineTime()
	return u
}

// processTime is user and system time of a process (proc(5), /proc/PID/stat,
// fields 14 and 15).
func processTime(pid int) time.Duration {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(raw), ") ") // the name before may hold blanks
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	return ticks(f[11]) + ticks(f[12])
}

// machineTime is the time that all cores were busy, and all there was (proc(5), /proc/stat).
func machineTime() (busy, total time.Duration) {
	raw, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(raw), "\n")
	f := strings.Fields(line)
	for i, s := range f[min(1, len(f)):min(9, len(f))] {
		total += ticks(s)
		if i != 3 && i != 4 { // idle, iowait
			busy += ticks(s)
		}
	}
	return busy, total
}

func ticks(s string) time.Duration {
	n, _ := strconv.ParseInt(s, 10, 64)
	return time.Duration(n) * clockTick
}

// memory is resident memory in bytes (proc(5), /proc/PID/status): the whole
// (VmRSS), and the part of it that is pages of the mapped file (RssFile), which
// the kernel takes back when it needs them.
type memory struct{ whole, file int64 }

func (c *child) memory() (m memory) {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	for line := range strings.Lines(string(raw)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		kb, _ := strconv.ParseInt(f[1], 10, 64)
		switch f[0] {
		case "VmRSS:":
			m.whole = kb << 10
		case "RssFile:":
			m.file = kb << 10
		}
	}
	return m
}
