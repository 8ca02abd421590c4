package web

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/sale"
)

// matterView is something on the attention list in plain words.
type matterView struct {
	ID      string
	Title   string
	What    string // what happened
	Sum     string
	Order   uuid.UUID // the order that it is about; zero when none is known
	Event   string    // its name
	Since   string
	Payment string // who took the money and how they call it
	Next    string // what happens by itself, and when
	Answer  string // why the money could not be returned
	Ways    []wayView
	Asks    bool   // for the order that the money is for
	Must    string // which ways need a reason
	Reason  string
	For     string   // the order, as typed
	Trouble *problem // of the last try
}

type wayView struct {
	How, Word string
	Quiet     bool
}

// matterTry is a decision that did not come through.
type matterTry struct {
	id            string
	reason, order string
	trouble       *problem
}

// settled are the sentences shown after a decision, by the word in the address.
var settled = map[string]string{
	sale.HowComplete: "Done: it is settled and off the list.", sale.HowRefund: "Done: the money goes back. If that fails, it is on this list again.",
	sale.HowDismiss: "Done: it is off the list.", "gone": "That was settled already, by somebody or by itself. Nothing was changed now.",
}

// matterForm decides about something on the attention list.
func (s *Server) matterForm(c echo.Context, by *sale.Key) error {
	try := matterTry{id: param(c, "matter"), reason: strings.TrimSpace(c.FormValue("reason")), order: strings.TrimSpace(c.FormValue("order"))}
	how := c.FormValue("how")
	err := s.tryMatter(by, how, try)
	switch {
	case err == nil:
		return seeOther(c, "/admin?settled="+how+"#attention")
	case errors.Is(err, sale.ErrNoSuchMatter):
		return seeOther(c, "/admin?settled=gone#attention")
	}
	if p := s.problem(err); p.Code != "internal" {
		try.trouble = &p
	}
	return s.showAdmin(c, by, adminTry{trouble: err, form: firstForm(), matter: try})
}

func (s *Server) tryMatter(by *sale.Key, how string, try matterTry) error {
	id, err := matterOf(try.id)
	if err != nil {
		return err
	}
	d := sale.Decision{Actor: actor(by), How: how, Reason: try.reason}
	if try.order != "" {
		if d.Order, err = uuid.Parse(try.order); err != nil {
			return refuse("bad_field", "That is no id of an order. Find the order under Orders and copy its id.")
		}
	}
	return s.settleMatter(id, d)
}

// matters is the attention list of money, oldest first.
func (s *Server) matters(try matterTry, in locale) (list []matterView) {
	for _, m := range s.attention() {
		var v matterView
		if m.Receipt != nil {
			v = s.paymentMatter(m, in)
		} else {
			v = s.refundMatter(m, in)
		}
		if v.ID == try.id && try.trouble != nil {
			v.Reason, v.For, v.Trouble = try.reason, try.order, try.trouble
		}
		list = append(list, v)
	}
	return list
}

// inEvent fills in the order that a matter is about, and gives its time zone.
func (s *Server) inEvent(v *matterView, o *sale.OrderView) (zone string) {
	v.Order = o.ID
	e, _, err := s.office.Event(o.Event)
	if err != nil {
		v.Event = o.Event
		return "UTC"
	}
	v.Event = e.Name
	return e.TimeZone
}

func (s *Server) paymentMatter(m moneyMatter, in locale) matterView {
	r, f := m.Receipt, m.Receipt.Fact
	v := matterView{ID: m.ID, Sum: formatMoney(f.Amount, f.Currency, in), Payment: strings.TrimSpace(f.Provider + " " + f.PaymentID)}
	if f.Odd != "" {
		v.Sum = f.Odd + " " + f.Currency
	}
	zone := "UTC"
	if id, err := uuid.Parse(f.Order); err == nil {
		if o, err := s.office.AnyOrder(id); err == nil {
			zone = s.inEvent(&v, o)
		}
	}
	v.Since = dayTime(m.Since, zone)
	came := f.Kind == sale.FactSucceeded
	v.Title, v.What = "Money that does not fit", r.Reason
	complete, quiet := "Settled by hand", true
	switch {
	case r.Attention == "amount_mismatch" && came:
		v.Title, v.What = "The wrong sum was paid", "The buyer paid "+v.Sum+". The order costs "+formatMoney(r.Expected, r.ExpectedIn, in)+"."
		complete, quiet = "Accept "+v.Sum+": the order is paid", false
	case r.Attention == "surplus_payment" && r.Reason == sale.SecondPayment:
		v.Title, v.What = "Paid twice", v.Sum+" came for an order that has its money already."
	case r.Attention == "unknown_order" && came:
		v.Title, v.What, v.Asks = "Money for an unknown order", v.Sum+" came, and Foyer knows no order for it.", true
		complete, quiet = "Settle: for the order above, or by hand", false
	case r.Attention == "unknown_order":
		v.Title, v.What = "A refund of an unknown order", "The provider returned "+v.Sum+", and Foyer knows no order for it."
	case r.Attention == "unexpected_refund":
		v.Title = "Money went back that was not asked for"
	case r.Attention == "partial_refund":
		v.Title, v.What = "A part was returned", "The provider returned "+v.Sum+", a part of the price. Take back the seats that it is for, or leave them to the buyer."
	}
	if r.Attention == "unknown_order" && f.Order != "" {
		v.What += " It was sent for “" + f.Order + "”."
	}
	v.Next, v.Answer = strayNext(r, v.Sum, zone)
	v.ways(m.Actions, complete, quiet, "Return "+v.Sum)
	v.Must = "needed to dismiss"
	if quiet || v.Asks {
		v.Must += " or to settle by hand"
	}
	return v
}

// strayNext tells what becomes by itself of money that is in no order, and why
// it could not be returned.
func strayNext(r *sale.Receipt, sum, zone string) (next, answer string) {
	b := r.Refund
	switch {
	case b == nil || b.State == sale.RefundWithdrawn:
		return "Nothing happens by itself: it waits for you.", ""
	case b.State == sale.RefundFailed:
		return "The provider does not return it, and nothing more happens by itself.", b.Answer
	case b.State == sale.RefundDone:
		return sum + " went back on " + dayTime(b.EndedAt, zone) + ". It stays here until you have seen it.", ""
	case !r.BackAt().IsZero():
		return sum + " goes back by itself on " + dayTime(r.BackAt(), zone) + ", unless you decide before.", ""
	case b.State == sale.RefundSent:
		return "The provider is returning " + sum + " since " + dayTime(b.At, zone) + ".", ""
	}
	return sum + " goes back by itself: the provider is being asked since " + dayTime(b.At, zone) + ".", ""
}

func (s *Server) refundMatter(m moneyMatter, in locale) matterView {
	v := matterView{Must: "optional", ID: m.ID, Sum: formatMoney(m.Refund.Amount, m.Order.Currency, in), Payment: strings.TrimSpace(m.Provider + " " + m.Payment), Answer: m.Refund.Answer}
	zone := s.inEvent(&v, m.Order)
	v.Since = dayTime(m.Since, zone)
	v.What = m.cause()
	if len(m.Refund.Seats) > 0 {
		v.What = "Taken back: " + strings.Join(seatLabels(m.Order, m.Refund.Seats), ", ") + "."
	}
	hand, again := slices.Contains(m.Actions, sale.HowComplete), slices.Contains(m.Actions, sale.HowRefund)
	switch {
	case m.Refund.State == sale.RefundFailed:
		v.Title, v.Next = "A refund failed", "Nothing more happens by itself. Ask the provider again, or give the money back by hand."
	case m.Refund.State == sale.RefundSent:
		v.Title, v.Next = "A refund is under way", "The provider is returning it; this goes off the list by itself."
	case again:
		v.Title, v.Next = "A refund is under way", "The provider is being asked; this goes off the list by itself."
	case hand:
		v.Title, v.Next = "Money to give back", "Foyer cannot return it: return it where it was paid ("+providerWord(m.Provider)+"), then say so here."
	default:
		v.Title = "Money to give back"
	}
	if slices.Contains(m.Actions, sale.HowDismiss) {
		v.Must = "needed to dismiss"
	}
	v.ways(m.Actions, "The buyer has "+v.Sum+" back", m.Refund.State == sale.RefundFailed, "Ask the provider again")
	return v
}

func seatLabels(o *sale.OrderView, ids []string) (labels []string) {
	for _, s := range o.Seats {
		if slices.Contains(ids, s.ID) {
			labels = append(labels, s.Label)
		}
	}
	return labels
}

// ways are the buttons for what can be decided.
func (v *matterView) ways(actions []string, complete string, quiet bool, back string) {
	for _, how := range actions {
		switch how {
		case sale.HowComplete:
			v.Ways = append(v.Ways, wayView{how, complete, quiet})
		case sale.HowRefund:
			v.Ways = append(v.Ways, wayView{how, back, !quiet})
		case sale.HowDismiss:
			v.Ways = append(v.Ways, wayView{how, "Dismiss: nothing is to be done", true})
		}
	}
}

// fromForm reads a local time of a house that staff typed; zero for none.
func fromForm(text, zoneName string) (at time.Time, err error) {
	loc, err := zone(zoneName)
	if err != nil {
		loc = time.UTC
	}
	t, err := wallTime(text, loc)
	if err != nil || t == nil {
		return at, err
	}
	return *t, nil
}
