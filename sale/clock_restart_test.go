package sale_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"foyer/outbox"
	"foyer/sale"
)

// restarts are the ways from one run to the next in the same run of the machine.
var restarts = map[string]func(h *house){"orderly": (*house).reopen, "killed": (*house).crash}

func TestB99RestartWithAClockThatWasSetKeepsTheTimeThatWasLeft(t *testing.T) {
	for name, again := range restarts {
		for _, steps := range [][]time.Duration{{time.Hour, -time.Hour}, {8 * time.Hour, -8 * time.Hour}, {sec}, {0, -5 * sec}} {
			t.Run(name+" "+durations(steps), func(t *testing.T) {
				t.Parallel()
				onDesk(t, clockRules, func(h *house) {
					f := newFullHouse(h)
					f.pass(5 * sec)
					for i, by := range steps {
						h.desk.set(by)
						time.Sleep(300 * ms)
						warned := h.desk.warnings()
						again(h)
						f.look()
						if n := h.desk.warnings() - warned; (n == 1) != (by.Abs() > 2*sec) {
							t.Errorf("step %d by %s: %d warnings at the start", i, by, n)
						}
						if wall := h.desk.began.Add(h.desk.real() + time.Duration(h.desk.wrong.Load())); h.status().Now.Sub(wall).Abs() > 2*ms {
							t.Errorf("the store shows %s, the wall clock %s", h.status().Now, wall)
						}
						f.pass(5 * sec)
					}
					f.finish()
				})
			})
		}
	}
}

func TestB99ClockSetWhileRunningAndThenRestarted(t *testing.T) {
	for name, again := range restarts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onDesk(t, clockRules, func(h *house) {
				f := newFullHouse(h)
				for _, by := range []time.Duration{-time.Hour, 3 * time.Hour} {
					h.desk.set(by)
					f.pass(5 * sec)
					h.desk.sleep(10 * sec)
					f.pass(5 * sec)
					again(h)
					f.look()
				}
				f.finish()
			})
		})
	}
}

func TestPaceHoldsAcrossARestartWithAClockThatWasSet(t *testing.T) {
	slow := func(s *sale.Settings) { s.Rules.AdmitPerSecond = 2 }
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		onDesk(t, slow, func(h *house) {
			h.crowd(4)
			h.line(2, 2)
			h.desk.set(by)
			h.crash()
			h.tick()
			h.line(2, 2)
			h.at(sec)
			h.tick()
			h.line(2, 2)
			h.at(sec + 2*ms)
			h.tick()
			h.line(0, 4)
		})
	}
}

func TestTurnNobodyPickedUpKeepsItsTimesWhenTheClockWasSet(t *testing.T) {
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		onDesk(t, func(s *sale.Settings) { s.Rules.MaxActive = 1 }, func(h *house) {
			ann, bob := h.buyer(), h.visitor()
			bob.join()
			h.ok(ann.leave())
			h.tick() // bob is called and does not look
			step := func() {
				h.desk.set(by)
				h.crash()
				h.tick()
			}
			h.at(50 * sec)
			step()
			h.line(0, 1)
			h.at(61 * sec)
			step()
			h.line(0, 0) // aside since 60 s
			h.at(655 * sec)
			step()
			if v, created, err := h.Join(gala, bob.id); err != nil || created || v.Number != bob.saw(v).Number || v.Number != 2 {
				t.Errorf("back within the grace: %+v, %v, %v", v, created, err)
			}
		})
	}
}

func TestTimeLeftToWhoWasCalledBeforeStaffShortenedItMovesWithTheClock(t *testing.T) {
	anew := func(h *house, by time.Duration) { // and nobody knows how long that took
		h.desk.set(by)
		h.desk.boot("second", time.Minute)
	}
	for name, set := range map[string]func(*house){
		"set forward":              func(h *house) { h.desk.set(time.Hour) },
		"set back":                 func(h *house) { h.desk.set(-time.Hour) },
		"right":                    func(*house) {},
		"started anew":             func(h *house) { anew(h, 0) },
		"started anew, right then": func(h *house) { anew(h, -8*time.Hour) },
	} {
		onDesk(t, func(s *sale.Settings) { s.Rules.MaxActive = 1 }, func(h *house) {
			ann, bob, cem := h.buyer(), h.visitor(), h.visitor()
			bob.join()
			cem.join()
			h.ok(ann.leave())
			h.tick() // Bob is called, and is not there
			h.at(10 * sec)
			_, err := h.ChangeEvent("boss", gala, func(s *sale.Settings) error { s.Rules.PickupSeconds = 2; return nil })
			h.ok(err)
			set(h)
			h.crash()
			h.crash() // finds in the file what the first has moved
			h.at(20 * sec)
			h.tick()
			if h.line(1, 1); h.Failed() {
				h.Fatalf("%s: Bob's minute was taken away", name)
			}
			bob.is(sale.Ready)
			h.ok(bob.leave())
			h.tick() // Cem is called, by the new rules
			h.at(22 * sec)
			h.tick()
			if h.line(0, 0); h.Failed() {
				h.Fatalf("%s: Cem has longer than the rules say", name)
			}
		})
	}
}

// ahead is an evening that began with the clock 8 h ahead; then the machine is
// started anew with the right time.
func ahead(t *testing.T, script func(h *house, f *fullHouse)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &house{T: t, dir: t.TempDir(), began: time.Now(), bank: &bank{}, desk: newDesk()}
		h.sinks = func(string) []string { return []string{"https://books.example/in"} }
		h.desk.set(8 * time.Hour)
		h.open()
		defer func() { h.ok(h.store.Close()) }()
		h.event(gala, clockRules)
		script(h, newFullHouse(h))
	})
}

func TestB99StampsFromTheFutureAreBoundedAfterAReboot(t *testing.T) {
	for name, again := range restarts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, boot := range []struct {
				run string
				ago time.Duration
			}{{"second", time.Minute}, {"second", 5 * time.Hour}, {"first", time.Minute}} { // the last: a machine put back to an old state
				bounded(t, boot.run, boot.ago, again)
			}
		})
	}
}

// bounded wants every deadline within its rules after a start of the machine.
func bounded(t *testing.T, run string, ago time.Duration, again func(*house)) {
	t.Helper()
	ahead(t, func(h *house, f *fullHouse) {
		f.pass(5 * sec)
		payer := f.holders[7]
		payer.pay()
		h.says("e1", sale.FactSucceeded, "nobody's", f.holders[8].order, 4250) // PAID, and two messages
		fail(h, 3)
		warned := h.desk.warnings()
		h.desk.boot(run, ago)
		h.desk.set(-8 * time.Hour)
		again(h)
		if h.desk.warnings() == warned {
			t.Error("nothing is said of stamps from the future")
		}
		o := payer.seen()
		if left := o.HoldExpiresAt.Sub(o.Now); left <= 0 || left > 300*sec || o.PayBy.Sub(o.Now) > 240*sec {
			t.Errorf("a payment may go on for %s, its page for %s", left, o.PayBy.Sub(o.Now))
		}
		for _, v := range f.holders[:7] {
			if o := v.seen(); o.Status != sale.Pending || o.HoldExpiresAt.Sub(o.Now) > 120*sec {
				t.Fatalf("a hold is %s and ends in %s", o.Status, o.HoldExpiresAt.Sub(o.Now))
			}
		}
		for _, v := range f.ready {
			if p := v.is(sale.Ready); p.TokenExpiresAt.Sub(p.Now) > 300*sec {
				t.Fatalf("a turn ends in %s", p.TokenExpiresAt.Sub(p.Now))
			}
		}
		for _, m := range h.messages() {
			if d := m.NextAt.Sub(h.store.Now()); d > outbox.LongestPause(m.Attempts) {
				t.Errorf("a message after %d attempts waits for %s", m.Attempts, d)
			}
		}
		time.Sleep(sec + ms)
		h.tick()
		if left := h.status().Waiting; left != clockLine-1 { // one bought: one slot
			t.Errorf("%d wait, nobody was let in", left)
		}
		time.Sleep(301 * sec)
		h.tick()
		for _, v := range f.holders[:7] {
			v.orderIs(sale.Expired)
		}
		for _, v := range f.ready {
			v.is(sale.NotEntered)
		}
	})
}

// fail books failed attempts at every message that waits.
func fail(h *house, attempts int) {
	h.Helper()
	msgs, err := h.store.Messages(outbox.Waiting, 0, 100)
	h.ok(err)
	if len(msgs) == 0 {
		h.Fatal("no message waits")
	}
	for _, m := range msgs {
		h.ok(h.store.Settle([]outbox.Outcome{{Seq: m.Seq, State: outbox.Waiting, Attempts: attempts, NextAt: h.store.Now().Add(5 * time.Minute)}}))
	}
}

func TestClockSetBeforeAnOrderlyRebootMovesWithTheFile(t *testing.T) {
	onDesk(t, clockRules, func(h *house) {
		f := newFullHouse(h)
		h.desk.set(time.Hour)
		f.pass(5 * sec)
		h.desk.boot("second", time.Minute)
		h.reopen()
		f.look()
		f.finish()
	})
}

func TestEverythingPlannedAndDoneKeepsItsStamps(t *testing.T) {
	opened := func(s *sale.Settings) {
		at := time.Now().Add(-time.Minute).UTC()
		s.OpensAt, s.StartsAt = &at, &at
	}
	onDesk(t, opened, func(h *house) {
		paid, failed := h.buyer(), h.buyer()
		o := paid.hold("A-1")
		failed.hold("A-2")
		h.says("e1", sale.FactSucceeded, "p1", o.ID, 4250)
		h.ok(h.Release(failed.id, failed.order))
		e, _, _ := h.Office.Event(gala)
		was := []*sale.OrderView{paid.seen(), failed.seen()}
		h.desk.set(-3 * time.Hour)
		h.reopen()
		again, _, _ := h.Office.Event(gala)
		if !again.OpensAt.Equal(*e.OpensAt) || !again.StartsAt.Equal(*e.StartsAt) || !again.CreatedAt.Equal(e.CreatedAt) {
			t.Errorf("the event was %+v and is %+v", e, again)
		}
		for i, is := range []*sale.OrderView{paid.seen(), failed.seen()} {
			if !same(is.Order, was[i].Order) {
				t.Errorf("the order was\n%+v and is\n%+v", was[i].Order, is.Order)
			}
		}
	})
}

func TestRetriesKeepTheirPauseWhenTheClockWasSet(t *testing.T) {
	onDesk(t, nil, func(h *house) {
		o := h.buyer().hold("A-1")
		h.says("e1", sale.FactSucceeded, "p1", o.ID, 4250)
		fail(h, 1)
		for _, by := range []time.Duration{8 * time.Hour, -9 * time.Hour} {
			h.desk.set(by)
			h.crash()
			for _, m := range h.messages() {
				if left := m.NextAt.Sub(h.store.Now()); (left - 5*time.Minute).Abs() > 10*ms {
					t.Errorf("after a step of %s a message waits for %s, want 5 m", by, left)
				}
			}
		}
	})
}

func TestB97SimulatedEveningWithAClockThatIsSet(t *testing.T) {
	t.Parallel()
	dir, seed := t.TempDir(), seedOfTheEvening(t)
	var wrong []string
	var warned int
	synctest.Test(t, func(t *testing.T) {
		e := newEvening(t, seed, smallEvening, simFault{}, dir)
		e.desk = newDesk()
		e.background.Go(func() {
			for _, s := range []struct {
				at time.Duration
				by time.Duration
			}{
				{70, time.Hour}, {90, -time.Hour}, {110, 26 * time.Hour}, {150, -26 * time.Hour}, // a restart at 180 s
				{190, -15 * sec}, {200, 15 * sec}, {210, time.Hour}, {280, -time.Hour}, // another at 300 s
				{310, 8 * time.Hour}, {400, -8 * time.Hour},
			} {
				time.Sleep(time.Until(e.start.Add(s.at * time.Second)))
				e.desk.set(s.by)
			}
		})
		wrong = e.play()
		warned = e.desk.warnings()
	})
	for _, w := range wrong {
		t.Error(w)
	}
	if warned != 10 {
		t.Errorf("%d warnings for 10 steps", warned)
	}
}

func durations(list []time.Duration) string {
	var words []string
	for _, d := range list {
		words = append(words, d.String())
	}
	return strings.Join(words, ",")
}
