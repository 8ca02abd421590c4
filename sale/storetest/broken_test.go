package storetest_test

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/queue"
	"foyer/sale"
	"foyer/sale/storetest"
	"foyer/store"
)

// broken is a good store with one promise broken.
type broken struct {
	storetest.Store
	update func(sale.Tx) sale.Tx
	view   func(sale.Reader) sale.Reader
}

func (b broken) Update(fn func(sale.Tx) error) error {
	return b.Store.Update(func(tx sale.Tx) error {
		if b.update != nil {
			tx = b.update(tx)
		}
		return fn(tx)
	})
}

func (b broken) View(fn func(sale.Reader) error) error {
	return b.Store.View(func(r sale.Reader) error {
		if b.view != nil {
			r = b.view(r)
		}
		return fn(r)
	})
}

// leaky keeps what a refused function wrote.
type leaky struct{ storetest.Store }

func (l leaky) Update(fn func(sale.Tx) error) (refusal error) {
	err := l.Store.Update(func(tx sale.Tx) error {
		refusal = fn(tx)
		return nil
	})
	if err != nil {
		return err
	}
	return refusal
}

// hasty shows views what a function has written so far.
type hasty struct {
	storetest.Store
	running *sale.Tx
	mu      *sync.Mutex
}

func (h hasty) Update(fn func(sale.Tx) error) error {
	return h.Store.Update(func(tx sale.Tx) error {
		h.set(&tx)
		defer h.set(nil)
		return fn(tx)
	})
}

func (h hasty) set(tx *sale.Tx) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*h.running = nil
	if tx != nil {
		*h.running = *tx
	}
}

func (h hasty) View(fn func(sale.Reader) error) error {
	h.mu.Lock()
	tx := *h.running
	h.mu.Unlock()
	if tx != nil {
		return fn(tx)
	}
	return h.Store.View(fn)
}

// reckless lets a panic take the writes of the function along into the commit.
type reckless struct{ storetest.Store }

func (r reckless) Update(fn func(sale.Tx) error) (err error) {
	stored := r.Store.Update(func(tx sale.Tx) error {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		err = fn(tx)
		return err
	})
	if stored != nil {
		return stored
	}
	return err
}

type txNow struct {
	sale.Tx
	now func() time.Time
}

func (t txNow) Now() time.Time { return t.now() }

type txLine struct {
	sale.Tx
	line func(sale.Line) sale.Line
}

func (t txLine) Line(event string) sale.Line { return t.line(t.Tx.Line(event)) }

type txHolder struct{ sale.Tx }

func (t txHolder) PutOrder(o *sale.Order) {
	if o.Status.Claims() { // one that gives its seats back is forgotten
		t.Tx.PutOrder(o)
	}
}

type txFront struct{ sale.Tx }

func (t txFront) Front(event string, n int, turns queue.Cycle) []sale.Place {
	front := t.Tx.Front(event, n, turns)
	slices.Reverse(front)
	return front
}

type txOneLine struct{ sale.Tx }

// Front takes everybody by number, as if there were one line.
func (t txOneLine) Front(event string, n int, turns queue.Cycle) []sale.Place {
	front := t.Tx.Front(event, 1<<20, turns)
	slices.SortFunc(front, func(a, b sale.Place) int { return cmp.Compare(a.Number, b.Number) })
	return front[:min(n, len(front))]
}

type txReturned struct{ sale.Tx }

// Front deals those who came back among the others.
func (t txReturned) Front(event string, n int, turns queue.Cycle) []sale.Place {
	var of [2][]sale.Place
	front := t.Tx.Front(event, 1<<20, turns)
	slices.SortFunc(front, func(a, b sale.Place) int { return cmp.Compare(a.Number, b.Number) })
	for _, p := range front {
		of[p.Class] = append(of[p.Class], p)
	}
	return queue.Deal(turns, of[sale.Member], of[sale.Public], n)
}

type readerAhead struct{ sale.Reader }

// Rank counts those of the own class alone.
func (r readerAhead) Rank(event string, class sale.Class, number uint64, _ queue.Cycle) int {
	return r.Reader.Rank(event, class, number, queue.Cycle{Share: queue.Tens * int(class)})
}

type txOwed struct{ sale.Tx }

func (txOwed) PutOwed(string, int) {}

type txUses struct{ sale.Tx }

// Uses tells what is committed.
func (t txUses) Uses(string, sale.Code) int { return 0 }

type txDraw struct{ sale.Tx }

func (t txDraw) PutDraw(event string, drawn []sale.Drawn) {
	slices.Reverse(drawn)
	t.Tx.PutDraw(event, drawn)
}

type txMarks struct{ sale.Tx }

func (t txMarks) PutPlace(p sale.Place) {
	if p.Turn.State == sale.TurnNone { // who waits is like everybody else
		p.Links = 0
	}
	t.Tx.PutPlace(p)
}

type txCrowded struct{ sale.Tx }

func (txCrowded) Alone() error { return nil }

type txRecent struct{ sale.Tx }

func (txRecent) Recent(string) int { return 0 }

type txSend struct{ sale.Tx }

func (t txSend) Send(m outbox.Message) { // the last one is lost
	if !strings.HasSuffix(m.ID, "2") {
		t.Tx.Send(m)
	}
}

type readerOrder struct {
	sale.Reader
	lost uuid.UUID
}

func (r readerOrder) Order(id uuid.UUID) (*sale.Order, bool) {
	if id == r.lost {
		return nil, false
	}
	return r.Reader.Order(id)
}

type readerRank struct{ sale.Reader }

func (r readerRank) Rank(_ string, _ sale.Class, number uint64, _ queue.Cycle) int {
	return int(number) - 1 // as if nobody had left
}

type mute struct{ storetest.Store }

func (mute) Changed(string) <-chan struct{} { return make(chan struct{}) }

// brokenStore is a way to break a store.
type brokenStore struct {
	name    string
	caught  string // the promise that must notice, among others
	breakIt func(s storetest.Store, opened int) storetest.Store
}

// brokenStores are the ways to break a store and what must notice each.
var brokenStores = []brokenStore{
	{"keeps what a refused function wrote", "a refused function leaves nothing", func(s storetest.Store, _ int) storetest.Store { return leaky{s} }},
	{"keeps what a panicking function wrote", "a function that panics leaves nothing and harms no neighbour", func(s storetest.Store, _ int) storetest.Store { return reckless{s} }},
	{"shows views what is not committed", "a view never sees what is not committed", func(s storetest.Store, _ int) storetest.Store {
		return hasty{s, new(sale.Tx), new(sync.Mutex)}
	}},
	{"has a clock that goes back", "a transaction has one time and time never runs backwards", func(s storetest.Store, _ int) storetest.Store {
		step := time.Duration(0)
		return broken{Store: s, update: func(tx sale.Tx) sale.Tx {
			step += time.Second
			now := tx.Now().Add(-step)
			return txNow{tx, func() time.Time { return now }}
		}}
	}},
	{"has a clock that runs inside a transaction", "a transaction has one time and time never runs backwards", func(s storetest.Store, _ int) storetest.Store {
		return broken{Store: s, update: func(tx sale.Tx) sale.Tx {
			return txNow{tx, func() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }}
		}}
	}},
	{"gives numbers twice after a restart", "numbers rise and are never given twice", func(s storetest.Store, opened int) storetest.Store {
		return broken{Store: s, update: func(tx sale.Tx) sale.Tx {
			return txLine{tx, func(l sale.Line) sale.Line {
				if opened > 2 {
					l.Next = max(1, l.Next-1)
				}
				return l
			}}
		}}
	}},
	{"does not free the seats of an order given back", "a seat's holder is who claimed it last and did not give it back", func(s storetest.Store, _ int) storetest.Store {
		return broken{Store: s, update: func(tx sale.Tx) sale.Tx { return txHolder{tx} }}
	}},
	{"calls the line from its end", "the front is given in the order of numbers", func(s storetest.Store, _ int) storetest.Store {
		return broken{Store: s, update: func(tx sale.Tx) sale.Tx { return txFront{tx} }}
	}},
	{"calls members and the public in one line", "members and the public share the turns as they are told to", func(s storetest.Store, _ int) storetest.Store {
		return broken{Store: s, update: func(tx sale.Tx) sale.Tx { return txOneLine{tx} }}
	}},
	{"ranks each class by itself", "members and the public share the turns as they are told to", func(s storetest.Store, _ int) storetest.Store {
		return broken{Store: s, view: func(r sale.Reader) sale.Reader { return readerAhead{r} }}
	}},
	{"gives those who come back a place in their own line", "who was called before and comes back goes before both lines", func(s storetest.Store, _ int) storetest.Store {
		return broken{Store: s, update: func(tx sale.Tx) sale.Tx { return txReturned{tx} }}
	}},
	{"forgets where the turns stand", "members and the public share the turns as they are told to", func(s storetest.Store, _ int) storetest.Store {
		return broken{Store: s, update: func(tx sale.Tx) sale.Tx { return txOwed{tx} }}
	}},
	{"does not count what a code was used for a moment ago", "the uses of a code are counted and kept", func(s storetest.Store, _ int) storetest.Store {
		return broken{Store: s, update: func(tx sale.Tx) sale.Tx { return txUses{tx} }}
	}},
	{"draws from the wrong end", "a draw gives the numbers that it says, and keeps them", func(s storetest.Store, _ int) storetest.Store {
		return broken{Store: s, update: func(tx sale.Tx) sale.Tx { return txDraw{tx} }}
	}},
	{"makes used codes good again", "a place keeps its class and its used codes wherever it stands", func(s storetest.Store, _ int) storetest.Store {
		return broken{Store: s, update: func(tx sale.Tx) sale.Tx { return txMarks{tx} }}
	}},
	{"lets everybody think that he is alone", "a function that must be alone in its commit is", func(s storetest.Store, _ int) storetest.Store {
		return broken{Store: s, update: func(tx sale.Tx) sale.Tx { return txCrowded{tx} }}
	}},
	{"does not count the turns of the last second", "the turns of the last second are counted once", func(s storetest.Store, _ int) storetest.Store {
		return broken{Store: s, update: func(tx sale.Tx) sale.Tx { return txRecent{tx} }}
	}},
	{"loses a message", "messages get rising numbers in the order of their sending", func(s storetest.Store, _ int) storetest.Store {
		return broken{Store: s, update: func(tx sale.Tx) sale.Tx { return txSend{tx} }}
	}},
	{"loses an order when it is opened again", "every kind of row survives closing and opening", func(s storetest.Store, opened int) storetest.Store {
		var lost uuid.UUID
		if list, _ := s.Orders("hall", uuid.Nil, 1); opened > 1 && len(list) > 0 {
			lost = list[0].ID
		}
		return broken{Store: s, view: func(r sale.Reader) sale.Reader { return readerOrder{r, lost} }}
	}},
	{"counts those who left among those ahead", "a rank is the number of those ahead and the frontier never falls", func(s storetest.Store, _ int) storetest.Store {
		return broken{Store: s, view: func(r sale.Reader) sale.Reader { return readerRank{r} }}
	}},
	{"tells nobody of a change", "who watches an event is told at its next commit and only then", func(s storetest.Store, _ int) storetest.Store { return mute{s} }},
}

// recorder is a T that writes down whether a check failed.
type recorder struct {
	storetest.T
	mu     sync.Mutex
	failed bool
}

func (*recorder) Helper() {}

func (r *recorder) Errorf(string, ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// fails tells whether the promise does not hold. A check that hangs has noticed too.
func fails(t *testing.T, p storetest.Promise, open storetest.Open) bool {
	r := &recorder{T: t}
	over := make(chan struct{})
	go func() {
		defer close(over)
		p.Check(r, open)
	}()
	select {
	case <-over:
	case <-time.After(2 * time.Second):
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func good(t storetest.T, dir string) storetest.Store {
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatalf("cannot open: %v", err)
	}
	return s
}

func promise(t *testing.T, name string) storetest.Promise {
	for _, p := range storetest.Promises {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("there is no promise %q", name)
	panic("unreachable")
}

func TestSuiteCatchesBrokenStores(t *testing.T) {
	for _, b := range brokenStores {
		t.Run(b.name, func(t *testing.T) {
			p := promise(t, b.caught)
			opened := 0
			bad := func(t storetest.T, dir string) storetest.Store {
				opened++
				return b.breakIt(good(t, dir), opened)
			}
			if !fails(t, p, bad) {
				t.Errorf("nobody noticed that the store %s", b.name)
			}
			if fails(t, p, good) {
				t.Errorf("the promise %q does not even hold on a good store", p.Name)
			}
		})
	}
}
