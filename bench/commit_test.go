//go:build linux

package bench

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
	"foyer/seats"
	"foyer/store"
)

// These benchmarks drive store and sale without HTTP and set each beside the
// floor of a commit, measured in the same breath. Metrics: ns/op as ever (time of
// the whole crowd for one operation), cpu-us/op of this process, and both as
// multiples of the floor.

var writers = []int{64, 256}

// cost is what one operation takes.
type cost struct{ wall, cpu float64 } // nanoseconds

// stopwatch adds up what is measured of a benchmark, without what prepares it.
type stopwatch struct {
	wall, cpu time.Duration
	ops       int
}

func (s *stopwatch) time(n int, run func() error) error {
	cpu, began := processTime(os.Getpid()), time.Now()
	err := run()
	s.wall += time.Since(began)
	s.cpu += processTime(os.Getpid()) - cpu
	s.ops += n
	return err
}

func (s *stopwatch) cost() cost {
	n := float64(max(1, s.ops))
	return cost{float64(s.wall) / n, float64(s.cpu) / n}
}

// floorTime is how long the floor is measured before each benchmark, and how
// much of that again is thrown away first.
const floorTime = 500 * time.Millisecond

// commitFloor measures the floor with so many writers.
func commitFloor(b testing.TB, crowd int) cost {
	f := openBoltFloor(b)
	var s stopwatch
	for range 2 { // the first is the warm-up
		s = stopwatch{}
		var puts atomic.Int64
		err := s.time(0, func() error {
			until := time.Now().Add(floorTime)
			return together(crowd, crowd, func(int) error {
				for time.Now().Before(until) {
					if err := f.put(); err != nil {
						return err
					}
					puts.Add(1)
				}
				return nil
			})
		})
		if err != nil {
			b.Fatal(err)
		}
		s.ops = int(puts.Load())
	}
	return s.cost()
}

// report puts an operation beside the floor.
func report(b *testing.B, s stopwatch, floor cost) {
	c := s.cost()
	b.ReportMetric(c.wall, "ns/op")
	b.ReportMetric(c.cpu/1e3, "cpu-us/op")
	b.ReportMetric(c.wall/floor.wall, "x-floor")
	b.ReportMetric(c.cpu/floor.cpu, "x-floor-cpu")
}

func forWriters(b *testing.B, run func(b *testing.B, crowd int) stopwatch) {
	for _, crowd := range writers {
		b.Run(strconv.Itoa(crowd), func(b *testing.B) {
			floor := commitFloor(b, crowd)
			report(b, run(b, crowd), floor)
		})
	}
}

// BenchmarkBoltFloor is a group commit of one 24-byte put per operation.
func BenchmarkBoltFloor(b *testing.B) {
	forWriters(b, func(b *testing.B, crowd int) (s stopwatch) {
		f := openBoltFloor(b)
		if err := s.time(b.N, func() error { return together(crowd, b.N, func(int) error { return f.put() }) }); err != nil {
			b.Fatal(err)
		}
		return s
	})
}

// stage is an office with houses that are opened as they are needed.
type stage struct {
	store  *store.Store
	office *sale.Office
	plan   *seats.Plan
	opened int
}

func newStage(b testing.TB, seatCount int) *stage {
	s := &stage{}
	var err error
	if s.plan, err = housePlan(seatCount); err != nil {
		b.Fatal(err)
	}
	s.store, s.office = openOffice(b, b.TempDir())
	b.Cleanup(func() { _ = s.store.Close() })
	return s
}

// house opens another house with so many turns, at most one per group of seats.
func (s *stage) house(n int) ([]turn, error) {
	s.opened++
	id := fmt.Sprintf("house-%d", s.opened)
	turns := make([]turn, n)
	if err := openHouse(s.office, id, s.plan); err != nil {
		return nil, err
	}
	return turns, fillHouse(s.office, id, s.plan, turns)
}

// inHouses runs act for n turns, as many houses as that takes, each of them
// made ready before it is timed.
func (s *stage) inHouses(crowd, n int, ready, act func(*turn) error) (w stopwatch, err error) {
	most := s.plan.Len() / groupSeats
	for left := n; left > 0; left -= most {
		turns, err := s.house(min(left, most))
		if err != nil {
			return w, err
		}
		if err := together(crew, len(turns), func(i int) error { return ready(&turns[i]) }); err != nil {
			return w, err
		}
		err = w.time(len(turns), func() error {
			return together(crowd, len(turns), func(i int) error { return act(&turns[i]) })
		})
		if err != nil {
			return w, err
		}
	}
	return w, nil
}

func (s *stage) join(crowd, n int) (w stopwatch, err error) {
	settings := sale.DefaultSettings()
	settings.ID, settings.Name, settings.Line, settings.Rules.MaxWaiting = lineEvent, "Line", "always", 5_000_000
	if _, err := s.office.CreateEvent("bench", settings); err != nil {
		return w, err
	}
	visitors := make([]uuid.UUID, n)
	for i := range visitors {
		visitors[i] = newVisitor()
	}
	err = w.time(n, func() error {
		return together(crowd, n, func(i int) error {
			_, _, err := s.office.Join(lineEvent, visitors[i])
			return err
		})
	})
	return w, err
}

func (s *stage) takeSeats(t *turn) error {
	o, err := s.office.Hold(sale.HoldRequest{Event: t.house, Token: t.token, Visitor: t.visitor, Seats: t.seats})
	if err == nil {
		t.order = o.ID
	}
	return err
}

func (s *stage) hold(crowd, n int) (stopwatch, error) {
	return s.inHouses(crowd, n, func(*turn) error { return nil }, s.takeSeats)
}

func (s *stage) confirm(crowd, n int) (stopwatch, error) {
	return s.inHouses(crowd, n, s.takeSeats, func(t *turn) error {
		_, err := s.office.Confirm(t.order, sale.Confirmation{
			Actor: "bench", Key: "k" + t.visitor.String(), Amount: groupSeats * seatPrice, Currency: "EUR", Reference: "bench",
		})
		return err
	})
}

func benchmarkOffice(b *testing.B, act func(*stage, int, int) (stopwatch, error)) {
	forWriters(b, func(b *testing.B, crowd int) stopwatch {
		s, err := act(newStage(b, houseSeats), crowd, b.N)
		if err != nil {
			b.Fatal(err)
		}
		return s
	})
}

func BenchmarkJoinCommit(b *testing.B) { benchmarkOffice(b, (*stage).join) }

func BenchmarkHoldCommit(b *testing.B) { benchmarkOffice(b, (*stage).hold) }

// BenchmarkConfirmCommit writes the messages too, and delivers none.
func BenchmarkConfirmCommit(b *testing.B) { benchmarkOffice(b, (*stage).confirm) }

// TestCommits tries what the benchmarks time.
func TestCommits(t *testing.T) {
	for name, act := range map[string]func(*stage, int, int) (stopwatch, error){
		"join": (*stage).join, "hold": (*stage).hold, "confirm": (*stage).confirm,
	} {
		if s, err := act(newStage(t, 40), 4, 25); err != nil || s.ops != 25 {
			t.Errorf("%s: %d of 25, %v", name, s.ops, err)
		}
	}
	f := openBoltFloor(t)
	if err := together(4, 25, func(int) error { return f.put() }); err != nil || f.seq != 25 {
		t.Errorf("floor: %d of 25, %v", f.seq, err)
	}
}
