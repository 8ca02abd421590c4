//go:build linux

package bench

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

var (
	ratios   = flag.Bool("ratios", false, "measure in earnest (minutes); without it each operation is only tried")
	rounds   = flag.Int("rounds", 3, "with -ratios: how often all operations are measured, in turn with the floor")
	warm     = flag.Duration("warm", 3*time.Second, "with -ratios: warm-up of each operation, not counted")
	measured = flag.Duration("for", 3*time.Second, "with -ratios: measured time of each operation")
	only     = flag.String("only", "", "with -ratios: operations to measure, separated by commas")
	connsSet = flag.String("conns", "64,256", "with -ratios: numbers of connections, separated by commas")
	waiting  = flag.Int("waiting", 500_000, "with -ratios: places in the line")
	houses   = flag.Int("houses", 9, "with -ratios: houses of 50 000 seats")
	guarded  = flag.Bool("guarded", false, "give the floor's server the time-outs that foyer serve has, to see what a request costs without them")
	with     = flag.String("with", "", "further `arguments` of foyer serve, separated by blanks, to see what a setting costs")
	profiles = flag.String("profiles", "", "with -ratios: keep a CPU profile of the server per operation in this `folder`; profiling costs, so do not quote the figures of such a run")
)

// scratch holds the program that is measured.
var scratch string

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv(floorEnv) != "" {
		fmt.Fprintln(os.Stderr, "floor:", serveFloor())
		os.Exit(1)
	}
	var err error
	if scratch, err = os.MkdirTemp("", "foyer-bench-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(scratch)
	os.Exit(code)
}

// operation is a row of the table. promise is the most that it may cost, in
// floors, at 64 and at 256 connections; 0 where nothing is promised.
type operation struct {
	name    string
	traffic func(*prepared) traffic
	promise [2]float64
	floor   func(*prepared) traffic // nil: the usual one
}

var lineOperations = []operation{
	{"poll", poll, [2]float64{1.15, 1.15}, nil},
	{"rejoin", rejoin, [2]float64{1.25, 1.25}, nil},
	{"status", status, [2]float64{}, nil},
	{"join", join, [2]float64{2.8, 2.0}, nil},
}

var houseOperations = []operation{
	{"check", checkTurn, [2]float64{1.3, 1.3}, bareCheck},
	{"refused", refusedHold, [2]float64{1.35, 1.35}, nil},
	{"hold", hold, [2]float64{3.4, 2.6}, nil},
	{"confirm", confirm, [2]float64{3.4, 2.6}, nil},
}

// wanted tells whether the operation was asked for; there is nothing to confirm
// without holds.
func (o *operation) wanted() bool {
	names := strings.Split(*only, ",")
	return *only == "" || slices.Contains(names, o.name) || o.name == "hold" && slices.Contains(names, "confirm")
}

func anyWanted(all []operation) bool {
	return slices.ContainsFunc(all, func(o operation) bool { return o.wanted() })
}

// session gathers what is measured in one go of the test.
type session struct {
	t     *testing.T
	load  load
	floor *child
	rows  []*row
}

// row is one operation at one number of connections, over all rounds.
type row struct {
	operation
	conns int
	runs  []run
}

type run struct {
	figures
	floor figures
}

// TestRatios tries every operation; with -ratios it measures them.
func TestRatios(t *testing.T) {
	s := &session{t: t, floor: startFloor(t)}
	conns, places, count, size := []int{2}, 50, 1, 400
	s.load = load{measured: time.Minute, most: 20}
	repeat := 1
	if *ratios {
		conns, places, count, size, repeat = numbers(t, *connsSet), *waiting, *houses, houseSeats, *rounds
		s.load = load{warm: *warm, measured: *measured}
	}
	if anyWanted(lineOperations) {
		s.measureLine(prepareLine(t, places), conns, repeat)
	}
	if anyWanted(houseOperations) {
		s.measureHouses(prepareHouses(t, count, size), conns, repeat)
	}
	if *ratios {
		t.Log("\n" + s.table())
	}
}

func numbers(t *testing.T, text string) (all []int) {
	for word := range strings.SplitSeq(text, ",") {
		n := number([]byte(word))
		if n == 0 {
			t.Fatalf("%q is no number of connections", word)
		}
		all = append(all, n)
	}
	return all
}

// measureLine runs all rounds on one server: joining makes a long line longer,
// and nothing else about it.
func (s *session) measureLine(p *prepared, conns []int, repeat int) {
	server := startFoyer(s.t, p.folder)
	defer server.stop()
	for range repeat {
		for _, c := range conns {
			for i := range lineOperations {
				s.measure(server, &lineOperations[i], p, c)
			}
		}
	}
}

// measureHouses takes a fresh server over the same folder each time: turns and
// seats are used up.
func (s *session) measureHouses(p *prepared, conns []int, repeat int) {
	for range repeat {
		for _, c := range conns {
			p := p.again(s.t)
			server := startFoyer(s.t, p.folder)
			if f := s.drive(server, load{conns: 1, measured: time.Minute}, takeOne(p)); f.wrong > 0 {
				s.t.Fatalf("one hold: %s", f.odd)
			}
			for i := range houseOperations {
				s.measure(server, &houseOperations[i], p, c)
			}
			server.stop()
			_ = os.RemoveAll(p.folder)
		}
	}
}

func (s *session) drive(server *child, l load, t traffic) figures {
	s.t.Helper()
	f, err := drive(server, l, t)
	if err != nil {
		s.t.Fatal(err)
	}
	return f
}

// measure measures the floor and then one operation. What the server still does
// for it afterwards is waited for, so that it burdens nobody else.
func (s *session) measure(server *child, o *operation, p *prepared, conns int) {
	s.t.Helper()
	if !o.wanted() {
		return
	}
	l := s.load
	l.conns = conns
	quick := l
	quick.warm /= 2
	if o.name == "confirm" {
		l.warm /= 3 // what hold made in its time must last for the whole of it
	}
	bare := floorTraffic()
	if o.floor != nil {
		bare = o.floor(p)
	}
	r := run{floor: s.drive(s.floor, quick, bare)}
	before := server.usage().server
	server.profile(s.t, fmt.Sprintf("%s-%d", o.name, conns), func() { r.figures = s.drive(server, l, o.traffic(p)) })
	if r.wrong*100 > r.all || r.all == 0 {
		s.t.Errorf("%s: %d of %d answers were not as expected, such as %s", o.name, r.wrong, r.all, r.odd)
	}
	if !*ratios {
		return
	}
	if r.requests == 0 {
		s.t.Errorf("%s: nothing was left to measure after the warm-up; take a shorter one or more houses", o.name)
	}
	s.keep(o, conns, r)
	var took time.Duration
	server.profile(s.t, fmt.Sprintf("after-%s-%d", o.name, conns), func() { took = server.calm() })
	if o.name == "confirm" {
		s.keep(&operation{name: "confirm, told"}, conns, s.whole(r, server.usage().server-before, took))
	}
}

// whole is a run with what the server did after the last answer.
func (s *session) whole(r run, cpu, after time.Duration) run {
	s.t.Logf("messages of %d orders had gone out %.1f s after the last answer", r.all, after.Seconds())
	r.requests, r.cpu, r.elapsed = r.all, cpu, r.elapsed+after
	return r
}

func (s *session) keep(o *operation, conns int, r run) {
	i := slices.IndexFunc(s.rows, func(x *row) bool { return x.name == o.name && x.conns == conns })
	if i < 0 {
		i = len(s.rows)
		s.rows = append(s.rows, &row{operation: *o, conns: conns})
	}
	s.rows[i].runs = append(s.rows[i].runs, r)
}

func (s *session) table() string {
	slices.SortStableFunc(s.rows, func(a, b *row) int { return cmp.Compare(a.conns, b.conns) })
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "operation\tconns\treq/s\tCPU us\t[min..max]\tfloor us\tx floor\t[min..max]\tpromise\tp50 ms\tp99 ms\tothers %\tn\t")
	for _, r := range s.rows {
		ratio := func(x run) float64 { return x.cpuEach() / x.floor.cpuEach() }
		cpuLow, cpu, cpuHigh := r.spread(func(x run) float64 { return x.cpuEach() })
		low, mid, high := r.spread(ratio)
		_, n, _ := r.spread(func(x run) float64 { return float64(x.requests) })
		_, _, others := r.spread(func(x run) float64 { return 100 * max(x.others, x.floor.others) })
		fmt.Fprintf(w, "%s\t%d\t%.0f\t%.1f\t[%.1f..%.1f]\t%.1f\t%.2f\t[%.2f..%.2f]\t%s\t%.1f\t%.1f\t%.0f\t%.0f\t\n", r.name, r.conns,
			r.middle(func(x run) float64 { return x.perSecond() }), cpu, cpuLow, cpuHigh,
			r.middle(func(x run) float64 { return x.floor.cpuEach() }), mid, low, high, r.promised(mid),
			r.middle(func(x run) float64 { return x.quantile(.5).Seconds() * 1e3 }),
			r.middle(func(x run) float64 { return x.quantile(.99).Seconds() * 1e3 }), others, n)
	}
	_ = w.Flush()
	return b.String()
}

// promised tells what was promised, and whether it is kept.
func (r *row) promised(ratio float64) string {
	promise := r.promise[0]
	if r.conns >= 256 {
		promise = r.promise[1]
	}
	switch {
	case promise == 0:
		return "-"
	case ratio > promise:
		return fmt.Sprintf("%.2f over", promise)
	}
	return fmt.Sprintf("%.2f kept", promise)
}

func (r *row) middle(of func(run) float64) float64 {
	_, mid, _ := r.spread(of)
	return mid
}

// spread gives the smallest, the median and the largest of a figure over the rounds.
func (r *row) spread(of func(run) float64) (low, mid, high float64) {
	var all []float64
	for _, x := range r.runs {
		all = append(all, of(x))
	}
	return spread(all)
}

func spread(all []float64) (low, mid, high float64) {
	slices.Sort(all)
	n := len(all)
	return all[0], (all[(n-1)/2] + all[n/2]) / 2, all[n-1]
}
