package crash

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// The checkers are checked: histories that broke a promise must be refuted, and
// honest ones accepted, with everything that an honest program may do.

var (
	ann, bob = &visitor{}, &visitor{}
	rules    = tiny(0)
)

// at makes one step of a history that runs from start to end, in seconds.
func at(start, end float64, s step) porcupine.Operation {
	s.start, s.end, s.event = moment(start*float64(second)), moment(end*float64(second)), rules
	return porcupine.Operation{Input: s, Call: int64(s.start), Return: int64(s.end)}
}

func holds(v *visitor, order string, start, end float64) porcupine.Operation {
	middle := moment((start + end) / 2 * float64(second))
	return at(start, end, step{op: op{kind: opHold, visitor: v, order: order, at: middle, deadline: middle + 2*second, sure: true}})
}

// did makes any other step that was answered.
func did(kind opKind, v *visitor, order string, start, end float64, change ...func(*step)) porcupine.Operation {
	s := step{op: op{kind: kind, visitor: v, order: order, sure: true, at: moment((start + end) / 2 * float64(second))}, paid: kind == opMoney}
	if kind == opPay {
		s.deadline = never
	}
	for _, f := range change {
		f(&s)
	}
	return at(start, end, s)
}

func unanswered(s *step)              { s.sure = false }
func free(s *step)                    { s.free = true }
func elsewhere(s *step)               { s.elsewhere = true }
func refunded(s *step)                { s.paid = false }
func shown(status string) func(*step) { return func(s *step) { s.status = status } }
func until(t float64) func(*step)     { return func(s *step) { s.deadline = moment(t * float64(second)) } }

type caseOf struct {
	name string
	ops  []porcupine.Operation
	want porcupine.CheckResult
}

func TestSeatModelRefutesWhatMustNotHappen(t *testing.T) {
	for _, h := range []caseOf{
		{"a hold, a refusal, a release and the next hold", []porcupine.Operation{
			holds(ann, "1", 0, 0.1), did(opLost, bob, "", 0.2, 0.3), did(opGive, ann, "1", 0.4, 0.5), holds(bob, "2", 0.6, 0.7)}, porcupine.Ok},
		{"a refusal beside the release", []porcupine.Operation{
			holds(ann, "1", 0, 0.1), did(opGive, ann, "1", 0.2, 0.5), did(opLost, bob, "", 0.3, 0.6), holds(bob, "2", 0.4, 0.8)}, porcupine.Ok},
		{"double sale", []porcupine.Operation{
			holds(ann, "1", 0, 0.1), did(opMoney, ann, "1", 0.2, 0.3), holds(bob, "2", 0.4, 0.5), did(opMoney, bob, "2", 0.6, 0.7)}, porcupine.Illegal},
		{"two holds at once", []porcupine.Operation{holds(ann, "1", 0, 0.1), holds(bob, "2", 0.05, 0.2)}, porcupine.Illegal},
		{"a hold is taken over at its deadline", []porcupine.Operation{holds(ann, "1", 0, 0.1), holds(bob, "2", 2.04, 2.1)}, porcupine.Ok},
		{"a hold is taken over before its deadline", []porcupine.Operation{holds(ann, "1", 0, 0.1), holds(bob, "2", 1.9, 2.0)}, porcupine.Illegal},
		{"a lost hold: shown as free", []porcupine.Operation{holds(ann, "1", 0, 0.1), did(opLost, bob, "", 0.3, 0.4, free)}, porcupine.Illegal},
		{"a stale refusal", []porcupine.Operation{
			holds(ann, "1", 0, 0.1), did(opGive, ann, "1", 0.2, 0.3), did(opLost, bob, "", 0.4, 0.5)}, porcupine.Illegal},
		{"a refusal of a seat nobody ever had", []porcupine.Operation{did(opLost, bob, "", 0.4, 0.5)}, porcupine.Illegal},
		{"a refusal after the deadline", []porcupine.Operation{holds(ann, "1", 0, 0.1), did(opLost, bob, "", 2.3, 2.4)}, porcupine.Illegal},
		{"a release that was lost", []porcupine.Operation{
			holds(ann, "1", 0, 0.1), did(opGive, ann, "1", 0.2, 0.3), did(opSeen, ann, "1", 0.4, 0.5, shown("PENDING"))}, porcupine.Illegal},
		{"leaving that was lost", []porcupine.Operation{
			holds(ann, "1", 0, 0.1), did(opLeave, ann, "", 0.2, 0.3), did(opLost, bob, "", 0.4, 0.5)}, porcupine.Illegal},
		{"a release nobody answered, that happened", []porcupine.Operation{
			holds(ann, "1", 0, 0.1), did(opGive, ann, "1", 0.2, 1, unanswered), holds(bob, "2", 0.9, 1.1)}, porcupine.Ok},
		{"a release nobody answered, that did not", []porcupine.Operation{
			holds(ann, "1", 0, 0.1), did(opGive, ann, "1", 0.2, 1, unanswered), did(opLost, bob, "", 1.1, 1.2)}, porcupine.Ok},
		{"a release nobody answered takes effect after the end of its process", []porcupine.Operation{
			holds(ann, "1", 0, 0.1), did(opGive, ann, "1", 0.2, 1, unanswered), did(opLost, bob, "", 1.1, 1.2), holds(bob, "2", 1.3, 1.4)}, porcupine.Illegal},
		{"a payment moves the deadline", []porcupine.Operation{
			holds(ann, "1", 0, 0.1), did(opPay, ann, "1", 0.2, 0.3, until(3)), holds(bob, "2", 2.5, 2.6)}, porcupine.Illegal},
		{"a payment nobody answered may move it or not", []porcupine.Operation{
			holds(ann, "1", 0, 0.1), did(opPay, ann, "1", 0.2, 0.3, unanswered), did(opLost, bob, "", 2.5, 2.6), holds(bob, "2", 4.5, 4.6)}, porcupine.Ok},
		{"late money takes a free seat again", []porcupine.Operation{
			holds(ann, "1", 0, 0.1), did(opGive, ann, "1", 0.2, 0.3), did(opMoney, ann, "1", 0.4, 0.5), did(opSeen, ann, "1", 0.6, 0.7, shown("PAID"))}, porcupine.Ok},
		{"late money takes a seat that another holds", []porcupine.Operation{
			holds(ann, "1", 0, 0.1), did(opGive, ann, "1", 0.2, 0.3), holds(bob, "2", 0.4, 0.5), did(opMoney, ann, "1", 0.6, 0.7)}, porcupine.Illegal},
		{"a refund is due", []porcupine.Operation{
			holds(ann, "1", 0, 0.1), did(opGive, ann, "1", 0.2, 0.3), holds(bob, "2", 0.4, 0.5), did(opMoney, ann, "1", 0.6, 0.7, refunded)}, porcupine.Ok},
		{"a sold seat is free again", []porcupine.Operation{
			holds(ann, "1", 0, 0.1), did(opMoney, ann, "1", 0.2, 0.3), did(opLost, bob, "", 0.4, 0.5, free)}, porcupine.Illegal},
		{"a payment that was shown and then lost", []porcupine.Operation{
			holds(ann, "1", 0, 0.1), did(opMoney, ann, "1", 0.2, 0.6, unanswered), did(opSeen, ann, "1", 0.3, 0.4, shown("PAID")), did(opSeen, ann, "1", 0.7, 0.8, shown("PENDING"))}, porcupine.Illegal},
		{"a new hold elsewhere frees the old one", []porcupine.Operation{
			holds(ann, "1", 0, 0.1), did(opHold, ann, "2", 0.2, 0.3, elsewhere), holds(bob, "3", 0.4, 0.5)}, porcupine.Ok},
		{"a new hold elsewhere, and the old one stays", []porcupine.Operation{
			holds(ann, "1", 0, 0.1), did(opHold, ann, "2", 0.2, 0.3, elsewhere), did(opLost, bob, "", 0.4, 0.5)}, porcupine.Illegal},
		{"time runs against the commits", []porcupine.Operation{
			holds(ann, "1", 1, 1.1), did(opGive, ann, "1", 1.2, 1.3), did(opHold, bob, "2", 1.4, 1.5, func(s *step) { s.at = second })}, porcupine.Illegal},
	} {
		if got := porcupine.CheckOperationsTimeout(seatModel, h.ops, 10*time.Second); got != h.want {
			t.Errorf("%s: %s, want %s\n%s", h.name, got, h.want, tell(h.ops))
		}
	}
}

func TestTurnModelRefutesTwoOrdersOfOneTurn(t *testing.T) {
	for _, h := range []caseOf{
		{"a hold replaced, then paid", []porcupine.Operation{
			holds(ann, "1", 0, 0.1), holds(ann, "2", 0.2, 0.3), did(opMoney, ann, "2", 0.4, 0.5), did(opRefused, ann, "", 0.6, 0.7)}, porcupine.Ok},
		{"the same turn buys twice", []porcupine.Operation{
			holds(ann, "1", 0, 0.1), did(opMoney, ann, "1", 0.2, 0.3), holds(ann, "2", 0.4, 0.5)}, porcupine.Illegal},
		{"the replaced order claims the turn again", []porcupine.Operation{
			holds(ann, "1", 0, 0.1), holds(ann, "2", 0.2, 0.3), did(opSeen, ann, "1", 0.4, 0.5, shown("CLAIMED"))}, porcupine.Illegal},
		{"a turn that was left is used", []porcupine.Operation{did(opLeave, ann, "", 0, 0.1), holds(ann, "1", 0.2, 0.3)}, porcupine.Illegal},
		{"leaving nobody answered may come late", []porcupine.Operation{did(opLeave, ann, "", 0, 1, unanswered), holds(ann, "1", 0.2, 0.3), did(opRefused, ann, "", 0.4, 0.5)}, porcupine.Ok},
		{"a turn refused without a reason", []porcupine.Operation{holds(ann, "1", 0, 0.1), did(opRefused, ann, "", 0.4, 0.5)}, porcupine.Illegal},
		{"a claim that was lost", []porcupine.Operation{
			holds(ann, "1", 0, 0.1), did(opGive, ann, "1", 0.2, 0.3), did(opSeen, ann, "1", 0.4, 0.5, shown("CLAIMED"))}, porcupine.Illegal},
	} {
		if got := porcupine.CheckOperationsTimeout(turnModel, h.ops, 10*time.Second); got != h.want {
			t.Errorf("%s: %s, want %s\n%s", h.name, got, h.want, tell(h.ops))
		}
	}
}

// acts is an act of a shop, or a turn as it was shown, at a turn that ends after 6 seconds.
func acts(kind opKind, customer, state string, until, start, end float64, change ...func(*step)) porcupine.Operation {
	s := step{op: op{kind: kind, customer: customer, status: state, deadline: moment(until * float64(second)), sure: true}, expires: 6 * second}
	for _, f := range change {
		f(&s)
	}
	return at(start, end, s)
}

func refused(code string) func(*step) {
	return func(s *step) { s.refusal, s.status, s.deadline = code, "", 0 }
}

func TestTokenModelRefutesATurnUsedTwice(t *testing.T) {
	claimed := acts(opClaim, "c", "CLAIMED", 6, 0, 0.1)
	consumed := acts(opConsume, "c", "CONSUMED", 0.2, 0.2, 0.3)
	released := acts(opRelease, "", "READY", 6, 0.2, 0.3)
	for _, h := range []caseOf{
		{"claimed, released, claimed again and used", []porcupine.Operation{
			claimed, released, acts(opClaim, "d", "CLAIMED", 6, 0.4, 0.5), acts(opConsume, "", "CONSUMED", 0.6, 0.6, 0.7), acts(opSeen, "d", "CONSUMED", 0.6, 0.8, 0.9)}, porcupine.Ok},
		{"two claims at once, of which one wins", []porcupine.Operation{claimed, acts(opClaim, "c", "", 0, 0, 0.1, refused("turn_in_use"))}, porcupine.Ok},
		{"two claims", []porcupine.Operation{claimed, acts(opClaim, "d", "CLAIMED", 6, 0, 0.1)}, porcupine.Illegal},
		{"a claim that was lost: claimed again", []porcupine.Operation{claimed, acts(opClaim, "c", "CLAIMED", 6, 0.2, 0.3)}, porcupine.Illegal},
		{"a claim that was lost: shown as free", []porcupine.Operation{claimed, acts(opSeen, "", "READY", 6, 0.2, 0.3)}, porcupine.Illegal},
		{"a claim that was lost: nothing to use up", []porcupine.Operation{claimed, acts(opConsume, "c", "", 0, 0.2, 0.3, refused("turn_not_claimed"))}, porcupine.Illegal},
		{"a claim for somebody else", []porcupine.Operation{claimed, acts(opConsume, "d", "", 0, 0.2, 0.3, refused("turn_in_use"))}, porcupine.Ok},
		{"a claim for somebody else is used up", []porcupine.Operation{claimed, acts(opConsume, "d", "CONSUMED", 0.2, 0.2, 0.3)}, porcupine.Illegal},
		{"a claim that its own shop may not use", []porcupine.Operation{claimed, acts(opConsume, "c", "", 0, 0.2, 0.3, refused("turn_in_use"))}, porcupine.Illegal},
		{"a claim lapses with the turn", []porcupine.Operation{
			claimed, acts(opSeen, "c", "EXPIRED", 6, 6.1, 6.2), acts(opClaim, "c", "", 0, 6.3, 6.4, refused("entry_token_expired"))}, porcupine.Ok},
		{"a claim lapses too early", []porcupine.Operation{claimed, acts(opSeen, "c", "EXPIRED", 6, 5.5, 5.6)}, porcupine.Illegal},
		{"a claim outlasts its time", []porcupine.Operation{claimed, acts(opConsume, "c", "CONSUMED", 6.2, 6.2, 6.3)}, porcupine.Illegal},
		{"a late claim outlasts the turn", []porcupine.Operation{acts(opClaim, "c", "CLAIMED", 7.05, 5, 5.1), acts(opConsume, "c", "CONSUMED", 6.5, 6.5, 6.6)}, porcupine.Ok},
		{"a claim that lasts longer than it may", []porcupine.Operation{acts(opClaim, "c", "CLAIMED", 9, 5, 5.1)}, porcupine.Illegal},
		{"used up twice", []porcupine.Operation{claimed, consumed, acts(opConsume, "c", "CONSUMED", 0.4, 0.4, 0.5)}, porcupine.Illegal},
		{"used up, and claimed again", []porcupine.Operation{claimed, consumed, acts(opClaim, "c", "CLAIMED", 6, 0.4, 0.5)}, porcupine.Illegal},
		{"used up, and shown as claimed", []porcupine.Operation{claimed, consumed, acts(opSeen, "c", "CLAIMED", 6, 0.4, 0.5)}, porcupine.Illegal},
		{"a release that was lost", []porcupine.Operation{claimed, released, acts(opSeen, "c", "CLAIMED", 6, 0.4, 0.5)}, porcupine.Illegal},
		{"left, and claimed", []porcupine.Operation{acts(opLeave, "", "", 0, 0, 0.1), acts(opClaim, "c", "CLAIMED", 6, 0.2, 0.3)}, porcupine.Illegal},
		{"leaving nobody answered may come late", []porcupine.Operation{
			acts(opLeave, "", "", 0, 0, 1, unanswered), acts(opClaim, "c", "CLAIMED", 6, 0.2, 0.3), acts(opSeen, "", "REVOKED", 0, 0.4, 0.5)}, porcupine.Ok},
	} {
		if got := porcupine.CheckOperationsTimeout(tokenModel, h.ops, 10*time.Second); got != h.want {
			t.Errorf("%s: %s, want %s\n%s", h.name, got, h.want, tell(h.ops))
		}
	}
}

// TestUsesOfCodesAreCounted shows the ledger joins with a code for two people.
func TestUsesOfCodesAreCounted(t *testing.T) {
	const gives, again, used, lost = "gives a place", "shows it again", "is used up", "is not answered"
	for _, h := range []struct {
		joins []string
		want  bool
	}{
		{[]string{gives, again, gives, again, used, used}, false},
		{[]string{gives, gives, gives}, true},
		{[]string{gives, used}, true},
		{[]string{gives, lost, used}, false}, // the lost one may have got in
		{[]string{gives, lost, gives}, false},
		{[]string{lost, used}, true},
	} {
		l, c, places := newLedger(), &codeFact{limit: 2, gave: map[string]bool{}}, 0
		for _, join := range h.joins {
			a := &answer{status: http.StatusConflict, body: []byte(`{"code":"code_used"}`)}
			switch join {
			case gives:
				places++
				a = &answer{status: http.StatusCreated, body: fmt.Appendf(nil, `{"queueId":"%d"}`, places)}
			case again:
				a = &answer{status: http.StatusOK, body: fmt.Appendf(nil, `{"queueId":"%d"}`, places)}
			case lost:
				a = &answer{}
			}
			l.shows(c)
			l.shown(c, a)
		}
		if l.broken() != h.want {
			t.Errorf("%q: found %v, want %v", h.joins, l.faults, h.want)
		}
	}
}

func TestNumbersOutOfOrderAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		joins []joined
		want  bool
	}{
		"side by side":    {[]joined{{"e", 2, 0, 5}, {"e", 1, 3, 6}}, false},
		"in order":        {[]joined{{"e", 1, 0, 1}, {"e", 2, 2, 3}, {"e", 3, 4, 5}}, false},
		"out of order":    {[]joined{{"e", 2, 0, 1}, {"e", 1, 2, 3}}, true},
		"a second answer": {[]joined{{"e", 1, 0, 1}, {"e", 2, 2, 3}, {"e", 1, 4, 5}}, false},
		"a long way back": {[]joined{{"e", 9, 0, 1}, {"e", 10, 0, 90}, {"e", 3, 80, 99}}, true},
	} {
		if _, _, got := outOfOrder(c.joins); got != c.want {
			t.Errorf("%s: found %v, want %v", name, got, c.want)
		}
	}
}
