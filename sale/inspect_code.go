package sale

import "fmt"

// Use is fed the use of a code: by which join of which event.
func (i *Inspection) Use(ordinal uint32, number uint64, c Code) {
	ie, ok := i.events[ordinal]
	if !ok {
		i.Add("row", "a code of an event with the ordinal %d was used, and there is no such event", ordinal)
		return
	}
	ie.lastUse = max(ie.lastUse, number)
	if b, known := ie.event.batch(c.Batch); !known || int(c.Index) >= b.Count {
		i.Add("row", "event %q: join %d used code %d of batch %d, which was never made", ie.event.ID, number, c.Index, c.Batch)
		return
	}
	if ie.uses == nil {
		ie.uses = map[Code]int{}
	}
	ie.uses[c]++
}

// closeCodes holds the uses of codes against what they allow.
func (i *Inspection) closeCodes(ie *inspectedEvent) {
	e := ie.event
	for n, b := range e.Codes {
		if int(b.Number) != n+1 || b.Class > Member || b.Count < 1 || b.Uses < 1 {
			i.Add("row", "event %q: its batch of codes %d cannot be: %s", e.ID, n+1, fmt.Sprintf("number %d, class %d, %d codes for %d each", b.Number, uint8(b.Class), b.Count, b.Uses))
		}
	}
	for c, n := range ie.uses {
		if b, _ := e.batch(c.Batch); n > b.Uses {
			i.Add("I5", "event %q: code %d of batch %d gave %d places, and may give %d", e.ID, c.Index, c.Batch, n, b.Uses)
		}
	}
	if ie.next > 0 && ie.lastUse >= ie.next {
		i.Add("I4", "event %q: join %d used a code, and the next join would get %d", e.ID, ie.lastUse, ie.next)
	}
}
