package crash

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// seatState is one seat as the history tells.
type seatState struct {
	phase   string // "", "held" or "sold"
	order   string
	visitor *visitor
	least   moment // its hold ends then at the earliest ...
	most    moment // ... and then at the latest: a payment may have begun that nobody answered
	newest  moment // the program's time of the newest hold; it never runs against commits
}

// seatModel is what may happen to one seat.
var seatModel = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{seatState{}} },
	Step: func(state, input, _ any) []any {
		s, i := state.(seatState), input.(step)
		var next []any
		if n, ok := s.after(i); ok {
			next = append(next, n)
		}
		if !i.sure || i.elsewhere && i.kind == opMoney {
			next = append(next, s) // it did not happen, or needed nothing of this seat
		}
		return next
	},
}).ToModel()

// after is the seat after a call that took effect; ok is false when its answer
// cannot be true of this seat.
func (s seatState) after(i step) (n seatState, ok bool) {
	held := s.phase == "held"
	own := s.visitor == i.visitor
	switch i.kind {
	case opHold:
		return s.afterHold(i)
	case opLost:
		if i.free {
			return s, s.phase == "" || held && (own || i.end+slack >= s.least)
		}
		return s, s.phase == "sold" || held && !own && i.start-slack < s.most
	case opGive:
		if held && s.order == i.order {
			if i.status == "EXPIRED" {
				return s, i.end+slack >= s.least
			}
			return seatState{newest: s.newest}, true
		}
		return s, s.phase != "sold" || s.order != i.order
	case opLeave:
		if held && own {
			return seatState{newest: s.newest}, true
		}
		return s, true
	case opPay:
		return s.afterPay(i)
	case opMoney:
		return s.afterMoney(i)
	case opSeen:
		return s, s.shows(i)
	}
	return s, false
}

func (s seatState) afterHold(i step) (seatState, bool) {
	held, own := s.phase == "held", s.visitor == i.visitor
	if i.elsewhere {
		if held && own && s.order != i.order {
			return seatState{newest: s.newest}, true
		}
		return s, true
	}
	ok := i.at >= s.newest && (s.phase == "" || held && (own || i.at >= s.least))
	return seatState{phase: "held", order: i.order, visitor: i.visitor, least: i.deadline, most: i.deadline, newest: i.at}, ok
}

// afterPay: the deadline moves to the payment window plus its margin, unless it
// is later already. One that nobody answered moved it as far as it may have.
func (s seatState) afterPay(i step) (seatState, bool) {
	if s.phase != "held" || s.order != i.order {
		return s, !i.sure
	}
	if i.deadline != never {
		s.least, s.most = max(s.least, i.deadline), max(s.most, i.deadline)
		return s, true
	}
	window := moment(i.event.pay+i.event.margin) * second
	s.most = max(s.most, s.least+window)
	return s, true
}

// afterMoney: the order has its seats, or takes them again from nobody, from a
// lapsed hold or from the buyer's own newer one.
func (s seatState) afterMoney(i step) (seatState, bool) {
	held, own := s.phase == "held", s.visitor == i.visitor
	if i.elsewhere {
		if held && own && s.order != i.order {
			return seatState{newest: s.newest}, true
		}
		return s, true
	}
	if !i.paid { // a refund is due
		return s, s.phase != "sold" || s.order != i.order
	}
	ok := s.phase == "" || s.order == i.order || held && (own || i.end+slack >= s.least)
	return seatState{phase: "sold", order: i.order, visitor: i.visitor, newest: s.newest}, ok
}

// shows tells whether an order may be seen in a status.
func (s seatState) shows(i step) bool {
	held, mine := s.phase == "held", s.order == i.order
	switch i.status {
	case "PENDING", "PAYING":
		return held && mine && i.at < s.most
	case "PAID":
		return s.phase == "sold" && mine
	case "EXPIRED":
		return !mine || held && i.at >= s.least
	}
	return !mine // CANCELLED, REFUND_DUE, REFUNDED
}

// turnState is one turn as the history tells.
type turnState struct {
	phase string // "", "claimed", "consumed" or "left"
	order string // that claims it, or was the last to
}

// turnModel is what may happen to one turn: one order at a time claims it, and
// after one was paid or the visitor left nobody does.
var turnModel = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{turnState{}} },
	Step: func(state, input, _ any) []any {
		s, i := state.(turnState), input.(step)
		next := s.after(i)
		if !i.sure {
			next = append(next, s)
		}
		return next
	},
}).ToModel()

func (s turnState) after(i step) []any {
	over := s.phase == "consumed" || s.phase == "left"
	switch i.kind {
	case opHold:
		if over {
			return nil
		}
		return []any{turnState{"claimed", i.order}}
	case opRefused:
		if !over {
			return nil
		}
	case opGive:
		if s.phase == "claimed" && s.order == i.order {
			s.phase = ""
		}
	case opLeave:
		if s.phase == "consumed" {
			return nil
		}
		s.phase = "left"
	case opMoney:
		switch {
		case !i.paid || s.phase == "left":
		case s.order == i.order:
			s.phase = "consumed"
		default: // it takes the turn from a newer hold of the same seats, or leaves it
			return []any{s, turnState{"consumed", i.order}}
		}
	case opSeen:
		if i.claims() && (s.phase != "claimed" || s.order != i.order) {
			return nil
		}
	}
	return []any{s}
}

// tell writes down a history for people.
func tell(ops []porcupine.Operation) string {
	ops = slices.SortedFunc(slices.Values(ops), func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	if len(ops) > 60 {
		ops = ops[len(ops)-60:]
	}
	var b strings.Builder
	for _, o := range ops {
		i := o.Input.(step)
		fmt.Fprintf(&b, "  %v..%v %s order %.13s by %p %s at %v until %v", moment(o.Call), moment(o.Return), i.kind, i.order, i.visitor, i.status, i.at, i.deadline)
		for name, is := range map[string]bool{"unanswered": !i.sure, "found later": i.late, "of other seats": i.elsewhere, "seen free": i.free, "in the end PAID": i.paid} {
			if is {
				fmt.Fprintf(&b, ", %s", name)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
