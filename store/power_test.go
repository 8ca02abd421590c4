//go:build linux

package store_test

import (
	"encoding/binary"
	"errors"
	"flag"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"foyer/crash/cutfs"
	"foyer/store"
)

var (
	powerCuts = flag.Int("power.cuts", 0, "how often the power is cut while a house sells; 0: as often as fits into 15 seconds, at least once at each edge")
	powerSeed = flag.Uint64("power.seed", 0, "decides when the power is cut and what the disk keeps; 0: by chance")
)

// dice are the chances of one test. What the child does meanwhile is up to the
// scheduler, so a seed repeats a run only roughly.
func dice(t *testing.T) *rand.Rand {
	t.Helper()
	seed := *powerSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("to repeat: -power.seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// mount shows a disk at a folder of its own.
func mount(t *testing.T, d *cutfs.Disk) (m *cutfs.Mount, dir string, unmount func()) {
	t.Helper()
	dir = t.TempDir()
	m, err := d.Mount(dir)
	if errors.Is(err, cutfs.ErrNoFUSE) {
		t.Skipf("power cuts and broken disks are played by a mounted file system, which takes root and /dev/fuse: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	unmount = func() {
		if err := m.Unmount(); err != nil {
			t.Error(err)
		}
	}
	return m, dir, unmount
}

// powerPatience is how long a child may take to get where the power is cut.
const powerPatience = 30 * time.Second

// sellOn lets a child sell on a disk until its power is cut, and notes what it
// acknowledged. It tells the last thing that the child said of its start: "",
// "open" or "made".
func (l ledger) sellOn(t *testing.T, d *cutfs.Disk) (stage string) {
	t.Helper()
	_, dir, unmount := mount(t, d)
	defer unmount()
	c := startChild(t, killDir+"="+dir, nil)
	late := time.AfterFunc(powerPatience, func() { _ = c.Process.Kill() })
	defer late.Stop()
	go func() {
		<-d.Done()
		_ = c.Process.Kill()
	}()
	c.listen(func(line string) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "open", "made":
			stage = word
		case "down", "broken":
			if isCut(d) {
				return
			}
		}
		l.note(t, line)
	})
	if !isCut(d) {
		t.Errorf("the child ended by itself, or did not get to where the power is cut within %v: %s", powerPatience, &c.stderr)
	}
	if strings.Contains(c.stderr.String(), "DATA RACE") {
		t.Errorf("%s", &c.stderr)
	}
	d.Cut()
	return stage
}

func isCut(d *cutfs.Disk) bool {
	select {
	case <-d.Done():
		return true
	default:
		return false
	}
}

// inspect opens what a cut left, page by page and row by row, and gives it back
// as it was. It works on a copy on an ordinary disk.
func (l ledger) inspect(t *testing.T, what string, left cutfs.Image, openings int) {
	t.Helper()
	dir := scratch(t)
	defer os.RemoveAll(dir)
	if err := left.Save(dir); err != nil {
		t.Fatal(err)
	}
	checkLeft(t, what, dir, left)
	for range openings { // the first must leave nothing that stops the second
		s, err := store.Open(dir, store.Options{})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
		l.check(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// checkLeft looks at the database that a disk was left with, if there is one:
// at its pages and at what its rows say of each other.
func checkLeft(t *testing.T, what, dir string, left cutfs.Image) {
	t.Helper()
	if left["foyer.db"] == nil {
		return
	}
	findings, err := store.Check(filepath.Join(dir, "foyer.db"), nil)
	if err != nil {
		t.Errorf("%s: the file cannot be looked at: %v", what, err)
	}
	for _, f := range findings {
		if !f.Note() {
			t.Errorf("%s: the file is not sound: %s %s", what, f.Code, f.What)
		}
	}
}

// scratch is an empty folder, in memory where the system has such a thing:
// nothing that is put there needs to last.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "foyer-test-")
	if err != nil {
		dir, err = os.MkdirTemp(t.TempDir(), "")
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// outcome is something that a disk may make of its unsynced writes.
type outcome struct {
	name string
	loss cutfs.Loss
}

func outcomes(rng *rand.Rand) []outcome {
	p := rng.Float64()
	return []outcome{
		{"all is lost", cutfs.Loss{}},
		{"all is kept", cutfs.Loss{Sectors: 1, Names: 1}},
		{"some is kept", cutfs.Loss{Sectors: p, Names: p}},
		{"the names alone are kept", cutfs.Loss{Names: 1}},
		{"the last write is torn", cutfs.Loss{Torn: true, Sectors: 1, Names: 1}},
	}
}

// edge is a point on the way of a commit to the disk.
type edge struct {
	name string
	is   func(c, last cutfs.Call) bool // last is the call before on the same file
	most int                           // how many of them a child surely passes
}

// metaPages is where the two pages end that say which commit is the newest.
var metaPages = int64(2 * os.Getpagesize())

var edges = []edge{
	{"anywhere", func(c, _ cutfs.Call) bool { return true }, 400},
	{"growth", func(c, _ cutfs.Call) bool { return c.Kind == cutfs.Grow }, 1},
	{"sync of the growth", func(c, last cutfs.Call) bool { return c.Kind == cutfs.Sync && last.Kind == cutfs.Grow }, 1},
	{"rows", func(c, _ cutfs.Call) bool { return c.Kind == cutfs.Write && c.Off >= metaPages }, 400},
	{"sync of the rows", func(c, last cutfs.Call) bool {
		return c.Kind == cutfs.Sync && last.Kind == cutfs.Write && last.Off >= metaPages
	}, 50},
	{"meta page", func(c, _ cutfs.Call) bool { return c.Kind == cutfs.Write && c.Off < metaPages }, 50},
	{"sync of the meta page", func(c, last cutfs.Call) bool {
		return c.Kind == cutfs.Sync && last.Kind == cutfs.Write && last.Off < metaPages
	}, 50},
}

// cutAtEdge cuts at the n-th passing of an edge on the database.
func cutAtEdge(e edge, n int, m cutfs.Moment) cutfs.Gate {
	var last cutfs.Call
	return func(c cutfs.Call) (v cutfs.Verdict) {
		if c.Name != "foyer.db" || c.Kind == cutfs.Read {
			return v
		}
		if e.is(c, last) {
			if n--; n == 0 {
				v.Cut = m
			}
		}
		last = c
		return v
	}
}

// withoutSpare cuts off the pages at the end of the database that hold nothing
// yet, so that it must grow soon. How many are in use stands in each of its two
// meta pages, 56 bytes behind their start (bbolt, internal/common/meta.go).
func withoutSpare(disk cutfs.Image) cutfs.Image {
	c := disk["foyer.db"]
	if c == nil {
		return disk
	}
	head, pages := c.Cut(metaPages).Bytes(), int64(0)
	for _, at := range []int{56, 56 + os.Getpagesize()} {
		pages = max(pages, int64(binary.NativeEndian.Uint64(head[at:])))
	}
	disk = maps.Clone(disk)
	disk["foyer.db"] = c.Cut(pages * int64(os.Getpagesize()))
	return disk
}

// TestB78PowerCutLosesNothingThatWasAcknowledged cuts the power at every edge of
// a commit and anywhere between, again and again on what the cut before left.
func TestB78PowerCutLosesNothingThatWasAcknowledged(t *testing.T) {
	rng := dice(t)
	const evening = 14 // cuts until a new house opens
	var l ledger
	var disk cutfs.Image
	began, cuts, acts, points := time.Now(), 0, map[string]int{}, map[string]int{}
	for more := true; more && !t.Failed(); {
		if cuts%evening == 0 {
			l, disk = ledger{}, nil
		}
		e := edges[cuts%len(edges)]
		if strings.Contains(e.name, "growth") {
			disk = withoutSpare(disk)
		}
		d := cutfs.New(disk, rng.Uint64())
		d.Judge(cutAtEdge(e, 1+rng.IntN(e.most), cutfs.Before+cutfs.Moment(rng.IntN(2))))
		points[e.name]++
		l.sellOn(t, d)
		cuts++
		all := outcomes(rng)
		for _, o := range []outcome{all[0], all[1+rng.IntN(len(all)-1)]} {
			left := d.Left(o.loss, rng.Uint64())
			if l.inspect(t, o.name, left, 1); t.Failed() {
				calls := d.Calls()
				t.Fatalf("cut %d at the %s, %s: the last calls were %v", cuts, e.name, o.name, calls[max(0, len(calls)-12):])
			}
			disk = left // the next child goes on from here
		}
		more = cuts < max(*powerCuts, len(edges)) || *powerCuts == 0 && time.Since(began) < 15*time.Second
		if cuts%evening == 0 || !more {
			for _, m := range l {
				acts[m.state]++
			}
		}
	}
	t.Logf("%d cuts with two outcomes each, at %v, in %v; visitors: %v", cuts, points, time.Since(began).Round(time.Second), acts)
	for _, act := range []string{"place", "turn", "held", "released", "paid", "left"} {
		if acts[act] == 0 {
			t.Errorf("nobody got as far as %q: the test does not test it", act)
		}
	}
}

// TestPowerCutWhileTheFileIsMadeLeavesNoneOrAWholeOne cuts at every single call
// from the first on, until the house is set up.
func TestPowerCutWhileTheFileIsMadeLeavesNoneOrAWholeOne(t *testing.T) {
	rng := dice(t)
	whole, none := 0, 0
	n := 1
	for ; !t.Failed(); n++ {
		d := cutfs.New(nil, rng.Uint64())
		d.Judge(cutfs.CutAt(n, cutfs.Before))
		l := ledger{}
		stage := l.sellOn(t, d)
		for _, o := range outcomes(rng) {
			left := d.Left(o.loss, rng.Uint64())
			_, there := left["foyer.db"]
			if stage != "" && !there {
				t.Errorf("the child had the file open, and it is gone")
			}
			if there {
				whole++
			} else {
				none++
			}
			if l.inspect(t, o.name, left, 2); t.Failed() {
				t.Fatalf("cut at call %d, %s: the calls were %v", n, o.name, d.Calls())
			}
		}
		if stage == "made" {
			break
		}
	}
	if whole == 0 || none == 0 {
		t.Errorf("%d outcomes have a file and %d have none", whole, none)
	}
	t.Logf("%d cuts: %d outcomes with a file, %d without one", n, whole, none)
}
