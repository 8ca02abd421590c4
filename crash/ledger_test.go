package crash

import (
	"fmt"
	"slices"
	"sync"
)

// ledger is what the program acknowledged. What was shown counts like what was
// answered: nobody may be shown what a crash can take back.
type ledger struct {
	mu     sync.Mutex
	places map[string]*placeFact // by queueId
	orders map[string]*orderFact
	number map[numbered]string // event and number -> queueId
	joins  []joined
	asked  map[*asked]bool // holds without an answer
	money  map[string]*money
	sold   map[string]bool // event and seat, seen SOLD on a map
	shops  []confirmed     // confirmations that were answered
	racks  map[*event]*rack
	ops    []op // the history, for the models
	faults []string
	many   int // faults beyond those kept

	behind, before moment // by how much the program's clock was behind the rig's, and before it, at most
}

type numbered struct {
	event  string
	number int
}

// joined is one join: its place got a number at some moment of it.
type joined struct {
	event      string
	number     int
	start, end moment
}

// asked is a hold that has no answer, yet or for ever.
type asked struct {
	visitor *visitor
	event   string
	seats   []string
	start   moment
	turn    string
	found   bool // its order was seen
}

// money is one payment that the rig tells the program of.
type money struct {
	order  string
	amount int64
	told   bool // acknowledged
}

// confirmed is a confirmation with its answer.
type confirmed struct {
	order          *orderFact
	key, reference string
	status         int
	outcome        string
}

func newLedger() *ledger {
	return &ledger{
		places: map[string]*placeFact{}, orders: map[string]*orderFact{}, number: map[numbered]string{},
		money: map[string]*money{}, sold: map[string]bool{}, asked: map[*asked]bool{}, racks: map[*event]*rack{},
	}
}

// fault writes down a broken promise. The first ones say what went wrong; later
// ones are only counted.
func (l *ledger) fault(check, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faultLocked(check, format, args...)
}

func (l *ledger) faultLocked(check, format string, args ...any) {
	if len(l.faults) >= 12 {
		l.many++
		return
	}
	l.faults = append(l.faults, check+": "+fmt.Sprintf(format, args...))
}

func (l *ledger) broken() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.faults) > 0
}

// asking notes a hold before it is sent; answered strikes it out again, and tells
// whether its order was found meanwhile.
func (l *ledger) asking(h *asked) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked[h] = true
	h.visitor.tabs = h.visitor.tabs || h.visitor.asking > 0
	h.visitor.asking++
}

func (l *ledger) answered(h *asked) (found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !h.found {
		delete(l.asked, h)
		h.visitor.asking--
	}
	return h.found
}

// candidates are the holds without an answer that may have made an order.
func (l *ledger) candidates(c clock, d *orderDoc) (all []*asked) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seats := slices.Sorted(slices.Values(d.seats()))
	for h := range l.asked {
		if h.event == d.EventID && h.start <= c.of(d.CreatedAt)+slack && slices.Equal(slices.Sorted(slices.Values(h.seats)), seats) {
			all = append(all, h)
		}
	}
	return all
}

// claim takes a hold for the one that made an order, and the order into the
// ledger. It is false when somebody has done so meanwhile.
func (l *ledger) claim(c clock, h *asked, d *orderDoc) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.found || l.orders[d.OrderID] != nil {
		return false
	}
	h.found = true
	delete(l.asked, h)
	h.visitor.asking--
	l.enter(c, d, h.visitor, h.turn)
	l.orders[d.OrderID].mayCancel = true // he may have left or chosen others before anybody saw it
	return true
}

// add appends to the history.
func (l *ledger) add(o op) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ops = append(l.ops, o)
}

// order finds an order's entry.
func (l *ledger) order(id string) *orderFact {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.orders[id]
}

// pays notes that money is about to be told of; from now on it may do what money
// does: pay the order, use up its turn, and end the buyer's own newer hold.
func (l *ledger) pays(payment string, o *orderFact, amount int64, now moment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.money[payment] == nil {
		l.money[payment] = &money{order: o.id, amount: amount}
	}
	o.mayMoney = true
	if v := o.visitor; v != nil {
		v.paid = true
		for _, other := range v.orders {
			other.mayCancel = other.mayCancel || other != o
		}
	}
	if p := l.places[o.turn]; p != nil {
		p.mayEnd, p.endedBy = true, min(p.endedBy, now)
	}
}

// told notes that money was acknowledged.
func (l *ledger) told(payment string, o *orderFact) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.money[payment].told = true
	o.must.money = true
}

func (l *ledger) confirmed(c confirmed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shops = append(l.shops, c)
}

func (l *ledger) joined(j joined) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.joins = append(l.joins, j)
}
