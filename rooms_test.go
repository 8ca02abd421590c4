package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// rooms says what each room may import of this module and of the world beyond
// the standard library. It is the picture in ARCHITECTURE.md; an arrow that
// turns round fails here. google/uuid is a word of the trade and allowed in all
// rooms but the pure ones.
var rooms = map[string][]string{
	"foyer": {
		"foyer/challenge", "foyer/outbox", "foyer/outbox/filesink", "foyer/outbox/httptask", "foyer/outbox/kafkasink", "foyer/outbox/logsink", "foyer/outbox/mailsink",
		"foyer/outbox/natssink", "foyer/outbox/webhook", "foyer/pay/demo", "foyer/pay/stripe", "foyer/queue", "foyer/sale", "foyer/seats",
		"foyer/store", "foyer/tickets", "foyer/web", "github.com/google/uuid",
		"github.com/prometheus/client_golang/prometheus", "github.com/prometheus/client_golang/prometheus/promhttp",
	},
	"foyer/queue":                    {},
	"foyer/cell":                     {},
	"foyer/challenge":                {"github.com/altcha-org/altcha-lib-go", "github.com/google/uuid"},
	"foyer/seats":                    {"foyer/cell"},
	"foyer/outbox":                   {},
	"foyer/outbox/client":            {"foyer/outbox"},
	"foyer/outbox/client/clienttest": {}, // for tests alone
	"foyer/outbox/httptask":          {"foyer/outbox", "foyer/outbox/client"},
	"foyer/outbox/cloudevent":        {"foyer/outbox"},
	"foyer/outbox/filesink":          {"foyer/outbox"},
	"foyer/outbox/kafkasink": {
		"foyer/outbox", "foyer/outbox/cloudevent",
		"github.com/twmb/franz-go/pkg/kerr", "github.com/twmb/franz-go/pkg/kgo", "github.com/twmb/franz-go/pkg/sasl/plain",
	},
	"foyer/outbox/logsink":  {"foyer/outbox"},
	"foyer/outbox/mailsink": {"foyer/outbox", "github.com/wneessen/go-mail", "github.com/wneessen/go-mail/smtp"},
	"foyer/outbox/natssink": {"foyer/outbox", "foyer/outbox/cloudevent", "github.com/nats-io/nats.go", "github.com/nats-io/nats.go/jetstream"},
	"foyer/outbox/webhook":  {"foyer/outbox", "foyer/outbox/client"},
	"foyer/sale":            {"foyer/outbox", "foyer/queue", "foyer/seats", "github.com/google/uuid"},
	"foyer/sale/storetest":  {"foyer/outbox", "foyer/queue", "foyer/sale", "foyer/seats", "github.com/google/uuid"},
	"foyer/store":           {"foyer/outbox", "foyer/queue", "foyer/sale", "foyer/seats", "github.com/google/uuid", "go.etcd.io/bbolt", "go.etcd.io/bbolt/errors", "golang.org/x/sys/unix"},
	"foyer/pay/demo":        {"foyer/outbox/webhook", "foyer/sale", "github.com/google/uuid"}, // it signs what it posts
	"foyer/pay/stripe":      {"foyer/sale", "github.com/google/uuid", "github.com/stripe/stripe-go/v85"},
	"foyer/tickets":         {"github.com/google/uuid", "rsc.io/qr"},
	"foyer/static":          {},
	"foyer/web": {
		"foyer/cell", "foyer/challenge", "foyer/outbox", "foyer/queue", "foyer/sale", "foyer/seats", "foyer/static", "foyer/tickets", "github.com/google/uuid", "github.com/labstack/echo/v4",
		"github.com/prometheus/client_golang/prometheus", "github.com/prometheus/client_golang/prometheus/promhttp",
		"github.com/prometheus/client_golang/prometheus/collectors", "github.com/bojanz/currency", "golang.org/x/text/language",
	},
	"foyer/examples/receiver": {"go.etcd.io/bbolt"},                  // what others would write: nothing of ours
	"foyer/bench":             nil,                                   // it measures all and nothing imports it
	"foyer/crash":             {},                                    // tests alone, from outside
	"foyer/crash/cutfs":       {"github.com/hanwen/go-fuse/v2/fuse"}, // for tests alone
	"foyer/contract":          {},                                    // tests alone, from outside
}

func TestImportsFollowTheArrows(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		room, imports := words[0], words[1:]
		allowed, known := rooms[room]
		if !known {
			t.Errorf("%s is a room that ARCHITECTURE.md and this test do not know", room)
			continue
		}
		for _, i := range imports {
			ours, foreign := strings.HasPrefix(i, "foyer/"), strings.Contains(strings.Split(i, "/")[0], ".")
			if (ours || foreign) && allowed != nil && !slices.Contains(allowed, i) {
				t.Errorf("%s must not import %s", room, i)
			}
			if i == "foyer/bench" || i == "foyer/contract" || strings.HasPrefix(i, "foyer/examples") || strings.HasPrefix(i, "foyer/crash") {
				t.Errorf("%s imports %s, which nothing may", room, i)
			}
		}
	}
}
