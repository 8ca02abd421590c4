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
// and events that it repeats until somebody answers.
type simBank struct {
	evening *evening
	mu      sync.Mutex
	started map[string]sale.StartRequest // by payment id
	taken   map[string]simMoney          // by event id: the money of one charge
	answers map[string]sale.Receipt      // by event id: what Foyer made of it
	counter int
	refunds map[string]bool // by order
	running atomic.Int64    // errands under way
}

func newSimBank(e *evening) *simBank {
	return &simBank{
		evening: e, started: map[string]sale.StartRequest{}, taken: map[string]simMoney{},
		answers: map[string]sale.Receipt{}, refunds: map[string]bool{},
	}
}

func (b *simBank) Name() string { return "bank" }

func (b *simBank) Start(_ context.Context, r sale.StartRequest) (sale.StartedPayment, error) {
	b.mu.Lock()
	b.counter++
	n := b.counter
	id := "pay_" + r.Attempt.String()
	b.started[id] = r
	b.mu.Unlock()
	time.Sleep(time.Duration(1+n%4) * 100 * time.Millisecond)
	if b.evening.chance(5, "start", n) {
		return sale.StartedPayment{}, errors.New("the bank does not answer")
	}
	return sale.StartedPayment{ID: id, RedirectURL: "https://bank.example/" + id}, nil
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

// charge moves money after a while and tells Foyer, copies times at once.
func (b *simBank) charge(after time.Duration, paymentID string, m simMoney, copies int) {
	b.errand(func() {
		time.Sleep(after)
		f := sale.Fact{
			Provider: b.Name(), EventID: b.name(), Kind: sale.FactSucceeded, PaymentID: paymentID,
			Order: m.order, Amount: m.amount, Currency: m.currency, CreatedAt: time.Now(),
		}
		b.mu.Lock()
		b.taken[f.EventID] = m
		b.mu.Unlock()
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

// decline tells Foyer that a payment failed.
func (b *simBank) decline(paymentID, order string) {
	b.tell(sale.Fact{Provider: b.Name(), EventID: b.name(), Kind: sale.FactFailed, PaymentID: paymentID, Order: order, CreatedAt: time.Now()})
}

// refund gives an order's money back, once.
func (b *simBank) refund(order uuid.UUID) {
	b.mu.Lock()
	again := b.refunds[order.String()]
	b.refunds[order.String()] = true
	b.mu.Unlock()
	if again {
		return
	}
	b.errand(func() {
		time.Sleep(3 * time.Second)
		var v *sale.OrderView
		if err := b.evening.ask(func(o *sale.Office) (err error) { v, err = o.AnyOrder(order); return err }); err != nil {
			b.evening.ledger.observe(fmt.Sprintf("I11: an order whose refund was asked for is not there: %v", err))
			return
		}
		for _, p := range v.Payments {
			if p.Provider == b.Name() && p.State == sale.PaymentSucceeded {
				b.tell(sale.Fact{
					Provider: b.Name(), EventID: b.name(), Kind: sale.FactRefunded, PaymentID: p.ID,
					Order: order.String(), Amount: p.Amount, Currency: v.Currency, CreatedAt: time.Now(),
				})
			}
		}
	})
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
	if m.Topic == sale.TopicOrderRefundDue {
		s.refund(m)
	}
	if s.evening.chance(5, "unanswered", s.name, m.Seq, m.Attempts) {
		return errors.New("500 after it was taken")
	}
	return nil
}

// refund lets the bank return the money of most orders that are to be refunded.
func (s *simSink) refund(m outbox.Message) {
	var doc struct{ Data sale.OrderDoc }
	if err := json.Unmarshal(m.Body, &doc); err != nil {
		s.evening.ledger.observe(fmt.Sprintf("I10: a message cannot be read: %v", err))
		return
	}
	if doc.Data.Provider == s.evening.bank.Name() && s.evening.chance(70, "refund", m.Seq) {
		s.evening.bank.refund(doc.Data.OrderID)
	}
}

func (s *simSink) deliveries() []simDelivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}
