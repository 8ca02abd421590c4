package stripe

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	sdk "github.com/stripe/stripe-go/v85"

	"foyer/sale"
)

// How Refund gets out of a failure that Stripe keeps, see there.
const (
	nextKeyAfter = time.Hour
	mostKeys     = 30
)

// Refund gives money back, once for each ID. It refuses with
// [sale.ErrRefundRefused] what Stripe will not do however often it is asked; any
// other error is worth another try.
//
// Two things keep it from paying twice. The first is the idempotency key, which
// Stripe forgets after a day or more. So before anything is asked, the refunds
// of the payment are searched for ours, by the ID in their metadata: that holds
// for ever.
//
// Stripe also keeps failures under the key and repeats them, a 500 or an empty
// balance, which would end all tries for a day. When it does (the header
// Idempotent-Replayed says so) and no refund of ours is there, the next key is
// used; but not within an hour of the ID's making, for Stripe may still be
// mending what broke and make the refund after all.
func (p *Provider) Refund(ctx context.Context, r sale.RefundRequest) (sale.RefundAnswer, error) {
	amount, err := toStripe(r.Amount, r.Currency)
	if err != nil {
		return sale.RefundAnswer{}, fmt.Errorf("%w: %w", sale.ErrRefundRefused, err)
	}
	intent, err := p.intent(ctx, r)
	if err != nil {
		return sale.RefundAnswer{}, err
	}
	for n := 1; ; n++ {
		made, err := p.refundOf(ctx, intent, r.ID)
		if err != nil {
			return sale.RefundAnswer{}, p.notRefunded(err)
		}
		if made != nil {
			return refundAnswer(made)
		}
		made, err = p.createRefund(ctx, r, intent, amount, n)
		switch {
		case err == nil:
			return refundAnswer(made)
		case final(err):
			// "Already refunded" may mean by us, in a call that ran beside this one.
			if made, lookErr := p.refundOf(ctx, intent, r.ID); lookErr == nil && made != nil {
				return refundAnswer(made)
			}
			return sale.RefundAnswer{}, p.notRefunded(err)
		case !replayed(err) || n == mostKeys || !p.mayTakeNextKey(r.ID):
			return sale.RefundAnswer{}, p.notRefunded(err)
		}
	}
}

func (p *Provider) mayTakeNextKey(id uuid.UUID) bool {
	at, known := born(id)
	return !known || p.cfg.Now().Sub(at) >= nextKeyAfter
}

// intent is the name under which Stripe refunds the payment.
func (p *Provider) intent(ctx context.Context, r sale.RefundRequest) (string, error) {
	if r.Ref != "" {
		return r.Ref, nil
	}
	if r.Payment == "" {
		return "", fmt.Errorf("%w: stripe: the payment has no name", sale.ErrRefundRefused)
	}
	s, err := p.api.V1CheckoutSessions.Retrieve(ctx, r.Payment, nil)
	switch {
	case err != nil:
		return "", p.notRefunded(err)
	case intentOf(s) == "":
		return "", fmt.Errorf("%w: stripe: nothing was paid in %s", sale.ErrRefundRefused, clip(r.Payment, 100))
	}
	return intentOf(s), nil
}

// refundOf finds the refund of an ID among those of a payment, nil when there is
// none.
func (p *Provider) refundOf(ctx context.Context, intent string, id uuid.UUID) (*sdk.Refund, error) {
	params := &sdk.RefundListParams{PaymentIntent: sdk.String(intent)}
	params.Limit = sdk.Int64(100)
	for made, err := range p.api.V1Refunds.List(ctx, params).All(ctx) {
		if err != nil {
			return nil, err
		}
		if made.Metadata[metaRefund] == id.String() {
			return made, nil
		}
	}
	return nil, nil
}

// createRefund asks for the refund under the n-th key of its ID, from 1.
func (p *Provider) createRefund(ctx context.Context, r sale.RefundRequest, intent string, amount int64, n int) (*sdk.Refund, error) {
	params := &sdk.RefundCreateParams{
		PaymentIntent: sdk.String(intent), Amount: sdk.Int64(amount),
		Metadata: map[string]string{metaRefund: r.ID.String()},
	}
	if r.Order != uuid.Nil {
		params.Metadata[metaOrder] = r.Order.String()
	}
	key := "foyer:refund:" + r.ID.String()
	if n > 1 {
		key += ":" + strconv.Itoa(n)
	}
	params.SetIdempotencyKey(key)
	return p.api.V1Refunds.Create(ctx, params)
}

// notRefunded is what to say when Stripe did not do it.
func (p *Provider) notRefunded(err error) error {
	if final(err) {
		return fmt.Errorf("%w: %w", sale.ErrRefundRefused, p.failed("refund", err))
	}
	return p.failed("refund", err)
}

func refundAnswer(made *sdk.Refund) (sale.RefundAnswer, error) {
	a := sale.RefundAnswer{ID: made.ID, Done: made.Status == sdk.RefundStatusSucceeded}
	switch made.Status {
	case sdk.RefundStatusFailed, sdk.RefundStatusCanceled:
		return a, fmt.Errorf("%w: stripe: the refund %s is %s %s", sale.ErrRefundRefused, clip(made.ID, 100), made.Status, clip(string(made.FailureReason), 100))
	}
	return a, nil
}
