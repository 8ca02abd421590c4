//go:build linux

package store_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"foyer/crash/cutfs"
)

func TestReadersGoOnWhileASyncIsSlow(t *testing.T) {
	h := newStageHand(t)
	d := cutfs.New(ready(t), 1)
	slow := false
	d.Judge(func(c cutfs.Call) (v cutfs.Verdict) {
		if isSync(c) && c.N == 7 {
			slow, v.Delay = true, slowSync
		}
		return v
	})
	began := time.Now()
	a := h.perform(t, "a slow sync", d, 0, func() {}) // it complains when a reader had to wait
	if took := time.Since(began); !slow || took < slowSync || !a.finished() {
		t.Errorf("a slow sync came: %v; the script took %v and was acknowledged to %v", slow, took, a.acked)
	}
}

// TestErrorWhileTheFileIsMadeLeavesNothingInTheWay fails each call from the
// first on until the house is open, on an empty folder: that call alone, or it
// and all that follow.
func TestErrorWhileTheFileIsMadeLeavesNothingInTheWay(t *testing.T) {
	h := newStageHand(t)
	d := cutfs.New(nil, 1)
	h.perform(t, "a disk that works", d, openOnly, func() {})
	most := len(d.Calls())
	var refused, served atomic.Int64
	all := newSweep()
	for n := 1; n <= most; n++ {
		for i, errno := range []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EIO} {
			lasts := i > 0
			all.run(func() {
				d := cutfs.New(nil, uint64(n))
				what := ""
				d.Judge(func(c cutfs.Call) (v cutfs.Verdict) {
					if c.Total == n || lasts && c.Total > n && c.Kind != cutfs.Unlink {
						v.Fail, v.Keep = errno, 0.5
						if what == "" {
							what = fmt.Sprintf("%v at %s, lasting %v", errno, c, lasts)
						}
					}
					return v
				})
				a := h.perform(t, fmt.Sprintf("%v at call %d", errno, n), d, openOnly, func() {})
				switch {
				case a.open:
					served.Add(1)
				case a.broken == "" || strings.Contains(a.broken, "\n"):
					t.Errorf("%s: it did not open, and says %q", what, a.broken)
				default:
					refused.Add(1)
				}
				fresh := acts{acked: map[string]int{}}
				fresh.kept(t, what, d.Written(), false)
				d.Cut()
				for _, o := range outcomes(rand.New(rand.NewPCG(uint64(n), 1))) {
					fresh.kept(t, what, d.Left(o.loss, uint64(n)), false)
				}
				if a.broken != "" {
					t.Logf("%s: %s", what, strings.ReplaceAll(a.broken, t.TempDir(), ""))
				}
			})
		}
	}
	all.wait()
	if refused.Load() == 0 || served.Load() == 0 {
		t.Errorf("%d starts were refused and %d came about", refused.Load(), served.Load())
	}
	t.Logf("%d starts were refused with a sentence, %d came about", refused.Load(), served.Load())
}

// TestB80BadSectorIsASentenceAtTheStart lets every page of the file be
// unreadable in turn. Where a page is read through the mapping that is a SIGBUS.
func TestB80BadSectorIsASentenceAtTheStart(t *testing.T) {
	d := cutfs.New(ready(t), 1)
	newStageHand(t).perform(t, "a disk that works", d, 0, func() {})
	disk := d.Written()
	page := int64(os.Getpagesize())
	pages := withoutSpare(disk)["foyer.db"].Len() / page
	refused := int64(0)
	for p := range pages {
		d := cutfs.New(disk, 1)
		d.Judge(func(c cutfs.Call) (v cutfs.Verdict) {
			if c.Kind == cutfs.Read && c.Name == "foyer.db" && c.Off < (p+1)*page && c.Off+c.Len > p*page {
				v.Fail = syscall.EIO
			}
			return v
		})
		_, dir, unmount := mount(t, d)
		h := newStageHand(t) // one that ends with it, and lets go of the file
		a := h.order(dir, openOnly, func() {})
		h.close()
		unmount()
		if a.open { // nothing in use lies there
			continue
		}
		refused++
		if strings.Contains(a.broken, "\n") || !strings.Contains(a.broken, "foyer.db") || !strings.Contains(a.broken, "restore a backup") {
			t.Errorf("page %d cannot be read, and it says %q", p, a.broken)
		}
		if calls := d.Calls(); len(calls) > 0 {
			t.Errorf("page %d cannot be read, and the file was touched: %v", p, calls)
		}
	}
	if refused < pages/2 {
		t.Errorf("%d of %d starts were refused", refused, pages)
	}
	t.Logf("%d of %d starts were refused", refused, pages)
}

// TestBadSectorUnderARunningHouseEndsItAndLosesNothing makes the disk unreadable
// while the house sells and the kernel's memory of the file is gone. The access
// to the mapping is a SIGBUS, which no program survives in good order: it ends,
// and what it acknowledged is there.
func TestBadSectorUnderARunningHouseEndsItAndLosesNothing(t *testing.T) {
	h := newStageHand(t)
	h.dies = true
	d := cutfs.New(ready(t), 1)
	m, dir, unmount := mount(t, d)
	defer unmount()
	bad := false
	d.Judge(func(c cutfs.Call) (v cutfs.Verdict) {
		if isSync(c) && c.N == 13 {
			bad = true
			go func() { _ = m.Forget("foyer.db") }() // when the kernel has a mind to
		}
		if bad && c.Kind == cutfs.Read {
			v.Fail = syscall.EIO
		}
		return v
	})
	a := h.order(dir, 0, func() {})
	h.close()
	d.Judge(nil)
	if a.ended || len(a.acked) == 0 || a.finished() {
		t.Errorf("the child ended in order: %v; acknowledged were %v", a.ended, a.acked)
	}
	if said := h.c.stderr.String(); !strings.Contains(said, "SIGBUS") && !strings.Contains(said, "fault") {
		t.Errorf("the child died of %q", said)
	}
	for _, p := range people { // whose act was under way, it did not say
		if a.failed = p.name; a.acked[p.name] < 3 {
			break
		}
	}
	a.kept(t, "after a bad sector", d.Written(), true)
}
