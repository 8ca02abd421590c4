// Package seats is the house of one event: its plan, the states its seats can have, which seats may
// be asked for together, and which are the best that are left.
//
// A Plan comes from Parse alone and never changes afterwards, so any number of goroutines may read
// one without a lock. What Parse lets through keeps these promises: between one and 100 000 seats, every
// id unique, every seat in a category of the plan, every coordinate finite, no control character in any
// text, and Parse(p.JSON()) equal to p. Ids are compared byte by byte: "A1", "a1" and " A1" are three ids, and so
// are the composed (NFC) and the decomposed (NFD) spelling of one letter.
//
// The package decides nothing about time, money or who holds what, keeps no state of its own, and knows
// neither storage nor HTTP.
package seats

import (
	"errors"
	"slices"
)

// State is what can be said in public about one seat, as one ASCII letter.
type State byte

// The states. The staff's HOUSE and OFF_SALE both show as OffSale.
const (
	Available State = 'A'
	Held      State = 'H'
	Sold      State = 'S'
	OffSale   State = 'O'
)

// Counts is how many seats are in each state.
type Counts struct {
	Available int `json:"available"`
	Held      int `json:"held"`
	Sold      int `json:"sold"`
	OffSale   int `json:"offSale"`
}

// Count counts states. A value that is none of the four counts as OffSale: what is not understood is not
// for sale.
func Count(states []State) Counts {
	var c Counts
	for _, s := range states {
		switch s {
		case Available:
			c.Available++
		case Held:
			c.Held++
		case Sold:
			c.Sold++
		default:
			c.OffSale++
		}
	}
	return c
}

// What CheckWish finds wrong.
var (
	ErrNone      = errors.New("seats: none asked for")
	ErrTooMany   = errors.New("seats: too many asked for")
	ErrDuplicate = errors.New("seats: a seat is asked for twice")
)

// CheckWish checks the shape of a wish for at most max seats, named by id. It returns ErrNone, ErrTooMany
// or ErrDuplicate, in this order, or nil. Whether the ids exist, and whether they are free, is for others
// to say.
func CheckWish(ids []string, max int) error {
	if len(ids) == 0 {
		return ErrNone
	}
	if len(ids) > max {
		return ErrTooMany
	}
	sorted := slices.Sorted(slices.Values(ids))
	if len(slices.Compact(sorted)) < len(ids) {
		return ErrDuplicate
	}
	return nil
}
