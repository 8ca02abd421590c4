package web

import (
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"foyer/outbox"
	"foyer/sale"
)

const (
	pageSize = 50   // of a list, unless limit says otherwise
	pageMax  = 500  // of a list
	pageScan = 5000 // orders looked at for one page of a search
)

// askPage refuses parameters that a list does not know, since a typing error would change what it shows without a word,
// and reads how many items a page shall have. All lists know limit and cursor; more names the others.
func askPage(c echo.Context, more ...string) (n int, err error) {
	sent, err := url.ParseQuery(c.Request().URL.RawQuery)
	if err != nil {
		return 0, refuse("bad_request", "What follows the question mark in the address cannot be read.")
	}
	known := append([]string{"limit", "cursor"}, more...)
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		if !slices.Contains(known, name) {
			return 0, refuse("bad_request", "The parameter "+quoted(name)+" is not known here. This list knows "+strings.Join(known, ", ")+".")
		}
		if len(sent[name]) > 1 {
			return 0, refuse("bad_request", "The parameter "+quoted(name)+" is there twice.")
		}
	}
	v := sent.Get("limit")
	if v == "" {
		return pageSize, nil
	}
	n, err = strconv.Atoi(v)
	if err != nil || n < 1 || n > pageMax {
		return 0, refuse("bad_request", "The parameter limit is "+quoted(v)+", but it must be 1 to "+strconv.Itoa(pageMax)+".")
	}
	return n, nil
}

// askAll is askPage for a list that is always one page and so gives no cursor.
func askAll(c echo.Context) error {
	if _, err := askPage(c); err != nil {
		return err
	}
	if c.QueryParam("cursor") != "" {
		return errBadCursor
	}
	return nil
}

// listOrders lists the orders of one event or of all, newest first within an
// event, that contain the query. A search that looked at pageScan orders ends
// the page early; its cursor goes on from there.
func (s *Server) listOrders(c echo.Context, _ *sale.Key) error {
	n, err := askPage(c, "event", "query")
	if err != nil {
		return err
	}
	events, before, err := s.orderCursor(c.QueryParam("event"), c.QueryParam("cursor"))
	if err != nil {
		return err
	}
	query := strings.ToLower(strings.TrimSpace(c.QueryParam("query")))
	var found []*orderDoc
	looked := 0
	for _, event := range events {
		for {
			batch, err := s.office.Orders(event, before, pageMax)
			if err != nil {
				return err
			}
			for _, o := range batch {
				before, looked = o.ID, looked+1
				if contains(o, query) {
					found = append(found, orderOf(o))
				}
				if len(found) == n || looked == pageScan {
					return write(c, http.StatusOK, pageOf(found, event+"."+before.String()))
				}
			}
			if len(batch) < pageMax {
				break
			}
		}
		before = uuid.Nil
	}
	return write(c, http.StatusOK, pageOf(found, ""))
}

// orderCursor tells which events are still to be listed, and before which order
// the first of them goes on. A cursor is "event.order".
func (s *Server) orderCursor(event, cursor string) (events []string, before uuid.UUID, err error) {
	if event != "" {
		if _, _, err := s.office.Event(event); err != nil {
			return nil, before, err
		}
		events = []string{event}
	} else {
		for _, e := range s.office.Events() {
			events = append(events, e.ID)
		}
	}
	if cursor == "" {
		return events, before, nil
	}
	from, order, _ := strings.Cut(cursor, ".")
	before, err = uuid.Parse(order)
	if err != nil {
		return nil, before, errBadCursor
	}
	for i, e := range events {
		if e == from {
			return events[i:], before, nil
		}
	}
	return nil, before, errBadCursor
}

// contains searches what staff know of an order: its id, the buyer, seats.
func contains(o *sale.OrderView, query string) bool {
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), query) }
	if query == "" || has(o.ID.String()) || has(o.Buyer.Name) || has(o.Buyer.Email) || has(string(o.Status)) {
		return true
	}
	for _, s := range o.Seats {
		if has(s.ID) || has(s.Label) {
			return true
		}
	}
	for _, p := range o.Payments {
		if has(p.ID) {
			return true
		}
	}
	return false
}

// moneyMatter is money that a person must decide about: a payment fact that fits
// nowhere, or an order whose money must go back.
type moneyMatter struct {
	Receipt  *sale.Receipt   // or nil
	Order    *sale.OrderView // or nil
	Provider string          // who has the money of the order
	Payment  string          // the provider's name for it
	Since    time.Time
}

// attention lists all money that is not where it belongs, oldest first.
func (s *Server) attention() (all []moneyMatter) {
	for _, r := range s.office.Attention() {
		all = append(all, moneyMatter{Receipt: r, Since: r.ReceivedAt})
	}
	for _, o := range s.office.RefundsDue() {
		m := moneyMatter{Order: o, Since: o.UpdatedAt}
		for _, p := range o.Payments {
			if p.State == sale.PaymentSucceeded {
				m.Provider, m.Payment = p.Provider, p.ID
			}
		}
		all = append(all, m)
	}
	slices.SortStableFunc(all, func(a, b moneyMatter) int { return a.Since.Compare(b.Since) })
	return all
}

// attentionDoc is a payment fact that a person must decide about.
type attentionDoc struct {
	Kind       string        `json:"kind"` // "payment"
	Seq        uint64        `json:"seq"`
	Attention  string        `json:"attention"` // code: "amount_mismatch", "unknown_order", ...
	Reason     string        `json:"reason"`    // a sentence
	Provider   string        `json:"provider"`
	Type       sale.FactKind `json:"type"`
	EventID    string        `json:"eventId"` // the provider's id of its event
	PaymentID  string        `json:"paymentId"`
	OrderID    string        `json:"orderId"` // as the provider sent it
	Amount     sale.Money    `json:"amount"`
	Odd        string        `json:"odd,omitempty"` // the amount as sent, when it was no whole number
	Expected   *sale.Money   `json:"expected,omitempty"`
	ReceivedAt stamp         `json:"receivedAt"`
}

// refundDoc is an order whose money must go back.
type refundDoc struct {
	Kind      string     `json:"kind"` // "refund_due"
	Reason    string     `json:"reason"`
	Event     string     `json:"event"` // the id of ours
	OrderID   uuid.UUID  `json:"orderId"`
	Provider  string     `json:"provider"`
	PaymentID string     `json:"paymentId"`
	Amount    sale.Money `json:"amount"`
	Since     stamp      `json:"since"`
}

const refundReason = "The money came when the seats had gone to somebody else. Return it the way it came."

// deadDoc is a message that nobody took.
type deadDoc struct {
	Kind      string `json:"kind"` // "dead_message"
	Reason    string `json:"reason"`
	ID        string `json:"id"`
	Topic     string `json:"topic"`
	Key       string `json:"key"`
	Sink      string `json:"sink"` // without user, password and query
	Attempts  int    `json:"attempts"`
	LastError string `json:"lastError"` // what the last attempt met
	Since     stamp  `json:"since"`     // when it was made
}

const deadReason = "Nobody took this message. Mend its receiver and try it again, or give it up."

// attentionDead bounds the dead messages on the list; /admin/outbox has them all.
const attentionDead = 100

func (s *Server) listAttention(c echo.Context, _ *sale.Key) error {
	if err := askAll(c); err != nil {
		return err
	}
	type dated struct {
		since time.Time
		doc   any
	}
	var all []dated
	for _, m := range s.attention() {
		if m.Receipt != nil {
			all = append(all, dated{m.Since, receiptOf(m.Receipt)})
			continue
		}
		all = append(all, dated{m.Since, refundDoc{
			Kind: "refund_due", Reason: refundReason, Event: m.Order.Event, OrderID: m.Order.ID, Provider: m.Provider, PaymentID: m.Payment,
			Amount: sale.Money{Amount: m.Order.Total, Currency: m.Order.Currency}, Since: stamp(m.Since),
		}})
	}
	dead, err := s.office.Messages(outbox.Dead, 0, attentionDead)
	if err != nil {
		return err
	}
	for _, m := range dead {
		all = append(all, dated{m.CreatedAt, deadDoc{
			"dead_message", deadReason, m.ID, m.Topic, m.Key, outbox.Mask(m.Sink), m.Attempts, m.LastError, stamp(m.CreatedAt),
		}})
	}
	slices.SortStableFunc(all, func(a, b dated) int { return a.since.Compare(b.since) })
	var docs []any
	for _, d := range all {
		docs = append(docs, d.doc)
	}
	return write(c, http.StatusOK, pageOf(docs, ""))
}

func receiptOf(r *sale.Receipt) attentionDoc {
	d := attentionDoc{
		Kind: "payment", Seq: r.Seq, Attention: r.Attention, Reason: r.Reason, Provider: r.Fact.Provider, Type: r.Fact.Kind,
		EventID: r.Fact.EventID, PaymentID: r.Fact.PaymentID, OrderID: r.Fact.Order,
		Amount: sale.Money{Amount: r.Fact.Amount, Currency: r.Fact.Currency}, Odd: r.Fact.Odd, ReceivedAt: stamp(r.ReceivedAt),
	}
	if r.ExpectedIn != "" {
		d.Expected = &sale.Money{Amount: r.Expected, Currency: r.ExpectedIn}
	}
	return d
}

type auditDoc struct {
	Seq    uint64 `json:"seq"`
	At     stamp  `json:"at"`
	Actor  string `json:"actor"`
	Event  string `json:"event,omitempty"`
	Act    string `json:"act"`
	Detail string `json:"detail,omitempty"`
}

func (s *Server) listAudit(c echo.Context, _ *sale.Key) error {
	n, err := askPage(c)
	if err != nil {
		return err
	}
	before, err := numberCursor(c)
	if err != nil {
		return err
	}
	entries, err := s.office.Audit(before, n)
	if err != nil {
		return err
	}
	var docs []auditDoc
	for _, e := range entries {
		docs = append(docs, auditDoc{e.Seq, stamp(e.At), e.Actor, e.Event, e.Act, e.Detail})
	}
	next := uint64(0)
	if len(entries) == n && entries[n-1].Seq > 1 {
		next = entries[n-1].Seq
	}
	return write(c, http.StatusOK, pageOf(docs, cursorOf(next)))
}

// cursorOf is the cursor of a list that goes by number; "" for 0, which ends it.
func cursorOf(next uint64) string {
	if next == 0 {
		return ""
	}
	return strconv.FormatUint(next, 10)
}

// numberCursor reads the cursor of a list that goes by number; 0 without one.
func numberCursor(c echo.Context) (uint64, error) {
	return cursorNumber(c.QueryParam("cursor"))
}

// cursorNumber reads a cursor that [cursorOf] gave; 0 for "". No row has the largest number.
func cursorNumber(cursor string) (uint64, error) {
	if cursor == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(cursor, 10, 64)
	if err != nil || n == math.MaxUint64 || cursorOf(n) != cursor {
		return 0, errBadCursor
	}
	return n, nil
}
