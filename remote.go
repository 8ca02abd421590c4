package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"foyer/outbox"
)

// remote is a running foyer that a command asks.
type remote struct{ server, key string }

// remoteCommand reads the flags of a command that asks a running foyer, which stand anywhere among its words, and gives
// the words. Nothing is left to do when only help was asked for.
func remoteCommand(p program, name, help string, args []string, more func(*flag.FlagSet)) (r remote, words []string, err error) {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(p.out)
	f.StringVar(&r.server, "server", "http://127.0.0.1:8080", "`URL` of a running foyer")
	if more != nil {
		more(f)
	}
	f.Usage = func() {
		fmt.Fprint(p.out, help)
		printFlags(f)
		fmt.Fprintln(p.out)
		if name != "draw" { // what everybody can read
			fmt.Fprint(p.out, "FOYER_ADMIN_KEY must hold a key, of role admin unless said otherwise. ")
		}
		fmt.Fprint(p.out, "--server has the environment twin FOYER_SERVER; the flag wins.\n")
	}
	if asksForHelp(args) {
		f.Usage()
		return r, nil, flag.ErrHelp
	}
	if v, ok := p.env("FOYER_SERVER"); ok {
		r.server = v
	}
	for rest := args; len(rest) > 0; {
		if err := parseFlags(f, rest); err != nil {
			return r, nil, err
		}
		if rest = f.Args(); len(rest) > 0 {
			words, rest = append(words, rest[0]), rest[1:]
		}
	}
	r.key, _ = p.env("FOYER_ADMIN_KEY")
	return r, words, nil
}

// shownText is a text of the server as a terminal may show it: what is not seen there, or would steer it, is escaped. Others
// have chosen keys, and answers of receivers.
type shownText string

func (s *shownText) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	*s = shownText(outbox.Escape(text))
	return nil
}

// ask makes one request of a running foyer and reads its answer into out, JSON unless out is a *[]byte.
func (r remote) ask(ctx context.Context, method, path string, body []byte, out any) error {
	if r.key == "" {
		return usageError("FOYER_ADMIN_KEY must hold an admin key to ask %s", shownURL(r.server))
	}
	if !isServer(r.server) {
		return usageError("--server is no address such as http://127.0.0.1:8080")
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(r.server, "/")+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+r.key)
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Timeout: 30 * time.Second}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("%s does not answer: %w", shownURL(r.server), errors.Unwrap(err))
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 32<<20))
	if err != nil {
		return fmt.Errorf("%s broke off its answer: %w", shownURL(r.server), err)
	}
	if res.StatusCode/100 != 2 {
		var problem struct {
			Code   string
			Detail shownText
		}
		if json.Unmarshal(answer, &problem) != nil || problem.Detail == "" {
			return notFoyer(res)
		}
		switch problem.Code {
		case "bad_lane": // what is wrong stands on the command line
			return usageError("%s", problem.Detail)
		case "no_key":
			return fmt.Errorf("the key in FOYER_ADMIN_KEY is not one of %s", shownURL(r.server))
		case "wrong_role":
			return fmt.Errorf("the role of the key in FOYER_ADMIN_KEY does not allow that at %s", shownURL(r.server))
		}
		return errors.New(string(problem.Detail))
	}
	if isPage(res) {
		return notFoyer(res)
	}
	if out == nil {
		return nil
	}
	if raw, ok := out.(*[]byte); ok {
		*raw = answer
		return nil
	}
	if json.Unmarshal(answer, out) != nil {
		return notFoyer(res)
	}
	return nil
}

// errNotFoyer is what [notFoyer] says in a sentence.
var errNotFoyer = errors.New("not an answer of foyer")

// notFoyer tells what came instead of an answer of foyer, and what to do.
func notFoyer(res *http.Response) error {
	found := "something"
	if isPage(res) {
		found = "a web page"
	}
	return fmt.Errorf("%s answered %s with %s that is not foyer's; name the address of a running foyer with --server, without a path", shownURL(res.Request.URL.String()), outbox.Escape(res.Status), found)
}

// isPage tells whether a page for people was sent.
func isPage(res *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return kind == "text/html" || kind == "application/xhtml+xml"
}
