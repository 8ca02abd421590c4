package mailsink

import (
	"fmt"
	"strings"
	"testing"
)

func TestWhatIsNoAddressIsRefusedWithoutRepeatingIt(t *testing.T) {
	for url, want := range map[string]string{
		"smtp://mail.example/?from=a@b.example":                       "mail.example:587 0",
		"smtp://u:p@mail.example:25?from=a@b.example&to=c@d.example":  "mail.example:25 0",
		"smtps://mail.example/?from=Box%20Office%20%3Ca@b.example%3E": "mail.example:465 1",
		"smtp://mail.example/?from=a@b.example&tls=none":              "mail.example:587 2",
		"smtp://u:p@localhost/?from=a@b.example":                      "localhost:587 2",
		"smtp://u:p@[::1]:25/?from=a@b.example&tls=none":              "[::1]:25 2",
		"smtps://127.0.0.1/?from=a@b.example":                         "127.0.0.1:465 1",
	} {
		a, err := parse(url)
		if got := fmt.Sprint(a.hostport(), " ", int(a.secure)); err != nil || got != want {
			t.Errorf("%s: %s, %v", url, got, err)
		}
	}
	for _, url := range []string{
		"", "http://hunter2/?from=a@b", "smtp:///?from=a@b", "smtp://h/hunter2?from=a@b", "smtp://h", "smtp://h?from=hunter2", "smtp://h?from=a@b&to=hunter2",
		"smtp://h?from=a@b&hunter2=1", "smtp://h?from=a@b&tls=hunter2", "smtps://h?from=a@b&tls=none", "smtp://hunter2@h?from=a@b", "smtp://:hunter2@h?from=a@b",
		"smtp://u:hunter2@h?from=a@b&tls=none", "smtp://h?from=a@b&from=hunter2@x", "smtp://h?from=a@b;hunter2", "smtp://h:hunter2?from=a@b", "smtp://h?from=a@b#hunter2",
		"smtp://h?from=a@b%0d%0ahunter2",
	} {
		err := Check(url)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
		if f := failure(t, New(Config{URL: url}).Deliver(t.Context(), paid("", ""))); f.Reason == "" {
			t.Errorf("%s: no reason", url)
		}
	}
	if s := New(Config{URL: "smtp://ann:hunter2@mail.example/?from=tickets@house.example"}).String(); s != "smtp://mail.example/?..." {
		t.Errorf("printed as %s", s)
	}
}
