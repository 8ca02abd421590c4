package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"
)

// document is bytes that are the same for everybody, with the headers that go
// with them worked out once: a file, a plan, a waiting page, a picture of a house.
type document struct {
	kind   []string
	plain  coding
	packed coding // gzip; empty when it does not pay
}

// coding is one way to send a document. Each has an ETag of its own: a strong
// ETag names bytes (RFC 9110, 8.8.1), and caches choose by it.
type coding struct {
	body         []byte
	length, etag []string
}

var (
	forAYear   = []string{"public, max-age=31536000, immutable"}
	revalidate = []string{"public, no-cache"}
	inGzip     = []string{"gzip"}
	byEncoding = []string{"Accept-Encoding"}
)

// newDocument makes a document of bytes that tag names, plain and in gzip (nil
// for none).
func newDocument(kind, tag string, plain, packed []byte) *document {
	d := &document{kind: []string{kind}, plain: codingOf(plain, tag)}
	if packed != nil && len(packed) < len(plain)*9/10 {
		d.packed = codingOf(packed, tag+"-gz")
	}
	return d
}

func codingOf(body []byte, tag string) coding {
	return coding{body, []string{strconv.Itoa(len(body))}, []string{`"` + tag + `"`}}
}

// hashOf names content in 16 hex digits.
func hashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

// send answers with the document, packed when the client takes gzip, or with
// 304 when it has exactly this coding.
func (d *document) send(c echo.Context, caching []string) error {
	w, r := c.Response(), c.Request()
	h := w.Header()
	h[headerCacheControl] = caching
	out, packed := &d.plain, false
	if d.packed.body != nil {
		h[echo.HeaderVary] = byEncoding
		if packed = takesGzip(r); packed {
			out = &d.packed
		}
	}
	h["Etag"] = out.etag
	if has := r.Header["If-None-Match"]; len(has) > 0 && matches(has, out.etag[0]) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if packed {
		h[echo.HeaderContentEncoding] = inGzip
	}
	h[headerContentType] = d.kind
	h[echo.HeaderContentLength] = out.length
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(out.body) // an error here: the client is gone
	return nil
}

// pack compresses well what is kept for long.
func pack(data []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is right
	_, _ = z.Write(data)                                  // a Buffer takes everything
	_ = z.Close()
	return b.Bytes()
}

var squeezers = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is right
	return z
}}

// squeeze compresses quickly what is soon old; a list of two thousand seats shrinks
// to a twentieth.
func squeeze(body []byte) []byte {
	var b bytes.Buffer
	z := squeezers.Get().(*gzip.Writer)
	defer squeezers.Put(z)
	z.Reset(&b)
	_, _ = z.Write(body) // a Buffer takes everything
	_ = z.Close()
	return b.Bytes()
}

// matches is the weak comparison of If-None-Match (RFC 9110, 13.1.2).
func matches(values []string, etag string) bool {
	for _, v := range values {
		for tag := range strings.SplitSeq(v, ",") {
			tag = strings.TrimSpace(tag)
			if tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
				return true
			}
		}
	}
	return false
}

func takesGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, q, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			q = strings.ToLower(strings.ReplaceAll(q, " ", ""))
			return q != "q=0" && !strings.HasPrefix(q, "q=0.0")
		}
	}
	return false
}
