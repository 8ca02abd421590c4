package contract

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"
)

// A log goes through a pipe to a program that may crash or be restarted.
func TestWhoReadsTheLogMayGoAndTheSaleGoesOn(t *testing.T) {
	h := &house{dir: t.TempDir(), addr: freePort(), sink: newSink(), log: &buffer{}, done: make(chan struct{})}
	defer h.sink.server.Close()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	h.cmd = h.command()
	h.cmd.Stdout, h.cmd.Stderr = write, write
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	go func() { _ = h.cmd.Wait(); close(h.done) }()
	defer h.kill()
	if line, err := bufio.NewReader(read).ReadString('\n'); err != nil {
		t.Fatalf("the first line is %q (%v)", line, err)
	}
	if err := read.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 { // each is a line in the log
		if err := h.ready(); err != nil {
			t.Fatal(err)
		}
		res, err := http.Post(h.url()+"/api/v1/visitors", "application/json", nil)
		if err != nil {
			t.Fatalf("a visitor after the reader of the log has gone: %v", err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if res.StatusCode != 201 {
			t.Errorf("a visitor got %s", res.Status)
		}
	}
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-h.done:
	case <-time.After(patience):
		t.Fatal("it does not stop")
	}
	if code := h.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
}
