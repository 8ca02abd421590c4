package filesink

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"foyer/outbox"
)

var _ outbox.Sink = (*Sink)(nil)

// place returns a sink and the file it writes.
func place(t *testing.T) (*Sink, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "messages.ndjson")
	s := New("file:" + path)
	t.Cleanup(func() { _ = s.Close() })
	return s, path
}

func message(id string) outbox.Message {
	return outbox.Message{ID: id, Topic: "order.paid", Key: "order:7", Body: []byte(`{"id":"` + id + `","data":{"name":"M & S"}}`)}
}

func deliver(t *testing.T, s *Sink, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := s.Deliver(t.Context(), message(id)); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
	}
}

// ids reads the file's lines; a line that is no document counts as "torn".
func ids(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var doc struct{ ID string }
		if json.Unmarshal(lines.Bytes(), &doc) != nil {
			doc.ID = "torn"
		}
		all = append(all, doc.ID)
	}
	return strings.Join(all, " ")
}

func failure(t *testing.T, err error) *outbox.Failure {
	t.Helper()
	var f *outbox.Failure
	if !errors.As(err, &f) {
		t.Fatalf("got %v, want a failure", err)
	}
	return f
}

func TestALineIsTheMessagesDocument(t *testing.T) {
	s, path := place(t)
	deliver(t, s, "m1", "m2")
	got, err := os.ReadFile(path)
	if want := string(message("m1").Body) + "\n" + string(message("m2").Body) + "\n"; err != nil || string(got) != want {
		t.Errorf("%v, got %q, want %q", err, got, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, mode %v: others can read the names of buyers", err, info.Mode())
	}
	m := message("m3")
	m.Body = []byte("{\"id\":\"m3\",\r\n \"data\":\"a b\"}\n")
	if err := s.Deliver(t.Context(), m); err != nil || ids(t, path) != "m1 m2 m3" {
		t.Errorf("%v, a document of several lines became %q", err, ids(t, path))
	}
	m.Body = []byte("{\n")
	if f := failure(t, s.Deliver(t.Context(), m)); ids(t, path) != "m1 m2 m3" {
		t.Errorf("%v, but the file has %q", f, ids(t, path))
	}
}

func TestAFileMovedAwayIsFollowedByANewOne(t *testing.T) {
	s, path := place(t)
	deliver(t, s, "m1")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	deliver(t, s, "m2")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	deliver(t, s, "m3")
	if err := os.WriteFile(path+".new", []byte(`{"id":"other"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	deliver(t, s, "m4")
	if old, now := ids(t, path+".1"), ids(t, path); old != "m1" || now != "other m4" {
		t.Errorf("moved away %q, at the path %q", old, now)
	}
}

func TestParallelLanesDoNotMixAndShareFsyncsWhileTheFileMoves(t *testing.T) {
	const lanes, each = 8, 40
	s, path := place(t)
	var syncs atomic.Int64
	s.wrap = func(f *os.File) file { return &faulty{File: f, syncs: &syncs} }
	long := strings.Repeat("ä", 3000)
	var all sync.WaitGroup
	for lane := range lanes {
		all.Go(func() {
			for i := range each {
				m := message(fmt.Sprintf("m%d-%02d", lane, i))
				m.Body = []byte(`{"id":"` + m.ID + `","data":"` + long + `"}`)
				if err := s.Deliver(t.Context(), m); err != nil {
					t.Errorf("%s: %v", m.ID, err)
				}
				if lane == 0 && i%10 == 9 {
					if err := os.Rename(path, fmt.Sprintf("%s.%d", path, i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, files %v", err, files)
	}
	seen := map[string]int{}
	last := map[string]string{} // in each file, lines of a lane rise
	for _, f := range files {
		clear(last)
		for _, id := range strings.Fields(ids(t, f)) {
			seen[id]++
			lane, _, _ := strings.Cut(id, "-")
			if id <= last[lane] {
				t.Errorf("%s stands behind %s", id, last[lane])
			}
			last[lane] = id
		}
	}
	if len(seen) != lanes*each || seen["torn"] > 0 {
		t.Errorf("%d different lines, want %d; torn: %d", len(seen), lanes*each, seen["torn"])
	}
	t.Logf("%d fsyncs for %d messages", syncs.Load(), lanes*each)
}

// faulty is a file on a bad disk.
type faulty struct {
	*os.File
	syncs   *atomic.Int64
	short   int   // bytes of the next write that fit, if full is set
	full    error // what the next write meets
	badSync error // what the next fsync meets
}

func (f *faulty) Write(b []byte) (int, error) {
	if err := f.full; err != nil {
		f.full = nil
		n, _ := f.File.Write(b[:f.short])
		return n, err
	}
	return f.File.Write(b)
}

func (f *faulty) Sync() error {
	if f.syncs != nil {
		f.syncs.Add(1)
	}
	if err := f.badSync; err != nil {
		f.badSync = nil
		return err
	}
	return f.File.Sync()
}

func TestAFullDiskIsAFailureAndLeavesNoTornLine(t *testing.T) {
	s, path := place(t)
	var f *faulty
	s.wrap = func(real *os.File) file { f = &faulty{File: real}; return f }
	deliver(t, s, "m1")
	f.full, f.short = syscall.ENOSPC, 9
	if got := failure(t, s.Deliver(t.Context(), message("m2"))); !strings.Contains(got.Reason, "no space left") {
		t.Errorf("reason %q", got.Reason)
	}
	deliver(t, s, "m2", "m3")
	if got := ids(t, path); got != "m1 m2 m3" {
		t.Errorf("lines %q", got)
	}
}

func TestWhatAFailedFsyncWasToSaveIsNotDelivered(t *testing.T) {
	s, path := place(t)
	var f *faulty
	opened := 0
	s.wrap = func(real *os.File) file { opened++; f = &faulty{File: real}; return f }
	deliver(t, s, "m1")
	seg := s.open
	_, n1, err1 := s.append([]byte("{}\n"))
	_, n2, err2 := s.append([]byte("{}\n"))
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	f.badSync = syscall.EIO
	if err := seg.sync(n1); !errors.Is(err, syscall.EIO) {
		t.Fatalf("got %v", err)
	}
	if err := seg.sync(n2); !errors.Is(err, syscall.EIO) {
		t.Errorf("the next fsync says %v of a line that the failed one was to save", err)
	}
	f.badSync = nil
	failure(t, s.Deliver(t.Context(), message("m2")))
	if deliver(t, s, "m2"); opened != 2 {
		t.Errorf("opened %d times, want once more after the failure", opened)
	}
	if got := ids(t, path); !strings.HasSuffix(got, "m2") {
		t.Errorf("lines %q", got)
	}
}

func TestALineTornByAPowerCutSpoilsOnlyItself(t *testing.T) {
	s, path := place(t)
	if err := os.WriteFile(path, []byte(`{"id":"m0"}`+"\n"+`{"id":"m`), 0o600); err != nil {
		t.Fatal(err)
	}
	deliver(t, s, "m1")
	if got := ids(t, path); got != "m0 torn m1" {
		t.Errorf("lines %q", got)
	}
}

func TestAPlaceThatCannotBeWrittenIsAFailureUntilItCan(t *testing.T) {
	s, path := place(t)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if f := failure(t, s.Deliver(t.Context(), message("m1"))); !strings.Contains(f.Reason, "is no plain file") {
		t.Errorf("a folder: %q", f.Reason)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	deliver(t, s, "m1")
	if got := ids(t, path); got != "m1" {
		t.Errorf("lines %q", got)
	}
	lost := New("file:" + filepath.Join(filepath.Dir(path), "none", "x.ndjson"))
	if f := failure(t, lost.Deliver(t.Context(), message("m1"))); !strings.Contains(f.Reason, "no such file or directory") {
		t.Errorf("no folder: %q", f.Reason)
	}
}

func TestAClosedSinkOpensItsFileAgain(t *testing.T) {
	s, path := place(t)
	deliver(t, s, "m1")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	deliver(t, s, "m2")
	if got := ids(t, path); got != "m1 m2" {
		t.Errorf("lines %q", got)
	}
}

func TestOnlyAnAbsolutePathIsAFile(t *testing.T) {
	for _, good := range []string{"file:/a/b.ndjson", "file:///a/b.ndjson", "file:/a/../b%20c"} {
		if _, err := Path(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"file:", "file:a/b", "file:/", "file:/a/", "file://host/a", "file:/a?secret=1", "file:/a#b", "http:/a", "file:/%zz"} {
		if path, err := Path(bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s is taken as %q, %v", bad, path, err)
		}
	}
	if f := failure(t, New("file:a").Deliver(t.Context(), message("m1"))); !strings.Contains(f.Reason, "absolute path") {
		t.Errorf("reason %q", f.Reason)
	}
}
