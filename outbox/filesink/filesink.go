// Package filesink appends messages to a file, one JSON document a line (NDJSON).
//
// Its job: the sink "file:/path/messages.ndjson", for a venue that feeds another program or keeps a record. A line is the
// message's document, the same bytes that a webhook posts.
//
// Its invariants: what is reported as delivered is on disk (fsync; one serves all that wait for it); lines of parallel
// lanes do not mix; a line that a full disk or a power cut tore is closed before the next one, so that it spoils only
// itself. The file may be moved or removed at any time: the next message starts a new one at its place. It is made with
// mode 0600, since it holds names and addresses of buyers.
//
// What it does not do: it does not rotate and it removes nothing; it drops no repeats, a message may stand there twice
// with the same id; file calls do not end with the context, so a hanging network disk hangs the attempt.
package filesink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"foyer/outbox"
)

// Sink appends to one file. It is an [outbox.Sink].
type Sink struct {
	url, path string
	bad       error // the address cannot be used

	writing sync.Mutex // guards open and the order of writes
	open    *segment   // nil: to be opened
	wrap    func(*os.File) file
}

// file is what a segment needs of an *os.File.
type file interface {
	io.WriteCloser
	Sync() error
	Truncate(size int64) error
	Stat() (fs.FileInfo, error)
}

// segment is a file as long as it stands at the path, or until it failed.
type segment struct {
	f       file
	written atomic.Uint64 // lines of ours

	syncing sync.Mutex // guards what follows; may be taken under Sink.writing, not the other way
	synced  uint64     // lines that are on disk
	failed  error      // an fsync failed: what it was to save may be lost, whatever a later one says
}

// Path tells the file of "file:/path/to/messages.ndjson"; the path is absolute. Its error does not repeat the address.
func Path(rawURL string) (string, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "file" || u.Host != "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		!filepath.IsAbs(u.Path) || u.Path[len(u.Path)-1] == '/' {
		return "", errors.New("filesink: the address must be the absolute path of a file such as file:/var/log/foyer/messages.ndjson")
	}
	return filepath.Clean(u.Path), nil
}

// New returns a sink that opens its file with the first message. An address that does not pass [Path] makes a sink whose
// deliveries all fail.
func New(rawURL string) *Sink {
	path, err := Path(rawURL)
	return &Sink{url: rawURL, path: path, bad: err, wrap: func(f *os.File) file { return f }}
}

// String returns the address, which has no secrets.
func (s *Sink) String() string { return outbox.Mask(s.url) }

// Deliver appends the message and returns nil once it is on disk.
func (s *Sink) Deliver(ctx context.Context, m outbox.Message) error {
	if s.bad != nil {
		return &outbox.Failure{Reason: s.bad.Error()}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	line, err := lineOf(m.Body)
	if err != nil {
		return &outbox.Failure{Reason: "the message's body is no JSON document"}
	}
	seg, n, err := s.append(line)
	if err == nil {
		err = seg.sync(n)
	}
	if err != nil {
		s.drop(seg)
		return &outbox.Failure{Reason: outbox.Clip("the file cannot be written: " + err.Error())}
	}
	return nil
}

// lineOf makes one line of a document. Stored ones are one line already; one that is not is made compact.
func lineOf(body []byte) ([]byte, error) {
	if len(body) > 0 && !bytes.ContainsAny(body, "\n\r") {
		return append(body[:len(body):len(body)], '\n'), nil
	}
	var b bytes.Buffer
	if err := json.Compact(&b, body); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// append writes a line and returns where, and how many lines that file then has of us.
func (s *Sink) append(line []byte) (*segment, uint64, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.ready(); err != nil {
		return nil, 0, err
	}
	seg := s.open
	before, err := seg.f.Stat()
	if err != nil {
		return seg, 0, err
	}
	if n, err := seg.f.Write(line); err != nil {
		if n > 0 {
			_ = seg.f.Truncate(before.Size()) // a torn line that stays is closed when the file is opened again
		}
		return seg, 0, err
	}
	return seg, seg.written.Add(1), nil
}

// ready sees to it that the file at the path is open. The caller holds s.writing.
func (s *Sink) ready() error {
	if s.open != nil {
		there, err := os.Stat(s.path)
		ours, errOurs := s.open.f.Stat()
		if err == nil && errOurs == nil && os.SameFile(there, ours) {
			return nil
		}
		s.leave(s.open)
	}
	there, err := os.Stat(s.path) // a pipe would hang in the open
	if err == nil && !there.Mode().IsRegular() {
		return errors.New(s.path + " is no plain file")
	}
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := begin(f, s.path); err != nil {
		_ = f.Close()
		return err
	}
	s.open = &segment{f: s.wrap(f)}
	return nil
}

// begin makes a file fit for appending: its name is on disk, and its last line is closed.
func begin(f *os.File, path string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if size := info.Size(); size > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			_, err = f.Write([]byte{'\n'})
		}
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// sync returns once n lines are on disk; whoever waited for another's fsync finds its line saved by it.
func (g *segment) sync(n uint64) error {
	g.syncing.Lock()
	defer g.syncing.Unlock()
	if g.synced >= n {
		return nil
	}
	if g.failed != nil {
		return g.failed
	}
	written := g.written.Load()
	if g.failed = g.f.Sync(); g.failed != nil {
		return g.failed
	}
	g.synced = written
	return nil
}

// drop leaves a file that failed, so that the next message opens it anew.
func (s *Sink) drop(g *segment) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if g != nil && s.open == g {
		s.leave(g)
	}
}

// leave saves what others have written and closes the file. The caller holds s.writing.
func (s *Sink) leave(g *segment) {
	s.open = nil
	_ = g.sync(g.written.Load()) // who wrote is told by its own sync
	_ = g.f.Close()
}

// Close closes the file. A message that comes later opens it again.
func (s *Sink) Close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.open != nil {
		s.leave(s.open)
	}
	return nil
}
