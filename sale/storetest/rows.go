package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

func holderFollows(b *bench) {
	b.prepare()
	var first, second *sale.Order
	holder := func(seat string, want *sale.Order) {
		b.Helper()
		b.twice(func(when string) {
			b.view(func(r sale.Reader) {
				got, ok := r.Holder(hall, seat)
				if ok != (want != nil) || ok && (got.ID != want.ID || got.Status != want.Status) {
					b.Errorf("%s: %s is held by %+v, want %+v", when, seat, got, want)
				}
			})
		})
	}
	holder("A-1", nil)
	b.update(func(tx sale.Tx) { first = hold(tx, ann, "A-1", "A-2") })
	holder("A-1", first)
	b.update(func(tx sale.Tx) { // taken over in one transaction
		become(tx, first, sale.Expired)
		second = hold(tx, bob, "A-2")
	})
	holder("A-1", nil)
	holder("A-2", second)
	b.update(func(tx sale.Tx) { first = become(tx, first, sale.Cancelled) }) // written again: frees nothing that is not its own
	holder("A-2", second)
	b.update(func(tx sale.Tx) { second = become(tx, second, sale.Paying) })
	holder("A-2", second)
	b.update(func(tx sale.Tx) { second = become(tx, second, sale.Paid) })
	holder("A-2", second)
	b.update(func(tx sale.Tx) { first = become(tx, first, sale.RefundDue) })
	holder("A-2", second)
	b.view(func(r sale.Reader) {
		if _, ok := r.Holder("elsewhere", "A-2"); ok {
			b.Errorf("a seat is held in another event")
		}
	})
}

func soldCounted(b *bench) {
	b.prepare()
	var o, lost *sale.Order
	b.update(func(tx sale.Tx) { o, lost = hold(tx, ann, "A-1", "A-2"), hold(tx, bob, "A-3") })
	b.update(func(tx sale.Tx) { become(tx, lost, sale.Expired) })
	b.update(func(tx sale.Tx) {
		o = become(tx, o, sale.Paid)
		become(tx, o, sale.Paid)
		if n := tx.Line(hall).Sold; n != 2 {
			b.Errorf("%d sold in the transaction, want 2", n)
		}
	})
	b.twice(func(when string) {
		b.view(func(r sale.Reader) {
			if n := r.Line(hall).Sold; n != 2 {
				b.Errorf("%s: %d sold, want 2", when, n)
			}
		})
	})
	b.update(func(tx sale.Tx) { become(tx, lost, sale.Paid) }) // late money
	b.twice(func(when string) {
		b.view(func(r sale.Reader) {
			if n := r.Line(hall).Sold; n != 3 {
				b.Errorf("%s: %d sold, want 3", when, n)
			}
		})
	})
}

func ordersListed(b *bench) {
	b.update(func(tx sale.Tx) { event(tx, hall); event(tx, "other") })
	states := []sale.OrderStatus{sale.Pending, sale.Paid, sale.Expired, sale.Cancelled, sale.RefundDue, sale.Paying}
	var want []uuid.UUID
	for i, s := range states {
		b.update(func(tx sale.Tx) {
			o := become(tx, hold(tx, ann, fmt.Sprint("A-", i)), s)
			want = append([]uuid.UUID{o.ID}, want...)
			other := *o
			other.ID, other.Event = tx.NewID(), "other"
			tx.PutOrder(&other)
		})
	}
	b.twice(func(when string) {
		before := uuid.Nil
		var got []uuid.UUID
		for {
			page, err := b.Orders(hall, before, 2)
			if err != nil {
				b.Fatalf("%v", err)
			}
			if len(page) == 0 {
				break
			}
			for _, o := range page {
				got = append(got, o.ID)
			}
			before = got[len(got)-1]
		}
		if !slices.Equal(got, want) {
			b.Errorf("%s: orders %v, want %v", when, got, want)
		}
		b.view(func(r sale.Reader) {
			for i, id := range want {
				if o, ok := r.Order(id); !ok || o.Status != states[len(states)-1-i] {
					b.Errorf("%s: order %d is %+v", when, i, o)
				}
			}
			if _, ok := r.Order(uuid.New()); ok {
				b.Errorf("an order nobody made is found")
			}
		})
	})
}

func messagesRise(b *bench) {
	var want []string
	for i := range 3 {
		b.update(func(tx sale.Tx) {
			for j := range 3 {
				want = append(want, fmt.Sprint("m", i, j))
				message(tx, want[len(want)-1])
			}
		})
		b.reopen()
	}
	list, err := b.Messages("", 0, 100)
	if err != nil || len(list) != len(want) {
		b.Fatalf("%d messages, want %d: %v", len(list), len(want), err)
	}
	for i, m := range list {
		whole, found, err := b.Load(m.Seq)
		if m.ID != want[i] || i > 0 && m.Seq <= list[i-1].Seq || err != nil || !found || string(whole.Body) != `{"id":"`+m.ID+`"}` {
			b.Errorf("message %d is %+v with %q", i, m, whole.Body)
		}
	}
}

func receiptsKept(b *bench) {
	ids := []string{"c", "a", "d", "b"}
	for _, id := range ids[:2] {
		b.update(func(tx sale.Tx) { receipt(tx, id, "amount_mismatch") })
	}
	b.update(func(tx sale.Tx) { // several in one transaction
		receipt(tx, "fine", "")
		receipt(tx, ids[2], "amount_mismatch")
		receipt(tx, ids[3], "amount_mismatch")
	})
	b.twice(func(when string) {
		b.view(func(r sale.Reader) {
			if got := listed(r.Matters(nil)); !slices.Equal(got, ids) {
				b.Errorf("%s: for a person are %v, want %v", when, got, ids)
			}
			if rc, ok := r.Receipt("bank", "fine"); !ok || rc.Outcome != "applied" {
				b.Errorf("%s: receipt %+v", when, rc)
			}
			if _, ok := r.Receipt("other bank", "fine"); ok {
				b.Errorf("a receipt is found under another provider")
			}
		})
	})
	b.update(func(tx sale.Tx) { receipt(tx, "e", "unknown_order") })
	b.view(func(r sale.Reader) {
		if list := r.Matters(nil); len(list) != 5 || list[4].Fact.EventID != "e" {
			b.Errorf("the newest is not last: %d listed", len(list))
		}
	})
}

func keysKept(b *bench) {
	var all []*sale.Key
	for i := range 6 {
		b.update(func(tx sale.Tx) {
			k := &sale.Key{ID: tx.NewID().String(), Role: sale.RoleShop, Name: "key", Hash: sale.KeyHash{byte(9 - i)}, CreatedAt: tx.Now()}
			tx.PutKey(k)
			all = append(all, k)
		})
	}
	b.update(func(tx sale.Tx) { tx.RemoveKey(all[2]) })
	want := slices.Delete(slices.Clone(all), 2, 3)
	b.twice(func(when string) {
		b.view(func(r sale.Reader) {
			got := r.Keys()
			if len(got) != len(want) {
				b.Fatalf("%s: %d keys, want %d", when, len(got), len(want))
			}
			for i := range got {
				if !reflect.DeepEqual(got[i], want[i]) {
					b.Errorf("%s: key %d is %+v, want %+v", when, i, got[i], want[i])
				}
			}
			if _, ok := r.Key(all[2].Hash); ok {
				b.Errorf("%s: a removed key is found", when)
			}
		})
	})
}

func entriesListed(b *bench) {
	for i := range 3 {
		b.update(func(tx sale.Tx) {
			tx.Audit(sale.Entry{At: tx.Now(), Actor: "staff", Act: fmt.Sprint("act ", 2*i)})
			tx.Audit(sale.Entry{At: tx.Now(), Actor: "staff", Act: fmt.Sprint("act ", 2*i+1)})
		})
	}
	b.twice(func(when string) {
		before, n := uint64(0), 5
		for {
			page, err := b.Entries(before, 2)
			if err != nil {
				b.Fatalf("%v", err)
			}
			if len(page) == 0 {
				break
			}
			for _, e := range page {
				if e.Act != fmt.Sprint("act ", n) || before > 0 && e.Seq >= before {
					b.Errorf("%s: entry %+v, want act %d", when, e, n)
				}
				before = e.Seq
				n--
			}
		}
		if n != -1 {
			b.Errorf("%s: %d entries are missing", when, n+1)
		}
	})
}

func eventRemoved(b *bench) {
	var first *sale.Event
	b.update(func(tx sale.Tx) {
		first = event(tx, hall)
		tx.PutPlan(hall, plan())
		join(tx, ann)
		end(tx, ann, sale.TurnLeft)
		event(tx, "other")
	})
	b.update(func(tx sale.Tx) {
		tx.RemoveEvent(first)
		if _, ok := tx.Event(hall); ok || len(tx.Events()) != 1 {
			b.Errorf("a removed event is there in its own transaction")
		}
	})
	b.twice(func(when string) {
		b.view(func(r sale.Reader) {
			_, ok := r.Event(hall)
			_, placed := r.Place(hall, ann)
			if ok || placed || r.Plan(hall) != nil || len(r.Events()) != 1 || r.Line(hall).Next != 1 {
				b.Errorf("%s: the removed event left something", when)
			}
		})
	})
	b.update(func(tx sale.Tx) {
		if e := event(tx, hall); e.Ordinal <= first.Ordinal {
			b.Errorf("the new event has the ordinal %d, the old one had %d", e.Ordinal, first.Ordinal)
		}
		if p := join(tx, ann); p.Number != 1 {
			b.Errorf("its first number is %d", p.Number)
		}
	})
}

// eventMadeAgain removes an event that is just being used and makes it again,
// in one commit when the store has such a thing.
func eventMadeAgain(b *bench) {
	var first, again *sale.Event
	b.update(func(tx sale.Tx) {
		first = event(tx, hall)
		join(tx, ann)
	})
	errs := b.together(
		func(tx sale.Tx) error {
			join(tx, bob)
			end(tx, ann, sale.TurnLeft)
			end(tx, bob, sale.TurnLeft)
			tx.UseCode(hall, sale.Code{Batch: 1}, 1)
			tx.PutPlan(hall, plan())
			return nil
		},
		func(tx sale.Tx) error { tx.RemoveEvent(first); return nil },
		func(tx sale.Tx) error {
			again = event(tx, hall)
			if _, ok := tx.Place(hall, ann); ok || tx.Plan(hall) != nil || tx.Line(hall).Next != 1 {
				b.Errorf("the function that makes the event again finds something of the removed one")
			}
			return nil
		},
	)
	for _, err := range errs {
		if err != nil {
			b.Fatalf("a function failed: %v", err)
		}
	}
	b.twice(func(when string) {
		b.view(func(r sale.Reader) {
			e, ok := r.Event(hall)
			if !ok || e.Ordinal != again.Ordinal {
				b.Fatalf("%s: the event is %+v, want the new one", when, e)
			}
			_, anns := r.Place(hall, ann)
			_, bobs := r.Place(hall, bob)
			if anns || bobs || r.Plan(hall) != nil || r.Uses(hall, sale.Code{Batch: 1}) != 0 || r.Line(hall).Next != 1 || r.Frontier(hall, sale.Public) != 1 {
				b.Errorf("%s: the new event has something of the removed one", when)
			}
		})
	})
}

func everythingSurvives(b *bench) {
	var e *sale.Event
	var p sale.Place
	var o *sale.Order
	var k *sale.Key
	b.update(func(tx sale.Tx) {
		e, p, o, k = everything(tx)
		e.Message, e.Paused = "back soon", true
		at := tx.Now().Add(time.Hour)
		e.OpensAt = &at
		p = call(tx, ann)
		p.Turn.State, p.Turn.Order, p.Turn.AsideAt = sale.TurnClaimed, o.ID, tx.Now()
		p.Turn.Shop = &sale.ShopClaim{Customer: "c", Until: tx.Now(), Acts: []sale.ShopAct{{Key: []byte{1}, Body: []byte{2}, State: sale.TurnClaimed, Until: tx.Now()}}}
		tx.PutPlace(p)
		o.Buyer = sale.Buyer{Name: "Zoë 👩‍👩‍👧", Email: "z@example.org"}
		o.Payments = []sale.Payment{{Attempt: tx.NewID(), Provider: "bank", ID: "p1", State: sale.PaymentStarted, Amount: 200, At: tx.Now(), PayBy: tx.Now()}}
		o.Confirms = []sale.Confirmed{{Key: []byte{1}, Body: []byte{2}}}
	})
	b.twice(func(when string) {
		b.view(func(r sale.Reader) {
			gotEvent, _ := r.Event(hall)
			gotPlace, _ := r.Place(hall, ann)
			gotOrder, _ := r.Order(o.ID)
			gotKey, _ := r.Key(k.Hash)
			for _, c := range [][2]any{{gotEvent, e}, {gotPlace, p}, {gotOrder, o}, {gotKey, k}} {
				if !reflect.DeepEqual(c[0], c[1]) {
					b.Errorf("%s: got %+v, want %+v", when, c[0], c[1])
				}
			}
			if q := r.Plan(hall); q == nil || q.Version() != plan().Version() {
				b.Errorf("%s: the plan is %v", when, q)
			}
			if rc, ok := r.Receipt("bank", "e1"); !ok || rc.Attention != "unknown_order" {
				b.Errorf("%s: the receipt is %+v", when, rc)
			}
		})
		if list, _ := b.Entries(0, 9); len(list) != 1 || list[0].Act != "event.create" {
			b.Errorf("%s: the audit is %+v", when, list)
		}
		if list, _ := b.Messages("", 0, 9); len(list) != 1 || list[0].ID != "m1" {
			b.Errorf("%s: the outbox is %+v", when, list)
		}
	})
	b.update(func(tx sale.Tx) { tx.PutPlan(hall, plan()) }) // a plan alone is a change too
	b.reopen()
	b.view(func(r sale.Reader) {
		if r.Plan(hall) == nil {
			b.Errorf("a plan written alone is lost")
		}
	})
}
