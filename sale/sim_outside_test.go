package sale_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/sale"
)

// simMoney is money that really moved.
type simMoney struct {
	order    string
	amount   int64 // minor units
	currency string
}

// simBank takes payments like a provider: a page that sometimes does not open,
// and events that it repeats until somebody answers, or forgets to send. It
// returns money when it is asked; see simRefunds.
type simBank struct {
	evening  *evening
	mu       sync.Mutex
	started  map[string]sale.StartRequest // by payment id
	taken    map[string]simMoney          // by event id: the money of one charge
	charged  map[string][]simMoney        // by payment id
	declined map[string]bool              // by payment id
	expired  map[string]bool              // by payment id: nobody can make it any more
	answers  map[string]sale.Receipt      // by event id: what Foyer made of it
	counter  int
	lost     int // charges that no event tells of
	back     simBack
	running  atomic.Int64 // errands under way
}

func newSimBank(e *evening) *simBank {
	return &simBank{
		evening: e, started: map[string]sale.StartRequest{}, taken: map[string]simMoney{}, charged: map[string][]simMoney{},
		declined: map[string]bool{}, expired: map[string]bool{}, answers: map[string]sale.Receipt{}, back: newSimBack(),
	}
}

func (b *simBank) Name() string { return "bank" }

func simPayment(attempt uuid.UUID) string { return "pay_" + attempt.String() }

func (b *simBank) Start(_ context.Context, r sale.StartRequest) (sale.StartedPayment, error) {
	b.mu.Lock()
	b.counter++
	n := b.counter
	id := simPayment(r.Attempt)
	b.started[id] = r
	b.mu.Unlock()
	time.Sleep(time.Duration(1+n%4) * 100 * time.Millisecond)
	if b.evening.chance(5, "start", n) {
		return sale.StartedPayment{}, errors.New("the bank does not answer")
	}
	return sale.StartedPayment{ID: id, RedirectURL: "https://bank.example/" + id}, nil
}

// Look answers nine times in ten.
func (b *simBank) Look(_ context.Context, p sale.PaymentRef) (sale.Looked, error) {
	time.Sleep(100 * time.Millisecond)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counter++
	id := simPayment(p.Attempt)
	switch money := b.charged[id]; {
	case b.evening.chance(10, "look", b.counter):
		return sale.Looked{}, errors.New("the bank does not answer")
	case len(money) > 0 && money[0].order == p.Order.String():
		return sale.Looked{State: sale.LookSucceeded, ID: id, Amount: money[0].amount, Currency: money[0].currency}, nil
	case b.declined[id] || b.expired[id]:
		return sale.Looked{State: sale.LookFailed, ID: id}, nil
	}
	return sale.Looked{State: sale.LookOpen, ID: id}, nil
}

// Expire ends half the payments; on the pages of the others people can still pay.
func (b *simBank) Expire(_ context.Context, p sale.PaymentRef) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if id := simPayment(p.Attempt); b.evening.chance(50, "expire", id) {
		b.expired[id] = true
	}
	return nil
}

// errand does something beside; idle waits for all of them. (A WaitGroup does
// not allow the first errand to begin while somebody waits.)
func (b *simBank) errand(do func()) {
	b.running.Add(1)
	go func() {
		defer b.running.Add(-1)
		do()
	}()
}

func (b *simBank) idle() {
	for b.running.Load() > 0 {
		time.Sleep(time.Second)
	}
}

// name gives the next event id.
func (b *simBank) name() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counter++
	return fmt.Sprint("evt_", b.counter)
}

// take moves the money of a charge, unless its payment was expired. told is
// false when no event will tell of it.
func (b *simBank) take(event, paymentID string, m simMoney) (taken, told bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, ours := b.started[paymentID]
	if b.expired[paymentID] || ours && len(b.charged[paymentID]) > 0 { // one page takes money once
		return false, false
	}
	b.taken[event] = m
	b.charged[paymentID] = append(b.charged[paymentID], m)
	if ours && r.Order.String() == m.order && !b.declined[paymentID] && b.evening.chance(15, "lost event", event) {
		b.lost++
		return true, false
	}
	return true, true
}

// charge moves money after a while and tells Foyer, copies times at once.
func (b *simBank) charge(after time.Duration, paymentID string, m simMoney, copies int) {
	b.errand(func() {
		time.Sleep(after)
		f := sale.Fact{
			Provider: b.Name(), EventID: b.name(), Kind: sale.FactSucceeded, PaymentID: paymentID,
			Order: m.order, Amount: m.amount, Currency: m.currency, CreatedAt: time.Now(),
		}
		if _, told := b.take(f.EventID, paymentID, m); !told {
			return
		}
		for range copies {
			b.errand(func() { b.tell(f) })
		}
		if b.evening.chance(20, "again", f.EventID) {
			time.Sleep(2 * time.Second)
			b.tell(f)
		}
		if copies > 1 { // some providers say the same with another event
			again := f
			again.EventID = b.name()
			b.tell(again)
			again.EventID, again.Kind = b.name(), sale.FactFailed // and an old failure may come late
			b.tell(again)
			again.EventID, again.Kind = b.name(), sale.FactSucceeded
			b.tell(again)
		}
	})
}

// decline fails a payment, and nearly always tells Foyer.
func (b *simBank) decline(paymentID, order string) {
	b.mu.Lock()
	b.declined[paymentID] = true
	b.mu.Unlock()
	if f := b.name(); !b.evening.chance(10, "lost failure", f) {
		b.tell(sale.Fact{Provider: b.Name(), EventID: f, Kind: sale.FactFailed, PaymentID: paymentID, Order: order, CreatedAt: time.Now()})
	}
}

// tell says a fact until it is answered, and holds Foyer to its first answer.
func (b *simBank) tell(f sale.Fact) {
	var rc *sale.Receipt
	if err := b.evening.ask(func(o *sale.Office) (err error) { rc, err = o.Receive(f); return err }); err != nil {
		b.evening.ledger.observe(fmt.Sprintf("I8: a fact was refused: %v", err))
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	first, again := b.answers[f.EventID]
	if !again {
		b.answers[f.EventID] = *rc
		return
	}
	if first.Seq != rc.Seq || first.Outcome != rc.Outcome || first.Attention != rc.Attention {
		b.evening.ledger.observe(fmt.Sprintf("I8: fact %s was booked twice: first %d %s, then %d %s", f.EventID, first.Seq, first.Outcome, rc.Seq, rc.Outcome))
	}
}

// simDelivery is one message as a sink took it.
type simDelivery struct {
	seq  uint64
	id   string
	key  string
	body []byte
}

// simSink receives messages. It is slow, fails one time in ten (half of these
// after it has taken the message) and is down for a while.
type simSink struct {
	evening *evening
	name    string
	slow    time.Duration // at most
	mu      sync.Mutex
	got     []simDelivery
}

func (s *simSink) Deliver(ctx context.Context, m outbox.Message) error {
	nap := time.NewTimer(s.evening.between(100*time.Millisecond, s.slow, s.name, m.Seq, m.Attempts))
	defer nap.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-nap.C:
	}
	if s.evening.sinkDown() {
		return &outbox.Failure{Reason: "503 down", RetryAfter: 30 * time.Second}
	}
	if s.evening.chance(5, "lost", s.name, m.Seq, m.Attempts) {
		return errors.New("500 lost on the way")
	}
	s.mu.Lock()
	s.got = append(s.got, simDelivery{m.Seq, m.ID, m.Key, bytes.Clone(m.Body)})
	s.mu.Unlock()
	if m.Topic == sale.TopicOrderRefundDue && s.evening.chance(40, "console", m.ID) {
		s.console(m)
	}
	if s.evening.chance(5, "unanswered", s.name, m.Seq, m.Attempts) {
		return errors.New("500 after it was taken")
	}
	return nil
}

// console lets somebody return the money that a message speaks of in the bank's
// own pages, while Foyer asks for it too.
func (s *simSink) console(m outbox.Message) {
	var doc struct{ Data sale.OrderDoc }
	if err := json.Unmarshal(m.Body, &doc); err != nil || doc.Data.Refund == nil {
		s.evening.ledger.observe(fmt.Sprintf("I10: a message cannot be read: %v", err))
		return
	}
	if doc.Data.Provider == s.evening.bank.Name() {
		s.evening.bank.console(doc.Data.OrderID, doc.Data.Refund.Amount.Amount)
	}
}

func (s *simSink) deliveries() []simDelivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}
