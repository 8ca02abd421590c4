// Package cloudevent writes messages as CloudEvents 1.0 in JSON (structured mode), the form in which buses get them.
//
// Its invariant: the data is the bytes of the stored message, neither decoded nor formatted anew, so that a number or an
// order of members is the same for every receiver. What it does not do: it does not read events, and it sets no sequence:
// order holds within a lane, and a lane is a partition key.
package cloudevent

import (
	"bytes"
	"encoding/json"
	"errors"

	"foyer/outbox"
)

// ContentType is the media type of what [Wrap] writes (CloudEvents 1.0.2, JSON event format, 3).
const ContentType = "application/cloudevents+json; charset=utf-8"

// DefaultSource is the source of events when the house has no address.
const DefaultSource = "foyer"

// TypePrefix stands before the topic in an event's type: "foyer.order.paid".
const TypePrefix = "foyer."

// Wrap writes m as an event of source, a URI reference; "" is [DefaultSource]. The id is the message's, the subject and
// the partition key (extension of that name) are its key, the time is its creation in UTC with milliseconds, the data is
// the member "data" of its body. It fails when the message has no id or topic, or a body without data.
func Wrap(m outbox.Message, source string) ([]byte, error) {
	if m.ID == "" || m.Topic == "" {
		return nil, errors.New("cloudevent: a message needs an id and a topic")
	}
	var body struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(m.Body, &body); err != nil || len(body.Data) == 0 {
		return nil, errors.New("cloudevent: the message's body is no document with data")
	}
	if source == "" {
		source = DefaultSource
	}
	b := bytes.NewBuffer(make([]byte, 0, len(m.Body)+400))
	b.WriteString(`{"specversion":"1.0"`)
	member(b, "id", m.ID)
	member(b, "source", source)
	member(b, "type", TypePrefix+m.Topic)
	if m.Key != "" { // both must not be empty when they are there
		member(b, "subject", m.Key)
		member(b, "partitionkey", m.Key)
	}
	member(b, "time", m.CreatedAt.UTC().Format("2006-01-02T15:04:05.000Z07:00"))
	member(b, "datacontenttype", "application/json")
	b.WriteString(`,"data":`)
	b.Write(body.Data)
	b.WriteByte('}')
	return b.Bytes(), nil
}

// member writes a further member of the object.
func member(b *bytes.Buffer, name, value string) {
	b.WriteString(`,"` + name + `":`)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(value) // a string into memory: it cannot fail
	b.Truncate(b.Len() - 1)
}
