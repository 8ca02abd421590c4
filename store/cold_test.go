package store

import (
	"testing"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"foyer/sale"
)

// Money may come for an order that came to nothing. Between the commit that
// makes it a paid one and the moment memory has it, its buyer must still see it.
func TestClosedOrderIsSeenWhileItIsPaid(t *testing.T) {
	s := openAt(t, t.TempDir())
	id := uuid.New()
	put := func(status sale.OrderStatus) error {
		return s.Update(func(tx sale.Tx) error {
			tx.PutOrder(&sale.Order{ID: id, Event: "gala", Status: status})
			return nil
		})
	}
	if err := put(sale.Cancelled); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	err := s.View(func(r sale.Reader) error { // while it looks, nothing gets into memory
		go func() { done <- put(sale.Paid) }()
		for deadline := time.Now().Add(10 * time.Second); ; {
			if o, ok := r.Order(id); !ok {
				t.Fatal("the order cannot be found while its payment is between disk and memory")
			} else if o.Status == sale.Paid || time.Now().After(deadline) {
				break
			}
		}
		return s.db.View(func(tx *bolt.Tx) error {
			if tx.Bucket(bucketClosed).Get(orderKey(id)) != nil {
				t.Error("the payment did not come to disk; the test proves nothing")
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
