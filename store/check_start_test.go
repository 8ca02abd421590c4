package store

import (
	"bytes"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"

	"foyer/sale"
)

// openLogged opens a file and gives what that logs.
func openLogged(t *testing.T, path string) (s *Store, log string) {
	t.Helper()
	var b bytes.Buffer
	s, err := Open(filepath.Dir(path), Options{Log: slog.New(slog.NewTextHandler(&b, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, b.String()
}

func TestStartTellsFindingsAndServesOn(t *testing.T) {
	path, f := busy(t)
	amend(t, path, func(tx *bolt.Tx) error {
		b := &breaker{t, tx, f}
		b.place("pending", func(p *sale.Place) { p.Turn.State = sale.TurnReady }) // I7
		b.order("till", func(o *sale.Order) { o.Seats[0].Price-- })               // I8
		b.event(func(e *sale.Event) { e.Rules.MaxActive = 1 })                    // whether that was ever more, only the audit knows
		return nil
	})
	s, log := openLogged(t, path)
	if got := codesOf(s.Findings()); len(got) != 2 || got[0] != "I7" || got[1] != "I8" {
		t.Errorf("found %v", s.Findings())
	}
	for _, words := range []string{"code=I7", "code=I8", "and no turn is claimed by it"} {
		if strings.Count(log, words) != 1 {
			t.Errorf("%q is not logged once: %s", words, log)
		}
	}
	o := sale.New(sale.Config{Store: s, Secret: s.Secret(), TicketCode: uuid.UUID.String})
	if _, _, err := o.Join("gala", uuid.New()); err != nil {
		t.Errorf("the house does not go on: %v", err)
	}
	if v, err := o.AnyOrder(f.orders["shop"]); err != nil || v.Status != sale.Paid {
		t.Errorf("a sound order is %+v, %v", v, err)
	}
}

func TestStartOfASoundFileTellsNothing(t *testing.T) {
	path, _ := busy(t)
	if s, log := openLogged(t, path); s.Findings() != nil || strings.Contains(log, "not sound") {
		t.Errorf("found %v, logged %s", s.Findings(), log)
	}
}

func TestStartBoundsWhatItLogsOfAFile(t *testing.T) {
	path, f := busy(t)
	amend(t, path, func(tx *bolt.Tx) error {
		b := &breaker{t, tx, f}
		for n := range 30 {
			o := &sale.Order{ID: uuid.New(), Event: "none", Status: sale.Paid, CreatedAt: time.Unix(int64(n), 0)}
			b.put(bucketOrders, o.ID[:], encodeJSON(o))
		}
		return nil
	})
	s, log := openLogged(t, path)
	if n := len(s.Findings()); n != 30 {
		t.Errorf("%d findings", n)
	}
	if n := strings.Count(log, "the file is not sound"); n != findingsLogged+1 || !strings.Contains(log, "more=10") {
		t.Errorf("%d lines: %s", n, log)
	}
}

// The only backup may have such a row.
func TestFileWithARowThatHangsInTheAirIsServedAndPutBack(t *testing.T) {
	path, _ := busy(t)
	stray := keyPlace(999, 1)
	amend(t, path, func(tx *bolt.Tx) error {
		return tx.Bucket(bucketPlaces).Put(stray, encodePlace(sale.Place{Number: 1}))
	})
	dir := t.TempDir()
	r, err := Restore(t.Context(), dir, path)
	if err != nil || len(r.Findings) == 0 || r.Findings[0].Code != "row" {
		t.Fatalf("restored: %+v, %v", r, err)
	}
	if err := openAt(t, dir).Close(); err != nil {
		t.Error(err)
	}
	amend(t, path, func(tx *bolt.Tx) error { return tx.Bucket(bucketPlaces).Put(stray, []byte("half")) })
	if _, err := Restore(t.Context(), t.TempDir(), path); !errors.Is(err, ErrBadFile) {
		t.Errorf("a file with a row that cannot be read was put back: %v", err)
	}
}
