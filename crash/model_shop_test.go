package crash

import "github.com/anishathalye/porcupine"

// tokenState is one turn in the hands of a shop, as the history tells.
type tokenState struct {
	phase    string // "", "claimed", "consumed" or "left"
	customer string // of the claim
	until    moment // when the claim lapses
}

// tokenModel is what may happen to a turn that is a shop's: one claim at a time is
// on it until it is taken off, lapses, or the turn is used up, and after that, or
// after the visitor left, nothing is.
var tokenModel = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{tokenState{}} },
	Step: func(state, input, _ any) []any {
		s, i := state.(tokenState), input.(step)
		var next []any
		if n, ok := s.after(i); ok {
			next = append(next, n)
		}
		if !i.sure {
			next = append(next, s)
		}
		return next
	},
}).ToModel()

// ends is when the turn, or the claim on it, is over.
func (s tokenState) ends(i step) moment {
	if s.phase == "claimed" {
		return s.until
	}
	return i.expires
}

// lasts tells whether the turn may not have been over at some moment of the call;
// lapsed, whether it may have been.
func (s tokenState) lasts(i step) bool  { return !s.over() && i.start-slack < s.ends(i) }
func (s tokenState) lapsed(i step) bool { return !s.over() && i.end+slack >= s.ends(i) }
func (s tokenState) over() bool         { return s.phase == "consumed" || s.phase == "left" }

// claimed tells whether a claim is on the turn that lets the customer act, or one
// that does not.
func (s tokenState) claimed(i step, mine bool) bool {
	return s.phase == "claimed" && s.lasts(i) && mine == (i.customer == "" || i.customer == s.customer)
}

// after is the turn after a call that took effect; ok is false when its answer
// cannot be true of it.
func (s tokenState) after(i step) (n tokenState, ok bool) {
	free := s.phase == "" && s.lasts(i)
	switch i.refusal {
	case "":
	case "turn_in_use":
		return s, s.phase == "consumed" || i.kind != opRelease && i.kind != opConsume && s.phase == "claimed" && s.lasts(i) || i.kind != opClaim && s.claimed(i, false)
	case "turn_not_claimed":
		return s, i.kind == opConsume && free
	case "entry_token_expired":
		return s, s.lapsed(i)
	default: // not_admitted
		return s, s.phase == "left"
	}
	switch i.kind {
	case opClaim:
		lasts := i.deadline == i.expires || i.deadline > i.expires && i.deadline >= i.start-slack+moment(i.event.hold)*second && i.deadline <= i.end+slack+moment(i.event.hold)*second
		return tokenState{"claimed", i.customer, i.deadline}, free && lasts
	case opRelease:
		return tokenState{}, s.claimed(i, true) || free
	case opConsume:
		return tokenState{phase: "consumed"}, s.claimed(i, true)
	case opLeave:
		return tokenState{phase: "left"}, s.phase != "consumed"
	case opSeen:
		return s, s.shows(i)
	}
	return s, false
}

// shows tells whether the turn may be seen in a state.
func (s tokenState) shows(i step) bool {
	switch i.status {
	case "READY":
		return s.phase == "" && s.lasts(i)
	case "CLAIMED":
		named := s.customer == "" || i.customer == "" || i.customer == s.customer
		return s.phase == "claimed" && s.lasts(i) && named && (i.deadline == 0 || i.deadline == s.until)
	case "CONSUMED":
		return s.phase == "consumed"
	case "EXPIRED":
		return s.lapsed(i)
	}
	return s.phase == "left" // REVOKED
}
