package sale_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

// kendall is Kendall's rank correlation (tau a) between 0, 1, 2, ... and the
// values: 1 when they rise, -1 when they fall. Equal values agree with nothing.
func kendall(values []time.Time) float64 {
	agree := 0
	for i := range values {
		for _, later := range values[i+1:] {
			agree += later.Compare(values[i])
		}
	}
	n := len(values)
	return float64(agree) / float64(n*(n-1)/2)
}

func TestKendallKnowsOrderFromDisorder(t *testing.T) {
	at := func(list ...int) (times []time.Time) {
		for _, s := range list {
			times = append(times, time.Unix(int64(s), 0))
		}
		return times
	}
	for _, c := range []struct {
		order []time.Time
		want  float64
	}{{at(1, 2, 3, 4), 1}, {at(4, 3, 2, 1), -1}, {at(1, 3, 2, 4), 2. / 3}, {at(1, 1, 1), 0}, {at(2, 1, 4, 3), 1. / 3}} {
		if got := kendall(c.order); got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("%v: got %v, want %v", c.order, got, c.want)
		}
	}
}

// Who joins earlier is called earlier: one turn a second, so that each has a moment of its own.
func TestWithEverybodyPresentTurnsComeInTheOrderOfJoins(t *testing.T) {
	slow := func(s *sale.Settings) { s.Rules.AdmitPerSecond, s.Rules.MaxActive = 1, 8 }
	play(t, slow, func(h *house) {
		random := rand.New(rand.NewPCG(9, 1))
		var all []*visitor
		called := map[*visitor]time.Time{}
		for step := time.Duration(0); len(called) < 300; step += 500 * ms {
			h.at(step)
			for len(all) < 300 && random.IntN(3) > 0 {
				all = append(all, h.crowd(1)...)
			}
			for _, i := range random.Perm(len(all)) { // the order in which they ask plays no part
				v := all[i]
				if at, is := called[v]; is {
					if time.Since(at) > time.Duration(random.IntN(20))*sec {
						_ = v.leave()
					}
				} else if p := v.poll(); p.Status == sale.Ready {
					called[v] = p.TokenExpiresAt.Add(-300 * sec)
				}
			}
			h.tick()
		}
		var order []time.Time
		for _, v := range all {
			order = append(order, called[v])
		}
		if tau := kendall(order); tau != 1 {
			h.Errorf("Kendall's tau between joins and turns is %.6f, want 1", tau)
		}
	})
}

// truant is somebody of whom three in ten are away when their turn comes.
type truant struct {
	*visitor
	away, late bool      // late: comes back after the grace
	back       time.Time // when he comes back, once he was called
	had        bool      // he has had his turn
	till       time.Time // it lasts
}

// B11: the house stays full though three of ten do not come, and who comes within the grace has his turn.
func TestB11NoShowsNeitherEmptyTheHouseNorLoseAnybody(t *testing.T) {
	const most, people = 40, 800
	rules := func(s *sale.Settings) {
		s.Rules.MaxActive, s.Rules.AdmitPerSecond, s.Rules.PickupSeconds, s.Rules.ReturnSeconds = most, 20, 20, 120
	}
	play(t, rules, func(h *house) {
		random := rand.New(rand.NewPCG(7, 3))
		var all []*truant
		for i := range people {
			all = append(all, &truant{visitor: h.crowd(1)[0], away: i%10 < 3, late: i%20 == 0})
		}
		var active []int // each second with people waiting
		for s, open := 0, people; open > 0 && s < 3600; s++ {
			h.at(time.Duration(s) * sec)
			open = 0
			for _, v := range all {
				if v.goesOn(random) {
					open++
				}
			}
			h.tick()
			if st := h.status(); st.Waiting > 0 {
				active = append(active, st.Active)
			}
		}
		h.fullHouse(active, most)
		for i, v := range all {
			if !v.had {
				h.Errorf("visitor %d (away %v, late %v) never had a turn", i, v.away, v.late)
			}
		}
	})
}

// goesOn lets a second pass for the visitor; false when he is through.
func (v *truant) goesOn(random *rand.Rand) bool {
	now := time.Now()
	switch {
	case v.had:
		if now.After(v.till) {
			_ = v.leave()
		}
		return now.Before(v.till)
	case v.away && v.back.IsZero(): // he looks at nothing; the test does, without being there
		v.h.peek(v)
		if !v.back.IsZero() {
			wait := 30 + random.IntN(90)
			if v.late {
				wait = 200
			}
			v.back = v.back.Add(time.Duration(wait) * sec)
		}
		return true
	case v.away && now.Before(v.back):
		return true
	}
	if p := v.poll(); p.Status == sale.NotEntered {
		kept := now.Before(p.KeptUntil)
		if got := v.join(); kept && got.Number != 0 && got.Rank > 0 && got.Status == sale.Waiting && !v.late {
			v.front(got)
		}
	} else if p.Status == sale.Ready {
		v.had, v.till = true, now.Add(time.Duration(5+random.IntN(40))*sec)
	}
	return true
}

// front wants somebody who is back in time before all who never were called.
func (v *truant) front(p sale.PlaceView) {
	v.h.Helper()
	if s := v.h.status(); p.Number >= s.Frontier {
		v.h.Errorf("back within the grace with number %d, the frontier is %d: not at the front", p.Number, s.Frontier)
	}
}

// peek notes when the absent one was called; it reads rows, which is no being there.
func (h *house) peek(v *truant) {
	_ = h.store.View(func(r sale.Reader) error {
		if p, ok := r.Place(gala, v.id); ok && !p.Turn.CalledAt.IsZero() {
			v.back = p.Turn.CalledAt
		}
		return nil
	})
}

// fullHouse wants the mean of every minute within a tenth of most.
func (h *house) fullHouse(active []int, most int) {
	h.Helper()
	const minute = 60
	if len(active) < 3*minute {
		h.Fatalf("people waited for %d s only", len(active))
	}
	if over := slices.Max(active); over > most {
		h.Errorf("%d were active, at most %d may be", over, most)
	}
	for i := minute; i <= len(active); i++ {
		sum := 0
		for _, n := range active[i-minute : i] {
			sum += n
		}
		if mean := float64(sum) / minute; mean < 0.9*float64(most) {
			h.Fatalf("in the minute up to second %d %.1f were active on average, while people waited for %d places", i, mean, most)
		}
	}
}

// B12: a turn that is over leads nowhere, its slot is free once, and the next one has it.
func TestB12TurnThatIsOverFreesItsSlotOnce(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		first, ann, bob := h.buyer(), h.visitor(), h.visitor()
		ann.join()
		bob.join()
		h.at(301 * sec)
		_, err := first.try("A-1")
		h.refused(err, sale.ErrTokenExpired)
		for range 3 {
			h.tick()
		}
		h.line(1, 1)
		ann.is(sale.Ready)
		bob.is(sale.Waiting)
	})
}

// B03: while a hundred thousand join one event, people of another are let in at the next tick, and waiting for it costs
// what any act costs then: one commit that all share.
func TestB03BusyEventDoesNotSlowTheAdmissionOfAnother(t *testing.T) {
	h := &house{T: t, dir: t.TempDir(), began: time.Now(), bank: &bank{}, sinks: func(string) []string { return nil }}
	h.open()
	defer func() { _ = h.store.Close() }()
	h.event("busy", func(s *sale.Settings) { s.Line, s.Rules.MaxWaiting = "always", 1_000_000 })
	h.event("quiet", func(s *sale.Settings) { s.Rules.MaxActive, s.Rules.AdmitPerSecond = 1, 5000 })
	joins, crowds := 100_000, 32
	if testing.Short() {
		joins = 10_000
	}
	enough := time.Now().Add(10 * time.Second) // for slow machines: fewer join then
	var joined lapses
	var run sync.WaitGroup
	for range crowds {
		run.Go(func() {
			for i := 0; i < joins/crowds && time.Now().Before(enough); i++ {
				joined.time(t, func() error { _, _, err := h.Join("busy", uuid.New()); return err })
			}
		})
	}
	defer run.Wait()
	over := make(chan struct{})
	go func() { run.Wait(); close(over) }()
	var ticks lapses
	now := h.visitorOf("quiet")
	now.join()
	for busy, n := true, 0; busy; n++ {
		next := h.visitorOf("quiet")
		if p := next.join(); p.Status != sale.Waiting || p.Rank != 0 || p.Number != uint64(n+2) {
			t.Fatalf("%+v, want rank 0 and number %d", p, n+2)
		}
		h.ok(now.leave())
		ticks.time(t, func() error { _, err := h.Office.Tick("quiet", time.Second); return err })
		next.is(sale.Ready)
		now = next
		select {
		case <-over:
			busy = false
		default:
		}
	}
	t.Logf("%d ticks of the quiet event, median %s; %d joins of the busy one, median %s", len(ticks.all), ticks.median(), len(joined.all), joined.median())
	if ticks.median() > 5*joined.median() {
		t.Errorf("a tick of the quiet event takes %s, a join of the busy one %s", ticks.median(), joined.median())
	}
}

// lapses are how long acts took.
type lapses struct {
	mu  sync.Mutex
	all []time.Duration
}

func (l *lapses) time(t *testing.T, act func() error) {
	began := time.Now()
	if err := act(); err != nil {
		t.Error(err)
	}
	took := time.Since(began)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, took)
}

func (l *lapses) median() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 {
		return 0
	}
	slices.Sort(l.all)
	return l.all[len(l.all)/2]
}
