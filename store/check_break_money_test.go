package store

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/sale"
)

// The receipts of the busy house by number: 1 and 2 the money of the orders
// "till" and "refund due", 3 and 4 that of "refunded" in and out, 5 is nobody's
// money, 6 is ignored.
func TestB78CheckFindsMoneyThatIsNotWhereItShouldBe(t *testing.T) {
	brokenFiles{
		"an order costs more than its seats": {"I8", func(b *breaker) { b.order("pending", func(o *sale.Order) { o.Total++ }) }},
		"a seat's price has changed":         {"I8", func(b *breaker) { b.order("till", func(o *sale.Order) { o.Seats[0].Price-- }) }},
		"an order has another currency":      {"I8", func(b *breaker) { b.order("pending", func(o *sale.Order) { o.Currency = "USD" }) }},
		"a paid order has no money":          {"I8", func(b *breaker) { b.order("till", func(o *sale.Order) { o.Payments[0].State = sale.PaymentFailed }) }},
		"a paid order has too little money":  {"I8", func(b *breaker) { b.order("till", func(o *sale.Order) { o.Payments[0].Amount-- }) }},
		"a paid order has money twice": {"I8", func(b *breaker) {
			b.order("shop", func(o *sale.Order) {
				again := o.Payments[0]
				again.Attempt = uuid.New()
				o.Payments = append(o.Payments, again)
			})
		}},
		"a refund was undone": {"I8", func(b *breaker) {
			b.order("refunded", func(o *sale.Order) { o.Payments[0].State = sale.PaymentSucceeded })
		}},
		"a hold has money": {"I8", func(b *breaker) { b.order("cancelled", func(o *sale.Order) { o.Payments = paid(o.Total) }) }},
		"two payments are one attempt": {"I8", func(b *breaker) {
			b.order("paying", func(o *sale.Order) { o.Payments = append(o.Payments, o.Payments[0]) })
		}},
		"a payment has no attempt": {"I8", func(b *breaker) { b.order("paying", func(o *sale.Order) { o.Payments[0].Attempt = uuid.Nil }) }},
		"a payment is in no state": {"I8", func(b *breaker) {
			b.order("shop", func(o *sale.Order) { o.Payments = append(paid(1), o.Payments...); o.Payments[0].State = "LOST" })
		}},
		"what costs money was free": {"I8", func(b *breaker) {
			b.order("shop", func(o *sale.Order) { o.Payments[0].Provider, o.Confirms = "free", nil })
		}},
		"the last fact is lost":          {"I8", func(b *breaker) { dropFacts(b, 4, 5, 6) }},
		"a fact in the middle is lost":   {"I8", func(b *breaker) { dropFacts(b, 5) }},
		"the first fact is lost":         {"I8", func(b *breaker) { dropFacts(b, 1) }},
		"a fact was of another sum":      {"I8", func(b *breaker) { b.receipt(1, func(rc *sale.Receipt) { rc.Fact.Amount++ }) }},
		"a fact was of another payment":  {"I8", func(b *breaker) { b.receipt(1, func(rc *sale.Receipt) { rc.Fact.PaymentID = "another" }) }},
		"a fact was of another currency": {"I8", func(b *breaker) { b.receipt(1, func(rc *sale.Receipt) { rc.Fact.Currency = "USD" }) }},
		"a fact's order is not there":    {"I8", func(b *breaker) { b.receipt(1, func(rc *sale.Receipt) { rc.Fact.Order = uuid.NewString() }) }},
		"a fact's order is no order":     {"I8", func(b *breaker) { b.receipt(1, func(rc *sale.Receipt) { rc.Fact.Order = "mine" }) }},
		"a fact's order waits for money": {"I8", func(b *breaker) {
			id := b.orders["pending"]
			b.receipt(1, func(rc *sale.Receipt) { rc.Fact.Order = id.String() })
		}},
		"money went back and is still due": {"I8", func(b *breaker) {
			id := b.orders["refund due"]
			b.receipt(4, func(rc *sale.Receipt) {
				rc.Fact.Order = id.String()
				b.receipt(2, func(in *sale.Receipt) { rc.Fact.PaymentID = in.Fact.PaymentID })
			})
		}},
		"a refund is of more than there was": {"I8", func(b *breaker) { b.order("refund due", func(o *sale.Order) { o.Refunds[0].Amount++ }) }},
		"two refunds have one name": {"I8", func(b *breaker) {
			b.order("refund due", func(o *sale.Order) {
				again := o.Refunds[0]
				again.Amount = 0
				o.Refunds = append(o.Refunds, again)
			})
		}},
		"a seat was taken back by no refund": {"I8", func(b *breaker) { b.order("till", func(o *sale.Order) { o.Seats[0].Refund = uuid.New() }) }},
		"a paid order has no seat left": {"I8", func(b *breaker) {
			b.order("till", func(o *sale.Order) {
				r := sale.Refund{ID: uuid.New(), Amount: o.Total, State: sale.RefundDone}
				for i := range o.Seats {
					o.Seats[i].Refund = r.ID
				}
				o.Refunds = append(o.Refunds, r)
			})
		}},
		"a hold has a refund": {"I8", func(b *breaker) {
			b.order("pending", func(o *sale.Order) { o.Refunds = []sale.Refund{{ID: uuid.New(), State: sale.RefundWithdrawn}} })
		}},
		"an order is refunded and its money is not back": {"I8", func(b *breaker) {
			b.order("refunded", func(o *sale.Order) { o.Refunds[0].State = sale.RefundRequested })
		}},
		"a refund is asked for of an order without money": {"I8", func(b *breaker) {
			m := b.first(sale.TopicRefund, "refund due")
			from, to := b.orders["refund due"], b.orders["pending"]
			m.Body = []byte(strings.ReplaceAll(string(m.Body), from.String(), to.String()))
			b.message(m)
		}},
		"a refund is asked for of a fact that is not there": {"I8", func(b *breaker) {
			m := b.first(sale.TopicRefund, "refund due")
			m.Body = []byte(`{"refundId":"` + uuid.NewString() + `","provider":"till","eventId":"none"}`)
			b.message(m)
		}},
		"a message asks for no refund": {"I10", func(b *breaker) {
			m := b.first(sale.TopicRefund, "refund due")
			m.Body = []byte("{}")
			b.message(m)
		}},
		"a fact was booked twice": {"I8", func(b *breaker) {
			b.receipt(5, func(rc *sale.Receipt) { b.receipt(6, func(six *sale.Receipt) { six.Fact.EventID = rc.Fact.EventID }) })
		}},
		"who must look is not told":       {"I8", func(b *breaker) { b.receipt(5, func(rc *sale.Receipt) { rc.Attention = "" }) }},
		"an ignored fact wants attention": {"I8", func(b *breaker) { b.receipt(6, func(rc *sale.Receipt) { rc.Attention = "unknown_order" }) }},
	}.run(t)
}

func paid(total int64) []sale.Payment {
	return []sale.Payment{{Attempt: uuid.New(), Provider: "till", State: sale.PaymentSucceeded, Amount: total}}
}

func dropFacts(b *breaker, numbers ...uint64) {
	for _, n := range numbers {
		b.del(bucketReceipts, key64(n))
	}
}

func TestB78CheckFindsActsThatWereWrittenInPart(t *testing.T) {
	brokenFiles{
		"an order pays and no payment runs": {"I9", func(b *breaker) { b.order("paying", func(o *sale.Order) { o.Payments[0].State = sale.PaymentFailed }) }},
		"a payment runs and no order pays":  {"I9", func(b *breaker) { b.order("paying", func(o *sale.Order) { o.Status = sale.Pending }) }},
		"a paid order was never paid":       {"I9", func(b *breaker) { b.order("till", func(o *sale.Order) { o.PaidAt = time.Time{} }) }},
		"an order was paid and is not":      {"I9", func(b *breaker) { b.order("pending", func(o *sale.Order) { o.PaidAt = o.CreatedAt }) }},
		"a confirmation left no record":     {"I9", func(b *breaker) { b.order("shop", func(o *sale.Order) { o.Confirms = nil }) }},
		"a record has no body":              {"I9", func(b *breaker) { b.order("shop", func(o *sale.Order) { o.Confirms[0].Body = nil }) }},
		"a record is there twice": {"I9", func(b *breaker) {
			b.order("shop", func(o *sale.Order) { o.Confirms = append(o.Confirms, o.Confirms[0]) })
		}},
		"records are without end": {"I9", func(b *breaker) {
			b.order("shop", func(o *sale.Order) {
				for n := range 64 {
					c := sale.Confirmed{Key: make([]byte, 32), Body: make([]byte, 32)}
					c.Key[0] = byte(n)
					o.Confirms = append(o.Confirms, c)
				}
			})
		}},
		"an order was confirmed in vain": {"I9", func(b *breaker) {
			b.order("pending", func(o *sale.Order) { b.order("shop", func(s *sale.Order) { o.Confirms = s.Confirms }) })
		}},
		"an event forgot that it had a hold": {"I9", func(b *breaker) { b.event(func(e *sale.Event) { e.HadHold = false }) }},
		"an event is sold by another plan":   {"I9", func(b *breaker) { b.event(func(e *sale.Event) { e.PlanVersion = "000000000000" }) }},
		"a line of the audit is lost":        {"I9", func(b *breaker) { b.del(bucketAudit, key64(2)) }},
		"a message tells of what was not paid": {"I9", func(b *breaker) {
			m := b.first(sale.TopicOrderRefundDue, "refund due")
			m.Body = []byte(strings.Replace(string(m.Body), m.Topic, sale.TopicOrderPaid, 1))
			m.Body = []byte(strings.Replace(string(m.Body), string(sale.RefundDue), string(sale.Paid), 1))
			m.Topic = sale.TopicOrderPaid
			b.message(m)
		}},
		"a message tells another status": {"I9", func(b *breaker) {
			m := b.first(sale.TopicOrderPaid, "till")
			m.Body = []byte(strings.Replace(string(m.Body), `"status":"PAID"`, `"status":"EXPIRED"`, 1))
			b.message(m)
		}},
		"a message tells that a hold expired, which goes on": {"I9", func(b *breaker) {
			m := b.first(sale.TopicOrderExpired, "expired")
			old, id := b.orders["expired"], b.orders["pending"]
			m.Key = "order:" + id.String()
			m.Body = []byte(strings.ReplaceAll(string(m.Body), old.String(), id.String()))
			b.message(m)
		}},
		"a message is of a ticket that nobody has": {"I9", func(b *breaker) {
			m := b.first(sale.TopicTicketIssued, "till")
			at := strings.Index(string(m.Body), `"ticketId":"`) + len(`"ticketId":"`)
			copy(m.Body[at:], uuid.NewString())
			b.message(m)
		}},
	}.run(t)
	t.Run("a plan is lost", func(t *testing.T) {
		breaks(t, []string{"I1", "I9"}, func(b *breaker) { b.del(bucketPlans, key32(1)) }) // no sold seat is in it any more
	})
}

func TestB78CheckFindsMessagesThatWouldMislead(t *testing.T) {
	// swap exchanges the numbers of two messages of one order.
	swap := func(b *breaker, first, second outbox.Message) {
		first.Seq, second.Seq = second.Seq, first.Seq
		b.message(first)
		b.message(second)
	}
	// repeat adds a message with the highest number.
	repeat := func(b *breaker, m outbox.Message) {
		n := b.Bucket(bucketOutbox).Sequence() + 1
		b.must(b.Bucket(bucketOutbox).SetSequence(n))
		m.Seq = n
		b.message(m)
	}
	brokenFiles{
		"a number was never given": {"I10", func(b *breaker) { b.must(b.Bucket(bucketOutbox).SetSequence(1)) }},
		"a message is in no state": {"I10", func(b *breaker) { m := b.first(sale.TopicOrderPaid, "till"); m.State = "SENT"; b.message(m) }},
		"an id is none": {"I10", func(b *breaker) {
			m := b.first(sale.TopicOrderPaid, "till")
			m.ID = "7"
			m.Body = []byte(strings.Replace(string(m.Body), `"id":"`+b.first(sale.TopicOrderPaid, "till").ID, `"id":"7`, 1))
			b.message(m)
		}},
		"a body is cut short": {"I10", func(b *breaker) {
			m := b.first(sale.TopicOrderPaid, "till")
			m.Body = m.Body[:len(m.Body)/2]
			b.message(m)
		}},
		"a body has another id": {"I10", func(b *breaker) { m := b.first(sale.TopicOrderPaid, "till"); m.ID = uuid.NewString(); b.message(m) }},
		"a body is of another order": {"I10", func(b *breaker) {
			m := b.first(sale.TopicOrderPaid, "till")
			m.Body = []byte(strings.ReplaceAll(string(m.Body), `"orderId":"`, `"orderId":"00000000-0000-7000-8000-000000000000","x":"`))
			b.message(m)
		}},
		"a message is to be sent twice": {"I10", func(b *breaker) { repeat(b, b.first(sale.TopicOrderRefundDue, "refund due")) }},
		"an order is told twice": {"I10", func(b *breaker) {
			m := b.first(sale.TopicOrderRefundDue, "refund due")
			old := m.ID
			m.ID = uuid.NewString()
			m.Body = []byte(strings.Replace(string(m.Body), old, m.ID, 1))
			repeat(b, m)
		}},
		"a ticket is told twice": {"I10", func(b *breaker) {
			m := b.first(sale.TopicTicketIssued, "till")
			old := m.ID
			m.ID = uuid.NewString()
			m.Body = []byte(strings.Replace(string(m.Body), old, m.ID, 1))
			repeat(b, m)
		}},
		"a ticket comes before its order": {"I10", func(b *breaker) {
			swap(b, b.first(sale.TopicOrderPaid, "till"), b.first(sale.TopicTicketIssued, "till"))
		}},
		"a refund comes before it was due": {"I10", func(b *breaker) {
			swap(b, b.first(sale.TopicOrderRefundDue, "refunded"), b.first(sale.TopicOrderRefunded, "refunded"))
		}},
	}.run(t)
}

func TestB78CheckFindsRowsThatCannotBe(t *testing.T) {
	for _, bucket := range buckets[1:] { // what lies in meta without being known is no fault
		key := []byte{0xff, 0xff, 0xff, 0xfe}
		t.Run("a row of "+string(bucket), func(t *testing.T) {
			breaks(t, []string{"row"}, func(b *breaker) { b.put(bucket, key, []byte("?")) })
		})
		t.Run("a bucket in "+string(bucket), func(t *testing.T) {
			breaks(t, []string{"row"}, func(b *breaker) {
				_, err := b.Bucket(bucket).CreateBucket(key)
				b.must(err)
			})
		})
	}
	brokenFiles{
		"a place is of no event":        {"row", func(b *breaker) { b.put(bucketPlaces, keyPlace(77, 1), encodePlace(sale.Place{Visitor: uuid.New()})) }},
		"a plan is of no event":         {"row", func(b *breaker) { b.put(bucketPlans, key32(77), b.get(bucketPlans, key32(1))) }},
		"counts are of no event":        {"row", func(b *breaker) { b.put(bucketCounts, key32(77), b.get(bucketCounts, key32(1))) }},
		"an order is of no event":       {"row", func(b *breaker) { b.order("cancelled", func(o *sale.Order) { o.Event = "none" }) }},
		"an order is in no state":       {"row", func(b *breaker) { b.order("cancelled", func(o *sale.Order) { o.Status = "GONE" }) }},
		"an order has another id":       {"row", func(b *breaker) { b.order("cancelled", func(o *sale.Order) { o.ID = uuid.New() }) }},
		"an order lies with the closed": {"row", func(b *breaker) { id := b.orders["refund due"]; b.put(bucketClosed, id[:], b.get(bucketOrders, id[:])) }},
		"an event has another ordinal":  {"row", func(b *breaker) { b.event(func(e *sale.Event) { e.Ordinal = 2 }) }},
		"a receipt has another number":  {"row", func(b *breaker) { b.receipt(1, func(rc *sale.Receipt) { rc.Seq = 2 }) }},
		"a fact came to nothing known":  {"row", func(b *breaker) { b.receipt(6, func(rc *sale.Receipt) { rc.Outcome = "lost" }) }},
		"a line of the audit has another number": {"row", func(b *breaker) {
			var e sale.Entry
			b.must(json.Unmarshal(b.get(bucketAudit, key64(1)), &e))
			e.Seq = 9
			b.put(bucketAudit, key64(1), encodeJSON(e))
		}},
		"a key is named by another hash": {"row", func(b *breaker) {
			k, v := b.Bucket(bucketKeys).Cursor().First()
			k, v = slices.Clone(k), slices.Clone(v)
			b.del(bucketKeys, k)
			k[0]++
			b.put(bucketKeys, k, v)
		}},
		"a key has no role": {"row", func(b *breaker) {
			k, v := b.Bucket(bucketKeys).Cursor().First()
			key := &sale.Key{}
			b.must(json.Unmarshal(v, key))
			key.Role = "owner"
			b.put(bucketKeys, slices.Clone(k), encodeJSON(key))
		}},
		"two keys have one id": {"row", func(b *breaker) {
			_, v := b.Bucket(bucketKeys).Cursor().First()
			key := &sale.Key{}
			b.must(json.Unmarshal(v, key))
			key.Hash[0]++
			b.put(bucketKeys, key.Hash[:], encodeJSON(key))
		}},
		"a bucket is not known": {"note", func(b *breaker) {
			_, err := b.CreateBucket([]byte("theirs"))
			b.must(err)
		}},
		"a stamp lies in the future": {"note", func(b *breaker) { b.order("pending", func(o *sale.Order) { o.UpdatedAt = time.Now().Add(time.Hour) }) }},
	}.run(t)
	t.Run("two events have one id", func(t *testing.T) {
		breaks(t, []string{"row"}, func(b *breaker) {
			e := &sale.Event{}
			b.must(json.Unmarshal(b.get(bucketEvents, key32(2)), e))
			e.ID = "gala"
			e.HadHold = true // the orders are taken for its own
			e.PlanVersion = ""
			b.must(b.DeleteBucket(bucketOrders))
			_, err := b.CreateBucket(bucketOrders)
			b.must(err)
			b.put(bucketEvents, key32(2), encodeJSON(e))
			for _, name := range [][]byte{bucketPlaces, bucketReceipts, bucketOutbox, bucketClosed} {
				b.must(b.DeleteBucket(name))
				_, err := b.CreateBucket(name)
				b.must(err)
			}
		})
	})
}
