package demo

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("pay").Parse(pageText))

type pageData struct {
	Order   *sale.OrderView
	Payment sale.Payment
	Path    string
	Amount  string
	Open    bool
}

// ServeHTTP is the provider's page: it shows the payment (GET) and does what
// the buyer decides (POST action=pay|decline|late|twice), then sends him back
// to his order.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o, pay, ok := p.find(r.URL.Path)
	if !ok {
		http.Error(w, "There is no such payment.", http.StatusNotFound)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		p.show(w, r.URL.Path, o, pay)
	case http.MethodPost:
		r.Body = http.MaxBytesReader(w, r.Body, 1<<12)
		if !p.act(r, r.PostFormValue("action"), o, pay) {
			http.Error(w, "Choose pay, decline, late or twice.", http.StatusBadRequest)
			return
		}
		http.Redirect(w, r, "/orders/"+o.ID.String(), http.StatusSeeOther)
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		http.Error(w, "Use GET or POST.", http.StatusMethodNotAllowed)
	}
}

// find reads /demo/pay/{order}/{attempt}.
func (p *Provider) find(path string) (*sale.OrderView, sale.Payment, bool) {
	orderText, attemptText, _ := strings.Cut(strings.TrimPrefix(path, Prefix), "/")
	order, err1 := uuid.Parse(orderText)
	attempt, err2 := uuid.Parse(attemptText)
	if err1 != nil || err2 != nil {
		return nil, sale.Payment{}, false
	}
	o, err := p.cfg.Lookup(order)
	if err != nil {
		return nil, sale.Payment{}, false
	}
	i := slices.IndexFunc(o.Payments, func(x sale.Payment) bool { return x.Attempt == attempt && x.Provider == p.Name() })
	if i < 0 {
		return nil, sale.Payment{}, false
	}
	return o, o.Payments[i], true
}

func (p *Provider) show(w http.ResponseWriter, path string, o *sale.OrderView, pay sale.Payment) {
	var b bytes.Buffer
	d := pageData{Order: o, Payment: pay, Path: path, Amount: amount(pay.Amount, o.Currency), Open: pay.State == sale.PaymentStarted}
	if err := page.Execute(&b, d); err != nil {
		http.Error(w, "The page could not be made.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}

// amount writes minor units for people, with the currency's own digits.
func amount(minor int64, currency string) string {
	digits, _ := sale.Exponent(currency)
	s := strings.Repeat("0", digits) + strconv.FormatInt(minor, 10)
	whole, part := s[:len(s)-digits], s[len(s)-digits:]
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	if digits == 0 {
		return whole + " " + currency
	}
	return whole + "." + part + " " + currency
}

// act posts the events that the buyer's choice causes.
func (p *Provider) act(r *http.Request, action string, o *sale.OrderView, pay sale.Payment) bool {
	ctx := r.Context()
	now := p.cfg.Now().UTC().Truncate(time.Millisecond)
	e := event{
		id: "evt_" + uuid.NewString(), Type: string(sale.FactSucceeded), PaymentID: pay.ID, OrderID: o.ID.String(),
		Amount: pay.Amount, Currency: o.Currency, CreatedAt: now,
	}
	again := e
	again.id = "evt_" + uuid.NewString()
	var err error
	switch action {
	case "pay":
		err = p.post(ctx, e)
	case "decline":
		e.Type = string(sale.FactFailed)
		err = p.post(ctx, e)
	case "twice":
		if err = p.post(ctx, e); err == nil {
			if err = p.post(ctx, e); err == nil { // the same event again
				err = p.post(ctx, again) // and another one about the same payment
			}
		}
	case "late":
		e.due = o.HoldExpiresAt.Add(2 * time.Second)
		p.later(e)
	default:
		return false
	}
	if err != nil {
		p.cfg.Log.Warn("demo provider: an event was not delivered", "order", e.OrderID, "error", err.Error())
	}
	return true
}
