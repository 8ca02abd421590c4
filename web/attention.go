package web

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/outbox"
	"foyer/sale"
)

// matterID names something on the attention list, see String.
type matterID struct {
	payment       uint64 // the number of a payment fact, or
	order, refund uuid.UUID
	message       string
}

const (
	paymentMatter = "payment-"
	refundMatter  = "refund-"
	messageMatter = "message-"
)

// String is "payment-12", "refund-<order>-<refund>" or "message-<message>".
func (id matterID) String() string {
	switch {
	case id.message != "":
		return messageMatter + id.message
	case id.payment != 0:
		return paymentMatter + strconv.FormatUint(id.payment, 10)
	}
	return refundMatter + id.order.String() + "-" + id.refund.String()
}

// matterOf reads what String wrote, and nothing else.
func matterOf(name string) (id matterID, err error) {
	rest, is := "", false
	if rest, is = strings.CutPrefix(name, messageMatter); is {
		id.message = rest
	} else if rest, is = strings.CutPrefix(name, paymentMatter); is {
		id.payment, err = strconv.ParseUint(rest, 10, 64)
	} else if rest, is = strings.CutPrefix(name, refundMatter); is && len(rest) == 36+1+36 {
		id.order, err = uuid.Parse(rest[:36])
		if err == nil {
			id.refund, err = uuid.Parse(rest[37:])
		}
	}
	if err != nil || id.String() != name {
		return id, sale.ErrNoSuchMatter
	}
	return id, nil
}

// moneyMatter is money that a person must decide about: a payment fact that fits
// nowhere, or a refund of an order that is not done.
type moneyMatter struct {
	ID      string
	Actions []string // of complete, refund, dismiss: those that can be decided
	Since   time.Time

	Receipt *sale.Receipt // or

	Order    *sale.OrderView
	Refund   sale.Refund // zero for a moment in a file of an older version
	Provider string      // who has the money of the order
	Payment  string      // the provider's name for it
}

// Kind is what the list calls it.
func (m moneyMatter) Kind() string {
	switch {
	case m.Receipt != nil:
		return "payment"
	case m.Refund.State == sale.RefundFailed:
		return "refund_failed"
	}
	return "refund_due"
}

// Amount is the money that is to go back.
func (m moneyMatter) Amount() sale.Money {
	return sale.Money{Amount: m.Refund.Amount, Currency: m.Order.Currency}
}

// cause says to staff why the money goes back.
func (m moneyMatter) cause() string {
	switch {
	case m.Order.SeatsOffSale():
		return "The money came too late, and the seats were not on sale any more."
	case m.Order.PaidAt.IsZero():
		return "The money came when the seats had gone to somebody else."
	case len(m.Refund.Seats) == 0:
		return "The provider told that it had returned a part of the price, without a word about seats."
	}
	return "Seats were taken back."
}

// Reason says to staff why the money goes back and who sees to it.
func (m moneyMatter) Reason() string {
	why := m.cause()
	switch {
	case slices.Contains(m.Actions, sale.HowDismiss):
		return why + " It could not be returned after all. Ask again, return it by hand and complete this, or dismiss it: the buyer has all his seats."
	case m.Refund.State == sale.RefundFailed:
		return why + " It could not be returned. Ask again, or return it by hand and complete this."
	case m.Refund.State == sale.RefundSent:
		return why + " The provider is returning it."
	case slices.Contains(m.Actions, sale.HowRefund):
		return why + " The provider is being asked to return it."
	}
	return why + " Return it the way it came, then complete this."
}

// attention lists all money that is not where it belongs, oldest first.
func (s *Server) attention() (all []moneyMatter) {
	for _, r := range s.office.Attention() {
		all = append(all, moneyMatter{ID: matterID{payment: r.Seq}.String(), Actions: s.office.PaymentWays(r), Since: r.ReceivedAt, Receipt: r})
	}
	for _, o := range s.office.RefundsDue() {
		p, _ := o.Paid()
		m := moneyMatter{Order: o, Provider: p.Provider, Payment: p.ID}
		for i, r := range o.Refunds {
			if r.State.Open() {
				m.ID, m.Actions, m.Since, m.Refund = matterID{order: o.ID, refund: r.ID}.String(), s.office.RefundWays(&o.Order, i), r.At, r
				all = append(all, m)
			}
		}
		if len(o.Refunds) == 0 {
			m.ID, m.Since, m.Refund.Amount = matterID{order: o.ID}.String(), o.UpdatedAt, o.Received()
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b moneyMatter) int { return a.Since.Compare(b.Since) })
	return all
}

// attentionDoc is a payment fact that a person must decide about.
type attentionDoc struct {
	ID         string          `json:"id"`
	Kind       string          `json:"kind"` // "payment"
	Actions    []string        `json:"actions"`
	Seq        uint64          `json:"seq"`
	Attention  string          `json:"attention"` // code: "amount_mismatch", "unknown_order", ...
	Reason     string          `json:"reason"`    // a sentence
	Provider   string          `json:"provider"`
	Type       sale.FactKind   `json:"type"`
	EventID    string          `json:"eventId"` // the provider's id of its event
	PaymentID  string          `json:"paymentId"`
	OrderID    string          `json:"orderId"` // as the provider sent it
	Amount     sale.Money      `json:"amount"`
	Odd        string          `json:"odd,omitempty"` // the amount as sent, when it was no whole number
	Expected   *sale.Money     `json:"expected,omitempty"`
	Refund     *strayRefundDoc `json:"refund,omitempty"`
	ReceivedAt stamp           `json:"receivedAt"`
	Settled    *settledDoc     `json:"settled,omitempty"` // what was decided, in the list of those
}

// strayRefundDoc is money on its way back that is in no order.
type strayRefundDoc struct {
	State       sale.RefundState `json:"state"`
	Amount      sale.Money       `json:"amount"`
	RequestedAt stamp            `json:"requestedAt"`
	DueAt       *stamp           `json:"dueAt,omitempty"` // when it goes unless somebody decides before
	DoneAt      *stamp           `json:"doneAt,omitempty"`
	Answer      string           `json:"answer,omitempty"` // why it failed
}

// refundDoc is a refund of an order that is not done.
type refundDoc struct {
	ID          string           `json:"id"`
	Kind        string           `json:"kind"` // "refund_due", "refund_failed"
	Actions     []string         `json:"actions"`
	Reason      string           `json:"reason"` // a sentence
	Event       string           `json:"event"`  // the id of ours
	OrderID     uuid.UUID        `json:"orderId"`
	OrderStatus sale.OrderStatus `json:"orderStatus"` // PAID when it is a part
	RefundID    uuid.UUID        `json:"refundId,omitzero"`
	State       sale.RefundState `json:"state"`
	Seats       []string         `json:"seats,omitempty"`
	Provider    string           `json:"provider"`
	PaymentID   string           `json:"paymentId"`
	Amount      sale.Money       `json:"amount"`
	Answer      string           `json:"answer,omitempty"` // why it failed
	Since       stamp            `json:"since"`
}

// deadDoc is a message that a sink did not take.
type deadDoc struct {
	ID        string   `json:"id"`   // of the message; one that is dead at several sinks is there several times
	Kind      string   `json:"kind"` // "dead_message"
	Actions   []string `json:"actions"`
	Reason    string   `json:"reason"`
	MessageID string   `json:"messageId"`
	Topic     string   `json:"topic"`
	Key       string   `json:"key"`
	Sink      string   `json:"sink"` // without user, password and query
	Attempts  int      `json:"attempts"`
	LastError string   `json:"lastError"` // what the last attempt met
	Since     stamp    `json:"since"`     // when it was made
}

const deadReason = "Nobody took this message. Mend its receiver and try it again, or give it up."

// attentionDead bounds the dead messages on the list; /admin/outbox has them all.
const attentionDead = 100

func (s *Server) listAttention(c echo.Context, _ *sale.Key) error {
	if c.QueryParam("settled") != "" {
		return s.listSettled(c)
	}
	if err := askAll(c, "settled"); err != nil {
		return err
	}
	type dated struct {
		since time.Time
		doc   any
	}
	var all []dated
	for _, m := range s.attention() {
		if m.Receipt != nil {
			all = append(all, dated{m.Since, receiptOf(m)})
			continue
		}
		all = append(all, dated{m.Since, refundOf(m)})
	}
	dead, err := s.office.Messages(outbox.Dead, 0, attentionDead)
	if err != nil {
		return err
	}
	for _, m := range dead {
		all = append(all, dated{m.CreatedAt, deadDoc{
			matterID{message: m.ID}.String(), "dead_message", []string{sale.HowComplete, sale.HowDismiss}, deadReason,
			m.ID, m.Topic, m.Key, outbox.Mask(m.Sink), m.Attempts, m.LastError, stamp(m.CreatedAt),
		}})
	}
	slices.SortStableFunc(all, func(a, b dated) int { return a.since.Compare(b.since) })
	var docs []any
	for _, d := range all {
		docs = append(docs, d.doc)
	}
	return write(c, http.StatusOK, pageOf(docs, ""))
}

func receiptOf(m moneyMatter) attentionDoc {
	r := m.Receipt
	d := attentionDoc{
		ID: m.ID, Kind: m.Kind(), Actions: some(m.Actions),
		Seq: r.Seq, Attention: r.Attention, Reason: r.Reason, Provider: r.Fact.Provider, Type: r.Fact.Kind,
		EventID: r.Fact.EventID, PaymentID: r.Fact.PaymentID, OrderID: r.Fact.Order,
		Amount: sale.Money{Amount: r.Fact.Amount, Currency: r.Fact.Currency}, Odd: r.Fact.Odd, ReceivedAt: stamp(r.ReceivedAt),
	}
	if r.ExpectedIn != "" {
		d.Expected = &sale.Money{Amount: r.Expected, Currency: r.ExpectedIn}
	}
	if b := r.Refund; b != nil {
		d.Refund = &strayRefundDoc{
			State: b.State, Amount: sale.Money{Amount: b.Amount, Currency: r.Fact.Currency}, RequestedAt: stamp(b.At),
			DueAt: stampOf(r.BackAt()), Answer: b.Answer,
		}
		if b.State == sale.RefundDone {
			d.Refund.DoneAt = stampOf(b.EndedAt)
		}
	}
	return d
}

func refundOf(m moneyMatter) refundDoc {
	return refundDoc{
		ID: m.ID, Kind: m.Kind(), Actions: some(m.Actions), Reason: m.Reason(), Event: m.Order.Event, OrderID: m.Order.ID,
		OrderStatus: m.Order.Status, RefundID: m.Refund.ID, State: cmp.Or(m.Refund.State, sale.RefundRequested), Seats: m.Refund.Seats,
		Provider: m.Provider, PaymentID: m.Payment, Amount: m.Amount(), Answer: m.Refund.Answer, Since: stamp(m.Since),
	}
}

// settle lets staff decide about something on the attention list.
func (s *Server) settle(how string) staffHandler {
	return func(c echo.Context, by *sale.Key) error {
		var body struct {
			Reason  string `json:"reason"`
			OrderID string `json:"orderId"` // to complete money of an unknown order
		}
		if err := read(c, &body); err != nil {
			return err
		}
		id, err := matterOf(param(c, "matter"))
		if err != nil {
			return err
		}
		d := sale.Decision{Actor: actor(by), How: how, Reason: body.Reason}
		if body.OrderID != "" {
			if d.Order, err = uuid.Parse(body.OrderID); err != nil || len(body.OrderID) != 36 {
				return refuse("bad_field", `"orderId" must be the id of an order.`)
			}
		}
		if err := s.settleMatter(id, d); err != nil {
			return err
		}
		return c.NoContent(http.StatusNoContent)
	}
}

func (s *Server) settleMatter(id matterID, d sale.Decision) error {
	switch {
	case id.message != "":
		return s.office.SettleMessage(id.message, d)
	case id.payment != 0:
		return s.office.SettlePayment(id.payment, d)
	}
	return s.office.SettleRefund(id.order, id.refund, d)
}
