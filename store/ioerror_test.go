//go:build linux

package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"foyer/crash/cutfs"
	"foyer/store"
)

// kept opens what is left of a disk and compares it with what was acknowledged.
// What failed may have happened all the same only when unknown is true.
func (a acts) kept(t *testing.T, what string, left cutfs.Image, unknown bool) {
	t.Helper()
	dir := scratch(t)
	defer os.RemoveAll(dir)
	if err := left.Save(dir); err != nil {
		t.Fatal(err)
	}
	checkLeft(t, what, dir, left)
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Errorf("%s: it does not open again: %v", what, err)
		return
	}
	defer s.Close()
	o := killOffice(s)
	for _, p := range people {
		got, want := stage(o, s, personID(p.name)), a.acked[p.name]
		if got != want && !(unknown && p.name == a.failed && got == want+1) {
			t.Errorf("%s: %s is at stage %d, acknowledged was %d (%s failed)", what, p.name, got, want, a.failed)
		}
	}
}

// finished tells whether the whole script was acknowledged.
func (a acts) finished() bool {
	return !slices.ContainsFunc(people, func(p struct{ name, third string }) bool { return a.acked[p.name] != 3 })
}

// ready is a disk with a house that is open and empty, and no spare pages, so
// that the file grows soon.
func ready(t *testing.T) cutfs.Image {
	t.Helper()
	dir := scratch(t)
	defer os.RemoveAll(dir)
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(makeKillEvent(killOffice(s), 40), s.Close()); err != nil {
		t.Fatal(err)
	}
	m := cutfs.Image{}
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		m[e.Name()] = cutfs.ContentOf(b)
	}
	return withoutSpare(m)
}

// counted runs the script on a disk that works, and gives its calls.
func counted(t *testing.T, h *stageHand, disk cutfs.Image) []cutfs.Call {
	t.Helper()
	d := cutfs.New(disk, 1)
	if a := h.perform(t, "a disk that works", d, 0, func() {}); !a.finished() || len(a.reasons) > 0 {
		t.Fatalf("on a disk that works: %+v", a)
	}
	return d.Calls()
}

// sweep runs many things, a few at a time: they mostly wait.
type sweep struct {
	all  sync.WaitGroup
	turn chan struct{}
}

func newSweep() *sweep { return &sweep{turn: make(chan struct{}, 16)} }

func (w *sweep) run(f func()) {
	w.turn <- struct{}{}
	w.all.Go(func() {
		defer func() { <-w.turn }()
		f()
	})
}

func (w *sweep) wait() { w.all.Wait() }

// fault is what a disk does wrong at its n-th call of a kind.
type fault struct {
	name    string
	is      func(cutfs.Call) bool
	verdict cutfs.Verdict
	final   bool   // the store must not write again before it is opened anew
	either  bool   // or it may, when the file does not show what was refused
	remedy  string // what the reason must say
}

const (
	freeSpace  = "free some space"
	startAgain = "start foyer again"
)

func isRows(c cutfs.Call) bool { return c.Kind == cutfs.Write && c.Off >= metaPages }
func isMeta(c cutfs.Call) bool { return c.Kind == cutfs.Write && c.Off < metaPages }
func isGrow(c cutfs.Call) bool { return c.Kind == cutfs.Grow }
func isSync(c cutfs.Call) bool { return c.Kind == cutfs.Sync }

// A refused write of a meta page is final also for want of space when the file
// shows the new page all the same: over FUSE the page cache may have it although
// the disk has not, as with other file systems that write through.
var faults = [...]fault{
	{"rows find no space", isRows, cutfs.Verdict{Fail: syscall.ENOSPC}, false, false, freeSpace},
	{"rows find space for a part", isRows, cutfs.Verdict{Fail: syscall.ENOSPC, Through: 1000}, false, false, freeSpace},
	{"growth finds no space", isGrow, cutfs.Verdict{Fail: syscall.ENOSPC}, false, false, freeSpace},
	{"meta page finds no space", isMeta, cutfs.Verdict{Fail: syscall.ENOSPC}, true, true, ""},
	{"meta page finds space for a part", isMeta, cutfs.Verdict{Fail: syscall.ENOSPC, Through: 1000}, true, false, startAgain},
	{"rows cannot be written", isRows, cutfs.Verdict{Fail: syscall.EIO}, true, false, startAgain},
	{"meta page cannot be written", isMeta, cutfs.Verdict{Fail: syscall.EIO}, true, false, startAgain},
	{"sync fails", isSync, cutfs.Verdict{Fail: syscall.EIO}, true, false, startAgain},
	{"sync fails and all was kept", isSync, cutfs.Verdict{Fail: syscall.EIO, Keep: 1}, true, false, startAgain},
	{"sync finds no space", isSync, cutfs.Verdict{Fail: syscall.ENOSPC, Keep: 0.5}, true, false, startAgain},
}

// TestB86FailingNthWriteSyncOrGrowthLosesNothing fails each write, sync and
// growth of the script in turn. A full disk heals by itself when there is space
// again; after a failed sync nothing is written or synced any more.
func TestB86FailingNthWriteSyncOrGrowthLosesNothing(t *testing.T) {
	h := newStageHand(t)
	disk := ready(t)
	calls := counted(t, h, disk)
	began := time.Now()
	all := newSweep()
	var hits [len(faults)]atomic.Int64
	var most [len(faults)]int
	for i, f := range faults {
		for _, c := range calls {
			if f.is(c) {
				most[i]++
			}
		}
		for n := range most[i] + 2 {
			all.run(func() {
				if h.fails(t, disk, f, n+1) {
					hits[i].Add(1)
				}
			})
		}
	}
	all.wait()
	for i, f := range faults {
		n := int(hits[i].Load())
		if n == 0 || n < most[i]-1 || n == most[i]+2 { // how rows fall on pages is not always the same
			t.Errorf("%s: %d of %d calls were hit", f.name, n, most[i])
		}
		t.Logf("%s, at each of %d calls in turn", f.name, n)
	}
	t.Logf("in %v", time.Since(began).Round(time.Millisecond))
}

// fails plays one fault and tells whether the script came to it.
func (h *stageHand) fails(t *testing.T, disk cutfs.Image, f fault, n int) (hit bool) {
	t.Helper()
	d := cutfs.New(disk, uint64(n))
	passed, at := 0, 0
	d.Judge(func(c cutfs.Call) (v cutfs.Verdict) {
		if f.is(c) {
			if passed++; passed == n || passed > n && !f.final {
				v, at = f.verdict, c.Total
			}
		}
		return v
	})
	patience := 8 * time.Second
	if f.final {
		patience = 0
		if n%5 == 0 {
			patience = 1300 * time.Millisecond // longer than the store waits before it tries again
		}
	}
	what := fmt.Sprintf("%s, no. %d", f.name, n)
	a := h.perform(t, what, d, patience, func() {
		if !f.final { // there is space again
			time.AfterFunc(50*time.Millisecond, func() { d.Judge(nil) })
		}
	})
	d.Judge(nil)
	a.told(t, what, f, n, at > 0)
	if calls := d.Calls(); f.final && !f.either && at > 0 && len(calls) > at {
		t.Errorf("%s: afterwards the file was used as if nothing had been: %v", what, calls[at:])
	}
	a.kept(t, what, d.Written(), f.final)
	d.Cut()
	a.kept(t, what, d.Left(cutfs.Loss{}, 1), f.final)
	return at > 0
}

// told holds what was said of the n-th fault to what is true of it. The first
// writes are those of opening the file and the last those of closing it.
func (a acts) told(t *testing.T, what string, f fault, n int, hit bool) {
	t.Helper()
	if a.finished() && len(a.reasons) == 0 && a.broken == "" {
		return // not hit, or at a time when nobody waited
	}
	switch {
	case !hit:
		t.Errorf("%s: it never came to that, and still: %+v", what, a)
	case a.broken != "":
		if strings.Contains(a.broken, "\n") || !strings.Contains(a.broken, "foyer.db") || n > 2 {
			t.Errorf("%s: it did not open: %s", what, a.broken)
		}
	case len(a.reasons) == 0:
		t.Errorf("%s: nobody was told why", what)
	case a.finished() == f.final && !f.either:
		t.Errorf("%s: final is %v, and acknowledged were %v; reasons %q", what, f.final, a.acked, a.reasons)
	}
	for _, r := range a.reasons {
		if !strings.Contains(r, f.remedy) {
			t.Errorf("%s: the reason %q does not say %q", what, r, f.remedy)
		}
	}
}
