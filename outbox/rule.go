package outbox

import (
	"math"
	"strings"
	"time"
)

// Rule says how a lane may go. The zero Rule is one message at a time, at no pace.
type Rule struct {
	Interval    time.Duration // at most Concurrency messages start in any Interval; 0 is no pace
	Concurrency int           // undecided at a time: in flight, or failed and to be tried again; 0 counts as 1
	Paused      bool          // nothing starts
	Attempts    int           // a message that has failed so often is dead; 0 is no limit
	Deadline    time.Duration // a message that is not delivered so long after Message.Since is dead, tried or not, and not called any more, see judge; 0 is the patience of the relay
}

// SinkInterval as the Interval of a rule of a key or pattern is that of the rule of each sink.
const SinkInterval = time.Duration(math.MinInt64)

// limit is how many messages may be undecided at a time.
func (r *Rule) limit() int32 {
	if r == nil {
		return 1
	}
	return int32(max(r.Concurrency, 1))
}

// Step is the time from one start to the next: Interval / Concurrency, rounded up, so that evenly spaced starts never
// come to more than Concurrency in any Interval.
func (r *Rule) Step() time.Duration {
	if r == nil || r.Interval <= 0 {
		return 0
	}
	n := time.Duration(max(r.Concurrency, 1))
	return (r.Interval + n - 1) / n
}

// exhausted tells whether a message that has failed so often, at this age, is given up.
func (r *Rule) exhausted(attempts int, age time.Duration) bool {
	return r != nil && (r.Attempts > 0 && attempts >= r.Attempts || r.Deadline > 0 && age >= r.Deadline)
}

func (r *Rule) paused() bool { return r != nil && r.Paused }

// rules finds the rule of a lane: that of its key, else that of the longest pattern ("tenant-*") that fits the key, else
// that of its sink, else none.
type rules struct {
	exact  map[string]*Rule
	prefix map[string]*Rule // by what stands before the asterisk
	sinks  map[string]*Rule
	filled map[sinkRule]*Rule // those with SinkInterval as they are for a sink; each one once, so that lanes share it
}

type sinkRule struct {
	sink string
	rule *Rule
}

// set keeps a rule for a key, or for all keys that begin like a pattern that ends with an asterisk; nil takes it away.
func (r *rules) set(pattern string, rule *Rule) {
	where, name := &r.exact, pattern
	if p, ok := strings.CutSuffix(pattern, "*"); ok {
		where, name = &r.prefix, p
	}
	if *where == nil {
		*where = map[string]*Rule{}
	}
	clear(r.filled)
	if rule == nil {
		delete(*where, name)
		return
	}
	(*where)[strings.Clone(name)] = rule
}

func (r *rules) of(sink, key string) *Rule {
	rule := r.find(sink, key)
	if rule == nil || rule.Interval != SinkInterval {
		return rule
	}
	full := r.filled[sinkRule{sink, rule}]
	if full == nil {
		c := *rule
		if full = &c; r.sinks[sink] != nil {
			full.Interval = r.sinks[sink].Interval
		} else {
			full.Interval = 0
		}
		if r.filled == nil {
			r.filled = map[sinkRule]*Rule{}
		}
		r.filled[sinkRule{sink, rule}] = full
	}
	return full
}

func (r *rules) find(sink, key string) *Rule {
	if rule, ok := r.exact[key]; ok {
		return rule
	}
	best, longest := r.sinks[sink], -1
	for p, rule := range r.prefix {
		if len(p) > longest && strings.HasPrefix(key, p) {
			best, longest = rule, len(p)
		}
	}
	return best
}
