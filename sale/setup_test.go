package sale_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

func TestSettingsAreCheckedWhole(t *testing.T) {
	now := time.Date(2027, 3, 1, 19, 0, 0, 0, time.UTC)
	latest := time.Date(9998, 12, 31, 23, 59, 0, 0, time.UTC)
	far, past := time.Date(9999, 12, 31, 23, 59, 0, 0, time.FixedZone("", -3600)), time.Date(1, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600))
	cases := []struct {
		say   string // the setting that the refusal speaks of; "" when it is fine
		wrong func(*sale.Settings)
	}{
		{"", func(*sale.Settings) {}},
		{"id", func(s *sale.Settings) { s.ID = "" }},
		{"id", func(s *sale.Settings) { s.ID = "Gala" }},
		{"id", func(s *sale.Settings) { s.ID = strings.Repeat("x", 65) }},
		{"", func(s *sale.Settings) { s.ID = strings.Repeat("x", 64) }},
		{"name", func(s *sale.Settings) { s.Name = "" }},
		{"name", func(s *sale.Settings) { s.Name = strings.Repeat("é", 201) }},
		{"", func(s *sale.Settings) { s.Name = strings.Repeat("é", 200) }},
		{"", func(s *sale.Settings) { s.Name = "Gala 👩‍👩‍👧 شب 夜" }},
		{"name", func(s *sale.Settings) { s.Name = "a\u202eb" }},
		{"name", func(s *sale.Settings) { s.Name = "a\x00" }},
		{"venue", func(s *sale.Settings) { s.Venue = "a\nb" }},
		{"timeZone", func(s *sale.Settings) { s.TimeZone = "" }},
		{"timeZone", func(s *sale.Settings) { s.TimeZone = "Local" }},
		{"timeZone", func(s *sale.Settings) { s.TimeZone = "Mars/Base" }},
		{"", func(s *sale.Settings) { s.TimeZone = "Europe/Berlin" }},
		{"currency", func(s *sale.Settings) { s.Currency = "eur" }},
		{"currency", func(s *sale.Settings) { s.Currency = "XXX" }},
		{"currency", func(s *sale.Settings) { s.Currency = "EUR USD" }},
		{"", func(s *sale.Settings) { s.Currency = "JPY" }},
		{"opensAt", func(s *sale.Settings) { s.Order = "draw" }},
		{"", func(s *sale.Settings) { s.Order, s.OpensAt = "draw", &now }},
		{"line", func(s *sale.Settings) { s.Order, s.OpensAt, s.Line = "draw", &now, "off" }},
		{"order", func(s *sale.Settings) { s.Order = "lifo" }},
		{"line", func(s *sale.Settings) { s.Line = "maybe" }},
		{"closesAt", func(s *sale.Settings) { s.OpensAt, s.ClosesAt = &now, &now }},
		{"startsAt", func(s *sale.Settings) { s.StartsAt = &far }},
		{"opensAt", func(s *sale.Settings) { s.OpensAt = &past }},
		{"closesAt", func(s *sale.Settings) { s.ClosesAt = &far }},
		{"presaleAt", func(s *sale.Settings) { s.PresaleAt, s.OpensAt = &past, &now }},
		{"", func(s *sale.Settings) { s.ClosesAt = &latest }},
		{"prices", func(s *sale.Settings) { s.Prices = map[string]int64{"Stalls": -1} }},
		{"prices", func(s *sale.Settings) { s.Prices = map[string]int64{"Stalls": 1_000_000_000_001} }},
		{"prices", func(s *sale.Settings) { s.Prices = map[string]int64{"": 1} }},
		{"", func(s *sale.Settings) { s.Prices = map[string]int64{"Stalls": 0} }},
		{"providers", func(s *sale.Settings) { s.Providers = []string{"stripe"} }},
		{"", func(s *sale.Settings) { s.Providers = []string{"bank", "shop", "door"} }},
		{"admitPerSecond", func(s *sale.Settings) { s.Rules.AdmitPerSecond = 0 }},
		{"admitPerSecond", func(s *sale.Settings) { s.Rules.AdmitPerSecond = 5001 }},
		{"maxActive", func(s *sale.Settings) { s.Rules.MaxActive = 20_001 }},
		{"turnSeconds", func(s *sale.Settings) { s.Rules.TurnSeconds = 1 }},
		{"pickupSeconds", func(s *sale.Settings) { s.Rules.PickupSeconds = 1 }},
		{"returnSeconds", func(s *sale.Settings) { s.Rules.ReturnSeconds = -1 }},
		{"holdSeconds", func(s *sale.Settings) { s.Rules.HoldSeconds = 1 }},
		{"paySeconds", func(s *sale.Settings) { s.Rules.PaySeconds = 0 }},
		{"payMarginSeconds", func(s *sale.Settings) { s.Rules.PayMarginSeconds = 86401 }},
		{"maxSeatsPerOrder", func(s *sale.Settings) { s.Rules.MaxSeatsPerOrder = 51 }},
		{"maxWaiting", func(s *sale.Settings) { s.Rules.MaxWaiting = 0 }},
		{"buyer", func(s *sale.Settings) { s.Rules.Buyer = "" }},
	}
	play(t, nil, func(h *house) {
		for i, c := range cases {
			s := sale.DefaultSettings()
			s.ID, s.Name = "try", "Try"
			c.wrong(&s)
			_, err := h.CreateEvent("staff", s)
			var r *sale.Refusal
			switch {
			case c.say == "" && err != nil:
				h.Errorf("case %d: %v", i, err)
			case c.say == "":
				h.ok(h.RemoveEvent("staff", s.ID))
			case !errors.As(err, &r) || r.Code != "bad_event" || !strings.Contains(r.Detail, strings.TrimSuffix(c.say, "s")):
				h.Errorf("case %d: got %v, want bad_event about %s", i, err, c.say)
			case strings.TrimPrefix(r.Field, "rules.") != c.say:
				h.Errorf("case %d: the setting named is %q, want %s", i, r.Field, c.say)
			}
		}
		s := sale.DefaultSettings()
		s.ID, s.Name = gala, "Again"
		_, err := h.CreateEvent("staff", s)
		h.refused(err, sale.ErrEventExists)
		var r *sale.Refusal
		s.ID, s.Rules.MemberShare, s.Access = "two", 11, "members"
		if _, err := h.CreateEvent("staff", s); !errors.As(err, &r) || r.Field != "" || !strings.Contains(r.Detail, "access must") || !strings.Contains(r.Detail, "rules.memberShare must") {
			h.Errorf("of two wrong settings: got %+v", r)
		}
	})
}

func TestChangesAreCheckedAndRefusedWhole(t *testing.T) {
	play(t, nil, func(h *house) {
		before, _, _ := h.Event(gala)
		change := func(edit func(*sale.Settings)) error {
			_, err := h.ChangeEvent("staff", gala, func(s *sale.Settings) error { edit(s); return nil })
			return err
		}
		h.refused(change(func(s *sale.Settings) { s.ID = "other" }), sale.ErrPromise)
		h.refused(change(func(s *sale.Settings) { s.Prices["Stalls"], s.Rules.MaxActive = 1, 0 }), sale.ErrBadEvent)
		if after, _, _ := h.Event(gala); after.Prices["Stalls"] != 4250 || after.Rules != before.Rules {
			h.Errorf("a refused change left %+v", after)
		}
		own := errors.New("own")
		if _, err := h.ChangeEvent("staff", gala, func(*sale.Settings) error { return own }); !errors.Is(err, own) {
			h.Errorf("got %v", err)
		}
		_, err := h.ChangeEvent("staff", "nowhere", nil)
		h.refused(err, sale.ErrNoSuchEvent)
		_, err = h.Announce("staff", gala, strings.Repeat("x", 501))
		h.refused(err, sale.ErrBadEvent)
	})
}

func TestCurrencyIsLockedByTheFirstHold(t *testing.T) { // B150
	play(t, nil, func(h *house) {
		currency := func(c string) error {
			_, err := h.ChangeEvent("staff", gala, func(s *sale.Settings) error { s.Currency = c; return nil })
			return err
		}
		h.ok(currency("CHF"))
		ann := h.buyer()
		ann.hold("A-1")
		h.refused(currency("EUR"), sale.ErrPromise)
		h.ok(h.Release(ann.id, ann.order))
		h.restart()
		h.refused(currency("EUR"), sale.ErrPromise)
		if o := ann.seen(); o.Currency != "CHF" {
			h.Errorf("the order is in %s", o.Currency)
		}
	})
}

func TestNewPlanMayDropOnlySeatsNobodyHas(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, bob := h.buyer(), h.buyer()
		ann.hold("A-11", "A-12")
		bob.hold("B-6")
		_, err := h.confirm(bob.order, "k", 2900)
		h.ok(err)
		_, err = h.SetPlan("staff", gala, hall(10, 5), false)
		h.refused(err, sale.ErrSeatsInUse, "A-11", "A-12", "B-6")
		h.at(120 * sec) // Ann's hold lapses
		_, err = h.SetPlan("staff", gala, hall(10, 5), false)
		h.refused(err, sale.ErrSeatsInUse, "B-6")
		ch, err := h.SetPlan("staff", gala, hall(10, 7), true)
		h.ok(err)
		if ch.Seats != 17 || len(ch.Added) != 1 || ch.Added[0] != "B-7" || len(ch.Removed) != 2 || len(ch.Unpriced) != 0 {
			h.Errorf("dry run: %+v", ch)
		}
		if p, _ := h.Plan(gala); p.Len() != 18 {
			h.Error("a dry run changed the plan")
		}
		_, err = h.SetPlan("staff", gala, hall(10, 7), false)
		h.ok(err)
		h.restart()
		if s := h.status(); s.SeatsLeft != 16 {
			h.Errorf("%d seats left, want 16", s.SeatsLeft)
		}
		_, err = bob.h.SetPlan("staff", "nowhere", hall(1, 1), false)
		h.refused(err, sale.ErrNoSuchEvent)
	})
}

func TestNewPlanKeepsWhatStaffKeep(t *testing.T) {
	play(t, nil, func(h *house) {
		_, err := h.BlockSeats("staff", gala, []string{"A-12"}, sale.BlockHouse, "press")
		h.ok(err)
		_, err = h.BlockSeats("staff", gala, []string{"A-1", "B-6"}, sale.BlockOffSale, "broken")
		h.ok(err)
		_, err = h.SetPlan("staff", gala, hall(11, 5), false)
		h.refused(err, sale.ErrSeatsInUse, "A-12")
		_, err = h.SetPlan("staff", gala, hall(12, 5), false)
		h.ok(err)
		_, err = h.SetPlan("staff", gala, hall(12, 6), false)
		h.ok(err)
		h.restart()
		h.seats("OAAAAAAAAAAO AAAAAA") // B-6 is another seat now
	})
}

func TestSoldSeatsOfACategoryThatLostItsPriceDoNotSellTheHouseOut(t *testing.T) {
	play(t, nil, func(h *house) {
		_, err := h.SetPlan("staff", gala, hall(2, 2), false)
		h.ok(err)
		ann := h.buyer()
		ann.hold("B-1", "B-2")
		_, err = h.confirm(ann.order, "k", 5800)
		h.ok(err)
		_, err = h.ChangeEvent("staff", gala, func(s *sale.Settings) error { delete(s.Prices, "Balcony"); return nil })
		h.ok(err)
		h.seats("AASS")
		if s := h.status(); s.SoldOut || s.SeatsLeft != 2 {
			h.Errorf("got %+v, want two seats left", s)
		}
		h.buyer().hold("A-1")
		_, err = h.SetPlan("staff", gala, hall(3, 2), false)
		h.ok(err)
		if s := h.status(); s.SeatsLeft != 3 {
			h.Errorf("got %d seats left, want 3", s.SeatsLeft)
		}
	})
}

func TestEventInUseIsNotRemoved(t *testing.T) {
	play(t, oneSlot, func(h *house) {
		remove := func() error { return h.RemoveEvent("staff", gala) }
		first, ann := h.buyer(), h.visitor()
		h.refused(remove(), sale.ErrEventInUse)
		ann.join()
		h.ok(first.leave())
		h.refused(remove(), sale.ErrEventInUse)
		h.tick()
		h.at(60 * sec)
		h.tick()
		h.line(0, 0)
		h.refused(remove(), sale.ErrEventInUse) // Ann is aside and may come back
		h.at(660 * sec)
		h.tick()
		h.ok(remove())
		h.refused(remove(), sale.ErrNoSuchEvent)
		_, _, err := h.Join(gala, uuid.New())
		h.refused(err, sale.ErrNoSuchEvent)
		_, err = h.Office.Tick(gala, time.Second)
		h.refused(err, sale.ErrNoSuchEvent)
	})
}

func TestEventThatHadAHoldIsNotRemoved(t *testing.T) {
	play(t, nil, func(h *house) {
		ann := h.buyer()
		ann.hold("A-1")
		h.ok(ann.leave())
		h.refused(h.RemoveEvent("staff", gala), sale.ErrEventInUse)
		h.restart()
		h.refused(h.RemoveEvent("staff", gala), sale.ErrEventInUse)
	})
}

func TestRefusedChangeChangesNothing(t *testing.T) {
	play(t, func(s *sale.Settings) {
		at := time.Now().Add(time.Hour)
		s.OpensAt = &at
	}, func(h *house) {
		_, err := h.ChangeEvent("staff", gala, func(s *sale.Settings) error {
			*s.OpensAt = h.began.Add(-time.Hour) // as a JSON decoder does
			s.Prices["Stalls"] = 1
			s.Providers[0] = "nobody"
			s.Name = ""
			return nil
		})
		h.refused(err, sale.ErrBadEvent)
		e, phase, err := h.Event(gala)
		h.ok(err)
		if phase != sale.PhaseLobby || e.Prices["Stalls"] != 4250 || e.Providers[0] == "nobody" {
			h.Errorf("after the refusal the event is %s with %v and %v", phase, e.Prices, e.Providers)
		}
	})
}

func TestHouseIsSoldOutOnceAHeldSeatWithoutAPriceIsFree(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, bob := h.buyer(), h.buyer()
		ann.hold("B-1") // of the Balcony
		bob.hold("A-1")
		_, err := h.ChangeEvent("staff", gala, func(s *sale.Settings) error {
			delete(s.Prices, "Balcony")
			return nil
		})
		h.ok(err)
		left := h.status().SeatsLeft
		h.ok(h.Release(ann.id, ann.order))
		if got := h.status().SeatsLeft; got != left-1 {
			h.Errorf("%d seats are left, want %d: nobody can buy the one given back", got, left-1)
		}
	})
}

func TestEventsAreListedInTheOrderOfTheirCreation(t *testing.T) {
	play(t, nil, func(h *house) {
		for _, id := range []string{"c", "a", "b"} {
			h.event(id, nil)
		}
		want := []string{gala, "c", "a", "b"}
		for range 2 {
			for i, e := range h.Events() {
				if e.ID != want[i] {
					h.Errorf("event %d is %s, want %s", i, e.ID, want[i])
				}
			}
			h.restart()
		}
	})
}

func TestOrdersAreListedNewestFirstInPages(t *testing.T) {
	play(t, nil, func(h *house) {
		h.event("other", nil)
		var want []uuid.UUID
		for i := range 5 {
			v := h.visitorOf([]string{gala, "other"}[i%2])
			v.join()
			v.hold(fmt.Sprintf("A-%d", i+1), "B-1")
			h.ok(h.Release(v.id, v.order)) // those that came to nothing are listed as well
			if v.event == gala {
				want = append([]uuid.UUID{v.order}, want...)
			}
		}
		before := uuid.Nil
		for _, id := range want {
			page, err := h.Orders(gala, before, 1)
			h.ok(err)
			if len(page) != 1 || page[0].ID != id {
				h.Fatalf("got %v, want %s", page, id)
			}
			before = id
		}
		if page, _ := h.Orders(gala, before, 1); len(page) != 0 {
			h.Errorf("after the last one: %v", page)
		}
		_, err := h.Orders("nowhere", uuid.Nil, 1)
		h.refused(err, sale.ErrNoSuchEvent)
	})
}

func TestLiveNumbersCountMoneyOnce(t *testing.T) {
	play(t, nil, func(h *house) {
		ann, bob, cem := h.buyer(), h.buyer(), h.buyer()
		ann.hold("A-1", "A-2")
		_, err := h.confirm(ann.order, "k", 8500)
		h.ok(err)
		bob.hold("A-3", "B-1")
		bob.pay()
		cem.hold("A-4")
		l, err := h.Live(gala)
		h.ok(err)
		if l.Taken != 8500 || l.Orders[sale.Paid] != 1 || l.Orders[sale.Paying] != 1 || l.Orders[sale.Pending] != 1 || l.Counts.Held != 3 || l.Counts.Sold != 2 {
			h.Errorf("got %+v", l)
		}
	})
}

func TestWhatIsNotSetUpAnyMoreKeepsNoOtherSettingFromChanging(t *testing.T) {
	play(t, nil, func(h *house) {
		set := func(o *sale.Office, fn func(*sale.Settings)) error {
			_, err := o.ChangeEvent("staff", gala, func(s *sale.Settings) error { fn(s); return nil })
			return err
		}
		before := sale.New(sale.Config{Store: h.store, Secret: h.store.Secret(), Providers: []sale.Provider{h.bank}, Challenges: []string{"turnstile"}})
		h.ok(set(before, func(s *sale.Settings) { s.Challenge, s.Providers = "turnstile", []string{"bank"} }))
		now := sale.New(sale.Config{Store: h.store, Secret: h.store.Secret()})
		h.ok(set(now, func(s *sale.Settings) { s.Rules.AdmitPerSecond = 3 }))
		h.refused(set(now, func(s *sale.Settings) { s.Challenge = "hcaptcha" }), sale.ErrBadEvent)
		h.refused(set(now, func(s *sale.Settings) { s.Providers = []string{"bank", "mint"} }), sale.ErrBadEvent)
		h.ok(set(now, func(s *sale.Settings) { s.Challenge, s.Providers = "", nil }))
		h.refused(set(now, func(s *sale.Settings) { s.Challenge = "turnstile" }), sale.ErrBadEvent)
		h.refused(set(now, func(s *sale.Settings) { s.Providers = []string{"bank"} }), sale.ErrBadEvent)
	})
}
