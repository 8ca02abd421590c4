package contract

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// smallDisk mounts a file system of 32 MB for one test: ext4 in a file where the
// machine allows it, otherwise one in memory.
func smallDisk(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("this test fills a small file system of its own, which takes Linux and root to mount")
	}
	dir, image := t.TempDir(), filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mounted := func(commands ...[]string) error {
		for _, c := range commands {
			if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
				return errors.New(strings.Join(c, " ") + ": " + err.Error() + " " + string(out))
			}
		}
		return nil
	}
	err := errors.Join(os.Truncate(image, 32<<20), mounted([]string{"mkfs.ext4", "-q", "-F", image}, []string{"mount", "-o", "loop", image, dir}))
	if err != nil {
		t.Logf("no ext4: %v", err)
		if err := mounted([]string{"mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", dir}); err != nil {
			t.Skipf("this test fills a small file system of its own, and none can be mounted here: %v", err)
		}
	}
	t.Cleanup(func() {
		if err := mounted([]string{"umount", dir}); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill leaves no space on a disk, and gives the way out.
func fill(t *testing.T, disk string) (lift func()) {
	t.Helper()
	path := filepath.Join(disk, "ballast")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size >= 1024; {
		switch _, err := f.Write(make([]byte, size)); {
		case errors.Is(err, syscall.ENOSPC):
			size /= 4
		case err != nil:
			t.Fatal(err)
		}
	}
	_ = f.Sync() // whatever it says: what was reserved is taken
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// houseOn starts a program with its folder, and its log, on a disk.
func houseOn(t *testing.T, disk string) *house {
	t.Helper()
	h := &house{dir: filepath.Join(disk, "data"), sink: newSink(), args: []string{"--rate-limit", "0"}}
	t.Cleanup(h.sink.server.Close)
	t.Cleanup(h.kill)
	h.addr, h.log, h.done = freePort(), &buffer{}, make(chan struct{})
	log, err := os.Create(filepath.Join(disk, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	h.cmd = h.command()
	h.cmd.Stdout, h.cmd.Stderr = h.log, log
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = h.cmd.Wait(); close(h.done) }()
	if err := h.ready(); err != nil {
		t.Fatal(err)
	}
	return h
}

// joins tries to join and gives the answer; what is acknowledged goes into the ledger.
func (l *ledger) joins(t *testing.T, e event) answer {
	t.Helper()
	p := e.person(t)
	a := p.join(t)
	if a.status == http.StatusCreated {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.places[p.queueId], l.number[p.queueId] = p, a.number("number")
	}
	return a
}

func TestB85SpaceIsGoneAndComesBack(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	h := houseOn(t, disk)
	e := eventOf(t, h, 4000, nil)
	watcher := e.joined(t)
	stream, _ := watcher.stream(t)
	held := e.buyer(t).holds(t, "A-4000")
	l := newLedger()
	var seat atomic.Int64
	crowd := func(until func() bool) {
		t.Helper()
		stop := make(chan struct{})
		wg := l.crowd(t, e, 4, &seat, stop) // each of them ends with his first refusal
		gone := make(chan struct{})
		go func() { wg.Wait(); close(gone) }()
		for deadline := time.Now().Add(patience); !until() && time.Now().Before(deadline); {
			select {
			case <-gone:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
		close(stop)
		<-gone
	}
	crowd(func() bool { return seat.Load() > 60 })
	if seat.Load() <= 60 {
		t.Fatalf("%d seats were asked for; the crowd did too little", seat.Load())
	}

	lift := fill(t, disk)
	before := time.Now()
	crowd(func() bool { return false })
	refused, unready := 0, 0
	for end := before.Add(patience); time.Now().Before(end) && (refused < 3 || unready < 3) && !t.Failed(); {
		// Rows that fit on pages the file has already are still taken: that is true then, and no lie.
		if a := l.joins(t, e); a.status != http.StatusCreated {
			a.refused(t, http.StatusServiceUnavailable, "unavailable")
			refused++
			for _, want := range []string{"no space left on device", "free some space", "Nothing was changed"} {
				if !strings.Contains(a.text("detail"), want) {
					t.Errorf("the refusal %q does not say %q", a.text("detail"), want)
				}
			}
			if a.header.Get("Retry-After") == "" {
				t.Error("the refusal does not say when to try again")
			}
		}
		if a := h.call(t, "GET", "/readyz", nil); a.status != http.StatusOK {
			unready++
			if a.want(t, http.StatusServiceUnavailable); !strings.Contains(a.body, "no space left on device") {
				t.Errorf("/readyz says %q", a.body)
			}
		}
		h.call(t, "GET", "/healthz", nil).want(t, http.StatusOK)
		watcher.place(t).want(t, http.StatusOK)
		held.get(t).want(t, http.StatusOK)
		e.get(t, "/seats").want(t, http.StatusOK)
		h.call(t, "GET", "/events/"+e.id, nil).want(t, http.StatusOK)
	}
	if refused == 0 || unready == 0 { // after the first, what still fits may be taken for as long as the file has pages to spare
		t.Fatalf("on the full disk %d acts were refused and /readyz said so %d times", refused, unready)
	}
	t.Logf("%d refusals within %v of the last free block", refused, time.Since(before).Round(time.Millisecond))

	lift()
	freed := time.Now()
	until(t, "writing again after space is free", patience, func() bool { return h.call(t, "GET", "/readyz", nil).status == http.StatusOK })
	t.Logf("%v after space was free writing worked again", time.Since(freed).Round(time.Millisecond))
	l.joins(t, e).want(t, http.StatusCreated)
	sold := seat.Load()
	crowd(func() bool { return seat.Load() > sold+20 })
	for open := true; open; {
		select {
		case _, ok := <-stream:
			if !ok {
				t.Error("the stream has ended")
				open = false
			}
		default:
			open = false
		}
	}
	watcher.leave(t)
	line(t, stream, "NOT_ENTERED", patience)
	held.confirm(t, "k", held.money()).want(t, http.StatusOK)
	l.audit(t, e)
	if code, _ := h.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if text, err := os.ReadFile(filepath.Join(disk, "log")); err != nil || !strings.Contains(string(text), `"msg":"stopping"`) {
		t.Errorf("the log was on the full disk, and does not go on: %v\n%s", err, text)
	}
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	l.audit(t, e)
}

// TestStartOnAFullDiskIsASentenceOrWaitsForSpace starts with and without a database there.
func TestStartOnAFullDiskIsASentenceOrWaitsForSpace(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	h := houseOn(t, disk)
	e := eventOf(t, h, 100, nil)
	held := e.buyer(t).holds(t, "A-1")
	h.kill()
	lift := fill(t, disk)

	out, code := ended(t, "serve", "--addr", "127.0.0.1:0", "--data", filepath.Join(disk, "new"))
	if code != 2 || strings.Count(out, "\n") != 1 || !strings.Contains(out, "no space left on device") || !strings.Contains(out, "free some space") ||
		!strings.Contains(out, filepath.Join(disk, "new")) {
		t.Errorf("a first start on a full disk ends with %d and says %q", code, out)
	}

	h.log = &buffer{}
	h.cmd, h.done = h.command(), make(chan struct{})
	h.cmd.Stdout, h.cmd.Stderr = h.log, h.log
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = h.cmd.Wait(); close(h.done) }()
	until(t, "an answer or an end", patience, func() bool {
		select {
		case <-h.done:
			return true
		default:
		}
		a, err := h.try("GET", "/readyz", nil)
		return err == nil && a.status != 0
	})
	t.Logf("a later start on a full disk: %s", h.log)
	lift()
	until(t, "a house that is ready", patience, func() bool {
		a, err := h.try("GET", "/readyz", nil)
		return err == nil && a.status == http.StatusOK
	})
	if got := held.get(t).want(t, http.StatusOK).text("status"); got != "PENDING" {
		t.Errorf("the order is %s, acknowledged was PENDING", got)
	}
}

// ended runs a command that must end by itself, and gives what it says.
func ended(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.Command(binary, args...)
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(b), cmd.ProcessState.ExitCode()
}
