package sale_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"foyer/sale"
)

// quietEvening is a house to which nobody comes by himself.
func quietEvening(t *testing.T, play func(t *testing.T, e *evening)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		size := smallEvening
		size.visitors, size.down = nil, [2]time.Duration{}
		e := newEvening(t, 1, size, simFault{}, dir)
		e.house.Store(e.open())
		e.setUp()
		looking, stop := context.WithCancel(context.Background())
		looked := make(chan struct{})
		go func() { defer close(looked); e.lookingUp(looking) }()
		play(t, e)
		e.bank.idle()
		stop()
		<-looked
		h := e.house.Load()
		h.stop()
		<-h.stopped
		for _, w := range e.ledger.seen {
			t.Error(w)
		}
		if err := h.store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// buys lets visitor i come and buy two seats.
func (e *evening) buys(i int) (*simVisitor, *sale.OrderView) {
	v := newSimVisitor(e, simTwins, i)
	v.tabs = 1
	err := v.join()
	var o *sale.OrderView
	if err == nil {
		o, err = v.holdThese(sale.HoldRequest{Event: simTwins, Token: v.view.Token, Visitor: v.key.visitor, Best: true, Count: 2})
	}
	if err == nil {
		err = v.finish(o)
	}
	if err != nil {
		e.t.Fatalf("visitor %d does not buy: %v", i, err)
	}
	return v, o
}

func TestMoneyFromTheShopForAPaidOrderWaitsForAPerson(t *testing.T) {
	quietEvening(t, func(t *testing.T, e *evening) {
		v, o := e.buys(0)
		c := sale.Confirmation{Actor: "staff:shop", Key: "k1", Amount: o.Total, Currency: o.Currency, Reference: "till 1"}
		v.confirm(o, c)
		c.Key = "k2" // the same money told again
		v.confirm(o, c)
		var got []*sale.Receipt
		e.must("attention", func(o *sale.Office) error { got = o.Attention(); return nil })
		if len(got) != 1 || got[0].Attention != "surplus_payment" || got[0].Fact.Amount != o.Total || got[0].Fact.Order != o.ID.String() {
			t.Errorf("attention: got %+v, want one surplus_payment of %d", got, o.Total)
		}
	})
}

func TestTheShopsOwnMoneyToldAgainNeedsNobody(t *testing.T) {
	quietEvening(t, func(t *testing.T, e *evening) {
		v := newSimVisitor(e, simTwins, 0)
		v.tabs = 1
		if err := v.join(); err != nil {
			t.Fatal(err)
		}
		o, err := v.holdThese(sale.HoldRequest{Event: simTwins, Token: v.view.Token, Best: true, Count: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"k1", "k2", "k2"} {
			v.confirm(o, sale.Confirmation{Key: key, Amount: o.Total, Currency: o.Currency, Reference: "till 1"})
		}
		e.must("attention", func(of *sale.Office) error {
			if got := of.Attention(); len(got) > 0 {
				t.Errorf("attention: got %+v, want nothing", got[0])
			}
			return nil
		})
	})
}

func TestNumbersOfDeliveredMessagesAreNotGivenAgain(t *testing.T) {
	quietEvening(t, func(t *testing.T, e *evening) {
		e.buys(0)
		e.drain()
		before := len(e.sinks[0].deliveries())
		e.restart("orderly")
		e.buys(1)
		e.drain()
		got := e.sinks[0].deliveries()
		if before == 0 || len(got) == before {
			t.Fatalf("got %d and %d deliveries, want some before and after the restart", before, len(got)-before)
		}
		highest := uint64(0)
		for i, d := range got {
			if i >= before && d.seq <= highest {
				t.Errorf("a message after the restart has number %d, want one above %d", d.seq, highest)
			}
			if i < before {
				highest = max(highest, d.seq)
			}
		}
	})
}
