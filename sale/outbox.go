package sale

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
)

// Relay is told what staff decided about messages, after the commit.
type Relay interface {
	Retry(seq uint64)
	Forget(seq uint64)
}

// Messages lists messages of a state ("" = any) that are not delivered, oldest
// first, after a sequence number, at most n, without their bodies.
func (o *Office) Messages(state outbox.State, after uint64, n int) ([]outbox.Message, error) {
	return o.store.Messages(state, after, n)
}

// MessageView is a message at one moment.
type MessageView struct {
	ID, Topic, Key string
	CreatedAt      time.Time
	Body           []byte // JSON; secrets of a task's request are masked
	Copies         []MessageCopy
	Now            time.Time
}

// MessageCopy is how a message stands at one sink that does not have it.
type MessageCopy struct {
	outbox.Message                  // without its body
	Standing       *outbox.Standing // nil when it is dead
}

// Message finds a message that some sink does not have. It refuses with
// [ErrNoSuchMessage].
func (o *Office) Message(id string) (v MessageView, err error) {
	copies, err := o.copiesOf(id)
	if err != nil {
		return v, err
	}
	for _, c := range copies {
		m, found, err := o.store.Load(c.Seq)
		if err != nil {
			return v, err
		}
		if !found {
			continue // delivered meanwhile
		}
		v.ID, v.Topic, v.Key, v.CreatedAt, v.Body = m.ID, m.Topic, m.Key, m.CreatedAt, m.Body
		m.Body = nil
		one := MessageCopy{Message: m}
		if m.State == outbox.Waiting {
			s, known := o.lanes.Standing(m.Seq)
			if !known { // not offered yet, or decided just now
				s.Due = m.NextAt
			}
			one.Standing = &s
		}
		v.Copies = append(v.Copies, one)
	}
	if len(v.Copies) == 0 {
		return v, ErrNoSuchMessage
	}
	if v.Topic == TopicTask {
		v.Body, err = maskedTask(v.Body)
	}
	return v, cmp.Or(err, o.store.View(func(r Reader) error { v.Now = r.Now(); return nil }))
}

// maskedTask is the body of a task for eyes.
func maskedTask(body []byte) ([]byte, error) {
	var r TaskRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, err
	}
	r.Request = r.Masked()
	return json.Marshal(r)
}

// RetryMessage lets a message be delivered again now, to every sink that does
// not have it, with its tries and its patience counted anew. It refuses with [ErrNoSuchMessage].
func (o *Office) RetryMessage(actor, id string) error {
	return o.decideMessage(actor, id, retry)
}

// DropMessage gives a message up for good, at every sink that does not have it.
func (o *Office) DropMessage(actor, id string) error {
	return o.decideMessage(actor, id, drop)
}

// decision is what staff can decide about a message.
type decision struct {
	act     string // for the audit
	outcome func(m outbox.Message, now time.Time) outbox.Outcome
	tell    func(Relay, uint64)
}

var retry = decision{"message.retry", func(m outbox.Message, now time.Time) outbox.Outcome {
	return outbox.Outcome{Seq: m.Seq, State: outbox.Waiting, Since: now}
}, Relay.Retry}

var drop = decision{"message.drop", func(m outbox.Message, _ time.Time) outbox.Outcome {
	if m.Sink == outbox.TaskSink { // its row tells the caller what became of it
		return outbox.Outcome{Seq: m.Seq, Delivered: true, Keep: true, State: outbox.Cancelled, Attempts: m.Attempts, LastError: m.LastError}
	}
	return outbox.Outcome{Seq: m.Seq, Delivered: true}
}, Relay.Forget}

func (o *Office) decideMessage(actor, id string, d decision) error {
	o.deciding <- struct{}{}
	defer func() { <-o.deciding }()
	copies, err := o.copiesOf(id)
	if err != nil {
		return err
	}
	if len(copies) == 0 {
		return ErrNoSuchMessage
	}
	return o.decide(copies, d, func(tx Tx) {
		for _, m := range copies {
			o.audit(tx, actor, "", d.act, m.Topic+" "+m.ID+" to "+outbox.Mask(m.Sink))
		}
	})
}

// decide carries out a decision about messages in one transaction. The caller
// holds o.deciding.
func (o *Office) decide(messages []outbox.Message, d decision, audit func(Tx)) error {
	err := o.store.Update(func(tx Tx) error {
		for _, m := range messages {
			tx.Settle(d.outcome(m, tx.Now()))
		}
		audit(tx)
		return nil
	})
	if err == nil && o.relay != nil {
		for _, m := range messages {
			d.tell(o.relay, m.Seq)
		}
	}
	return err
}

// copiesOf finds a message's copies, one per sink that does not have it.
func (o *Office) copiesOf(id string) (copies []outbox.Message, err error) {
	if task, there := o.taskMessage(id); there {
		if task.State == outbox.Waiting || task.State == outbox.Dead {
			copies = append(copies, task)
		}
		return copies, nil
	}
	const page = 1000
	for after := uint64(0); ; {
		some, err := o.store.Messages("", after, page)
		if err != nil {
			return nil, err
		}
		for _, m := range some {
			if m.ID == id {
				copies = append(copies, m)
			}
		}
		if len(some) < page {
			return copies, nil
		}
		after = some[len(some)-1].Seq
	}
}

// taskMessage finds the message that is a task; tasks are known by their id.
func (o *Office) taskMessage(id string) (m outbox.Message, there bool) {
	task, err := uuid.Parse(id)
	if err != nil {
		return m, false
	}
	err = o.store.View(func(r Reader) error { m, there = r.Task(task); return nil })
	return m, there && err == nil
}

// Bounds of one decision about many messages.
const (
	deadAtOnce  = 500    // in one transaction
	deadPerCall = 10_000 // in one call, so that it answers soon
)

// DeadMessages says which dead messages are meant.
type DeadMessages struct {
	Before time.Time // made before; zero is all
	After  uint64    // with a larger number, see [Decided]
}

// Decided is what a decision about many messages has come to.
type Decided struct {
	Count int    // of messages, a copy for each sink
	Next  uint64 // with this as DeadMessages.After the next call goes on; 0 when all are decided
}

// RetryDead lets dead messages be delivered again now, as [Office.RetryMessage]
// does it, a few thousand per call.
// What it has decided stays decided if the process ends in the middle; calling
// again does the rest. A message that dies again is not met twice by calls that
// go on after Next.
func (o *Office) RetryDead(actor string, which DeadMessages) (Decided, error) {
	return o.decideDead(actor, which, retry)
}

// DropDead gives dead messages up for good, as [Office.RetryDead] does it.
func (o *Office) DropDead(actor string, which DeadMessages) (Decided, error) {
	return o.decideDead(actor, which, drop)
}

func (o *Office) decideDead(actor string, which DeadMessages, d decision) (done Decided, err error) {
	for looked := 0; looked < deadPerCall; looked += deadAtOnce {
		n, next, err := o.decideSome(actor, which, d)
		if err != nil {
			return done, err
		}
		done.Count += n
		done.Next, which.After = next, next
		if next == 0 {
			break
		}
	}
	return done, nil
}

// decideSome decides about a batch of dead messages in one transaction. None of
// them can come back to life between the look and the decision: only staff can
// do that, and they wait.
func (o *Office) decideSome(actor string, which DeadMessages, d decision) (n int, next uint64, err error) {
	o.deciding <- struct{}{}
	defer func() { <-o.deciding }()
	some, err := o.store.Messages(outbox.Dead, which.After, deadAtOnce)
	if err != nil || len(some) == 0 {
		return 0, 0, err
	}
	if len(some) == deadAtOnce {
		next = some[len(some)-1].Seq
	}
	chosen := some[:0]
	for _, m := range some {
		if which.Before.IsZero() || m.CreatedAt.Before(which.Before) {
			chosen = append(chosen, m)
		}
	}
	if len(chosen) == 0 {
		return 0, next, nil
	}
	text := fmt.Sprintf("%d dead messages, numbers %d to %d", len(chosen), chosen[0].Seq, chosen[len(chosen)-1].Seq)
	if !which.Before.IsZero() {
		text += ", made before " + which.Before.UTC().Format(time.RFC3339)
	}
	err = o.decide(chosen, d, func(tx Tx) { o.audit(tx, actor, "", d.act+"_all", text) })
	return len(chosen), next, err
}

// Troubles lists lanes that do not go on as they should, at most n.
func (o *Office) Troubles(n int) []outbox.LaneTrouble { return o.lanes.Troubles(n) }
