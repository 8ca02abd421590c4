package storetest

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

func turnsCounted(b *bench) {
	b.prepare()
	b.update(func(tx sale.Tx) {
		join(tx, ann)
		call(tx, ann)
		if tx.Recent(hall) != 1 {
			b.Errorf("%d recent in the same transaction, want 1", tx.Recent(hall))
		}
		end(tx, ann, sale.TurnLeft) // given and ended in one transaction still counts
		join(tx, ann)
		call(tx, ann)
		join(tx, bob)
		call(tx, bob)
		end(tx, bob, sale.TurnClaimed)
	})
	var given time.Time
	b.view(func(r sale.Reader) {
		p, _ := r.Place(hall, bob)
		given = p.Turn.CalledAt
		if n := r.Recent(hall); n != 3 && r.Now().Sub(given) < time.Second {
			b.Errorf("%d turns in the last second, want 3", n)
		}
	})
	b.update(func(tx sale.Tx) {
		end(tx, bob, sale.TurnReady) // given back, not given anew
		if n := tx.Recent(hall); n > 3 {
			b.Errorf("a turn given back is counted again: %d", n)
		}
		if next := tx.NextCall(hall, 3); tx.Recent(hall) == 3 && next.Sub(given) <= time.Second {
			b.Errorf("the next turn may be given %s after three, at three a second", next.Sub(given))
		}
	})
}

func turnsListed(b *bench) {
	b.prepare()
	b.update(func(tx sale.Tx) {
		for _, v := range []uuid.UUID{ann, bob, cem, dee} {
			join(tx, v)
		}
		call(tx, ann)
		end(tx, bob, sale.TurnAside)
		end(tx, cem, sale.TurnConsumed)
	})
	listed := func(tx sale.Tx, want ...uuid.UUID) {
		got := map[uuid.UUID]bool{}
		for p := range tx.Turns(hall) {
			if got[p.Visitor] {
				b.Errorf("a turn is listed twice")
			}
			got[p.Visitor] = true
		}
		if len(got) != len(want) || slices.ContainsFunc(want, func(v uuid.UUID) bool { return !got[v] }) {
			b.Errorf("turns of %v, want %v", slices.Collect(maps.Keys(got)), want)
		}
	}
	b.twice(func(string) { b.update(func(tx sale.Tx) { listed(tx, ann, bob) }) })
	b.update(func(tx sale.Tx) {
		call(tx, dee)
		end(tx, ann, sale.TurnExpired)
		listed(tx, bob, dee)
	})
	b.twice(func(string) { b.update(func(tx sale.Tx) { listed(tx, bob, dee) }) })
}

func endedInOrder(b *bench) {
	b.prepare()
	b.update(func(tx sale.Tx) { join(tx, ann); join(tx, bob); join(tx, cem); join(tx, dee) })
	for _, v := range []uuid.UUID{cem, ann, bob} {
		b.update(func(tx sale.Tx) { end(tx, v, sale.TurnLeft) })
		time.Sleep(2 * time.Millisecond) // two ends in one millisecond have no order
	}
	ended := func(tx sale.Tx, n int, want ...uuid.UUID) {
		b.Helper()
		var got []uuid.UUID
		for p := range tx.Ended(hall) {
			if len(got) == n {
				break
			}
			got = append(got, p.Visitor)
		}
		if !slices.Equal(got, want) {
			b.Errorf("ended are %v, want %v", got, want)
		}
	}
	b.twice(func(string) {
		b.update(func(tx sale.Tx) { ended(tx, 9, cem, ann, bob); ended(tx, 1, cem) })
	})
	b.update(func(tx sale.Tx) {
		p, _ := tx.Place(hall, cem)
		tx.RemovePlace(p)
		join(tx, ann) // in the line again: her old place is gone
	})
	b.twice(func(string) {
		b.update(func(tx sale.Tx) {
			ended(tx, 9, bob)
			if _, ok := tx.Place(hall, cem); ok {
				b.Errorf("a removed place is found")
			}
		})
	})
}
