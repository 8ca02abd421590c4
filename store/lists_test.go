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
