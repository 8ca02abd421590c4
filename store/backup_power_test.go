//go:build linux

package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"foyer/crash/cutfs"
	"foyer/store"
)

// The variables that make this test binary put a backup back instead of testing.
const (
	restoreFrom = "FOYER_TEST_RESTORE_FROM"
	restoreTo   = "FOYER_TEST_RESTORE_TO"
)

// restoreOn has a child put a backup back on a disk until its power is cut, and
// tells whether the child said that it was done.
func restoreOn(t *testing.T, d *cutfs.Disk, backup string) (done bool) {
	t.Helper()
	_, dir, unmount := mount(t, d)
	defer unmount()
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	c.Env = append(os.Environ(), restoreFrom+"="+backup, restoreTo+"="+dir, "GORACE=atexit_sleep_ms=0")
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case <-d.Done():
		case <-time.After(powerPatience):
		case <-over:
			return
		}
		_ = c.Process.Kill()
	}()
	_ = c.Wait()
	done = strings.Contains(out.String(), "it is back")
	if !done && !isCut(d) {
		t.Fatalf("the child failed though there was power: %s", &out)
	}
	d.Cut()
	return done
}

// Cut at every single call, restoring leaves no database or the whole one, the
// whole one when it said so, and a folder on which it can be done again.
func TestPowerCutWhileABackupIsPutBackLeavesNoneOrAWholeOne(t *testing.T) {
	if to := os.Getenv(restoreTo); to != "" {
		if _, err := store.Restore(t.Context(), to, os.Getenv(restoreFrom)); err != nil {
			t.Fatal(err)
		}
		fmt.Println("it is back")
		return
	}
	whole, backup := smallBackup(t)
	rng := dice(t)
	kept, none, n := 0, 0, 1
	for done := false; !done && !t.Failed(); n++ {
		d := cutfs.New(nil, rng.Uint64())
		d.Judge(cutfs.CutAt(n, cutfs.Before))
		done = restoreOn(t, d, backup)
		for _, o := range outcomes(rng) {
			left := d.Left(o.loss, rng.Uint64())
			db, there := left["foyer.db"]
			switch {
			case there && !bytes.Equal(db.Bytes(), whole):
				t.Errorf("cut at call %d, %s: a database of %d bytes is there, and it is not the backup; %v", n, o.name, db.Len(), d.Calls())
			case done && (!there || left["foyer.db.made"] == nil):
				t.Errorf("%s: it was said to be back, and there are %d files; %v", o.name, len(left), d.Calls())
			case there:
				kept++
			default:
				none++
			}
			startsAfter(t, left, backup)
		}
	}
	if kept == 0 || none == 0 {
		t.Errorf("%d outcomes have a database and %d have none", kept, none)
	}
	t.Logf("%d cuts: %d outcomes with the database, %d without one", n-1, kept, none)
}

// smallBackup is a backup of few bytes.
func smallBackup(t *testing.T) (content []byte, path string) {
	t.Helper()
	dir := t.TempDir()
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "backup")
	var b bytes.Buffer
	if err := errors.Join(store.CopyClosed(t.Context(), dir, &b), os.WriteFile(path, b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), path
}

// startsAfter wants what a cut left to be a folder that starts, once a backup is
// put back if the database is not there.
func startsAfter(t *testing.T, left cutfs.Image, backup string) {
	t.Helper()
	dir := scratch(t)
	defer os.RemoveAll(dir)
	if err := left.Save(dir); err != nil {
		t.Fatal(err)
	}
	if left["foyer.db"] == nil {
		if _, err := store.Restore(t.Context(), dir, backup); err != nil {
			t.Errorf("a second try: %v", err)
			return
		}
	}
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Error(err)
		return
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
