package sale_test

import (
	"context"
	"errors"
	"time"

	"foyer/sale"
)

// bank is a provider whose payments are named by their attempts.
type bank struct {
	down    bool
	until   time.Time // no refund before, as if it were down
	starts  int
	during  func(sale.StartRequest) // runs while the bank is being asked
	looks   map[string]sale.Looked  // by payment; others are open
	asked   []sale.PaymentRef       // by Look
	expired []sale.PaymentRef
	refunds []sale.RefundRequest
	answer  sale.RefundAnswer // to Refund
	refuses error             // to Refund
	back    func()            // runs while the bank returns money
}

func (b *bank) Name() string { return "bank" }

func (b *bank) Start(_ context.Context, r sale.StartRequest) (sale.StartedPayment, error) {
	b.starts++
	if b.during != nil {
		b.during(r)
	}
	if b.down {
		return sale.StartedPayment{}, errors.New("no answer")
	}
	return sale.StartedPayment{ID: "p-" + r.Attempt.String(), RedirectURL: "https://bank.example/" + r.Attempt.String()}, nil
}

func (b *bank) Look(_ context.Context, p sale.PaymentRef) (sale.Looked, error) {
	b.asked = append(b.asked, p)
	if b.down {
		return sale.Looked{}, errors.New("no answer")
	}
	if l, ok := b.looks[p.ID]; ok {
		return l, nil
	}
	return sale.Looked{State: sale.LookOpen, ID: p.ID}, nil
}

func (b *bank) Expire(_ context.Context, p sale.PaymentRef) error {
	b.expired = append(b.expired, p)
	return nil
}

func (b *bank) Refund(_ context.Context, r sale.RefundRequest) (sale.RefundAnswer, error) {
	b.refunds = append(b.refunds, r)
	if b.back != nil {
		b.back()
	}
	if b.down || time.Now().Before(b.until) {
		return sale.RefundAnswer{}, errors.New("no answer")
	}
	return b.answer, b.refuses
}
