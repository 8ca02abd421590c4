package store

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"foyer/sale"
)

// machine is one of the test; its wall clock and its sleep are set by hand.
type machine struct {
	began       time.Time
	wrong       atomic.Int64
	slept       atomic.Int64
	interrupted func() // called between the readings of two clocks
	broken      error
}

func (m *machine) options(run string) Options {
	return Options{Lease: 15 * time.Second, Machine: &Machine{
		Run: run,
		Boot: func() (time.Duration, error) {
			d := time.Hour + time.Since(m.began) + time.Duration(m.slept.Load())
			if m.interrupted != nil {
				m.interrupted()
			}
			if m.broken != nil {
				return 0, m.broken
			}
			return d, nil
		},
		Wall: func() time.Time { return time.Now().Add(time.Duration(m.wrong.Load() + m.slept.Load())) },
	}}
}

func openWith(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newID(t *testing.T, s *Store) (id uuid.UUID) {
	t.Helper()
	if err := s.Update(func(tx sale.Tx) error { id = tx.NewID(); return nil }); err != nil {
		t.Fatal(err)
	}
	return id
}

// galaOrder is an order of one seat that is written without asking anybody.
func galaOrder(id uuid.UUID, status sale.OrderStatus, until time.Time) *sale.Order {
	return &sale.Order{
		ID: id, Event: "gala", Visitor: uuid.New(), Place: 1, Status: status, HoldExpiresAt: until, CreatedAt: until, UpdatedAt: until,
		Seats: []sale.OrderSeat{{ID: "A-1", Price: 100}}, Total: 100, Currency: "EUR",
	}
}

func putOrders(t *testing.T, s *Store, orders ...*sale.Order) {
	t.Helper()
	err := s.Update(func(tx sale.Tx) error {
		if _, ok := tx.Event("gala"); !ok {
			settings := sale.DefaultSettings()
			settings.ID = "gala"
			tx.PutEvent(&sale.Event{Settings: settings, Ordinal: tx.NextOrdinal()})
		}
		for _, o := range orders {
			tx.PutOrder(o)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func holder(t *testing.T, s *Store) (o *sale.Order) {
	t.Helper()
	_ = s.View(func(r sale.Reader) error { o, _ = r.Holder("gala", "A-1"); return nil })
	return o
}

func TestB99IdsRiseThoughTheClockWasSetBack(t *testing.T) {
	for _, status := range []sale.OrderStatus{sale.Paid, sale.Cancelled} { // each has a bucket of its own
		now := time.Date(2027, 1, 1, 18, 0, 0, 0, time.UTC)
		dir := t.TempDir()
		s := openWith(t, dir, Options{Now: func() time.Time { return now }})
		var first uuid.UUID
		for range 10 { // of one millisecond
			first = newID(t, s)
		}
		putOrders(t, s, galaOrder(first, status, now))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		now = now.Add(-8 * time.Hour)
		s = openWith(t, dir, Options{Now: func() time.Time { return now }})
		last := first
		for range 5000 { // more than one millisecond has room for
			id := newID(t, s)
			if bytes.Compare(id[:], last[:]) <= 0 {
				t.Fatalf("%s: after %s came %s", status, last, id)
			}
			last = id
		}
		if last.Version() != 7 || last.Variant() != uuid.RFC4122 {
			t.Errorf("%s is of version %d", last, last.Version())
		}
		_ = s.Close()
	}
}

func TestSeatBelongsToWhoeverTookItOverWhateverTheIds(t *testing.T) {
	noon := time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
	small, large := uuid.MustParse("01800000-0000-7000-8000-000000000001"), uuid.MustParse("01900000-0000-7000-8000-000000000002")
	for name, c := range map[string]struct{ loser, winner *sale.Order }{
		"money beats a hold":       {galaOrder(large, sale.Pending, noon.Add(time.Hour)), galaOrder(small, sale.Paid, noon)},
		"the later deadline":       {galaOrder(large, sale.Paying, noon), galaOrder(small, sale.Pending, noon.Add(time.Millisecond))},
		"the later id when equals": {galaOrder(small, sale.Pending, noon), galaOrder(large, sale.Pending, noon)},
	} {
		for _, order := range [][]*sale.Order{{c.loser, c.winner}, {c.winner, c.loser}} {
			dir := t.TempDir()
			s := openWith(t, dir, Options{})
			putOrders(t, s, order...)
			_ = s.Close()
			s = openWith(t, dir, Options{})
			if o := holder(t, s); o == nil || o.ID != c.winner.ID {
				t.Errorf("%s: the seat belongs to %+v", name, o)
			}
			_ = s.Close()
		}
	}
}

func TestProcessStoppedBetweenTwoClocksLosesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{began: time.Now()}
		stops := 0
		m.interrupted = func() {
			if stops++; stops == 1 || stops == 10 { // as it opens, and later
				time.Sleep(20 * time.Second)
			}
		}
		s := openWith(t, t.TempDir(), m.options("run"))
		defer s.Close()
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			if off := time.Until(s.Now()); off != 0 {
				t.Fatalf("the store's time is off by %s", off)
			}
		}
		if stops < 90 {
			t.Errorf("the boot clock was looked at %d times", stops)
		}
	})
}

func TestRestartsLoseNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, dir := &machine{began: time.Now()}, t.TempDir()
		for range 100 {
			s := openWith(t, dir, m.options("run"))
			time.Sleep(700 * time.Microsecond)
			if off := time.Since(s.Now()); off >= time.Millisecond { // stamps are whole milliseconds
				t.Fatalf("the store's time is %s behind", off)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(700 * time.Microsecond)
		}
	})
}

func TestSleepWhileTheFileIsLoadedCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{began: time.Now()}
		dir := t.TempDir()
		_ = openWith(t, dir, m.options("run")).Close()
		looks := 0
		m.interrupted = func() {
			if looks++; looks == 1 {
				m.slept.Add(int64(time.Hour))
			}
		}
		s := openWith(t, dir, m.options("run"))
		defer s.Close()
		time.Sleep(time.Second)
		if off := s.Now().Sub(time.Now().Add(time.Hour)); off != 0 {
			t.Errorf("the store's time is off by %s", off)
		}
	})
}

func TestBootClockThatFailsIsNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{began: time.Now(), broken: errors.New("no such clock")}
		dir := t.TempDir()
		for range 2 {
			s := openWith(t, dir, m.options("run"))
			zero, began := s.Now(), time.Now()
			m.slept.Add(int64(time.Hour))
			time.Sleep(time.Minute)
			if got := s.Now().Sub(zero); got != time.Since(began) {
				t.Errorf("the store's time went on by %s", got)
			}
			_ = s.Close()
		}
		s := openWith(t, dir, m.options("run"))
		defer s.Close()
		zero, began := s.Now(), time.Now()
		m.broken = nil // now it tells the time since the machine's start, and nobody knows what it was
		time.Sleep(time.Minute)
		if got := s.Now().Sub(zero); got != time.Since(began) {
			t.Errorf("with a boot clock that works later the store's time went on by %s", got)
		}
	})
}

func TestOtherClocksAreLookedAtNowAndThenOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{began: time.Now()}
		s := openWith(t, t.TempDir(), m.options("run"))
		defer s.Close()
		looks := 0
		m.interrupted = func() { looks++ }
		for range 10_000 { // one second
			s.Now()
			time.Sleep(100 * time.Microsecond)
		}
		if looks > 20 {
			t.Errorf("%d looks in a second", looks)
		}
	})
}

func TestThisMachineTellsTheTimeSinceItsStart(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells of sleep")
	}
	m := ThisMachine()
	before, err := m.Boot()
	if err != nil || before <= 0 {
		t.Fatalf("since the start: %s, %v", before, err)
	}
	if after, _ := m.Boot(); after < before {
		t.Errorf("from %s to %s", before, after)
	}
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err == nil && m.Run != strings.TrimSpace(string(id)) {
		t.Errorf("this run is named %q, the kernel says %q", m.Run, id)
	}
}

func TestB99StartOnAFullDiskTakesTheNewTimeWhenThereIsSpace(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("file size limits are tested on Linux")
	}
	if inOwnProcess(t) {
		return
	}
	synctest.Test(t, func(t *testing.T) {
		m := &machine{began: time.Now()}
		dir := t.TempDir()
		s := openWith(t, dir, m.options("run"))
		until := s.Now().Add(2 * time.Minute)
		putOrders(t, s, galaOrder(newID(t, s), sale.Pending, until))
		_ = s.Close()
		m.wrong.Add(int64(time.Hour))
		lift := limitFiles(t, 8192)
		o := m.options("run")
		o.Log = slog.New(slog.DiscardHandler)
		s = openWith(t, dir, o)
		if err := s.Ready(); err == nil {
			t.Error("a store that cannot write is ready")
		}
		if h := holder(t, s); !h.HoldExpiresAt.Equal(until.Add(time.Hour)) {
			t.Errorf("readers are shown the deadline %s", h.HoldExpiresAt)
		}
		lift()
		time.Sleep(1100 * time.Millisecond)
		if err := s.Ready(); err != nil {
			t.Errorf("there is space again, and ready says %v", err)
		}
		_ = s.Close()
		s = openWith(t, dir, o)
		defer s.Close()
		if h := holder(t, s); !h.HoldExpiresAt.Equal(until.Add(time.Hour)) || s.Now().Before(until.Add(50*time.Minute)) {
			t.Errorf("after opening again the deadline is %s at %s", h.HoldExpiresAt, s.Now())
		}
	})
}

// As on a machine without a battery for its clock: it starts with an old time, a
// time server sets it, and then the power goes.
func TestClockSetBeforeAPowerCutMovesWithTheFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{began: time.Now()}
		dir := t.TempDir()
		s := openWith(t, dir, m.options("run"))
		m.wrong.Add(int64(8 * time.Hour))
		for range 10 { // until it is believed
			s.Now()
			time.Sleep(time.Second)
		}
		until := s.Now().Add(5 * time.Minute)
		putOrders(t, s, galaOrder(newID(t, s), sale.Pending, until))
		s.queue.close() // the power goes
		<-s.stopped
		_ = s.db.Close()
		time.Sleep(time.Minute)
		s = openWith(t, dir, m.options("the next run"))
		defer s.Close()
		if left := holder(t, s).HoldExpiresAt.Sub(s.Now()); left != 4*time.Minute {
			t.Errorf("the hold ends in %s, want 4m0s", left)
		}
	})
}

func TestB99PlaceThatEndedInTheFutureIsForgottenInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{began: time.Now()}
		m.wrong.Add(int64(8 * time.Hour))
		dir := t.TempDir()
		s := openWith(t, dir, m.options("first"))
		putOrders(t, s)
		err := s.Update(func(tx sale.Tx) error {
			now := tx.Now()
			tx.PutPlace(sale.Place{Event: "gala", Number: 1, Visitor: uuid.New(), Turn: sale.Turn{
				State: sale.TurnLeft, CalledAt: now, ExpiresAt: now.Add(time.Minute), EndedAt: now}})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Close()
		m.wrong.Store(0)
		s = openWith(t, dir, m.options("second"))
		defer s.Close()
		office := sale.New(sale.Config{Store: s, Secret: s.Secret()})
		time.Sleep(16 * time.Minute)
		if _, err := office.Tick("gala", time.Second); err != nil {
			t.Fatal(err)
		}
		_ = s.Update(func(tx sale.Tx) error {
			for p := range tx.Ended("gala") {
				t.Errorf("a quarter of an hour later it is remembered that %+v ended", p)
			}
			return nil
		})
	})
}

func BenchmarkNow(b *testing.B) {
	s, err := Open(b.TempDir(), Options{Machine: ThisMachine()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for b.Loop() {
		s.Now()
	}
}

func BenchmarkBootClock(b *testing.B) {
	m := ThisMachine()
	for b.Loop() {
		_, _ = m.Boot()
	}
}
