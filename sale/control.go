package sale

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"foyer/queue"
)

// ControlAuto is the rule of an event whose pace is lowered when what stands
// behind the line fails, and raised again.
const ControlAuto = "auto"

// slow is how long a hold, the opening of a payment or a request to the shop may
// take; what takes longer counts as failed.
const slow = 2 * time.Second

// troubleWords say why a pace is lowered.
var troubleWords = map[queue.Part]string{
	queue.Holds:    "holds fail or are slow",
	queue.Payments: "payments fail or are slow",
	queue.Shop:     "the shop fails or is slow",
}

// steering keeps what is seen of events that steer their pace, by ordinal. It is
// memory only: after a restart the pace is the set one until something fails.
type steering struct {
	mu sync.Mutex
	by map[uint32]*steered
}

type steered struct {
	queue.Control
	lowered bool // the audit knows that the pace is lowered
	told    untold
}

// untold is what the audit must still be told; the zero value is nothing.
type untold struct{ act, detail string }

// pace is how many turns may be given per second now, and why it is not what
// staff have set.
func (o *Office) pace(e *Event) (perSecond int, reason string) {
	set := e.Rules.AdmitPerSecond
	if e.Rules.Control != ControlAuto {
		return set, ""
	}
	o.steering.mu.Lock()
	defer o.steering.mu.Unlock()
	s := o.steering.by[e.Ordinal]
	if s == nil {
		return set, ""
	}
	part, lowered := s.Cause()
	if n := s.Pace(set); lowered && n < set { // there is nothing below 1 a second
		return n, troubleWords[part]
	}
	return set, ""
}

// saw notes what was seen of a part behind an event's line, after the
// transaction that showed it.
func (o *Office) saw(event string, p queue.Part, good, bad int) {
	_ = o.store.View(func(r Reader) error {
		if e, ok := r.Event(event); ok && e.Rules.Control == ControlAuto {
			o.steering.mu.Lock()
			defer o.steering.mu.Unlock()
			o.steering.of(e).Saw(r.Now(), p, good, bad)
		}
		return nil
	})
}

func (s *steering) of(e *Event) *steered {
	if s.by == nil {
		s.by = map[uint32]*steered{}
	}
	if s.by[e.Ordinal] == nil {
		s.by[e.Ordinal] = &steered{}
	}
	return s.by[e.Ordinal]
}

// worked tells whether an act came to an end that the buyer could be told: a
// refusal is one, unless nothing can be written.
func worked(err error) bool {
	var r *Refusal
	return err == nil || errors.As(err, &r) && !errors.Is(err, ErrUnavailable)
}

// now is the store's time.
func (o *Office) now() (now time.Time) {
	_ = o.store.View(func(r Reader) error {
		now = r.Now()
		return nil
	})
	return now
}

// steer moves the pace of an event by what was seen, and gives what the audit
// must be told of it.
func (o *Office) steer(event string) (told untold) {
	_ = o.store.View(func(r Reader) error {
		e, ok := r.Event(event)
		if !ok {
			return nil
		}
		o.steering.mu.Lock()
		defer o.steering.mu.Unlock()
		if e.Rules.Control != ControlAuto {
			delete(o.steering.by, e.Ordinal)
			return nil
		}
		s, set := o.steering.of(e), e.Rules.AdmitPerSecond
		change := s.Step(r.Now())
		switch part, _ := s.Cause(); {
		case !s.lowered && s.Pace(set) < set:
			s.lowered, s.told = true, untold{"pace.lower", fmt.Sprintf("%s: from %d a second to %d, and lower while it lasts", troubleWords[part], set, s.Pace(set))}
		case s.lowered && change == queue.Whole:
			s.lowered, s.told = false, untold{"pace.restore", fmt.Sprintf("%d a second again", set)}
		}
		told = s.told
		return nil
	})
	return told
}

// toldOf forgets what the audit has been told.
func (o *Office) toldOf(event string, told untold) {
	if told == (untold{}) {
		return
	}
	_ = o.store.View(func(r Reader) error {
		if e, ok := r.Event(event); ok {
			o.steering.mu.Lock()
			defer o.steering.mu.Unlock()
			if s := o.steering.by[e.Ordinal]; s != nil && s.told == told {
				s.told = untold{}
			}
		}
		return nil
	})
}

// Health is what the shop that a line protects says of itself, since it said so last.
type Health struct {
	Requests, Failures int
	Latency            time.Duration // mean
}

// ReportHealth takes the shop's word, and gives the pace and why it is lowered.
func (o *Office) ReportHealth(event string, h Health) (perSecond int, reason string, err error) {
	e, _, err := o.Event(event)
	if err != nil {
		return 0, "", err
	}
	if h.Latency > slow {
		h.Failures = h.Requests
	}
	o.saw(event, queue.Shop, h.Requests-h.Failures, h.Failures)
	perSecond, reason = o.pace(e)
	return perSecond, reason, nil
}
