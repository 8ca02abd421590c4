package store

import (
	"testing"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"foyer/outbox"
	"foyer/sale"
)

// The rows are those of a commit whose last sync has not returned, or has failed:
// bbolt shows them, and nobody was told that it was done.
func TestListsShowNothingThatIsNotAcknowledged(t *testing.T) {
	s := openAt(t, t.TempDir())
	defer s.Close()
	o := galaOrder(newID(t, s), sale.Pending, time.Now().Add(time.Hour))
	putOrders(t, s, o)
	send := func(tx sale.Tx) error {
		tx.Audit(sale.Entry{At: tx.Now(), Act: "done"})
		tx.Send(outbox.Message{ID: tx.NewID().String(), Topic: "done", Key: "k", Sink: "s", State: outbox.Waiting, Body: []byte("{}")})
		return nil
	}
	if err := s.Update(send); err != nil {
		t.Fatal(err)
	}
	next := s.given()
	err := s.db.Update(func(b *bolt.Tx) error {
		x := newTx(s)
		x.begin(s.now(), 0)
		paid := *o
		paid.Status = sale.Paid
		x.PutOrder(&paid)
		if err := send(x); err != nil {
			return err
		}
		x.keep()
		return x.writeRows(b)
	})
	if err != nil {
		t.Fatal(err)
	}
	orders, err := s.Orders("gala", uuid.Nil, 10)
	if err != nil || len(orders) != 1 || orders[0].Status != sale.Pending {
		t.Errorf("orders: %+v, %v", orders, err)
	}
	for _, before := range []uint64{0, next.entries, next.entries + 1, next.entries + 100} {
		if list, err := s.Entries(before, 10); err != nil || len(list) != 1 || list[0].Seq >= next.entries {
			t.Errorf("entries before %d: %+v, %v", before, list, err)
		}
	}
	if list, err := s.Messages("", 0, 10); err != nil || len(list) != 1 || list[0].Seq >= next.message {
		t.Errorf("messages: %+v, %v", list, err)
	}
}

func TestFreedTellsOfEverySlotThatSomebodyWaitsFor(t *testing.T) {
	s := openAt(t, t.TempDir())
	defer s.Close()
	var all [4]sale.Place
	put := func(tx sale.Tx, i int, state sale.TurnState) {
		all[i].Turn = sale.Turn{State: state, CalledAt: tx.Now(), ExpiresAt: tx.Now().Add(time.Hour)}
		tx.PutPlace(all[i])
	}
	call := func(tx sale.Tx, i int) { put(tx, i, sale.TurnReady) }
	end := func(tx sale.Tx, i int) { put(tx, i, sale.TurnConsumed) }
	wait := func(tx sale.Tx, i int) {
		all[i] = sale.Place{Event: "gala", Number: tx.Line("gala").Next, Visitor: uuid.New()}
		tx.PutPlace(all[i])
	}
	for _, c := range []struct {
		what string
		do   func(sale.Tx)
		want bool
	}{
		{"two are inside, two wait", func(tx sale.Tx) {
			settings := sale.DefaultSettings()
			settings.ID, settings.Rules.MaxActive = "gala", 2
			tx.PutEvent(&sale.Event{Settings: settings, Ordinal: tx.NextOrdinal()})
			for i := range all {
				wait(tx, i)
			}
			call(tx, 0)
			call(tx, 1)
		}, false},
		{"a turn ends", func(tx sale.Tx) { end(tx, 0) }, true},
		{"the free slot is given, and another turn ends in the same commit", func(tx sale.Tx) { call(tx, 2); end(tx, 1) }, true},
		{"two slots are given, of which one is free again at once", func(tx sale.Tx) { wait(tx, 1); call(tx, 3); end(tx, 3) }, true},
		{"a turn ends and its slot is given", func(tx sale.Tx) { wait(tx, 0); call(tx, 1); end(tx, 2); call(tx, 0) }, false},
		{"a turn ends and nobody waits", func(tx sale.Tx) { end(tx, 0) }, false},
	} {
		if err := s.Update(func(tx sale.Tx) error { c.do(tx); return nil }); err != nil {
			t.Fatal(err)
		}
		got := false
		select {
		case <-s.Freed():
			got = true
		default:
		}
		if got != c.want {
			t.Errorf("%s: told %v, want %v", c.what, got, c.want)
		}
	}
}
