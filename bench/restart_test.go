//go:build linux

package bench

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

var (
	restart = flag.Bool("restart", false, "measure restarts and memory with long lines (a minute)")
	starts  = flag.Int("starts", 3, "with -restart: starts per size")
)

// started is what one start over a folder came to.
type started struct {
	listens time.Duration // until the line that says so
	answer  time.Duration // until the place of somebody who waits was shown
	cpu     time.Duration // until then
	first   memory        // then
	later   memory        // after a while of polls
}

// TestRestart starts the program over a short line; with -restart over lines of
// 100 000 and of two million places, and measures. The file is in the page cache.
func TestRestart(t *testing.T) {
	sizes, count, polls := []int{100}, 1, load{conns: 2, most: 20, measured: time.Minute}
	if *restart {
		sizes, count, polls = []int{1, 100_000, 2_000_000}, *starts, load{conns: 64, measured: 10 * time.Second}
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "places\tlistens s\tfirst answer s\tCPU s\tRSS MB\tof it file\tafter polls MB\tof it file\tbytes/place\tafter polls\t")
	var empty started
	for i, n := range sizes {
		s := measureStarts(t, prepareLine(t, n), count, polls)
		if i == 0 {
			empty = s
		}
		each := func(now, before memory) float64 { return float64(now.whole-before.whole) / float64(n) }
		fmt.Fprintf(w, "%d\t%.2f\t%.2f\t%.2f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t\n", n, s.listens.Seconds(), s.answer.Seconds(), s.cpu.Seconds(),
			mega(s.first.whole), mega(s.first.file), mega(s.later.whole), mega(s.later.file), each(s.first, empty.first), each(s.later, empty.later))
	}
	if *restart {
		_ = w.Flush()
		t.Log("\n" + b.String())
	}
}

func mega(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// measureStarts gives the start whose first answer took the median time.
func measureStarts(t *testing.T, p *prepared, count int, polls load) started {
	t.Helper()
	var all []started
	for range count {
		all = append(all, startOnce(t, p, polls))
	}
	slices.SortFunc(all, func(a, b started) int { return cmp.Compare(a.answer, b.answer) })
	return all[(count-1)/2]
}

func startOnce(t *testing.T, p *prepared, polls load) started {
	t.Helper()
	server := startFoyer(t, p.folder)
	defer server.stop()
	s := started{listens: server.took}
	began := time.Now()
	first, err := drive(server, load{conns: 1, most: 1, measured: time.Minute}, poll(p))
	if err != nil || first.wrong > 0 {
		t.Fatalf("the first poll after a start: %v %s", err, first.odd)
	}
	s.answer, s.cpu, s.first = s.listens+time.Since(began), server.usage().server, server.memory()
	more, err := drive(server, polls, poll(p))
	if err != nil || more.wrong*100 > more.all {
		t.Fatalf("polls after a start: %v %s", err, more.odd)
	}
	s.later = server.memory()
	return s
}
