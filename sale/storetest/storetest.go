// Package storetest holds what the rules of package sale rely on in a store, one
// check per promise. A store keeps them all when [Run] passes over it. The suite
// is itself tested with stores that break one promise each.
//
// The checks speak through the small interface [T], so that a test can watch
// them fail.
package storetest

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/sale"
	"foyer/seats"
)

// T is what the checks need of a testing.T.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any) // does not return
	TempDir() string
}

// Store is a store that can be closed and opened again, and shows its outbox.
type Store interface {
	sale.Store
	Messages(state outbox.State, after uint64, n int) ([]outbox.Message, error)
	Load(seq uint64) (m outbox.Message, found bool, err error)
	Close() error
}

// Open opens the store kept in a folder, and makes it when there is none.
type Open func(t T, dir string) Store

// Promise is one thing that a store must do, as a sentence, and its check.
type Promise struct {
	Name  string
	check func(*bench)
}

// Check checks the promise on a new store.
func (p Promise) Check(t T, open Open) {
	t.Helper()
	b := &bench{T: t, open: open, dir: t.TempDir()}
	b.Store = open(t, b.dir)
	defer func() { _ = b.Close() }()
	p.check(b)
}

// Run checks every promise on stores that open makes.
func Run(t *testing.T, open Open) {
	for _, p := range Promises {
		t.Run(p.Name, func(t *testing.T) { p.Check(t, open) })
	}
}

// bench is a store under test with the tools of the checks.
type bench struct {
	T
	Store
	open Open
	dir  string
}

const hall = "hall"

// ann and her neighbours are visitors with ids that say who they are.
var (
	ann = uuid.UUID{0: 1, 6: 0x40, 8: 0x80}
	bob = uuid.UUID{0: 2, 6: 0x40, 8: 0x80}
	cem = uuid.UUID{0: 3, 6: 0x40, 8: 0x80}
	dee = uuid.UUID{0: 4, 6: 0x40, 8: 0x80}
)

// update wants fn to be committed.
func (b *bench) update(fn func(tx sale.Tx)) {
	b.Helper()
	if err := b.Update(func(tx sale.Tx) error { fn(tx); return nil }); err != nil {
		b.Fatalf("a transaction that refuses nothing was refused: %v", err)
	}
}

func (b *bench) view(fn func(r sale.Reader)) {
	b.Helper()
	if err := b.View(func(r sale.Reader) error { fn(r); return nil }); err != nil {
		b.Fatalf("a view failed: %v", err)
	}
}

func (b *bench) reopen() {
	b.Helper()
	if err := b.Close(); err != nil {
		b.Fatalf("cannot close: %v", err)
	}
	b.Store = b.open(b.T, b.dir)
}

// twice runs the check now and once more after the store was opened again.
func (b *bench) twice(check func(when string)) {
	b.Helper()
	check("before closing")
	b.reopen()
	check("after opening again")
}

// together runs functions in one commit when the store has such a thing: the
// first one waits until the others queue.
func (b *bench) together(fns ...func(tx sale.Tx) error) []error {
	errs := make([]error, len(fns))
	gate, held, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		_ = b.Update(func(sale.Tx) error { close(held); <-gate; return nil })
		done <- struct{}{}
	}()
	<-held
	for i, fn := range fns {
		go func() {
			errs[i] = b.Update(fn)
			done <- struct{}{}
		}()
		time.Sleep(5 * time.Millisecond) // let it queue; no check depends on it
	}
	close(gate)
	for range len(fns) + 1 {
		<-done
	}
	return errs
}

func settings(id string) sale.Settings {
	s := sale.DefaultSettings()
	s.ID, s.Name, s.Prices = id, id, map[string]int64{"Stalls": 100}
	return s
}

// event makes an event in a transaction.
func event(tx sale.Tx, id string) *sale.Event {
	e := &sale.Event{Settings: settings(id), Ordinal: tx.NextOrdinal(), CreatedAt: tx.Now()}
	tx.PutEvent(e)
	return e
}

// prepare makes the hall's event.
func (b *bench) prepare() {
	b.Helper()
	b.update(func(tx sale.Tx) { event(tx, hall) })
}

// join writes a waiting place with the next number.
func join(tx sale.Tx, visitor uuid.UUID) sale.Place {
	p := sale.Place{Event: hall, Number: tx.Line(hall).Next, Visitor: visitor}
	tx.PutPlace(p)
	return p
}

// call gives a visitor his turn.
func call(tx sale.Tx, visitor uuid.UUID) sale.Place {
	p, _ := tx.Place(hall, visitor)
	p.Turn = sale.Turn{State: sale.TurnReady, CalledAt: tx.Now(), ExpiresAt: tx.Now().Add(time.Minute), PickedUp: true}
	tx.PutPlace(p)
	return p
}

// end ends a visitor's turn.
func end(tx sale.Tx, visitor uuid.UUID, as sale.TurnState) sale.Place {
	p, _ := tx.Place(hall, visitor)
	p.Turn.State, p.Turn.EndedAt = as, tx.Now()
	tx.PutPlace(p)
	return p
}

// hold writes an order for seats.
func hold(tx sale.Tx, visitor uuid.UUID, seats ...string) *sale.Order {
	o := &sale.Order{
		ID: tx.NewID(), Event: hall, Visitor: visitor, Place: 1, Status: sale.Pending, Currency: "EUR",
		CreatedAt: tx.Now(), UpdatedAt: tx.Now(), HoldExpiresAt: tx.Now().Add(time.Minute),
	}
	for _, s := range seats {
		o.Seats = append(o.Seats, sale.OrderSeat{ID: s, Label: s, Category: "Stalls", Price: 100})
		o.Total += 100
	}
	tx.PutOrder(o)
	return o
}

// become writes an order with another status.
func become(tx sale.Tx, o *sale.Order, status sale.OrderStatus) *sale.Order {
	c := *o
	c.Status, c.UpdatedAt = status, tx.Now()
	tx.PutOrder(&c)
	return &c
}

func receipt(tx sale.Tx, id, attention string) *sale.Receipt {
	rc := &sale.Receipt{
		Fact:       sale.Fact{Provider: "bank", EventID: id, Kind: sale.FactSucceeded, Order: "x", Amount: 1, Currency: "EUR"},
		ReceivedAt: tx.Now(), Outcome: "applied", Attention: attention,
	}
	tx.PutReceipt(rc)
	return rc
}

func message(tx sale.Tx, id string) {
	tx.Send(outbox.Message{ID: id, Topic: "order.paid", Key: "order:1", Sink: "log:", CreatedAt: tx.Now(), Body: []byte(`{"id":"` + id + `"}`), State: outbox.Waiting})
}

// everything writes one row of every kind.
func everything(tx sale.Tx) (e *sale.Event, p sale.Place, o *sale.Order, k *sale.Key) {
	e = event(tx, hall)
	tx.PutPlan(hall, plan())
	p = join(tx, ann)
	o = hold(tx, ann, "A-1", "A-2")
	k = &sale.Key{ID: tx.NewID().String(), Role: sale.RoleDoor, Name: "door", Hash: sale.KeyHash{1: 7}, CreatedAt: tx.Now()}
	tx.PutKey(k)
	receipt(tx, "e1", "unknown_order")
	message(tx, "m1")
	tx.Audit(sale.Entry{At: tx.Now(), Actor: "staff", Event: hall, Act: "event.create"})
	return e, p, o, k
}

func plan() *seats.Plan {
	p, err := seats.Parse([]byte("zone,row,seat,category\nStalls,A,1,Stalls\nStalls,A,2,Stalls\n"))
	if err != nil {
		panic(err)
	}
	return p
}

// nothing wants no trace of what everything writes.
func (b *bench) nothing(when string) {
	b.Helper()
	matters := 0
	b.view(func(r sale.Reader) {
		matters = len(r.Matters(nil))
		_, hasEvent := r.Event(hall)
		_, hasPlace := r.Place(hall, ann)
		_, hasHolder := r.Holder(hall, "A-1")
		_, hasKey := r.Key(sale.KeyHash{1: 7})
		_, hasReceipt := r.Receipt("bank", "e1")
		line := r.Line(hall)
		if hasEvent || hasPlace || hasHolder || hasKey || hasReceipt || r.Plan(hall) != nil || len(r.Events())+len(r.Keys()) > 0 || line != (sale.Line{Next: 1}) {
			b.Errorf("%s: something is left: event %v, place %v, holder %v, key %v, receipt %v, line %+v", when, hasEvent, hasPlace, hasHolder, hasKey, hasReceipt, line)
		}
	})
	orders, _ := b.Orders(hall, uuid.Nil, 10)
	entries, _ := b.Entries(0, 10)
	messages, _ := b.Messages("", 0, 10)
	if len(orders)+len(entries)+len(messages)+matters > 0 {
		b.Errorf("%s: %d orders, %d entries, %d messages, %d receipts are left", when, len(orders), len(entries), len(messages), matters)
	}
}
