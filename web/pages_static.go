package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/labstack/echo/v4"

	"foyer/static"
)

// asset is one served file with everything worked out at start.
type asset struct {
	name   string // "wait.js"
	hash   string // of the content, names the version
	kind   string // Content-Type
	plain  []byte
	packed []byte // gzip, nil when it does not pay
}

// assets are the served files by name.
var assets = readAssets()

func readAssets() map[string]*asset {
	kinds := map[string]string{
		".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
	}
	m := map[string]*asset{}
	files, err := fs.ReadDir(static.Files, ".")
	if err != nil {
		panic(err) // the files are part of the program
	}
	for _, f := range files {
		kind, served := kinds[path.Ext(f.Name())]
		if f.IsDir() || !served {
			continue
		}
		data, err := static.Files.ReadFile(f.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(data)
		a := &asset{name: f.Name(), hash: hex.EncodeToString(sum[:5]), kind: kind, plain: data}
		if z := pack(data); len(z) < len(data)*9/10 {
			a.packed = z
		}
		m[a.name] = a
	}
	return m
}

func pack(data []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is right
	_, _ = z.Write(data)                                  // a Buffer takes everything
	_ = z.Close()
	return b.Bytes()
}

// assetPath is the address of a file that changes whenever the file does.
func assetPath(name string) string {
	a, ok := assets[name]
	if !ok {
		panic("web: no static file " + name)
	}
	ext := path.Ext(name)
	return "/static/" + strings.TrimSuffix(name, ext) + "." + a.hash + ext
}

const (
	cacheYear  = "public, max-age=31536000, immutable"
	cacheShort = "public, no-cache"
)

// serveAsset answers /static/NAME.HASH.EXT for a year and /static/NAME.EXT as
// long as the browser asks whether it is still so. Whatever is not exactly one of these names is not there.
func (s *Server) serveAsset(c echo.Context) error {
	r := c.Request()
	name, ok := strings.CutPrefix(r.URL.EscapedPath(), "/static/")
	if !ok {
		return errNoPage
	}
	if a, ok := assets[name]; ok {
		return a.serve(c, cacheShort)
	}
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	dot := strings.LastIndexByte(stem, '.')
	if dot < 0 {
		return errNoPage
	}
	a, ok := assets[stem[:dot]+ext]
	if !ok || a.hash != stem[dot+1:] {
		// A page of another version asks for its own file, which is gone: the
		// present one would be cached under the wrong name for a year.
		return errNoPage
	}
	return a.serve(c, cacheYear)
}

// serveFile answers one file at a fixed address.
func (s *Server) serveFile(name string) echo.HandlerFunc {
	a := assets[name]
	if a == nil {
		panic("web: no static file " + name)
	}
	return func(c echo.Context) error { return a.serve(c, cacheShort) }
}

func (a *asset) serve(c echo.Context, cache string) error {
	return sendBytes(c, http.StatusOK, a.kind, cache, a.hash, a.plain, a.packed)
}

// sendBytes answers with bytes that are ready, packed when the client takes
// gzip, or with 304 when it has them. tag names the content.
func sendBytes(c echo.Context, status int, kind, cache, tag string, plain, packed []byte) error {
	h := c.Response().Header()
	h.Set("Cache-Control", cache)
	h.Set("X-Content-Type-Options", "nosniff")
	body := plain
	if packed != nil {
		h.Add("Vary", "Accept-Encoding")
		if takesGzip(c.Request()) {
			body, tag = packed, tag+"-gz"
			h.Set("Content-Encoding", "gzip")
		}
	}
	etag := `"` + tag + `"`
	h.Set("Etag", etag)
	if matches(c.Request().Header["If-None-Match"], etag) {
		h.Del("Content-Encoding")
		return c.NoContent(http.StatusNotModified)
	}
	return c.Blob(status, kind, body)
}

func takesGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, q, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			q = strings.ReplaceAll(q, " ", "")
			return q != "q=0" && !strings.HasPrefix(q, "q=0.0")
		}
	}
	return false
}
