package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"foyer/outbox"
)

// outboxWorld is a running foyer with messages that nobody took: msg_0_0 and msg_0_1 are four days old, msg_1_0 and
// msg_1_1 are new, and msg_2_0 and msg_2_1 wait for a sink that is not configured.
func outboxWorld(t *testing.T) (cli *world) {
	t.Helper()
	w := newWorld(t)
	data := filepath.Join(w.dir, "data")
	mail(t, data, 3, 2, func(lane, _ int, m *outbox.Message) {
		m.Sink = "https://ann:hunter2@shop.example/hook?key=hunter2"
		if lane < 2 {
			m.State, m.Attempts, m.LastError = outbox.Dead, 9, "503 Service Unavailable"
		}
		if lane == 0 {
			m.CreatedAt = m.CreatedAt.Add(-4 * 24 * time.Hour)
		}
	})
	w.env["FOYER_ADMIN_KEY"] = "a key for this test"
	url, _ := w.start("serve", "--addr", "127.0.0.1:0", "--data", data)
	cli = newWorld(t)
	cli.env["FOYER_ADMIN_KEY"], cli.env["FOYER_SERVER"] = "a key for this test", url
	return cli
}

// says runs a command that works and wants all of these in what it prints.
func (w *world) says(args string, want ...string) {
	w.t.Helper()
	if code := w.run(strings.Fields(args)...); code != exitOK {
		w.t.Errorf("foyer %s: exit code %d, said %q", args, code, w.err.String())
	}
	for _, text := range want {
		if !strings.Contains(w.out.String(), text) {
			w.t.Errorf("foyer %s says\n%swithout %q", args, w.out.String(), text)
		}
	}
	if strings.Contains(w.out.String(), "hunter2") {
		w.t.Errorf("foyer %s tells a secret: %s", args, w.out.String())
	}
}

// listed is which messages are listed.
func (w *world) listed(state string) (ids string) {
	w.t.Helper()
	w.says("outbox list " + state)
	for lane := range 3 {
		for i := range 2 {
			if id := fmt.Sprintf("msg_%d_%d", lane, i); strings.Contains(w.out.String(), id+" ") {
				ids += fmt.Sprintf(" %d_%d", lane, i)
			}
		}
	}
	return strings.TrimSpace(ids)
}

func (w *world) lists(state, want string) {
	w.t.Helper()
	if got := w.listed(state); got != want {
		w.t.Errorf("outbox list %s shows %q, want %q", state, got, want)
	}
}

func TestOutboxCommandShowsWhatIsNotDelivered(t *testing.T) {
	cli := outboxWorld(t)
	cli.lists("", "0_0 0_1 1_0 1_1 2_0 2_1")
	cli.lists("--state dead", "0_0 0_1 1_0 1_1")
	cli.says("outbox list --state=dead", "https://shop.example/hook?...", "503 Service Unavailable", "order.paid", "lane:1")
	cli.lists("--state waiting", "2_0 2_1")
	cli.says("outbox show msg_0_0", "order.paid of lane:0", "sink https://shop.example/hook?...  DEAD, 9 tries, last answer: 503 Service Unavailable", `"topic": "order.paid"`)
	cli.says("outbox show msg_2_1", "WAITING, 0 tries, 1 before it, goes at ")
	cli.says("lane pause lane:2")
	cli.says("outbox show msg_2_1", "WAITING, 0 tries, 1 before it, its lane is paused")
	if code := cli.run("outbox", "show", "msg_9_9"); code != exitFile || !strings.Contains(cli.err.String(), "message") {
		t.Errorf("show of none: %d, %q", code, cli.err.String())
	}
}

func TestLaneCommandTakesARuleAway(t *testing.T) {
	cli := outboxWorld(t)
	cli.says("lane set --interval 10s tenant-*", "tenant-*: 1 in any 10s")
	cli.says("lane pause tenant-1", "tenant-1: 1 in any 10s, paused")
	cli.says("lane unset tenant-1", "tenant-1 has no rule of its own")
	cli.says("lane show tenant-1", "tenant-1: 1 in any 10s\n")
	cli.says("lane unset tenant-*")
	cli.says("lane list", "No lane has a rule of its own")
	if code := cli.run("lane", "unset"); code != exitUsage {
		t.Errorf("unset of nothing ends with %d", code)
	}
}

func TestOutboxCommandDecides(t *testing.T) {
	cli := outboxWorld(t)
	cli.says("outbox retry msg_0_1", "It is tried again.")
	cli.lists("--state dead", "0_0 1_0 1_1")
	cli.says("outbox drop msg_1_1", "It was given up.")
	cli.lists("", "0_0 0_1 1_0 2_0 2_1")
	cli.says("outbox drop --all --before 72h", "1 dead message was given up.")
	cli.lists("", "0_1 1_0 2_0 2_1")
	cli.says("outbox drop --all --before 2020-01-01T00:00:00Z", "0 dead messages were given up.")
	cli.says("outbox retry --all", "1 dead message is tried again.")
	cli.lists("--state dead", "")
	cli.says("outbox list --state dead", "No message is dead.")
	cli.says("outbox drop --before 0s --all", "0 dead messages were given up.")
	cli.lists("--state waiting", "0_1 1_0 2_0 2_1")
}

func TestOutboxCommandGoesOnToTheEnd(t *testing.T) {
	w := newWorld(t)
	data := filepath.Join(w.dir, "data")
	mail(t, data, 1, 10_300, func(_, _ int, m *outbox.Message) { m.Sink, m.State = "https://shop.example/hook", outbox.Dead })
	w.env["FOYER_ADMIN_KEY"] = "a key for this test"
	url, _ := w.start("serve", "--addr", "127.0.0.1:0", "--data", data)
	cli := newWorld(t)
	cli.env["FOYER_ADMIN_KEY"], cli.env["FOYER_SERVER"] = "a key for this test", url
	cli.says("outbox list", "msg_0_0 ", "msg_0_10299 ")
	if n := strings.Count(cli.out.String(), "DEAD"); n != 10_300 {
		t.Errorf("%d messages are listed", n)
	}
	cli.says("outbox drop --all --before 0s", "10300 dead messages were given up.")
	cli.says("outbox list", "All messages are delivered.")
}

func TestOutboxCommandIsCareful(t *testing.T) {
	w := newWorld(t)
	w.env["FOYER_ADMIN_KEY"] = "k"
	for args, say := range map[string]string{
		"outbox":                                "use outbox list",
		"outbox drop":                           "use outbox list",
		"outbox drop a b":                       "use outbox list",
		"outbox drop a --all --before 1h":       "use outbox list",
		"outbox drop --before 1h":               "use outbox list",
		"outbox list --all":                     "use outbox list",
		"outbox retry --all --state waiting":    "use outbox list",
		"outbox list --state foo":               "--state must be dead or waiting",
		"lane pause k --interval 1s":            "go with lane set alone",
		"lane resume --deadline 1h k":           "go with lane set alone",
		"lane show --attempts 1 k":              "go with lane set alone",
		"lane list --concurrency 2":             "go with lane set alone",
		"lane unset --concurrency 2 k":          "go with lane set alone",
		"lane set k":                            "use lane list",
		"outbox drop --all":                     "say with --before which",
		"outbox drop --all --before yesterday":  "must be a time such as",
		"outbox retry --all --before -1h":       "must be a time such as",
		"outbox retry --all --before 3d":        "must be a time such as",
		"outbox list --limit 3":                 "not defined: -limit",
		"outbox list --server 127.0.0.1:1":      "",
		"outbox list --server http://127.0.0.1": "",
	} {
		code := w.run(strings.Fields(args)...)
		if code != exitUsage && say != "" || code == exitOK || !strings.Contains(w.err.String(), say) {
			t.Errorf("foyer %s: exit code %d, said %q", args, code, w.err.String())
		}
		if strings.Contains(w.err.String(), "%!") || strings.Contains(w.err.String(), "nil") {
			t.Errorf("foyer %s: said %q", args, w.err.String())
		}
	}
	delete(w.env, "FOYER_ADMIN_KEY")
	if code := w.run("outbox", "list"); code != exitUsage || !strings.Contains(w.err.String(), "FOYER_ADMIN_KEY") {
		t.Errorf("without a key: %d, %q", code, w.err.String())
	}
}

func TestTerminalIsNotFooledByTextsOfOthers(t *testing.T) {
	w := newWorld(t)
	data := filepath.Join(w.dir, "data")
	mail(t, data, 1, 1, func(_, _ int, m *outbox.Message) {
		m.Sink, m.State, m.LastError, m.Key = "https://shop.example/hook", outbox.Dead, "5\u202e03\x1b[2J", "tenant\u2066\u200b"
	})
	w.env["FOYER_ADMIN_KEY"] = "a key for this test"
	url, _ := w.start("serve", "--addr", "127.0.0.1:0", "--data", data)
	cli := newWorld(t)
	cli.env["FOYER_ADMIN_KEY"], cli.env["FOYER_SERVER"] = "a key for this test", url
	cli.says("outbox list", `5\u202e03\u001b[2J`, `tenant\u2066\u200b`)
	cli.says("outbox show msg_0_0", `5\u202e03\u001b[2J`, `of tenant\u2066\u200b,`, `  "key": "tenant\u2066\u200b"`)
	if code := cli.run("lane", "show", "a\u202eb"); code != exitUsage || !strings.Contains(cli.err.String(), "cannot be seen") {
		t.Errorf("exit code %d, said %q", code, cli.err.String())
	}
}
