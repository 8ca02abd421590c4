package sale_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

// report wants a report that fits.
func (h *house) report(since, until time.Time) *sale.Report {
	h.Helper()
	r, err := h.Report(gala, since, until)
	h.ok(err)
	if !r.Balanced {
		h.Errorf("%s in: the report does not fit: %q", time.Since(h.began), r.Differences)
	}
	return r
}

// line is the sums in one line, without the currency.
func sumsLine(s sale.Sums) string {
	return fmt.Sprintf("%d orders %d-%d tickets %d-%d=%d, %d under way, %d failed",
		s.Orders, s.Tickets, s.Returned, s.Gross.Amount, s.Refunded.Amount, s.Net.Amount, s.Refunding.Amount, s.Failed.Amount)
}

// wants compares the lines of a report with what a treasurer would write.
func (h *house) wants(r *sale.Report, want ...string) {
	h.Helper()
	got := []string{"total " + sumsLine(r.Total)}
	for _, p := range r.Providers {
		got = append(got, p.Provider+" "+sumsLine(p.Sums))
	}
	for _, c := range r.Categories {
		got = append(got, fmt.Sprintf("%s %d-%d tickets %d-%d=%d", c.Category, c.Tickets, c.Returned, c.Sold.Amount, c.Back.Amount, c.Kept.Amount))
	}
	for _, o := range r.Operators {
		got = append(got, o.Operator+" "+o.Method+" "+sumsLine(o.Sums))
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		h.Errorf("%s in: the report says\n%s\nwant\n%s", time.Since(h.began), g, w)
	}
}

func (h *house) sellBy(actor, method string, seats ...string) *sale.OrderView {
	h.Helper()
	return h.sell(sale.DoorSale{Actor: actor, Event: gala, Seats: seats, Method: method})
}

// paid is an order that the bank has been paid for.
func (h *house) paid(event string, amount int64, seats ...string) *visitor {
	h.Helper()
	v := h.buyer()
	v.hold(seats...)
	p := v.pay()
	h.outcome(h.says(event, sale.FactSucceeded, p.PaymentID, v.order, amount), "applied", "")
	return v
}

func TestReportOfAnEvening(t *testing.T) {
	play(t, nil, func(h *house) {
		h.wants(h.report(time.Time{}, time.Time{}), "total 0 orders 0-0 tickets 0-0=0, 0 under way, 0 failed")
		h.paid("e1", 8500, "A-1", "A-2")
		ann := h.paid("e2", 7150, "A-3", "B-1")
		h.at(10 * sec)
		cash := h.sellBy("staff:eve", sale.Cash, "A-4", "A-5")
		h.sellBy("staff:eve", sale.Card, "A-6")
		h.sellBy("staff:bob", sale.Free, "B-2", "B-3")
		h.at(20 * sec)
		_, err := h.Refund(ann.order, sale.RefundWish{Actor: "staff:eve", Seats: []string{"B-1"}, Reason: "ill"})
		h.ok(err)
		_, err = h.Refund(cash.ID, sale.RefundWish{Actor: "staff:bob", Seats: []string{"A-5"}})
		h.ok(err)
		h.wants(h.report(time.Time{}, time.Time{}),
			"total 5 orders 9-2 tickets 28400-4250=24150, 2900 under way, 0 failed",
			"bank 2 orders 4-1 tickets 15650-0=15650, 2900 under way, 0 failed",
			"door 3 orders 5-1 tickets 12750-4250=8500, 0 under way, 0 failed",
			"Balcony 3-1 tickets 2900-2900=0",
			"Stalls 6-1 tickets 25500-4250=21250",
			"staff:bob cash 0 orders 0-1 tickets 0-4250=-4250, 0 under way, 0 failed",
			"staff:bob free 1 orders 2-0 tickets 0-0=0, 0 under way, 0 failed",
			"staff:eve bank 0 orders 0-1 tickets 0-0=0, 2900 under way, 0 failed",
			"staff:eve card 1 orders 1-0 tickets 4250-0=4250, 0 under way, 0 failed",
			"staff:eve cash 1 orders 2-0 tickets 8500-0=8500, 0 under way, 0 failed")
		h.at(30 * sec)
		h.carry(sale.RefundAnswer{ID: "re_1", Done: true}, nil)
		asked, went := h.report(h.began.Add(20*sec), h.began.Add(30*sec)).Total, h.report(h.began.Add(30*sec), time.Time{}).Total
		if asked.Refunded.Amount != 4250 || asked.Returned != 2 || asked.Refunding.Amount != 0 || went.Refunded.Amount != 2900 || went.Returned != 0 {
			h.Errorf("tickets were taken back in %+v, and the money went in %+v", asked, went)
		}
		if r := h.report(time.Time{}, time.Time{}); r.Total.Refunded.Amount != 7150 || r.Total.Refunding.Amount != 0 || r.Orders[sale.Paid] != 5 {
			h.Errorf("after the refund the report says %+v, %v", r.Total, r.Orders)
		}
		h.restart()
		h.report(time.Time{}, time.Time{})
	})
}

// carry has the bank answer all refunds that wait.
func (h *house) carry(answer sale.RefundAnswer, refuses error) {
	h.Helper()
	h.bank.answer, h.bank.refuses = answer, refuses
	for _, m := range h.messages() {
		if m.Topic == sale.TopicRefund {
			h.ok(h.SendRefund(context.Background(), m.Body))
		}
	}
}

func TestReportOfAShift(t *testing.T) {
	play(t, nil, func(h *house) {
		early := h.sellBy("staff:eve", sale.Cash, "A-1")
		h.at(10 * sec)
		shift := h.began.Add(10 * sec)
		h.sellBy("staff:eve", sale.Cash, "A-2") // at its first moment
		h.at(20*sec - ms)
		_, err := h.Refund(early.ID, sale.RefundWish{Actor: "staff:eve"})
		h.ok(err)
		h.at(20 * sec)
		h.sellBy("staff:eve", sale.Cash, "A-3") // at the next one's
		h.wants(h.report(shift, shift.Add(10*sec)),
			"total 1 orders 1-1 tickets 4250-4250=0, 0 under way, 0 failed",
			"door 1 orders 1-1 tickets 4250-4250=0, 0 under way, 0 failed",
			"Stalls 1-1 tickets 4250-4250=0",
			"staff:eve cash 1 orders 1-1 tickets 4250-4250=0, 0 under way, 0 failed")
		if r := h.report(shift.Add(10*sec), time.Time{}); r.Total.Gross.Amount != 4250 || r.Total.Returned != 0 {
			h.Errorf("the next shift has %+v", r.Total)
		}
		if r := h.report(time.Time{}, shift); r.Total.Gross.Amount != 4250 || r.Total.Refunded.Amount != 0 {
			h.Errorf("the shift before has %+v", r.Total)
		}
	})
}

func TestReportOfMoneyThatDoesNotFit(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		p := ann.pay()
		h.says("e1", sale.FactSucceeded, p.PaymentID, ann.order, 4000) // too little: accepted
		h.ok(h.SettlePayment(h.Attention()[0].Seq, sale.Decision{Actor: "staff:eve", How: sale.HowComplete}))
		bob := h.paid("e2", 4250, "A-2")
		h.says("e3", sale.FactSucceeded, "p-again", bob.order, 4250) // twice: goes back
		h.says("e4", sale.FactSucceeded, "p-odd", bob.order, 4251)   // another sum
		h.says("e5", sale.FactSucceeded, "p-none", uuid.New(), 77)
		late := h.buyer()
		late.hold("A-3")
		q := late.pay()
		h.at(400 * sec)
		h.tick()
		h.sellBy("staff:eve", sale.Card, "A-3")
		h.says("e6", sale.FactSucceeded, q.PaymentID, late.order, 4250) // too late: goes back
		check := func(gross, refunded, refunding, failed, late, waived int64, attention string) {
			h.Helper()
			r := h.report(time.Time{}, time.Time{})
			got, _ := json.Marshal(r.Attention)
			if r.Total.Gross.Amount != gross || r.Total.Refunded.Amount != refunded || r.Total.Refunding.Amount != refunding || r.Total.Failed.Amount != failed ||
				r.Late.Amount != late || r.Waived.Amount != waived || string(got) != attention {
				h.Errorf("the report says %+v, late %d, waived %d, %s", r.Total, r.Late.Amount, r.Waived.Amount, got)
			}
		}
		check(16750, 0, 4250, 0, 4250, 250, `{"open":2,"unsettled":[{"amount":8501,"currency":"EUR"}],"refunding":[],"returned":[],"kept":[],"unplaced":[{"amount":77,"currency":"EUR"}]}`)
		h.carry(sale.RefundAnswer{ID: "re"}, sale.ErrRefundRefused)
		check(16750, 0, 0, 4250, 4250, 250, `{"open":2,"unsettled":[{"amount":8501,"currency":"EUR"}],"refunding":[],"returned":[],"kept":[],"unplaced":[{"amount":77,"currency":"EUR"}]}`)
		h.ok(h.SettlePayment(h.Attention()[0].Seq, sale.Decision{Actor: "staff:eve", How: sale.HowRefund}))
		check(16750, 0, 0, 4250, 4250, 250, `{"open":1,"unsettled":[{"amount":4251,"currency":"EUR"}],"refunding":[{"amount":4250,"currency":"EUR"}],"returned":[],"kept":[],"unplaced":[{"amount":77,"currency":"EUR"}]}`)
	})
}

// A report that is fed with orders that do not fit says so, and tells which.
func TestReportTellsWhatDoesNotFit(t *testing.T) {
	now := time.Unix(1e9, 0)
	fine := func() *sale.Order {
		return &sale.Order{
			ID: uuid.UUID{1}, Status: sale.Paid, Currency: "EUR", Total: 9999, PaidAt: now,
			Seats:    []sale.OrderSeat{{ID: "A-1", Category: "K", Price: 3333}, {ID: "A-2", Category: "K", Price: 3333}, {ID: "A-3", Category: "L", Price: 3333}},
			Payments: []sale.Payment{{Provider: "bank", State: sale.PaymentSucceeded, Amount: 9999, At: now}},
		}
	}
	for want, spoil := range map[string]func(*sale.Order){
		"":                           func(*sale.Order) {},
		"the event in EUR":           func(o *sale.Order) { o.Currency = "USD" },
		"its seats cost 9998":        func(o *sale.Order) { o.Seats[0].Price-- },
		"1 were let go":              func(o *sale.Order) { o.Waived = 1 },
		"2 payments":                 func(o *sale.Order) { o.Payments = append(o.Payments, o.Payments[0]) },
		"without a payment":          func(o *sale.Order) { o.Payments = nil },
		"10000 are to be given back": func(o *sale.Order) { o.Refunds = []sale.Refund{{Amount: 10000, State: sale.RefundDone, By: "x"}} },
		"no time of payment":         func(o *sale.Order) { o.PaidAt = time.Time{} },
		"everything was given back": func(o *sale.Order) {
			o.Status = sale.RefundDue
			o.Refunds = []sale.Refund{{Amount: 9999, State: sale.RefundDone, By: "x"}}
		},
		"0 of 9999 were given back":    func(o *sale.Order) { o.Status = sale.Refunded },
		"it is EXPIRED and has money":  func(o *sale.Order) { o.Status, o.PaidAt = sale.Expired, time.Time{} },
		"by a refund that the order":   func(o *sale.Order) { o.Seats[1].Refund = uuid.UUID{9} },
		"By operator, received at the": func(o *sale.Order) { o.Payments[0].Provider = "door" },
	} {
		o := fine()
		spoil(o)
		r := sale.NewReport("EUR", time.Time{}, time.Time{}, now)
		r.Order(o)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(r.Differences, "\n"); r.Balanced != (want == "") || !strings.Contains(all, want) {
			t.Errorf("%s: got %t, %q", want, r.Balanced, all)
		}
	}
}

func TestReportRefusesSumsThatDoNotFit(t *testing.T) {
	r := sale.NewReport("EUR", time.Time{}, time.Time{}, time.Time{})
	for i := range 2 {
		r.Order(&sale.Order{ID: uuid.UUID{byte(i)}, Status: sale.Paid, Currency: "EUR", Total: math.MaxInt64, PaidAt: time.Unix(1, 0),
			Seats: []sale.OrderSeat{{Price: math.MaxInt64}}, Payments: []sale.Payment{{Provider: "bank", State: sale.PaymentSucceeded, Amount: math.MaxInt64}}})
	}
	if err := r.Close(); err == nil {
		t.Errorf("a sum of %d was given out", r.Total.Gross.Amount)
	}
	r = sale.NewReport("EUR", time.Time{}, time.Time{}, time.Time{})
	for range 2 {
		r.Receipt(&sale.Receipt{Fact: sale.Fact{Kind: sale.FactSucceeded, Amount: math.MaxInt64, Currency: "EUR"}}, true)
	}
	if err := r.Close(); err != nil || r.Balanced || r.Attention.Unsettled[0].Amount != math.MaxInt64 {
		t.Errorf("got %v, %+v", err, r)
	}
}

func TestReportOfNoEvent(t *testing.T) {
	play(t, nil, func(h *house) {
		_, err := h.Report("none", time.Time{}, time.Time{})
		h.refused(err, sale.ErrNoSuchEvent)
	})
}

// Three times a third of a price is the price of three, in any currency, and the largest order is far from overflow.
func TestB38AmountsAreExact(t *testing.T) {
	for _, currency := range []string{"EUR", "JPY", "KRW", "KWD"} {
		play(t, func(s *sale.Settings) { s.Currency, s.Prices["Stalls"], s.Rules.MaxSeatsPerOrder = currency, 3333, 50 }, func(h *house) {
			if o := h.sellBy("staff:eve", sale.Cash, "A-1", "A-2", "A-3"); o.Total != 9999 || o.Currency != currency {
				h.Errorf("three seats at 3333 cost %d %s", o.Total, o.Currency)
			}
			if r := h.report(time.Time{}, time.Time{}); r.Total.Gross != (sale.Money{Amount: 9999, Currency: currency}) {
				h.Errorf("the report says %v", r.Total.Gross)
			}
		})
	}
	const most = 1_000_000_000_000
	play(t, func(s *sale.Settings) { s.Prices["Stalls"] = most }, func(h *house) {
		for _, price := range []int64{most + 1, math.MaxInt64, -1} {
			_, err := h.ChangeEvent("staff", gala, func(s *sale.Settings) error { s.Prices["Stalls"] = price; return nil })
			h.refused(err, sale.ErrBadEvent)
		}
		o := h.sellBy("staff:eve", sale.Card, "A-1", "A-2", "A-3", "A-4", "A-5", "A-6", "A-7", "A-8", "A-9", "A-10", "A-11", "A-12")
		if o.Total != 12*most || most*50 > math.MaxInt64/1000 {
			h.Errorf("twelve seats cost %d", o.Total)
		}
		h.report(time.Time{}, time.Time{})
	})
}
