package store

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"foyer/outbox"
	"foyer/sale"
)

// breaker breaks the file of a busy house by hand, under foyer's back.
type breaker struct {
	testing.TB
	*bolt.Tx
	busyFile
}

func (b *breaker) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *breaker) get(bucket, key []byte) []byte {
	b.Helper()
	v := b.Bucket(bucket).Get(key)
	if v == nil {
		b.Fatalf("%s has no row %x", bucket, key)
	}
	return bytes.Clone(v)
}

func (b *breaker) put(bucket, key, value []byte) {
	b.Helper()
	b.must(b.Bucket(bucket).Put(key, value))
}
func (b *breaker) del(bucket, key []byte) { b.Helper(); b.must(b.Bucket(bucket).Delete(key)) }

// order changes an order where it lies, and moves it when to says so.
func (b *breaker) order(name string, change func(o *sale.Order)) {
	b.Helper()
	id := b.orders[name]
	bucket := bucketOrders
	if b.Bucket(bucket).Get(id[:]) == nil {
		bucket = bucketClosed
	}
	o, err := decodeOrder(b.get(bucket, id[:]))
	b.must(err)
	change(o)
	b.put(bucket, id[:], encodeJSON(o))
}

// place changes a place of the gala.
func (b *breaker) place(name string, change func(p *sale.Place)) {
	b.Helper()
	key := keyPlace(1, b.places[name])
	p, err := decodePlace("gala", b.places[name], b.get(bucketPlaces, key))
	b.must(err)
	change(&p)
	b.put(bucketPlaces, key, encodePlace(p))
}

func (b *breaker) event(change func(e *sale.Event)) {
	b.Helper()
	e := &sale.Event{}
	b.must(json.Unmarshal(b.get(bucketEvents, key32(1)), e))
	change(e)
	b.put(bucketEvents, key32(1), encodeJSON(e))
}

// receipt changes the n-th receipt.
func (b *breaker) receipt(n uint64, change func(rc *sale.Receipt)) {
	b.Helper()
	rc := &sale.Receipt{}
	b.must(json.Unmarshal(b.get(bucketReceipts, key64(n)), rc))
	change(rc)
	b.put(bucketReceipts, key64(n), encodeJSON(rc))
}

// first finds the first message of a topic about an order at the first sink.
func (b *breaker) first(topic, order string) (m outbox.Message) {
	b.Helper()
	id := b.orders[order]
	c := b.Bucket(bucketOutbox).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		n, _ := numberKey(k)
		m, err := decodeMessage(n, v, true)
		b.must(err)
		if m.Topic == topic && m.Key == "order:"+id.String() {
			return m
		}
	}
	b.Fatalf("no %s about %s", topic, order)
	return m
}

func (b *breaker) message(m outbox.Message) {
	b.Helper()
	b.put(bucketOutbox, key64(m.Seq), encodeMessage(m))
}

// breaks wants exactly these codes after a change.
func breaks(t *testing.T, want []string, change func(b *breaker)) {
	t.Helper()
	path, f := busy(t)
	amend(t, path, func(tx *bolt.Tx) error {
		change(&breaker{t, tx, f})
		return nil
	})
	r := looked(t, path)
	if got := codesOf(r.Findings); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
		for _, f := range r.Findings {
			t.Logf("%s %s", f.Code, f.What)
		}
	}
}

// brokenFiles are files with one fault each, by what is wrong, with the codes
// that a check must give and no others.
type brokenFiles map[string]struct {
	want  string
	fault func(b *breaker)
}

func (m brokenFiles) run(t *testing.T) {
	for name, c := range m {
		t.Run(name, func(t *testing.T) { breaks(t, []string{c.want}, c.fault) })
	}
}

func TestB78CheckFindsSeatsThatAreSoldWrongly(t *testing.T) {
	brokenFiles{
		"a seat is in two paid orders": {"I1", func(b *breaker) {
			var seat sale.OrderSeat
			b.order("till", func(o *sale.Order) { seat = o.Seats[0] })
			b.order("shop", func(o *sale.Order) { o.Seats[0].ID = seat.ID })
		}},
		"a sold seat is not in the plan": {"I1", func(b *breaker) {
			b.order("till", func(o *sale.Order) { o.Seats[1].ID = "box-99" })
		}},
		"a hold has a ticket": {"I1", func(b *breaker) {
			b.order("pending", func(o *sale.Order) { o.Seats[0].Ticket = uuid.New() })
		}},
		"two orders hold a seat": {"I2", func(b *breaker) {
			var seat sale.OrderSeat
			b.order("pending", func(o *sale.Order) { seat = o.Seats[0] })
			b.order("paying", func(o *sale.Order) { o.Seats[0] = seat })
		}},
		"a sold seat is held": {"I2", func(b *breaker) {
			b.order("pending", func(o *sale.Order) { o.Seats[0].ID = "1-1" })
		}},
		"an order has a seat twice":   {"I2", func(b *breaker) { b.order("pending", func(o *sale.Order) { o.Seats[1] = o.Seats[0] }) }},
		"an order has lost its seats": {"I2", func(b *breaker) { b.order("pending", func(o *sale.Order) { o.Seats, o.Total = nil, 0 }) }},
	}.run(t)
	t.Run("a ticket is missing", func(t *testing.T) {
		breaks(t, []string{"I1", "I9"}, func(b *breaker) { // the message about it has lost its cause
			b.order("till", func(o *sale.Order) { o.Seats[0].Ticket = uuid.Nil })
		})
	})
	t.Run("two seats have one ticket", func(t *testing.T) {
		breaks(t, []string{"I1", "I9"}, func(b *breaker) {
			b.order("till", func(o *sale.Order) { o.Seats[0].Ticket = o.Seats[1].Ticket })
		})
	})
}

func TestB78CheckFindsFaultsOfTheLine(t *testing.T) {
	brokenFiles{
		"more turns than ever allowed":      {"I3", func(b *breaker) { b.event(func(e *sale.Event) { e.Rules.MaxActive = 2 }) }},
		"the pace was passed":               {"note", func(b *breaker) { b.event(func(e *sale.Event) { e.Rules.AdmitPerSecond = 1 }) }},
		"the next number was given already": {"I4", func(b *breaker) { b.put(bucketCounts, key32(1), append(key64(3), key64(2)...)) }},
		"a number was called and is not known": {"I4", func(b *breaker) {
			next := b.get(bucketCounts, key32(1))[:8]
			b.put(bucketCounts, key32(1), append(next, key64(2)...))
		}},
		"more numbers are called than given": {"I4", func(b *breaker) {
			next := b.get(bucketCounts, key32(1))[:8]
			b.put(bucketCounts, key32(1), append(next, key64(1000)...))
		}},
		"the counts are lost":    {"I4", func(b *breaker) { b.del(bucketCounts, key32(1)) }},
		"a place has no number":  {"I4", func(b *breaker) { b.put(bucketPlaces, keyPlace(1, 0), encodePlace(sale.Place{Visitor: uuid.New()})) }},
		"an order has no place":  {"I4", func(b *breaker) { b.order("cancelled", func(o *sale.Order) { o.Place = 1000 }) }},
		"an ordinal comes again": {"I4", func(b *breaker) { b.put(bucketMeta, keyOrdinal, key32(2)) }},
		"more members are called than numbers given": {"I4", func(b *breaker) {
			counts := b.get(bucketCounts, key32(1))[:16]
			b.put(bucketCounts, key32(1), append(append(counts, key64(1000)...), 0))
		}},
		"a code was used too often":              {"I5", func(b *breaker) { b.put(bucketUses, keyPlace(1, 1), encodeUse(sale.Code{Batch: 1, Index: 1})) }},
		"a code was used that was never made":    {"row", func(b *breaker) { b.put(bucketUses, keyPlace(1, 1), encodeUse(sale.Code{Batch: 1, Index: 3})) }},
		"a code of no batch was used":            {"row", func(b *breaker) { b.put(bucketUses, keyPlace(1, 1), encodeUse(sale.Code{Batch: 2})) }},
		"a code of no event was used":            {"row", func(b *breaker) { b.put(bucketUses, keyPlace(9, 1), encodeUse(sale.Code{Batch: 1})) }},
		"a code was used by a join that was not": {"I4", func(b *breaker) { b.put(bucketUses, keyPlace(1, 1000), encodeUse(sale.Code{Batch: 1})) }},
		"the use of a code is cut":               {"row", func(b *breaker) { b.put(bucketUses, keyPlace(1, 1), []byte{1, 2, 3}) }},
		"a batch of codes has another's number":  {"row", func(b *breaker) { b.event(func(e *sale.Event) { e.Codes = append(e.Codes, e.Codes[0]) }) }},
		"a visitor has two places": {"I5", func(b *breaker) {
			b.place("waiting 0", func(p *sale.Place) { b.place("waiting 1", func(q *sale.Place) { q.Visitor = p.Visitor }) })
		}},
		"a turn has ended and goes on":        {"I6", func(b *breaker) { b.place("ready", func(p *sale.Place) { p.Turn.EndedAt = p.Turn.CalledAt }) }},
		"a turn is over and has no end":       {"I6", func(b *breaker) { b.place("left", func(p *sale.Place) { p.Turn.EndedAt = moment(0) }) }},
		"a turn was never given":              {"I6", func(b *breaker) { b.place("ready", func(p *sale.Place) { p.Turn.CalledAt = moment(0) }) }},
		"a turn ends before it begins":        {"I6", func(b *breaker) { b.place("ready", func(p *sale.Place) { p.Turn.ExpiresAt = p.Turn.CalledAt }) }},
		"who is aside is there":               {"I6", func(b *breaker) { b.place("aside", func(p *sale.Place) { p.Turn.PickedUp = true }) }},
		"a turn is aside since before it was": {"I6", func(b *breaker) { b.place("aside", func(p *sale.Place) { p.Turn.AsideAt = moment(1) }) }},
		"an active turn is aside":             {"I6", func(b *breaker) { b.place("ready", func(p *sale.Place) { p.Turn.AsideAt = p.Turn.CalledAt }) }},
		"a claim was made by nobody":          {"I6", func(b *breaker) { b.place("pending", func(p *sale.Place) { p.Turn.PickedUp = false }) }},
		"a shop's claim is shorter than the turn": {"I6", func(b *breaker) {
			b.place("ready", func(p *sale.Place) {
				p.Turn.State, p.Turn.PickedUp, p.Turn.Holds = sale.TurnClaimed, true, 1
				p.Turn.Shop = &sale.ShopClaim{Until: p.Turn.CalledAt}
			})
		}},
		"a claim was made by no hold": {"I6", func(b *breaker) { b.place("pending", func(p *sale.Place) { p.Turn.Holds = 0 }) }},
	}.run(t)
	t.Run("the turns stand where they cannot", func(t *testing.T) {
		breaks(t, []string{"row", "I4"}, func(b *breaker) { // and nobody knows the counts then
			counts := b.get(bucketCounts, key32(1))[:16]
			b.put(bucketCounts, key32(1), append(append(counts, key64(1)...), 10))
		})
	})
}

func TestB78CheckFindsTurnsAndOrdersThatDisagree(t *testing.T) {
	brokenFiles{
		"a hold lost its turn": {"I7", func(b *breaker) { b.place("pending", func(p *sale.Place) { p.Turn.State = sale.TurnReady }) }},
		"a turn lost its hold": {"I7", func(b *breaker) { id := b.orders["pending"]; b.del(bucketOrders, id[:]) }},
		"a place lost its row": {"I7", func(b *breaker) { b.del(bucketPlaces, keyPlace(1, b.places["pending"])) }},
		"a paid turn goes on": {"I7", func(b *breaker) {
			b.place("till", func(p *sale.Place) { p.Turn.State, p.Turn.EndedAt = sale.TurnReady, moment(0) })
		}},
		"a turn has bought what is not paid": {"I7", func(b *breaker) {
			b.place("cancelled", func(p *sale.Place) { p.Turn.State, p.Turn.EndedAt = sale.TurnConsumed, p.Turn.CalledAt })
		}},
		"a turn is claimed by no order": {"I7", func(b *breaker) {
			b.place("ready", func(p *sale.Place) { p.Turn.State, p.Turn.PickedUp, p.Turn.Holds = sale.TurnClaimed, true, 1 })
		}},
		"two turns name one order": {"I7", func(b *breaker) {
			b.place("ready", func(p *sale.Place) { p.Turn.Order = b.orders["pending"] })
		}},
		"a turn names the order of another place": {"I7", func(b *breaker) {
			b.order("pending", func(o *sale.Order) { o.Place = b.places["ready"] })
		}},
		"a hold ended and keeps its turn": {"I7", func(b *breaker) {
			b.order("pending", func(o *sale.Order) {
				o.Status = sale.Cancelled
				b.put(bucketClosed, o.ID[:], encodeJSON(o))
			})
			id := b.orders["pending"]
			b.del(bucketOrders, id[:])
		}},
		"a hold has no deadline": {"I7", func(b *breaker) { b.order("pending", func(o *sale.Order) { o.HoldExpiresAt = moment(0) }) }},
	}.run(t)
	t.Run("a visitor has two holds", func(t *testing.T) {
		breaks(t, []string{"I5", "I7"}, func(b *breaker) { // the second cannot have a turn
			var o *sale.Order
			b.order("pending", func(p *sale.Order) { o = p })
			two := *o
			two.ID, two.Seats = uuid.New(), slices.Clone(o.Seats)
			two.Seats[0].ID, two.Seats[1].ID = "3-9", "3-10"
			b.put(bucketOrders, two.ID[:], encodeJSON(&two))
		})
	})
}
