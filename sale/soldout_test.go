package sale_test

import (
	"fmt"
	"strings"
	"testing"

	"foyer/sale"
)

// decide says that the gala is sold out or not.
func (h *house) decide(override string, message ...string) {
	h.Helper()
	var m *string
	if message != nil {
		m = &message[0]
	}
	_, err := h.SetSoldOut("staff", gala, override, m)
	h.ok(err)
}

// sells all seats of the gala, as orders of its most patient buyer's.
func (h *house) sellAll() (orders []*visitor) {
	h.Helper()
	for _, s := range [][]string{{"A-1", "A-2", "A-3", "A-4"}, {"A-5", "A-6", "A-7", "A-8"}, {"A-9", "A-10", "A-11", "A-12"}, {"B-1", "B-2", "B-3", "B-4"}, {"B-5", "B-6"}} {
		v := h.buyer()
		v.hold(s...)
		total := v.seen().Total
		started := v.pay()
		_, err := h.Receive(sale.Fact{Provider: "bank", EventID: "sold " + s[0], Kind: sale.FactSucceeded, PaymentID: started.PaymentID, Order: v.order.String(), Amount: total, Currency: "EUR"})
		h.ok(err)
		orders = append(orders, v)
	}
	return orders
}

func (h *house) audited() (act, detail string) {
	h.Helper()
	list, err := h.Audit(0, 1)
	h.ok(err)
	return list[0].Act, list[0].Detail
}

func TestStaffSaySoldOutAndTheLineEnds(t *testing.T) {
	play(t, func(s *sale.Settings) { s.Rules.MaxActive = 1 }, func(h *house) {
		ann := h.buyer()
		ben := h.visitor()
		ben.join()
		h.decide("yes", "Thank you all")
		if act, detail := h.audited(); act != "event.soldout" || detail != "yes Thank you all" {
			t.Errorf("audited as %s %q", act, detail)
		}
		if s := h.status(); s.Phase != sale.PhaseSoldOut || !s.SoldOut || s.Returns || s.Override != "yes" || s.SeatsLeft != 18 || s.Message != "Thank you all" {
			t.Errorf("the status is %+v", s)
		}
		_, _, err := h.Join(gala, h.visitor().id)
		h.refused(err, sale.ErrSoldOut)
		ann.hold("A-1") // who is inside goes on
		h.ok(ann.leave())
		h.at(5 * sec)
		h.tick()
		ben.is(sale.Waiting)
		h.decide("auto")
		if s := h.status(); s.Message != "Thank you all" {
			t.Errorf("the message is %q", s.Message)
		}
		h.at(10 * sec)
		h.tick()
		ben.is(sale.Ready)
	})
}

func TestStaffSayNotSoldOutAndPeopleWaitForSeatsThatComeBack(t *testing.T) {
	play(t, nil, func(h *house) {
		sold := h.sellAll()
		if s := h.status(); s.Phase != sale.PhaseSoldOut || !s.Returns || !s.SoldOut {
			t.Errorf("the status is %+v", s)
		}
		_, _, err := h.Join(gala, h.visitor().id)
		h.refused(err, sale.ErrSoldOut)
		h.decide("no")
		if s := h.status(); s.Phase != sale.PhaseOpen || !s.Returns || s.SoldOut || s.Override != "no" {
			t.Errorf("the status is %+v", s)
		}
		ann := h.visitor()
		if p := ann.join(); p.Status != sale.Waiting {
			t.Errorf("a turn without seats: %s", p.Status)
		} else if p.Slower != sale.SlowerSeats || p.Wait != 0 || p.WaitHigh != 0 || h.status().Slower != sale.SlowerSeats {
			t.Errorf("a wait is promised: %+v", p)
		}
		h.at(5 * sec)
		h.tick()
		ann.is(sale.Waiting)
		sold[4].takeBack(sale.RefundWish{Reason: "returned"})
		h.at(10 * sec)
		h.tick()
		ann.is(sale.Ready)
		if s := h.status(); s.Returns || s.SoldOut || s.Slower == sale.SlowerSeats {
			t.Errorf("the status is %+v", s)
		}
		ann.hold("B-5")
	})
}

func TestOnlyThreeWordsDecideWhetherItIsSoldOut(t *testing.T) {
	play(t, nil, func(h *house) {
		for _, word := range []string{"", "maybe", "YES"} {
			_, err := h.SetSoldOut("staff", gala, word, nil)
			h.refused(err, sale.ErrBadEvent)
		}
		long := strings.Repeat("x", 501)
		_, err := h.SetSoldOut("staff", gala, "yes", &long)
		h.refused(err, sale.ErrBadEvent)
		_, err = h.SetSoldOut("staff", "nothing", "yes", nil)
		h.refused(err, sale.ErrNoSuchEvent)
		h.decide("yes")
		_, err = h.CloseEvent("staff", gala, "")
		h.ok(err)
		if s := h.status(); s.Phase != sale.PhaseClosed {
			t.Errorf("a closed event is %s", s.Phase)
		}
	})
}

func TestEveryActOfTheOperatorIsAudited(t *testing.T) {
	play(t, nil, func(h *house) {
		change := func(edit func(*sale.Settings)) error {
			_, err := h.ChangeEvent("staff", gala, func(s *sale.Settings) error { edit(s); return nil })
			return err
		}
		do := func(_ *sale.Event, err error) error { return err }
		for _, c := range []struct {
			err         error
			act, detail string
		}{
			{do(h.PauseEvent("staff", gala, "Back at nine")), "event.pause", "Back at nine"},
			{do(h.ResumeEvent("staff", gala)), "event.resume", ""},
			{do(h.Announce("staff", gala, "Hello")), "event.announce", "Hello"},
			{change(func(s *sale.Settings) { s.Rules.AdmitPerSecond, s.Rules.MaxActive = 5, 7 }), "event.change", "rules.admitPerSecond 50 -> 5, rules.maxActive 100 -> 7"},
			{change(func(s *sale.Settings) { s.Prices["Stalls"] = 100; delete(s.Prices, "Balcony") }), "event.change", "prices.Balcony 2900 -> none, prices.Stalls 4250 -> 100"},
			{change(func(s *sale.Settings) { s.Name = "A Ball" }), "event.change", `name "GALA" -> "A Ball"`},
			{change(func(*sale.Settings) {}), "event.change", ""},
			{do(h.SetSoldOut("staff", gala, "no", nil)), "event.soldout", "no Hello"},
			{do(h.SetSoldOut("staff", gala, "auto", nil)), "event.soldout", "auto Hello"},
			{do(h.CloseEvent("staff", gala, "Over")), "event.close", "Over"},
			{do(h.OpenEvent("staff", gala)), "event.open", "Over"},
		} {
			h.ok(c.err)
			list, err := h.Audit(0, 100)
			h.ok(err)
			found := false
			for _, e := range list {
				found = found || e.Act == c.act && e.Detail == c.detail && e.Actor == "staff" && e.Event == gala
			}
			if !found {
				t.Errorf("%s %q is not in the audit: %+v", c.act, c.detail, list)
			}
		}
	})
}

// A house whose last seats staff keep back has nothing to sell, as one where the
// others are sold.
func TestNobodyIsCalledWhileStaffKeepAllSeatsBack(t *testing.T) {
	play(t, nil, func(h *house) {
		var all []string
		for i := range 12 {
			all = append(all, fmt.Sprintf("A-%d", i+1))
		}
		for i := range 6 {
			all = append(all, fmt.Sprintf("B-%d", i+1))
		}
		block := func(state sale.BlockState) {
			t.Helper()
			_, err := h.BlockSeats("staff", gala, all, state, "broken stage")
			h.ok(err)
		}
		block(sale.BlockOffSale)
		if s := h.status(); s.Phase != sale.PhaseSoldOut || s.Slower != sale.SlowerSeats || !s.Returns {
			t.Errorf("with all seats kept back: %+v", s)
		}
		_, _, err := h.Join(gala, h.visitor().id)
		h.refused(err, sale.ErrSoldOut)
		block("")
		h.visitor().join()
		if s := h.status(); s.Phase != sale.PhaseOpen || s.Active != 1 {
			t.Errorf("with all seats back: %+v", s)
		}
	})
}
