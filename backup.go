package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
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
	"strings"
	"time"

	"foyer/store"
	"foyer/web"
)

const backupHelp = `Copy the whole database to FILE, which must not exist yet.

Usage: foyer backup --server URL [flags] FILE    while foyer runs and sells
       foyer backup --data FOLDER FILE           while no foyer runs on the folder

With --server the running foyer makes the copy beside its database and sends it; FOYER_ADMIN_KEY must hold
an admin key. It takes its time so that the sale keeps its pace, some seconds for every 100 MB, and sends
nothing meanwhile: name foyer's own address, a proxy may lose patience. FILE is as of one moment: everything
acknowledged before is in it. It appears under its name only when it is whole, its digest (SHA-256) fits, it
was checked as by foyer check and it is on disk; before that it is called FILE.part-....

FILE holds everything: orders with names and addresses, hashes of keys, and the secret from which visitor
credentials, entry tokens and door codes are made. Keep it like a password, and on another machine than foyer.
Bring it back with foyer restore; try that now and then, into another folder.

`

const restoreHelp = `Put a backup in place as the database of a folder.

Usage: foyer restore [flags] FILE

Use it when foyer.db is lost or damaged, or to move to another machine. No foyer may run on the folder. A
foyer.db that is there is never replaced: move it away first and keep it, it may hold what the backup does
not. FILE is read through before anything is written; it stays where it is.

What happened after the backup is not in it:
  - orders paid since then: compare the payment provider's list with the orders, and refund or book again;
    payment events that the provider sends again find no order and are put on the attention list
  - places since then: their owners join again. Numbers, and messages by their sequence, go on from the
    backup, so a number may be given a second time
  - messages delivered since then are sent again, with the ids they had; keys removed since then are back
Tokens, tickets' door codes and staff sessions made before the backup stay valid: the secret is in it.

`

// transferFlags are the flags of backup and restore.
type transferFlags struct {
	data, server, key string
}

// parseTransfer reads the flags and the one FILE of backup or restore; FILE is ""
// when only help was asked for. A flag that is given beats what the environment says.
func parseTransfer(p program, name, help string, args []string, withServer bool) (t transferFlags, file string, err error) {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(p.out)
	f.StringVar(&t.data, "data", "foyer-data", "`FOLDER` that keeps foyer.db")
	if withServer {
		f.StringVar(&t.server, "server", "", "`URL` of a running foyer, such as http://127.0.0.1:8080")
	}
	f.Usage = func() {
		fmt.Fprint(p.out, help)
		printFlags(f)
		fmt.Fprintf(p.out, "\nEvery flag has an environment twin: --data is FOYER_DATA. The flag wins.\n")
	}
	if asksForHelp(args) {
		f.Usage()
		return t, "", nil
	}
	if err := parseFlags(f, args); err != nil {
		return t, "", err
	}
	given := map[string]bool{}
	f.Visit(func(fl *flag.Flag) { given[fl.Name] = true })
	for flag, value := range map[string]*string{"data": &t.data, "server": &t.server} {
		if v, ok := p.env(envName(flag)); ok && !given[flag] {
			*value = v
		}
	}
	if given["data"] && !given["server"] {
		t.server = ""
	}
	switch {
	case given["data"] && given["server"]:
		return t, "", usageError("use --data or --server, not both; see foyer %s --help", name)
	case f.NArg() != 1 || f.Arg(0) == "" || f.Arg(0) == "-":
		return t, "", usageError("%s takes the name of one file, after the flags; see foyer %s --help", name, name)
	case t.data == "":
		return t, "", usageError("--data must name a folder")
	}
	t.key, _ = p.env("FOYER_ADMIN_KEY")
	return t, f.Arg(0), nil
}

func backupCommand(ctx context.Context, p program, args []string) error {
	t, file, err := parseTransfer(p, "backup", backupHelp, args, true)
	if err != nil || file == "" {
		return err
	}
	if err := free(file); err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".part-*") // mode 0600
	if err != nil {
		return failure{exitUsage, fmt.Errorf("cannot write in %s: %w", filepath.Dir(file), errors.Unwrap(err))}
	}
	defer os.Remove(part.Name())
	defer part.Close()
	if t.server != "" {
		err = t.fetch(ctx, part)
	} else {
		err = t.copyClosed(ctx, part)
	}
	if err != nil {
		return err
	}
	if err := part.Close(); err != nil {
		return fmt.Errorf("cannot write %s: %w", part.Name(), err)
	}
	report, err := store.Inspect(part.Name(), nil)
	if err == nil {
		err = report.Unusable()
	}
	if err != nil {
		return fmt.Errorf("%w; no backup was made", err)
	}
	if err := store.MoveIn(part.Name(), file); errors.Is(err, fs.ErrExist) {
		return exists(file)
	} else if err != nil {
		return err
	}
	report.Path = file
	return tell(p, "backup", report)
}

// free refuses a name that is taken, before any work is done.
func free(file string) error {
	switch _, err := os.Lstat(file); {
	case err == nil:
		return exists(file)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("cannot look for %s: %w", file, errors.Unwrap(err))
	}
	return nil
}

func exists(file string) error {
	return fmt.Errorf("%s exists already and was not touched; name another file", file)
}

// tell says what was copied, and that something is wrong in it if it is.
func tell(p program, what string, r *store.Report) error {
	newest := "; nothing has happened in it yet"
	at, err := store.Newest(r.Path)
	if err != nil {
		return err
	}
	if !at.IsZero() {
		newest = "; the newest entry is of " + at.Format(time.RFC3339)
	}
	fmt.Fprintf(p.out, "%s %s: %s%s\n", what, r.Path, summary(r), newest)
	if wrong := r.Wrong(); wrong > 0 {
		return fmt.Errorf("it is there, but what it holds contradicts itself in %s; see foyer check %s", count(wrong, "place"), r.Path)
	}
	return nil
}

func (t transferFlags) copyClosed(ctx context.Context, to io.Writer) error {
	err := store.CopyClosed(ctx, t.data, to)
	if errors.Is(err, store.ErrInUse) {
		return usageError("a foyer runs on %s; let it make the backup: foyer backup --server http://127.0.0.1:8080 FILE", t.data)
	}
	return stopped(ctx, err)
}

// stopped gives the reason why ctx ended, where that is why err came.
func stopped(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// fetchPatience is how long a running foyer may send nothing once it has begun
// to send.
const fetchPatience = 2 * time.Minute

// fetch has a running foyer make the copy, and holds what comes to its digest.
func (t transferFlags) fetch(ctx context.Context, to io.Writer) error {
	if t.key == "" {
		return usageError("FOYER_ADMIN_KEY must hold an admin key to ask %s", shownURL(t.server))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if !isServer(t.server) {
		return usageError("--server is no address such as http://127.0.0.1:8080")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(t.server, "/")+"/api/v1/admin/backup", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+t.key)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // the digest is of what is sent
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return stopped(ctx, fmt.Errorf("%s does not answer: %w", shownURL(t.server), errors.Unwrap(err)))
	}
	defer res.Body.Close()
	want, err := announced(res)
	if err != nil {
		return fmt.Errorf("%s %w", shownURL(t.server), err)
	}
	idle := time.AfterFunc(fetchPatience, func() { cancel(fmt.Errorf("%s sent nothing for %s", shownURL(t.server), fetchPatience)) })
	defer idle.Stop()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, sum), awake{res.Body, idle})
	switch {
	case err != nil:
		return stopped(ctx, fmt.Errorf("the backup broke off after %d bytes; nothing was kept, try again: %w", n, err))
	case string(sum.Sum(nil)) != string(want):
		return fmt.Errorf("the backup arrived damaged: its digest is not the one that %s sent with it; nothing was kept, try again", shownURL(t.server))
	}
	return nil
}

// awake puts an alarm off with every byte that comes.
type awake struct {
	io.Reader
	alarm *time.Timer
}

func (a awake) Read(b []byte) (int, error) {
	n, err := a.Reader.Read(b)
	if n > 0 {
		a.alarm.Reset(fetchPatience)
	}
	return n, err
}

// announced is the SHA-256 that comes with a backup (RFC 9530, Repr-Digest), or
// what was answered instead of a backup.
func announced(res *http.Response) ([]byte, error) {
	if res.StatusCode != http.StatusOK {
		var problem struct{ Detail string }
		body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
		if err != nil || json.Unmarshal(body, &problem) != nil || problem.Detail == "" {
			return nil, fmt.Errorf("answered %s", res.Status)
		}
		return nil, fmt.Errorf("says: %s", problem.Detail)
	}
	for part := range strings.SplitSeq(res.Header.Get("Repr-Digest"), ",") {
		if v, ok := strings.CutPrefix(strings.TrimSpace(part), "sha-256=:"); ok {
			if d, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(v, ":")); err == nil && len(d) == sha256.Size {
				return d, nil
			}
		}
	}
	return nil, errors.New("does not answer like foyer: the backup comes without a digest")
}

// isServer tells whether an address names a server. "http://" does not: with a
// path behind it, the path's first part would be taken for the host, and get the key.
func isServer(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// shownURL is an address without what may be a password in it.
func shownURL(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "the server"
	}
	return u.Scheme + "://" + u.Host
}

func restoreCommand(ctx context.Context, p program, args []string) error {
	t, file, err := parseTransfer(p, "restore", restoreHelp, args, false)
	if err != nil || file == "" {
		return err
	}
	report, err := store.Restore(ctx, t.data, file)
	if err != nil {
		return stopped(ctx, err)
	}
	fmt.Fprintf(p.out, "%s is in place; what happened after the backup is not in it, see foyer restore --help\n", filepath.Join(t.data, "foyer.db"))
	return tell(p, "restored", report)
}

// backup is what the pages and the API hand out.
func (h *house) backup(ctx context.Context) (*web.Backup, error) {
	c, err := h.store.Backup(ctx)
	if err != nil {
		return nil, err
	}
	return &web.Backup{ReadCloser: c, Size: c.Size, Digest: c.Digest, At: c.At}, nil
}
