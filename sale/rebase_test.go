package sale_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

// noon is when the stamps of these tests are written; the rules are shortRules.
var noon = time.Date(2027, 6, 1, 12, 0, 0, 0, time.UTC)

func turnAt(state sale.TurnState) sale.Place {
	p := sale.Place{Event: gala, Number: 7, Visitor: uuid.UUID{1}}
	if state == sale.TurnNone {
		return p
	}
	p.Turn = sale.Turn{State: state, CalledAt: noon, ExpiresAt: noon.Add(300 * sec), PickedUp: true, Order: uuid.UUID{2}, Holds: 1}
	switch {
	case state == sale.TurnAside:
		p.Turn.AsideAt = noon.Add(60 * sec)
	case !state.Live():
		p.Turn.EndedAt = noon.Add(90 * sec)
	}
	return p
}

func TestTurnsThatHaveNotEndedMoveWithTheClockAndOthersDoNot(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -8 * time.Hour} {
		for _, state := range []sale.TurnState{sale.TurnReady, sale.TurnClaimed, sale.TurnAside} {
			want := turnAt(state)
			want.Turn.CalledAt, want.Turn.ExpiresAt = want.Turn.CalledAt.Add(step), want.Turn.ExpiresAt.Add(step)
			if state == sale.TurnAside {
				want.Turn.AsideAt = want.Turn.AsideAt.Add(step)
			}
			if got := turnAt(state).Moved(step); got != want {
				t.Errorf("%s moved by %s is %+v, want %+v", state, step, got.Turn, want.Turn)
			}
		}
		for _, state := range []sale.TurnState{sale.TurnNone, sale.TurnConsumed, sale.TurnExpired, sale.TurnRevoked, sale.TurnLeft} {
			if got := turnAt(state).Moved(step); got != turnAt(state) {
				t.Errorf("%s moved by %s is %+v", state, step, got.Turn)
			}
		}
	}
}

func TestClaimsOfShopsMoveWithTheClockAndKeepToTheirRules(t *testing.T) {
	claimed := func() sale.Place {
		p := turnAt(sale.TurnClaimed)
		p.Turn.Order, p.Turn.Shop = uuid.Nil, &sale.ShopClaim{Customer: "c", Until: noon.Add(400 * sec)}
		return p
	}
	p := claimed()
	if got := p.Moved(time.Hour).Turn.Shop; !got.Until.Equal(noon.Add(400*sec+time.Hour)) || got.Customer != "c" {
		t.Errorf("moved it is %+v", got)
	}
	if !same(p, claimed()) {
		t.Error("the original was changed")
	}
	q := claimed().Bounded(shortRules, noon.Add(-time.Hour))
	if got := q.Turn.Shop.Until; !got.Equal(noon.Add(300*sec-time.Hour)) || q.Bounded(shortRules, noon.Add(-time.Hour)) != q {
		t.Errorf("bounded it lasts until %s", got)
	}
}

func TestWhatStaffLeftToThoseCalledBeforeMovesWithTheirStamps(t *testing.T) {
	plain := &sale.Event{}
	if plain.Moved(time.Hour) != plain || plain.Bounded(noon) != plain {
		t.Error("an event of which nothing was shortened is changed")
	}
	e := &sale.Event{Granted: []sale.Granted{{Until: noon, Pickup: 60, Return: 600}}}
	if e.Moved(0) != e || e.Bounded(noon) != e {
		t.Error("an event is changed for nothing")
	}
	for _, step := range []time.Duration{time.Hour, -8 * time.Hour} {
		if got, want := e.Moved(step).Granted[0], (sale.Granted{Until: noon.Add(step), Pickup: 60, Return: 600}); got != want {
			t.Errorf("moved by %s it is %+v", step, got)
		}
	}
	started := noon.Add(-time.Hour)
	p := turnAt(sale.TurnAside).Bounded(shortRules, started)
	if in := e.Bounded(started); !p.Turn.CalledAt.Before(in.Granted[0].Until) || in.Granted[0].Until.After(started.Add(sec)) {
		t.Errorf("of a clock that was ahead: called at %s, left to those before %s", p.Turn.CalledAt, in.Granted[0].Until)
	}
	if !e.Granted[0].Until.Equal(noon) {
		t.Error("the event given was changed")
	}
}

func TestB99TurnsFromTheFutureEndWithinTheirRules(t *testing.T) {
	for _, early := range []time.Duration{time.Millisecond, 90 * sec, 8 * time.Hour} {
		now := noon.Add(-early)
		for _, state := range []sale.TurnState{sale.TurnReady, sale.TurnClaimed, sale.TurnAside} {
			p := turnAt(state).Bounded(shortRules, now)
			if p.Turn.CalledAt.After(now) || p.Turn.AsideAt.After(now) || p.Turn.ExpiresAt.Sub(now) != 300*sec || p.Turn.AsideAt.IsZero() == (state == sale.TurnAside) {
				t.Errorf("%s before its own beginning, %s is %+v", early, state, p.Turn)
			}
			if again := p.Bounded(shortRules, now); again != p {
				t.Errorf("bounded twice, %s is %+v", state, again.Turn)
			}
		}
		for _, state := range []sale.TurnState{sale.TurnNone, sale.TurnConsumed, sale.TurnExpired, sale.TurnRevoked, sale.TurnLeft} {
			if got := turnAt(state).Bounded(shortRules, now); got != turnAt(state) {
				t.Errorf("%s is %+v", state, got.Turn)
			}
		}
	}
	for _, state := range []sale.TurnState{sale.TurnReady, sale.TurnClaimed, sale.TurnAside} {
		if got := turnAt(state).Bounded(shortRules, noon.Add(60*sec)); got != turnAt(state) {
			t.Errorf("%s within its rules has become %+v", state, got.Turn)
		}
	}
}

// paying is an order whose payment began at noon, after one that failed.
func paying(status sale.OrderStatus, extended bool, hold time.Duration) *sale.Order {
	o := &sale.Order{ID: uuid.UUID{2}, Status: status, CreatedAt: noon, UpdatedAt: noon, HoldExpiresAt: noon.Add(hold), Extended: extended}
	if status != sale.Pending {
		o.Payments = []sale.Payment{
			{State: sale.PaymentFailed, At: noon, PayBy: noon.Add(100 * sec)},
			{State: sale.PaymentStarted, At: noon, PayBy: noon.Add(hold - 60*sec)},
		}
	}
	return o
}

func TestOpenOrdersMoveWithTheClockAndOthersDoNot(t *testing.T) {
	for _, step := range []time.Duration{time.Hour, -8 * time.Hour} {
		was := paying(sale.Paying, true, 300*sec)
		want := paying(sale.Paying, true, 300*sec)
		want.HoldExpiresAt, want.Payments[1].PayBy = want.HoldExpiresAt.Add(step), want.Payments[1].PayBy.Add(step)
		if got := was.Moved(step); !same(got, want) {
			t.Errorf("moved by %s the order is %+v, want %+v", step, got, want)
		}
		if !same(was, paying(sale.Paying, true, 300*sec)) {
			t.Error("the snapshot was changed")
		}
		for _, status := range []sale.OrderStatus{sale.Paid, sale.Expired, sale.Cancelled, sale.RefundDue, sale.Refunded} {
			if o := paying(status, true, 300*sec); o.Moved(step) != o {
				t.Errorf("%s moved", status)
			}
		}
	}
	if o := paying(sale.Paying, true, 300*sec); o.Moved(0) != o {
		t.Error("an order was copied for nothing")
	}
}

func TestB99OrdersFromTheFutureEndWithinTheirRules(t *testing.T) {
	now := noon.Add(-8 * time.Hour)
	for _, c := range []struct {
		o    *sale.Order
		most time.Duration
	}{
		{paying(sale.Pending, false, 120*sec), 120 * sec},
		{paying(sale.Paying, true, 300*sec), 300 * sec},
		{paying(sale.Paying, false, 120*sec), 120 * sec},
	} {
		got, changed := c.o.Bounded(shortRules, now)
		if !changed || got.HoldExpiresAt.Sub(now) != c.most {
			t.Errorf("%s ends in %s, at most %s is allowed", got.Status, got.HoldExpiresAt.Sub(now), c.most)
		}
		for _, p := range got.Payments {
			if p.State == sale.PaymentStarted && p.PayBy.Sub(now) != c.most-60*sec {
				t.Errorf("the page to pay ends in %s, the hold in %s", p.PayBy.Sub(now), c.most)
			}
			if p.State == sale.PaymentFailed && !p.PayBy.Equal(noon.Add(100*sec)) {
				t.Errorf("a payment that failed was moved to %s", p.PayBy)
			}
		}
		if _, again := got.Bounded(shortRules, now); again {
			t.Error("bounded twice")
		}
		if same, changed := c.o.Bounded(shortRules, noon); changed || same != c.o {
			t.Errorf("within its rules the order has become %+v", same)
		}
	}
	for _, status := range []sale.OrderStatus{sale.Paid, sale.Expired, sale.Cancelled, sale.RefundDue, sale.Refunded} {
		if _, changed := paying(status, true, 300*sec).Bounded(shortRules, now); changed {
			t.Errorf("%s was bounded", status)
		}
	}
}
