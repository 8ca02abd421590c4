// Package stripe takes money on Stripe Checkout: a page at Stripe for each
// attempt to pay, refunds, and the signed events that Stripe posts.
//
// It keeps nothing. What it must find again hangs at Stripe: each session, each
// payment and each refund carries our ids in its metadata. Nothing here tries a
// call again by itself, but for net/http, which repeats one with a key when its
// idle connection turns out to be closed; whoever asks does. Errors never hold a
// secret.
//
// Amounts of the house are minor units of ISO 4217, Stripe's differ for a few
// currencies; see toStripe.
package stripe

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	sdk "github.com/stripe/stripe-go/v85"

	"foyer/sale"
)

// name is what events and clients call the provider.
const name = "stripe"

// callTime is how long one call to Stripe may take.
const callTime = 10 * time.Second

// What we write into the metadata of all that we make at Stripe.
const (
	metaOrder   = "order_id"
	metaAttempt = "attempt"
	metaRefund  = "refund_id"
)

// Config wires a [Provider].
type Config struct {
	// Key is the secret key of the account (sk_...) or a restricted one (rk_...)
	// that may write Checkout Sessions and refunds.
	Key string
	// Secrets check what Stripe posts: whsec_..., as Stripe shows them. Several
	// while one is rolled.
	Secrets []string
	// URL is where the API is; empty is Stripe's own.
	URL string
	// HTTP makes the calls; nil is a client that gives up after 10 seconds.
	HTTP *http.Client
	Now  func() time.Time // nil: time.Now
}

// Provider implements sale.Provider and web's verifier of what Stripe posts.
type Provider struct {
	cfg Config
	api *sdk.Client
}

// New returns a provider. It calls nobody.
func New(c Config) *Provider {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.HTTP == nil {
		c.HTTP = &http.Client{Timeout: callTime}
	}
	b := &sdk.BackendConfig{
		EnableTelemetry: sdk.Bool(false), HTTPClient: c.HTTP, MaxNetworkRetries: sdk.Int64(0),
		LeveledLogger: &sdk.LeveledLogger{Level: sdk.LevelNull}, // its lines may hold what is nobody's business
	}
	if c.URL != "" {
		b.URL = sdk.String(c.URL)
	}
	return &Provider{cfg: c, api: sdk.NewClient(c.Key, sdk.WithBackends(sdk.NewBackendsWithConfig(b)))}
}

// Name is "stripe".
func (p *Provider) Name() string { return name }

// Start opens a Checkout Session for the attempt. The attempt is the
// idempotency key, so the same attempt again gives the same session as long as
// Stripe keeps keys (24 hours at least). It refuses sums that Stripe cannot
// take, such as 1.005 KWD.
//
// An answer 5xx is kept by Stripe too and given again for this attempt: then the
// attempt has failed, and the buyer's next one has a key of its own. A session
// that was made all the same has a page whose address nobody was told.
func (p *Provider) Start(ctx context.Context, r sale.StartRequest) (sale.StartedPayment, error) {
	amount, err := toStripe(r.Amount, r.Currency)
	if err != nil {
		return sale.StartedPayment{}, err
	}
	if r.Back == "" {
		return sale.StartedPayment{}, errors.New("stripe: start: no address to send the buyer back to")
	}
	key := "foyer:" + r.Attempt.String() + ":checkout"
	s, err := p.create(ctx, r, amount, key)
	if refusedEmail(err) { // Stripe is stricter than we are; its page asks the buyer for another
		r.Email = ""
		s, err = p.create(ctx, r, amount, key+":no-email")
	}
	if otherRequest(err) {
		// Started before with another address or deadline: Foyer was reached by another name, or its
		// deadlines moved at a restart. There is one session of the attempt all the same.
		s, err = p.find(ctx, r.Attempt)
		if err == nil && s == nil {
			err = errors.New("stripe: start: this attempt was started in another way, and its page is not found")
			return sale.StartedPayment{}, err
		}
	}
	switch {
	case err != nil:
		return sale.StartedPayment{}, p.failed("start", err)
	case s.ID == "" || s.URL == "":
		return sale.StartedPayment{}, errNoPage
	}
	return sale.StartedPayment{ID: s.ID, RedirectURL: s.URL}, nil
}

var errNoPage = errors.New("stripe: start: Stripe answered without the address of a page")

// create makes one session. Its request must be the same at each repeat, or
// Stripe refuses the key.
func (p *Provider) create(ctx context.Context, r sale.StartRequest, amount int64, key string) (*sdk.CheckoutSession, error) {
	meta := map[string]string{metaOrder: r.Order.String(), metaAttempt: r.Attempt.String()}
	params := &sdk.CheckoutSessionCreateParams{
		Mode:              sdk.String("payment"),
		ClientReferenceID: sdk.String(r.Order.String()),
		Metadata:          meta,
		PaymentIntentData: &sdk.CheckoutSessionCreatePaymentIntentDataParams{Metadata: meta},
		SuccessURL:        sdk.String(r.Back),
		CancelURL:         sdk.String(r.Back),
		ExpiresAt:         sdk.Int64(expiresAt(r).Unix()),
		// With Adaptive Pricing buyers may pay in a currency that is not the order's.
		AdaptivePricing: &sdk.CheckoutSessionCreateAdaptivePricingParams{Enabled: sdk.Bool(false)},
		LineItems: []*sdk.CheckoutSessionCreateLineItemParams{{
			Quantity: sdk.Int64(1),
			PriceData: &sdk.CheckoutSessionCreateLineItemPriceDataParams{
				Currency:    sdk.String(strings.ToLower(r.Currency)),
				UnitAmount:  sdk.Int64(amount),
				ProductData: &sdk.CheckoutSessionCreateLineItemPriceDataProductDataParams{Name: sdk.String(clip("Tickets: "+r.Event, 200))},
			},
		}},
	}
	if r.Email != "" {
		params.CustomerEmail = sdk.String(r.Email)
	}
	params.SetIdempotencyKey(key)
	return p.api.V1CheckoutSessions.Create(ctx, params)
}

// The life of a session: Stripe wants 30 minutes at least and 24 hours at most,
// counted from when it makes the session.
const (
	leastLife = 30 * time.Minute
	mostLife  = 24 * time.Hour
	lifeSlack = 5 * time.Minute // for clocks that differ: more than that, and no event is believed either
)

// expiresAt is when Stripe closes the page if we do not. Our own deadline is
// much sooner and is kept by Expire; this one is for a house that is down then.
//
// It must not change when an attempt is repeated, so it follows from PayBy,
// which is on disk with the attempt, and not from now. Start is not called after
// PayBy and a minute, so PayBy, 30 minutes and some slack is never too near. An
// attempt that may be paid for a day is cut short of Stripe's 24 hours, by the
// time in the attempt's id.
func expiresAt(r sale.StartRequest) time.Time {
	end := r.PayBy.Add(leastLife + lifeSlack)
	if at, ok := born(r.Attempt); ok {
		if last := at.Add(mostLife - lifeSlack); end.After(last) {
			end = last
		}
	}
	return end
}

// born is when an id was made, for ids of version 7 (RFC 9562), which ours are.
func born(id uuid.UUID) (time.Time, bool) {
	if id.Version() != 7 {
		return time.Time{}, false
	}
	return time.Unix(id.Time().UnixTime()), true
}

// clip cuts a text to so many bytes.
func clip(s string, most int) string {
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return s
}
