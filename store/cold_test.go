package store

import (
	"testing"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"foyer/sale"
)

// Money may come for an order that came to nothing. Between the commit that
// makes it a paid one and the moment memory has it, its buyer must still see it,
// and must see it as it was: the payment is not acknowledged yet.
func TestClosedOrderIsSeenAsItWasWhileItIsPaid(t *testing.T) {
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
		deadline := time.Now().Add(10 * time.Second)
		for onDisk := false; ; {
			if o, ok := r.Order(id); !ok || o.Status != sale.Cancelled {
				t.Fatalf("while its payment is between disk and memory the order is %+v, %v", o, ok)
			}
			if onDisk { // looked at once more after that
				return nil
			}
			_ = s.db.View(func(tx *bolt.Tx) error {
				onDisk = tx.Bucket(bucketClosed).Get(orderKey(id)) == nil
				return nil
			})
			if time.Now().After(deadline) {
				t.Fatal("the payment did not come to disk; the test proves nothing")
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	_ = s.View(func(r sale.Reader) error {
		if o, ok := r.Order(id); !ok || o.Status != sale.Paid {
			t.Errorf("after its payment the order is %+v, %v", o, ok)
		}
		return nil
	})
}
