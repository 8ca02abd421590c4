package stripe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	sdk "github.com/stripe/stripe-go/v85"

	"foyer/sale"
)

// Look asks how a payment stands. A page that was left with a method that takes
// days (complete, not paid) is open: an event or another Look tells later.
//
// Without an ID it looks for the session of the attempt, see find. One that is
// not there is open too: a Start may still be under way. Whoever asks must stop
// asking by himself.
func (p *Provider) Look(ctx context.Context, ref sale.PaymentRef) (sale.Looked, error) {
	s, err := p.session(ctx, ref)
	if err != nil {
		return sale.Looked{}, p.failed("look", err)
	}
	if s == nil {
		return sale.Looked{State: sale.LookOpen}, nil
	}
	l := sale.Looked{State: sale.LookOpen, ID: s.ID, Ref: intentOf(s)}
	switch s.Status {
	case sdk.CheckoutSessionStatusExpired:
		l.State = sale.LookFailed
	case sdk.CheckoutSessionStatusComplete:
		if s.PaymentStatus != sdk.CheckoutSessionPaymentStatusPaid && s.PaymentStatus != sdk.CheckoutSessionPaymentStatusNoPaymentRequired {
			return l, nil
		}
		var whole bool
		l.State, l.Currency = sale.LookSucceeded, currencyOf(string(s.Currency))
		if l.Amount, whole = fromStripe(s.AmountTotal, l.Currency); !whole {
			return sale.Looked{}, fmt.Errorf("stripe: look: %d of %s is no whole number of minor units", s.AmountTotal, l.Currency)
		}
	}
	return l, nil
}

// Expire closes the page of a payment. A page that is closed already, or that
// was paid on, is left as it is: Look tells. A payment without a session at
// Stripe has nothing to close.
func (p *Provider) Expire(ctx context.Context, ref sale.PaymentRef) error {
	id := ref.ID
	if id == "" {
		s, err := p.find(ctx, ref.Attempt)
		if err != nil {
			return p.failed("expire", err)
		}
		if s == nil {
			return nil
		}
		id = s.ID
	}
	// No idempotency key of ours: a refusal that Stripe kept would hide that the page opened again, or never closed.
	_, err := p.api.V1CheckoutSessions.Expire(ctx, id, nil)
	if err == nil {
		return nil
	}
	if refusedState(err) { // Stripe has no code for "it is not open"
		s, lookErr := p.api.V1CheckoutSessions.Retrieve(ctx, id, nil)
		if lookErr == nil && (s.Status == sdk.CheckoutSessionStatusComplete || s.Status == sdk.CheckoutSessionStatusExpired) {
			return nil
		}
	}
	return p.failed("expire", err)
}

// session is that of a payment, nil when it has no name yet and is not found.
func (p *Provider) session(ctx context.Context, ref sale.PaymentRef) (*sdk.CheckoutSession, error) {
	if ref.ID == "" {
		return p.find(ctx, ref.Attempt)
	}
	return p.api.V1CheckoutSessions.Retrieve(ctx, ref.ID, nil)
}

// Where find looks: sessions that Stripe made around the time of the attempt,
// by Stripe's clock.
const (
	findBefore = 5 * time.Minute
	findAfter  = 15 * time.Minute
	findMost   = 2000 // sessions; 100 come with each call
)

var (
	errTooMany = errors.New("stripe: too many payments around that time to find this one")
	errNoTime  = errors.New("stripe: the id of the attempt does not tell its time, so its payment cannot be found")
)

// find looks for the session of an attempt whose answer was lost, nil when there
// is none. Stripe cannot be asked for a session by its metadata, but for all
// that it made around the time that is in the attempt's id.
func (p *Provider) find(ctx context.Context, attempt uuid.UUID) (*sdk.CheckoutSession, error) {
	at, ok := born(attempt)
	if !ok {
		return nil, errNoTime
	}
	params := &sdk.CheckoutSessionListParams{CreatedRange: &sdk.RangeQueryParams{
		GreaterThanOrEqual: at.Add(-findBefore).Unix(), LesserThanOrEqual: at.Add(findAfter).Unix(),
	}}
	params.Limit = sdk.Int64(100)
	seen := 0
	for s, err := range p.api.V1CheckoutSessions.List(ctx, params).All(ctx) {
		switch {
		case err != nil:
			return nil, err
		case s.Metadata[metaAttempt] == attempt.String():
			return s, nil
		case seen == findMost:
			return nil, errTooMany
		}
		seen++
	}
	return nil, nil
}

// intentOf is the name of a session's payment, under which it is refunded.
func intentOf(s *sdk.CheckoutSession) string {
	if s.PaymentIntent == nil {
		return ""
	}
	return s.PaymentIntent.ID
}
