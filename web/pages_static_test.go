package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"foyer/static"
)

func TestStaticFiles(t *testing.T) {
	h := newHouse(t)
	for _, c := range []struct {
		path   string
		status int
		cache  string
	}{
		{assetPath("wait.js"), 200, forAYear[0]},
		{assetPath("base.css"), 200, forAYear[0]},
		{"/static/wait.js", 200, revalidate[0]},
		{"/favicon.svg", 200, revalidate[0]},
		{"/robots.txt", 200, revalidate[0]},
		{"/static/wait.0000000000.js", 404, ""},
		{"/static/", 404, ""},
		{"/static", 404, ""},
		{"/static/pages/wait.html", 404, ""},
		{"/static/static.go", 404, ""},
		{"/static/..%2fgo.mod", 404, ""},
		{"/static/%2e%2e/wait.js", 404, ""},
		{"/static/..%5cwait.js", 404, ""},
		{"/static//wait.js", 404, ""},
		{"/static/wait%2ejs", 404, ""},
		{"/static/.js", 404, ""},
		{"/static/./wait.js", 404, ""},
	} {
		a := h.do("GET", c.path, "").want(c.status)
		if c.cache != "" && a.Header.Get("Cache-Control") != c.cache {
			t.Errorf("%s: Cache-Control %q, want %q", c.path, a.Header.Get("Cache-Control"), c.cache)
		}
		if c.status == 404 && strings.Contains(a.Header.Get("Cache-Control"), "public") {
			t.Errorf("%s: a missing file may be cached", c.path)
		}
	}
	path := assetPath("wait.js")
	plain := h.do("GET", path, "")
	packed := h.do("GET", path, "", "Accept-Encoding", "br, gzip;q=0.8").want(200)
	if packed.Header.Get("Content-Encoding") != "gzip" || packed.Header.Get("Vary") != "Accept-Encoding" || plain.Header.Get("Vary") != "Accept-Encoding" {
		t.Fatalf("headers of the packed file: %v", packed.Header)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed.Body))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(z); !bytes.Equal(got, plain.Body) {
		t.Error("the packed file is another")
	}
	if packed.Header.Get("Etag") == plain.Header.Get("Etag") {
		t.Error("two representations have one strong ETag")
	}
	if a := h.do("GET", path, "", "Accept-Encoding", "gzip;q=0"); a.Header.Get("Content-Encoding") != "" {
		t.Error("gzip is sent to one who refuses it")
	}
	h.do("GET", path, "", "If-None-Match", `"x", W/`+plain.Header.Get("Etag")).want(304)
	if a := h.do("HEAD", path, "").want(200); a.Header.Get("Etag") != plain.Header.Get("Etag") {
		t.Error("HEAD differs from GET")
	}
}

// The scripts import each other by their plain names, so all of them must exist;
// what people typed gets into the page as text only.
func TestScriptsKeepToThePolicyAndImportWhatIsThere(t *testing.T) {
	imports, hosts := regexp.MustCompile(`from '\./([a-z]+\.js)'`), regexp.MustCompile(`://([^/']*)`)
	files, err := static.Files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := static.Files.ReadFile(f.Name())
		if f.IsDir() || err != nil {
			continue
		}
		for _, host := range hosts.FindAllSubmatch(data, -1) {
			if !slices.Contains([]string{"www.w3.org", "challenges.cloudflare.com", "js.hcaptcha.com"}, string(host[1])) { // a name space, and the widgets that an event may ask for
				t.Errorf("%s names another host: %s", f.Name(), host[1])
			}
		}
		for _, word := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "'style'"} {
			if bytes.Contains(data, []byte(word)) {
				t.Errorf("%s uses %s", f.Name(), word)
			}
		}
		for _, m := range imports.FindAllSubmatch(data, -1) {
			if assets[string(m[1])] == nil {
				t.Errorf("%s imports %s, which is not served", f.Name(), m[1])
			}
		}
	}
}
