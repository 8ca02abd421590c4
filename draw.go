package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"foyer/queue"
)

const drawHelp = `Check the draw of an event, with what everybody can read: no key is needed.

Usage: foyer draw verify [--server URL] [--commitment HEX] [--place QUEUEID] EVENT

It checks that the seed fits its fingerprint, that the list of all who took part is the published one and names nobody
twice, and that the numbers go by the lots: number k has the k-th smallest HMAC-SHA256 of the queue id under the seed.
--commitment is the fingerprint that the waiting page showed before the draw, --place is your own queue id; then your
number is printed. The exit code is 0 when all is right and 1 when something is not.

`

// drawCheck is what draw verify was asked.
type drawCheck struct {
	server, commitment, place, event string
}

// drawTold is the draw as the API gives it.
type drawTold struct {
	Commitment, Seed, Digest string
	Entries                  int
}

func drawCommand(ctx context.Context, p program, args []string) error {
	var d drawCheck
	r, words, err := remoteCommand(p, "draw", drawHelp, args, func(f *flag.FlagSet) {
		f.StringVar(&d.commitment, "commitment", "", "fingerprint of the seed in `HEX`, as it was shown before the draw")
		f.StringVar(&d.place, "place", "", "`QUEUEID` whose number is to be printed")
	})
	if err != nil {
		return err
	}
	if len(words) != 2 || words[0] != "verify" {
		return usageError("use draw verify [--server URL] [--commitment HEX] [--place QUEUEID] EVENT; see foyer draw --help")
	}
	if !isServer(r.server) {
		return usageError("--server is no address such as http://127.0.0.1:8080")
	}
	if sum, err := hex.DecodeString(d.commitment); d.commitment != "" && (err != nil || len(sum) != sha256.Size) {
		return usageError("--commitment %q is no fingerprint: that is 64 characters, 0-9 and a-f", d.commitment)
	}
	if _, err := uuid.Parse(d.place); d.place != "" && err != nil {
		return usageError("--place %q is no queue id such as 6ba7b810-9dad-41d1-80b4-00c04fd430c8", d.place)
	}
	d.server, d.event = strings.TrimSuffix(r.server, "/"), words[1]
	return d.verify(ctx, p)
}

func (d drawCheck) verify(ctx context.Context, p program) error {
	path := "/api/v1/events/" + url.PathEscape(d.event) + "/draw"
	var told drawTold
	if err := d.read(ctx, path, told.read); err != nil {
		return err
	}
	seed, err := told.seed(d.commitment)
	if err != nil {
		return err
	}
	l := lots{urn: queue.NewUrn(seed), digest: sha256.New(), seen: map[uuid.UUID]struct{}{}, place: strings.ToLower(d.place)}
	if err := d.read(ctx, path+"/entries?v="+url.QueryEscape(told.Digest), l.read); err != nil {
		return err
	}
	switch sum := hex.EncodeToString(l.digest.Sum(nil)); {
	case l.n != told.Entries:
		return fmt.Errorf("the list has %d entries, and %d are said to have taken part", l.n, told.Entries)
	case sum != told.Digest:
		return fmt.Errorf("the list is not the published one: its SHA-256 is %s, not %s", sum, told.Digest)
	case l.place != "" && l.mine == 0:
		return fmt.Errorf("%s did not take part in the draw", d.place)
	}
	fmt.Fprintf(p.out, "The seed fits its fingerprint %s.\nThe list of %d is the published one, nobody is in it twice, and all lots are in order.\n", told.Commitment, l.n)
	if l.mine > 0 {
		fmt.Fprintf(p.out, "Number of %s: %d\n", d.place, l.mine)
	}
	return nil
}

// read reads the draw; what has no fingerprint is none.
func (t *drawTold) read(r io.Reader) error {
	b, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if err != nil {
		return err
	}
	if json.Unmarshal(b, t) != nil || t.Commitment == "" {
		return errNotFoyer
	}
	return nil
}

// seed gives the seed when it fits its fingerprint, the one shown before too.
func (t drawTold) seed(shown string) ([]byte, error) {
	switch {
	case t.Seed == "":
		return nil, fmt.Errorf("the draw was not held yet; its fingerprint is %s", t.Commitment)
	case shown != "" && !strings.EqualFold(shown, t.Commitment):
		return nil, fmt.Errorf("the fingerprint is now %s, and %s was shown before: this is another draw", t.Commitment, shown)
	}
	seed, err := hex.DecodeString(t.Seed)
	if sum := sha256.Sum256(seed); err != nil || hex.EncodeToString(sum[:]) != t.Commitment {
		return nil, fmt.Errorf("the seed %s does not fit its fingerprint %s", t.Seed, t.Commitment)
	}
	return seed, nil
}

// lots reads a list of entries and holds each against the one before.
type lots struct {
	urn    *queue.Urn
	last   [sha256.Size]byte
	digest hash.Hash
	seen   map[uuid.UUID]struct{}
	place  string
	n      int
	mine   int // the number of place, 0 when it was not there
}

func (l *lots) read(r io.Reader) error {
	s := bufio.NewScanner(r)
	for s.Scan() {
		line := s.Bytes()
		l.n++
		id, err := uuid.ParseBytes(line)
		if err != nil || id.String() != string(line) {
			return fmt.Errorf("line %d of the list is no queue id", l.n)
		}
		if _, twice := l.seen[id]; twice {
			return fmt.Errorf("%s is in the list twice, the second time as number %d", id, l.n)
		}
		l.seen[id] = struct{}{}
		lot := l.urn.Lot(line)
		if bytes.Compare(lot[:], l.last[:]) <= 0 && l.n > 1 {
			return fmt.Errorf("number %d stands before a smaller lot", l.n)
		}
		l.last = lot
		_, _ = l.digest.Write(line)
		_, _ = l.digest.Write([]byte{'\n'})
		if string(line[:36]) == l.place {
			l.mine = l.n
		}
	}
	return s.Err()
}

// read gets a public document.
func (d drawCheck) read(ctx context.Context, path string, into func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute) // two million entries are 74 MB
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.server+path, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("%s does not answer: %w", shownURL(d.server), err)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusOK {
		if isPage(res) {
			return notFoyer(res)
		}
		if err = into(res.Body); errors.Is(err, errNotFoyer) {
			return notFoyer(res)
		}
		return err
	}
	var problem struct{ Detail shownText }
	if json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&problem) != nil || problem.Detail == "" {
		return notFoyer(res)
	}
	return fmt.Errorf("%s", problem.Detail)
}
