package natssink

import (
	"strings"
	"testing"
)

func TestWhatIsNoAddressIsRefusedWithoutRepeatingIt(t *testing.T) {
	for url, prefix := range map[string]string{
		"nats://h": "foyer", "nats://h/": "foyer", "nats://a:1,b:2/x.y": "x.y", "nats://[::1]:3/x": "x", "tls://tok@h/x": "x", "nats://u:p@h/x": "x",
	} {
		if a, err := parse(url); err != nil || a.prefix != prefix {
			t.Errorf("%s: %+v, %v", url, a, err)
		}
	}
	for _, url := range []string{
		"", "http://h/x", "nats:", "nats:///x", "nats://u:hunter2@/x", "nats://hunter2@h,/x", "nats://h:4222x/hunter2", "nats://h/a..hunter2", "nats://h/hunter2.>",
		"nats://h/hunter2.*", "nats://h/a/hunter2", "nats://h/.hunter2", "nats://h/a%20hunter2", "nats://h/x?hunter2=1", "nats://:4222/x",
	} {
		err := Check(url)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
		if f := failure(t, New(Config{URL: url}).Deliver(t.Context(), message("m1"))); f.Reason == "" {
			t.Errorf("%s: no reason", url)
		}
	}
}
