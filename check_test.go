package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// eventFile makes a data folder with an event in it.
func eventFile(w *world) (folder, file string) {
	w.t.Helper()
	folder = filepath.Join(w.dir, "data")
	event := w.file("gala.json", `{"id": "gala", "name": "Gala", "prices": {"Stalls": 100}}`)
	if code := w.run("event", "create", "--data", folder, event); code != exitOK {
		w.t.Fatalf("event create ends with %d: %s", code, w.err.String())
	}
	return folder, filepath.Join(folder, "foyer.db")
}

func TestCheckTellsASoundFileAndLeavesIt(t *testing.T) {
	w := newWorld(t)
	folder, file := eventFile(w)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, folder} {
		if code := w.run("check", path); code != exitOK {
			t.Fatalf("code %d: %s%s", code, w.out.String(), w.err.String())
		}
		out := w.out.String()
		if !strings.HasPrefix(out, file+": ") || strings.Count(out, "\n") != 1 || !strings.Contains(out, "1 event, 0 places in line") || !strings.Contains(out, "0 orders") {
			t.Errorf("it says %q", out)
		}
		if w.err.String() != "" {
			t.Errorf("a bar or an error where nobody looks: %q", w.err.String())
		}
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the check changed the file: %v", err)
	}
}

func TestCheckListsFindingsAndFails(t *testing.T) {
	w := newWorld(t)
	_, file := eventFile(w)
	db, err := bolt.Open(file, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		waiting := append([]byte{0}, bytes.Repeat([]byte{7}, 16)...)
		_, err := tx.CreateBucket([]byte("theirs"))
		if err != nil {
			return err
		}
		return tx.Bucket([]byte("places")).Put([]byte{0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1}, waiting)
	})
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if code := w.run("check", file); code != exitFile {
		t.Errorf("code %d", code)
	}
	lines := strings.Split(strings.TrimSpace(w.out.String()), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "row  places of an event with the ordinal 9, which is not there: 1") || !strings.HasPrefix(lines[1], `note there is a bucket "theirs"`) || !strings.HasPrefix(lines[2], file+": ") {
		t.Errorf("it says %q", lines)
	}
	if got := w.err.String(); got != "foyer: "+file+" is not sound: 1 finding\n" {
		t.Errorf("it ends with %q", got)
	}
}

func TestCheckSaysWhyItCannotLook(t *testing.T) {
	w := newWorld(t)
	folder := filepath.Join(w.dir, "data")
	_, stop := w.start("serve", "--addr", "127.0.0.1:0", "--data", folder)
	defer stop()
	for _, c := range []struct {
		args  []string
		words string
	}{
		{nil, "use check FILE"},
		{[]string{"a", "b"}, "use check FILE"},
		{[]string{"--quick"}, "use check FILE"},
		{[]string{filepath.Join(w.dir, "none.db")}, "there is no file"},
		{[]string{w.dir}, "there is no file"},
		{[]string{folder}, "is in use by a running foyer; make a copy with foyer backup and check that"},
	} {
		var out, errs lockedBuffer
		p := program{&out, &errs, func(string) (string, bool) { return "", false }}
		code := run(t.Context(), p, append([]string{"check"}, c.args...))
		if code != exitUsage || !strings.Contains(errs.String(), c.words) || strings.Count(errs.String(), "\n") != 1 || out.String() != "" {
			t.Errorf("%v: code %d, %q, %q", c.args, code, errs.String(), out.String())
		}
	}
	stopped, stopIt := context.WithCancel(t.Context())
	stopIt()
	var out, errs lockedBuffer
	code := run(stopped, program{&out, &errs, func(string) (string, bool) { return "", false }}, []string{"check", folder})
	if code != exitUsage {
		t.Errorf("stopped: code %d, %q", code, errs.String())
	}
}

func TestCheckFindsFilesThatAreNotFoyers(t *testing.T) {
	w := newWorld(t)
	for name, words := range map[string]string{"": "is empty", "a letter\n": "was not made by foyer"} {
		path := w.file("some.db", name)
		if code := w.run("check", path); code != exitFile {
			t.Errorf("code %d", code)
		}
		if out := w.out.String(); !strings.HasPrefix(out, "file ") || !strings.Contains(out, words) || !strings.Contains(out, "rows were not compared") {
			t.Errorf("it says %q", out)
		}
	}
}
