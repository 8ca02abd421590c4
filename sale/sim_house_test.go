package sale_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/sale"
	"foyer/seats"
	"foyer/store"
)

// The two events of the evening. In the second one seats are sold in fixed
// pairs, so that every picture of it tells by itself whether a hold is whole.
const (
	simGala  = "gala"
	simTwins = "twins"
)

// eveningSize is how large and how long an evening is.
type eveningSize struct {
	visitors map[string]int           // per event
	rows     map[string]int           // of 20 seats
	rules    map[string][2]int        // admitPerSecond, maxActive
	length   time.Duration            // from the opening of the doors to the end of the sale
	restarts map[time.Duration]string // when the store is closed: "orderly" or "abrupt"
	down     [2]time.Duration         // when the sinks are down
}

// evening is one simulated evening.
type evening struct {
	t          *testing.T
	seed       uint64
	size       eveningSize
	fault      simFault
	dir        string
	start      time.Time
	ledger     *simLedger
	bank       *simBank
	sinks      []*simSink
	house      atomic.Pointer[simHouse]
	plans      map[string]*seats.Plan
	codes      map[string][]string // of members, two people each
	phases     sync.Map            // event -> sale.Phase, once a second
	visitors   sync.WaitGroup
	background sync.WaitGroup
	late       atomic.Bool                      // everybody has gone
	refunds    simRefunds                       // its house is that of the moment
	messages   map[string]map[string]simPromise // sink -> id: committed messages, from the store's own announcements
	mu         sync.Mutex
	desk       *desk // nil: the bubble's clock, and nothing beside it
}

// simPromise is what is known of a committed message without its body.
type simPromise struct {
	seq uint64
	key string
}

// simHouse is everything that a restart replaces.
type simHouse struct {
	store   *store.Store
	office  *sale.Office
	stop    context.CancelFunc // of the relay
	stopped chan struct{}
	closing atomic.Bool // answers that come now are lost
}

func newEvening(t *testing.T, seed uint64, size eveningSize, fault simFault, dir string) *evening {
	e := &evening{
		t: t, seed: seed, size: size, fault: fault, dir: dir, start: time.Now(), ledger: newSimLedger(),
		plans: map[string]*seats.Plan{}, codes: map[string][]string{}, messages: map[string]map[string]simPromise{},
	}
	e.bank = newSimBank(e)
	e.refunds = simRefunds{mu: &sync.Mutex{}, got: map[string]bool{}}
	e.sinks = []*simSink{
		{evening: e, name: "https://books.example/in", slow: 3 * time.Second},
		{evening: e, name: "https://door.example/in", slow: 500 * time.Millisecond},
	}
	return e
}

// hash makes the evening's dice: the same for the same seed and words.
func (e *evening) hash(words ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, e.seed, words)
	v := h.Sum64() // the low bits of FNV are weak for short texts
	v ^= v >> 32
	v *= 0x9e3779b97f4a7c15
	return v ^ v>>29
}

func (e *evening) chance(percent int, words ...any) bool {
	return e.hash(words...)%100 < uint64(percent)
}

func (e *evening) between(low, high time.Duration, words ...any) time.Duration {
	steps := uint64((high-low)/(100*time.Millisecond)) + 1
	return low + time.Duration(e.hash(words...)%steps)*100*time.Millisecond
}

func (e *evening) elapsed() time.Duration { return time.Since(e.start) }

func (e *evening) sinkDown() bool {
	return e.elapsed() >= e.size.down[0] && e.elapsed() < e.size.down[1]
}

// open opens the house on the file as it is.
func (e *evening) open() *simHouse {
	st, err := store.Open(e.dir, e.desk.options())
	if err != nil {
		e.t.Fatalf("the store does not open: %v", err)
	}
	h := &simHouse{store: st, stopped: make(chan struct{})}
	var under sale.Store = st
	if e.fault.store != nil {
		under = e.fault.store(under)
	}
	var book outbox.Book = st
	if e.fault.book != nil {
		book = e.fault.book(book)
	}
	sinks := map[string]outbox.Sink{}
	var names []string
	for _, s := range e.sinks {
		sinks[s.name] = s
		names = append(names, s.name)
	}
	h.office = sale.New(sale.Config{
		Store: simStore{under, e.ledger}, Secret: st.Secret(), Providers: []sale.Provider{e.bank},
		TicketCode: func(id uuid.UUID) string { return "code-" + id.String() },
		Sinks: func(topic string) []string {
			if topic == sale.TopicOrderExpired {
				return names[:1]
			}
			return names
		},
	})
	asking := e.refunds
	asking.office = h.office
	sinks[sale.RefundSink] = asking
	relay := outbox.NewRelay(outbox.Config{Book: book, Sinks: sinks, Now: st.Now, Rand: func() float64 { return 0.5 }})
	if err := st.ServeOutbox(func(msgs []outbox.Message) { e.promise(msgs); relay.Offer(msgs) }); err != nil {
		e.t.Fatalf("the outbox does not open: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	go func() {
		defer close(h.stopped)
		_ = relay.Run(ctx) // what it could not settle is delivered again
	}()
	return h
}

// promise notes messages as the store announces them after their commit.
func (e *evening) promise(msgs []outbox.Message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range msgs {
		if e.messages[m.Sink] == nil {
			e.messages[m.Sink] = map[string]simPromise{}
		}
		e.messages[m.Sink][m.ID] = simPromise{m.Seq, m.Key}
	}
}

// ask makes one call on the house as it stands. An answer out of a house that
// closes is lost, and the caller asks again.
func (e *evening) ask(fn func(*sale.Office) error) error {
	for {
		h := e.house.Load()
		err := fn(h.office)
		if !h.closing.Load() && !errors.Is(err, sale.ErrUnavailable) {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// restart closes the store and opens it again. Orderly: the relay ends first.
// Abrupt: the file is gone while deliveries are under way.
// More slots than usual just before and after make the pace matter.
func (e *evening) restart(how string) {
	h := e.house.Load()
	usual := e.size.rules[simGala]
	e.rules(simGala, usual[0], usual[1]+4*usual[0])
	defer e.rules(simGala, usual[0], usual[1])
	if how == "orderly" {
		h.stop()
		<-h.stopped
	}
	e.must("tick", func(o *sale.Office) error { _, err := o.Tick(simGala, time.Second); return err })
	h.closing.Store(true)
	if err := h.store.Close(); err != nil {
		e.t.Errorf("the store does not close: %v", err)
	}
	h.stop()
	<-h.stopped
	time.Sleep(300 * time.Millisecond) // less than the second over which the pace is kept
	e.ledger.observe(e.inspect()...)
	next := e.open()
	if e.fault.reopen != nil {
		e.fault.reopen(next.store)
	}
	e.ledger.observe(e.compare(next.store, true)...)
	e.house.Store(next)
	e.must("tick", func(o *sale.Office) error { _, err := o.Tick(simGala, time.Second); return err })
}

// rules changes how many turns an event gives.
func (e *evening) rules(event string, pace, active int) {
	e.must("rules", func(o *sale.Office) error {
		_, err := o.ChangeEvent("staff", event, func(s *sale.Settings) error {
			s.Rules.AdmitPerSecond, s.Rules.MaxActive = pace, active
			return nil
		})
		return err
	})
}

// setUp makes the two events and their houses.
func (e *evening) setUp() {
	for _, id := range []string{simGala, simTwins} {
		s := sale.DefaultSettings()
		s.ID, s.Name = id, "Evening at the "+id
		s.Prices = map[string]int64{"Stalls": 4250, "Balcony": 1999, "Friends": 0}
		s.Rules.AdmitPerSecond, s.Rules.MaxActive = e.size.rules[id][0], e.size.rules[id][1]
		s.Rules.TurnSeconds, s.Rules.PickupSeconds, s.Rules.ReturnSeconds = 150, 20, 120
		s.Rules.HoldSeconds, s.Rules.PaySeconds, s.Rules.PayMarginSeconds = 90, 60, 20
		if id == simGala { // people gather before the opening; the other event passes them through
			opens := e.start.Add(time.Minute).UTC()
			s.OpensAt = &opens
		}
		p, err := seats.Parse([]byte(simPlan(e.size.rows[id])))
		if err != nil {
			e.t.Fatalf("plan of %s: %v", id, err)
		}
		e.plans[id] = p
		e.must("set up", func(o *sale.Office) error {
			if _, err := o.CreateEvent("staff", s); err != nil {
				return err
			}
			if _, err := o.SetPlan("staff", id, p, false); err != nil {
				return err
			}
			_, codes, err := o.CreateCodes("staff", id, sale.CodeBatch{Class: sale.Member, Count: 1 + e.size.visitors[id]/16, Uses: 2})
			e.codes[id] = codes
			return err
		})
	}
}

func simPlan(rows int) string {
	var b strings.Builder
	b.WriteString("zone,row,seat,category,id\n")
	for r := range rows {
		category := "Stalls"
		switch {
		case r == rows-1:
			category = "Friends"
		case r > rows/2:
			category = "Balcony"
		}
		for s := range 20 {
			fmt.Fprintf(&b, "House,%d,%d,%s,%d-%d\n", r+1, s+1, category, r+1, s+1)
		}
	}
	return b.String()
}

func (e *evening) must(what string, fn func(*sale.Office) error) {
	if err := e.ask(fn); err != nil {
		e.ledger.observe(fmt.Sprintf("unexpected: %s: %v", what, err))
	}
}

// tick lets people in, as the program's own loop does, until ctx ends.
func (e *evening) tick(ctx context.Context, event string) {
	for ctx.Err() == nil {
		h := e.house.Load()
		pause, err := h.office.Tick(event, time.Second)
		switch {
		case errors.Is(err, sale.ErrUnavailable):
			pause = 100 * time.Millisecond
		case err != nil:
			e.ledger.observe(fmt.Sprintf("unexpected: tick: %v", err))
			pause = time.Second
		}
		time.Sleep(max(pause, time.Millisecond))
	}
}

// staff does what staff do in the course of an evening.
func (e *evening) staff() {
	part := func(n time.Duration) { time.Sleep(time.Until(e.start.Add(e.size.length * n / 100))) }
	usual := e.size.rules
	part(10)
	e.must("announce", func(o *sale.Office) error { _, err := o.Announce("staff", simGala, "Doors at eight."); return err })
	part(20)
	e.rules(simGala, 1, usual[simGala][1]/3)
	part(25)
	e.must("pause", func(o *sale.Office) error { _, err := o.PauseEvent("staff", simTwins, "A moment."); return err })
	part(28)
	e.rules(simGala, usual[simGala][0]+2, usual[simGala][1]+4)
	e.must("resume", func(o *sale.Office) error { _, err := o.ResumeEvent("staff", simTwins); return err })
	part(40)
	e.must("price", func(o *sale.Office) error {
		_, err := o.ChangeEvent("staff", simGala, func(s *sale.Settings) error { s.Prices["Stalls"] = 3900; return nil })
		return err
	})
	e.rules(simTwins, usual[simTwins][0], 2)
	part(50)
	e.rules(simTwins, usual[simTwins][0]+1, usual[simTwins][1])
	e.revokeSome()
	for n := time.Duration(52); n < 100; n += 4 {
		part(n)
		e.refundDesk()
		if n%12 == 0 {
			e.refundSome(simGala, 6)
			e.refundSome(simTwins, 2)
		}
	}
	part(100)
	for _, id := range []string{simGala, simTwins} {
		e.must("close", func(o *sale.Office) error { _, err := o.CloseEvent("staff", id, "Good night."); return err })
	}
}

// revokeSome takes a few places away, whatever their visitors do just now.
func (e *evening) revokeSome() {
	var live []sale.Place
	e.ledger.mu.Lock()
	for _, p := range e.ledger.places {
		if p.Turn.State.Live() {
			live = append(live, p)
		}
	}
	e.ledger.mu.Unlock()
	slices.SortFunc(live, func(a, b sale.Place) int { return cmp.Compare(a.Number, b.Number) })
	for _, p := range live[:min(10, len(live))] {
		err := e.ask(func(o *sale.Office) error { return o.Revoke("staff", p.Event, p.Visitor) })
		if err != nil && !errors.Is(err, sale.ErrNotEntered) {
			e.ledger.observe(fmt.Sprintf("unexpected: revoke: %v", err))
		}
	}
}

// visitor names the visitor with number i of an event.
func (e *evening) visitor(event string, i int) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceURL, fmt.Append(nil, e.seed, event, i))
}

// phase is where an event stood at the last look, at most a second ago.
func (e *evening) phase(event string) sale.Phase {
	p, _ := e.phases.Load(event)
	phase, _ := p.(sale.Phase)
	return phase
}
