package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"foyer/sale"
	"foyer/seats"
	"foyer/store"
)

const eventHelp = `Create an event from a JSON file, list the events, or erase who bought.

Usage: foyer event create [flags] FILE
       foyer event list [flags]
       foyer event forget [flags] EVENT

FILE holds an event as POST /api/v1/admin/events takes it ("-" reads standard input).
Without --server the file in --data is changed, which no running foyer may have open.
With --server the running foyer is asked; FOYER_ADMIN_KEY must hold an admin key.

forget erases the buyers' names and e-mail addresses from all orders of a closed event; seats, sums and history stay. It
cannot be taken back. It is refused while messages that tell of buyers are not delivered; see foyer outbox. Free pages
of the file and older backups may still hold names; docs/books.md says how to be rid of those.

`

// eventFlags are the flags of the event command.
type eventFlags struct {
	data, server, plan, key string
}

func eventCommand(ctx context.Context, p program, args []string) error {
	word := ""
	if len(args) > 0 {
		word, args = args[0], args[1:]
	}
	var e eventFlags
	f := flag.NewFlagSet("event", flag.ContinueOnError)
	f.SetOutput(p.out)
	f.StringVar(&e.data, "data", "foyer-data", "`FOLDER` that keeps foyer.db")
	f.StringVar(&e.server, "server", "", "`URL` of a running foyer, such as http://127.0.0.1:8080")
	f.StringVar(&e.plan, "plan", "", "`FILE` with the seating plan (create only)")
	f.Usage = func() {
		fmt.Fprint(p.out, eventHelp)
		printFlags(f)
	}
	if asksForHelp([]string{word}) || asksForHelp(args) {
		f.Usage()
		return nil
	}
	for _, name := range []string{"data", "server"} {
		if v, ok := p.env(envName(name)); ok {
			if err := f.Set(name, v); err != nil {
				return usageError("%s: %v", envName(name), err)
			}
		}
	}
	if err := parseFlags(f, args); err != nil {
		return err
	}
	if e.data == "" && e.server == "" {
		return usageError("--data must name a folder, or --server a running foyer")
	}
	e.key, _ = p.env("FOYER_ADMIN_KEY")
	switch {
	case word == "create" && f.NArg() == 1:
		return e.create(ctx, p, f.Arg(0))
	case word == "list" && f.NArg() == 0:
		return e.list(ctx, p)
	case word == "forget" && f.NArg() == 1 && e.plan == "":
		return e.forget(ctx, p, f.Arg(0))
	}
	return usageError("use event create [flags] FILE, event list [flags] or event forget [flags] EVENT, flags first; see foyer event --help")
}

func (e eventFlags) create(ctx context.Context, p program, name string) error {
	body, err := readFile(name)
	if err != nil {
		return err
	}
	var plan *seats.Plan
	if e.plan != "" {
		if plan, err = readPlan(e.plan); err != nil {
			return err
		}
	}
	if e.server != "" {
		return e.createThere(ctx, p, body, plan)
	}
	settings := sale.DefaultSettings()
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&settings); err != nil {
		return fmt.Errorf("%s is no event: %w", name, err)
	}
	_, missing := os.Stat(filepath.Join(e.data, "foyer.db"))
	return e.withOffice(true, func(o *sale.Office) error {
		ev, err := o.CreateEvent("command line", settings)
		if err != nil {
			return err
		}
		if plan != nil {
			if _, err := o.SetPlan("command line", ev.ID, plan, false); err != nil {
				return err
			}
		}
		fmt.Fprintf(p.out, "created %s: %s\n", ev.ID, ev.Name)
		if missing != nil {
			fmt.Fprintf(p.out, "in the new file %s; a foyer that runs with another --data does not see it\n", filepath.Join(e.data, "foyer.db"))
		}
		return nil
	})
}

func (e eventFlags) list(ctx context.Context, p program) error {
	if e.server != "" {
		return e.listThere(ctx, p)
	}
	return e.withOffice(false, func(o *sale.Office) error {
		var rows []eventRow
		for _, ev := range o.Events() {
			s, err := o.Status(ev.ID)
			if err != nil {
				return err
			}
			rows = append(rows, eventRow{ID: ev.ID, Name: ev.Name, Phase: string(s.Phase), StartsAt: ev.StartsAt, OpensAt: ev.OpensAt})
		}
		return printEvents(p.out, rows)
	})
}

func (e eventFlags) forget(ctx context.Context, p program, event string) error {
	say := func(orders int) error {
		_, err := fmt.Fprintf(p.out, "forgotten: the buyers of %s of %s\n", count(orders, "order"), event)
		return err
	}
	if e.server != "" {
		var done struct{ Orders int }
		if err := e.ask(ctx, http.MethodPost, "/api/v1/admin/events/"+url.PathEscape(event)+"/forget", nil, &done); err != nil {
			return err
		}
		return say(done.Orders)
	}
	return e.withOffice(false, func(o *sale.Office) error {
		n, err := o.Forget("command line", event)
		if err != nil {
			return err
		}
		return say(n)
	})
}

// withOffice runs fn over the file itself, made when missing if create says so.
func (e eventFlags) withOffice(create bool, fn func(*sale.Office) error) error {
	if _, err := os.Stat(filepath.Join(e.data, "foyer.db")); !create && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no foyer.db in %s; name the folder with --data, or a running foyer with --server", e.data)
	}
	st, err := store.Open(e.data, store.Options{Machine: store.ThisMachine()})
	if errors.Is(err, store.ErrInUse) {
		return usageError("%v, or ask it: foyer event --server http://127.0.0.1:8080", err)
	}
	if err != nil {
		return err
	}
	err = fn(sale.New(sale.Config{Store: st, Secret: st.Secret()}))
	return errors.Join(plain(err), st.Close())
}

// plain gives a refusal's sentence alone: its code is for programs.
func plain(err error) error {
	var r *sale.Refusal
	if errors.As(err, &r) {
		return errors.New(r.Detail)
	}
	return err
}

type eventRow struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	Phase    string     `json:"phase"`
	StartsAt *time.Time `json:"startsAt"`
	OpensAt  *time.Time `json:"opensAt"`
}

func printEvents(w io.Writer, rows []eventRow) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "There are no events. Make one: foyer event create FILE")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tPHASE\tOPENS\tSTARTS\tNAME")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", r.ID, r.Phase, day(r.OpensAt), day(r.StartsAt), r.Name)
	}
	return t.Flush()
}

func day(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04Z")
}

func (e eventFlags) createThere(ctx context.Context, p program, body []byte, plan *seats.Plan) error {
	var made eventRow
	if err := e.ask(ctx, http.MethodPost, "/api/v1/admin/events", body, &made); err != nil {
		return err
	}
	if plan != nil {
		if err := e.ask(ctx, http.MethodPut, "/api/v1/admin/events/"+made.ID+"/plan", plan.JSON(), nil); err != nil {
			return err
		}
	}
	fmt.Fprintf(p.out, "created %s: %s\n", made.ID, made.Name)
	return nil
}

func (e eventFlags) listThere(ctx context.Context, p program) error {
	var rows []eventRow
	for cursor := ""; ; {
		var page struct {
			Items []eventRow `json:"items"`
			Next  *string    `json:"next"`
		}
		if err := e.ask(ctx, http.MethodGet, "/api/v1/admin/events?cursor="+cursor, nil, &page); err != nil {
			return err
		}
		rows = append(rows, page.Items...)
		if page.Next == nil || *page.Next == "" {
			return printEvents(p.out, rows)
		}
		cursor = *page.Next
	}
}

func (e eventFlags) ask(ctx context.Context, method, path string, body []byte, out any) error {
	return remote{e.server, e.key}.ask(ctx, method, path, body, out)
}

// readFile reads a file, or standard input for "-", up to 32 MiB.
func readFile(name string) ([]byte, error) {
	const most = 32 << 20
	in := io.Reader(os.Stdin)
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", name, errors.Unwrap(err))
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	case len(b) > most:
		return nil, fmt.Errorf("%s is larger than 32 MiB", name)
	}
	return b, nil
}
