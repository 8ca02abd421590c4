package sale_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/outbox"
	"foyer/sale"
)

// dead makes n dead messages to a sink.
func (h *house) dead(n int, sink string) {
	h.Helper()
	h.ok(h.store.Update(func(tx sale.Tx) error {
		for range n {
			id := tx.NewID().String()
			body, err := outbox.Envelope(id, "test", "k", tx.Now(), nil)
			if err != nil {
				return err
			}
			tx.Send(outbox.Message{
				ID: id, Topic: "test", Key: "k", Sink: sink, CreatedAt: tx.Now(), Body: body, State: outbox.Dead, Attempts: 9, LastError: "500",
			})
		}
		return nil
	}))
}

// states counts messages by state.
func (h *house) states() (dead, waiting int) {
	h.Helper()
	for after := uint64(0); ; {
		some, err := h.store.Messages("", after, 1000)
		h.ok(err)
		for _, m := range some {
			after = m.Seq
			switch m.State {
			case outbox.Dead:
				dead++
			case outbox.Waiting:
				waiting++
			}
		}
		if len(some) == 0 {
			return dead, waiting
		}
	}
}

func (h *house) want(dead, waiting int) {
	h.Helper()
	if d, w := h.states(); d != dead || w != waiting {
		h.Errorf("%d are dead and %d wait, want %d and %d", d, w, dead, waiting)
	}
}

// B57: dead letters can be tried again all at once; a restart in the middle loses
// nothing of what was decided, and calling again does the rest.
func TestB57AllDeadMessagesAreTriedAgainInPartsOverARestart(t *testing.T) {
	play(t, nil, func(h *house) {
		h.dead(10_300, "log:")
		done, err := h.RetryDead("staff:ann", sale.DeadMessages{})
		h.ok(err)
		if done.Count != 10_000 || done.Next == 0 {
			h.Fatalf("the first call did %+v, want 10,000 and a number to go on after", done)
		}
		h.want(300, 10_000)
		h.restart()
		h.want(300, 10_000)
		h.dead(1, "log:") // died meanwhile
		done, err = h.RetryDead("staff:ann", sale.DeadMessages{})
		h.ok(err)
		if done.Count != 301 || done.Next != 0 {
			h.Errorf("the second call did %+v, want the other 301", done)
		}
		h.want(0, 10_301)
		for _, m := range h.messages()[:3] {
			if m.Attempts != 0 || m.LastError != "" || len(m.Body) == 0 {
				h.Errorf("a message that is tried again: %+v", m)
			}
		}
		entries, err := h.Audit(0, 100)
		h.ok(err)
		var told []string
		for _, e := range entries {
			if e.Act == "message.retry_all" {
				told = append(told, e.Actor+" "+e.Detail)
			}
		}
		if len(told) != 21 || told[20] != "staff:ann 500 dead messages, numbers 1 to 500" {
			h.Errorf("the audit has %d lines about it, want 21: %q", len(told), told)
		}
		_, err = h.DropDead("staff", sale.DeadMessages{})
		h.ok(err)
		h.want(0, 10_301) // what waits is not dead
	})
}

// A message that dies again at once is not tried for ever by a caller that goes on
// after the number it was given.
func TestB57GoingOnDoesNotMeetTheSameMessagesAgain(t *testing.T) {
	play(t, nil, func(h *house) {
		h.dead(10_500, "log:")
		done, err := h.RetryDead("staff", sale.DeadMessages{})
		h.ok(err)
		var again []outbox.Outcome
		for seq := range uint64(10_000) {
			again = append(again, outbox.Outcome{Seq: seq + 1, State: outbox.Dead, Attempts: 1, LastError: "500"})
		}
		h.ok(h.store.Settle(again))
		done, err = h.RetryDead("staff", sale.DeadMessages{After: done.Next})
		h.ok(err)
		if done.Next != 0 { // exactly a page was left
			done, err = h.RetryDead("staff", sale.DeadMessages{After: done.Next})
			h.ok(err)
		}
		if done.Next != 0 {
			h.Errorf("there is no end: %+v", done)
		}
		h.want(10_000, 500)
	})
}

// One of two who decide about everything at once wins each message, and nobody gives up what the other has let go again.
func TestEveryDeadMessageIsDecidedAboutOnce(t *testing.T) {
	play(t, nil, func(h *house) {
		h.dead(3000, "log:")
		var retried, dropped sale.Decided
		h.together(func() {
			var err error
			retried, err = h.RetryDead("staff:ann", sale.DeadMessages{})
			h.ok(err)
		}, func() {
			var err error
			dropped, err = h.DropDead("staff:bob", sale.DeadMessages{})
			h.ok(err)
		})
		if retried.Count+dropped.Count != 3000 {
			h.Errorf("%d were tried again and %d given up, of 3000", retried.Count, dropped.Count)
		}
		h.want(0, retried.Count)
	})
}

// B57: dead letters are purged by age, at the exact instant.
func TestB57DeadMessagesAreGivenUpByAge(t *testing.T) {
	play(t, nil, func(h *house) {
		relay := &runner{}
		h.Office = sale.New(sale.Config{Store: h.store, Secret: h.store.Secret(), Sinks: h.sinks, Relay: relay, TicketCode: uuid.UUID.String})
		h.dead(3, "log:")
		h.at(time.Hour)
		h.dead(2, "log:")
		h.at(2 * time.Hour)
		h.dead(1, "log:")
		done, err := h.DropDead("staff", sale.DeadMessages{Before: h.began.Add(time.Hour)})
		h.ok(err)
		if done.Count != 3 || done.Next != 0 {
			h.Errorf("dropped %+v, want the 3 made before", done)
		}
		h.want(3, 0)
		if len(relay.told) != 3 || relay.told[0] != "forget" {
			h.Errorf("the relay was told %v", relay.told)
		}
		done, err = h.DropDead("staff", sale.DeadMessages{Before: h.began.Add(time.Hour + time.Millisecond)})
		h.ok(err)
		if done.Count != 2 {
			h.Errorf("dropped %+v, want the 2 made at the hour", done)
		}
		entries, err := h.Audit(0, 1)
		h.ok(err)
		if len(entries) != 1 || entries[0].Act != "message.drop_all" || !strings.Contains(entries[0].Detail, "2 dead messages, numbers 4 to 5, made before ") {
			h.Errorf("the audit says %+v", entries)
		}
	})
}

// A task that staff give up among the dead can still be looked at by who asked for it.
func TestDeadTaskThatIsGivenUpIsCancelled(t *testing.T) {
	play(t, nil, func(h *house) {
		task, _, err := h.AddTask("tenant", sale.TaskRequest{Request: outbox.Request{
			URL: "https://ann:hunter2@api.example/do?key=hunter2", Method: "POST", Headers: map[string]string{"Authorization": "hunter2"}, Body: json.RawMessage(`{"n":1}`),
		}})
		h.ok(err)
		all := h.messages()
		h.ok(h.store.Settle([]outbox.Outcome{{Seq: all[0].Seq, State: outbox.Dead, Attempts: 7, LastError: "404"}}))
		v, err := h.Message(task.ID.String())
		h.ok(err)
		if len(v.Copies) != 1 || v.Copies[0].State != outbox.Dead || v.Copies[0].Attempts != 7 || v.Key != "tenant" || v.Topic != sale.TopicTask {
			h.Errorf("the message is %+v", v)
		}
		if text := fmt.Sprintf("%s %v", v.Body, v.Copies); strings.Contains(text, "hunter2") || !strings.Contains(text, "https://api.example/do") {
			h.Errorf("it is shown as %s", text)
		}
		_, err = h.DropDead("staff", sale.DeadMessages{})
		h.ok(err)
		h.want(0, 0)
		got, err := h.Task(task.ID)
		h.ok(err)
		if got.State != sale.TaskCancelled || got.Attempts != 7 || got.LastAnswer != "404" {
			h.Errorf("the task is %+v", got)
		}
		_, err = h.Message(task.ID.String())
		h.refused(err, sale.ErrNoSuchMessage)
		h.refused(h.RetryMessage("staff", task.ID.String()), sale.ErrNoSuchMessage)
	})
}

func TestMessageIsShownWithItsBodyAndEverySinkThatLacksIt(t *testing.T) {
	play(t, nil, func(h *house) {
		h.sinks = func(string) []string { return []string{"log:", "https://shop.example/hook"} }
		ann := h.buyer()
		ann.hold("A-1")
		_, err := h.confirm(ann.order, "k", 4250)
		h.ok(err)
		paid := h.messages()[0]
		v, err := h.Message(paid.ID)
		h.ok(err)
		if len(v.Copies) != 2 || v.Copies[0].Sink != "log:" || v.Copies[1].Sink != "https://shop.example/hook" || v.Copies[0].Standing == nil || v.Copies[0].Body != nil {
			h.Errorf("copies: %+v", v.Copies)
		}
		if string(v.Body) != string(paid.Body) || v.Topic != sale.TopicOrderPaid || v.Key != "order:"+ann.order.String() || v.Now.IsZero() {
			h.Errorf("message: %+v", v)
		}
		h.ok(h.store.Settle([]outbox.Outcome{{Seq: paid.Seq, Delivered: true}}))
		v, err = h.Message(paid.ID)
		h.ok(err)
		if len(v.Copies) != 1 || v.Copies[0].Sink != "https://shop.example/hook" {
			h.Errorf("after one delivery: %+v", v.Copies)
		}
		_, err = h.Message("nonsense")
		h.refused(err, sale.ErrNoSuchMessage)
	})
}
