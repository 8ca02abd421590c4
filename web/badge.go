package web

import "foyer/sale"

// badge says in a word or two where an event stands, the same to the public and to
// staff. The colour follows the phase and tells nothing more.
type badge struct {
	Phase sale.Phase
	Word  string
}

// badge is the one of an event that stands in this phase.
func (s *Server) badge(e *sale.Event, phase sale.Phase) badge {
	return badge{phase, badgeWord(phase, e.Presale(s.office.Calendar()), e.Paused, e.Invited())}
}

// badgeWord finds the word. The phase alone does not tell of a presale, which is
// before the opening, nor that nobody joins without a code.
func badgeWord(phase sale.Phase, presale, paused, invited bool) string {
	switch phase {
	case sale.PhaseLobby:
		word := "Not open yet"
		switch {
		case presale && paused:
			word = "Presale paused"
		case presale:
			word = "Presale"
		}
		if invited {
			word += ", by invitation"
		}
		return word
	case sale.PhaseOpen:
		if invited {
			return "By invitation"
		}
		return "On sale"
	case sale.PhasePaused:
		return "Paused"
	case sale.PhaseSoldOut:
		return "Sold out"
	case sale.PhaseClosed:
		return "Closed"
	}
	return string(phase)
}
