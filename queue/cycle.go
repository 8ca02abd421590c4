package queue

import "errors"

// Class tells which line of an event a place stands in.
type Class uint8

// The classes.
const (
	Public Class = iota
	Member
)

// Tens is how many turns a [Cycle] shares out.
const Tens = 10

// Cycle shares turns between members and the public while both wait: of any ten
// such turns in a row Share go to members, as evenly spread as ten allow
// (Bresenham's line). At 10 the public is called only when no member waits, at 0
// the other way round. It is a value.
type Cycle struct {
	Share int // of ten turns, 0 to 10
	At    int // where it stands: what members are owed, in tenths of a turn, 0 to 9
}

// Due tells whose the next turn is while both wait.
func (c Cycle) Due() Class {
	if c.At+c.Share >= Tens {
		return Member
	}
	return Public
}

// Next is the cycle after one more turn while both wait.
func (c Cycle) Next() Cycle {
	c.At = (c.At + c.Share) % Tens
	return c
}

// Rank counts the turns before that of a place with so many of its own class
// ahead of it and so many of the other one waiting, when nobody joins or leaves.
func (c Cycle) Rank(class Class, ahead, others int) int {
	share, at := c.Share, c.At
	if class == Public { // the same seen from the other side
		share, at = Tens-share, Tens-1-at
	}
	if others == 0 || share == Tens {
		return ahead
	}
	if share == 0 {
		return ahead + others
	}
	// The turns until class has had one more than ahead: the smallest n with
	// at + n*share >= 10 (ahead+1).
	n := (Tens*(ahead+1) - at + share - 1) / share
	return ahead + min(others, n-1-ahead)
}

// After is the cycle after n turns, with so many of each class waiting before.
func (c Cycle) After(n, members, public int) Cycle {
	for ; n > 0 && members > 0 && public > 0; n-- {
		if c.Due() == Member {
			members--
		} else {
			public--
		}
		c = c.Next()
	}
	return c
}

// Deal puts the members and the public, each in order, into the order of their
// turns, and gives the first n.
func Deal[T any](c Cycle, members, public []T, n int) []T {
	n = min(n, len(members)+len(public))
	if len(members) == 0 {
		return public[:n]
	}
	dealt := make([]T, 0, n)
	for len(dealt) < n {
		class := c.Due()
		switch {
		case len(public) == 0:
			class = Member
		case len(members) == 0:
			class = Public
		default:
			c = c.Next()
		}
		from := &public
		if class == Member {
			from = &members
		}
		dealt, *from = append(dealt, (*from)[0]), (*from)[1:]
	}
	return dealt
}

// String is "public" or "member".
func (c Class) String() string {
	if c == Member {
		return "member"
	}
	return "public"
}

// MarshalText writes what String says.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (c *Class) UnmarshalText(text []byte) error {
	switch string(text) {
	case "public":
		*c = Public
	case "member":
		*c = Member
	default:
		return errors.New(`queue: a class is "public" or "member"`)
	}
	return nil
}
