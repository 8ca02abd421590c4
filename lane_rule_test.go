package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestLaneCommandShowsTheWholeRule(t *testing.T) {
	w := newWorld(t)
	w.env["FOYER_ADMIN_KEY"] = "a key for this test"
	url, _ := w.start("serve", "--addr", "127.0.0.1:0", "--data", filepath.Join(w.dir, "data"))
	cli := newWorld(t)
	cli.env["FOYER_ADMIN_KEY"], cli.env["FOYER_SERVER"] = "a key for this test", url
	cli.says("lane list", "No lane has a rule of its own")
	cli.says("lane set k --interval 1h30m --concurrency 2 --attempts 1 --deadline 24h", "k: 2 in any 1h30m0s, dead after 1 try, dead at the age of 24h0m0s\n")
	cli.says("lane set k --attempts 3 --deadline 0s", "k: 2 in any 1h30m0s, dead after 3 tries\n")
	cli.says("lane show k", "k: 0 wait, 0 under way, next slot ", "k: 2 in any 1h30m0s, dead after 3 tries\n")
	cli.says("lane pause k", "dead after 3 tries, paused\n")
	cli.says("lane show k", "k: 0 wait, 0 under way\n", "k: 2 in any 1h30m0s, dead after 3 tries, paused\n")
	cli.says("lane list", "KEY  INTERVAL  CONCURRENCY  PAUSED  ATTEMPTS  DEADLINE\n", "k    1h30m0s   2            true    3         0s\n")
	if code := cli.run("lane", "set", "a*b", "--attempts", "1"); code != exitUsage {
		t.Errorf("a pattern that is none: exit code %d, said %q", code, cli.err.String())
	}
}

func TestHelpHasNoStrayBlanks(t *testing.T) {
	for name, help := range map[string]string{"lane": laneHelp, "outbox": outboxHelp} {
		for _, line := range strings.Split(help, "\n") {
			if strings.HasSuffix(line, " ") || strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "       foyer "+name) {
				t.Errorf("%s: %q", name, line)
			}
		}
	}
}
