// Package logsink writes one log line per message.
//
// Its job: the sink "log:", for a laptop, a demo, and a venue that only wants a trace. Its invariant: the line holds no
// personal data. What it does not do: it does not log the body, which may hold a buyer's name and address; it never fails.
package logsink

import (
	"context"
	"log/slog"

	"foyer/outbox"
)

// Sink is an [outbox.Sink].
type Sink struct{ log *slog.Logger }

// New returns a sink that writes to log at level INFO.
func New(log *slog.Logger) *Sink { return &Sink{log} }

// Deliver writes id, topic, key, creation and the size of the body in bytes, and returns nil.
func (s *Sink) Deliver(ctx context.Context, m outbox.Message) error {
	s.log.LogAttrs(ctx, slog.LevelInfo, "message",
		slog.String("id", m.ID), slog.String("topic", m.Topic), slog.String("key", m.Key),
		slog.Time("createdAt", m.CreatedAt), slog.Int("bytes", len(m.Body)))
	return nil
}

// String returns the name of the sink.
func (s *Sink) String() string { return "log:" }
