package storetest

import (
	"fmt"

	"github.com/google/uuid"

	"foyer/sale"
)

// renumber draws ann, bob and cem, who joined in this order, as 3, 1 and 2.
func renumber(tx sale.Tx) error {
	if err := tx.Alone(); err != nil {
		return err
	}
	var drawn []sale.Drawn
	entries := map[uuid.UUID]uint64{}
	for number, v := range tx.Standing(hall) {
		entries[v] = number
	}
	for _, v := range []uuid.UUID{bob, cem, ann} {
		drawn = append(drawn, sale.Drawn{Entry: entries[v], Name: v})
	}
	tx.PutDraw(hall, drawn)
	return nil
}

// drawKept holds the line after a draw, with dee who came later, against what was
// drawn: also after some have been called, came back or are gone.
func drawKept(b *bench) {
	b.prepare()
	b.update(func(tx sale.Tx) { join(tx, ann); join(tx, bob); join(tx, cem); join(tx, dee) })
	if err := b.Update(renumber); err != nil {
		b.Fatalf("the draw was refused: %v", err)
	}
	b.drawn("bob 1 from 2, cem 2 from 3, ann 3 from 1, dee 4 from 0", bob, cem, ann, dee)
	b.update(func(tx sale.Tx) {
		call(tx, bob)
		end(tx, bob, sale.TurnAside)
		call(tx, cem)
		end(tx, cem, sale.TurnConsumed)
	})
	b.drawn("ann 3 from 1, dee 4 from 0", ann, dee)
	b.update(func(tx sale.Tx) {
		p, _ := tx.Place(hall, bob)
		p.Turn = sale.Turn{}
		tx.PutPlace(p)
		p, _ = tx.Place(hall, cem)
		tx.RemovePlace(p)
		join(tx, cem)
	})
	b.drawn("bob 1 from 2, ann 3 from 1, dee 4 from 0, cem 5 from 0", bob, ann, dee, cem)
	names, err := b.Drawn(hall, 1, 5)
	if err != nil || len(names) != 2 || names[0] != cem || names[1] != ann {
		b.Errorf("after number 1 there were %v drawn, %v", names, err)
	}
}

// drawn wants these in front, with their numbers and those of their joins, and
// the ranks to go by them.
func (b *bench) drawn(want string, visitors ...uuid.UUID) {
	b.Helper()
	names := map[uuid.UUID]string{ann: "ann", bob: "bob", cem: "cem", dee: "dee"}
	b.twice(func(when string) {
		got := ""
		b.update(func(tx sale.Tx) {
			for i, p := range tx.Front(hall, 9, turns) {
				if i > 0 {
					got += ", "
				}
				got += fmt.Sprintf("%s %d from %d", names[p.Visitor], p.Number, p.Entry)
			}
		})
		if got != want {
			b.Errorf("%s: in front are %q, want %q", when, got, want)
		}
		b.view(func(r sale.Reader) {
			for i, v := range visitors {
				if p, ok := r.Place(hall, v); !ok || r.Rank(hall, p.Class, p.Number, turns) != i {
					b.Errorf("%s: %s has rank %d, want %d", when, names[v], r.Rank(hall, p.Class, p.Number, turns), i)
				}
			}
		})
	})
}

// aloneInCommit wants a function that asks for it to see nothing that is not
// committed, and its neighbours to keep what they did.
func aloneInCommit(b *bench) {
	b.prepare()
	b.update(func(tx sale.Tx) { join(tx, ann); join(tx, bob) })
	errs := b.together(
		func(tx sale.Tx) error { join(tx, cem); return nil },
		renumber,
		func(tx sale.Tx) error { join(tx, dee); return nil },
	)
	for i, err := range errs {
		if err != nil {
			b.Errorf("function %d came back with %v", i, err)
		}
	}
	b.drawn("bob 1 from 2, cem 2 from 3, ann 3 from 1, dee 4 from 0", bob, cem, ann, dee)
}

// marksKept follows a member who used return codes, beside one of the public,
// through a draw, a call, aside and back to the end of the place.
func marksKept(b *bench) {
	b.prepare()
	b.update(func(tx sale.Tx) { join(tx, ann); join(tx, bob); join(tx, cem) })
	want := sale.Place{Class: sale.Member}
	use := func(tx sale.Tx) {
		p, _ := tx.Place(hall, ann)
		p.Class = sale.Member
		p.Links++
		tx.PutPlace(p)
		want.Links = p.Links
	}
	steps := []func(tx sale.Tx){
		use, use,
		func(tx sale.Tx) { call(tx, ann) },
		use,
		func(tx sale.Tx) { end(tx, ann, sale.TurnAside) },
		use,
		func(tx sale.Tx) { p, _ := tx.Place(hall, ann); p.Turn = sale.Turn{}; tx.PutPlace(p) },
		use,
		func(tx sale.Tx) { call(tx, ann) },
		func(tx sale.Tx) { end(tx, ann, sale.TurnLeft) },
	}
	look := func(step int) {
		b.twice(func(when string) {
			b.view(func(r sale.Reader) {
				if p, ok := r.Place(hall, ann); !ok || p.Class != want.Class || p.Links != want.Links {
					b.Errorf("step %d, %s: class %d and %d used codes, want %d and %d", step, when, p.Class, p.Links, want.Class, want.Links)
				}
				if p, ok := r.Place(hall, bob); !ok || p.Class != sale.Public || p.Links != 0 || p.Turn.State != sale.TurnNone {
					b.Errorf("step %d, %s: the place beside it is %+v", step, when, p)
				}
			})
		})
	}
	for i, act := range steps {
		b.update(act)
		look(i)
		if i == 1 {
			if err := b.Update(renumber); err != nil {
				b.Fatalf("the draw was refused: %v", err)
			}
			look(i)
		}
	}
	b.update(func(tx sale.Tx) { join(tx, ann) })
	want = sale.Place{}
	look(len(steps))
}
