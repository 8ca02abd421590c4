package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// badFlags are bad values of all flags, and the form that is wanted. A flag that
// takes whatever names a file or a text has none.
var badFlags = map[string]struct {
	before, after string // the words around the flag
	flags         map[string][]badValue
}{
	"serve":   {"", "", serveFlags},
	"demo":    {"", "", serveFlags},
	"protect": {"--upstream http://127.0.0.1:1 --event e", "", protectFlags},
	"event": {"list", "", map[string][]badValue{
		"data": {{"", "must name a folder"}}, "server": {{"here", "such as http://127.0.0.1:8080"}, {"ftp://here", "such as http://127.0.0.1:8080"}}, "plan": nil,
	}},
	"draw": {"verify", "gala", map[string][]badValue{
		"server": {{"here", "such as http://127.0.0.1:8080"}}, "commitment": {{"00", "64 characters"}}, "place": {{"7", "no queue id such as 6ba7b810-"}},
	}},
	"report": {"", "gala", map[string][]badValue{
		"server": {{"here", "such as http://127.0.0.1:8080"}}, "since": {{"now", "a time such as 2027-"}}, "until": {{"19:00", "a time such as 2027-"}},
		"json": {{"on", "must be true or false"}}, "csv": {{"on", "must be true or false"}},
	}},
	"backup":  {"", "file", map[string][]badValue{"data": {{"", "must name a folder"}}, "server": {{"here", "such as http://127.0.0.1:8080"}}}},
	"restore": {"", "file", map[string][]badValue{"data": {{"", "must name a folder"}}}},
	"lane": {"set --interval 1m", "K", map[string][]badValue{
		"server": {{"here", "such as http://127.0.0.1:8080"}}, "interval": {{"soon", `such as "250ms"`}, {"5", `such as "250ms"`}}, "deadline": {{"soon", `such as "250ms"`}},
		"concurrency": {{"few", "a whole number from 1 to 1000"}, {"0", "a whole number from 1 to 1000"}}, "attempts": {{"few", "a whole number from 0 to 1000"}},
	}},
	"outbox": {"drop --all --before 72h", "", map[string][]badValue{
		"server": {{"here", "such as http://127.0.0.1:8080"}}, "state": {{"gone", "dead|waiting"}}, "all": {{"on", "must be true or false"}}, "before": {{"noon", "a time such as 2027-"}},
	}},
	"plan": {}, "check": {}, "version": {},
}

type badValue struct{ value, say string }

var serveFlags = map[string][]badValue{
	"addr":            {{"8080", "HOST:PORT such as 127.0.0.1:8080"}, {"127.0.0.1:80800", "HOST:PORT such as"}, {"127.0.0.1:no-port", "HOST:PORT such as"}},
	"metrics":         {{"9090", "HOST:PORT such as 127.0.0.1:9090"}, {"127.0.0.1:90900", "HOST:PORT such as"}},
	"data":            {{"", "must name a folder"}},
	"base-url":        {{"here", "such as https://tickets.example.org"}, {"https://here/path", "without a path"}},
	"trusted-proxies": {{"here", "no network such as 10.0.0.0/8"}},
	"allow-targets":   {{"10.0.0.0/99", "no network such as 10.0.0.0/8"}},
	"sink":            {{"order.paid", "must be TOPIC=URL such as"}},
	"demo-provider":   {{"on", "must be true or false"}},
	"log-requests":    {{"on", "must be true or false"}},
	"http2":           {{"on", "must be true or false"}},
	"rate-limit":      {{"abc", "a whole number of at most 18 digits such as 2500"}, {"1e3", "a whole number"}, {"99999999999999999999", "at most 18 digits"}, {"-1", "0 or more"}},
	"tick":            {{"soon", "a duration such as"}, {"5", "a duration such as"}, {"1h", "between 10ms and 1m"}},
}

var protectFlags = with(serveFlags, map[string][]badValue{
	"upstream":  {{"here", "such as http://127.0.0.1:3000"}, {"http://here:99999", "no such port"}},
	"event":     {{"Gala 2027", "1 to 64 of a-z, 0-9 and -"}},
	"listen":    {{"80", "HOST:PORT such as 0.0.0.0:80"}, {"127.0.0.1:80800", "HOST:PORT such as"}},
	"exclude":   {{"hooks", "a path such as /hooks/stripe"}},
	"fail-open": {{"on", "must be true or false"}},
})

func with(some, more map[string][]badValue) map[string][]badValue {
	all := map[string][]badValue{}
	for _, m := range []map[string][]badValue{some, more} {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}

func TestBadValuesOfFlagsTellTheFormThatIsWanted(t *testing.T) {
	for _, c := range commands() {
		known, ok := badFlags[c.name]
		if !ok {
			t.Errorf("the table has no %s", c.name)
		}
		w := newWorld(t)
		w.run(c.name, "--help")
		for _, flag := range flagNames(w.out.String()) {
			bad, ok := known.flags[flag]
			if !ok {
				t.Errorf("the table has no %s --%s", c.name, flag)
			}
			for _, b := range bad {
				w := newWorld(t)
				w.env["FOYER_ADMIN_KEY"], w.env["FOYER_DEMO_SECRET"] = "open sesame", ""
				args := slices.Concat([]string{c.name}, strings.Fields(known.before), []string{fmt.Sprintf("--%s=%s", flag, b.value)}, strings.Fields(known.after))
				code := w.run(args...)
				if said := w.err.String(); code != exitUsage || !strings.Contains(said, b.say) || !strings.Contains(said, "--"+flag) || strings.Count(said, "\n") != 1 {
					t.Errorf("%q: exit code %d, want %d and one line with %q: %s", args, code, exitUsage, b.say, said)
				}
			}
		}
	}
}

// A switch in the environment is read as strictly as one on the command line.
func TestBadValuesInTheEnvironmentTellTheForm(t *testing.T) {
	for name, say := range map[string]string{"FOYER_RATE_LIMIT": "a whole number", "FOYER_TICK": "a duration such as 1s", "FOYER_HTTP2": "must be true or false", "FOYER_ADDR": "HOST:PORT"} {
		w := newWorld(t)
		w.env[name] = "on"
		if code := w.run("serve"); code != exitUsage || !strings.Contains(w.err.String(), say) {
			t.Errorf("%s: %d, %s", name, code, w.err.String())
		}
	}
}

// flagNames are the flags that a manual lists.
func flagNames(manual string) (names []string) {
	for _, m := range regexp.MustCompile(`(?m)^  --([a-z0-9-]+)`).FindAllStringSubmatch(manual, -1) {
		names = append(names, m[1])
	}
	return names
}
