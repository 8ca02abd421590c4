package crash

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// audit asks a house that has just risen for everything that was acknowledged.
// It tells whether the house lived through it.
func (r *rig) audit() bool {
	for _, p := range r.placesToAsk() {
		if !r.auditPlace(p) {
			return false
		}
	}
	full := r.life.Load()%10 == 0
	return r.auditCodes() && r.auditTokens() && r.auditShops() && r.auditOrders(full)
}

// placesToAsk are the places that may still be there: all that somebody stands in,
// and of those who only wait the latest and some of the others.
func (r *rig) placesToAsk() (ask []*placeFact) {
	l := r.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	now := r.clock.now()
	var waiting []*placeFact
	for _, p := range l.places {
		switch {
		case p.mayEnd || p.holdsOn+slack < now:
		case p.event.id == "long":
			waiting = append(waiting, p)
		default:
			ask = append(ask, p)
		}
	}
	slices.SortFunc(waiting, func(a, b *placeFact) int { return b.number - a.number })
	const latest, others = 80, 40
	if len(waiting) > latest+others && !r.ending() {
		step := (len(waiting) - latest) / others
		some := waiting[:latest]
		for i := latest; i < len(waiting); i += step {
			some = append(some, waiting[i])
		}
		waiting = some
	}
	return append(ask, waiting...)
}

func (r *rig) auditPlace(p *placeFact) bool {
	a := r.call("audit", "GET", p.event.path("/queue/"+p.queueID), nil, "X-Visitor", p.visitor.credential)
	switch {
	case !a.known():
		return false
	case a.status == http.StatusNotFound:
		r.ledger.gone(p, a, "audit")
	case a.status == http.StatusOK:
		d := a.place()
		if d.QueueID != p.queueID {
			r.ledger.fault("ledger", "place %s is shown as %s", p.queueID, d.QueueID)
		}
		r.ledger.observePlace(r.clock, p.event, p.visitor, &d, a)
	default:
		r.ledger.fault("answer", "place %s: %d %s", p.queueID, a.status, a.body)
	}
	return true
}

// auditShops repeats the latest confirmations, as a shop does that has crashed
// too: the same key gives the same answer, and with another body it is refused.
func (r *rig) auditShops() bool {
	r.ledger.mu.Lock()
	latest := slices.Clone(r.ledger.shops[max(0, len(r.ledger.shops)-5):])
	r.ledger.mu.Unlock()
	for _, c := range latest {
		b := r.confirm(c.order, c.key, c.reference, c.order.total+1) // first: the other would bring a lost record back
		if b.decided() && b.code() != "idempotency_key_reused" {
			r.ledger.fault("ledger", "order %s: after a restart key %s with another body gets %d %s", c.order.id, c.key, b.status, b.body)
		}
		a := r.confirm(c.order, c.key, c.reference, c.order.total)
		if a.decided() && (a.status != c.status || a.outcome() != c.outcome) {
			r.ledger.fault("ledger", "order %s: key %s was answered %d %s, and after a restart %d %s", c.order.id, c.key, c.status, c.outcome, a.status, a.outcome())
		}
		if !a.known() || !b.known() {
			return false
		}
	}
	return true
}

// auditOrders reads all orders, or those made since the last audit and ten seconds
// before, and holds them to the ledger.
func (r *rig) auditOrders(full bool) bool {
	since := r.lastAsk - 10*second
	if full {
		since = -1
	}
	r.lastAsk = r.clock.now()
	seen := map[string]bool{}
	r.mu.Lock()
	events := slices.Clone(r.events)
	r.mu.Unlock()
	for _, e := range events {
		if !r.auditOrdersOf(e, since, seen) {
			return false
		}
	}
	r.ledger.mu.Lock()
	var missing []string
	for id, o := range r.ledger.orders {
		if !seen[id] && o.created > since && o.created < r.lastAsk-slack {
			missing = append(missing, id)
		}
	}
	r.ledger.mu.Unlock()
	for _, id := range missing {
		r.ledger.fault("ledger", "order %s was acknowledged and is gone", id)
	}
	return true
}

func (r *rig) auditOrdersOf(e *event, since moment, seen map[string]bool) bool {
	for cursor := ""; ; {
		r.ledger.mu.Lock()
		was := map[string]must{}
		for id, o := range r.ledger.orders {
			m := o.must
			m.deadline = o.deadline
			was[id] = m
		}
		r.ledger.mu.Unlock()
		a := r.call("audit", "GET", "/api/v1/admin/orders?limit=500&event="+e.id+"&cursor="+cursor, nil, "Authorization", "Bearer "+adminKey)
		if !a.known() {
			return false
		}
		var list struct {
			Items []orderDoc
			Next  string
		}
		if a.decode(&list); a.status != http.StatusOK {
			r.ledger.fault("answer", "orders of %s: %d %s", e.id, a.status, a.body)
			return true
		}
		oldest := never
		for i := range list.Items {
			d := &list.Items[i]
			seen[d.OrderID] = true
			oldest = min(oldest, r.clock.of(d.CreatedAt))
			r.found(d)
			r.ledger.observe(r.clock, d, was[d.OrderID], a, "audit")
		}
		if cursor = list.Next; cursor == "" || oldest < since {
			return true
		}
	}
}

// reckon ends the evening: what is held lapses, what is to be told is told, and
// then everything must add up.
func (r *rig) reckon() {
	r.settleDown()
	r.audit()
	r.auditOrders(true)
	r.house.kill()
	r.buried()
	r.life.Add(1)
	if err := r.house.start(""); err != nil {
		r.ledger.fault("process", "%v", err)
		return
	}
	r.audit()
	r.auditOrders(true)
	r.reckonNumbers()
	r.reckonTurns()
	r.reckonSeats()
	r.reckonMoney()
	r.reckonMessages()
	r.tasks.reckon()
}

// settleDown waits until no hold is open and no message waits.
func (r *rig) settleDown() {
	var last []byte
	for deadline := time.Now().Add(2 * patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		a := r.call("audit", "GET", "/api/v1/admin/outbox?limit=5", nil, "Authorization", "Bearer "+adminKey)
		open := r.openOrders()
		last = a.body
		if a.status == http.StatusOK && strings.Contains(string(a.body), `"items":[]`) && open == 0 {
			return
		}
	}
	r.ledger.fault("messages", "some are not delivered, or holds are open, %v after the end: %s", 2*patience, last)
}

// openOrders counts the orders that wait for money.
func (r *rig) openOrders() (n int) {
	for _, status := range []string{"pending", "paying"} {
		a := r.call("audit", "GET", "/api/v1/admin/orders?limit=500&query="+status, nil, "Authorization", "Bearer "+adminKey)
		n += strings.Count(string(a.body), `"orderId"`)
	}
	return n
}
