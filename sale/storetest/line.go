package storetest

import (
	"slices"

	"github.com/google/uuid"

	"foyer/queue"
	"foyer/sale"
)

// turns are shared out so in all that is promised here.
var turns = queue.Cycle{Share: 7}

func numbersRise(b *bench) {
	b.prepare()
	for want := uint64(1); want < 6; want++ {
		b.update(func(tx sale.Tx) {
			if p := join(tx, ann); p.Number != want {
				b.Errorf("number %d, want %d", p.Number, want)
			}
			end(tx, ann, sale.TurnLeft)
		})
		b.update(func(tx sale.Tx) {
			if want%2 == 0 {
				p, _ := tx.Place(hall, ann)
				tx.RemovePlace(p)
			}
		})
		b.reopen()
	}
}

func countsFollow(b *bench) {
	b.prepare()
	steps := []struct {
		act             func(tx sale.Tx)
		waiting, active int
	}{
		{func(tx sale.Tx) { join(tx, ann); join(tx, bob) }, 2, 0},
		{func(tx sale.Tx) { call(tx, ann) }, 1, 1},
		{func(tx sale.Tx) { call(tx, bob) }, 0, 2},
		{func(tx sale.Tx) { end(tx, ann, sale.TurnClaimed) }, 0, 2},
		{func(tx sale.Tx) { end(tx, bob, sale.TurnAside) }, 0, 1},
		{func(tx sale.Tx) { end(tx, ann, sale.TurnConsumed) }, 0, 0},
		{func(tx sale.Tx) { p, _ := tx.Place(hall, bob); p.Turn = sale.Turn{}; tx.PutPlace(p) }, 1, 0},
		{func(tx sale.Tx) { join(tx, ann); end(tx, bob, sale.TurnLeft) }, 1, 0},
		{func(tx sale.Tx) { p, _ := tx.Place(hall, bob); tx.RemovePlace(p) }, 1, 0},
		{func(tx sale.Tx) { p, _ := tx.Place(hall, ann); tx.PutPlace(p); tx.PutPlace(p) }, 1, 0},
	}
	for i, s := range steps {
		b.update(s.act)
		b.twice(func(when string) {
			b.view(func(r sale.Reader) {
				if l := r.Line(hall); l.Waiting != s.waiting || l.Active != s.active {
					b.Errorf("step %d, %s: %d wait and %d are active, want %d and %d", i, when, l.Waiting, l.Active, s.waiting, s.active)
				}
			})
		})
	}
}

// front wants these visitors at the front.
func (b *bench) front(tx sale.Tx, n int, want ...uuid.UUID) {
	b.Helper()
	var got []uuid.UUID
	for _, p := range tx.Front(hall, n, turns) {
		got = append(got, p.Visitor)
	}
	if !slices.Equal(got, want) {
		b.Errorf("the first %d are %v, want %v", n, got, want)
	}
}

func frontInOrder(b *bench) {
	b.prepare()
	b.update(func(tx sale.Tx) { join(tx, ann); join(tx, bob); join(tx, cem) })
	b.twice(func(string) {
		b.update(func(tx sale.Tx) {
			b.front(tx, 2, ann, bob)
			b.front(tx, 9, ann, bob, cem)
			b.front(tx, 0)
		})
	})
	b.update(func(tx sale.Tx) { end(tx, ann, sale.TurnAside); call(tx, bob) })
	b.update(func(tx sale.Tx) {
		b.front(tx, 9, cem)
		p, _ := tx.Place(hall, ann) // comes back under her own number
		p.Turn = sale.Turn{}
		tx.PutPlace(p)
		join(tx, dee)
		b.front(tx, 9, ann, cem, dee)
		b.front(tx, 1, ann)
		end(tx, cem, sale.TurnLeft)
		b.front(tx, 9, ann, dee)
	})
	b.twice(func(string) { b.update(func(tx sale.Tx) { b.front(tx, 9, ann, dee) }) })
}

func rankAndFrontier(b *bench) {
	b.prepare()
	all := make([]uuid.UUID, 50)
	for i := range all {
		all[i] = uuid.New()
		b.update(func(tx sale.Tx) { join(tx, all[i]) })
	}
	b.update(func(tx sale.Tx) {
		for i := range all {
			if i%3 == 0 {
				end(tx, all[i], sale.TurnLeft)
			}
		}
		call(tx, all[1])
	})
	frontier := uint64(0)
	check := func(when string) {
		b.view(func(r sale.Reader) {
			ahead := 0
			for i, v := range all {
				p, _ := r.Place(hall, v)
				if got := r.Rank(hall, sale.Public, uint64(i+1), turns); got != ahead {
					b.Fatalf("%s: number %d has rank %d, want %d", when, i+1, got, ahead)
				}
				if p.Turn.State == sale.TurnNone {
					ahead++
				}
			}
			if f := r.Frontier(hall, sale.Public); f < frontier {
				b.Errorf("%s: the frontier fell from %d to %d", when, frontier, f)
			} else {
				frontier = f
			}
		})
	}
	b.twice(check)
	if frontier != 3 { // 1 left, 2 was called
		b.Errorf("the frontier is %d, want 3", frontier)
	}
	b.update(func(tx sale.Tx) { call(tx, all[10]) }) // number 11, out of turn
	b.twice(check)
	b.update(func(tx sale.Tx) { // comes back below the frontier
		p, _ := tx.Place(hall, all[1])
		p.Turn = sale.Turn{}
		tx.PutPlace(p)
	})
	b.twice(check)
}

// classesShareTurns has six of the public and six members, joined in turn.
func classesShareTurns(b *bench) {
	b.prepare()
	var all [2][]uuid.UUID
	for i := range 12 {
		class, v := sale.Class(i%2), uuid.New()
		all[class] = append(all[class], v)
		b.update(func(tx sale.Tx) {
			tx.PutPlace(sale.Place{Event: hall, Number: tx.Line(hall).Next, Visitor: v, Class: class})
		})
	}
	late, members := uuid.New(), 6
	in := func(cycle queue.Cycle) []uuid.UUID { return queue.Deal(cycle, all[sale.Member], all[sale.Public], 99) }
	check := func(when string) {
		for share := range queue.Tens + 1 {
			cycle := queue.Cycle{Share: share, At: 4}
			want := in(cycle)
			b.update(func(tx sale.Tx) {
				for _, n := range []int{1, 5, len(want)} {
					for i, p := range tx.Front(hall, n, cycle) {
						if p.Visitor != want[i] || i >= n {
							b.Errorf("%s: with %d of ten turns for members, the %d. of the first %d is %v, want %v", when, share, i+1, n, p.Visitor, want[i])
						}
					}
				}
			})
			b.view(func(r sale.Reader) {
				for i, v := range want {
					if p, _ := r.Place(hall, v); r.Rank(hall, p.Class, p.Number, cycle) != i {
						b.Errorf("%s: with %d of ten turns for members, number %d has rank %d, want %d", when, share, p.Number, r.Rank(hall, p.Class, p.Number, cycle), i)
					}
				}
				if l := r.Line(hall); l.Members != members || l.Waiting != len(want) || l.Owed != 3 && when == "after calls" {
					b.Errorf("%s: the line is %+v, want %d members of %d", when, l, members, len(want))
				}
				for class, of := range all {
					p, _ := r.Place(hall, of[0])
					if f := r.Frontier(hall, sale.Class(class)); f != p.Number {
						b.Errorf("%s: the frontier of class %d is %d, want %d", when, class, f, p.Number)
					}
				}
			})
		}
	}
	b.twice(check)
	b.update(func(tx sale.Tx) {
		for _, p := range tx.Front(hall, 5, queue.Cycle{Share: 10}) {
			call(tx, p.Visitor)
		}
		tx.PutOwed(hall, 3)
		if l := tx.Line(hall); l.Members != 1 || l.Owed != 3 {
			b.Errorf("in the transaction that called five members the line is %+v", l)
		}
		tx.PutPlace(sale.Place{Event: hall, Number: tx.Line(hall).Next, Visitor: late, Class: sale.Member})
		front := tx.Front(hall, 2, queue.Cycle{Share: 10}) // one of them came a moment ago
		if len(front) != 2 || front[0].Visitor != all[sale.Member][5] || front[1].Visitor != late {
			b.Errorf("in front are %v", front)
		}
	})
	all[sale.Member], members = append(all[sale.Member][5:], late), 2
	b.twice(func(string) { check("after calls") })
}

// returnersGoFirst has five members and five of the public, joined in turn, of whom
// the first two of each were called, and the first of each came back.
func returnersGoFirst(b *bench) {
	b.prepare()
	var all [10]uuid.UUID
	for i := range all {
		all[i] = uuid.New()
		b.update(func(tx sale.Tx) {
			tx.PutPlace(sale.Place{Event: hall, Number: tx.Line(hall).Next, Visitor: all[i], Class: sale.Class(1 - i%2)})
		})
	}
	for _, v := range all[:4] {
		b.update(func(tx sale.Tx) { call(tx, v) })
	}
	back := func(tx sale.Tx, v uuid.UUID) {
		p, _ := tx.Place(hall, v)
		p.Turn = sale.Turn{}
		tx.PutPlace(p)
	}
	b.update(func(tx sale.Tx) {
		back(tx, all[1])
		back(tx, all[0])
		for share := range queue.Tens + 1 { // those of this commit too
			if front := tx.Front(hall, 2, queue.Cycle{Share: share}); len(front) != 2 || front[0].Visitor != all[0] || front[1].Visitor != all[1] {
				b.Errorf("with %d of ten turns for members, two came back and in front are %v", share, front)
			}
		}
	})
	b.twice(func(when string) {
		for share := range queue.Tens + 1 {
			cycle := queue.Cycle{Share: share}
			want := append(all[:2:2], queue.Deal(cycle, []uuid.UUID{all[4], all[6], all[8]}, []uuid.UUID{all[5], all[7], all[9]}, 6)...)
			b.update(func(tx sale.Tx) {
				for i, p := range tx.Front(hall, len(want), cycle) {
					if p.Visitor != want[i] {
						b.Errorf("%s: with %d of ten turns for members, the %d. is %v, want %v", when, share, i+1, p.Visitor, want[i])
					}
					if got := tx.Rank(hall, p.Class, p.Number, cycle); got != i {
						b.Errorf("%s: with %d of ten turns for members, number %d has rank %d, want %d", when, share, p.Number, got, i)
					}
				}
				if l := tx.Line(hall); l.Back != [2]int{1, 1} {
					b.Errorf("%s: %v came back, want one of each class", when, l.Back)
				}
			})
		}
	})
}

// usesCounted has a code used by several functions of one commit, and one refused.
func usesCounted(b *bench) {
	b.prepare()
	one, two := sale.Code{Batch: 1, Index: 3}, sale.Code{Batch: 2, Index: 9}
	errs := b.together(
		func(tx sale.Tx) error {
			tx.UseCode(hall, one, join(tx, ann).Number)
			if n := tx.Uses(hall, one); n != 1 {
				b.Errorf("in its own transaction a code was used %d times, want once", n)
			}
			return nil
		},
		func(tx sale.Tx) error { tx.UseCode(hall, one, join(tx, cem).Number); return errNo },
		func(tx sale.Tx) error {
			tx.UseCode(hall, one, join(tx, bob).Number)
			if n := tx.Uses(hall, one); n != 2 {
				b.Errorf("in the same commit a code was used %d times, want twice", n)
			}
			return nil
		},
	)
	if errs[0] != nil || errs[2] != nil {
		b.Fatalf("a function failed: %v", errs)
	}
	b.update(func(tx sale.Tx) { tx.UseCode(hall, two, join(tx, dee).Number) })
	b.update(func(tx sale.Tx) { // a place that is forgotten has used its code all the same
		end(tx, ann, sale.TurnLeft)
		p, _ := tx.Place(hall, ann)
		tx.RemovePlace(p)
	})
	b.twice(func(when string) {
		b.view(func(r sale.Reader) {
			codes, people := r.Used(hall, 1)
			if r.Uses(hall, one) != 2 || r.Uses(hall, two) != 1 || r.Uses(hall, sale.Code{Batch: 1, Index: 2}) != 0 || codes != 1 || people != 2 {
				b.Errorf("%s: the codes were used %d and %d times; of the first batch %d by %d people", when, r.Uses(hall, one), r.Uses(hall, two), codes, people)
			}
		})
	})
}
