package sale

import (
	"maps"
	"slices"
	"time"
)

// Settings are what staff decide about an event; the JSON form is the API's.
type Settings struct {
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	Venue     string           `json:"venue,omitempty"`
	StartsAt  *time.Time       `json:"startsAt,omitempty"`
	TimeZone  string           `json:"timeZone"` // IANA name
	Currency  string           `json:"currency"` // ISO 4217
	OpensAt   *time.Time       `json:"opensAt,omitempty"`
	ClosesAt  *time.Time       `json:"closesAt,omitempty"`
	PresaleAt *time.Time       `json:"presaleAt,omitempty"` // members are called from here, the public from OpensAt
	Access    string           `json:"access"`              // "open" or "code"; "" is "open"
	Order     string           `json:"order"`               // "fifo", "draw"
	Line      string           `json:"line"`                // "auto", "always", "off"
	Rules     Rules            `json:"rules"`
	Prices    map[string]int64 `json:"prices"` // category -> minor units
	Providers []string         `json:"providers"`
	// ShopURL is where a turn leads when the event has no plan: into a shop behind
	// the waiting room. A path on the same host, or an http(s) address; "" is "/".
	ShopURL string `json:"shopUrl,omitempty"`
	// Challenge is what a visitor must prove before he gets a number: "" nothing,
	// "altcha" work, "turnstile" or "hcaptcha" what such a widget says of him.
	Challenge string `json:"challenge"`
	// ChallengeCost is the largest number that the work may hide, so about twice
	// the hashes it takes; 0 is the default.
	ChallengeCost int `json:"challengeCost"`
}

// clone copies the settings so that nothing is shared with the original.
func (s Settings) clone() Settings {
	s.Prices, s.Providers = maps.Clone(s.Prices), slices.Clone(s.Providers)
	for _, t := range []**time.Time{&s.StartsAt, &s.OpensAt, &s.ClosesAt, &s.PresaleAt} {
		if *t != nil {
			at := **t
			*t = &at
		}
	}
	return s
}

// AccessCode is the access of an event by invitation.
const AccessCode = "code"

// Rules are the numbers of an event. Times are whole seconds.
type Rules struct {
	AdmitPerSecond   int    `json:"admitPerSecond"`
	MaxActive        int    `json:"maxActive"`
	TurnSeconds      int    `json:"turnSeconds"`
	PickupSeconds    int    `json:"pickupSeconds"`
	ReturnSeconds    int    `json:"returnSeconds"`
	HoldSeconds      int    `json:"holdSeconds"`
	PaySeconds       int    `json:"paySeconds"`
	PayMarginSeconds int    `json:"payMarginSeconds"`
	MaxSeatsPerOrder int    `json:"maxSeatsPerOrder"`
	MaxWaiting       int    `json:"maxWaiting"`
	MemberShare      int    `json:"memberShare"` // of ten turns, while members and others wait; 10: members first
	Buyer            string `json:"buyer"`       // "none", "optional", "required"
	Control          string `json:"control"`     // "off" (as ""), "auto": lower the pace when holds, payments or the shop fail
}

// Event is one performance with its own line, house and orders. An *Event that
// a Reader or Tx gives is a snapshot and must not be changed; copy it first.
type Event struct {
	Settings
	Ordinal     uint32    `json:"ordinal"` // names the event in rows on disk, never used again
	CreatedAt   time.Time `json:"createdAt"`
	Paused      bool      `json:"paused,omitempty"`
	Closed      bool      `json:"closed,omitempty"`
	Message     string    `json:"message,omitempty"` // the operator's word to the public
	SoldOut     string    `json:"soldOut,omitempty"` // the operator's word about that, see [Office.SetSoldOut]
	PlanVersion string    `json:"planVersion,omitempty"`
	Sellable    int       `json:"sellable"` // seats that have a price or that somebody has
	HadHold     bool      `json:"hadHold,omitempty"`
	Draw        *Draw     `json:"draw,omitempty"` // when Order is "draw"
	// Blocked are the seats that staff took off sale, by id. The map is never
	// changed, only replaced.
	Blocked   map[string]SeatBlock `json:"blocked,omitempty"`
	Codes     []CodeBatch          `json:"codes,omitempty"`    // by number; never changed, only replaced
	Slowed    *Slowed              `json:"slowed,omitempty"`   // staff lowered the pace, or nil
	Granted   []Granted            `json:"granted,omitempty"`  // what staff shortened, oldest first; never changed, only replaced
	Forgotten time.Time            `json:"forgotten,omitzero"` // when the buyers' names and addresses were erased
}

// sells tells whether a free seat is on sale: it has a price and staff have not
// blocked it.
func (e *Event) sells(seat, category string) bool {
	_, priced := e.Prices[category]
	_, blocked := e.Blocked[seat]
	return priced && !blocked
}

// Phase is where an event stands.
type Phase string

// The phases of an event.
const (
	PhaseLobby   Phase = "LOBBY"    // before the opening
	PhaseOpen    Phase = "OPEN"     // people are let in
	PhasePaused  Phase = "PAUSED"   // staff stopped the letting-in; the line stays
	PhaseSoldOut Phase = "SOLD_OUT" // every sellable seat is SOLD, or staff say so
	PhaseClosed  Phase = "CLOSED"   // no more joins
)

// Phase tells where the event stands at now (by the calendar), with sold seats SOLD so far.
func (e *Event) Phase(now time.Time, sold int) Phase {
	switch {
	case e.Closed, e.ClosesAt != nil && !now.Before(*e.ClosesAt):
		return PhaseClosed
	case e.soldOut(sold):
		return PhaseSoldOut
	case e.OpensAt != nil && now.Before(*e.OpensAt):
		return PhaseLobby
	case e.Paused:
		return PhasePaused
	}
	return PhaseOpen
}

// Presale tells whether members are called at now, and the public is not yet.
func (s *Settings) Presale(now time.Time) bool {
	return s.PresaleAt != nil && !now.Before(*s.PresaleAt) && !s.opened(now)
}

// phaseFor is the phase as a class meets it: in the presale the event is open to
// members.
func (e *Event) phaseFor(c Class, now time.Time, sold int) Phase {
	phase := e.Phase(now, sold)
	switch {
	case phase != PhaseLobby || c != Member || !e.Presale(now):
		return phase
	case e.Paused:
		return PhasePaused
	}
	return PhaseOpen
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
