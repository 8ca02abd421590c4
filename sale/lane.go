package sale

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"foyer/outbox"
)

// Bounds of lanes and their rules.
const (
	maxLaneKey     = 200 // bytes
	maxInterval    = 30 * 24 * time.Hour
	MaxConcurrency = 1000
	MaxAttempts    = 1000
)

// TaskInterval is the time from one task of a key to the next while no rule says another.
const TaskInterval = time.Minute

// Lanes is what the office asks of who delivers messages.
type Lanes interface {
	SetRule(pattern string, r *outbox.Rule)
	Lane(sink, key string) outbox.LaneState
	Standing(seq uint64) (outbox.Standing, bool)
	Withdraw(seq uint64) bool
	Troubles(n int) []outbox.LaneTrouble
}

// LaneView is how the lane of a key stands for tasks.
type LaneView struct {
	Key string
	outbox.LaneState
}

// Lane tells how a key's lane of tasks stands; every key has one.
func (o *Office) Lane(key string) (LaneView, error) {
	if err := checkLaneKey(key, false); err != nil {
		return LaneView{}, err
	}
	return LaneView{key, o.lanes.Lane(outbox.TaskSink, key)}, nil
}

// ChangeLane changes the rule of a key, or of all keys that begin like a pattern which ends with an asterisk: for their
// tasks and for the messages about them. It holds at once for what waits, and after a restart. What the change leaves
// alone stays as it was; while nobody has set an interval, tasks keep [TaskInterval] and messages have none. It returns
// the rule as it is then.
func (o *Office) ChangeLane(actor, pattern string, change func(*outbox.Rule)) (rule outbox.Rule, err error) {
	if err := checkLaneKey(pattern, true); err != nil {
		return rule, err
	}
	o.ruling <- struct{}{} // the relay must learn of rules in the order in which they are stored
	defer func() { <-o.ruling }()
	err = o.store.Update(func(tx Tx) error {
		rule = ruleFor(tx.LaneRules(), pattern)
		change(&rule)
		if err := checkRule(rule); err != nil {
			return err
		}
		tx.PutLaneRule(pattern, rule)
		shown := shownRule(rule)
		o.audit(tx, actor, "", "lane.set", fmt.Sprintf("%s: %d per %s, paused %t", pattern, shown.Concurrency, shown.Interval, shown.Paused))
		return nil
	})
	if err == nil {
		set := rule
		o.lanes.SetRule(pattern, &set)
	}
	return shownRule(rule), err
}

// UnsetLane takes the rule of a key or pattern away, if there is one: its lanes follow the pattern that fits, as if it had
// never been.
func (o *Office) UnsetLane(actor, pattern string) error {
	if err := checkLaneKey(pattern, true); err != nil {
		return err
	}
	o.ruling <- struct{}{}
	defer func() { <-o.ruling }()
	there := false
	err := o.store.Update(func(tx Tx) error {
		if _, there = tx.LaneRules()[pattern]; there {
			tx.RemoveLaneRule(pattern)
			o.audit(tx, actor, "", "lane.unset", pattern)
		}
		return nil
	})
	if err == nil && there {
		o.lanes.SetRule(pattern, nil)
	}
	return err
}

// ruleFor is the rule of a key or pattern that has one, else of the longest pattern that it fits.
func ruleFor(set map[string]outbox.Rule, name string) outbox.Rule {
	if rule, there := set[name]; there {
		return rule
	}
	best, longest := outbox.Rule{Interval: outbox.SinkInterval, Concurrency: 1}, -1
	for pattern, rule := range set {
		if prefix, is := strings.CutSuffix(pattern, "*"); is && len(prefix) > longest && strings.HasPrefix(name, prefix) {
			best, longest = rule, len(prefix)
		}
	}
	return best
}

// shownRule is a rule as it is for tasks.
func shownRule(r outbox.Rule) outbox.Rule {
	if r.Interval == outbox.SinkInterval {
		r.Interval = TaskInterval
	}
	return r
}

// LoadLanes gives the rules that were set to who delivers, at the start.
func (o *Office) LoadLanes() error {
	return o.store.View(func(r Reader) error {
		for pattern, rule := range r.LaneRules() {
			o.lanes.SetRule(pattern, &rule)
		}
		return nil
	})
}

// NamedRule is the rule of a key or pattern.
type NamedRule struct {
	Pattern string
	outbox.Rule
}

// LaneRules are the rules that were set, by key or pattern, in their order.
func (o *Office) LaneRules() (rules []NamedRule, err error) {
	err = o.store.View(func(r Reader) error {
		for pattern, rule := range r.LaneRules() {
			rules = append(rules, NamedRule{pattern, shownRule(rule)})
		}
		return nil
	})
	slices.SortFunc(rules, func(a, b NamedRule) int { return cmp.Compare(a.Pattern, b.Pattern) })
	return rules, err
}

func checkLaneKey(key string, pattern bool) error {
	name := key
	if pattern {
		name = strings.TrimSuffix(key, "*")
	}
	switch {
	case key == "" || len(key) > maxLaneKey || !utf8.ValidString(key):
		return ErrBadLane.say(fmt.Sprintf("A lane's key has 1 to %d bytes of UTF-8.", maxLaneKey))
	case strings.ContainsFunc(key, outbox.Unseen):
		return ErrBadLane.say("A lane's key has no control characters and no others that cannot be seen, such as marks for the direction of writing.")
	case strings.Contains(name, "*") && pattern:
		return ErrBadLane.say("An asterisk stands only at the end of a pattern such as tenant-*.")
	case strings.Contains(name, "*"):
		return ErrBadLane.say("A key has no asterisk. The rules of patterns are listed by GET /api/v1/lanes and set by PUT.")
	}
	return nil
}

func checkRule(r outbox.Rule) error {
	switch {
	case r.Interval != outbox.SinkInterval && (r.Interval < 0 || r.Interval > maxInterval):
		return ErrBadLane.say(fmt.Sprintf("interval is %s, but it %s.", r.Interval, ErrBadSpan))
	case r.Concurrency < 1 || r.Concurrency > MaxConcurrency:
		return ErrBadLane.say(fmt.Sprintf("concurrency is %d, but it must be a number from 1 to %d.", r.Concurrency, MaxConcurrency))
	case r.Attempts < 0 || r.Attempts > MaxAttempts:
		return ErrBadLane.say(fmt.Sprintf("attempts is %d, but it must be a number from 0 (no limit) to %d.", r.Attempts, MaxAttempts))
	case r.Deadline < 0 || r.Deadline > maxInterval:
		return ErrBadLane.say(fmt.Sprintf("deadline is %s, but it %s.", r.Deadline, ErrBadSpan))
	}
	return nil
}

// still is Lanes where nothing is delivered.
type still struct{}

func (still) SetRule(string, *outbox.Rule)                 {}
func (still) Lane(string, string) outbox.LaneState         { return outbox.LaneState{} }
func (still) Standing(uint64) (s outbox.Standing, ok bool) { return s, false }
func (still) Troubles(int) []outbox.LaneTrouble            { return nil }
func (still) Withdraw(uint64) bool                         { return true }
