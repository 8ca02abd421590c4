package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"foyer/outbox/webhook"
	"foyer/sale"
	"foyer/seats"
)

const aboutDemo = `Set up three events in a folder of their own and run them: one that lets everybody straight through, one with a
simulated crowd of 2 000 in the line, one that opens in a minute. Payments go to a provider that takes no money.
Ctrl-C stops it; starting it again goes on where it was.`

// demoCrowd is how many wait in the demo's busy event.
const demoCrowd = 2000

func demoCommand(ctx context.Context, p program, args []string) error {
	secret, err := newSecret()
	if err != nil {
		return err
	}
	s, err := parseSettings(p, "demo", aboutDemo, args, func(s *settings) {
		s.Data = "foyer-demo"
		s.LogRequests = false
		s.DemoProvider, s.DemoSecret = true, secret
	})
	if err != nil {
		return err
	}
	s.StripeKey = "" // the demo takes no money, whatever the environment has
	if s.AdminKey, err = demoPassword(s); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(s.Data, demoLogFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return usageError("cannot write in %s: %v", s.Data, errors.Unwrap(err))
	}
	defer log.Close()
	said := p
	p.err = log // the terminal is for the addresses
	return serve(ctx, p, s, func(ctx context.Context, h *house) error {
		events, err := setUpDemo(h.office)
		if err != nil {
			return plain(err)
		}
		h.loops.Go(func() { runCrowd(ctx, h.office, events[1].ID, h.log) })
		printDemo(said, h, events)
		return nil
	})
}

// The files of the demo beside the database.
const (
	demoPasswordFile = "staff-password.txt"
	demoLogFile      = "foyer.log"
)

func newSecret() (webhook.Secret, error) {
	var b [32]byte
	if _, err := rand.Read(b[:]); err != nil {
		return nil, err
	}
	return webhook.ParseSecret("whsec_" + base64.StdEncoding.EncodeToString(b[:]))
}

// demoPassword is the operator's own, or one made at the first start and kept
// beside the database, so that the next start has the same.
func demoPassword(s *settings) (string, error) {
	if err := os.MkdirAll(s.Data, 0o700); err != nil {
		return "", usageError("cannot make the folder %s: %v", s.Data, errors.Unwrap(err))
	}
	if s.AdminKey != "" {
		return s.AdminKey, nil
	}
	name := filepath.Join(s.Data, demoPasswordFile)
	b, err := os.ReadFile(name)
	if kept := strings.TrimSpace(string(b)); err == nil && len(kept) >= 8 {
		return kept, nil
	}
	var raw [9]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return "", err
	}
	password := base64.RawURLEncoding.EncodeToString(raw[:])
	if err := os.WriteFile(name, []byte(password+"\n"), 0o600); err != nil {
		return "", usageError("cannot write %s: %v", name, errors.Unwrap(err))
	}
	return password, nil
}

// setUpDemo makes the events that are missing. The one that opens in a minute
// does so at every start, until somebody has joined it.
func setUpDemo(o *sale.Office) ([]*sale.Event, error) {
	plan, err := seats.Parse([]byte(demoPlan))
	if err != nil {
		return nil, err
	}
	day := time.Now().UTC().Truncate(24 * time.Hour)
	soon := time.Now().UTC().Truncate(time.Second).Add(time.Minute)
	var events []*sale.Event
	for i, d := range []struct {
		id, name string
		change   func(*sale.Settings)
	}{
		{"walk-in", "An Evening of Song", func(*sale.Settings) {}},
		{"gala", "The Great Gala", func(s *sale.Settings) {
			s.Rules.AdmitPerSecond, s.Rules.MaxActive, s.Rules.PickupSeconds = 20, 200, 30
		}},
		{"premiere", "Premiere", func(s *sale.Settings) { s.OpensAt = &soon }},
	} {
		s := sale.DefaultSettings()
		starts := day.AddDate(0, 0, 30+7*i).Add(18 * time.Hour)
		s.ID, s.Name, s.Venue, s.TimeZone, s.StartsAt = d.id, d.name, "Town Hall", "Europe/Berlin", &starts
		s.Prices = map[string]int64{"Stalls": 4250, "Side": 3400, "Balcony": 2900}
		d.change(&s)
		e, err := o.CreateEvent("demo", s)
		switch {
		case errors.Is(err, sale.ErrEventExists):
			if e, err = openAgain(o, s); err != nil {
				return nil, err
			}
		case err != nil:
			return nil, err
		default:
			if _, err := o.SetPlan("demo", e.ID, plan, false); err != nil {
				return nil, err
			}
		}
		events = append(events, e)
	}
	return events, nil
}

// openAgain moves the opening of an event that is there already, unless people
// have joined it.
func openAgain(o *sale.Office, s sale.Settings) (*sale.Event, error) {
	e, err := o.ChangeEvent("demo", s.ID, func(there *sale.Settings) error {
		if s.OpensAt != nil {
			there.OpensAt = s.OpensAt
		}
		return nil
	})
	if errors.Is(err, sale.ErrPromise) {
		e, _, err = o.Event(s.ID)
	}
	return e, err
}

func printDemo(p program, h *house, events []*sale.Event) {
	base := h.url
	if h.settings.BaseURL != "" {
		base = h.settings.BaseURL
	}
	data := h.settings.Data
	fmt.Fprintf(p.out, "\nOpen in a browser:\n")
	for i, note := range []string{"lets everybody straight through", "a crowd is in the line", "opens in a minute"} {
		switch _, phase, err := h.office.Event(events[i].ID); {
		case err != nil:
		case phase == sale.PhaseSoldOut:
			note = "is sold out; remove the folder " + data + " for a fresh demo"
		case phase == sale.PhaseClosed:
			note = "is closed"
		case i == 2 && phase != sale.PhaseLobby:
			note = "has opened"
		}
		fmt.Fprintf(p.out, "  %s/events/%-10s %s: %s\n", base, events[i].ID, events[i].Name, note)
	}
	fmt.Fprintf(p.out, "  %s/admin             staff, password %s\n\n", base, h.settings.AdminKey)
	fmt.Fprintf(p.out, "Ctrl-C stops; started again it goes on. The log is in %s", filepath.Join(data, demoLogFile))
	if _, err := os.Stat(filepath.Join(data, demoPasswordFile)); err == nil {
		fmt.Fprintf(p.out, ", the password in %s", filepath.Join(data, demoPasswordFile))
	}
	fmt.Fprintf(p.out, ".\nTo begin anew, remove the folder %s.\n", data)
}
