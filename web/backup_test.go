package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"foyer/sale"
	"foyer/store"
)

const backupPath = "/api/v1/admin/backup"

func TestBackupIsWholeAndSaysSo(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	buyer, order := h.held("gala", `["A-1"]`)
	a := h.staff("GET", backupPath, "", "Accept-Encoding", "gzip").want(200)
	sum := sha256.Sum256(a.Body)
	for name, want := range map[string]string{
		"Content-Type": "application/octet-stream", "Content-Length": strconv.Itoa(len(a.Body)), "Content-Encoding": "",
		"Content-Disposition": `attachment; filename="foyer-2026-12-01T19-00-00Z.db"`, "Cache-Control": "no-store, no-transform",
		"Repr-Digest": "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":",
	} {
		if got := a.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "foyer.db"), a.Body, 0o600); err != nil {
		t.Fatal(err)
	}
	findings, err := store.Check(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		if !f.Note() {
			t.Errorf("%s: %s", f.Code, f.What)
		}
	}
	copied := &house{t: t, dir: dir, clock: h.clock, till: h.till, log: h.log}
	copied.open().do("GET", "/api/v1/orders/"+order, "", "X-Visitor", buyer).want(200)
	list := h.staff("GET", "/api/v1/admin/audit?limit=1", "").want(200)
	if list.text("items.0.act") != "house.backup" || !strings.Contains(list.text("items.0.detail"), "sha-256") {
		t.Errorf("the audit does not tell who took it: %s", list.Body)
	}
	left(t, h.dir)
}

// left wants no copy to be left beside the database.
func left(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.backup-*"))
	if err != nil || len(names) > 0 {
		t.Errorf("left: %q (%v)", names, err)
	}
}

func TestBackupIsForAdminsAlone(t *testing.T) {
	h := newHouse(t)
	h.do("GET", backupPath, "").refused(401, "no_key")
	for _, role := range []string{"boxoffice", "door", "shop"} {
		h.do("GET", backupPath, "", "Authorization", "Bearer "+h.key(role)).refused(403, "wrong_role")
	}
	h.do("POST", backupPath, "", "Authorization", "Bearer "+adminKey).refused(405, "method_not_allowed")
}

func TestLinkOnAnotherSiteMakesNoBackup(t *testing.T) {
	h := newHouse(t)
	h.staff("GET", backupPath, "", "Sec-Fetch-Site", "cross-site").want(403)
	h.staff("GET", backupPath, "", "Sec-Fetch-Site", "same-origin").want(200)
}

func TestHeadOfABackupMakesNone(t *testing.T) {
	h := newHouse(t, func(c *Config) {
		c.Backup = func(context.Context) (*Backup, error) { t.Error("a copy was made"); return nil, errors.New("no") }
	})
	if a := h.staff("HEAD", backupPath, "").want(200); len(a.Body) > 0 {
		t.Errorf("a body of %d bytes", len(a.Body))
	}
}

// endless is a backup that never ends and notes when it is given up.
type endless struct{ closed chan struct{} }

func (e endless) Read(b []byte) (int, error) { return len(b), nil }
func (e endless) Close() error               { close(e.closed); return nil }

// served is a house behind a socket, with backups without an end.
func served(t *testing.T) (h *house, server *httptest.Server, closed chan struct{}) {
	closed = make(chan struct{})
	h = newHouse(t, func(c *Config) {
		c.Backup = func(context.Context) (*Backup, error) {
			return &Backup{ReadCloser: endless{closed}, Size: 1 << 40, At: time.Unix(0, 0)}, nil
		}
	})
	server = httptest.NewServer(h.server)
	t.Cleanup(server.Close)
	return h, server, closed
}

func within(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(10 * time.Second):
		t.Errorf("not within 10 s: %s", what)
	}
}

func TestB82ClientThatGoesGivesItsBackupUp(t *testing.T) {
	_, server, closed := served(t)
	ctx, cancel := context.WithCancel(t.Context())
	res := take(t, ctx, server)
	cancel()
	_ = res.Body.Close()
	within(t, "the copy is given up", closed)
}

func TestEndOfTheServerEndsADownloadVisibly(t *testing.T) {
	h, server, closed := served(t)
	res := take(t, t.Context(), server)
	defer res.Body.Close()
	h.server.EndStreams()
	within(t, "the copy is given up", closed)
	if _, err := io.Copy(io.Discard, res.Body); err == nil {
		t.Error("the torn download looks whole")
	}
}

func take(t *testing.T, ctx context.Context, server *httptest.Server) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, "GET", server.URL+backupPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminKey)
	res, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != 200 {
		t.Fatalf("got %s", res.Status)
	}
	return res
}

func TestEndOfTheServerBreaksOffTheCopy(t *testing.T) {
	started := make(chan struct{})
	h := newHouse(t, func(c *Config) {
		c.Backup = func(ctx context.Context) (*Backup, error) {
			close(started)
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
	})
	go func() {
		<-started
		h.server.EndStreams()
	}()
	h.staff("GET", backupPath, "").refused(503, "unavailable")
}

// deadlined is a client that notes the deadlines it is given and stops taking
// anything after so many bytes.
type deadlined struct {
	header   http.Header
	takes    int
	deadline atomic.Int64 // Unix nanoseconds; 0 is none
	late     bool
}

func (d *deadlined) Header() http.Header { return d.header }
func (d *deadlined) WriteHeader(int)     {}
func (d *deadlined) SetWriteDeadline(t time.Time) error {
	d.deadline.Store(0)
	if !t.IsZero() {
		d.deadline.Store(t.UnixNano())
	}
	return nil
}

// Write takes ten seconds for each call, as a slow line does, and in the end
// nothing until the deadline.
func (d *deadlined) Write(b []byte) (int, error) {
	if at := d.deadline.Load(); at != 0 && time.Now().UnixNano() > at {
		return 0, os.ErrDeadlineExceeded
	}
	if d.takes -= len(b); d.takes < 0 {
		at := d.deadline.Load()
		if at == 0 {
			return 0, errors.New("waits for ever")
		}
		time.Sleep(time.Until(time.Unix(0, at)))
		d.late = true
		return 0, os.ErrDeadlineExceeded
	}
	time.Sleep(10 * time.Second)
	return len(b), nil
}

// A download may take as long as it likes while it goes on; one that stands still
// is cut off after a minute.
func TestB82SlowDownloadGoesOnAndADeadOneIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		d := &deadlined{header: http.Header{}, takes: 40 * backupPiece}
		closed := make(chan struct{})
		h.server.conf.Backup = func(context.Context) (*Backup, error) {
			time.Sleep(5 * time.Minute) // a large file
			return &Backup{ReadCloser: endless{closed}, Size: 1 << 40}, nil
		}
		req := httptest.NewRequestWithContext(t.Context(), "GET", backupPath, nil)
		req.Header.Set("Authorization", "Bearer "+adminKey)
		began := time.Now()
		func() {
			defer func() {
				if v := recover(); v != http.ErrAbortHandler {
					t.Errorf("the answer was not cut off: %v", v)
				}
			}()
			h.server.ServeHTTP(d, req)
		}()
		if want := 5*time.Minute + 40*10*time.Second + time.Minute; !d.late || time.Since(began) != want {
			t.Errorf("it ended after %v, want %v", time.Since(began), want)
		}
		<-closed
	})
}

// The server's own deadline for answers must not cut off a refusal that comes late.
func TestRefusalAfterALongCopyArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.server.conf.Backup = func(context.Context) (*Backup, error) {
			time.Sleep(5 * time.Minute)
			return nil, &sale.Refusal{Code: "no_space", Detail: "The disk is full."}
		}
		d := &deadlined{header: http.Header{}, takes: 1000}
		_ = d.SetWriteDeadline(time.Now().Add(30 * time.Second))
		req := httptest.NewRequestWithContext(t.Context(), "GET", backupPath, nil)
		req.Header.Set("Authorization", "Bearer "+adminKey)
		h.server.ServeHTTP(d, req)
		if d.takes == 1000 {
			t.Error("nothing arrived")
		}
	})
}

func TestBackupThatIsShorterThanItSaidIsCut(t *testing.T) {
	h := newHouse(t, func(c *Config) {
		c.Backup = func(context.Context) (*Backup, error) {
			return &Backup{ReadCloser: io.NopCloser(bytes.NewReader(make([]byte, 100_000))), Size: 1_000_000}, nil
		}
	})
	server := httptest.NewServer(h.server)
	defer server.Close()
	res := take(t, t.Context(), server)
	defer res.Body.Close()
	if n, err := io.Copy(io.Discard, res.Body); err == nil {
		t.Errorf("%d bytes look whole", n)
	}
}

// When nothing can be written any more a backup may be the last that can be had.
func TestBackupIsGivenWhenTheAuditCannotBeWritten(t *testing.T) {
	h := newHouse(t)
	b, err := h.store.Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	h.server.conf.Backup = func(context.Context) (*Backup, error) {
		return &Backup{ReadCloser: io.NopCloser(b), Size: b.Size, Digest: b.Digest, At: b.At}, nil
	}
	broken := sale.New(sale.Config{Store: unwritable{h.store}, Secret: h.store.Secret()})
	h.server.office = broken
	if a := h.staff("GET", backupPath, "").want(200); int64(len(a.Body)) != b.Size {
		t.Errorf("%d bytes of %d", len(a.Body), b.Size)
	}
	if !strings.Contains(h.log.String(), "a backup is not in the audit") {
		t.Error("the log does not tell")
	}
}

type unwritable struct{ sale.Store }

func (unwritable) Update(func(sale.Tx) error) error { return sale.ErrUnavailable }
