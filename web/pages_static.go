package web

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
	"strings"

	"github.com/labstack/echo/v4"

	"foyer/static"
)

// asset is one served file with everything worked out at start.
type asset struct {
	name string // "wait.js"
	hash string // of the content, names the version
	*document
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
		a := &asset{name: f.Name(), hash: hex.EncodeToString(sum[:5])}
		a.document = newDocument(kind, a.hash, data, pack(data))
		m[a.name] = a
	}
	return m
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

// serveAsset answers /static/NAME.HASH.EXT for a year and /static/NAME.EXT as
// long as the browser asks whether it is still so. Whatever is not exactly one of these names is not there.
func (s *Server) serveAsset(c echo.Context) error {
	r := c.Request()
	name, ok := strings.CutPrefix(r.URL.EscapedPath(), "/static/")
	if !ok {
		return errNoPage
	}
	if a, ok := assets[name]; ok {
		return a.send(c, revalidate)
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
	return a.send(c, forAYear)
}

// serveFile answers one file at a fixed address.
func (s *Server) serveFile(name string) echo.HandlerFunc {
	a := assets[name]
	if a == nil {
		panic("web: no static file " + name)
	}
	return func(c echo.Context) error { return a.send(c, revalidate) }
}
