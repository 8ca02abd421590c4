package sale_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"foyer/outbox"
	"foyer/sale"
)

func (h *house) rule(pattern string, change func(*outbox.Rule)) outbox.Rule {
	h.Helper()
	r, err := h.ChangeLane("staff", pattern, change)
	h.ok(err)
	return r
}

func pause(r *outbox.Rule)  { r.Paused = true }
func resume(r *outbox.Rule) { r.Paused = false }

func TestRuleTakesTheRestFromThePatternThatFits(t *testing.T) {
	play(t, nil, func(h *house) {
		end := h.deliver(&errand{})
		h.rule("t-*", func(r *outbox.Rule) { r.Interval, r.Concurrency = 10*time.Second, 3 })
		h.rule("t-a*", func(r *outbox.Rule) { r.Interval = 20 * time.Second })
		if r := h.rule("t-a1", pause); r.Interval != 20*time.Second || r.Concurrency != 3 || !r.Paused {
			h.Errorf("the rule of the key is %+v", r)
		}
		if r := h.rule("other", func(r *outbox.Rule) { r.Concurrency = 2 }); r.Interval != sale.TaskInterval {
			h.Errorf("without an interval the rule is %+v", r)
		}
		check := func() {
			h.Helper()
			for key, want := range map[string]outbox.Rule{
				"t-": {Interval: 10 * time.Second, Concurrency: 3}, "t-a": {Interval: 20 * time.Second, Concurrency: 3}, "t-a1": {Interval: 20 * time.Second, Concurrency: 3, Paused: true},
				"other": {Interval: time.Minute, Concurrency: 2}, "others": {Interval: time.Minute, Concurrency: 1},
			} {
				if l, err := h.Lane(key); err != nil || l.Rule != want || l.Key != key {
					h.Errorf("the lane of %s is %+v, %v", key, l, err)
				}
			}
			rules, err := h.LaneRules()
			h.ok(err)
			var names []string
			for _, r := range rules {
				names = append(names, r.Pattern)
			}
			if !slices.Equal(names, []string{"other", "t-*", "t-a*", "t-a1"}) || rules[0].Interval != time.Minute {
				h.Errorf("the rules are %+v", rules)
			}
		}
		check()
		end()
		h.restart()
		end = h.deliver(&errand{})
		check()
		end()
	})
}

// Nobody said that messages about orders shall have the pace of tasks.
func TestPausingAllLanesGivesMessagesNoPace(t *testing.T) {
	play(t, nil, func(h *house) {
		e := &errand{}
		end := h.deliver(e)
		h.rule("*", pause)
		ann := h.buyer()
		ann.hold("A-1", "A-2")
		_, err := h.confirm(ann.order, "k", 8500)
		h.ok(err)
		h.task("a")
		h.task("b")
		h.at(5 * time.Minute)
		if got := e.made(); len(got) != 0 {
			h.Errorf("while all is paused %v went", got)
		}
		end()
		h.restart()
		end = h.deliver(e)
		h.rule("*", resume)
		h.at(10 * time.Minute)
		got := e.made()
		slices.Sort(got)
		if want := []string{"a at 5m0s", "b at 6m0s", "order.paid at 5m0s", "ticket.issued at 5m0s", "ticket.issued at 5m0s"}; !slices.Equal(got, want) {
			h.Errorf("after it went\n%v, want\n%v", got, want)
		}
		end()
	})
}

func TestSlotOfARuleThatIsNoMoreHoldsNothingUp(t *testing.T) {
	play(t, nil, func(h *house) {
		e := &errand{}
		end := h.deliver(e)
		h.rule("k", func(r *outbox.Rule) { r.Interval = 24 * time.Hour })
		h.task("a")
		h.at(time.Minute)
		h.rule("k", func(r *outbox.Rule) { r.Interval = 0 })
		end()
		h.restart()
		end = h.deliver(e)
		h.task("b")
		h.at(2 * time.Minute)
		if got := e.made(); !slices.Equal(got, []string{"a at 0s", "b at 1m0s"}) {
			h.Errorf("tasks went %v", got)
		}
		end()
	})
}

func TestBadRulesAndKeysAreRefused(t *testing.T) {
	play(t, nil, func(h *house) {
		for name, spoil := range map[string]func(*outbox.Rule){
			"negative":  func(r *outbox.Rule) { r.Interval = -1 },
			"long":      func(r *outbox.Rule) { r.Interval = 720*time.Hour + 1 },
			"nobody":    func(r *outbox.Rule) { r.Concurrency = 0 },
			"everybody": func(r *outbox.Rule) { r.Concurrency = 1001 },
			"attempts":  func(r *outbox.Rule) { r.Attempts = 1001 },
			"fewer":     func(r *outbox.Rule) { r.Attempts = -1 },
			"deadline":  func(r *outbox.Rule) { r.Deadline = -1 },
			"patience":  func(r *outbox.Rule) { r.Deadline = 721 * time.Hour },
		} {
			if _, err := h.ChangeLane("staff", "k", spoil); err == nil {
				h.Errorf("%s: it was taken", name)
			} else {
				h.refused(err, sale.ErrBadLane)
			}
		}
		for _, key := range []string{"", strings.Repeat("k", 201), "a*b", "a**", "a\x00", "a\x7f", "\u0085", "a\u202eb", "\u2066", "a\u200f", "\u200b", "\ufeff", "\u2028", "\xff"} {
			_, err := h.ChangeLane("staff", key, pause)
			h.refused(err, sale.ErrBadLane)
			_, err = h.Lane(key)
			h.refused(err, sale.ErrBadLane)
			_, _, err = h.AddTask(key, request("a"))
			h.refused(err, sale.ErrBadLane)
			_, _, err = h.Tasks(key, 0, 9)
			h.refused(err, sale.ErrBadLane)
		}
		for _, pattern := range []string{"*", "t-*"} { // rules have patterns, tasks have not
			h.rule(pattern, pause)
			_, _, err := h.AddTask(pattern, request("a"))
			h.refused(err, sale.ErrBadLane)
		}
		h.rule(strings.Repeat("é", 100), pause)
		rules, err := h.LaneRules()
		if h.ok(err); len(rules) != 3 {
			h.Errorf("the rules are %v", rules)
		}
	})
}

func TestRuleThatIsTakenAwayLeavesItsLanesToThePattern(t *testing.T) {
	play(t, nil, func(h *house) {
		end := h.deliver(&errand{})
		h.rule("t-*", func(r *outbox.Rule) { r.Interval, r.Concurrency = 10*time.Second, 3 })
		h.rule("t-1", pause)
		h.ok(h.UnsetLane("staff", "t-1"))
		h.ok(h.UnsetLane("staff", "t-1"))
		check := func(key string, want outbox.Rule) {
			h.Helper()
			if l, err := h.Lane(key); err != nil || l.Rule != want {
				h.Errorf("the lane of %s is %+v, %v", key, l, err)
			}
		}
		check("t-1", outbox.Rule{Interval: 10 * time.Second, Concurrency: 3})
		end()
		h.restart()
		end = h.deliver(&errand{})
		check("t-1", outbox.Rule{Interval: 10 * time.Second, Concurrency: 3})
		h.ok(h.UnsetLane("staff", "t-*"))
		check("t-1", outbox.Rule{Interval: sale.TaskInterval, Concurrency: 1})
		if rules, err := h.LaneRules(); err != nil || len(rules) > 0 {
			h.Errorf("there are rules %v, %v", rules, err)
		}
		h.refused(h.UnsetLane("staff", "a*b"), sale.ErrBadLane)
		if all, err := h.Audit(0, 10); err != nil || len(all) < 3 || all[0].Act != "lane.unset" || all[1].Act != "lane.unset" || all[2].Act == "lane.unset" {
			h.Errorf("the audit is %+v, %v", all, err)
		}
		end()
	})
}

// A rule that is slower than before is whole once it is answered: what comes after a crash keeps its pace.
func TestSlowerPaceSurvivesACrashBeforeTheNextStart(t *testing.T) {
	for name, slower := range map[string]func(h *house){
		"another rule": func(h *house) { h.rule("k", func(r *outbox.Rule) { r.Interval = time.Hour }) },
		"no rule": func(h *house) {
			h.rule("*", func(r *outbox.Rule) { r.Interval = time.Hour })
			h.ok(h.UnsetLane("staff", "k"))
		},
	} {
		play(t, nil, func(h *house) {
			end := h.deliver(&errand{})
			h.rule("k", func(r *outbox.Rule) { r.Interval = 10 * time.Second })
			h.task("a")
			h.at(time.Second)
			slower(h)
			slots, err := h.store.Slots() // as a run after a crash would find them
			h.ok(err)
			if len(slots) != 1 || slots[0].At.Before(h.began.Add(time.Hour)) {
				h.Errorf("%s: booked are %v, want one in an hour", name, slots)
			}
			end()
		})
	}
}

// While one change waits for the disk another waits for it, and time goes on.
func TestRulesThatChangeAtOnceWaitForEachOther(t *testing.T) {
	play(t, nil, func(h *house) {
		var all sync.WaitGroup
		all.Go(func() { h.ok(h.store.Update(func(sale.Tx) error { time.Sleep(time.Minute); return nil })) })
		synctest.Wait()
		for range 2 {
			all.Go(func() {
				if _, err := h.ChangeLane("staff", "k", pause); err != nil {
					h.Error(err)
				}
			})
		}
		all.Wait()
	})
}
