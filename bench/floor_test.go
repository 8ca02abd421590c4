//go:build linux

package bench

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	bolt "go.etcd.io/bbolt"
)

// floorBody is about as long as the answer to a poll.
const floorBody = `{"status":"WAITING","queueId":"0b6f1c52-7d1e-8c3a-9b42-5d7e90a1b2c3","number":4812,"rank":311,` +
	`"estimatedWaitSeconds":62,"pollAfterMillis":3270,"serverTime":"2027-03-01T19:00:00.000Z","note":"floor"}`

// serveFloor is the floor over HTTP: echo on net/http, one handler that answers
// what it has ready.
func serveFloor() error {
	body := []byte(floorBody)
	e := echo.New()
	e.GET("/floor", func(c echo.Context) error { return c.JSONBlob(http.StatusOK, body) })
	e.GET("/bare", func(c echo.Context) error { return c.NoContent(http.StatusNoContent) })
	e.POST("/hook", func(c echo.Context) error { // a receiver that takes everything
		_, _ = io.Copy(io.Discard, c.Request().Body)
		return c.NoContent(http.StatusNoContent)
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "floor listens on http://%s\n", l.Addr())
	server := &http.Server{Handler: e}
	if os.Getenv(floorEnv) == floorGuarded { // as foyer serve
		server.ReadHeaderTimeout, server.ReadTimeout, server.WriteTimeout, server.IdleTimeout = 5*time.Second, 15*time.Second, 30*time.Second, 75*time.Second
	}
	return server.Serve(l)
}

// floorTraffic asks the floor.
func floorTraffic() traffic {
	request := []byte("GET /floor HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	return traffic{want: http.StatusOK, next: func(b []byte) ([]byte, int, bool) { return append(b, request...), 0, true }}
}

// boltFloor is the floor of a commit: a group commit that puts 24 bytes under
// the next number for each caller, and decides nothing.
type boltFloor struct {
	db   *bolt.DB
	mu   sync.Mutex
	next *boltGroup
	wake chan struct{}
	seq  uint64
}

type boltGroup struct {
	puts int
	done chan struct{}
	err  error
}

var floorBucket = []byte("floor")

func openBoltFloor(b testing.TB) *boltFloor {
	db, err := bolt.Open(b.TempDir()+"/floor.db", 0o600, &bolt.Options{ // as the store's
		FreelistType: bolt.FreelistMapType, NoFreelistSync: true, InitialMmapSize: 4 << 30,
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := db.Update(func(tx *bolt.Tx) error { _, err := tx.CreateBucket(floorBucket); return err }); err != nil {
		b.Fatal(err)
	}
	f := &boltFloor{db: db, next: &boltGroup{done: make(chan struct{})}, wake: make(chan struct{}, 1)}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		f.write()
	}()
	b.Cleanup(func() {
		close(f.wake)
		<-stopped
		_ = db.Close()
	})
	return f
}

// put returns when the caller's 24 bytes are on disk.
func (f *boltFloor) put() error {
	f.mu.Lock()
	g := f.next
	g.puts++
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
	<-g.done
	return g.err
}

func (f *boltFloor) write() {
	for range f.wake {
		f.mu.Lock()
		g := f.next
		f.next = &boltGroup{done: make(chan struct{})}
		f.mu.Unlock()
		if g.puts > 0 {
			g.err = f.db.Update(func(tx *bolt.Tx) error { return f.fill(tx, g.puts) })
		}
		close(g.done)
	}
}

func (f *boltFloor) fill(tx *bolt.Tx, puts int) error {
	b := tx.Bucket(floorBucket)
	b.FillPercent = 0.95
	for range puts {
		f.seq++
		if err := b.Put(binary.BigEndian.AppendUint64(nil, f.seq), make([]byte, 24)); err != nil {
			return err
		}
	}
	return nil
}
