package outbox

import "time"

// slow is the reference: a list of all messages, every question answered by looking at all of them.
type slow struct {
	msgs    []*slowMsg
	stopped map[string]bool
	starts  map[string]int // per sink
	streak  map[string]int // failures of a sink in a row
	shut    map[string]time.Time
	counted map[string]int // outcomes of a sink that count for its streak
	rules   map[string]Rule
	begun   map[string][]time.Time // starts of a lane since its rule is what it is
}

type slowMsg struct {
	Message
	phase   phase
	tried   bool
	drop    bool
	landed  bool
	freed   bool // given up without a call, not settled
	start   start
	order   int // of its start among all
	begunAt int // outcomes of its sink that had counted when it started
	openAt  int // starts of the sink when its lane was first seen able to go; -1 = not able
}

func (s *slow) find(seq uint64) *slowMsg {
	for _, m := range s.msgs {
		if m.Seq == seq {
			return m
		}
	}
	return nil
}

func (s *slow) all(p phase) (list []*slowMsg) {
	for _, m := range s.msgs {
		if m.phase == p {
			list = append(list, m)
		}
	}
	return list
}

// undecided says whether m holds a place of its lane.
func (m *slowMsg) undecided() bool {
	return m.phase == inFlight && !m.freed || m.phase == waiting && m.tried
}

// lane gives the messages of m's lane, itself included, that are neither gone nor dead.
func (s *slow) lane(m *slowMsg) (list []*slowMsg) {
	for _, o := range s.msgs {
		if o.Sink == m.Sink && o.Key == m.Key && (o.phase == waiting || o.phase == inFlight) {
			list = append(list, o)
		}
	}
	return list
}

// soonest is when m could go if nothing else happened in its lane; false when only an event can help.
func (s *slow) soonest(m *slowMsg) (at time.Time, ok bool) {
	r := s.rules[m.Key]
	if m.phase != waiting || s.stopped[m.Sink] || m.Sink == "stranger" || r.Paused {
		return at, false
	}
	open, flight := 0, 0
	for _, o := range s.lane(m) {
		if o.undecided() {
			open++
		}
		if o.phase == inFlight && !o.freed {
			flight++
		}
	}
	if n := max(r.Concurrency, 1); m.tried && flight >= n || !m.tried && open >= n {
		return at, false
	}
	at = m.NextAt
	if begun := s.begun[m.Sink+m.Key]; len(begun) > 0 && r.Interval > 0 {
		if slot := begun[len(begun)-1].Add(r.Step()); slot.After(at) {
			at = slot
		}
	}
	return at, true
}

// can says whether m may go now as far as its lane is concerned: the first of those that failed, else the first.
func (s *slow) can(m *slowMsg, now time.Time) bool {
	if at, ok := s.soonest(m); !ok || at.After(now) {
		return false
	}
	for _, o := range s.lane(m) {
		if at, ok := s.soonest(o); !ok || at.After(now) || o == m {
			continue
		}
		if o.tried && !m.tried || o.tried == m.tried && o.Seq < m.Seq {
			return false
		}
	}
	return true
}

// ill says whether a sink has only failed lately.
func (s *slow) ill(sink string) bool { return s.streak[sink] >= longStreak }

func (s *slow) perSink(sink string) int {
	if s.ill(sink) {
		return 1
	}
	return gamePerSink
}

// flight counts the calls under way to a sink ("" = to all).
func (s *slow) flight(sink string) (n int) {
	for _, m := range s.all(inFlight) {
		if !m.landed && (sink == "" || m.Sink == sink) {
			n++
		}
	}
	return n
}

// told notes whether a call reached its sink; a failure of one that began before the last outcome that counted is none.
func (s *slow) told(m *slowMsg, down bool, looked time.Time) {
	if down && m.begunAt < s.counted[m.Sink] {
		return
	}
	s.counted[m.Sink]++
	s.streak[m.Sink]++
	s.shut[m.Sink] = looked.Add(shutPause)
	if !down {
		s.streak[m.Sink] = 0
	}
}

// full says whether nothing may start.
func (s *slow) full() bool {
	return s.flight("") >= gameWorkers || len(s.all(inFlight))-s.flight("") >= gameBacklog
}

func (s *slow) blocked() int {
	lanes := map[string]bool{}
	for _, m := range s.msgs {
		live := m.phase == waiting || m.phase == inFlight && !m.freed
		if live && (m.tried || s.stopped[m.Sink] || m.Sink == "stranger") {
			lanes[m.Sink+" "+m.Key] = true
		}
	}
	return len(lanes)
}
