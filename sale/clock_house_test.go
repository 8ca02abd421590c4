package sale_test

import (
	"slices"
	"strconv"
	"time"

	"foyer/sale"
)

const (
	clockHolds = 200 // of one seat each
	clockReady = 50  // turns that nobody uses
	clockLine  = 150
	clockPace  = 40
	clockMost  = clockHolds + clockReady
)

// fullHouse is a sale at its height, with the real time at which each deadline
// is over.
type fullHouse struct {
	h       *house
	holders []*visitor
	ready   []*visitor
	waiting []*visitor
	ends    map[*visitor]time.Duration // by desk.real
	numbers map[*visitor]uint64
	given   []time.Duration // one entry per turn seen to be given, by desk.real
	left    int             // in the line at the last look
	slack   time.Duration   // by which a deadline may be missed
}

func clockRules(s *sale.Settings) {
	s.Rules.AdmitPerSecond, s.Rules.MaxActive = clockPace, clockMost
}

func newFullHouse(h *house) *fullHouse {
	h.Helper()
	f := &fullHouse{h: h, ends: map[*visitor]time.Duration{}, numbers: map[*visitor]uint64{}, slack: 60 * ms}
	_, err := h.SetPlan("staff", gala, hall(clockHolds, clockReady), false)
	h.ok(err)
	all := together(h, clockMost+clockLine)
	f.holders, f.ready, f.waiting = all[:clockHolds], all[clockHolds:clockMost], all[clockMost:]
	var holding []func()
	for i, v := range f.holders {
		holding = append(holding, func() { v.hold("A-" + strconv.Itoa(i+1)) })
	}
	h.together(holding...)
	for _, v := range f.holders {
		o := v.seen()
		f.ends[v] = h.desk.real() + o.HoldExpiresAt.Sub(o.Now)
	}
	for _, v := range f.ready {
		p := v.poll()
		f.ends[v] = h.desk.real() + p.TokenExpiresAt.Sub(p.Now)
	}
	for _, v := range slices.Concat(f.holders, f.ready, f.waiting) {
		f.numbers[v] = v.poll().Number
	}
	f.left = h.status().Waiting
	return f
}

// together makes visitors who join at the pace, those of a second side by side.
func together(h *house, n int) (all []*visitor) {
	h.Helper()
	for len(all) < n {
		var joins []func()
		for range min(clockPace, n-len(all)) {
			v := h.visitor()
			all = append(all, v)
			joins = append(joins, func() { v.join() })
		}
		h.together(joins...)
		time.Sleep(sec + ms)
	}
	return all
}

// pass lets real time go by, with two ticks a second, and looks at everybody
// every other second.
func (f *fullHouse) pass(d time.Duration) {
	f.h.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(min(500*ms, time.Until(end))) {
		f.tick()
		if time.Since(f.h.began)%(2*sec) < 500*ms {
			f.look()
		}
	}
}

// tick lets people in, and notes how many.
func (f *fullHouse) tick() {
	f.h.Helper()
	f.h.tick()
	s := f.h.status()
	for range f.left - s.Waiting {
		f.given = append(f.given, f.h.desk.real())
	}
	f.left = s.Waiting
	if s.Active > clockMost {
		f.h.Fatalf("%d turns are active, at most %d may be", s.Active, clockMost)
	}
	for i := clockPace; i < len(f.given); i++ {
		if gap := f.given[i] - f.given[i-clockPace]; gap <= sec {
			f.h.Fatalf("%d turns were given within %s, the pace is %d", clockPace+1, gap, clockPace)
		}
	}
}

// look wants every hold and turn to live until its end, and not longer, by real
// time, and everybody to have his number.
func (f *fullHouse) look() {
	f.h.Helper()
	now, held, unsure := f.h.desk.real(), 0, false
	for _, v := range f.holders {
		unsure = unsure || (f.ends[v]-now).Abs() < f.slack
		if f.ends[v] > now {
			held++
		}
		o := v.seen()
		f.alive("hold", o.Status == sale.Pending, f.ends[v]-now)
		if o.Status == sale.Pending {
			f.alive("shown hold", true, o.HoldExpiresAt.Sub(o.Now))
			if left := o.HoldExpiresAt.Sub(o.Now); (left - f.ends[v] + now).Abs() > f.slack {
				f.h.Fatalf("a hold is shown to have %s left, it has %s", left, f.ends[v]-now)
			}
		}
	}
	for _, v := range f.ready {
		p := v.poll()
		f.alive("turn", p.Status == sale.Ready, f.ends[v]-now)
	}
	if v, err := f.h.Office.Seats(gala); !unsure && (err != nil || v.Counts.Held != held) {
		f.h.Fatalf("%s in: the picture shows %d seats held, %d are: %v", now, v.Counts.Held, held, err)
	}
	for _, v := range f.waiting {
		if p := v.poll(); p.Number != 0 && p.Number != f.numbers[v] {
			f.h.Fatalf("number %d has become %d", f.numbers[v], p.Number)
		}
	}
}

func (f *fullHouse) alive(what string, lives bool, left time.Duration) {
	f.h.Helper()
	if lives && left <= -f.slack || !lives && left >= f.slack {
		f.h.Fatalf("%s in: a %s with %s left lives: %v", f.h.desk.real(), what, left, lives)
	}
}

// finish lets everything run out and wants the line to have moved on.
func (f *fullHouse) finish() {
	f.h.Helper()
	f.pass(130 * sec)
	f.pass(190 * sec)
	if f.left != 0 || len(f.given) != clockLine {
		f.h.Errorf("%d still wait, %d of %d were given a turn", f.left, len(f.given), clockLine)
	}
	for _, v := range f.holders {
		v.orderIs(sale.Expired)
	}
}
