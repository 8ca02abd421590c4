package crash

import (
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// opKind is what a call did, or may have done, to seats and turns.
type opKind string

const (
	opHold    opKind = "hold"    // seats taken by a new order; older open ones of the visitor end
	opLost    opKind = "lost"    // a hold refused, because somebody had the seats it names
	opRefused opKind = "refused" // a hold refused, because its turn is over
	opGive    opKind = "give"    // an order gave its seats back, or had none
	opLeave   opKind = "leave"   // a visitor left; his open orders end
	opPay     opKind = "pay"     // an order's deadline may move
	opMoney   opKind = "money"   // an order is paid, or to be refunded
	opSeen    opKind = "seen"    // an order, or a turn, was shown

	opClaim   opKind = "claim" // acts of a shop on a turn
	opRelease opKind = "release"
	opConsume opKind = "consume"
)

// op is one call in the history.
type op struct {
	kind        opKind
	event, turn string
	visitor     *visitor
	order       string
	seats, lost []string
	status      string // what was shown
	at          moment // the program's time of the answer; 0 when it did not say
	deadline    moment
	start, end  moment
	life        int
	sure        bool // it took effect; otherwise it did or did not
	late        bool // its order was found, it was not answered

	customer string // of a shop's act; when a turn was shown: as it says, or ""
	refusal  string // the code of the refusal, "" when the act was done
}

// claims tells whether an order was seen that had its turn.
func (o *op) claims() bool {
	return o.status == "CLAIMED" || o.status == "PENDING" || o.status == "PAYING"
}

// step is what one call does to one seat or one turn: the input of the models.
type step struct {
	op
	elsewhere bool // the call was about other seats
	free      bool // a refused hold did not name this seat as lost
	paid      bool // the order ended as PAID
	event     *event
	expires   moment // the end of a turn
}

// history is what the models check: operations of each seat, of each turn, and of
// each turn that is a shop's.
type history struct {
	seats, turns, tokens map[string][]porcupine.Operation
}

// bound is when a call had its effect at the latest: when it was answered, or
// else when the life ended in which it was made. The dead do nothing.
func (r *rig) bound(o *op) moment {
	if o.sure {
		return o.end
	}
	return r.deathOf(o.life)
}

// history sorts the calls by the seats and the turns that they may have touched.
func (r *rig) history() history {
	h := history{map[string][]porcupine.Operation{}, map[string][]porcupine.Operation{}, map[string][]porcupine.Operation{}}
	events := map[string]*event{}
	for _, e := range r.events {
		events[e.id] = e
	}
	had := map[*visitor][]string{} // all seats that a visitor ever had
	for _, o := range r.ledger.ops {
		if o.kind == opHold {
			had[o.visitor] = append(had[o.visitor], o.seats...)
		}
	}
	for _, o := range r.ledger.ops {
		s := step{op: o, event: events[o.event]}
		if f := r.ledger.orders[o.order]; f != nil {
			s.paid = f.must.paid
		}
		add := func(to map[string][]porcupine.Operation, key string, s step) {
			to[key] = append(to[key], porcupine.Operation{Input: s, Call: int64(o.start), Return: int64(max(o.start, r.bound(&o)))})
		}
		if s.event.shop {
			s.expires = r.ledger.places[o.turn].expires
			add(h.tokens, o.turn, s)
			continue
		}
		if o.turn != "" && (o.kind != opSeen || o.claims()) {
			add(h.turns, o.turn, s)
		}
		if o.status == "CLAIMED" || o.kind == opRefused {
			continue
		}
		for _, seat := range o.seats {
			s.free = o.kind == opLost && !slices.Contains(o.lost, seat)
			add(h.seats, o.event+" "+seat, s)
		}
		if o.kind != opHold && o.kind != opLeave && o.kind != opMoney {
			continue
		}
		for _, seat := range slices.Compact(slices.Sorted(slices.Values(had[o.visitor]))) {
			if !slices.Contains(o.seats, seat) {
				s.elsewhere = true
				add(h.seats, o.event+" "+seat, s)
			}
		}
	}
	return h
}

// modelTime is how long the search may take for one seat or turn.
const modelTime = 20 * time.Second

// checkModels looks for an order of the calls in which each does what it was
// answered (Herlihy and Wing, Linearizability, TOPLAS 1990; the search is
// porcupine's).
func (r *rig) checkModels() {
	began := time.Now()
	h := r.history()
	longest := 0
	models := map[string]porcupine.Model{"seat": seatModel, "turn": turnModel, "turn of a shop": tokenModel}
	for what, all := range map[string]map[string][]porcupine.Operation{"seat": h.seats, "turn": h.turns, "turn of a shop": h.tokens} {
		model := models[what]
		for key, ops := range all {
			longest = max(longest, len(ops))
			switch porcupine.CheckOperationsTimeout(model, ops, modelTime) {
			case porcupine.Illegal:
				r.ledger.fault("linearizable", "%s %s: no order of its calls explains their answers:\n%s", what, key, tell(ops))
			case porcupine.Unknown:
				r.ledger.fault("linearizable", "%s %s: %d calls could not be judged within %v; kill less or choose a shorter run", what, key, len(ops), modelTime)
			}
		}
	}
	r.t.Logf("linearizable: %d seats, %d turns, %d turns of shops, at most %d calls of one, in %v", len(h.seats), len(h.turns), len(h.tokens), longest, time.Since(began).Round(time.Millisecond))
}
