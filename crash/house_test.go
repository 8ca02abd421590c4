package crash

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	adminKey = "an admin key for the rig"
	patience = 20 * time.Second // how long a thing that must happen may take on a busy machine
)

var (
	hookSecret = "whsec_" + base64.StdEncoding.EncodeToString([]byte("what goes out is signed by this."))
	demoSecret = "whsec_" + base64.StdEncoding.EncodeToString([]byte("what comes in is signed by this."))
)

// house is the program under test, alive or dead, with its folder.
type house struct {
	dir, addr string
	sink      string // where its messages go
	env       []string

	cmd  *exec.Cmd
	log  *tail
	done chan struct{} // closed when the process has ended
}

var errDied = errors.New("the program ended before it was ready")

// start runs the program and returns when it is ready; errDied when it ends
// before, as it may with a failpoint.
func (h *house) start(failpoint string) error {
	h.cmd = exec.Command(binary, "serve", "--addr", h.addr, "--data", h.dir, "--demo-provider", "--sink", "*="+h.sink,
		"--rate-limit", "0", "--tick", "500ms", "--log-requests=false", "--allow-targets", "127.0.0.0/8")
	h.cmd.Env = append(os.Environ(), "FOYER_ADMIN_KEY="+adminKey, "FOYER_DEMO_SECRET="+demoSecret, "FOYER_WEBHOOK_SECRET="+hookSecret,
		"FOYER_FAILPOINT="+failpoint, "GORACE=halt_on_error=1 exitcode=66")
	h.cmd.Env = append(h.cmd.Env, h.env...)
	h.log = &tail{}
	h.cmd.Stdout, h.cmd.Stderr = h.log, h.log
	if err := h.cmd.Start(); err != nil {
		return err
	}
	h.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) { _ = cmd.Wait(); close(done) }(h.cmd, h.done)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		select {
		case <-h.done:
			return fmt.Errorf("%w: %v", errDied, h.cmd.ProcessState)
		case <-time.After(5 * time.Millisecond):
		}
		res, err := http.Get("http://" + h.addr + "/readyz")
		if err != nil {
			continue
		}
		res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return nil
		}
	}
	return fmt.Errorf("the program does not get ready within %v:\n%s", patience, h.log)
}

func (h *house) signal(s syscall.Signal) { _ = h.cmd.Process.Signal(s) }

// ended waits for the end of the process.
func (h *house) ended(within time.Duration) bool {
	select {
	case <-h.done:
		return true
	case <-time.After(within):
		return false
	}
}

// kill ends the process as the kernel does when it needs the memory.
func (h *house) kill() {
	if h.cmd == nil {
		return
	}
	h.signal(syscall.SIGKILL)
	<-h.done
}

// killed tells whether the process ended by SIGKILL.
func (h *house) killed() bool {
	w, ok := h.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && w.Signaled() && w.Signal() == syscall.SIGKILL
}

// checkFile lets the program check the file of a dead house.
func (h *house) checkFile() error {
	if out, err := exec.Command(binary, "check", filepath.Join(h.dir, "foyer.db")).CombinedOutput(); err != nil {
		return fmt.Errorf("foyer check: %w:\n%s", err, out)
	}
	return nil
}

// freePort finds a port below those that the kernel gives to outgoing
// connections, which would take it between an end and the next start.
func freePort() string {
	for port := 10000 + os.Getpid()*61%20000; ; port = 10000 + (port+1)%20000 {
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			return addr
		}
	}
}

// tail keeps the last of what a program wrote.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if over := len(t.b) - 1<<18; over > 0 {
		t.b = t.b[over:]
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}

func (t *tail) has(word string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Contains(t.b, []byte(word))
}

// isStopped tells whether the process was stopped by a signal.
func (h *house) isStopped() bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", h.cmd.Process.Pid))
	if err != nil {
		return false
	}
	_, after, _ := bytes.Cut(raw, []byte(") "))
	return bytes.HasPrefix(after, []byte("T"))
}
