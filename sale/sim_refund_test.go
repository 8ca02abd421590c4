package sale_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/sale"
)

// simBack is the money that the bank has given back.
type simBack struct {
	done     map[uuid.UUID]simMoney // by Foyer's name for the refund
	sum      map[string]int64       // by payment id and currency
	consoled map[string]bool        // by payment id: somebody returned money in the bank's own pages
	total    map[string]int64       // by currency
	refused  int
	later    int // told by an event
}

func newSimBack() simBack {
	return simBack{done: map[uuid.UUID]simMoney{}, sum: map[string]int64{}, consoled: map[string]bool{}, total: map[string]int64{}}
}

// Refund returns money once per name. The bank is slow, fails before or after it
// has done it, refuses now and then, and tells later of some by an event.
func (b *simBank) Refund(ctx context.Context, r sale.RefundRequest) (sale.RefundAnswer, error) {
	nap := time.NewTimer(b.evening.between(100*time.Millisecond, 5*time.Second, "refund", r.ID))
	defer nap.Stop()
	select {
	case <-ctx.Done():
		return sale.RefundAnswer{}, ctx.Err()
	case <-nap.C:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counter++
	n := b.counter
	if b.evening.chance(15, "no refund", n) {
		return sale.RefundAnswer{}, errors.New("the bank does not answer")
	}
	first, err := b.giveBack(r)
	if err != nil {
		return sale.RefundAnswer{}, err
	}
	later := b.evening.chance(30, "later", r.ID)
	if first && later {
		b.back.later++
		b.errand(func() { b.tellRefund(r) })
	}
	if b.evening.chance(10, "refund unanswered", n) && !b.back.consoled[r.Payment] { // else nobody could tell the two apart
		return sale.RefundAnswer{}, errors.New("the bank's answer was lost")
	}
	return sale.RefundAnswer{ID: "re_" + r.ID.String(), Done: !later}, nil
}

// giveBack moves the money, unless it did so before. The caller holds b.mu.
func (b *simBank) giveBack(r sale.RefundRequest) (first bool, err error) {
	m := simMoney{r.Order.String(), r.Amount, r.Currency}
	if old, again := b.back.done[r.ID]; again {
		if old != m {
			b.evening.ledger.observe(fmt.Sprintf("I8: refund %s was asked for as %v and as %v", r.ID, old, m))
		}
		return false, nil
	}
	paid, key := int64(0), r.Payment+" "+r.Currency
	for _, c := range b.charged[r.Payment] {
		if c.currency == r.Currency {
			paid += c.amount
		}
	}
	if b.back.sum[key]+r.Amount > paid {
		if !b.back.consoled[r.Payment] {
			b.evening.ledger.observe(fmt.Sprintf("I8: %d of %d %s of payment %s are to go back, of which %d went", r.Amount, paid, r.Currency, r.Payment, b.back.sum[key]))
		}
		return false, fmt.Errorf("%w: it went back", sale.ErrRefundRefused)
	}
	if b.evening.chance(20, "refused", r.ID) {
		b.back.refused++
		return false, fmt.Errorf("%w: account closed", sale.ErrRefundRefused)
	}
	b.back.sum[key] += r.Amount
	b.back.total[r.Currency] += r.Amount
	b.back.done[r.ID] = m
	return true, nil
}

// tellRefund says that money is back, naming the refund in one way or another.
func (b *simBank) tellRefund(r sale.RefundRequest) {
	time.Sleep(b.evening.between(0, time.Minute, "tell refund", r.ID))
	f := sale.Fact{
		Provider: b.Name(), EventID: b.name(), Kind: sale.FactRefunded, PaymentID: r.Payment, Order: r.Order.String(),
		Amount: r.Amount, Currency: r.Currency, RefundID: "re_" + r.ID.String(), Refund: r.ID.String(), CreatedAt: time.Now(),
	}
	if b.evening.chance(50, "names", r.ID) {
		f.Refund = ""
	}
	b.tell(f)
	f.EventID = b.name()
	b.tell(f)
}

// console returns money of an order in the bank's own pages, if it is there still.
func (b *simBank) console(order uuid.UUID, amount int64) {
	b.errand(func() {
		var v *sale.OrderView
		if err := b.evening.ask(func(o *sale.Office) (err error) { v, err = o.AnyOrder(order); return err }); err != nil {
			b.evening.ledger.observe(fmt.Sprintf("I11: an order whose refund was asked for is not there: %v", err))
			return
		}
		for _, p := range v.Payments {
			key := p.ID + " " + v.Currency
			if p.Provider != b.Name() || p.State != sale.PaymentSucceeded && p.State != sale.PaymentRefunded {
				continue
			}
			b.mu.Lock()
			possible := b.back.sum[key] == 0 && amount <= p.Amount
			if possible {
				b.back.consoled[p.ID] = true
				b.back.sum[key] += amount
				b.back.total[v.Currency] += amount
			}
			b.mu.Unlock()
			if f := b.name(); possible {
				b.tell(sale.Fact{
					Provider: b.Name(), EventID: f, Kind: sale.FactRefunded, PaymentID: p.ID, Order: order.String(),
					Amount: amount, Currency: v.Currency, RefundID: "con_" + f, CreatedAt: time.Now(),
				})
			}
		}
	})
}

// simRefunds is the sink that asks the bank.
type simRefunds struct {
	office *sale.Office
	mu     *sync.Mutex
	got    map[string]bool // ids of messages that are done
}

func (s simRefunds) Deliver(ctx context.Context, m outbox.Message) error {
	if err := s.office.SendRefund(ctx, m.Body); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got[m.ID] = true
	return nil
}

// lookingUp asks the bank about payments, as the program's own loop does.
func (e *evening) lookingUp(ctx context.Context) {
	for ctx.Err() == nil {
		h := e.house.Load()
		pause, err := h.office.LookUp(ctx) // the bank may not answer; that is no fault
		if err != nil {
			pause = time.Second
		}
		if e.late.Load() { // what is left then has hours
			pause = max(pause, time.Minute)
		}
		time.Sleep(pause)
	}
}

// refundDesk has whatever the bank refused asked for again.
func (e *evening) refundDesk() {
	var due []*sale.OrderView
	var matters []*sale.Receipt
	e.must("refunds due", func(o *sale.Office) error { due, matters = o.RefundsDue(), o.Attention(); return nil })
	again := sale.Decision{Actor: "staff:desk", How: sale.HowRefund}
	for _, v := range due {
		for _, r := range v.Refunds {
			if r.State != sale.RefundFailed {
				continue
			}
			err := e.ask(func(o *sale.Office) error { return o.SettleRefund(v.ID, r.ID, again) })
			if err != nil && !errors.Is(err, sale.ErrNoSuchMatter) { // an event may have been quicker
				e.ledger.observe(fmt.Sprintf("unexpected: a refund is asked for again: %v", err))
			}
		}
	}
	for _, rc := range matters {
		if rc.Refund == nil || rc.Refund.State != sale.RefundFailed {
			continue
		}
		err := e.ask(func(o *sale.Office) error { return o.SettlePayment(rc.Seq, again) })
		if err != nil && !errors.Is(err, sale.ErrNoSuchMatter) {
			e.ledger.observe(fmt.Sprintf("unexpected: money is sent back again: %v", err))
		}
	}
}

// refundSome takes back a few orders that are PAID: in part those of several seats
// where seats are not sold in pairs.
func (e *evening) refundSome(event string, n int) {
	var orders []*sale.OrderView
	e.must("orders", func(o *sale.Office) (err error) { orders, err = o.Orders(event, uuid.Nil, 1000); return err })
	for _, v := range orders {
		if v.Status != sale.Paid || n == 0 || !e.chance(50, "take back", v.ID) {
			continue
		}
		w := sale.RefundWish{Actor: "staff:desk", Reason: "ill", OffSale: event == simGala && n%3 == 0}
		if event == simGala && len(v.Seats) > 1 {
			w.Seats = []string{v.Seats[0].ID}
		}
		n--
		for range 2 { // staff click twice
			e.must("refund", func(o *sale.Office) error { _, err := o.Refund(v.ID, w); return err })
		}
	}
}

// simCheckReturned: what the bank gave back is what the books say, nothing is
// open that the bank could give back, and no order keeps money it must not.
func simCheckReturned(e *evening, end simEnd) (wrong []string) {
	booked := map[string]int64{}
	for _, o := range end.orders {
		byBank := false
		for _, p := range o.Payments {
			byBank = byBank || p.Provider == e.bank.Name() && (p.State == sale.PaymentSucceeded || p.State == sale.PaymentRefunded)
		}
		done, open := o.Returned()
		if byBank {
			booked[o.Currency] += done
		}
		if byBank && open > 0 || !byBank && open > 0 && o.Status != sale.RefundDue && o.Status != sale.Paid {
			wrong = append(wrong, fmt.Sprintf("I8: %d %s of order %s (%s) never go back: %+v", open, o.Currency, o.ID, o.Status, o.Refunds))
		}
	}
	for _, o := range end.orders {
		kept, done, open := int64(0), int64(0), int64(0)
		for i, s := range o.Seats {
			if o.Keeps(i) {
				kept += s.Price
			}
		}
		byHand := slices.ContainsFunc(o.Refunds, func(r sale.Refund) bool { return r.By == e.bank.Name() }) // in the bank's pages, for no seat
		if done, open = o.Returned(); !byHand && o.Status == sale.Paid && o.Received()-done-open != kept {
			wrong = append(wrong, fmt.Sprintf("I8: order %s keeps %d %s for seats of %d", o.ID, o.Received()-done-open, o.Currency, kept))
		}
	}
	for _, rc := range end.attention {
		switch r := rc.Refund; {
		case r != nil && r.State == sale.RefundDone:
			booked[rc.Fact.Currency] += r.Amount
		case rc.Fact.Amount > 0 && rc.Fact.Provider == e.bank.Name() && (rc.Attention == "surplus_payment" || rc.Attention == "amount_mismatch"):
			wrong = append(wrong, fmt.Sprintf("I8: %d %s (%s) never go back: %+v", rc.Fact.Amount, rc.Fact.Currency, rc.Attention, r))
		}
	}
	for _, c := range []string{"EUR", "USD"} {
		if booked[c] != e.bank.back.total[c] {
			wrong = append(wrong, fmt.Sprintf("I8: the bank gave back %d %s, %d is booked", e.bank.back.total[c], c, booked[c]))
		}
	}
	return wrong
}
