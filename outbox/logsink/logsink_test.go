package logsink

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"foyer/outbox"
)

func TestTheLineHoldsNoBuyer(t *testing.T) {
	var out bytes.Buffer
	at := time.Date(2027, 3, 1, 19, 0, 0, 0, time.UTC)
	body := []byte(`{"data":{"buyer":{"name":"Ann","email":"ann@x.example"}}}`)
	err := New(slog.New(slog.NewJSONHandler(&out, nil))).Deliver(t.Context(), outbox.Message{
		ID: "m1", Topic: "order.paid", Key: "order:7", CreatedAt: at, Body: body,
	})
	line := out.String()
	for _, want := range []string{`"id":"m1"`, `"topic":"order.paid"`, `"key":"order:7"`, `"createdAt":"2027-03-01T19:00:00Z"`, `"bytes":57`} {
		if !strings.Contains(line, want) {
			t.Errorf("no %s in %s", want, line)
		}
	}
	if err != nil || strings.Contains(line, "nn") || strings.Count(line, "\n") != 1 {
		t.Errorf("%v, line %q", err, line)
	}
}
