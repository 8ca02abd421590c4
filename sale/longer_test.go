package sale_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"foyer/sale"
)

// wary is somebody who remembers the wait that he was shown last.
type wary struct {
	*visitor
	away  bool // does not look once he is called
	shown sale.PlaceView
}

// stirring is a line in which staff and the crowd do what they like.
type stirring struct {
	*house
	random *rand.Rand
	crowd  []*wary
	codes  []string
	lately []string // what was done, for the one who must find out
}

// turn is where a visitor's turn stands; unlike a look it picks nothing up.
func (s *stirring) turn(v *wary) (state sale.TurnState, has bool) {
	_ = s.store.View(func(r sale.Reader) error {
		p, ok := r.Place(gala, v.id)
		state, has = p.Turn.State, ok
		return nil
	})
	return state, has
}

// look holds what a waiting visitor is shown against what he was shown before.
func (s *stirring) look(v *wary) {
	s.Helper()
	if state, has := s.turn(v); !has || state != sale.TurnNone {
		v.shown = sale.PlaceView{}
		return
	}
	was, now := v.shown, v.poll()
	if sale.NoWait(now.Slower) {
		if now.Wait != 0 || now.WaitHigh != 0 {
			s.Errorf("%s promises a wait: %+v", now.Slower, now)
		}
		return
	}
	v.shown = now
	if was.Status == "" || now.Slower != "" {
		return
	}
	slack := 1 // each is rounded up
	if was.OpensAt != nil && now.OpensAt != nil {
		slack += int(max(0, now.OpensAt.Sub(*was.OpensAt)) / sec)
	}
	if now.Wait > was.Wait+slack || now.WaitHigh > was.WaitHigh+slack {
		s.Fatalf("%s in, %d of class %s, rank %d then %d: the wait rises from %d (%d) to %d (%d) with no reason, %s then %s. Lately: %s",
			time.Since(s.began), now.Number, now.Class, was.Rank, now.Rank, was.Wait, was.WaitHigh, now.Wait, now.WaitHigh, was.Status, now.Status, strings.Join(s.lately, "; "))
	}
}

func (s *stirring) did(what string, err error) {
	s.Helper()
	if r := new(sale.Refusal); err != nil && !errors.As(err, &r) {
		s.Fatal(err)
	}
	if s.lately = append(s.lately, fmt.Sprintf("%s %s (%v)", time.Since(s.began), what, err)); len(s.lately) > 8 {
		s.lately = s.lately[1:]
	}
}

// change is one of the things that staff do.
func (s *stirring) change() {
	s.Helper()
	n := s.random.IntN
	edit := func(what string, fn func(*sale.Settings)) {
		_, err := s.ChangeEvent("staff", gala, func(e *sale.Settings) error { fn(e); return nil })
		s.did(what, err)
	}
	do := func(what string, fn func(actor, event string) (*sale.Event, error)) {
		_, err := fn("staff", gala)
		s.did(what, err)
	}
	in := func(from, to int) *time.Time { // whole seconds, so that what is rounded off is small
		at := time.Now().Add(time.Duration(from+n(to-from)) * sec).Truncate(sec)
		return &at
	}
	switch n(15) {
	case 0, 1:
		k := 1 + n(8)
		edit(fmt.Sprint("pace ", k), func(e *sale.Settings) { e.Rules.AdmitPerSecond = k })
	case 2, 3:
		k := 1 + n(30)
		edit(fmt.Sprint("active ", k), func(e *sale.Settings) { e.Rules.MaxActive = k })
	case 4:
		k := n(11)
		edit(fmt.Sprint("share ", k), func(e *sale.Settings) { e.Rules.MemberShare = k })
	case 5:
		do("pause", func(a, e string) (*sale.Event, error) { return s.PauseEvent(a, e, "") })
	case 6, 7:
		do("resume", s.ResumeEvent)
	case 8:
		if n(4) == 0 {
			do("close", func(a, e string) (*sale.Event, error) { return s.CloseEvent(a, e, "") })
		}
	case 9:
		if e, _, _ := s.Event(gala); e.Closed {
			do("open", s.OpenEvent)
		}
	case 10:
		word := []string{"yes", "no", "auto", "auto"}[n(4)]
		do("sold out "+word, func(a, e string) (*sale.Event, error) { return s.SetSoldOut(a, e, word, nil) })
	case 11:
		at := in(5, 60)
		edit("opens "+at.Sub(s.began).String(), func(e *sale.Settings) { e.OpensAt = at })
	case 12:
		at := in(-5, 30)
		edit("presale "+at.Sub(s.began).String(), func(e *sale.Settings) { e.PresaleAt = at })
	case 13:
		edit("no presale", func(e *sale.Settings) { e.PresaleAt = nil })
	case 14:
		bad := n(2) * 100
		_, _, err := s.ReportHealth(gala, sale.Health{Requests: 100, Failures: bad})
		s.did(fmt.Sprint("the shop fails ", bad), err)
	}
}

// come lets one more join, of either class, or somebody who was set aside return.
func (s *stirring) come() {
	s.Helper()
	if s.random.IntN(2) == 0 {
		for _, v := range s.crowd {
			if state, _ := s.turn(v); state == sale.TurnAside {
				_, _, err := s.Join(gala, v.id)
				s.did("return", err)
				return
			}
		}
	}
	code := ""
	if s.random.IntN(3) == 0 {
		code, s.codes = s.codes[0], s.codes[1:]
	}
	v := &wary{visitor: s.visitor(), away: s.random.IntN(3) == 0}
	p, _, err := s.JoinWith(gala, v.id, code)
	s.did("join "+code, err)
	if v.saw(p); err == nil {
		s.crowd = append(s.crowd, v)
	}
}

// live lets everybody do what he does in a second.
func (s *stirring) live(busy int) {
	s.Helper()
	for _, v := range s.crowd {
		state, has := s.turn(v)
		switch {
		case !has || !state.Live() || state == sale.TurnAside:
		case state == sale.TurnNone:
			if s.random.IntN(200) == 0 {
				s.did("leave the line", v.leave())
			}
		case !v.away:
			if v.poll(); s.random.IntN(20) < busy {
				_ = v.leave()
			}
		}
	}
}

// Whatever staff and the crowd do, a wait that somebody was shown gets longer only with a reason beside it.
func TestNoWaitGetsLongerWithoutAReason(t *testing.T) {
	const minutes = 4
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			start := func(e *sale.Settings) {
				e.Rules.AdmitPerSecond, e.Rules.MaxActive, e.Rules.MemberShare = 1+random.IntN(8), 1+random.IntN(30), random.IntN(11)
				e.Rules.PickupSeconds, e.Rules.TurnSeconds, e.Rules.ReturnSeconds, e.Line = 3, 60, 90, "always"
				e.Rules.Control = []string{"off", "auto"}[random.IntN(2)]
				opens := time.Now().Add(time.Duration(20+random.IntN(40)) * sec)
				presale := opens.Add(-15 * sec)
				switch random.IntN(4) {
				case 0:
					e.OpensAt, e.Order = &opens, "draw"
				case 1:
					e.OpensAt, e.PresaleAt = &opens, &presale
				}
			}
			play(t, start, func(h *house) {
				s := &stirring{house: h, random: random}
				_, s.codes = h.codes(500, sale.Member, 1)
				for step := range minutes * 60 {
					h.at(time.Duration(step+1) * sec)
					for range random.IntN(4) {
						s.come()
						s.all()
					}
					if random.IntN(12) == 0 {
						s.change()
						s.all()
					}
					s.live(step / 20 % 4) // now many go, now few
					h.tick()
					s.all()
				}
			})
		})
	}
}

// all lets some look who wait, so that to others several things have happened.
func (s *stirring) all() {
	s.Helper()
	for _, v := range s.crowd {
		if s.random.IntN(3) == 0 {
			s.look(v)
		}
	}
}
