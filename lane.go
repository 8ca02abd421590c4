package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"text/tabwriter"

	"foyer/sale"
)

const laneHelp = `Look at lanes of a running foyer and change their rules.

Usage: foyer lane list
       foyer lane show KEY
       foyer lane set [--interval 1m] [--concurrency 1] [--attempts 0] [--deadline 0s] KEY
       foyer lane unset KEY
       foyer lane pause KEY
       foyer lane resume KEY

A lane is all tasks and messages of one key; they go one after the other. KEY may be a pattern for many keys, which
ends with an asterisk: 'tenant-*' (in quotes, for the shell). The rule of a key comes before that of a pattern, a longer
pattern before a shorter one. At most --concurrency start in any --interval, counted from start to start, and no more
than that are under way at a time. A change holds at once. A key that was paused, resumed or set has a rule of its own from
then on, until it is unset: then it follows its pattern again. In FOYER_ADMIN_KEY a key of role shop will do, except to set
or unset a rule that fits the lanes of messages about orders: order:..., *.

`

// laneRule is the rule of a lane as the API has it; what is nil stays as it is.
type laneRule struct {
	Interval    *string `json:"interval,omitempty"`
	Concurrency *int    `json:"concurrency,omitempty"`
	Paused      *bool   `json:"paused,omitempty"`
	Attempts    *int    `json:"attempts,omitempty"`
	Deadline    *string `json:"deadline,omitempty"`
}

type laneRow struct {
	Key         shownText `json:"key"`
	NextSlot    shownText `json:"nextSlot"`
	QueueCount  int       `json:"queueCount"`
	InFlight    int       `json:"inFlight"`
	Interval    shownText `json:"interval"`
	Concurrency int       `json:"concurrency"`
	Paused      bool      `json:"paused"`
	Attempts    int       `json:"attempts"`
	Deadline    shownText `json:"deadline"`
}

func laneCommand(ctx context.Context, p program, args []string) error {
	var rule laneRule
	r, words, err := remoteCommand(p, "lane", laneHelp, args, func(f *flag.FlagSet) {
		f.Func("interval", "`DURATION` from start to start, such as 1m or 250ms; 0s is no pace", span(&rule.Interval))
		f.Func("concurrency", "`NUMBER` that may be under way at a time", number(&rule.Concurrency, 1, sale.MaxConcurrency))
		f.Func("attempts", "`NUMBER` of failures after which a message is dead; 0 is no limit", number(&rule.Attempts, 0, sale.MaxAttempts))
		f.Func("deadline", "`DURATION` after which, counted from its notBefore or the last retry by staff, a message is dead; 0s is the usual patience of three days", span(&rule.Deadline))
	})
	if err != nil {
		return err
	}
	yes, no := true, false
	if len(words) == 2 && words[1] == "" {
		return usageError("KEY is empty; see foyer lane --help")
	}
	if word := append(words, "")[0]; word != "set" && rule != (laneRule{}) {
		return usageError("--interval, --concurrency, --attempts and --deadline go with lane set alone; see foyer lane --help")
	}
	switch {
	case len(words) == 1 && words[0] == "list":
		return r.listLanes(ctx, p)
	case len(words) == 2 && words[0] == "show":
		return r.showLane(ctx, p, words[1])
	case len(words) == 2 && words[0] == "set" && rule != (laneRule{}):
		return r.setLane(ctx, p, words[1], rule)
	case len(words) == 2 && words[0] == "unset":
		return r.unsetLane(ctx, p, words[1])
	case len(words) == 2 && words[0] == "pause":
		return r.setLane(ctx, p, words[1], laneRule{Paused: &yes})
	case len(words) == 2 && words[0] == "resume":
		return r.setLane(ctx, p, words[1], laneRule{Paused: &no})
	}
	return usageError("use lane list | show KEY | set --interval DURATION KEY | unset KEY | pause KEY | resume KEY; see foyer lane --help")
}

// span takes the value of a flag that is a duration, as it was written.
func span(to **string) func(string) error {
	return func(v string) error {
		_, err := sale.ParseSpan(v)
		*to = &v
		return err
	}
}

// number takes the value of a flag that is a whole number from low to high.
func number(to **int, low, high int) func(string) error {
	return func(v string) error {
		n, err := strconv.Atoi(v)
		*to = &n
		if err != nil || n < low || n > high {
			return fmt.Errorf("must be a whole number from %d to %d", low, high)
		}
		return nil
	}
}

const lanesPath = "/api/v1/lanes"

func (r remote) listLanes(ctx context.Context, p program) error {
	var page struct{ Items []laneRow }
	if err := r.ask(ctx, http.MethodGet, lanesPath, nil, &page); err != nil {
		return err
	}
	if len(page.Items) == 0 {
		fmt.Fprintln(p.out, "No lane has a rule of its own: tasks go one a minute per key, messages one after the other.")
		return nil
	}
	t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "KEY\tINTERVAL\tCONCURRENCY\tPAUSED\tATTEMPTS\tDEADLINE")
	for _, l := range page.Items {
		fmt.Fprintf(t, "%s\t%s\t%d\t%t\t%d\t%s\n", l.Key, l.Interval, l.Concurrency, l.Paused, l.Attempts, l.Deadline)
	}
	return t.Flush()
}

func (r remote) showLane(ctx context.Context, p program, key string) error {
	var l laneRow
	if err := r.ask(ctx, http.MethodGet, lanesPath+"/"+url.PathEscape(key), nil, &l); err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%s: %d wait, %d under way", l.Key, l.QueueCount, l.InFlight)
	if l.NextSlot != "" { // it is not paused
		fmt.Fprintf(p.out, ", next slot %s", l.NextSlot)
	}
	fmt.Fprintln(p.out)
	printRule(p, l)
	return nil
}

func (r remote) setLane(ctx context.Context, p program, key string, rule laneRule) error {
	body, err := json.Marshal(rule)
	if err != nil {
		return err
	}
	var l laneRow
	if err := r.ask(ctx, http.MethodPut, lanesPath+"/"+url.PathEscape(key), body, &l); err != nil {
		return err
	}
	printRule(p, l)
	return nil
}

func (r remote) unsetLane(ctx context.Context, p program, key string) error {
	if err := r.ask(ctx, http.MethodDelete, lanesPath+"/"+url.PathEscape(key), nil, nil); err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%s has no rule of its own\n", key)
	return nil
}

func printRule(p program, l laneRow) {
	fmt.Fprintf(p.out, "%s: %d in any %s", l.Key, l.Concurrency, l.Interval)
	if l.Attempts > 0 {
		fmt.Fprintf(p.out, ", dead after %s", tries(l.Attempts))
	}
	if l.Deadline != "0s" {
		fmt.Fprintf(p.out, ", dead at the age of %s", l.Deadline)
	}
	if l.Paused {
		fmt.Fprint(p.out, ", paused")
	}
	fmt.Fprintln(p.out)
}
