package store

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

// A row that cannot be encoded fails its commit, and nobody who shared it is told
// that he has something.
func TestCommitThatPanicsIsNoSuccess(t *testing.T) {
	s := openAt(t, t.TempDir())
	defer s.Close()
	set := func(opens time.Time) error {
		return s.Update(func(tx sale.Tx) error {
			e := &sale.Event{Ordinal: 1, Settings: sale.DefaultSettings()}
			e.ID, e.Name, e.OpensAt = "gala", "Gala", &opens
			tx.PutEvent(e)
			return nil
		})
	}
	if err := set(time.Unix(0, 0).UTC()); err != nil {
		t.Fatal(err)
	}
	visitor := uuid.New()
	joined := make(chan error, 8)
	for range cap(joined) {
		go func() {
			joined <- s.Update(func(tx sale.Tx) error {
				if _, err := tx.Event("gala"); !err {
					return errors.New("there is no event")
				}
				tx.PutPlace(sale.Place{Event: "gala", Number: tx.Line("gala").Next, Visitor: uuid.New()})
				return nil
			})
		}()
	}
	err := set(time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC))
	if err == nil || !strings.Contains(err.Error(), "Nothing was changed") {
		t.Errorf("a time that cannot be written: %v", err)
	}
	kept := 0
	for range cap(joined) {
		if <-joined == nil {
			kept++
		}
	}
	_ = s.View(func(r sale.Reader) error {
		e, _ := r.Event("gala")
		if e.OpensAt.Year() != 1970 || r.Line("gala").Waiting != kept {
			t.Errorf("the event opens at %v, and %d wait of %d who were told so", e.OpensAt, r.Line("gala").Waiting, kept)
		}
		return nil
	})
	join := func() error {
		return s.Update(func(tx sale.Tx) error {
			tx.PutPlace(sale.Place{Event: "gala", Number: tx.Line("gala").Next, Visitor: visitor})
			return nil
		})
	}
	for end := time.Now().Add(20 * time.Second); ; <-time.After(50 * time.Millisecond) { // until a probe finds that writing works
		if err = join(); err == nil || time.Now().After(end) {
			break
		}
	}
	if err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
