package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"foyer/sale"
)

func write(s *Store, act string) error {
	return s.Update(func(tx sale.Tx) error {
		tx.Audit(sale.Entry{At: tx.Now(), Act: act})
		return nil
	})
}

func openAt(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func pagesWritten(s *Store) int64 {
	stats := s.db.Stats()
	return stats.TxStats.GetWrite()
}

func TestConcurrentUpdatesShareCommits(t *testing.T) {
	s := openAt(t, t.TempDir())
	defer s.Close()
	const n = 1000
	before := pagesWritten(s)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := write(s, fmt.Sprint(i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	shared := pagesWritten(s) - before
	before = pagesWritten(s)
	for i := range 100 {
		if err := write(s, fmt.Sprint(i)); err != nil {
			t.Error(err)
		}
	}
	alone := (pagesWritten(s) - before) * n / 100
	if shared*5 > alone {
		t.Errorf("%d updates at once cost %d page writes, one after the other they would cost %d", n, shared, alone)
	}
	if list, _ := s.Entries(0, 2*n); len(list) != n+100 {
		t.Errorf("%d entries, want %d", len(list), n+100)
	}
}

func TestRefusalsCostNoCommit(t *testing.T) {
	s := openAt(t, t.TempDir())
	defer s.Close()
	before := pagesWritten(s)
	no := errors.New("no")
	for range 100 {
		err := s.Update(func(tx sale.Tx) error {
			tx.Audit(sale.Entry{Act: "never"})
			return no
		})
		if !errors.Is(err, no) {
			t.Fatalf("got %v", err)
		}
	}
	if n := pagesWritten(s) - before; n != 0 {
		t.Errorf("100 refusals wrote %d pages", n)
	}
}

func TestMoreThanOneBatchOfFunctionsIsServed(t *testing.T) {
	s := openAt(t, t.TempDir())
	defer s.Close()
	var wg sync.WaitGroup
	for range 2*maxBatch + 100 {
		wg.Go(func() {
			if err := write(s, "x"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if list, _ := s.Entries(0, 3*maxBatch); len(list) != 2*maxBatch+100 {
		t.Errorf("%d entries", len(list))
	}
}

func TestClosingServesWhoQueuesAndRefusesWhoIsLate(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir)
	var wg sync.WaitGroup
	var mu sync.Mutex
	served := 0
	for range 200 {
		wg.Go(func() {
			switch err := write(s, "x"); {
			case err == nil:
				mu.Lock()
				served++
				mu.Unlock()
			case !errors.Is(err, sale.ErrUnavailable):
				t.Error(err)
			}
		})
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	s = openAt(t, dir)
	defer s.Close()
	if list, _ := s.Entries(0, 1000); len(list) != served {
		t.Errorf("%d were served and %d are there", served, len(list))
	}
}

// limitFiles lets no file of this process be written beyond n bytes, as a full
// disk would; it gives back the way out. SIGXFSZ does nothing in a Go program.
func limitFiles(t *testing.T, n uint64) (lift func()) {
	t.Helper()
	const fileSize = 1 // RLIMIT_FSIZE
	var old syscall.Rlimit
	if err := syscall.Getrlimit(fileSize, &old); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(fileSize, &syscall.Rlimit{Cur: n, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := syscall.Setrlimit(fileSize, &old); err != nil {
			t.Error(err)
		}
	}
}

// inOwnProcess runs the calling test once more in a process of its own and tells
// whether that was done here; in the other process it is false.
func inOwnProcess(t *testing.T) (done bool) {
	t.Helper()
	const mark = "FOYER_TEST_ALONE"
	if os.Getenv(mark) == t.Name() {
		return false
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), mark+"="+t.Name())
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("alone: %v\n%s", err, out)
	}
	return true
}

func TestFullDiskAcknowledgesNothingAndEndsByItself(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("file size limits are tested on Linux")
	}
	if inOwnProcess(t) { // the limit holds for every file of a process, the test's own log too
		return
	}
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := openAt(t, dir)
		s.log = slog.New(slog.DiscardHandler)
		if err := write(s, "before"); err != nil {
			t.Fatal(err)
		}
		event := func(name string) error {
			return s.Update(func(tx sale.Tx) error {
				settings := sale.DefaultSettings()
				settings.ID, settings.Name = "gala", name
				tx.PutEvent(&sale.Event{Settings: settings, Ordinal: 1})
				return nil
			})
		}
		seen := func(name string) (found bool) {
			_ = s.View(func(r sale.Reader) error {
				e, ok := r.Event("gala")
				found = ok && e.Name == name
				return nil
			})
			return found
		}
		if err := event("first"); err != nil {
			t.Fatal(err)
		}
		watch := s.Changed("gala")
		lift := limitFiles(t, 8192)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if err := event("lost"); !errors.Is(err, sale.ErrUnavailable) || !strings.Contains(err.Error(), "file too large") {
					t.Errorf("a write that failed was answered with %v", err)
				}
			})
		}
		wg.Wait()
		if seen("lost") {
			t.Error("a view shows what was not written")
		}
		select {
		case <-watch:
			t.Error("who watches was told of a change that failed")
		default:
		}
		if err := s.Ready(); err == nil || !strings.Contains(err.Error(), "file too large") {
			t.Errorf("ready says %v", err)
		}
		time.Sleep(5 * time.Second) // the probes fail as well
		called := false
		err := s.Update(func(sale.Tx) error { called = true; return nil })
		if !errors.Is(err, sale.ErrUnavailable) || called {
			t.Errorf("while writing fails: %v, the function ran: %v", err, called)
		}
		if s.health.final() {
			t.Error("a full disk is taken for a broken one")
		}
		lift()
		time.Sleep(1100 * time.Millisecond)
		if err := s.Ready(); err != nil {
			t.Errorf("there is space again, and ready says %v", err)
		}
		if err := event("found"); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		s = openAt(t, dir)
		defer s.Close()
		if seen("lost") || !seen("found") {
			t.Errorf("after opening again: lost %v, found %v", seen("lost"), seen("found"))
		}
		if list, _ := s.Entries(0, 10); len(list) != 1 {
			t.Errorf("%d entries", len(list))
		}
	})
}

func TestFailedSyncStaysFinal(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs dup3")
	}
	synctest.Test(t, func(t *testing.T) {
		var file *os.File
		plain := boltOptions
		hooked := *boltOptions
		hooked.OpenFile = func(name string, flag int, mode os.FileMode) (f *os.File, err error) {
			f, err = os.OpenFile(name, flag, mode)
			file = f
			return f, err
		}
		boltOptions = &hooked
		dir := t.TempDir()
		s := openAt(t, dir)
		boltOptions = plain
		for range 20 { // so that there are free pages and the file need not grow
			if err := write(s, "before"); err != nil {
				t.Fatal(err)
			}
		}
		fd := int(file.Fd())
		kept, err := syscall.Dup(fd)
		if err != nil {
			t.Fatal(err)
		}
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		// Writing to the null device works, syncing it does not.
		if err := syscall.Dup3(int(null.Fd()), fd, 0); err != nil {
			t.Fatal(err)
		}
		err = write(s, "lost")
		if !errors.Is(err, sale.ErrUnavailable) || !strings.Contains(err.Error(), "run foyer check") || !strings.Contains(err.Error(), "start foyer again") {
			t.Errorf("a write whose sync failed was answered with %v", err)
		}
		if err := errors.Join(syscall.Dup3(kept, fd, 0), syscall.Close(kept), null.Close()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := s.Ready(); err == nil || !s.health.final() {
			t.Errorf("after a failed sync the store is ready again: %v", err)
		}
		if err := write(s, "later"); !errors.Is(err, sale.ErrUnavailable) {
			t.Errorf("after a failed sync a write is answered with %v", err)
		}
		if err := s.View(func(r sale.Reader) error { return nil }); err != nil {
			t.Errorf("reading: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		s = openAt(t, dir)
		defer s.Close()
		list, err := s.Entries(0, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if e.Act != "before" {
				t.Errorf("%q was not acknowledged and is there", e.Act)
			}
		}
		if len(list) != 20 {
			t.Errorf("%d entries, want 20", len(list))
		}
		if err := write(s, "after"); err != nil {
			t.Errorf("after opening again: %v", err)
		}
	})
}

// What a function finds that only reads may be of the commit that failed.
func TestFunctionsThatWaitedForAFailedCommitAreRefusedThoughTheyOnlyRead(t *testing.T) {
	s := openAt(t, t.TempDir())
	later := make(chan error, 1)
	err := s.Update(func(tx sale.Tx) error {
		go func() { later <- s.Update(func(sale.Tx) error { return nil }) }()
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			s.queue.mu.Lock()
			n := len(s.queue.next.jobs)
			s.queue.mu.Unlock()
			if n == 1 {
				break
			}
			if time.Now().After(deadline) {
				t.Error("the other function does not queue")
				break
			}
		}
		tx.Audit(sale.Entry{At: tx.Now(), Act: "lost"})
		return s.db.Close() // so that the commit fails
	})
	if !errors.Is(err, sale.ErrUnavailable) {
		t.Errorf("a function whose commit failed was answered with %v", err)
	}
	if err := <-later; !errors.Is(err, sale.ErrUnavailable) {
		t.Errorf("a function after a failed commit was answered with %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestErrorsThatLeaveTheFileAsItWasMayPass(t *testing.T) {
	at := func(op string, err error) error {
		return fmt.Errorf("commit: %w", &fs.PathError{Op: op, Path: "foyer.db", Err: err})
	}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{at("write", syscall.ENOSPC), true},
		{at("write", syscall.EDQUOT), true},
		{at("write", syscall.EFBIG), true},
		{at("write", syscall.EIO), false},
		{at("write", syscall.EROFS), false},
		{errors.New("file resize error: truncate foyer.db: no space left on device"), true},
		{errors.New("file resize error: truncate foyer.db: input/output error"), false},
		{errors.New("file resize error: truncate foyer.db: read-only file system"), false},
		{errors.New("file sync error: sync foyer.db: no space left on device"), false},
		{at("sync", syscall.ENOSPC), false},
		{syscall.ENOSPC, false}, // of fdatasync
		{syscall.EIO, false},
		{errors.New("anything else"), false},
	} {
		if got := mayRecover(c.err); got != c.want {
			t.Errorf("%v may pass: %v, want %v", c.err, got, c.want)
		}
	}
}

func TestTimeNeverRunsBackwardsWithTheClock(t *testing.T) {
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	s, err := Open(t.TempDir(), Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var seen []time.Time
	for _, step := range []time.Duration{0, time.Second, -time.Hour, time.Millisecond, 2 * time.Hour} {
		now = now.Add(step)
		err := s.Update(func(tx sale.Tx) error { seen = append(seen, tx.Now()); return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := 1; i < len(seen); i++ {
		if seen[i].Before(seen[i-1]) {
			t.Errorf("time ran from %s to %s", seen[i-1], seen[i])
		}
	}
}
