package contract

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestBackupHasALengthADigestAndAName(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	eventOf(t, h, 2, nil)
	h.call(t, "GET", "/api/v1/admin/backup", nil).refused(t, http.StatusUnauthorized, "no_key")
	h.call(t, "GET", "/api/v1/admin/backup", nil, "Authorization", "Bearer nonsense").refused(t, http.StatusUnauthorized, "no_key")
	shop := h.staff(t, "POST", "/admin/keys", object{"role": "shop"}).want(t, http.StatusCreated).text("key")
	h.call(t, "GET", "/api/v1/admin/backup", nil, "Authorization", "Bearer "+shop).refused(t, http.StatusForbidden, "wrong_role")
	a := h.staff(t, "GET", "/admin/backup", nil, "Accept-Encoding", "gzip").want(t, http.StatusOK)
	sum := sha256.Sum256([]byte(a.body))
	if got, want := a.header.Get("Repr-Digest"), "sha-256=:"+base64.StdEncoding.EncodeToString(sum[:])+":"; got != want {
		t.Errorf("Repr-Digest %q, want %q", got, want)
	}
	if a.header.Get("Content-Length") != strconv.Itoa(len(a.body)) || a.header.Get("Content-Encoding") != "" {
		t.Errorf("%d bytes came with %v", len(a.body), a.header)
	}
	if got := a.header.Get("Content-Disposition"); !strings.HasPrefix(got, `attachment; filename="foyer-20`) || !strings.HasSuffix(got, `Z.db"`) {
		t.Errorf("Content-Disposition %q", got)
	}
	if audit := h.staff(t, "GET", "/admin/audit?limit=1", nil); audit.text("items", 0, "act") != "house.backup" {
		t.Errorf("the audit does not tell of it: %s", audit.body)
	}
	if left, _ := filepath.Glob(filepath.Join(h.dir, "*.backup-*")); len(left) > 0 {
		t.Errorf("left in the folder: %q", left)
	}
}

// run runs a command of the program, which must succeed.
func (h *house) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), "FOYER_ADMIN_KEY="+adminKey)
	timer := time.AfterFunc(3*patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("foyer %v: %v: %s", args, err, out)
	}
	return string(out)
}

func TestBackupWhileSellingBringsBackWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "--rate-limit", "0")
	e := eventOf(t, h, 20000, nil)
	l, later := newLedger(), newLedger()
	var seat atomic.Int64
	stop, stopLater := make(chan struct{}), make(chan struct{})
	wg := l.crowd(t, e, 8, &seat, stop)
	until(t, "a crowd at work", patience, func() bool { return seat.Load() > 60 })
	close(stop)
	wg.Wait() // what is in the ledger now was acknowledged before the backup
	wg = later.crowd(t, e, 8, &seat, stopLater)
	mark := seat.Load()
	until(t, "another crowd at work", patience, func() bool { return seat.Load() > mark+20 })
	file := filepath.Join(t.TempDir(), "backup.db")
	h.run(t, "backup", "--server", h.url(), file)
	close(stopLater)
	wg.Wait()
	if code, _ := h.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	lost := filepath.Join(h.dir, "foyer.db")
	if err := os.Rename(lost, lost+".broken"); err != nil {
		t.Fatal(err)
	}
	if got := exitCode(t, "serve", "--addr", "127.0.0.1:0", "--data", h.dir); got != 1 {
		t.Errorf("over a lost database it ended with %d, want 1", got)
	}
	if said := h.run(t, "restore", "--data", h.dir, file); !strings.Contains(said, "restored "+file) {
		t.Errorf("restore said %q", said)
	}
	if said := h.run(t, "check", h.dir); strings.Contains(said, "I1") {
		t.Errorf("check said %q", said)
	}
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d entries of the ledger are there", l.audit(t, e))
	if got := exitCode(t, "restore", "--data", h.dir, file); got != 1 {
		t.Errorf("restoring over a database ended with %d, want 1", got)
	}
}

// sip opens a download and reads its head alone.
func (h *house) sip(t *testing.T, path string) (conn net.Conn, rest *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", path, h.addr, adminKey)
	rest = bufio.NewReaderSize(conn, 1024)
	line, err := rest.ReadString('\n')
	if err != nil || !strings.Contains(line, " 200 ") {
		t.Fatalf("got %q, %v", line, err)
	}
	return conn, rest
}

func TestB82SlowDownloadOfABackupHoldsUpNobody(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "--rate-limit", "0")
	for range 5 {
		eventOf(t, h, 50_000, nil) // plans make the file large, larger than sockets hold
	}
	e := eventOf(t, h, 400, nil)
	conn, rest := h.sip(t, "/api/v1/admin/backup")
	defer conn.Close()
	h.staff(t, "GET", "/admin/backup", nil).refused(t, http.StatusConflict, "backup_running")
	for i, p := range e.buyers(t, 200) {
		if i%10 == 0 { // the client takes a little
			if _, err := io.CopyN(io.Discard, rest, 1000); err != nil {
				t.Fatal(err)
			}
		}
		p.bought(t, fmt.Sprintf("A-%d", i+1))
	}
	h.staff(t, "GET", "/admin/backup", nil).refused(t, http.StatusConflict, "backup_running")
	conn.Close()
	until(t, "the next backup", patience, func() bool {
		return h.staff(t, "GET", "/admin/backup", nil).status == http.StatusOK
	})
	if left, _ := filepath.Glob(filepath.Join(h.dir, "*.backup-*")); len(left) > 0 {
		t.Errorf("left in the folder: %q", left)
	}
}

// The end cuts a download off, a kill leaves its copy, and the next start removes that.
func TestEndsDuringADownloadLeaveNothingForLong(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for range 5 {
		eventOf(t, h, 50_000, nil)
	}
	conn, _ := h.sip(t, "/api/v1/admin/backup")
	defer conn.Close()
	h.kill()
	left := func() []string {
		names, _ := filepath.Glob(filepath.Join(h.dir, "*.backup-*"))
		return names
	}
	if len(left()) == 0 {
		t.Fatal("the crash left nothing, so this tries nothing")
	}
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	if names := left(); len(names) > 0 {
		t.Errorf("still there: %q", names)
	}
	h.staff(t, "GET", "/admin/backup", nil).want(t, http.StatusOK)
	again, _ := h.sip(t, "/api/v1/admin/backup")
	defer again.Close()
	if code, took := h.stop(t); code != 0 || took > 10*time.Second {
		t.Errorf("exit code %d after %v", code, took)
	}
	if names := left(); len(names) > 0 {
		t.Errorf("a planned end left %q", names)
	}
}
