//go:build failpoint

package store

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// failpoint is what FOYER_FAILPOINT=NAME:N[:ACTION] asks for: at the N-th pass of
// the edge NAME, counted from 1 since the start, the process kills itself, or
//
//	stop    stops itself, until somebody continues or kills it
//	linger  goes on everywhere but at this edge, and kills itself after lingerTime
//	fail    lets the commit fail as a full disk does; at the edge "written" alone
var failpoint struct {
	name, action string
	left         atomic.Int64
}

// lingerTime is long enough for others to see what must not be seen yet.
const lingerTime = 150 * time.Millisecond

func init() {
	name, rest, ok := strings.Cut(os.Getenv("FOYER_FAILPOINT"), ":")
	if !ok {
		return
	}
	count, action, _ := strings.Cut(rest, ":")
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil || n < 1 {
		panic("store: FOYER_FAILPOINT must be NAME:N[:ACTION] with N from 1 on")
	}
	failpoint.name, failpoint.action = name, action
	failpoint.left.Store(n)
}

func edge(name string) { _ = edgeError(name) }

func edgeError(name string) error {
	if name != failpoint.name || failpoint.left.Add(-1) != 0 {
		return nil
	}
	switch failpoint.action {
	case "fail":
		return &fs.PathError{Op: "write", Path: fileName, Err: syscall.ENOSPC}
	case "stop":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		return nil
	case "linger":
		time.Sleep(lingerTime)
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal is on its way
}
