package cutfs

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

func mounted(t *testing.T, d *Disk) (string, *Mount) {
	t.Helper()
	dir := t.TempDir()
	m, err := d.Mount(dir)
	if errors.Is(err, ErrNoFUSE) {
		t.Skipf("this test mounts a file system, which takes root and /dev/fuse: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Unmount(); err != nil {
			t.Error(err)
		}
	})
	return dir, m
}

func TestMountedDiskIsAFolderOfFiles(t *testing.T) {
	dir, _ := mounted(t, New(Image{"old": ContentOf([]byte("old"))}, 1))
	path := func(name string) string { return filepath.Join(dir, name) }
	fail := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	f, err := os.OpenFile(path("f"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.OpenFile(path("f"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("exclusive creation of what is there: %v", err)
	}
	long := bytes.Repeat([]byte("0123456789"), 100_000)
	_, err = f.WriteAt(long, 5)
	fail("write", err)
	got := make([]byte, len(long))
	if _, err := f.ReadAt(got, 5); err != nil || !bytes.Equal(got, long) {
		t.Errorf("reads back something else, %v", err)
	}
	fail("grow", f.Truncate(2_000_000))
	fail("sync", f.Sync())
	fail("fdatasync", syscall.Fdatasync(int(f.Fd())))
	if st, err := f.Stat(); err != nil || st.Size() != 2_000_000 {
		t.Errorf("stat: %v, %v", st, err)
	}
	fail("shrink", f.Truncate(10))
	fail("link", os.Link(path("f"), path("g")))
	if err := os.Link(path("f"), path("old")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a link over a file: %v", err)
	}
	fail("rename", os.Rename(path("f"), path("old")))
	fail("unlink", os.Remove(path("g")))
	if b, err := os.ReadFile(path("old")); err != nil || string(b) != "\x00\x00\x00\x00\x0001234" {
		t.Errorf("%q, %v", b, err)
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 || list[0].Name() != "old" {
		t.Errorf("the folder shows %v, %v", list, err)
	}
	fail("lock", syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
	other, err := os.Open(path("old"))
	fail("open", err)
	if err := syscall.Flock(int(other.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("a second lock: %v", err)
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil || st.Bavail == 0 {
		t.Errorf("statfs: %+v, %v", st, err)
	}
	fail("close", errors.Join(f.Close(), other.Close()))
}

// TestCallsReachTheDiskAsTheyAreMade holds what all else rests on: the kernel
// keeps back no write, and passes on each fsync and each error.
func TestCallsReachTheDiskAsTheyAreMade(t *testing.T) {
	d := New(nil, 1)
	dir, m := mounted(t, d)
	f, err := os.Create(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	folder, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	_, e1 := f.WriteAt(make([]byte, 4096), 8192)
	e2 := f.Sync()
	_, e3 := f.WriteAt(make([]byte, 4096), 0)
	if err := errors.Join(e1, e2, e3, syscall.Fdatasync(int(f.Fd())), f.Truncate(1<<20), folder.Sync()); err != nil {
		t.Fatal(err)
	}
	var got []Kind
	for _, c := range d.Calls() {
		got = append(got, c.Kind)
	}
	if want := []Kind{Create, Write, Sync, Write, Sync, Grow, SyncFolder}; !slices.Equal(got, want) {
		t.Errorf("the disk was asked for %v, want %v", got, want)
	}

	refuse := func(errno syscall.Errno) func(Call) Verdict {
		return func(Call) Verdict { return Verdict{Fail: errno} }
	}
	d.Judge(refuse(syscall.ENOSPC))
	_, e1 = f.WriteAt([]byte("x"), 0)
	for what, err := range map[string]error{"write": e1, "grow": f.Truncate(2 << 20), "sync": f.Sync(), "sync of the folder": folder.Sync()} {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s on a full disk: %v", what, err)
		}
	}
	d.Judge(func(c Call) Verdict {
		if c.Kind == Write {
			return Verdict{Through: 3, Delay: time.Millisecond}
		}
		return Verdict{}
	})
	if n, err := f.WriteAt([]byte("abcdefgh"), 0); n != 8 || err != nil { // in three calls
		t.Errorf("a write in pieces gives %d, %v", n, err)
	}
	d.Judge(nil)
	b := make([]byte, 8)
	if _, err := f.ReadAt(b, 0); err != nil || string(b) != "abcdefgh" {
		t.Errorf("reads %q, %v", b, err)
	}
	d.Judge(refuse(syscall.EIO))
	if _, err := f.ReadAt(b, 0); err != nil {
		t.Errorf("what was just read is read again: %v", err)
	}
	if err := m.Forget("f"); err != nil {
		t.Error(err)
	}
	if _, err := f.ReadAt(b, 0); !errors.Is(err, syscall.EIO) {
		t.Errorf("a bad sector reads %q, %v", b, err)
	}
	d.Judge(nil)
	d.Cut()
	_, e1 = f.WriteAt([]byte("x"), 0)
	for what, err := range map[string]error{"write": e1, "sync": f.Sync()} {
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("%s after the cut: %v", what, err)
		}
	}
}

func TestImageIsSavedAsItIs(t *testing.T) {
	dir := t.TempDir()
	m := Image{"f": ContentOf([]byte("start")).Cut(300_000), "empty": ContentOf(nil), "short": ContentOf([]byte("start")).Cut(3)}
	if err := m.Save(dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range m {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s: %d bytes, %v, want %d", name, len(got), err, want.Len())
		}
	}
}
