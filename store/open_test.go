package store_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	bolt "go.etcd.io/bbolt"

	"foyer/outbox"
	"foyer/sale"
	"foyer/store"
)

// filled makes a store with some hundred rows in every large bucket and closes it.
func filled(t *testing.T, dir string) (path string) {
	t.Helper()
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	body := bytes.Repeat([]byte("x"), 3000)
	for range 5 {
		err := s.Update(func(tx sale.Tx) error {
			for range 100 {
				tx.Send(outbox.Message{ID: tx.NewID().String(), Topic: "t", Key: "k", Sink: "log:", CreatedAt: tx.Now(), Body: body, State: outbox.Waiting})
				tx.Audit(sale.Entry{At: tx.Now(), Act: "act", Detail: string(body)})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "foyer.db")
}

// refuses wants one clear sentence of this kind about the path, and the file untouched.
func refuses(t *testing.T, dir string, kind error) {
	t.Helper()
	path := filepath.Join(dir, "foyer.db")
	before, _ := os.ReadFile(path)
	names, _ := os.ReadDir(dir)
	s, err := store.Open(dir, store.Options{})
	if err == nil {
		_ = s.Close()
		t.Error("the file was opened")
		return
	}
	if !errors.Is(err, kind) {
		t.Errorf("got %v, want %v", err, kind)
	}
	if msg := err.Error(); !strings.Contains(msg, dir) || strings.ContainsAny(msg, "\n") || strings.Contains(msg, "goroutine") || strings.Contains(msg, "%!") || len(msg) > 400 {
		t.Errorf("that is no clear sentence about the path: %s", msg)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(after, before) {
		t.Error("the refused file was changed")
	}
	if now, _ := os.ReadDir(dir); len(now) != len(names) {
		t.Errorf("the refusal left %d files where there were %d", len(now), len(names))
	}
}

func TestB80FilesThatAreNotOursAreRefusedAndUntouched(t *testing.T) {
	random := make([]byte, 4096)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	jpeg := append([]byte("\xff\xd8\xff\xe0\x00\x10JFIF\x00"), bytes.Repeat([]byte{7}, 9000)...)
	for name, content := range map[string][]byte{
		"zero length": {}, "one byte": {1}, "random 4 KB": random, "a JPEG": jpeg, "zeros": make([]byte, 1<<16), "text": []byte("foyer\n"),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "foyer.db"), content, 0o600); err != nil {
				t.Fatal(err)
			}
			refuses(t, dir, store.ErrBadFile)
		})
	}
}

func TestB80DamagedFilesAreRefusedWithoutAPanic(t *testing.T) {
	page := os.Getpagesize()
	change := func(fn func(b []byte) []byte) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, fn(b), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, damage := range map[string]func(t *testing.T, path string){
		"cut to 1 MB":           change(func(b []byte) []byte { return b[:1<<20] }),
		"cut inside a page":     change(func(b []byte) []byte { return b[:1<<20+100] }),
		"cut to the meta pages": change(func(b []byte) []byte { return b[:2*page] }),
		"first 4 KB random": change(func(b []byte) []byte {
			for i := range page {
				b[i] = byte(rand.Uint32())
			}
			return b
		}),
		"pages in the middle zeroed": change(func(b []byte) []byte { clear(b[100*page : 300*page]); return b }),
		"pages in the middle random": change(func(b []byte) []byte {
			for i := 100 * page; i < 300*page; i++ {
				b[i] = byte(rand.Uint32())
			}
			return b
		}),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			damage(t, filled(t, dir))
			refuses(t, dir, store.ErrBadFile)
		})
	}
}

func TestFileCutToHalfIsRefused(t *testing.T) {
	dir := t.TempDir()
	path := filled(t, dir)
	// bbolt grows its file in steps: let the data reach past the half.
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	used := lastUsed(t, path)
	if err := os.Truncate(path, used/2); err != nil {
		t.Fatalf("%d of %d: %v", used, st.Size(), err)
	}
	refuses(t, dir, store.ErrBadFile)
}

// lastUsed finds the end of what was ever written.
func lastUsed(t *testing.T, path string) int64 {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return int64(len(bytes.TrimRight(b, "\x00")))
}

// edit changes the file through bbolt itself.
func edit(t *testing.T, path string, fn func(tx *bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(fn), db.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestForeignAndNewerDatabasesAreRefused(t *testing.T) {
	for name, fn := range map[string]func(tx *bolt.Tx) error{
		"newer format": func(tx *bolt.Tx) error {
			return tx.Bucket([]byte("meta")).Put([]byte("format"), []byte{0, 0, 0, 0, 0, 0, 0, 99})
		},
		"no format": func(tx *bolt.Tx) error { return tx.Bucket([]byte("meta")).Delete([]byte("format")) },
		"no secret": func(tx *bolt.Tx) error { return tx.Bucket([]byte("meta")).Delete([]byte("secret")) },
		"no outbox": func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte("outbox")) },
		"bad event": func(tx *bolt.Tx) error { return tx.Bucket([]byte("events")).Put([]byte{0, 0, 0, 1}, []byte("{")) },
		"bad key":   func(tx *bolt.Tx) error { return tx.Bucket([]byte("keys")).Put([]byte{1}, []byte("[]")) },
		"bad order": func(tx *bolt.Tx) error { return tx.Bucket([]byte("orders")).Put(make([]byte, 16), []byte("?")) },
		"bad receipt": func(tx *bolt.Tx) error {
			return tx.Bucket([]byte("receipts")).Put(make([]byte, 8), []byte("?"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			edit(t, filled(t, dir), fn)
			refuses(t, dir, store.ErrBadFile)
		})
	}
	t.Run("of another program", func(t *testing.T) {
		dir := t.TempDir()
		edit(t, filepath.Join(dir, "foyer.db"), func(tx *bolt.Tx) error {
			_, err := tx.CreateBucket([]byte("their things"))
			return err
		})
		refuses(t, dir, store.ErrBadFile)
	})
	t.Run("two places of one visitor", func(t *testing.T) {
		dir := t.TempDir()
		s, err := store.Open(dir, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		settings := sale.DefaultSettings()
		settings.ID, settings.Name = "gala", "Gala"
		if _, err := sale.New(sale.Config{Store: s, Secret: s.Secret()}).CreateEvent("staff", settings); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		edit(t, filepath.Join(dir, "foyer.db"), func(tx *bolt.Tx) error {
			waiting := make([]byte, 17)
			b := tx.Bucket([]byte("places"))
			return errors.Join(
				b.Put([]byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1}, waiting),
				b.Put([]byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2}, waiting),
			)
		})
		refuses(t, dir, store.ErrBadFile)
	})
}

func TestFolderInPlaceOfTheFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "foyer.db"), 0o700); err != nil {
		t.Fatal(err)
	}
	refuses(t, dir, store.ErrBadFile)
}

func TestFileInPlaceOfTheFolderIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(dir, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	refuses(t, dir, store.ErrUnwritable)
}

func TestFileInUseIsRefused(t *testing.T) {
	dir := t.TempDir()
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	refuses(t, dir, store.ErrInUse)
	if err := s.Update(func(tx sale.Tx) error { tx.Audit(sale.Entry{Act: "still mine"}); return nil }); err != nil {
		t.Error(err)
	}
}

func TestLeftoversOfACrashedCreationDoNotHurt(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"foyer.db.new-1.tmp", "foyer.db.new-123.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var secret []byte
	for range 2 {
		s, err := store.Open(dir, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Secret()) != 32 || secret != nil && !bytes.Equal(s.Secret(), secret) {
			t.Errorf("a secret of %d bytes, or another one than before", len(s.Secret()))
		}
		secret = bytes.Clone(s.Secret())
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if st, err := os.Stat(filepath.Join(dir, "foyer.db")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v: others could read the secret", st.Mode(), err)
	}
}

func TestManyWhoOpenANewFolderMakeOneFile(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var secrets [][]byte
	for range 4 {
		wg.Go(func() {
			s, err := store.Open(dir, store.Options{})
			if err != nil {
				if !errors.Is(err, store.ErrInUse) {
					t.Errorf("got %v", err)
				}
				return
			}
			mu.Lock()
			secrets = append(secrets, s.Secret())
			mu.Unlock()
			_ = s.Close()
		})
	}
	wg.Wait()
	for _, s := range secrets {
		if !bytes.Equal(s, secrets[0]) {
			t.Error("two files were made")
		}
	}
	if len(secrets) == 0 {
		t.Error("nobody opened it")
	}
}

// asNobody runs fn without the powers of root, which permissions do not stop.
// The thread is given up afterwards.
func asNobody(t *testing.T, dir string, fn func()) {
	t.Helper()
	for d := dir; len(d) > len(os.TempDir()); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if os.Geteuid() != 0 {
		fn()
		return
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := setfsuid(65534)
		if err == nil {
			fn()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("cannot give up root: %v", err)
		}
		t.Skipf("cannot give up root: %v", err)
	}
}

func TestFolderThatCannotBeWrittenIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	asNobody(t, filepath.Dir(dir), func() { refuses(t, dir, store.ErrUnwritable) })
}

func TestReadOnlyFileIsRefused(t *testing.T) {
	for _, mode := range []os.FileMode{0o444, 0o000} {
		dir := t.TempDir()
		path := filled(t, dir)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		asNobody(t, dir, func() {
			s, err := store.Open(dir, store.Options{})
			if err == nil {
				_ = s.Close()
			}
			if !errors.Is(err, store.ErrUnwritable) || !strings.Contains(err.Error(), path) {
				t.Errorf("mode %o: got %v", mode, err)
			}
		})
	}
}

func TestClosedStoreRefusesWrites(t *testing.T) {
	s, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(func(sale.Tx) error { return nil }); !errors.Is(err, sale.ErrUnavailable) {
		t.Errorf("a closed store answers %v", err)
	}
}
