package sale

import (
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"foyer/outbox"
)

// inspectedOutbox is what the messages have shown so far.
type inspectedOutbox struct {
	sequence uint64
	sinks    map[string]uint32
	copies   map[copyOf]struct{}
	lanes    map[laneOf]laneSeen
	tickets  map[copyOf]struct{}
	refunds  map[copyOf]uint8 // what was told of a refund: 1 that it is due, 2 that it is done
}

func newInspectedOutbox() inspectedOutbox {
	return inspectedOutbox{sinks: map[string]uint32{}, copies: map[copyOf]struct{}{}, lanes: map[laneOf]laneSeen{}, tickets: map[copyOf]struct{}{}, refunds: map[copyOf]uint8{}}
}

// copyOf names something told to one sink.
type copyOf struct {
	id   uuid.UUID
	sink uint32
}

// laneOf names the lane of an order at one sink.
type laneOf struct {
	order uuid.UUID
	sink  uint32
}

// laneSeen is how far a lane has come: the stage of its last message, and the
// topics it has had.
type laneSeen struct{ stage, topics uint8 }

// stages are the topics of an order's lane, in the only order they can come in.
// Those of refunds may come several times, each with a refund of its own.
var stages = map[string]uint8{TopicOrderExpired: 1, TopicOrderPaid: 2, TopicTicketIssued: 3, TopicOrderRefundDue: 4, TopicOrderRefunded: 4}

// MessageSequence is fed the highest number that a message ever had, before the
// messages.
func (i *Inspection) MessageSequence(n uint64) { i.outbox.sequence = n }

// Message is fed a message with its body, after all orders.
func (i *Inspection) Message(m outbox.Message) {
	i.count.Messages++
	i.stamp(m.CreatedAt)
	if m.State != outbox.Waiting && m.State != outbox.Dead {
		i.Add("I10", "message %d has the unknown state %q", m.Seq, m.State)
	}
	sink := i.inspectName(m, "message", "message %s is to be sent twice to the same sink, the second time as number %d")
	switch m.Sink {
	case outbox.TaskSink:
		i.inspectTask(m)
	case RefundSink:
		i.inspectAsking(m)
	default:
		i.inspectBody(m, sink)
	}
}

// inspectAsking wants a message that asks for a refund which is there.
func (i *Inspection) inspectAsking(m outbox.Message) {
	var ref refundRef
	if err := json.Unmarshal(m.Body, &ref); err != nil || ref.Refund == uuid.Nil || (ref.Order == uuid.Nil) == (ref.Event == "") || m.Topic != TopicRefund {
		i.Add("I10", "message %d asks for no refund", m.Seq)
		return
	}
	if ref.Event != "" {
		if _, there := i.facts[[2]string{ref.Provider, ref.Event}]; !there {
			i.Add("I8", "message %d asks for a refund of the payment fact %q of %q, which is not there", m.Seq, ref.Event, ref.Provider)
		}
		return
	}
	if o := i.orders[ref.Order]; o == nil || !o.status.hasMoney() {
		i.Add("I8", "message %d asks for a refund of order %s, which is %s", m.Seq, ref.Order, o.is())
	}
}

// inspectName wants a number that was given and an id that is there once per
// sink; twice says, of id and number, what is wrong else.
func (i *Inspection) inspectName(m outbox.Message, what, twice string) (sink uint32) {
	if m.Seq > i.outbox.sequence || m.Seq == 0 {
		i.Add("I10", "%s %d has a number that was never given; the last was %d", what, m.Seq, i.outbox.sequence)
	}
	sink, known := i.outbox.sinks[m.Sink]
	if !known {
		sink = uint32(len(i.outbox.sinks))
		i.outbox.sinks[m.Sink] = sink
	}
	id, err := uuid.Parse(m.ID)
	copied := copyOf{id, sink}
	if _, there := i.outbox.copies[copied]; err != nil {
		i.Add("I10", "%s %d has the id %q, which is no UUID", what, m.Seq, m.ID)
	} else if there {
		i.Add("I10", twice, m.ID, m.Seq)
	}
	i.outbox.copies[copied] = struct{}{}
	return sink
}

// Ended is fed a task that is done or cancelled, after the messages.
func (i *Inspection) Ended(m outbox.Message) {
	if m.Sink != outbox.TaskSink || m.State != outbox.Done && m.State != outbox.Cancelled {
		i.Add("I10", "message %d has ended and is kept, and is %s for %s", m.Seq, m.State, outbox.Mask(m.Sink))
		return
	}
	i.inspectName(m, "task", "task %s is there twice, as one that ended and once more as number %d")
	i.inspectTask(m)
}

// LaneRule is fed a rule and what it is for.
func (i *Inspection) LaneRule(pattern string, r outbox.Rule) {
	if checkLaneKey(pattern, true) != nil || checkRule(r) != nil {
		i.Add("I10", "the rule of the lane %.40q is one that cannot be", pattern)
	}
}

// inspectTask wants a request that can be made.
func (i *Inspection) inspectTask(m outbox.Message) {
	var r TaskRequest
	if err := json.Unmarshal(m.Body, &r); err != nil || r.Check() != nil || m.Topic != TopicTask {
		i.Add("I10", "task %d holds no request that can be made", m.Seq)
	}
}

// inspectBody holds what a message says against its row and its order.
func (i *Inspection) inspectBody(m outbox.Message, sink uint32) {
	var doc struct {
		ID, Topic, Key string
		Data           json.RawMessage
	}
	if err := json.Unmarshal(m.Body, &doc); err != nil || doc.ID != m.ID || doc.Topic != m.Topic || doc.Key != m.Key {
		i.Add("I10", "message %d: its body does not say that it is %s about %s with the id %s", m.Seq, m.Topic, m.Key, m.ID)
		return
	}
	stage, ours := stages[m.Topic]
	if !ours {
		return
	}
	var data struct {
		OrderID, TicketID uuid.UUID
		Status            OrderStatus
		Refund            struct{ RefundID uuid.UUID }
	}
	order, err := uuid.Parse(strings.TrimPrefix(m.Key, "order:"))
	if err != nil || json.Unmarshal(doc.Data, &data) != nil || order != data.OrderID {
		i.Add("I10", "message %d about %s speaks of order %s", m.Seq, m.Key, data.OrderID)
		return
	}
	i.inspectCause(m, order, data.Status, data.TicketID, sink)
	i.inspectLane(m, laneOf{order, sink}, stage)
	i.inspectTold(m, copyOf{data.Refund.RefundID, sink})
}

// inspectTold wants each refund told once that it is due, and then once that it
// is done. Older files name no refund.
func (i *Inspection) inspectTold(m outbox.Message, refund copyOf) {
	told := uint8(1)
	switch m.Topic {
	case TopicOrderRefunded:
		told = 2
	case TopicOrderRefundDue:
	default:
		return
	}
	if refund.id == uuid.Nil {
		return
	}
	if i.outbox.refunds[refund] >= told && told == 1 {
		i.Add("I10", "message %d: refund %s is told to be due twice, or after it was done", m.Seq, refund.id)
	}
	i.outbox.refunds[refund] = told
}

// inspectCause holds a message against the order that it speaks of.
func (i *Inspection) inspectCause(m outbox.Message, order uuid.UUID, said OrderStatus, ticket uuid.UUID, sink uint32) {
	o := i.orders[order]
	so, says := true, said
	resent := o != nil && o.resent
	switch m.Topic {
	case TopicOrderPaid:
		so, says = o != nil && o.paid, Paid
	case TopicOrderRefundDue:
		so, says = o != nil && o.returns, said
	case TopicOrderRefunded:
		so, says = o != nil && o.returns, said
	case TopicOrderExpired:
		so, says = o == nil || !o.status.Open(), Expired
	case TopicTicketIssued:
		so = o != nil && o.paid && i.tickets[ticket] == order
		if _, twice := i.outbox.tickets[copyOf{ticket, sink}]; twice && !resent {
			i.Add("I10", "ticket %s is told twice to the same sink, the second time by message %d", ticket, m.Seq)
		}
		i.outbox.tickets[copyOf{ticket, sink}] = struct{}{}
	}
	if !so || said != says {
		i.Add("I9", "message %d tells %s of order %s (%q), which is %s", m.Seq, m.Topic, order, said, o.is())
	}
}

// inspectLane wants an order's messages in the order in which things happened.
// Those that were delivered are gone.
func (i *Inspection) inspectLane(m outbox.Message, lane laneOf, stage uint8) {
	l := i.outbox.lanes[lane]
	bit := uint8(1) << stage
	o := i.orders[lane.order]
	switch {
	case stage == 4 || o != nil && o.resent: // may come again and again
	case stage < l.stage:
		i.Add("I10", "message %d: %s of order %s comes after what follows from it", m.Seq, m.Topic, lane.order)
	case m.Topic != TopicTicketIssued && l.topics&bit != 0:
		i.Add("I10", "message %d: order %s is told %s twice", m.Seq, lane.order, m.Topic)
	}
	i.outbox.lanes[lane] = laneSeen{max(stage, l.stage), l.topics | bit}
}
