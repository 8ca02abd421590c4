package web

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// meddler is the body of a form that comes slowly: while it is read, somebody
// else writes.
type meddler struct {
	h    *house
	body io.Reader
	ok   bool // the other write came through
}

func (m *meddler) Read(p []byte) (int, error) {
	wrote := make(chan error, 1)
	go func() {
		_, err := m.h.office.Announce("test", "gala", "hello")
		wrote <- err
	}()
	select {
	case err := <-wrote:
		m.ok = err == nil
	case <-time.After(5 * time.Second):
		m.ok = false
	}
	return m.body.Read(p)
}

func TestSlowBodiesKeepNobodyFromWriting(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	for _, c := range []struct{ method, path, kind, body string }{
		{"POST", "/admin/events/gala/pace", "application/x-www-form-urlencoded", "admitPerSecond=7&maxActive=8"},
		{"POST", "/admin/events/gala/prices", "application/x-www-form-urlencoded", "prices=Stalls+%3D+42.50"},
		{"POST", "/admin/events/gala/say", "application/x-www-form-urlencoded", "do=announce&message=x"},
		{"PATCH", "/api/v1/admin/events/gala", "application/json", `{"name":"Gala"}`},
		{"PATCH", "/api/v1/admin/events/gala/pace", "application/json", `{"maxActive":9}`},
		{"PUT", "/api/v1/admin/events/gala/plan", "application/json", smallPlan},
	} {
		m := &meddler{h: h, body: strings.NewReader(c.body)}
		r := httptest.NewRequest(c.method, c.path, m)
		r.Header.Set("Content-Type", c.kind)
		r.Header.Set("Authorization", "Bearer "+adminKey)
		if a := h.send(r); a.Status >= 400 || !m.ok {
			t.Errorf("%s: got %d, another write came through: %v", a.what, a.Status, m.ok)
		}
	}
}

func TestFormsAreBounded(t *testing.T) {
	h := newHouse(t)
	h.event("gala")
	b := h.browser()
	b.turn("gala")
	multi := func(size int) (kind string, body *bytes.Buffer) {
		body = &bytes.Buffer{}
		m := multipart.NewWriter(body)
		_ = m.WriteField("place", strings.Repeat("x", size)) // a Buffer takes everything
		_ = m.Close()
		return m.FormDataContentType(), body
	}
	kind, body := multi(1 << 20)
	b.send("POST", "/events/gala/leave", kind, body).want(413).says("larger than", `href="/events/gala"`)
	kind, body = multi(10)
	b.send("POST", "/events/gala/leave", kind, body).want(415).says("x-www-form-urlencoded")
	b.post("/admin/login", "key", adminKey).want(303)
	const form = "application/x-www-form-urlencoded"
	for _, path := range []string{"/events/gala/leave", "/events/gala/line", "/events/gala/hold", "/orders/x/pay", "/admin/login", "/admin/events", "/admin/events/gala/say", "/nothing"} {
		kind, body := multi(1 << 20)
		b.send("POST", path, kind, body).want(413)
		read := &counter{r: strings.NewReader("place=" + strings.Repeat("x", 1<<20))} // of a length that is not told
		b.send("POST", path, form, read).want(413)
		if read.n > 2*maxBody {
			t.Errorf("%s: read %d bytes", path, read.n)
		}
	}
	b.post("/events/gala/leave", "place", "%zz").want(404)
	b.send("POST", "/events/gala/leave", form, strings.NewReader("place=%zz")).want(400)
	b.get("/events/gala/line").says("It is your turn")
	if a := b.upload("gala", "file", strings.Repeat("x", 2*maxBody)); a.Status != 422 {
		t.Errorf("a plan of %d bytes: got %d", 2*maxBody, a.Status)
	}
}

// counter counts what is read.
type counter struct {
	r io.Reader
	n int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}
