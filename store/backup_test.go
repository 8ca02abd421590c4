package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"foyer/sale"
)

// grown is a store whose file has some megabytes.
func grown(t *testing.T, dir string, megabytes int) *Store {
	t.Helper()
	s := openAt(t, dir)
	detail := strings.Repeat("x", 10_000)
	for range megabytes {
		err := s.Update(func(tx sale.Tx) error {
			for range 100 {
				tx.Audit(sale.Entry{At: tx.Now(), Act: "fill", Detail: detail})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// kept writes a copy down as the database of a new folder.
func kept(t *testing.T, c *Copy) (dir string) {
	t.Helper()
	dir = t.TempDir()
	b, err := io.ReadAll(c)
	if err != nil || int64(len(b)) != c.Size || sha256.Sum256(b) != c.Digest {
		t.Fatalf("%d bytes of %d, %v; their digest fits: %v", len(b), c.Size, err, sha256.Sum256(b) == c.Digest)
	}
	if err := errors.Join(c.Close(), os.WriteFile(filepath.Join(dir, fileName), b, 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// whole looks at every page and row of the database in a folder.
func whole(t *testing.T, dir string) {
	t.Helper()
	r, err := Inspect(dir, nil)
	if err == nil {
		err = r.Unusable()
	}
	if err != nil || !r.Rows {
		t.Errorf("not whole: %v", err)
	}
}

// unfinished lists what is left of copies in a folder.
func unfinished(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, fileName+".*-*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestB82BackupThatIsReadSlowlyHoldsNothing(t *testing.T) {
	s := grown(t, t.TempDir(), 2)
	defer s.Close()
	c, err := s.Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := s.db.Stats().OpenTxN; n != 0 {
		t.Errorf("%d read transactions are open while the copy waits for its reader", n)
	}
	if st, err := c.file.Stat(); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the copy, which holds the secret, has mode %v (%v)", st.Mode(), err)
	}
	var head [1000]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		t.Fatal(err)
	}
	for range 200 { // the sale goes on, over pages that the copy has seen
		if err := write(s, "later"); err != nil {
			t.Fatal(err)
		}
	}
	rest, err := io.ReadAll(c)
	if err != nil || sha256.Sum256(append(head[:], rest...)) != c.Digest {
		t.Errorf("what was read around the sale is not the copy (%v)", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// The copy is made over most of its time without a transaction, which would make
// the file grow and the writer wait.
func TestB82BackupIsInATransactionForAShortTime(t *testing.T) {
	s := grown(t, t.TempDir(), 24)
	defer s.Close()
	over := make(chan error)
	go func() {
		c, err := s.Backup(t.Context())
		if err == nil {
			err = c.Close()
		}
		over <- err
	}()
	looks, open := 0, 0
	tick := time.NewTicker(500 * time.Microsecond)
	defer tick.Stop()
	for {
		select {
		case err := <-over:
			if err != nil {
				t.Fatal(err)
			}
			if looks < 20 || open*2 > looks {
				t.Errorf("a read transaction was open at %d of %d looks", open, looks)
			}
			return
		case <-tick.C:
			looks++
			if s.db.Stats().OpenTxN > 0 {
				open++
			}
		}
	}
}

func TestSecondBackupAtATimeIsRefused(t *testing.T) {
	s := openAt(t, t.TempDir())
	defer s.Close()
	first, err := s.Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Backup(t.Context()); !errors.Is(err, errBackupRunning) {
		t.Errorf("a second one: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	second, err := s.Backup(t.Context())
	if err != nil {
		t.Fatalf("one after the other: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}

func TestBackupWhoseClientGoesLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	s := grown(t, dir, 16)
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() {
		c, err := s.Backup(ctx)
		if err == nil {
			err = errors.Join(errors.New("it was made"), c.Close())
		}
		result <- err
	}()
	begun(t, dir)
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if left := unfinished(t, dir); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	again, err := s.Backup(t.Context())
	if err != nil {
		t.Fatalf("the next one: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func TestClosingBreaksOffABackup(t *testing.T) {
	dir := t.TempDir()
	s := grown(t, dir, 16)
	result := make(chan error)
	go func() {
		c, err := s.Backup(t.Context())
		if err == nil {
			err = errors.Join(errors.New("it was made"), c.Close())
		}
		result <- err
	}()
	begun(t, dir)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-result; !errors.Is(err, sale.ErrUnavailable) {
		t.Errorf("the backup ended with %v", err)
	}
	if left := unfinished(t, dir); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if _, err := s.Backup(t.Context()); !errors.Is(err, sale.ErrUnavailable) {
		t.Errorf("after the end: %v", err)
	}
	whole(t, dir)
}

// begun waits until a copy is under way in a folder.
func begun(t *testing.T, dir string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); len(unfinished(t, dir)) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no copy was begun")
		}
	}
}

// smallDisk is a file system of so many megabytes.
func smallDisk(t *testing.T, megabytes int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", megabytes)); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("cannot mount a small file system: %v", err)
		}
		t.Skipf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	return dir
}

func TestBackupLeavesTheDiskToTheSale(t *testing.T) {
	dir := smallDisk(t, 120)
	s := grown(t, dir, 16)
	defer s.Close()
	c, err := s.Backup(t.Context())
	if err != nil {
		t.Fatalf("with room enough: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 30<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = s.Backup(t.Context())
	if !errors.Is(err, errNoSpace) || !strings.Contains(err.Error(), "MiB stay for the sale") {
		t.Errorf("with %d MiB kept for the sale and less than a copy beside: %v", reserve>>20, err)
	}
	if left := unfinished(t, dir); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if err := write(s, "the sale goes on"); err != nil {
		t.Error(err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if c, err = s.Backup(t.Context()); err != nil {
		t.Fatalf("with room again: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// The disk may fill up while the copy is made, by others.
func TestDiskThatFillsUpDuringABackup(t *testing.T) {
	if inOwnProcess(t) { // the limit holds for every file of a process
		return
	}
	dir := t.TempDir()
	s := grown(t, dir, 16)
	s.log = slog.New(slog.DiscardHandler)
	lift := limitFiles(t, 8<<20)
	_, err := s.Backup(t.Context())
	lift()
	if !errors.Is(err, errNoSpace) {
		t.Errorf("got %v", err)
	}
	if left := unfinished(t, dir); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if err := errors.Join(write(s, "the sale goes on"), s.Close()); err != nil {
		t.Error(err)
	}
}

func TestBackupOfAFileThatLostItsName(t *testing.T) {
	dir := t.TempDir()
	s := grown(t, dir, 2)
	defer s.Close()
	if err := write(s, "still there"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, fileName)); err != nil {
		t.Fatal(err)
	}
	c, err := s.Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rescued := kept(t, c)
	whole(t, rescued)
	again := openAt(t, rescued)
	defer again.Close()
	if list, err := again.Entries(0, 1); err != nil || len(list) != 1 || list[0].Act != "still there" {
		t.Errorf("the newest entry is %v (%v)", list, err)
	}
}

func TestWhatCrashesLeftOfCopiesGoesAtTheNextStart(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-2 * time.Hour)
	for name, stays := range map[string]bool{
		"foyer.db.backup-1.tmp": false, "foyer.db.restore-1.tmp": false, "foyer.db.new-1.tmp": false,
		"foyer.db.restore-2.tmp": true, "foyer.db.new-2.tmp": true, // perhaps still being written
		"foyer.db.backup": true, "foyer.db.old": true, "a.backup-1.tmp": true, // not ours
		"foyer.db.backup-20270101": true, "foyer.db.new-year": true, "foyer.db.restore-this": true, // somebody's copies
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "-2.tmp") && !strings.Contains(name, "backup") {
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
		defer func() {
			if _, err := os.Stat(path); (err == nil) != stays || err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: stays: %v, want %v", name, err == nil, stays)
			}
		}()
	}
	if err := os.Mkdir(filepath.Join(dir, "foyer.db.backup-folder.tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := openAt(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "foyer.db.backup-folder.tmp")); err != nil {
		t.Error("a folder was taken for a file of ours")
	}
}
