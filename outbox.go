package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"foyer/outbox"
)

const outboxHelp = `Look at the messages and tasks of a running foyer that are not delivered, and decide about them.

Usage: foyer outbox list [--state dead|waiting]
       foyer outbox show ID
       foyer outbox retry ID
       foyer outbox retry --all [--before TIME]
       foyer outbox drop ID
       foyer outbox drop --all --before TIME

A message is dead when its receiver did not take it for days, or said that it never will. It waits until it is tried
again (retry: its tries count anew) or given up for good (drop). --all means all that are dead; with --before only those
made before a time, such as 2027-03-01T19:00:00Z, or longer ago than a duration, such as 72h; 0s means every one of them.

`

// messageRow is a message that is not delivered, as the API lists it.
type messageRow struct {
	ID        shownText  `json:"id"`
	Topic     shownText  `json:"topic"`
	Key       shownText  `json:"key"`
	Sink      shownText  `json:"sink"`
	State     shownText  `json:"state"`
	Attempts  int        `json:"attempts"`
	NextAt    *time.Time `json:"nextAt"`
	LastError shownText  `json:"lastError"`
	CreatedAt time.Time  `json:"createdAt"`
}

// outboxFlags are the flags of the outbox command.
type outboxFlags struct {
	state, before string
	all           bool
}

func outboxCommand(ctx context.Context, p program, args []string) error {
	var o outboxFlags
	r, words, err := remoteCommand(p, "outbox", outboxHelp, args, func(f *flag.FlagSet) {
		f.StringVar(&o.state, "state", "", "`STATE` of the messages to list, dead or waiting")
		f.BoolVar(&o.all, "all", false, "decide about all that are dead")
		f.StringVar(&o.before, "before", "", "`TIME` before which they were made, or how long ago, such as 72h")
	})
	if err != nil {
		return err
	}
	word := ""
	if len(words) > 0 {
		word, words = words[0], words[1:]
	}
	one := len(words) == 1 && words[0] != "" && o == outboxFlags{}
	switch {
	case word == "list" && o.state != "" && o.state != "dead" && o.state != "waiting":
		return usageError("--state must be dead or waiting")
	case word == "list" && len(words) == 0 && o == outboxFlags{state: o.state}:
		return r.listMessages(ctx, p, o.state)
	case word == "show" && one:
		return r.showMessage(ctx, p, words[0])
	case (word == "retry" || word == "drop") && one:
		return r.decideMessage(ctx, p, word, words[0])
	case word == "drop" && o.all && o.before == "":
		return usageError("drop --all gives messages up for good; say with --before which, for example --before 72h, or --before 0s for every dead one")
	case (word == "retry" || word == "drop") && len(words) == 0 && o.all && o.state == "":
		return r.decideDead(ctx, p, word, o.before)
	}
	return usageError("use outbox list [--state dead|waiting] | show ID | retry ID | drop ID | retry --all | drop --all --before TIME; see foyer outbox --help")
}

const outboxPath = "/api/v1/admin/outbox"

func (r remote) listMessages(ctx context.Context, p program, state string) error {
	t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	some := false
	for cursor := ""; ; {
		var page struct {
			Items []messageRow `json:"items"`
			Next  *string      `json:"next"`
		}
		query := url.Values{"state": {state}, "cursor": {cursor}, "limit": {"500"}}
		if err := r.ask(ctx, http.MethodGet, outboxPath+"?"+query.Encode(), nil, &page); err != nil {
			return err
		}
		if len(page.Items) > 0 && !some {
			fmt.Fprintln(t, "ID\tSTATE\tTRIES\tMADE\tTOPIC\tKEY\tSINK\tLAST ANSWER")
			some = true
		}
		for _, m := range page.Items {
			fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", m.ID, m.State, m.Attempts, day(&m.CreatedAt), m.Topic, m.Key, m.Sink, m.LastError)
		}
		if err := t.Flush(); err != nil {
			return err
		}
		if page.Next == nil {
			break
		}
		cursor = *page.Next
	}
	if !some {
		fmt.Fprintln(p.out, map[string]string{"dead": "No message is dead.", "waiting": "No message waits.", "": "All messages are delivered."}[state])
	}
	return nil
}

func (r remote) showMessage(ctx context.Context, p program, id string) error {
	var m struct {
		messageRow
		Copies []struct {
			messageRow
			Running  bool `json:"running"`
			Position int  `json:"position"`
		} `json:"copies"`
		Body json.RawMessage `json:"body"`
	}
	if err := r.ask(ctx, http.MethodGet, outboxPath+"/"+url.PathEscape(id), nil, &m); err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%s of %s, made %s\n", m.Topic, m.Key, m.CreatedAt.UTC().Format(time.RFC3339))
	for _, c := range m.Copies {
		fmt.Fprintf(p.out, "sink %s  %s, %s", c.Sink, c.State, tries(c.Attempts))
		switch {
		case c.Running:
			fmt.Fprint(p.out, ", under way now")
		case c.State == "WAITING" && c.NextAt == nil:
			fmt.Fprintf(p.out, ", %d before it, its lane is paused", c.Position)
		case c.State == "WAITING":
			fmt.Fprintf(p.out, ", %d before it, goes at %s or later", c.Position, c.NextAt.UTC().Format(time.RFC3339))
		}
		if c.LastError != "" {
			fmt.Fprintf(p.out, ", last answer: %s", c.LastError)
		}
		fmt.Fprintln(p.out)
	}
	var body bytes.Buffer
	if err := json.Indent(&body, m.Body, "", "  "); err != nil {
		return fmt.Errorf("%s does not answer like foyer: %w", shownURL(r.server), err)
	}
	for line := range strings.SplitSeq(body.String(), "\n") {
		fmt.Fprintln(p.out, outbox.Escape(line))
	}
	return nil
}

func tries(n int) string {
	if n == 1 {
		return "1 try"
	}
	return fmt.Sprintf("%d tries", n)
}

func (r remote) decideMessage(ctx context.Context, p program, word, id string) error {
	if err := r.ask(ctx, http.MethodPost, outboxPath+"/"+url.PathEscape(id)+"/"+word, nil, nil); err != nil {
		return err
	}
	_, err := fmt.Fprintln(p.out, map[string]string{"retry": "It is tried again.", "drop": "It was given up."}[word])
	return err
}

// decideDead goes on until all dead messages are decided about; what is done
// stays done when it is broken off.
func (r remote) decideDead(ctx context.Context, p program, word, before string) error {
	var body struct {
		State  string     `json:"state"`
		Before *time.Time `json:"before,omitempty"`
		Cursor string     `json:"cursor,omitempty"`
	}
	body.State = "dead"
	if before != "" {
		at, err := momentBefore(before, time.Now())
		if err != nil {
			return err
		}
		body.Before = at
	}
	for total := 0; ; {
		var done struct {
			Count int     `json:"count"`
			Next  *string `json:"next"`
		}
		sent, err := json.Marshal(body)
		if err != nil {
			return err
		}
		if err := r.ask(ctx, http.MethodPost, outboxPath+"/"+word, sent, &done); err != nil {
			if total > 0 {
				err = fmt.Errorf("done so far: %d, the others are left as they were: %w", total, err)
			}
			return err
		}
		total += done.Count
		if done.Next == nil {
			_, err := fmt.Fprintln(p.out, decided(word, total))
			return err
		}
		body.Cursor = *done.Next
	}
}

// decided says what became of n dead messages.
func decided(word string, n int) string {
	switch {
	case word == "retry" && n == 1:
		return "1 dead message is tried again."
	case word == "retry":
		return fmt.Sprintf("%d dead messages are tried again.", n)
	case n == 1:
		return "1 dead message was given up."
	}
	return fmt.Sprintf("%d dead messages were given up.", n)
}

// momentBefore reads a time, or how long before now it is; nil for 0s, which is
// whenever, also by a clock that differs from that of the server.
func momentBefore(text string, now time.Time) (*time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if ago, notAgo := time.ParseDuration(text); notAgo == nil && ago >= 0 {
		if ago == 0 {
			return nil, nil
		}
		at, err = now.Add(-ago).UTC(), nil
	}
	if err != nil {
		return nil, usageError("--before %q must be a time such as 2027-03-01T19:00:00Z, or a duration such as 72h", text)
	}
	return &at, nil
}
