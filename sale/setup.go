package sale

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"foyer/queue"
	"foyer/seats"
)

// DefaultSettings are the settings of an event about which nothing was said.
func DefaultSettings() Settings {
	return Settings{
		TimeZone: "UTC", Currency: "EUR", Order: "fifo", Line: "auto", Access: "open",
		Rules: Rules{
			AdmitPerSecond: 50, MaxActive: 500, TurnSeconds: 300, PickupSeconds: 60, ReturnSeconds: 600,
			HoldSeconds: 300, PaySeconds: 240, PayMarginSeconds: 60, MaxSeatsPerOrder: 4, MaxWaiting: 2_000_000,
			MemberShare: 7, Buyer: "optional", Control: "off",
		},
		ChallengeCost: defaultChallengeCost,
	}
}

var idPattern = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

// EventID tells whether an event can have this id.
func EventID(id string) bool { return idPattern.MatchString(id) }

// Writable tells whether RFC 3339 can write a time, in whatever zone.
func Writable(at *time.Time) bool {
	return at == nil || at.UTC().Year() >= 1 && at.UTC().Year() <= 9998
}

const maxPrice = 1_000_000_000_000 // minor units; a whole order stays far below int64

// check tells everything that is wrong with the settings, or nil. What they named
// before they may go on naming: a start without it must not keep staff from
// lowering the pace.
func (s *Settings) check(providers map[string]Provider, challenges []string, before Settings) error {
	var wrong []wrongSetting
	add := func(bad bool, field, format string, args ...any) {
		if bad {
			wrong = append(wrong, wrongSetting{field, fmt.Sprintf(format, args...)})
		}
	}
	add(!EventID(s.ID), "id", "id must be 1 to 64 of a-z, 0-9 and -.")
	name, venue := checkText("name", s.Name, 1, 200), checkText("venue", s.Venue, 0, 200)
	add(name != "", "name", "%s", name)
	add(venue != "", "venue", "%s", venue)
	_, err := time.LoadLocation(s.TimeZone)
	add(err != nil || s.TimeZone == "" || s.TimeZone == "Local", "timeZone", "timeZone must be an IANA name such as Europe/Berlin.")
	_, ok := Exponent(s.Currency)
	add(!ok, "currency", "currency must be an ISO 4217 code such as EUR.")
	add(s.Order != "fifo" && s.Order != "draw", "order", "order must be \"fifo\" or \"draw\".")
	add(s.Order == "draw" && s.OpensAt == nil, "opensAt", "A draw needs opensAt: people gather in the lobby until then.")
	add(s.Order == "draw" && s.Line == "off", "line", "A draw needs a line: line must be \"auto\" or \"always\".")
	add(s.Line != "auto" && s.Line != "always" && s.Line != "off", "line", "line must be \"auto\", \"always\" or \"off\".")
	for _, t := range []struct {
		field string
		at    *time.Time
	}{{"startsAt", s.StartsAt}, {"opensAt", s.OpensAt}, {"closesAt", s.ClosesAt}, {"presaleAt", s.PresaleAt}} {
		add(!Writable(t.at), t.field, "%s must lie in the years 1 to 9998.", t.field)
	}
	add(s.OpensAt != nil && s.ClosesAt != nil && !s.OpensAt.Before(*s.ClosesAt), "closesAt", "closesAt must be after opensAt.")
	add(s.PresaleAt != nil && (s.OpensAt == nil || !s.PresaleAt.Before(*s.OpensAt)), "presaleAt", "presaleAt must be before opensAt.")
	add(s.PresaleAt != nil && s.Order == "draw", "presaleAt", "A draw has no presale: it draws everybody's number at the opening.")
	add(s.Access != "" && s.Access != "open" && s.Access != AccessCode, "access", "access must be \"open\" or \"code\".")
	for _, c := range slices.Sorted(maps.Keys(s.Prices)) {
		t := checkText("a category in prices", c, 1, 100)
		add(t != "", "prices", "%s", t)
		add(s.Prices[c] < 0 || s.Prices[c] > maxPrice, "prices", "the price of %q must be 0 to %d minor units.", c, int64(maxPrice))
	}
	for _, p := range s.Providers {
		_, known := providers[p]
		add(!known && p != "shop" && p != "door" && !slices.Contains(before.Providers, p), "providers", "provider %q is not set up.", p)
	}
	wrongURL := shopURL(s.ShopURL)
	add(wrongURL != "", "shopUrl", "%s", wrongURL)
	switch {
	case s.Challenge == "" || s.Challenge == ChallengeWork || s.Challenge == before.Challenge || slices.Contains(challenges, s.Challenge):
	case s.Challenge == "turnstile" || s.Challenge == "hcaptcha":
		add(true, "challenge", "challenge %q is not set up: start Foyer with its site key and secret.", s.Challenge)
	default:
		add(true, "challenge", "challenge must be \"\", \"altcha\", \"turnstile\" or \"hcaptcha\".")
	}
	add(s.ChallengeCost != 0 && (s.ChallengeCost < 1000 || s.ChallengeCost > 10_000_000), "challengeCost", "challengeCost must be 1000 to 10000000.")
	return badEvent(append(wrong, s.Rules.check()...))
}

// wrongSetting is what is wrong with a setting of an event, by its name in the API.
type wrongSetting struct{ field, what string }

// badEvent refuses with all that is wrong, or is nil. It names the setting when
// there is but one.
func badEvent(wrong []wrongSetting) error {
	if len(wrong) == 0 {
		return nil
	}
	var list []string
	field := wrong[0].field
	for _, w := range wrong {
		list = append(list, w.what)
		if w.field != field {
			field = ""
		}
	}
	return ErrBadEvent.say(strings.Join(list, " ")).About(field)
}

func (r *Rules) check() (wrong []wrongSetting) {
	add := func(bad bool, name, format string, args ...any) {
		if bad {
			wrong = append(wrong, wrongSetting{"rules." + name, "rules." + name + " must be " + fmt.Sprintf(format, args...) + "."})
		}
	}
	between := func(name string, v, low, high int) { add(v < low || v > high, name, "%d to %d", low, high) }
	const day = 24 * 60 * 60
	between("admitPerSecond", r.AdmitPerSecond, 1, 5000)
	between("maxActive", r.MaxActive, 1, 20_000)
	between("turnSeconds", r.TurnSeconds, 2, day)
	between("pickupSeconds", r.PickupSeconds, 2, day)
	between("returnSeconds", r.ReturnSeconds, 0, day)
	between("holdSeconds", r.HoldSeconds, 2, day)
	between("paySeconds", r.PaySeconds, 1, day)
	between("payMarginSeconds", r.PayMarginSeconds, 1, day)
	between("maxSeatsPerOrder", r.MaxSeatsPerOrder, 1, 50)
	between("maxWaiting", r.MaxWaiting, 1, 5_000_000)
	between("memberShare", r.MemberShare, 0, queue.Tens)
	add(r.Buyer != "none" && r.Buyer != "optional" && r.Buyer != "required", "buyer", `"none", "optional" or "required"`)
	add(r.Control != "" && r.Control != "off" && r.Control != ControlAuto, "control", `"off" or "auto"`)
	return wrong
}

// CreateEvent makes an event. Settings with no providers take all that are set
// up. It refuses with [ErrBadEvent] or [ErrEventExists].
func (o *Office) CreateEvent(actor string, s Settings) (*Event, error) {
	if s.Providers == nil {
		s.Providers = append(slices.Sorted(maps.Keys(o.providers)), "shop", "door")
	}
	if err := s.check(o.providers, o.challenges, Settings{}); err != nil {
		return nil, err
	}
	var e *Event
	err := o.store.Update(func(tx Tx) error {
		if _, ok := tx.Event(s.ID); ok {
			return ErrEventExists
		}
		e = &Event{Settings: s, Ordinal: tx.NextOrdinal(), CreatedAt: tx.Now()}
		if err := drawOf(e, "fifo", tx.Line(s.ID)); err != nil {
			return err
		}
		tx.PutEvent(e)
		o.audit(tx, actor, e.ID, "event.create", e.Name)
		return nil
	})
	return e, err
}

// ChangeEvent lets edit change a copy of the settings and keeps it when it is
// sound. Orders keep the price they were held at. What would break a promise
// already made is refused with [ErrPromise]: the id never changes, the currency
// only before the first hold, and the opening does not move behind those who
// have joined since.
func (o *Office) ChangeEvent(actor, id string, edit func(*Settings) error) (*Event, error) {
	return o.change(actor, id, "event.change", func(tx Tx, e *Event) error {
		before := e.Settings.clone()
		if err := edit(&e.Settings); err != nil {
			return err
		}
		if e.ID != before.ID {
			return ErrPromise.say("The id of an event never changes: addresses, tokens and orders carry it.")
		}
		if e.HadHold && e.Currency != before.Currency {
			return ErrPromise.say("The currency cannot change after the first hold: buyers were shown the other one.")
		}
		now, line := tx.Calendar(), tx.Line(id)
		if before.opened(now) && !e.opened(now) && line.Next > 1 {
			return ErrPromise.say("The sale has opened and people have places. Pause it instead of opening it later.").About("opensAt")
		}
		if before.Presale(now) && !e.Presale(now) && !e.opened(now) && line.Next > 1 {
			return ErrPromise.say("The presale has begun and people have places. Pause it instead of moving it.").About("presaleAt")
		}
		if e.Draw.Held() && !e.opened(now) && line.Next == 1 { // nobody took part, and its seed is known
			e.Draw = newDraw()
		}
		e.Slowed = slowedBy(before.Rules, e.Rules, tx.Now(), e.Slowed)
		e.Granted = grantedBy(before.Rules, e.Rules, tx.Now(), e.Granted)
		return cmp.Or(e.check(o.providers, o.challenges, before), drawOf(e, before.Order, line))
	}, func(before, e *Event) string { return differences(before.Settings, e.Settings) })
}

// opened tells whether the opening has passed at now.
func (s *Settings) opened(now time.Time) bool { return s.OpensAt == nil || !now.Before(*s.OpensAt) }

// change runs one change of an event by staff in one transaction. The audit gets
// what detail says of the event before and after it.
func (o *Office) change(actor, id, act string, fn func(Tx, *Event) error, detail func(before, after *Event) string) (*Event, error) {
	var e *Event
	err := o.store.Update(func(tx Tx) error {
		old, ok := tx.Event(id)
		if !ok {
			return ErrNoSuchEvent
		}
		c := *old
		c.Settings = old.Settings.clone() // edit may write through what it points to
		if err := fn(tx, &c); err != nil {
			return err
		}
		c.Sellable = sellable(tx, &c, tx.Plan(id))
		tx.PutEvent(&c)
		o.audit(tx, actor, id, act, detail(old, &c))
		e = &c
		return nil
	})
	return e, err
}

// sellable counts the seats that have a price or that somebody has: the house
// is sold out when so many are sold.
func sellable(r Reader, e *Event, p *seats.Plan) (n int) {
	if p == nil {
		return 0
	}
	for i := range p.Len() {
		if seatState(r, e, p.Seat(i)) != seats.OffSale {
			n++
		}
	}
	return n
}

// OpenEvent opens the sale now, whatever was planned, and ends a pause.
func (o *Office) OpenEvent(actor, id string) (*Event, error) {
	return o.change(actor, id, "event.open", func(tx Tx, e *Event) error {
		now := tx.Calendar()
		if e.ClosesAt != nil && !now.Before(*e.ClosesAt) {
			return ErrPromise.say("The event's closesAt has passed. Move it first.")
		}
		if e.OpensAt == nil || now.Before(*e.OpensAt) {
			e.OpensAt = &now
			if e.PresaleAt != nil && !e.PresaleAt.Before(now) {
				e.PresaleAt = nil
			}
		}
		e.Paused, e.Closed = false, false
		return nil
	}, saidMessage)
}

// PauseEvent stops the letting-in. The line, turns and holds stay.
func (o *Office) PauseEvent(actor, id, message string) (*Event, error) {
	return o.speak(actor, id, "event.pause", message, func(e *Event) { e.Paused = true })
}

// ResumeEvent ends a pause and takes back its message.
func (o *Office) ResumeEvent(actor, id string) (*Event, error) {
	return o.speak(actor, id, "event.resume", "", func(e *Event) { e.Paused = false })
}

// CloseEvent ends the joining and the letting-in. Turns and holds run out their time.
func (o *Office) CloseEvent(actor, id, message string) (*Event, error) {
	return o.speak(actor, id, "event.close", message, func(e *Event) { e.Closed = true })
}

// Announce shows a message to everybody; "" takes it back.
func (o *Office) Announce(actor, id, message string) (*Event, error) {
	return o.speak(actor, id, "event.announce", message, func(*Event) {})
}

func (o *Office) speak(actor, id, act, message string, fn func(*Event)) (*Event, error) {
	if wrong := checkText("message", message, 0, 500); wrong != "" {
		return nil, ErrBadEvent.say(wrong)
	}
	return o.change(actor, id, act, func(_ Tx, e *Event) error {
		e.Message = message
		fn(e)
		return nil
	}, saidMessage)
}

// RemoveEvent forgets an event that nobody waits for and that never had an order
// ([ErrEventInUse]): orders, late money and links go on referring to it.
func (o *Office) RemoveEvent(actor, id string) error {
	return o.store.Update(func(tx Tx) error {
		e, ok := tx.Event(id)
		if !ok {
			return ErrNoSuchEvent
		}
		if line := tx.Line(id); e.HadHold || line.Waiting+line.Active > 0 {
			return ErrEventInUse
		}
		for range tx.Turns(id) {
			return ErrEventInUse
		}
		tx.RemoveEvent(e)
		o.audit(tx, actor, id, "event.remove", e.Name)
		return nil
	})
}

// PlanChange tells what a new plan does to the house.
type PlanChange struct {
	Version  string
	Seats    int
	Added    []string // seat ids
	Removed  []string
	Unpriced []string // categories without a price: their seats are off sale
}

// SetPlan gives the event a plan. A new plan may drop only seats nobody holds
// or has bought, and that the house does not keep ([ErrSeatsInUse] with them). One
// that was off sale and is dropped is on sale when it comes back. With dryRun
// nothing changes.
func (o *Office) SetPlan(actor, id string, p *seats.Plan, dryRun bool) (*PlanChange, error) {
	ch := &PlanChange{}
	err := o.store.Update(func(tx Tx) error {
		*ch = PlanChange{Version: p.Version(), Seats: p.Len()}
		old, ok := tx.Event(id)
		if !ok {
			return ErrNoSuchEvent
		}
		if err := ch.compare(tx, old, p); err != nil || dryRun {
			return err
		}
		e := *old
		e.PlanVersion = ch.Version
		e.Blocked = maps.Clone(old.Blocked)
		maps.DeleteFunc(e.Blocked, func(seat string, _ SeatBlock) bool { return !planHas(p, seat) })
		e.Sellable = sellable(tx, &e, p)
		tx.PutPlan(id, p)
		tx.PutEvent(&e)
		o.audit(tx, actor, id, "event.plan", fmt.Sprintf("%d seats, %d added, %d removed", ch.Seats, len(ch.Added), len(ch.Removed)))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ch, nil
}

func (ch *PlanChange) compare(r Reader, e *Event, p *seats.Plan) error {
	var inUse []string
	old := r.Plan(e.ID)
	if old != nil {
		for i := range old.Len() {
			id := old.Seat(i).ID
			if _, stays := p.Index(id); stays {
				continue
			}
			ch.Removed = append(ch.Removed, id)
			if h, ok := r.Holder(e.ID, id); ok && h.Has(r.Now()) || e.Blocked[id].State == BlockHouse {
				inUse = append(inUse, id)
			}
		}
	}
	for i := range p.Len() {
		id := p.Seat(i).ID
		if old == nil {
			ch.Added = append(ch.Added, id)
		} else if _, was := old.Index(id); !was {
			ch.Added = append(ch.Added, id)
		}
	}
	for _, c := range p.Categories {
		if _, ok := e.Prices[c.Name]; !ok {
			ch.Unpriced = append(ch.Unpriced, c.Name)
		}
	}
	if inUse != nil {
		return ErrSeatsInUse.with(inUse)
	}
	return nil
}
