package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const backupKey = "a key for this test"

// soldHouse is a folder with an event in its database.
func soldHouse(t *testing.T) (data string) {
	t.Helper()
	w := newWorld(t)
	data = filepath.Join(w.dir, "data")
	if code := w.run("event", "create", "--data", data, w.file("e.json", `{"id":"gala","name":"Gala"}`)); code != exitOK {
		t.Fatalf("create: %d, %s", code, w.err.String())
	}
	return data
}

// holding wants a folder to hold these names and no other.
func holding(t *testing.T, dir string, names ...string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("%s holds %q, want %q", dir, got, names)
	}
}

func TestBackupAndRestoreWithAndWithoutAServer(t *testing.T) {
	data := soldHouse(t)
	serving, cli := newWorld(t), newWorld(t)
	serving.env["FOYER_ADMIN_KEY"], cli.env["FOYER_ADMIN_KEY"] = backupKey, backupKey
	url, stop := serving.start("serve", "--addr", "127.0.0.1:0", "--data", data)
	online, offline := filepath.Join(cli.dir, "online"), filepath.Join(cli.dir, "offline")
	if code := cli.run("backup", "--server", url+"/", online); code != exitOK {
		t.Fatalf("online: %d, %s", code, cli.err.String())
	}
	if said := cli.out.String(); !strings.Contains(said, "1 event") || !strings.Contains(said, "the newest entry is of 20") {
		t.Errorf("online: said %q", said)
	}
	if code := cli.run("backup", "--data", data, offline); code != exitUsage || !strings.Contains(cli.err.String(), "foyer backup --server") {
		t.Errorf("offline while one runs: %d, %q", code, cli.err.String())
	}
	if stop() != exitOK {
		t.Fatal(serving.err.String())
	}
	cli.env["FOYER_DATA"] = data
	if code := cli.run("backup", offline); code != exitOK {
		t.Fatalf("offline: %d, %s", code, cli.err.String())
	}
	holding(t, cli.dir, "offline", "online")
	for _, file := range []string{online, offline} {
		if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("the backup, which holds secrets, has mode %v (%v)", st.Mode(), err)
		}
		to := filepath.Join(t.TempDir(), "restored")
		if code := cli.run("restore", "--data", to, file); code != exitOK || !strings.Contains(cli.out.String(), "1 event") {
			t.Fatalf("restore: %d, %s%s", code, cli.out.String(), cli.err.String())
		}
		if code := cli.run("check", to); code != exitOK {
			t.Errorf("check: %d, %s", code, cli.out.String())
		}
		again := newWorld(t)
		again.env["FOYER_ADMIN_KEY"] = backupKey
		url, _ := again.start("serve", "--addr", "127.0.0.1:0", "--data", to)
		var e struct{ Name string }
		if get(t, url+"/api/v1/events/gala", &e); e.Name != "Gala" {
			t.Errorf("the restored house shows %q", e.Name)
		}
	}
}

func TestWhatIsThereIsNeverReplacedByABackup(t *testing.T) {
	data, w := soldHouse(t), newWorld(t)
	taken := w.file("taken", "keep me")
	if code := w.run("backup", "--data", data, taken); code != exitFile || !strings.Contains(w.err.String(), "exists already") {
		t.Errorf("backup: %d, %q", code, w.err.String())
	}
	if b, err := os.ReadFile(taken); err != nil || string(b) != "keep me" {
		t.Errorf("the file was touched: %q, %v", b, err)
	}
	backup := filepath.Join(w.dir, "backup")
	if code := w.run("backup", "--data", data, backup); code != exitOK {
		t.Fatal(w.err.String())
	}
	before, err := os.ReadFile(filepath.Join(data, "foyer.db"))
	if err != nil {
		t.Fatal(err)
	}
	if code := w.run("restore", "--data", data, backup); code != exitFile || !strings.Contains(w.err.String(), "move it away first") {
		t.Errorf("restore: %d, %q", code, w.err.String())
	}
	if after, err := os.ReadFile(filepath.Join(data, "foyer.db")); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the database was touched (%v)", err)
	}
}

func TestB80ServeDoesNotStartEmptyOverALostDatabase(t *testing.T) {
	data, w := soldHouse(t), newWorld(t)
	backup := filepath.Join(w.dir, "backup")
	if code := w.run("backup", "--data", data, backup); code != exitOK {
		t.Fatal(w.err.String())
	}
	if err := os.Remove(filepath.Join(data, "foyer.db")); err != nil {
		t.Fatal(err)
	}
	event := w.file("e.json", `{"id":"new","name":"New"}`)
	for _, args := range [][]string{{"serve", "--addr", "127.0.0.1:0"}, {"demo", "--addr", "127.0.0.1:0"}, {"event", "create"}} {
		args = append(args, "--data", data)
		if args[0] == "event" {
			args = append(args, event)
		}
		code := w.run(args...)
		said := lastLine(w.err.String())
		if code != exitFile || !strings.Contains(said, "is gone") || !strings.Contains(said, "foyer restore --data "+data) {
			t.Errorf("%v: %d, %q", args, code, said)
		}
	}
	if _, err := os.Stat(filepath.Join(data, "foyer.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a database was made (%v)", err)
	}
	if code := w.run("restore", "--data", data, backup); code != exitOK {
		t.Fatalf("restore: %d, %s", code, w.err.String())
	}
	if code := w.run("event", "list", "--data", data); code != exitOK || !strings.Contains(w.out.String(), "Gala") {
		t.Errorf("%d, %s%s", code, w.out.String(), w.err.String())
	}
}

func TestDamagedBackupIsNotRestored(t *testing.T) {
	data, w := soldHouse(t), newWorld(t)
	whole, err := os.ReadFile(filepath.Join(data, "foyer.db"))
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(w.dir, "to")
	for name, content := range map[string]string{"empty": "", "foreign": strings.Repeat("x", 10_000), "cut": string(whole[:16<<10])} {
		if code := w.run("restore", "--data", to, w.file(name, content)); code != exitFile || strings.Count(w.err.String(), "\n") != 1 {
			t.Errorf("%s: %d, %q", name, code, w.err.String())
		}
	}
	if code := w.run("restore", "--data", to, filepath.Join(w.dir, "none")); code == exitOK || !strings.Contains(w.err.String(), "there is no file") {
		t.Errorf("none: %d, %q", code, w.err.String())
	}
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder was made (%v)", err)
	}
}

func TestDownloadThatGoesWrongLeavesNoBackup(t *testing.T) {
	data := soldHouse(t)
	db, err := os.ReadFile(filepath.Join(data, "foyer.db"))
	if err != nil {
		t.Fatal(err)
	}
	digest := func(b []byte) string {
		sum := sha256.Sum256(b)
		return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	}
	flipped := bytes.Clone(db)
	flipped[len(db)/2] ^= 1
	send := func(d string, b []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if d != "" {
				w.Header().Set("Repr-Digest", d)
			}
			_, _ = w.Write(b)
		}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		say    string
	}{
		"damaged on the way": {send(digest(db), flipped), "arrived damaged"},
		"cut without a word": {send(digest(db), db[:len(db)/2]), "arrived damaged"},
		"without a digest":   {send("", db), "without a digest"},
		"with a strange one": {send("sha-256=:x:, md5=:AAAA:", db), "without a digest"},
		"no database":        {send(digest([]byte("hello")), []byte("hello")), "no backup was made"},
		"a damaged database": {send(digest(db[:16<<10]), db[:16<<10]), "no backup was made"},
		"an error":           {http.NotFound, "answered 404"},
		"a problem": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(`{"detail":"Another backup is being made."}`))
		}, "Another backup is being made."},
		"cut off": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Repr-Digest", digest(db))
			_, _ = w.Write(db[:len(db)/2])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, "broke off after"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.answer)
			defer server.Close()
			w := newWorld(t)
			w.env["FOYER_ADMIN_KEY"], w.env["FOYER_SERVER"] = backupKey, server.URL
			if code := w.run("backup", filepath.Join(w.dir, "backup")); code != exitFile || !strings.Contains(w.err.String(), c.say) || strings.Count(w.err.String(), "\n") != 1 {
				t.Errorf("%d, %q", code, w.err.String())
			}
			if strings.Contains(w.err.String(), backupKey) {
				t.Error("the key is in the sentence")
			}
			holding(t, w.dir)
		})
	}
	good := httptest.NewServer(send("md5=:AAAA:, "+digest(db), db))
	defer good.Close()
	w := newWorld(t)
	w.env["FOYER_ADMIN_KEY"] = backupKey
	if code := w.run("backup", "--server", good.URL, filepath.Join(w.dir, "backup")); code != exitOK {
		t.Errorf("the same without a fault: %d, %q", code, w.err.String())
	}
}

func TestWrongUseOfBackupAndRestore(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		say  string
	}{
		"no file":              {[]string{"backup"}, exitUsage, "the name of one file"},
		"two files":            {[]string{"backup", "a", "b"}, exitUsage, "the name of one file"},
		"standard output":      {[]string{"backup", "-"}, exitUsage, "the name of one file"},
		"restore without file": {[]string{"restore", "--data", "x"}, exitUsage, "the name of one file"},
		"restore to a server":  {[]string{"restore", "--server", "x", "y"}, exitUsage, "not defined: -server"},
		"both":                 {[]string{"backup", "--data", "x", "--server", "http://127.0.0.1:1", "y"}, exitUsage, "not both"},
		"no folder":            {[]string{"restore", "--data", "", "y"}, exitUsage, "must name a folder"},
		"no key":               {[]string{"backup", "--server", "http://127.0.0.1:1", "DIR/y"}, exitUsage, "FOYER_ADMIN_KEY"},
		"no database":          {[]string{"backup", "--data", "DIR", "DIR/y"}, exitUsage, "there is no file"},
		"no such folder":       {[]string{"backup", "--data", "DIR", "DIR/none/y"}, exitUsage, "cannot write in"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for i := range c.args {
				c.args[i] = strings.ReplaceAll(c.args[i], "DIR", w.dir)
			}
			if code := w.run(c.args...); code != c.code || !strings.Contains(w.err.String(), c.say) || strings.Count(w.err.String(), "\n") != 1 {
				t.Errorf("%d, %q", code, w.err.String())
			}
			holding(t, w.dir)
		})
	}
	w := newWorld(t)
	w.env["FOYER_ADMIN_KEY"] = backupKey
	if code := w.run("backup", "--server", "http://user:hunter2@127.0.0.1:1", filepath.Join(w.dir, "y")); code != exitFile || strings.Contains(w.err.String(), "hunter2") {
		t.Errorf("nobody there: %d, %q", code, w.err.String())
	}
}

// An explicit --data is not overruled by a server in the environment.
func TestGivenFolderBeatsAServerInTheEnvironment(t *testing.T) {
	data, w := soldHouse(t), newWorld(t)
	w.env["FOYER_SERVER"], w.env["FOYER_ADMIN_KEY"] = "http://127.0.0.1:1", backupKey
	if code := w.run("backup", "--data", data, filepath.Join(w.dir, "backup")); code != exitOK {
		t.Errorf("%d, %q", code, w.err.String())
	}
}

func TestManualsOfBackupAndRestoreTellWhatIsLost(t *testing.T) {
	w := newWorld(t)
	for command, words := range map[string][]string{
		"backup":  {"--server", "FOYER_ADMIN_KEY", "like a password", "foyer restore"},
		"restore": {"is not in it", "keep it", "payment provider", "stay valid", "FOYER_DATA"},
	} {
		if code := w.run(command, "--help"); code != exitOK {
			t.Errorf("%s --help: %d", command, code)
		}
		for _, word := range words {
			if !strings.Contains(w.out.String(), word) {
				t.Errorf("the manual of %s lacks %q", command, word)
			}
		}
	}
}

// A backup that was begun does not outlive a stop of foyer by much.
func TestStopDuringADownloadEndsInOrder(t *testing.T) {
	data := soldHouse(t)
	w := newWorld(t)
	w.env["FOYER_ADMIN_KEY"] = backupKey
	url, stop := w.start("serve", "--addr", "127.0.0.1:0", "--data", data)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/v1/admin/backup", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+backupKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	began := time.Now()
	if code := stop(); code != exitOK {
		t.Errorf("ended with %d: %s", code, w.err.String())
	}
	if took := time.Since(began); took > drainTime+5*time.Second {
		t.Errorf("it took %v", took)
	}
	holding(t, data, "foyer.db", "foyer.db.made")
}

func TestAnAddressWithoutAServerGetsNoKey(t *testing.T) {
	for _, address := range []string{"http://", "https:", "http:///", "ftp://127.0.0.1", "127.0.0.1:8080", "/"} {
		for _, command := range [][]string{{"backup", "--server", address, "DIR/y"}, {"event", "list", "--server", address}} {
			w := newWorld(t)
			w.env["FOYER_ADMIN_KEY"] = backupKey
			for i := range command {
				command[i] = strings.ReplaceAll(command[i], "DIR", w.dir)
			}
			if code := w.run(command...); code != exitUsage || !strings.Contains(w.err.String(), "is no address such as") {
				t.Errorf("%q: %d, %q", command, code, w.err.String())
			}
		}
	}
}
