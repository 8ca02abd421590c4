package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

// Promises are all promises that the rules rely on.
var Promises = []Promise{
	{"a refused function leaves nothing", refusedLeavesNothing},
	{"a refused function harms no neighbour of its commit", refusedHarmsNoNeighbour},
	{"a function that panics leaves nothing and harms no neighbour", panicLeavesNothing},
	{"a function reads its own writes", readsOwnWrites},
	{"a function sees its neighbours' writes in the order of the commits", seesNeighbours},
	{"a view never sees what is not committed", viewSeesCommitted},
	{"a transaction has one time and time never runs backwards", oneTime},
	{"ids and ordinals rise and are never given twice", idsRise},
	{"numbers rise and are never given twice", numbersRise},
	{"the counts of the line follow every step of a place", countsFollow},
	{"the front is given in the order of numbers", frontInOrder},
	{"a rank is the number of those ahead and the frontier never falls", rankAndFrontier},
	{"members and the public share the turns as they are told to", classesShareTurns},
	{"who was called before and comes back goes before both lines", returnersGoFirst},
	{"the uses of a code are counted and kept", usesCounted},
	{"a draw gives the numbers that it says, and keeps them", drawKept},
	{"a place keeps its class and its used codes wherever it stands", marksKept},
	{"a function that must be alone in its commit is", aloneInCommit},
	{"the turns of the last second are counted once", turnsCounted},
	{"turns lists whoever has one or may come back", turnsListed},
	{"ended places are given oldest first until they are removed", endedInOrder},
	{"a seat's holder is who claimed it last and did not give it back", holderFollows},
	{"sold seats are counted", soldCounted},
	{"orders are listed newest first by event", ordersListed},
	{"messages get rising numbers in the order of their sending", messagesRise},
	{"receipts are kept once and those for a person are listed oldest first", receiptsKept},
	{"keys are found, listed in order and removed", keysKept},
	{"audit entries get rising numbers and are listed newest first", entriesListed},
	{"the last rule of a lane counts and is kept", rulesKept},
	{"a task is found by its id, also after its end", taskFound},
	{"the tasks of a lane are listed in the order of their sending", tasksListed},
	{"tasks are forgotten some time after their end and not before", tasksForgotten},
	{"a removed event takes its places and plan along", eventRemoved},
	{"an event that is made again at once has nothing of the removed one", eventMadeAgain},
	{"every kind of row survives closing and opening", everythingSurvives},
	{"who watches an event is told at its next commit and only then", watchersTold},
	{"many functions at once all take effect", manyAtOnce},
}

var errNo = errors.New("refused")

func refusedLeavesNothing(b *bench) {
	err := b.Update(func(tx sale.Tx) error { everything(tx); return errNo })
	if !errors.Is(err, errNo) {
		b.Errorf("the function's own error does not come back: %v", err)
	}
	b.twice(b.nothing)
}

func refusedHarmsNoNeighbour(b *bench) {
	b.prepare()
	yes := func(v uuid.UUID) func(sale.Tx) error {
		return func(tx sale.Tx) error { join(tx, v); message(tx, v.String()); return nil }
	}
	no := func(tx sale.Tx) error { join(tx, dee); hold(tx, dee, "A-1"); message(tx, "no"); return errNo }
	errs := b.together(yes(ann), no, yes(bob), no, yes(cem))
	if errs[0] != nil || errs[2] != nil || errs[4] != nil || !errors.Is(errs[1], errNo) || !errors.Is(errs[3], errNo) {
		b.Errorf("the functions came back with %v", errs)
	}
	b.twice(func(when string) {
		b.view(func(r sale.Reader) {
			_, refused := r.Place(hall, dee)
			_, held := r.Holder(hall, "A-1")
			if l := r.Line(hall); l.Waiting != 3 || refused || held {
				b.Errorf("%s: the line is %+v, the refused place is there: %v, its seat held: %v", when, l, refused, held)
			}
		})
		if list, _ := b.Messages("", 0, 10); len(list) != 3 {
			b.Errorf("%s: %d messages, want 3", when, len(list))
		}
	})
}

func panicLeavesNothing(b *bench) {
	errs := b.together(
		func(tx sale.Tx) error { everything(tx); panic("on purpose") },
		func(tx sale.Tx) error {
			if _, ok := tx.Event(hall); ok {
				b.Errorf("a neighbour sees what the panicking function wrote")
			}
			return nil
		},
	)
	if errs[0] == nil || errs[1] != nil {
		b.Errorf("the functions came back with %v, want an error and nil", errs)
	}
	b.nothing("after a panic")
	b.prepare()
}

func readsOwnWrites(b *bench) {
	b.update(func(tx sale.Tx) {
		e, p, o, k := everything(tx)
		gotEvent, _ := tx.Event(hall)
		gotPlace, _ := tx.Place(hall, ann)
		gotOrder, _ := tx.Order(o.ID)
		holder, _ := tx.Holder(hall, "A-2")
		gotKey, _ := tx.Key(k.Hash)
		_, hasReceipt := tx.Receipt("bank", "e1")
		if gotEvent != e || gotPlace != p || gotOrder != o || holder != o || gotKey != k || !hasReceipt {
			b.Errorf("a row just written is not read: %v %v %v %v %v %v", gotEvent, gotPlace, gotOrder, holder, gotKey, hasReceipt)
		}
		if len(tx.Events()) != 1 || len(tx.Keys()) != 1 || tx.Plan(hall) == nil || len(tx.Front(hall, 9, turns)) != 1 {
			b.Errorf("lists lack what was just written: %d events, %d keys, %d in front", len(tx.Events()), len(tx.Keys()), len(tx.Front(hall, 9, turns)))
		}
		if l := tx.Line(hall); l != (sale.Line{Waiting: 1, Next: 2}) {
			b.Errorf("the line is %+v", l)
		}
		call(tx, ann)
		if l := tx.Line(hall); l != (sale.Line{Active: 1, Next: 2}) || tx.Recent(hall) != 1 || len(tx.Front(hall, 9, turns)) != 0 {
			b.Errorf("after the call the line is %+v, %d recent", l, tx.Recent(hall))
		}
		if n := len(slices.Collect(tx.Turns(hall))); n != 1 {
			b.Errorf("%d turns, want the one just given", n)
		}
		become(tx, o, sale.Cancelled)
		if _, held := tx.Holder(hall, "A-1"); held {
			b.Errorf("a seat just given back has a holder")
		}
		tx.RemoveKey(k)
		if _, ok := tx.Key(k.Hash); ok || len(tx.Keys()) != 0 {
			b.Errorf("a key just removed is there")
		}
	})
}

func seesNeighbours(b *bench) {
	b.prepare()
	var seen [4]int
	fns := make([]func(sale.Tx) error, 4)
	for i, v := range []uuid.UUID{ann, bob, cem, dee} {
		fns[i] = func(tx sale.Tx) error {
			seen[i] = tx.Line(hall).Waiting
			p := join(tx, v)
			if front := tx.Front(hall, 9, turns); len(front) != seen[i]+1 || front[seen[i]] != p {
				b.Errorf("with %d waiting the front is %v", seen[i]+1, front)
			}
			return nil
		}
	}
	b.together(fns...)
	slices.Sort(seen[:])
	if seen != [4]int{0, 1, 2, 3} {
		b.Errorf("four functions saw %v waiting, want each to see those before it", seen)
	}
	var winners int
	take := func(tx sale.Tx) error {
		if _, held := tx.Holder(hall, "A-1"); held {
			return errNo
		}
		hold(tx, ann, "A-1")
		return nil
	}
	for _, err := range b.together(take, take, take) {
		if err == nil {
			winners++
		}
	}
	if winners != 1 {
		b.Errorf("%d functions found the same seat free", winners)
	}
}

func viewSeesCommitted(b *bench) {
	b.prepare()
	wrote, looked, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		done <- b.Update(func(tx sale.Tx) error {
			join(tx, ann)
			hold(tx, ann, "A-1")
			close(wrote)
			<-looked
			return nil
		})
	}()
	<-wrote
	b.view(func(r sale.Reader) {
		_, placed := r.Place(hall, ann)
		_, held := r.Holder(hall, "A-1")
		if placed || held || r.Line(hall).Waiting != 0 {
			b.Errorf("a view shows what is not committed: place %v, holder %v, line %+v", placed, held, r.Line(hall))
		}
	})
	close(looked)
	if err := <-done; err != nil {
		b.Fatalf("%v", err)
	}
	b.view(func(r sale.Reader) {
		if _, placed := r.Place(hall, ann); !placed {
			b.Errorf("a view does not show what is committed")
		}
	})
}

func oneTime(b *bench) {
	b.prepare()
	var last time.Time
	check := func(now time.Time) {
		b.Helper()
		if now.Before(last) {
			b.Errorf("time ran from %s back to %s", last, now)
		}
		if now.Location() != time.UTC || now.Nanosecond()%int(time.Millisecond) != 0 {
			b.Errorf("the time %s is not in UTC with whole milliseconds", now)
		}
		last = now
	}
	for range 20 {
		b.update(func(tx sale.Tx) {
			now := tx.Now()
			time.Sleep(2 * time.Millisecond)
			if again := tx.Now(); !again.Equal(now) {
				b.Errorf("one transaction has two times, %s and %s", now, again)
			}
			check(now)
			join(tx, uuid.New())
		})
		b.view(func(r sale.Reader) { check(r.Now()) })
	}
}

func idsRise(b *bench) {
	var last uuid.UUID
	var ordinal uint32
	for range 3 {
		b.update(func(tx sale.Tx) {
			for range 10_000 { // more than one millisecond's worth
				id := tx.NewID()
				if slices.Compare(id[:], last[:]) <= 0 || id.Version() != 7 || id.Variant() != uuid.RFC4122 {
					b.Errorf("id %s after %s", id, last)
					return
				}
				last = id
			}
			n := tx.NextOrdinal()
			if n <= ordinal {
				b.Errorf("ordinal %d after %d", n, ordinal)
			}
			ordinal = n
		})
		time.Sleep(5 * time.Millisecond) // ids carry milliseconds: opening takes longer than one
		b.reopen()
	}
}

func watchersTold(b *bench) {
	b.update(func(tx sale.Tx) { event(tx, hall); event(tx, "other") })
	told := func(watch <-chan struct{}, within time.Duration) bool {
		select {
		case <-watch:
			return true
		case <-time.After(within):
			return false
		}
	}
	watch, other := b.Changed(hall), b.Changed("other")
	b.update(func(tx sale.Tx) { e, _ := tx.Event("other"); tx.PutEvent(e) })
	if !told(other, time.Second) {
		b.Errorf("who watches an event is not told of its change")
	}
	_ = b.Update(func(tx sale.Tx) error { join(tx, ann); return errNo })
	if told(watch, 0) {
		b.Errorf("who watches an event is told of another's change or of a refused one")
	}
	b.update(func(tx sale.Tx) { join(tx, ann) })
	if !told(watch, time.Second) {
		b.Errorf("who watches an event is not told of a join")
	}
	b.view(func(r sale.Reader) {
		if _, ok := r.Place(hall, ann); !ok {
			b.Errorf("told before the change can be seen")
		}
	})
}

func manyAtOnce(b *bench) {
	b.prepare()
	const n = 200
	errs := make(chan error, n)
	for i := range n {
		go func() {
			errs <- b.Update(func(tx sale.Tx) error {
				v := uuid.New()
				p := join(tx, v)
				hold(tx, v, fmt.Sprint("S-", p.Number))
				if i%10 == 0 {
					return errNo
				}
				return nil
			})
		}()
	}
	refused := 0
	for range n {
		if <-errs != nil {
			refused++
		}
	}
	b.twice(func(when string) {
		b.view(func(r sale.Reader) {
			if l := r.Line(hall); l.Waiting != n-refused || refused != n/10 || l.Next != uint64(l.Waiting)+1 {
				b.Errorf("%s: %d refused, the line is %+v", when, refused, l)
			}
			for i := 1; i <= n-refused; i++ {
				if o, ok := r.Holder(hall, fmt.Sprint("S-", i)); !ok || o.Status != sale.Pending {
					b.Fatalf("%s: seat %d has no holder", when, i)
				}
			}
		})
	})
}
