// Package outbox brings committed messages to the outside.
//
// Its job: a message was written by the sale in the same transaction as its cause; after the commit the store hands it
// to the [Relay], and the relay delivers it to its sink. A lane is a sink and a key. Lanes are independent of each other;
// inside a lane messages start in the order of Seq, as its [Rule] lets them: one at a time, and at no pace, without one.
//
// Its invariants: every message is waiting, in flight, delivered or dead, and in exactly one of these. A lane never has
// more undecided messages than its rule allows, and one is decided when its outcome is settled in the [Book], or when it is
// given up without a call, so a receiver sees the first copies of a lane of one at a time in order, however often the process dies. Starts of a lane with
// a pace are booked on disk before their calls, so that no process that comes after is too early. A message is delivered at
// least once, always with the same id and the same bytes. A failing message holds up its own lane only; a dead one lets
// the next of its lane go on.
//
// What it does not do: it does not store (that is the Book), it does not speak any protocol (that is a [Sink]), it does
// not deliver exactly once (a receiver drops copies by id), and it keeps no order between lanes.
package outbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// State says where a stored message stands. Delivered messages have no state: their row is deleted.
type State string

const (
	Waiting State = "WAITING" // to be delivered, perhaps after some failures
	Dead    State = "DEAD"    // given up; staff may retry or drop it

	// Of tasks alone, whose rows are kept for a while; NextAt is when they ended.
	Done      State = "DONE"
	Cancelled State = "CANCELLED"
)

// Message is one thing that one sink must be told.
type Message struct {
	Seq       uint64    // rising, given by the store at commit
	ID        string    // never changes; the webhook-id header. No full stop in it (Standard Webhooks 1.0.0)
	Topic     string    // "order.paid"
	Key       string    // "order:<uuid>"; with Sink it names the lane
	Sink      string    // name of the sink: the URL as configured, "https://x/y" or "log:". Print it through Mask
	CreatedAt time.Time // the time of the transaction that wrote it
	Since     time.Time // its patience counts from then: not before which it was to go at first, or when staff retried it; zero = CreatedAt
	Body      []byte    // the JSON document, the same bytes at every attempt
	State     State
	Attempts  int       // deliveries tried so far
	NextAt    time.Time // not before; zero = at once
	LastError string    // what the last attempt met, at most 500 bytes, no secrets
	Held      bool      // not stored: until NextAt it counts as undecided, since a call may still run that nobody waits for
}

// age is how much of its patience a message has used up.
func (m *Message) age(now time.Time) time.Duration {
	if m.Since.IsZero() {
		return now.Sub(m.CreatedAt)
	}
	return now.Sub(m.Since)
}

// Envelope builds the outgoing document {"id","topic","key","createdAt","data"}; createdAt is RFC 3339 in UTC with
// milliseconds. It fails when id or topic is empty, when id has a full stop (the separator of the signed content in
// Standard Webhooks 1.0.0) or when data cannot be written as JSON.
func Envelope(id, topic, key string, at time.Time, data any) ([]byte, error) {
	if id == "" || topic == "" || strings.Contains(id, ".") {
		return nil, fmt.Errorf("outbox: message needs a topic and an id without full stop: topic %q, id %q", topic, id)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		ID        string `json:"id"`
		Topic     string `json:"topic"`
		Key       string `json:"key"`
		CreatedAt string `json:"createdAt"`
		Data      any    `json:"data"`
	}{id, topic, key, at.UTC().Format("2006-01-02T15:04:05.000Z"), data})
	if err != nil {
		return nil, fmt.Errorf("outbox: message %s: %w", id, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Outcome is what one attempt came to. Delivered: the row goes away, unless its sink keeps what was done; LastError is
// then what the receiver said. Otherwise Attempts, NextAt, LastError and State replace those of the row.
type Outcome struct {
	Seq       uint64
	Delivered bool
	Attempts  int
	NextAt    time.Time
	LastError string
	State     State
	Since     time.Time // unless it is zero, that of the row from now on
	Keep      bool      // delivered or dropped, the row is kept as one that ended, see State
	Down      bool      // not stored: the receiver was not reached, see Failure
	Uncalled  bool      // not stored: given up without a call, which is no attempt
}

// Book is the durable side of the outbox; the store implements it. Its methods are called from many goroutines.
type Book interface {
	// Load returns the whole row with its body, or false when there is none (delivered, or dropped by staff).
	Load(seq uint64) (Message, bool, error)
	// Settle stores all outcomes in one transaction; outcomes of rows that are gone are skipped, they are no error.
	// An error means that nothing is settled: the relay keeps the outcomes, does not deliver again, and tries later.
	Settle([]Outcome) error
	// Begin stores the next slots of lanes in one transaction. A slot that has passed may be forgotten.
	Begin([]Slot) error
}

// Sink delivers one message. Nil means that the receiver has it; any error means that it is to be tried again, a
// [*Failure] can say more. Deliver must return soon after ctx ends. It is called from many goroutines.
// A sink that has a String method is printed by it, otherwise by its name through [Mask].
type Sink interface {
	Deliver(ctx context.Context, m Message) error
}

// Caller is a Sink whose receivers' answers are kept. It is called in place of Deliver.
type Caller interface {
	// Call is Deliver, and gives what the receiver said to a message that it took.
	Call(ctx context.Context, m Message) (answer string, err error)
}

// Failure is an error with what the receiver said.
type Failure struct {
	Reason     string        // for staff; no secrets
	RetryAfter time.Duration // not before this; 0 = nothing said
	Gone       bool          // the receiver wants no more, ever (HTTP 410): this sink is stopped
	Final      bool          // another try would not help: this message is dead, its sink goes on
	Down       bool          // the receiver was not reached or did not answer: others should wait until it does
}

// Error returns the reason.
func (f Failure) Error() string { return f.Reason }

// failureOf reads any error of a sink as a Failure with a reason that is clipped and escaped.
func failureOf(err error) Failure {
	var f Failure
	var p *Failure
	switch {
	case errors.As(err, &p):
		f = *p
	case errors.As(err, &f):
	case errors.Is(err, context.DeadlineExceeded):
		f.Reason, f.Down = "no answer in time", true
	default:
		f.Reason = err.Error()
	}
	f.Reason = Clip(Escape(Clip(f.Reason)))
	return f
}

// Mask returns the name of a sink for logs and pages: user, password, query and fragment of a URL are left out, since
// receivers put their secrets there. "https://ann:pw@x.example/in?key=1" becomes "https://x.example/in?...".
func Mask(sink string) string {
	u, err := url.Parse(sink)
	if err != nil {
		return "(an address that cannot be read)"
	}
	secret := u.RawQuery != "" || u.Fragment != ""
	u.Opaque = u.Opaque[strings.LastIndex(u.Opaque, "@")+1:]
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	if secret {
		return u.String() + "?..."
	}
	return u.String()
}
