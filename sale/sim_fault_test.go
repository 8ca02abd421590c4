package sale_test

import (
	"hash/fnv"
	"slices"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/queue"
	"foyer/sale"
	"foyer/store"
)

// simFault is something broken beneath the office. The zero value is a sound
// house.
type simFault struct {
	name   string
	want   string // the invariant that must be reported
	store  func(sale.Store) sale.Store
	book   func(outbox.Book) outbox.Book
	reopen func(*store.Store)
}

// simOne tells one in n of all ids.
func simOne(n uint32, id string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return h.Sum32()%n == 0
}

// simFaults are the planted faults, and who has to notice.
var simFaults = []simFault{
	{name: "the index of seats forgets one in a hundred", want: "I1", store: simLying(simLies{
		holder: func(seat string) bool { return simOne(100, seat) || seat == "2-2" },
	})},
	{name: "a hold shows only its first seats", want: "I2", store: simLying(simLies{
		hidden: func(o *sale.Order, seat string) bool {
			return o.Status == sale.Pending && seat == o.Seats[len(o.Seats)-1].ID
		},
	})},
	{name: "the pace is not counted", want: "I3", store: simLying(simLies{recent: func(int) int { return 0 }})},
	{name: "the slots are not counted", want: "I3", store: simLying(simLies{line: func(l sale.Line) sale.Line { l.Active /= 2; return l }})},
	{name: "a visitor's place is overlooked now and then", want: "I5", store: simLying(simLies{
		overlooks: func(p sale.Place) bool { return p.Turn.State == sale.TurnNone && p.Number%20 == 0 },
	})},
	{name: "a place is dropped between the line and its turn", want: "I6", store: simLying(simLies{
		put: func(tx sale.Tx, p sale.Place) {
			if p.Turn.State == sale.TurnReady && !p.Turn.PickedUp && p.Number%7 == 0 {
				p.Turn = sale.Turn{} // the counts stay right, nothing but the person is missing
				tx.RemovePlace(p)
				return
			}
			tx.PutPlace(p)
		},
	})},
	{name: "a turn forgets which order claims it", want: "I7", store: simLying(simLies{
		put: func(tx sale.Tx, p sale.Place) {
			if p.Turn.State == sale.TurnClaimed && p.Number%3 == 0 {
				p.Turn.Order = uuid.Nil
			}
			tx.PutPlace(p)
		},
	})},
	{name: "a paid turn is not consumed", want: "I7", store: simLying(simLies{
		put: func(tx sale.Tx, p sale.Place) {
			if p.Turn.State == sale.TurnConsumed {
				p.Turn.State = sale.TurnClaimed
			}
			tx.PutPlace(p)
		},
	})},
	{name: "lapsed holds never lapse", want: "I7", store: simLying(simLies{order: func(o *sale.Order) *sale.Order {
		c := *o
		if c.Status.Open() {
			c.HoldExpiresAt = c.HoldExpiresAt.Add(24 * time.Hour)
		}
		return &c
	}})},
	{name: "holds lapse too early", want: "I7", store: simLying(simLies{order: func(o *sale.Order) *sale.Order {
		c := *o
		if c.Status == sale.Pending {
			c.HoldExpiresAt = c.HoldExpiresAt.Add(-80 * time.Second)
		}
		return &c
	}})},
	{name: "payment facts are forgotten", want: "I8", store: simLying(simLies{receipt: func(id string) bool { return simOne(3, id) }})},
	{name: "facts that need a person are not kept", want: "I8", store: simLying(simLies{
		putReceipt: func(tx sale.Tx, rc *sale.Receipt) {
			if rc.Outcome != "attention" {
				tx.PutReceipt(rc)
			}
		},
	})},
	{name: "messages are dropped", want: "I10", store: simLying(simLies{
		send: func(m outbox.Message) (outbox.Message, bool) { return m, !simOne(20, m.ID) },
	})},
	{name: "a message is kept with another body", want: "I10", store: simLying(simLies{
		send: func(m outbox.Message) (outbox.Message, bool) {
			if m.Topic == sale.TopicTicketIssued && simOne(5, m.ID) {
				m.Body = []byte(`{"id":"` + m.ID + `"}`)
			}
			return m, true
		},
	})},
	{name: "a failed delivery is booked as done", want: "I10", book: func(b outbox.Book) outbox.Book { return simHastyBook{b} }},
	{name: "acknowledged joins vanish at the reopen", want: "I11", reopen: func(st *store.Store) {
		_ = st.Update(func(tx sale.Tx) error {
			for i, p := range tx.Front(simGala, 1<<20, queue.Cycle{Share: 7}) {
				if i%20 == 3 {
					tx.RemovePlace(p)
				}
			}
			return nil
		})
	}},
	{name: "a message in the outbox vanishes at the reopen", want: "I10", reopen: func(st *store.Store) {
		msgs, _ := st.Messages("", 0, 1<<20)
		var gone []outbox.Outcome
		for _, m := range msgs {
			if m.Seq%3 == 0 {
				gone = append(gone, outbox.Outcome{Seq: m.Seq, Delivered: true})
			}
		}
		_ = st.Settle(gone)
	}},
	{name: "a refund is not asked for", want: "I8", store: simLying(simLies{
		send: func(m outbox.Message) (outbox.Message, bool) { return m, m.Sink != sale.RefundSink || !simOne(3, m.ID) },
	})},
	{name: "what became of a refund is not kept", want: "I8", store: simLying(simLies{putOrder: simRefunded(func(r *sale.Refund) {
		if r.State == sale.RefundDone && simOne(2, r.ID.String()) {
			r.State = sale.RefundRequested
		}
	})})},
	{name: "a refund is of another sum", want: "I8", store: simLying(simLies{putOrder: simRefunded(func(r *sale.Refund) { r.Amount -= r.Amount % 100 })})},
	{name: "a refund forgets its name and is asked for as another", want: "I8", store: simLying(simLies{putOrder: simRefunded(func(r *sale.Refund) {
		if r.State == sale.RefundSent {
			r.State = sale.RefundFailed
		}
	})})},
	{name: "the return of a surplus is not kept", want: "I8", store: simLying(simLies{putReceipt: func(tx sale.Tx, rc *sale.Receipt) {
		c := *rc
		if c.Refund != nil && c.Refund.State == sale.RefundRequested {
			c.Refund = nil
		}
		tx.PutReceipt(&c)
	}})},
	{name: "a seat that was taken back stays sold", want: "I1", store: simLying(simLies{putOrder: func(tx sale.Tx, o *sale.Order) {
		c := *o
		c.Seats = slices.Clone(o.Seats)
		for i := range c.Seats {
			c.Seats[i].Refund = uuid.Nil
		}
		tx.PutOrder(&c)
	}})},
	{name: "payments whose event was lost are not looked up", want: "I8", store: func(s sale.Store) sale.Store { return simBlind{s} }},
	{name: "who waits is taken for one whose turn has come", want: "I12", store: simLying(simLies{promotes: true})},
}

// simRefunded changes refunds as they are written.
func simRefunded(change func(*sale.Refund)) func(sale.Tx, *sale.Order) {
	return func(tx sale.Tx, o *sale.Order) {
		c := *o
		c.Refunds = slices.Clone(o.Refunds)
		for i := range c.Refunds {
			change(&c.Refunds[i])
		}
		tx.PutOrder(&c)
	}
}

// simBlind lists no payments that are under way.
type simBlind struct{ sale.Store }

func (simBlind) Unsettled() []*sale.Order { return nil }

// simHastyBook books some failures as delivered.
type simHastyBook struct{ outbox.Book }

func (b simHastyBook) Settle(outcomes []outbox.Outcome) error {
	for i := range outcomes {
		if outcomes[i].Seq%2 == 0 {
			outcomes[i].Delivered = true
		}
	}
	return b.Book.Settle(outcomes)
}

// simLies are what a store may say that is not so. A nil one is left alone.
type simLies struct {
	holder     func(seat string) bool // the seat has no holder
	hidden     func(o *sale.Order, seat string) bool
	recent     func(int) int
	line       func(sale.Line) sale.Line
	overlooks  func(sale.Place) bool
	promotes   bool
	order      func(*sale.Order) *sale.Order
	receipt    func(id string) bool // the fact was never seen
	put        func(sale.Tx, sale.Place)
	putReceipt func(sale.Tx, *sale.Receipt)
	putOrder   func(sale.Tx, *sale.Order)
	send       func(outbox.Message) (outbox.Message, bool)
}

// simLying puts lies over a store.
func simLying(l simLies) func(sale.Store) sale.Store {
	return func(s sale.Store) sale.Store { return simLyingStore{s, l} }
}

type simLyingStore struct {
	sale.Store
	lies simLies
}

func (s simLyingStore) Update(fn func(sale.Tx) error) error {
	return s.Store.Update(func(tx sale.Tx) error { return fn(simLyingTx{tx, simLyingReader{tx, s.lies}}) })
}

func (s simLyingStore) View(fn func(sale.Reader) error) error {
	return s.Store.View(func(r sale.Reader) error { return fn(simLyingReader{r, s.lies}) })
}

type simLyingReader struct {
	sale.Reader
	lies simLies
}

func (r simLyingReader) Holder(event, seat string) (*sale.Order, bool) {
	o, ok := r.Reader.Holder(event, seat)
	l := r.lies
	if ok && (l.holder != nil && l.holder(seat) || l.hidden != nil && l.hidden(o, seat)) {
		return nil, false
	}
	return o, ok
}

func (r simLyingReader) Recent(event string) int {
	if n := r.Reader.Recent(event); r.lies.recent == nil {
		return n
	}
	return r.lies.recent(r.Reader.Recent(event))
}

func (r simLyingReader) Line(event string) sale.Line {
	if r.lies.line == nil {
		return r.Reader.Line(event)
	}
	return r.lies.line(r.Reader.Line(event))
}

func (r simLyingReader) Place(event string, visitor uuid.UUID) (sale.Place, bool) {
	p, ok := r.Reader.Place(event, visitor)
	if ok && r.lies.overlooks != nil && r.lies.overlooks(p) {
		return sale.Place{}, false
	}
	if ok && r.lies.promotes && p.Turn.State == sale.TurnNone && p.Number%10 == 0 {
		p.Turn = sale.Turn{State: sale.TurnReady, CalledAt: r.Now(), ExpiresAt: r.Now().Add(time.Minute), PickedUp: true}
	}
	return p, ok
}

func (r simLyingReader) Order(id uuid.UUID) (*sale.Order, bool) {
	o, ok := r.Reader.Order(id)
	if ok && r.lies.order != nil {
		return r.lies.order(o), true
	}
	return o, ok
}

func (r simLyingReader) Receipt(provider, id string) (*sale.Receipt, bool) {
	if r.lies.receipt != nil && r.lies.receipt(id) {
		return nil, false
	}
	return r.Reader.Receipt(provider, id)
}

type simLyingTx struct {
	sale.Tx
	r simLyingReader
}

func (t simLyingTx) Holder(event, seat string) (*sale.Order, bool) { return t.r.Holder(event, seat) }
func (t simLyingTx) Recent(event string) int                       { return t.r.Recent(event) }
func (t simLyingTx) Line(event string) sale.Line                   { return t.r.Line(event) }
func (t simLyingTx) Order(id uuid.UUID) (*sale.Order, bool)        { return t.r.Order(id) }

func (t simLyingTx) Place(event string, visitor uuid.UUID) (sale.Place, bool) {
	return t.r.Place(event, visitor)
}

func (t simLyingTx) Receipt(provider, id string) (*sale.Receipt, bool) {
	return t.r.Receipt(provider, id)
}

func (t simLyingTx) PutPlace(p sale.Place) {
	if t.r.lies.put != nil {
		t.r.lies.put(t.Tx, p)
		return
	}
	t.Tx.PutPlace(p)
}

func (t simLyingTx) PutOrder(o *sale.Order) {
	if t.r.lies.putOrder != nil {
		t.r.lies.putOrder(t.Tx, o)
		return
	}
	t.Tx.PutOrder(o)
}

func (t simLyingTx) PutReceipt(rc *sale.Receipt) {
	if t.r.lies.putReceipt != nil {
		t.r.lies.putReceipt(t.Tx, rc)
		return
	}
	t.Tx.PutReceipt(rc)
}

func (t simLyingTx) Send(m outbox.Message) {
	send := true
	if t.r.lies.send != nil {
		m, send = t.r.lies.send(m)
	}
	if send {
		t.Tx.Send(m)
	}
}
