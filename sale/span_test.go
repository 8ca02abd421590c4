package sale

import (
	"errors"
	"testing"
	"time"
)

func TestSpanIsReadAsItIsWritten(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0s": 0, "1ms": time.Millisecond, "250ms": 250 * time.Millisecond, "1m": time.Minute, "1h30m": 90 * time.Minute, "1.5s": 1500 * time.Millisecond, "720h": maxInterval,
		time.Duration(90 * time.Minute).String(): 90 * time.Minute,
	} {
		if got, err := ParseSpan(text); err != nil || got != want {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "1", "s", "+1s", "-1s", "-0s", "1ns", "1us", "1µs", "1.0005s", "0.5ms", ".5s", "1.s", "1 m", " 1m", "1m ", "1d", "720h0m0.001s", "9999999999h", "nonsense"} {
		if got, err := ParseSpan(text); !errors.Is(err, ErrBadSpan) {
			t.Errorf("%q: got %s, %v", text, got, err)
		}
	}
}
