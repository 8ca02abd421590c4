package contract

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// halfJoin sends a join all but its last byte, so that it is under way for as
// long as the test wants.
func (p *person) halfJoin(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.e.h.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nX-Visitor: %s\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{", p.e.path("/queue"), p.e.h.addr, p.credential); err != nil {
		t.Fatal(err)
	}
	return c
}

// signal asks the program to end and returns once it takes no new connections.
func (h *house) signal(t *testing.T) (asked time.Time) {
	t.Helper()
	asked = time.Now()
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until(t, "new connections are refused", patience, func() bool {
		c, err := net.Dial("tcp", h.addr)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	return asked
}

// ended waits for the end of the program and returns when it came.
func (h *house) ended(t *testing.T) time.Time {
	t.Helper()
	select {
	case <-h.done:
	case <-time.After(patience):
		t.Fatalf("foyer does not end:\n%s", h.log)
	}
	return time.Now()
}

func TestSIGTERMEndsStreamsAndLetsRequestsUnderWayFinish(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	e := eventOf(t, h, 4, object{"maxActive": 1})
	e.buyer(t)
	lines, _ := e.joined(t).stream(t)
	line(t, lines, "data:", patience)
	late := e.person(t)
	conn := late.halfJoin(t)
	e.get(t, "/status").want(t, http.StatusOK) // by now the program has read what was sent
	asked := h.signal(t)
	line(t, lines, "retry: ", 2*time.Second)
	until(t, "the end of the stream", patience, func() bool {
		select {
		case _, open := <-lines:
			return !open
		default:
			return false
		}
	})
	if _, err := io.WriteString(conn, "}"); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("a request under way was cut off: %v", err)
	}
	body, _ := io.ReadAll(res.Body)
	a := late.learn(answer{res.StatusCode, res.Header, string(body)}).want(t, http.StatusCreated)
	if !res.Close {
		t.Error("the last answer does not tell that the connection ends")
	}
	if took := h.ended(t).Sub(asked); h.cmd.ProcessState.ExitCode() != 0 || took > 6*time.Second {
		t.Errorf("exit code %d after %v, want 0 within 6 s", h.cmd.ProcessState.ExitCode(), took)
	}
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	if got := late.place(t).want(t, http.StatusOK).number("number"); got != a.number("number") {
		t.Errorf("who joined at the last moment has number %d, was told %d", got, a.number("number"))
	}
}

func TestSIGTERMWaitsForNobodyLongerThanSixSeconds(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	slow := h.sink.hang(t)
	e := eventOf(t, h, 4, nil)
	o := e.buyer(t).bought(t, "A-1")
	slow.taken(t)
	conn := e.person(t).halfJoin(t) // and is never finished
	e.get(t, "/status").want(t, http.StatusOK)
	asked := h.signal(t)
	if took := h.ended(t).Sub(asked); h.cmd.ProcessState.ExitCode() != 0 || took > 7*time.Second {
		t.Errorf("with a request and a receiver that hang: exit code %d after %v, want 0 within 6 s", h.cmd.ProcessState.ExitCode(), took)
	}
	if b, _ := io.ReadAll(conn); strings.Contains(string(b), "201") {
		t.Errorf("half a request was answered with %s", b)
	}
	slow.release()
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	h.sink.sold(t, o.id, 1) // what was not delivered comes after the next start
}

func TestTerminalThatGoesEndsInOrder(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("this process, and so the program, ignores SIGHUP, as under nohup")
	}
	t.Parallel()
	h := newHouse(t)
	if err := h.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	h.ended(t)
	if code := h.cmd.ProcessState.ExitCode(); code != 0 || !strings.Contains(h.log.String(), `"closed"`) {
		t.Errorf("after SIGHUP: exit code %d\n%s", code, h.log)
	}
}

func TestSecondSignalKills(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	e := eventOf(t, h, 4, nil)
	e.person(t).halfJoin(t)
	e.get(t, "/status").want(t, http.StatusOK)
	h.signal(t)
	gone := make(chan struct{})
	go func() { // one that comes before the first is taken is the same to the kernel
		for again := time.NewTicker(50 * time.Millisecond); ; {
			select {
			case <-gone:
				return
			case <-again.C:
				_ = h.cmd.Process.Signal(syscall.SIGTERM) // fails once it is gone
			}
		}
	}()
	h.ended(t)
	close(gone)
	if w, ok := h.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || w.Signal() != syscall.SIGTERM {
		t.Errorf("ended as %v, want by the signal", h.cmd.ProcessState)
	}
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
}
