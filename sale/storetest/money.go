package storetest

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

// moneyPromises are what the rules of payments and refunds rely on.
var moneyPromises = []Promise{
	{"an order is found by either name of its payment", foundByPayment},
	{"an order is found by each of its tickets", foundByTicket},
	{"facts for a person are found in the transaction that writes them", mattersListed},
	{"a receipt that is written again keeps its number and takes none", receiptsRewritten},
	{"orders with a payment under way are listed, whatever became of them", unsettledListed},
	{"orders with money that must go back are listed until it has", refundsListed},
	{"a seat that was taken back has no holder and is not sold", seatsTakenBack},
	{"blocked seats and the history of an order are kept", blocksKept},
}

func init() { Promises = append(Promises, moneyPromises...) }

// paying writes an order with a payment.
func paying(tx sale.Tx, o *sale.Order, status sale.OrderStatus, p sale.Payment) *sale.Order {
	c := *o
	p.Attempt, p.Provider, p.Amount, p.At = tx.NewID(), "bank", o.Total, tx.Now()
	c.Payments = append(slices.Clone(o.Payments), p)
	return become(tx, &c, status)
}

func foundByPayment(b *bench) {
	b.prepare()
	var want, other *sale.Order
	found := func(r sale.Reader, when string) {
		b.Helper()
		for _, names := range [][2]string{{"p1", ""}, {"", "r1"}, {"p1", "r1"}, {"p1", "r2"}} {
			if o, ok := r.PaidBy("bank", names[0], names[1]); !ok || o.ID != want.ID || o.Status != want.Status {
				b.Errorf("%s: by %q the order is %+v", when, names, o)
			}
		}
		for _, names := range [][2]string{{"", ""}, {"r1", "p1"}, {"p3", "r3"}} {
			if o, ok := r.PaidBy("bank", names[0], names[1]); ok {
				b.Errorf("%s: by %q order %s is found", when, names, o.ID)
			}
		}
		if _, ok := r.PaidBy("other bank", "p1", "r1"); ok {
			b.Errorf("%s: it is found under another provider", when)
		}
	}
	b.update(func(tx sale.Tx) {
		want = paying(tx, hold(tx, ann, "A-1"), sale.Paying, sale.Payment{ID: "p1", Ref: "r1", State: sale.PaymentStarted})
		other = paying(tx, hold(tx, bob, "A-2"), sale.Paying, sale.Payment{ID: "p2", State: sale.PaymentStarted})
		found(tx, "in its own transaction")
		want = become(tx, want, sale.Paid)
		found(tx, "written again")
	})
	b.twice(func(when string) { b.view(func(r sale.Reader) { found(r, when) }) })
	b.update(func(tx sale.Tx) {
		want = become(tx, want, sale.RefundDue)
		found(tx, "written over")
		if o, ok := tx.PaidBy("bank", "p2", ""); !ok || o.ID != other.ID {
			b.Errorf("the other order is %+v", o)
		}
	})
}

func foundByTicket(b *bench) {
	b.prepare()
	var want *sale.Order
	tickets := []uuid.UUID{uuid.New(), uuid.New()}
	found := func(r sale.Reader, when string) {
		b.Helper()
		for _, t := range tickets {
			if o, ok := r.Ticketed(t); !ok || o.ID != want.ID || o.Status != want.Status {
				b.Errorf("%s: the ticket's order is %+v", when, o)
			}
		}
		if o, ok := r.Ticketed(uuid.New()); ok {
			b.Errorf("%s: a ticket that nobody has is of order %s", when, o.ID)
		}
	}
	b.update(func(tx sale.Tx) {
		o := *hold(tx, ann, "A-1", "A-2")
		o.Seats = slices.Clone(o.Seats)
		for i := range o.Seats {
			o.Seats[i].Ticket = tickets[i]
		}
		want = become(tx, &o, sale.Paid)
		found(tx, "in its own transaction")
	})
	b.twice(func(when string) { b.view(func(r sale.Reader) { found(r, when) }) })
	b.update(func(tx sale.Tx) {
		want = become(tx, want, sale.RefundDue)
		found(tx, "written over")
	})
	b.twice(func(when string) { b.view(func(r sale.Reader) { found(r, when) }) })
}

// listed names the facts of a list.
func listed(list []*sale.Receipt) (ids []string) {
	for _, rc := range list {
		ids = append(ids, rc.Fact.EventID)
	}
	return ids
}

func mattersListed(b *bench) {
	wants := func(r sale.Reader, when, provider string, ids ...string) {
		b.Helper()
		want := func(rc *sale.Receipt) bool { return rc.Fact.Provider == provider }
		if provider == "" {
			want = nil
		}
		if got := listed(r.Matters(want)); !slices.Equal(got, ids) {
			b.Errorf("%s: of %q there are %v, want %v", when, provider, got, ids)
		}
	}
	b.update(func(tx sale.Tx) {
		receipt(tx, "b", "unknown_order")
		receipt(tx, "fine", "")
		wants(tx, "in its own transaction", "bank", "b")
	})
	b.update(func(tx sale.Tx) {
		receipt(tx, "a", "unknown_order")
		rc := *receipt(tx, "c", "unknown_order")
		wants(tx, "in the next", "bank", "b", "a", "c")
		wants(tx, "in the next", "", "b", "a", "c")
		wants(tx, "in the next", "other bank")
		rc.Settled = &sale.Settled{At: tx.Now(), By: "staff", How: sale.HowDismiss}
		tx.PutReceipt(&rc)
		wants(tx, "after one was settled", "bank", "b", "a", "c")
	})
	b.twice(func(when string) {
		b.view(func(r sale.Reader) { wants(r, when, "bank", "b", "a", "c") })
	})
	b.update(func(tx sale.Tx) {
		rc, _ := tx.Receipt("bank", "b")
		c := *rc
		c.Outcome, c.Attention = "applied", ""
		tx.PutReceipt(&c)
		wants(tx, "after it was booked", "bank", "a", "c")
	})
	b.twice(func(when string) { b.view(func(r sale.Reader) { wants(r, when, "", "a", "c") }) })
}

func receiptsRewritten(b *bench) {
	var seqs []uint64
	b.update(func(tx sale.Tx) { seqs = append(seqs, receipt(tx, "a", "unknown_order").Seq) })
	again := func(tx sale.Tx, id string) {
		rc, _ := tx.Receipt("bank", id)
		c := *rc
		c.Reason += "again "
		tx.PutReceipt(&c)
		if c.Seq != rc.Seq {
			b.Errorf("receipt %s had the number %d and has %d", id, rc.Seq, c.Seq)
		}
	}
	for _, err := range b.together(
		func(tx sale.Tx) error { again(tx, "a"); seqs = append(seqs, receipt(tx, "b", "").Seq); return nil },
		func(tx sale.Tx) error { receipt(tx, "no", ""); return errNo },
		func(tx sale.Tx) error {
			again(tx, "b")
			again(tx, "a")
			again(tx, "a")
			seqs = append(seqs, receipt(tx, "c", "").Seq)
			return nil
		},
	) {
		if err != nil && err != errNo {
			b.Fatalf("a function failed: %v", err)
		}
	}
	b.reopen()
	b.update(func(tx sale.Tx) { seqs = append(seqs, receipt(tx, "d", "").Seq) })
	if !slices.Equal(seqs, []uint64{seqs[0], seqs[0] + 1, seqs[0] + 2, seqs[0] + 3}) {
		b.Errorf("the numbers %v have gaps", seqs)
	}
	b.view(func(r sale.Reader) {
		if rc, ok := r.Receipt("bank", "a"); !ok || rc.Reason != "again again again " {
			b.Errorf("the last writing does not count: %+v", rc)
		}
	})
}

// ids names the orders of a list.
func ids(list []*sale.Order) (ids []uuid.UUID) {
	for _, o := range list {
		ids = append(ids, o.ID)
	}
	return ids
}

func unsettledListed(b *bench) {
	b.prepare()
	var first, second *sale.Order
	started := sale.Payment{ID: "p", State: sale.PaymentStarted}
	wants := func(want ...*sale.Order) {
		b.Helper()
		b.twice(func(when string) {
			if got := ids(b.Unsettled()); !slices.Equal(got, ids(want)) {
				b.Errorf("%s: %v are listed, want %v", when, got, ids(want))
			}
			b.view(func(r sale.Reader) {
				for _, w := range want {
					if o, ok := r.Order(w.ID); !ok || o.Status != w.Status {
						b.Errorf("%s: order %s is %+v", when, w.ID, o)
					}
				}
			})
		})
	}
	b.update(func(tx sale.Tx) {
		first, second = hold(tx, ann, "A-1"), hold(tx, bob, "A-2")
		second = paying(tx, second, sale.Paying, started)
		first = paying(tx, first, sale.Paying, started)
	})
	wants(first, second)
	b.update(func(tx sale.Tx) { first, second = become(tx, first, sale.Expired), become(tx, second, sale.Paid) })
	wants(first, second)
	if _, err := b.ForgetOrders(time.Now().Add(time.Hour)); err != nil {
		b.Fatalf("%v", err)
	}
	wants(first, second)
	b.update(func(tx sale.Tx) {
		for _, o := range []*sale.Order{first, second} {
			c := *o
			c.Payments = slices.Clone(o.Payments)
			c.Payments[0].State = sale.PaymentFailed
			tx.PutOrder(&c)
		}
	})
	wants()
	b.view(func(r sale.Reader) {
		if o, ok := r.Order(first.ID); !ok || o.Payments[0].State != sale.PaymentFailed {
			b.Errorf("the order that came to nothing is %+v", o)
		}
	})
}

// takenBack writes an order with a refund of its first seats.
func takenBack(tx sale.Tx, o *sale.Order, status sale.OrderStatus, n int, state sale.RefundState) *sale.Order {
	c := *o
	r := sale.Refund{ID: tx.NewID(), Amount: int64(n) * 100, State: state, By: "staff", At: tx.Now()}
	c.Seats, c.Refunds = slices.Clone(o.Seats), append(slices.Clone(o.Refunds), r)
	for i := range n {
		c.Seats[i].Refund = r.ID
	}
	return become(tx, &c, status)
}

func refundsListed(b *bench) {
	b.prepare()
	var part, whole, done *sale.Order
	wants := func(want ...*sale.Order) {
		b.Helper()
		b.twice(func(when string) {
			if got := ids(b.RefundsDue()); !slices.Equal(got, ids(want)) {
				b.Errorf("%s: %v are listed, want %v", when, got, ids(want))
			}
		})
	}
	b.update(func(tx sale.Tx) {
		money := sale.Payment{ID: "p", State: sale.PaymentSucceeded}
		part, whole, done = paying(tx, hold(tx, ann, "A-1", "A-2"), sale.Paid, money), paying(tx, hold(tx, bob, "A-3"), sale.Paid, money), paying(tx, hold(tx, cem, "A-4"), sale.Paid, money)
	})
	wants()
	b.update(func(tx sale.Tx) {
		whole = takenBack(tx, whole, sale.RefundDue, 1, sale.RefundSent)
		part = takenBack(tx, part, sale.Paid, 1, sale.RefundFailed)
		done = takenBack(tx, done, sale.Refunded, 1, sale.RefundDone)
	})
	wants(part, whole)
	b.update(func(tx sale.Tx) {
		for _, o := range []*sale.Order{part, whole} {
			c := *o
			c.Refunds = slices.Clone(o.Refunds)
			if c.Refunds[0].State = sale.RefundDone; c.Status == sale.RefundDue {
				c.Status = sale.Refunded
			}
			tx.PutOrder(&c)
		}
	})
	wants()
}

func seatsTakenBack(b *bench) {
	b.prepare()
	var o, next *sale.Order
	b.update(func(tx sale.Tx) { o = become(tx, hold(tx, ann, "A-1", "A-2", "A-3"), sale.Paid) })
	wants := func(r sale.Reader, when string, sold int, holders ...*sale.Order) {
		b.Helper()
		if n := r.Line(hall).Sold; n != sold {
			b.Errorf("%s: %d sold, want %d", when, n, sold)
		}
		for i, want := range holders {
			seat := o.Seats[i].ID
			if h, ok := r.Holder(hall, seat); ok != (want != nil) || ok && h.ID != want.ID {
				b.Errorf("%s: %s is held by %+v", when, seat, h)
			}
		}
	}
	b.update(func(tx sale.Tx) {
		o = takenBack(tx, o, sale.Paid, 1, sale.RefundRequested)
		wants(tx, "in its own transaction", 2, nil, o, o)
	})
	b.twice(func(when string) { b.view(func(r sale.Reader) { wants(r, when, 2, nil, o, o) }) })
	b.update(func(tx sale.Tx) {
		next = become(tx, hold(tx, bob, "A-1"), sale.Paid)
		o = become(tx, o, sale.Paid) // written again: it takes nothing from the next
		wants(tx, "sold again", 3, next, o, o)
	})
	b.twice(func(when string) { b.view(func(r sale.Reader) { wants(r, when, 3, next, o, o) }) })
	b.update(func(tx sale.Tx) { o = become(tx, o, sale.RefundDue) })
	b.twice(func(when string) { b.view(func(r sale.Reader) { wants(r, when, 1, next, nil, nil) }) })
}

func blocksKept(b *bench) {
	var o *sale.Order
	var at time.Time
	b.update(func(tx sale.Tx) {
		at = tx.Now()
		e := event(tx, hall)
		e.Blocked = map[string]sale.SeatBlock{"A-1": {State: sale.BlockHouse, Reason: "press", By: "staff", At: at}}
		tx.PutEvent(e)
		c := *hold(tx, ann, "A-2")
		c.History = []sale.Change{{At: at, Status: sale.Pending, Cause: "hold.made", By: "visitor"}}
		o = become(tx, &c, sale.Paid)
	})
	b.twice(func(when string) {
		b.view(func(r sale.Reader) {
			e, _ := r.Event(hall)
			if s := e.Blocked["A-1"]; len(e.Blocked) != 1 || s.State != sale.BlockHouse || s.Reason != "press" || !s.At.Equal(at) {
				b.Errorf("%s: blocked are %+v", when, e.Blocked)
			}
			if got, ok := r.Order(o.ID); !ok || len(got.History) != 1 || got.History[0] != o.History[0] {
				b.Errorf("%s: the history is %+v", when, got)
			}
		})
	})
}
