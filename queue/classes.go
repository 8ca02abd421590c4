package queue

import "iter"

// Classes are the two lines of one event, that of the members and that of the
// public. Numbers are shared: no two places have the same, whichever line they
// stand in. Without members it is the public's line and nothing else.
//
// Not safe for concurrent use, as a [Line].
type Classes struct {
	public *Line
	member *Line // nil until a member comes
}

// NewClasses returns two empty lines.
func NewClasses() *Classes { return &Classes{public: NewLine()} }

// Append is [Line.Append] to the line of a class.
func (c *Classes) Append(class Class, number uint64, id ID) { c.line(class).Append(number, id) }

// Restore is [Line.Restore] to the line of a class.
func (c *Classes) Restore(class Class, number uint64, id ID) { c.line(class).Restore(number, id) }

// line is the line of a class, made when it is first wanted.
func (c *Classes) line(class Class) *Line {
	if class != Member {
		return c.public
	}
	if c.member == nil {
		c.member = NewLine()
	}
	return c.member
}

// Remove takes a number out of the line of its class. It reports false, and does
// nothing, when it is not waiting there.
func (c *Classes) Remove(class Class, number uint64) bool {
	switch {
	case class != Member:
		return c.public.Remove(number)
	case c.member == nil:
		return false
	}
	return c.member.Remove(number)
}

// Number reports whether a visitor is waiting, with which number and where.
func (c *Classes) Number(id ID) (number uint64, class Class, ok bool) {
	if number, ok = c.public.Number(id); ok || c.member == nil {
		return number, Public, ok
	}
	number, ok = c.member.Number(id)
	return number, Member, ok
}

// At reports who waits under a number, and where.
func (c *Classes) At(number uint64) (id ID, class Class, ok bool) {
	if id, ok = c.public.At(number); ok || c.member == nil {
		return id, Public, ok
	}
	id, ok = c.member.At(number)
	return id, Member, ok
}

// Rank counts the turns before that of a place of this class and number, when
// nobody joins or leaves and the turns are shared out so. called is, by class, one
// more than the highest number that was ever called: who waits below it has come
// back. All of those go first, by number, and take nobody's share. The number itself
// need not be waiting.
func (c *Classes) Rank(class Class, number uint64, turns Cycle, called [2]uint64) int {
	other := 1 - class
	ahead, others := c.below(class, number), c.Count(other)
	if others == 0 {
		return ahead
	}
	if number < called[class] {
		return ahead + c.below(other, min(number, called[other]))
	}
	back, othersBack := c.below(class, called[class]), c.below(other, called[other])
	return back + othersBack + turns.Rank(class, ahead-back, others-othersBack)
}

// below counts the places of a class with a smaller number.
func (c *Classes) below(class Class, number uint64) int {
	switch {
	case class != Member:
		return c.public.Rank(number)
	case c.member == nil:
		return 0
	}
	return c.member.Rank(number)
}

// Back counts the places of each class that have come back; called is as for Rank.
func (c *Classes) Back(called [2]uint64) [2]int {
	return [2]int{c.below(Public, called[Public]), c.below(Member, called[Member])}
}

// First is the smallest number that waits in the line of a class.
func (c *Classes) First(class Class) (number uint64, ok bool) {
	switch {
	case class != Member:
		return c.public.First()
	case c.member == nil:
		return 0, false
	}
	return c.member.First()
}

// Len counts the waiting places of both lines.
func (c *Classes) Len() int { return c.public.Len() + c.Count(Member) }

// Count counts the waiting places of one class.
func (c *Classes) Count(class Class) int {
	switch {
	case class != Member:
		return c.public.Len()
	case c.member == nil:
		return 0
	}
	return c.member.Len()
}

// All is [Line.All] of the line of a class.
func (c *Classes) All(class Class) iter.Seq2[uint64, ID] {
	switch {
	case class != Member:
		return c.public.All()
	case c.member == nil:
		return func(func(uint64, ID) bool) {}
	}
	return c.member.All()
}

// ByNumber yields the places of both lines by rising number. Neither may change
// meanwhile.
func (c *Classes) ByNumber() iter.Seq2[uint64, ID] {
	if c.Count(Member) == 0 {
		return c.public.All()
	}
	return func(yield func(uint64, ID) bool) {
		next, stop := iter.Pull2(c.member.All())
		defer stop()
		n, who, more := next()
		for number, id := range c.public.All() {
			for ; more && n < number; n, who, more = next() {
				if !yield(n, who) {
					return
				}
			}
			if !yield(number, id) {
				return
			}
		}
		for ; more; n, who, more = next() {
			if !yield(n, who) {
				return
			}
		}
	}
}

// Bytes is roughly what the lines hold on the heap.
func (c *Classes) Bytes() int {
	if c.member == nil {
		return c.public.Bytes()
	}
	return c.public.Bytes() + c.member.Bytes()
}
