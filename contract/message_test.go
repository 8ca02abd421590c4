package contract

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
)

func TestB60OutgoingMessagesAreSignedInOrderAndAtLeastOnce(t *testing.T) {
	t.Parallel()
	e := eventOf(t, shared, 8, nil)
	const fails = 1 // the first retry comes within 10 s
	orders := make([]order, 4)
	for i := range orders {
		o := e.buyer(t).holds(t, fmt.Sprintf("A-%d", 2*i+1), fmt.Sprintf("A-%d", 2*i+2))
		if i == 0 {
			e.h.sink.failFirst("order:"+o.id, fails)
		}
		o.confirm(t, "k", o.money()).want(t, http.StatusOK)
		orders[i] = o
	}
	for i := len(orders) - 1; i >= 0; i-- { // those that do not fail do not wait
		got := e.h.sink.sold(t, orders[i].id, 2)
		ids := map[string]bool{}
		for n, m := range got {
			ids[m.ID] = true
			if want := []string{"order.paid", "ticket.issued", "ticket.issued"}[n]; m.Topic != want {
				t.Errorf("message %d is %s, want %s", n, m.Topic, want)
			}
		}
		if len(ids) != 3 {
			t.Errorf("ids %v, want three", ids)
		}
		var paid struct {
			OrderID string `json:"orderId"`
			Status  string
			Total   struct{ Amount int }
		}
		if err := json.Unmarshal(got[0].Data, &paid); err != nil || paid.OrderID != orders[i].id || paid.Status != "PAID" || paid.Total.Amount != 8500 {
			t.Errorf("order.paid carries %s, want the order", got[0].Data)
		}
	}
	all := e.h.sink.of(orders[0].id)
	for i := range fails {
		if all[i].ID != all[fails].ID || all[i].Topic != "order.paid" {
			t.Errorf("delivery %d is %s %s, want the head again until it is taken", i, all[i].Topic, all[i].ID)
		}
	}
	e.h.sink.mu.Lock()
	defer e.h.sink.mu.Unlock()
	if len(e.h.sink.faults) > 0 {
		t.Errorf("wrong in messages so far: %v", e.h.sink.faults)
	}
}
