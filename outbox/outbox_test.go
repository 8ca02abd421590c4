package outbox

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func ExampleEnvelope() {
	at := time.Date(2027, 3, 1, 20, 0, 0, 123_456_789, time.FixedZone("", 3600))
	doc, err := Envelope("0190f3d2", "order.paid", "order:17", at, map[string]int{"amount": 4250})
	fmt.Println(string(doc), err)
	// Output: {"id":"0190f3d2","topic":"order.paid","key":"order:17","createdAt":"2027-03-01T19:00:00.123Z","data":{"amount":4250}} <nil>
}

func TestEnvelopeRefusesWhatCannotBeSigned(t *testing.T) {
	for _, c := range []struct {
		id, topic string
		data      any
	}{{"", "t", 1}, {"a.b", "t", 1}, {"a", "", 1}, {"a", "t", make(chan int)}} {
		if doc, err := Envelope(c.id, c.topic, "k", epoch, c.data); err == nil {
			t.Errorf("%v gave %s", c, doc)
		}
	}
}

func TestClipCutsBetweenCharactersAndDropsControls(t *testing.T) {
	got := Clip("line\r\n\x1b[31mred\x00\xff " + strings.Repeat("ü", 5000))
	if len(got) > maxReason || !utf8.ValidString(got) || strings.ContainsAny(got, "\r\n\x1b\x00") || !strings.HasPrefix(got, "line [31mred ü") {
		t.Errorf("got %d bytes: %q", len(got), got)
	}
}

func TestMaskHidesWhatReceiversKeepSecret(t *testing.T) {
	for in, want := range map[string]string{
		"https://ann:pw@x.example/in?key=1#f": "https://x.example/in?...",
		"https://x.example:8443/in":           "https://x.example:8443/in",
		"nats://ann:pw@x.example":             "nats://x.example",
		"mail:ann:pw@x.example":               "mail:x.example",
		"log:":                                "log:",
		"http://x y:%zz@":                     "(an address that cannot be read)",
	} {
		if got := Mask(in); got != want {
			t.Errorf("Mask(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestAnyErrorOfASinkIsReadAsAFailure(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Failure
	}{
		{&Failure{Reason: "a", Gone: true}, Failure{Reason: "a", Gone: true}},
		{Failure{Reason: "b", RetryAfter: 5}, Failure{Reason: "b", RetryAfter: 5}},
		{fmt.Errorf("x: %w", &Failure{Reason: "c"}), Failure{Reason: "c"}},
		{errors.New("plain"), Failure{Reason: "plain"}},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), Failure{Reason: "no answer in time", Down: true}},
	} {
		if got := failureOf(c.err); got != c.want {
			t.Errorf("%v: got %+v, want %+v", c.err, got, c.want)
		}
	}
}

func heapNow() uint64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}
