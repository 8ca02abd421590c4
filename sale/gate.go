package sale

import (
	"errors"
	"net/url"
	"strings"

	"github.com/google/uuid"
)

// Pass is the answer to whether somebody may go into a shop that stands behind
// Foyer.
type Pass struct {
	In      bool
	Visitor uuid.UUID // uuid.Nil when nobody known comes in because the event has no line
	turn    tokenClaim
}

// PassToken mints the entry token of the turn that lets somebody in; "" when he
// needs none.
func (o *Office) PassToken(p Pass) string {
	if !p.In || p.turn.number == 0 {
		return ""
	}
	return o.mint(p.turn)
}

// Admits tells whether a visitor, or the one whose entry token is shown, may go
// into the shop behind the event's waiting room: when he has an active turn,
// whatever the event's phase, or when the event is OPEN, its line is "off" and it asks for no code.
// Going in picks the turn up. [ErrNoSuchEvent] is the only refusal; a turn is
// good also while nothing can be written.
func (o *Office) Admits(event string, visitor uuid.UUID, token string) (pass Pass, err error) {
	fresh := false // nobody has seen the turn yet
	err = o.store.View(func(r Reader) error {
		e, ok := r.Event(event)
		if !ok {
			return ErrNoSuchEvent
		}
		p, ok := o.activePlace(r, e, visitor, token)
		if ok {
			pass = Pass{In: true, Visitor: p.Visitor, turn: tokenClaim{e.Ordinal, p.Number, p.Visitor}}
			fresh = !p.Turn.PickedUp
			return nil
		}
		if e.Line == "off" && !e.Invited() && e.Phase(r.Calendar(), r.Line(event).Sold) == PhaseOpen {
			pass = Pass{In: true, Visitor: visitor}
		}
		return nil
	})
	if err != nil || !fresh {
		return pass, err
	}
	if v, err := o.Poll(event, pass.Visitor); err == nil && v.Status != Ready {
		return Pass{Visitor: pass.Visitor}, nil // the turn ended in between
	} else if err != nil && !errors.Is(err, ErrUnavailable) {
		return Pass{}, err
	}
	return pass, nil
}

// activePlace finds the place with an active turn that the visitor has or, if he
// is nobody or has none, that his token shows.
func (o *Office) activePlace(r Reader, e *Event, visitor uuid.UUID, token string) (Place, bool) {
	if visitor != uuid.Nil {
		if p, ok := r.Place(e.ID, visitor); ok {
			if p = place(r, e, p); p.Turn.State.Active() {
				return p, true
			}
		}
	}
	claim, ok := o.parseToken(token)
	if !ok || claim.ordinal != e.Ordinal || visitor != uuid.Nil && claim.visitor != visitor {
		return Place{}, false
	}
	p, ok := r.Place(e.ID, claim.visitor)
	if !ok || p.Number != claim.number {
		return Place{}, false
	}
	p = place(r, e, p)
	return p, p.Turn.State.Active()
}

// maxTarget is the longest address, in bytes, that somebody is sent back to.
const maxTarget = 2048

// LocalTarget tells whether s is an address on the same site that is safe to
// redirect to, however often a program on the way decodes it: a path that begins
// with one slash, without backslashes, double slashes, dot segments and control
// characters, and a query.
func LocalTarget(s string) bool {
	if s == "" || len(s) > maxTarget || s[0] != '/' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == '\\' || c == '#' {
			return false
		}
	}
	path, _, _ := strings.Cut(s, "?")
	for range 4 {
		if !plainPath(path) {
			return false
		}
		next, err := url.PathUnescape(path)
		if err != nil {
			return false
		}
		if next == path {
			return true
		}
		path = next
	}
	return false
}

// plainPath tells whether a path is what it looks like to every program.
func plainPath(path string) bool {
	if strings.Contains(path, "//") || strings.Contains(path, `\`) || !plainText(path) {
		return false
	}
	for part := range strings.SplitSeq(path, "/") {
		name, _, _ := strings.Cut(part, ";") // servers of Java take the rest for parameters: ..;x is ..
		if part != "" && strings.Trim(name, ". ") == "" {
			return false
		}
	}
	return true
}

// shopURL tells what is wrong with the address of a shop, or "".
func shopURL(s string) string {
	if s == "" || LocalTarget(s) {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || len(s) > maxTarget || !LocalTarget(u.RequestURI()) || u.Fragment != "" {
		return "shopUrl must be a path on the waiting room's own host, such as /shop, or an address such as https://shop.example.org/."
	}
	return ""
}
