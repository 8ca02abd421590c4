package outbox

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

var epoch = time.Date(2027, 3, 1, 19, 0, 0, 0, time.UTC)

// script feeds bytes to a test as choices.
type script struct{ data []byte }

func (s *script) more() bool { return len(s.data) > 0 }

func (s *script) pick(n int) int {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b) % n
}

// game plays one script on both.
type game struct {
	t   *testing.T
	s   *script
	l   *lanes
	ref *slow
	now time.Time
	seq uint64

	starts int
	looked time.Time // time of the last Next
	held   []Message // written, but offered later: they come out of order
}

const (
	gameWorkers = 4
	gamePerSink = 3
	gameBacklog = 2
)

func play(t *testing.T, data []byte) {
	data = data[:min(len(data), 800)] // the reference takes time with the cube of the length
	g := &game{t: t, s: &script{data}, now: epoch}
	g.l = newLanes(gameWorkers, gamePerSink, []string{"a", "b"})
	g.l.backlog = gameBacklog
	g.ref = &slow{stopped: map[string]bool{}, starts: map[string]int{}, streak: map[string]int{}, shut: map[string]time.Time{}, counted: map[string]int{}, rules: map[string]Rule{}, begun: map[string][]time.Time{}}
	g.rule("k", Rule{})
	g.rule("l", Rule{Concurrency: 2})
	g.rule("m", Rule{Interval: 2 * time.Second})
	g.rule("n", Rule{Interval: 3 * time.Second, Concurrency: 2})
	for g.s.more() {
		switch g.s.pick(12) {
		case 0, 1:
			g.add()
		case 2, 3, 4:
			g.next()
		case 5, 6:
			g.land()
		case 7:
			g.now = g.now.Add(time.Duration(g.s.pick(4)) * time.Second)
		case 8:
			g.staff()
		case 9:
			g.release()
		case 10:
			if g.s.pick(4) == 0 {
				g.rule(string(rune('k'+g.s.pick(4))), Rule{
					Interval: time.Duration(g.s.pick(3)) * time.Second, Concurrency: g.s.pick(4), Paused: g.s.pick(5) == 0,
				})
			}
		case 11:
			g.touchDown()
		}
		g.agree()
	}
	g.finish()
}

// rule gives the lanes of a key a rule. The last start counts for the first step under the new one, while the lane is there.
func (g *game) rule(key string, r Rule) {
	there := map[string]bool{}
	for sink, t := range g.l.targets {
		there[sink] = t.lanes[key] != nil && t.lanes[key].began != 0
	}
	g.ref.rules[key] = r
	g.l.SetRule(key, &r, g.now)
	for _, sink := range []string{"a", "b", "stranger"} {
		begun := g.ref.begun[sink+key]
		if len(begun) == 0 {
			continue
		}
		if g.ref.begun[sink+key] = begun[len(begun)-1:]; !there[sink] {
			delete(g.ref.begun, sink+key)
		}
	}
}

func (g *game) add() {
	g.seq++
	m := Message{
		Seq: g.seq, Sink: []string{"a", "a", "b", "stranger"}[g.s.pick(4)], Key: string(rune('k' + g.s.pick(4))),
		CreatedAt: g.now, State: Waiting,
	}
	switch g.s.pick(8) {
	case 0:
		m.NextAt, m.Attempts = g.now.Add(time.Duration(g.s.pick(5))*time.Second), g.s.pick(2)
	case 1:
		m.State = Dead
	case 2:
		g.held = append(g.held, m)
		return
	}
	g.offer(m)
	if len(g.held) > 0 && g.s.pick(2) == 0 {
		late := g.held[0]
		g.held = g.held[1:]
		g.offer(late)
	}
}

func (g *game) offer(m Message) {
	if !g.l.Add(m) {
		g.t.Fatalf("message %d was taken for known", m.Seq)
	}
	if g.l.Add(m) {
		g.t.Fatalf("message %d was taken twice", m.Seq)
	}
	p := waiting
	if m.State == Dead {
		p = dead
	}
	g.ref.msgs = append(g.ref.msgs, &slowMsg{Message: m, phase: p, tried: m.Attempts > 0, openAt: -1})
}

func (g *game) next() bool {
	ref := g.ref
	keys := map[string]int{}
	for _, m := range ref.msgs {
		if !ref.can(m, g.now) {
			m.openAt = -1
			continue
		}
		keys[m.Sink]++
		if m.openAt < 0 {
			m.openAt = ref.starts[m.Sink]
		}
	}
	g.looked = g.now
	s, ok, again := g.l.Next(g.now)
	if !ok {
		g.none(again)
		return false
	}
	m := ref.find(s.seq)
	switch {
	case !ref.can(m, g.now):
		g.t.Fatalf("message %d went, but its lane is full, or too early, or has another to go first, or its sink is closed", s.seq)
	case ref.full() || ref.flight(m.Sink) >= ref.perSink(m.Sink) || ref.ill(m.Sink) && ref.shut[m.Sink].After(g.now):
		g.t.Fatalf("message %d went over a limit", s.seq)
	}
	const lanesPerSink = 4
	if passed := ref.starts[m.Sink] - m.openAt; passed > 2*lanesPerSink {
		g.t.Fatalf("lane %s of %s was passed over %d times", m.Key, m.Sink, passed)
	}
	ref.starts[m.Sink]++
	m.phase, m.openAt, m.landed, m.freed, m.start, m.begunAt = inFlight, -1, false, false, s, ref.counted[m.Sink]
	g.starts++
	m.order = g.starts
	g.began(m, s)
	return true
}

// began notes a start and counts those of its lane in the interval that ends with it.
func (g *game) began(m *slowMsg, s start) {
	r, lane := g.ref.rules[m.Key], m.Sink+m.Key
	begun := append(g.ref.begun[lane], g.now)
	g.ref.begun[lane] = begun
	n := 0
	for _, at := range begun {
		if r.Interval > 0 && at.After(g.now.Add(-r.Interval)) {
			n++
		}
	}
	if n > max(r.Concurrency, 1) {
		g.t.Fatalf("lane %s of %s began %d in %s", m.Key, m.Sink, n, r.Interval)
	}
	want := time.Time{}
	if r.Interval > 0 {
		want = g.now.Add(r.Step())
	}
	if !s.slot.Equal(want) {
		g.t.Fatalf("the next slot of %s is %v, want %v", m.Key, s.slot, want)
	}
}

// none checks that really nothing could go, and that the time to look again is not too late.
func (g *game) none(again time.Time) {
	if g.ref.full() {
		return
	}
	var soonest time.Time
	for _, m := range g.ref.msgs {
		at, ok := g.ref.soonest(m)
		if !ok || g.ref.flight(m.Sink) >= g.ref.perSink(m.Sink) {
			continue
		}
		if shut := g.ref.shut[m.Sink]; g.ref.ill(m.Sink) && shut.After(at) {
			at = shut
		}
		if !at.After(g.now) {
			g.t.Fatalf("message %d could go, but nothing went", m.Seq)
		}
		if soonest.IsZero() || at.Before(soonest) {
			soonest = at
		}
	}
	if !soonest.IsZero() && (again.IsZero() || again.After(soonest)) {
		g.t.Fatalf("look again at %v, but a message is due at %v", again, soonest)
	}
	if !again.IsZero() && !again.After(g.now) {
		g.t.Fatalf("look again at %v, which is not after now %v", again, g.now)
	}
}

func (g *game) land() {
	flying := g.ref.all(inFlight)
	if len(flying) == 0 {
		g.l.Done(Outcome{Seq: uint64(g.s.pick(8)), Delivered: true}) // late: must change nothing
		return
	}
	m := flying[g.s.pick(len(flying))]
	o := Outcome{Seq: m.Seq, State: Waiting}
	defer func() {
		if !m.landed {
			g.ref.told(m, o.Down, g.looked)
		}
	}()
	choice := g.s.pick(7)
	if m.freed {
		choice = 5
	}
	switch choice {
	case 6:
		g.expire(m)
		return
	case 0, 1, 2:
		o.Delivered, m.phase = true, gone
	case 3, 4:
		o.NextAt = g.now.Add(time.Duration(g.s.pick(4)) * time.Second)
		m.phase, m.NextAt, m.tried = waiting, o.NextAt, true
		o.Down = g.s.pick(3) > 0
	case 5:
		o.State, m.phase = Dead, dead
		if g.s.pick(4) == 0 {
			g.l.Stop(m.Sink)
			g.ref.stopped[m.Sink] = true
		}
	}
	if m.drop {
		m.phase = gone
	}
	g.l.Done(o)
}

// expire gives a message up without a call, as if it had never started; that is settled later.
func (g *game) expire(m *slowMsg) {
	if g.l.Expire(m.start); m.landed {
		return // too late: must change nothing
	}
	m.landed, m.freed = true, true
	lane := m.Sink + m.Key
	if begun := g.ref.begun[lane]; len(begun) > 0 && g.last(m) {
		begun = begun[:len(begun)-1]
		if before := time.Unix(0, m.start.before).UTC(); len(begun) == 0 && m.start.before != 0 {
			begun = []time.Time{before}
		}
		g.ref.begun[lane] = begun
	}
}

// last tells whether none of m's lane has started since m has.
func (g *game) last(m *slowMsg) bool {
	for _, o := range g.ref.msgs {
		if o.Sink == m.Sink && o.Key == m.Key && o.order > m.order {
			return false
		}
	}
	return true
}

// touchDown ends a call; its outcome comes later, or never.
func (g *game) touchDown() {
	flying := g.ref.all(inFlight)
	if len(flying) == 0 {
		g.l.Landed(Outcome{Seq: uint64(g.s.pick(8)), Down: true}) // must change nothing
		return
	}
	m := flying[g.s.pick(len(flying))]
	o := Outcome{Seq: m.Seq, Down: g.s.pick(3) == 0}
	g.l.Landed(o)
	if !m.landed {
		m.landed = true
		g.ref.told(m, o.Down, g.looked)
	}
}

func (g *game) release() {
	if flying := g.ref.all(inFlight); len(flying) > 0 {
		m := flying[g.s.pick(len(flying))]
		if m.freed {
			return
		}
		m.phase, m.NextAt, m.tried = waiting, g.now.Add(time.Second), true
		if m.drop {
			m.phase = gone
		}
		g.l.Release(m.Seq, m.NextAt)
	}
}

func (g *game) staff() {
	if len(g.ref.msgs) == 0 {
		return
	}
	m := g.ref.msgs[g.s.pick(len(g.ref.msgs))]
	if g.s.pick(3) == 0 {
		g.l.Forget(m.Seq, g.now)
		if m.phase == inFlight {
			m.drop = true
		} else {
			m.phase = gone
		}
		return
	}
	if g.l.Retry(m.Seq, g.now) != (m.phase != gone) {
		g.t.Fatalf("Retry of message %d in phase %d", m.Seq, m.phase)
	}
	if m.phase != gone {
		g.ref.stopped[m.Sink] = false
		g.ref.streak[m.Sink] = 0
	}
	if m.phase == dead || m.phase == waiting {
		m.phase, m.NextAt, m.tried = waiting, time.Time{}, false
	}
}

// agree compares every number.
func (g *game) agree() {
	var oldest int64
	live := append(g.ref.all(waiting), g.ref.all(inFlight)...)
	for _, m := range live {
		if at := nanos(m.CreatedAt); oldest == 0 || at < oldest {
			oldest = at
		}
	}
	got := fmt.Sprint(g.l.waiting, g.l.flight, g.l.landed, g.l.dead, g.l.blocked(), len(g.l.items), g.l.age.oldest())
	flight := g.ref.flight("")
	want := fmt.Sprint(len(g.ref.all(waiting)), flight, len(g.ref.all(inFlight))-flight, len(g.ref.all(dead)), g.ref.blocked(), len(live)+len(g.ref.all(dead)), oldest)
	if got != want {
		g.t.Fatalf("waiting, in flight, landed, dead, blocked, known, oldest: got %s, want %s", got, want)
	}
}

// finish delivers all that can be, and sees that nothing is left behind.
func (g *game) finish() {
	for _, key := range []string{"k", "l", "m", "n"} {
		r := g.ref.rules[key]
		r.Paused = false
		g.rule(key, r)
	}
	quiet := g.now.Add(10 * time.Second) // no pause of the game is longer
	for range 10 * (len(g.ref.msgs) + 1) {
		went := false
		for g.next() {
			went = true
		}
		for _, m := range g.ref.all(inFlight) {
			went = true
			m.phase = gone
			if !m.landed {
				g.ref.streak[m.Sink] = 0
			}
			g.l.Done(Outcome{Seq: m.Seq, Delivered: true})
		}
		if !went && g.now.After(quiet) {
			break
		}
		g.now = g.now.Add(10 * time.Second)
	}
	for _, m := range g.ref.all(waiting) {
		if m.Sink != "stranger" && !g.ref.stopped[m.Sink] {
			g.t.Fatalf("message %d never went", m.Seq)
		}
	}
	for _, t := range g.l.ring {
		if t.open() && len(t.lanes) > 0 {
			g.t.Fatalf("sink %s keeps %d empty lanes", t.name, len(t.lanes))
		}
	}
	g.agree()
}

func FuzzLanesAgreeWithASlowReference(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		data := make([]byte, 400)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(play)
}

func TestEveryMessageIsInExactlyOneStateThroughAHundredThousandSteps(t *testing.T) {
	r := rand.New(rand.NewPCG(58, 58))
	for range 400 { // B58; in games of about 250 steps, since the reference is slow
		data := make([]byte, 700)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		play(t, data)
	}
}

func TestALaneWithAHundredThousandDoesNotDelayALaneWithOne(t *testing.T) {
	l := newLanes(32, 16, []string{"a"})
	for seq := range uint64(100_000) {
		l.Add(Message{Seq: seq + 1, Sink: "a", Key: "pile", CreatedAt: epoch})
	}
	l.Add(Message{Seq: 100_001, Sink: "a", Key: "single", CreatedAt: epoch})
	s1, _, _ := l.Next(epoch)
	s2, ok, _ := l.Next(epoch)
	if s1.seq != 1 || !ok || s2.seq != 100_001 {
		t.Fatalf("got %d and then %d, want 1 and then 100001", s1.seq, s2.seq)
	}
}

func TestADeadTargetLeavesWorkersToOthers(t *testing.T) {
	l := newLanes(32, 16, []string{"dead", "live"})
	for seq := range uint64(1000) {
		l.Add(Message{Seq: seq + 1, Sink: "dead", Key: fmt.Sprint(seq), CreatedAt: epoch})
	}
	for {
		if _, ok, _ := l.Next(epoch); !ok {
			break
		}
	}
	if l.flight != 16 {
		t.Fatalf("%d in flight at one sink, want 16", l.flight)
	}
	l.Add(Message{Seq: 2000, Sink: "live", Key: "k", CreatedAt: epoch})
	if s, ok, _ := l.Next(epoch); !ok || s.seq != 2000 {
		t.Fatalf("the message of the other sink did not go")
	}
}

func TestTheListOfAgesDoesNotGrowBehindAnOldMessage(t *testing.T) {
	l := newLanes(4, 4, []string{"a"})
	l.Add(Message{Seq: 1, Sink: "a", Key: "old", CreatedAt: epoch, NextAt: epoch.Add(time.Hour), Attempts: 3})
	for seq := range uint64(10_000) {
		l.Add(Message{Seq: seq + 2, Sink: "a", Key: "k", CreatedAt: epoch.Add(time.Second)})
		s, _, _ := l.Next(epoch)
		l.Done(Outcome{Seq: s.seq, Delivered: true})
	}
	if len(l.age) > 200 || l.age.oldest() != epoch.UnixNano() {
		t.Fatalf("%d ages kept for 1 message, oldest %d", len(l.age), l.age.oldest())
	}
}

func BenchmarkBytesPerWaitingMessage(b *testing.B) {
	for _, perLane := range []int{1, 4} {
		b.Run(fmt.Sprintf("%d_per_lane", perLane), func(b *testing.B) {
			const n = 200_000
			for range b.N {
				before := heapNow()
				l := newLanes(32, 16, []string{"https://x.example/in"})
				for seq := range uint64(n) {
					key := fmt.Sprintf("order:0190f3d2-7b1c-7000-8000-%012d", seq/uint64(perLane))
					l.Add(Message{Seq: seq + 1, Sink: "https://x.example/in", Key: key, CreatedAt: epoch})
				}
				b.ReportMetric(float64(heapNow()-before)/n, "B/message")
				if l.waiting != n {
					b.Fatal(l.waiting)
				}
			}
		})
	}
}

func BenchmarkOneMessageThroughTheLanes(b *testing.B) {
	l := newLanes(32, 16, []string{"a"})
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = fmt.Sprint("order:", i)
	}
	b.ReportAllocs()
	for i := range b.N {
		l.Add(Message{Seq: uint64(i) + 1, Sink: "a", Key: keys[i%1000], CreatedAt: epoch})
		s, _, _ := l.Next(epoch)
		l.Done(Outcome{Seq: s.seq, Delivered: true})
	}
}
