package web

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
	"regexp"
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

// assetKinds are the types of the files that are served.
var assetKinds = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
}

func readAssets() map[string]*asset {
	m := map[string]*asset{}
	files, err := fs.ReadDir(static.Files, ".")
	if err != nil {
		panic(err) // the files are part of the program
	}
	for _, f := range files {
		if _, served := assetKinds[path.Ext(f.Name())]; served && !f.IsDir() {
			readAsset(m, f.Name())
		}
	}
	return m
}

// imported is where a script imports another one of ours.
var imported = regexp.MustCompile(`'(?:\./|/static/)([a-z]+\.js)'`)

// readAsset reads a file, and before it those that it imports: it is served with
// their addresses, which are the only ones that a proxy in front of a shop lets through.
func readAsset(m map[string]*asset, name string) *asset {
	if a := m[name]; a != nil {
		return a
	}
	data, err := static.Files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	data = imported.ReplaceAllFunc(data, func(quoted []byte) []byte {
		other := string(imported.FindSubmatch(quoted)[1])
		return []byte("'" + readAsset(m, other).address() + "'")
	})
	sum := sha256.Sum256(data)
	a := &asset{name: name, hash: hex.EncodeToString(sum[:5])}
	a.document = newDocument(assetKinds[path.Ext(name)], a.hash, data, pack(data))
	m[name] = a
	return a
}

// address is where the file is served; it changes whenever the file does.
func (a *asset) address() string {
	ext := path.Ext(a.name)
	return "/static/" + strings.TrimSuffix(a.name, ext) + "." + a.hash + ext
}

// assetPath is the address of a file of this name.
func assetPath(name string) string {
	a, ok := assets[name]
	if !ok {
		panic("web: no static file " + name)
	}
	return a.address()
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
