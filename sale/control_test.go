package sale_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

func steers(s *sale.Settings) { s.Rules.Control, s.Rules.AdmitPerSecond = sale.ControlAuto, 50 }

// goes wants a pace, lowered or not.
func (h *house) goes(pace int, lowered bool) {
	h.Helper()
	if s := h.status(); s.Pace != pace || (s.PaceReason != "") != lowered {
		h.Errorf("%s in: the pace is %d (%q), want %d, lowered %t", time.Since(h.began), s.Pace, s.PaceReason, pace, lowered)
	}
}

// seconds lets the house tick while the shop says each second how it does.
func (h *house) seconds(n, requests, failures int) {
	h.Helper()
	for range n {
		time.Sleep(sec + ms)
		if requests > 0 {
			_, _, err := h.ReportHealth(gala, sale.Health{Requests: requests, Failures: failures})
			h.ok(err)
		}
		h.tick()
	}
}

// steps gives what the audit was told of the pace, oldest first.
func (h *house) steps() (acts []string) {
	h.Helper()
	list, err := h.Audit(0, 1000)
	h.ok(err)
	for _, e := range slices.Backward(list) {
		if strings.HasPrefix(e.Act, "pace.") {
			acts = append(acts, e.Act)
			if e.Actor != "house" || e.Event != gala || e.Detail == "" {
				h.Errorf("audited as %+v", e)
			}
		}
	}
	return acts
}

func TestPaymentsThatFailLowerThePaceWithinSecondsAndItComesBack(t *testing.T) {
	play(t, steers, func(h *house) {
		all := h.crowd(10)
		for i, v := range all {
			v.hold("A-" + string(rune('1'+i%9)))
			if i == 8 {
				break
			}
		}
		h.tick()
		h.goes(50, false)
		h.bank.down = true
		for range 3 {
			time.Sleep(sec)
			for _, v := range all[:9] {
				_, err := v.tryPay()
				h.refused(err, sale.ErrProviderDown)
			}
			h.tick()
		}
		h.goes(6, true)
		if s := h.status().PaceReason; s != "payments fail or are slow" {
			t.Errorf("the reason is %q", s)
		}
		h.bank.down = false
		for i, v := range all[:9] {
			started := v.pay()
			_, err := h.Receive(sale.Fact{Provider: "bank", EventID: "e" + string(rune('0'+i)), Kind: sale.FactSucceeded, PaymentID: started.PaymentID, Order: v.order.String(), Amount: 4250, Currency: "EUR"})
			h.ok(err)
		}
		time.Sleep(sec)
		h.tick()
		h.goes(9, true) // 6.25 and a twentieth of 50
		h.seconds(100, 0, 0)
		h.goes(50, false)
		if got := h.steps(); !slices.Equal(got, []string{"pace.lower", "pace.restore"}) {
			t.Errorf("the audit was told %v", got)
		}
	})
}

func TestPaceOfOneCannotBeLoweredAndNothingIsSaid(t *testing.T) {
	play(t, func(s *sale.Settings) { s.Rules.Control, s.Rules.AdmitPerSecond = sale.ControlAuto, 1 }, func(h *house) {
		h.seconds(3, 100, 100)
		h.goes(1, false)
		h.seconds(60, 100, 0)
		h.goes(1, false)
		if got := h.steps(); len(got) > 0 {
			t.Errorf("the audit was told %v", got)
		}
		h.seconds(3, 100, 100)
		_, err := h.ChangeEvent("staff", gala, func(s *sale.Settings) error { s.Rules.AdmitPerSecond = 10; return nil })
		h.ok(err)
		h.seconds(1, 100, 100)
		h.goes(1, true)
		h.seconds(60, 100, 0)
		h.goes(10, false)
		if got := h.steps(); !slices.Equal(got, []string{"pace.lower", "pace.restore"}) {
			t.Errorf("the audit was told %v", got)
		}
	})
}

func TestPaymentsThatTheProviderRefusesLowerThePace(t *testing.T) {
	play(t, steers, func(h *house) {
		all := h.crowd(9)
		h.tick()
		for i, v := range all {
			v.hold("A-" + string(rune('1'+i)))
			started := v.pay()
			_, err := h.Receive(sale.Fact{Provider: "bank", EventID: uuid.NewString(), Kind: sale.FactFailed, PaymentID: started.PaymentID, Order: v.order.String()})
			h.ok(err)
		}
		h.seconds(1, 0, 0)
		h.goes(25, true)
	})
}

func TestSlowPaymentsLowerThePace(t *testing.T) {
	play(t, steers, func(h *house) {
		h.bank.during = func(sale.StartRequest) { time.Sleep(3 * sec) }
		for i, v := range h.crowd(9) {
			v.hold("A-" + string(rune('1'+i)))
			v.pay()
		}
		h.tick()
		h.seconds(1, 0, 0)
		if s := h.status(); s.Pace >= 50 || s.Pace < 5 {
			t.Errorf("the pace is %d", s.Pace)
		}
	})
}

// sick is a store in which nothing can be written at present.
type sick struct {
	sale.Store
	ill *bool
}

func (s sick) Update(fn func(sale.Tx) error) error {
	if *s.ill {
		return sale.ErrUnavailable
	}
	return s.Store.Update(fn)
}

func TestHoldsThatCannotBeWrittenLowerThePaceOnceTheyCan(t *testing.T) {
	play(t, steers, func(h *house) {
		ill := false
		h.Office = sale.New(sale.Config{Store: sick{h.store, &ill}, Secret: h.store.Secret()})
		all := h.crowd(9)
		h.tick()
		ill = true
		time.Sleep(sec)
		for _, v := range all {
			_, err := v.try("A-1")
			h.refused(err, sale.ErrUnavailable)
		}
		if _, err := h.Tick(gala, sec); err == nil {
			t.Fatal("the store is not ill")
		}
		ill = false
		h.goes(25, true)
		if got := h.steps(); got != nil {
			t.Errorf("the audit was told %v by a store that could not write", got)
		}
		h.tick()
		if got := h.steps(); !slices.Equal(got, []string{"pace.lower"}) {
			t.Errorf("the audit was told %v", got)
		}
		h.tick()
		if got := h.steps(); len(got) != 1 {
			t.Errorf("the audit was told %v", got)
		}
		for range 9 { // seats that others have are no failure of the house
			_, err := all[0].try("A-1")
			h.ok(err)
			_, err = all[1].try("A-1")
			h.refused(err, sale.ErrSeatsTaken, "A-1")
		}
		h.seconds(1, 0, 0)
		h.goes(28, true)
	})
}

func TestTheLineMovesAtTheLoweredPace(t *testing.T) {
	rules := func(s *sale.Settings) {
		steers(s)
		s.Line, s.Rules.AdmitPerSecond, s.Rules.MaxActive = "always", 10, 1000
	}
	play(t, rules, func(h *house) {
		all := h.crowd(200)
		h.seconds(3, 20, 0)
		_, before := h.status().Waiting, h.status().Active
		if before < 20 {
			t.Fatalf("only %d were let in within three seconds", before)
		}
		h.seconds(6, 20, 20)
		h.goes(1, true)
		before = h.status().Active
		h.seconds(10, 20, 20)
		if n := h.status().Active - before; n < 9 || n > 11 {
			t.Errorf("%d were let in within ten seconds at a pace of one", n)
		}
		last := all[len(all)-1].poll()
		if want := last.Rank; last.Wait < want {
			t.Errorf("rank %d is told %d seconds at a pace of one", last.Rank, last.Wait)
		}
		h.seconds(60, 20, 0)
		h.goes(10, false)
	})
}

func TestWhoPassesThroughKeepsTheLoweredPaceToo(t *testing.T) {
	rules := func(s *sale.Settings) { steers(s); s.Rules.AdmitPerSecond = 10 }
	play(t, rules, func(h *house) {
		h.tick()
		h.seconds(6, 20, 20)
		h.goes(1, true)
		time.Sleep(2 * sec)
		h.crowd(5)
		h.line(4, 1)
		pause, err := h.Tick(gala, 10*sec)
		h.ok(err)
		if pause < 900*ms {
			t.Errorf("the next look is in %s at a pace of one", pause)
		}
	})
}

func TestWithoutTheRuleNothingLowersThePace(t *testing.T) {
	play(t, nil, func(h *house) {
		h.seconds(5, 100, 100)
		h.goes(50, false)
		_, err := h.ChangeEvent("staff", gala, func(s *sale.Settings) error { s.Rules.Control = sale.ControlAuto; return nil })
		h.ok(err)
		h.seconds(1, 0, 0)
		h.seconds(3, 100, 100)
		h.goes(6, true)
		_, err = h.ChangeEvent("staff", gala, func(s *sale.Settings) error { s.Rules.Control = "off"; return nil })
		h.ok(err)
		h.goes(50, false)
		_, err = h.ChangeEvent("staff", gala, func(s *sale.Settings) error { s.Rules.Control = "always"; return nil })
		h.refused(err, sale.ErrBadEvent)
	})
}

func TestASlowShopIsOneThatFails(t *testing.T) {
	play(t, steers, func(h *house) {
		h.tick()
		time.Sleep(sec)
		_, _, err := h.ReportHealth(gala, sale.Health{Requests: 100, Latency: 3 * sec})
		h.ok(err)
		h.tick()
		h.goes(25, true)
		if pace, why, err := h.ReportHealth(gala, sale.Health{}); err != nil || pace != 25 || why != "the shop fails or is slow" {
			t.Errorf("the shop is told %d %q, %v", pace, why, err)
		}
		_, _, err = h.ReportHealth("nothing", sale.Health{})
		h.refused(err, sale.ErrNoSuchEvent)
	})
}
