package web

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"foyer/sale"
)

// Backup is a finished copy of the whole database. Close gives it up.
type Backup struct {
	io.ReadCloser
	Size   int64     // bytes
	Digest [32]byte  // SHA-256
	At     time.Time // the moment that it shows
}

const (
	backupPiece    = 64 << 10    // what a client must take
	backupPatience = time.Minute // within this, or it is cut off
)

var errNoBackups = &sale.Refusal{Code: "no_such_route", Detail: "This Foyer makes no backups over HTTP."}

// sendBackup sends the database as it is at one moment. It is copied first: a
// slow client holds up the next backup and nothing else. A HEAD makes no copy.
func (s *Server) sendBackup(c echo.Context, by *sale.Key) error {
	h := c.Response().Header()
	if s.conf.Backup == nil {
		return errNoBackups
	}
	if c.Request().Method == http.MethodHead {
		h[headerContentType] = octets
		return c.NoContent(http.StatusOK)
	}
	if c.Request().Header.Get("Sec-Fetch-Site") == "cross-site" { // a link on another site must not take the one slot
		return errCrossSite
	}
	rc := http.NewResponseController(c.Response())
	_ = rc.SetWriteDeadline(time.Time{}) // the copy of a large file takes longer than other answers may
	b, err := s.makeBackup(c.Request().Context())
	if err != nil {
		return err
	}
	defer func() {
		if err := b.Close(); err != nil {
			s.log.Warn("a backup's file cannot be removed; the next start does it", "error", err.Error())
		}
	}()
	if err := s.office.NoteBackup(actor(by), fmt.Sprintf("%d bytes, sha-256 %x", b.Size, b.Digest)); err != nil {
		s.log.Warn("a backup is not in the audit", "by", actor(by), "error", err.Error()) // it may be the last that can be had
	}
	h[headerContentType] = octets
	h[headerCacheControl] = []string{"no-store, no-transform"}
	h.Set(echo.HeaderContentLength, strconv.FormatInt(b.Size, 10))
	h.Set(echo.HeaderContentDisposition, `attachment; filename="foyer-`+b.At.UTC().Format("2006-01-02T15-04-05Z")+`.db"`)
	h.Set("Repr-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(b.Digest[:])+":") // RFC 9530
	c.Response().WriteHeader(http.StatusOK)
	sent, err := s.pour(c, rc, b)
	if err == nil && sent != b.Size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		s.log.Warn("a backup was broken off", "id", requestID(c), "sent", sent, "of", b.Size, "error", err.Error())
		panic(http.ErrAbortHandler) // a torn answer must not look whole
	}
	return nil
}

var octets = []string{echo.MIMEOctetStream}

var errServerEnds = &sale.Refusal{Code: "unavailable", Detail: "Foyer is stopping. Make the backup when it is back, or with foyer backup --data.", RetryAfter: 5 * time.Second}

// makeBackup makes the copy unless the client goes or the server ends.
func (s *Server) makeBackup(ctx context.Context) (*Backup, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-s.done:
			cancel(errServerEnds)
		case <-ctx.Done():
		}
	}()
	return s.conf.Backup(ctx)
}

// pour sends b, with a deadline that moves on as the client takes what is sent.
// The end of the server ends it, also while the client takes nothing.
func (s *Server) pour(c echo.Context, rc *http.ResponseController, b io.Reader) (sent int64, err error) {
	over, watched := make(chan struct{}), make(chan struct{})
	defer func() { close(over); <-watched }()
	go func() {
		defer close(watched)
		select {
		case <-s.done:
			_ = rc.SetWriteDeadline(time.Now())
		case <-over:
		}
	}()
	piece := make([]byte, backupPiece)
	for {
		n, readErr := b.Read(piece)
		// First the deadline, then the look at the end: the other way round the
		// deadline of the end could be overwritten.
		if err := rc.SetWriteDeadline(time.Now().Add(backupPatience)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return sent, err
		}
		select {
		case <-s.done:
			return sent, errServerEnds
		default:
		}
		m, err := c.Response().Write(piece[:n])
		sent += int64(m)
		switch {
		case err != nil:
			return sent, err
		case errors.Is(readErr, io.EOF):
			return sent, nil
		case readErr != nil:
			return sent, readErr
		}
	}
}
