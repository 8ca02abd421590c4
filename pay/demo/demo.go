// Package demo is a payment provider that takes no money: for demos, for
// developers and for tests. It behaves like a real one from the outside: a page
// of its own where the buyer decides, and signed events (Standard Webhooks)
// that it posts back over HTTP, late or twice when asked to.
//
// It keeps nothing on disk. Its page finds a payment through the order that
// started it; an event that is still to be sent late is lost with the process.
package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"foyer/outbox/webhook"
	"foyer/sale"
)

// Prefix is the path under which the provider's page is mounted.
const Prefix = "/demo/pay/"

// tolerance is how far an event's timestamp may be from now, either way.
const tolerance = 300 * time.Second

// Config wires a [Provider].
type Config struct {
	Secret webhook.Secret
	// Notify is where events are posted, a full address.
	Notify string
	// Lookup finds an order for the provider's page.
	Lookup func(order uuid.UUID) (*sale.OrderView, error)
	Log    *slog.Logger
	Now    func() time.Time // nil: time.Now
}

// Provider implements sale.Provider and web's verifier of what it sends.
type Provider struct {
	cfg    Config
	client *http.Client
	late   chan event
	wg     sync.WaitGroup

	mu      sync.Mutex
	pending map[string]bool          // payments whose late event is still to come
	untold  map[string]sale.FactKind // what became of payments whose event nobody took
}

// New returns a provider. Run must run for late payments to arrive.
func New(c Config) *Provider {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Provider{cfg: c, client: &http.Client{Timeout: 10 * time.Second}, late: make(chan event, 1000), pending: map[string]bool{}, untold: map[string]sale.FactKind{}}
}

// Name is "demo".
func (p *Provider) Name() string { return "demo" }

// Start opens a payment: its name and its page follow from the attempt.
func (p *Provider) Start(_ context.Context, r sale.StartRequest) (sale.StartedPayment, error) {
	return sale.StartedPayment{ID: paymentID(r.Attempt), RedirectURL: Prefix + r.Order.String() + "/" + r.Attempt.String()}, nil
}

// openTime is how long a payment can be made, as far as Look knows. The page does
// not mind.
const openTime = time.Hour

// Look tells what became of a payment when its event could not be delivered. Any
// other is open for an hour and has failed then: this provider keeps nothing.
func (p *Provider) Look(_ context.Context, ref sale.PaymentRef) (sale.Looked, error) {
	id := paymentID(ref.Attempt)
	p.mu.Lock()
	kind := p.untold[id]
	p.mu.Unlock()
	switch kind {
	case sale.FactFailed:
		return sale.Looked{State: sale.LookFailed, ID: id}, nil
	case sale.FactSucceeded:
		o, err := p.cfg.Lookup(ref.Order)
		if err != nil {
			return sale.Looked{}, err
		}
		return sale.Looked{State: sale.LookSucceeded, ID: id, Amount: o.Total, Currency: o.Currency}, nil
	}
	if begun := time.Unix(ref.Attempt.Time().UnixTime()); ref.Attempt.Version() == 7 && p.cfg.Now().Sub(begun) >= openTime {
		return sale.Looked{State: sale.LookFailed, ID: id}, nil
	}
	return sale.Looked{State: sale.LookOpen, ID: id}, nil
}

// Expire does nothing: the page goes on taking money that it does not take, so
// that people can see what late money does.
func (p *Provider) Expire(context.Context, sale.PaymentRef) error { return nil }

// refundTime is how long giving back takes, so that people can see an order that
// waits for it.
const refundTime = 2 * time.Second

// Refund gives back the money that was not taken, after a moment.
func (p *Provider) Refund(ctx context.Context, r sale.RefundRequest) (sale.RefundAnswer, error) {
	moment := time.NewTimer(refundTime)
	defer moment.Stop()
	select {
	case <-ctx.Done():
		return sale.RefundAnswer{}, ctx.Err()
	case <-moment.C:
		return sale.RefundAnswer{ID: "dr_" + r.ID.String(), Done: true}, nil
	}
}

func paymentID(attempt uuid.UUID) string { return "dp_" + attempt.String() }

// event is what the provider posts.
type event struct {
	id        string
	due       time.Time
	Type      string    `json:"type"`
	PaymentID string    `json:"paymentId"`
	OrderID   string    `json:"orderId"`
	Amount    int64     `json:"amount"` // minor units
	Currency  string    `json:"currency"`
	CreatedAt time.Time `json:"createdAt"`
}

// Verify checks the signature over the raw body and reads the event. It
// refuses with sale.ErrBadSignature, sale.ErrStaleEvent or sale.ErrBadFact. A
// sum that is not a whole number of minor units is a fact all the same
// (Fact.Odd): a signed event about money is never thrown away.
func (p *Provider) Verify(h http.Header, body []byte, now time.Time) (sale.Fact, error) {
	id, err := webhook.Verify([]webhook.Secret{p.cfg.Secret}, h, body, now, tolerance)
	switch {
	case errors.Is(err, webhook.ErrStale):
		return sale.Fact{}, sale.ErrStaleEvent
	case err != nil:
		return sale.Fact{}, sale.ErrBadSignature
	}
	var in map[string]json.RawMessage // exact names, and nothing in it can make the whole unreadable
	if err := json.Unmarshal(body, &in); err != nil || text(in["type"]) == "" {
		return sale.Fact{}, sale.ErrBadFact
	}
	f := sale.Fact{
		Provider: p.Name(), EventID: id, Kind: sale.FactKind(text(in["type"])), PaymentID: text(in["paymentId"]),
		Order: text(in["orderId"]), Currency: text(in["currency"]), RefundID: text(in["refundId"]),
	}
	f.CreatedAt, _ = time.Parse(time.RFC3339, text(in["createdAt"])) // for people only
	raw := string(in["amount"])
	if f.Amount, err = strconv.ParseInt(raw, 10, 64); err != nil {
		f.Amount, f.Odd = 0, clip(raw)
		if f.Odd == "" {
			f.Odd = "nothing"
		}
	}
	return f, nil
}

// text reads a JSON string; anything else is given as it stands, so that a
// person can see it.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		s = string(raw)
	}
	return clip(s)
}

func clip(s string) string {
	if len(s) > 100 {
		s = strings.ToValidUTF8(s[:100], "")
	}
	return s
}

// Run sends what is to be sent late, until ctx ends; then it waits for what is
// under way.
func (p *Provider) Run(ctx context.Context) {
	defer p.wg.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-p.late:
			p.wg.Add(1)
			go func() {
				defer p.wg.Done()
				defer p.forget(e)
				p.sendWhenDue(ctx, e)
			}()
		}
	}
}

// later keeps an event to be sent when it is due: one of each payment, however
// often the buyer presses the button.
func (p *Provider) later(e event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending[e.PaymentID] {
		return
	}
	select {
	case p.late <- e:
		p.pending[e.PaymentID] = true
	default:
		p.cfg.Log.Warn("demo provider: too many late payments wait", "order", e.OrderID)
	}
}

func (p *Provider) forget(e event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pending, e.PaymentID)
}

func (p *Provider) sendWhenDue(ctx context.Context, e event) {
	wait := time.NewTimer(e.due.Sub(p.cfg.Now()))
	defer wait.Stop()
	select {
	case <-ctx.Done():
	case <-wait.C:
		if err := p.post(ctx, e); err != nil {
			p.cfg.Log.Warn("demo provider: a late payment was not delivered", "order", e.OrderID, "error", err.Error())
		}
	}
}

// post sends one event, and again a few times while the receiver does not
// answer with 2xx.
func (p *Provider) post(ctx context.Context, e event) (err error) {
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	for try := range 5 {
		if try > 0 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Duration(try) * 200 * time.Millisecond):
			}
		}
		if err = p.postOnce(ctx, e.id, body); err == nil {
			return nil
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.untold) < mostUntold {
		p.untold[e.PaymentID] = sale.FactKind(e.Type)
	}
	return err
}

// mostUntold bounds what is kept for Look.
const mostUntold = 10_000

func (p *Provider) postOnce(ctx context.Context, id string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.cfg.Notify, bytes.NewReader(body))
	if err != nil {
		return err
	}
	now := p.cfg.Now()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("webhook-id", id)
	req.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	req.Header.Set("webhook-signature", webhook.Sign([]webhook.Secret{p.cfg.Secret}, id, now, body))
	res, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("the webhook answered %s", res.Status)
	}
	return nil
}
