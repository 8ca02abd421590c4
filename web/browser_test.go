package web

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// browser is a person's browser without scripts: it keeps cookies, says that it
// wants pages, and looks at every page it gets.
type browser struct {
	h        *house
	jar      map[string]string
	language string // "" asks for none
}

func (h *house) browser() *browser { return &browser{h: h, jar: map[string]string{}} }

func (b *browser) send(method, path, kind string, body io.Reader) *answer {
	b.h.t.Helper()
	req := httptest.NewRequest(method, path, body)
	req.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	if method == http.MethodPost {
		req.Header.Set("Content-Type", kind)
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if b.language != "" {
		req.Header.Set("Accept-Language", b.language)
	}
	for name, value := range b.jar {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	a := b.h.send(req)
	for _, c := range (&http.Response{Header: a.Header}).Cookies() {
		if c.MaxAge < 0 {
			delete(b.jar, c.Name)
			continue
		}
		b.jar[c.Name] = c.Value
	}
	if strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
		checkPage(b.h.t, a)
	}
	return a
}

func (b *browser) get(path string) *answer {
	b.h.t.Helper()
	return b.send(http.MethodGet, path, "", nil)
}

// post sends a form; fields come in pairs.
func (b *browser) post(path string, fields ...string) *answer {
	b.h.t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	send := func(path string) *answer {
		return b.send(http.MethodPost, path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
	}
	a := send(path)
	if a.Status == http.StatusTemporaryRedirect { // as browsers do, once with what they keep
		a = send(a.Header.Get("Location"))
	}
	return a
}

// follow checks for a 303 and goes where it says.
func (b *browser) follow(a *answer) *answer {
	b.h.t.Helper()
	a.want(http.StatusSeeOther)
	return b.get(a.Header.Get("Location")).want(http.StatusOK)
}

// turn joins the line of an event and expects the turn at once.
func (b *browser) turn(event string) {
	b.h.t.Helper()
	b.follow(b.post("/events/" + event + "/line")).says("It is your turn")
}

func (a *answer) says(words ...string) *answer {
	a.t.Helper()
	for _, w := range words {
		if !bytes.Contains(a.Body, []byte(w)) {
			a.t.Errorf("%s: %q is not on the page:\n%s", a.what, w, a.Body)
		}
	}
	return a
}

func (a *answer) silent(words ...string) *answer {
	a.t.Helper()
	for _, w := range words {
		if bytes.Contains(a.Body, []byte(w)) {
			a.t.Errorf("%s: %q is on the page:\n%s", a.what, w, a.Body)
		}
	}
	return a
}

var (
	tags      = regexp.MustCompile(`<[a-zA-Z][^>]*>`)
	scripts   = regexp.MustCompile(`<script[^>]*>[^<]*`)
	ownScript = regexp.MustCompile(`^<script( type="module")? src="/static/[a-z]+\.[0-9a-f]{10}\.js"( defer)?>$`)
	values    = regexp.MustCompile(`"[^"]*"`)
	badTag    = regexp.MustCompile(`(?i)^<(style|iframe|object|base)|\sstyle\s*=|\son[a-z]+\s*=`)
	badLink   = regexp.MustCompile(`(?i)="\s*(javascript|data):`)
)

// checkPage holds a page to what all pages promise: nothing inline, one h1, a
// language, a title, a strict policy, and no cookie on what may be cached.
func checkPage(t testing.TB, a *answer) {
	t.Helper()
	for _, s := range scripts.FindAll(a.Body, -1) {
		if !ownScript.Match(s) {
			t.Errorf("%s: inline or foreign script %q", a.what, s)
		}
	}
	for _, tag := range tags.FindAll(a.Body, -1) {
		if badTag.Match(values.ReplaceAll(tag, nil)) || badLink.Match(tag) {
			t.Errorf("%s: inline style or script in %q", a.what, tag)
		}
	}
	if n := bytes.Count(a.Body, []byte("<h1")); n != 1 {
		t.Errorf("%s: %d h1", a.what, n)
	}
	for _, w := range []string{`<html lang="en">`, "<title>", `name="viewport"`, "<main"} {
		if !bytes.Contains(a.Body, []byte(w)) {
			t.Errorf("%s: no %s", a.what, w)
		}
	}
	if csp := a.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; script-src 'self'; style-src 'self';") || strings.Contains(csp, "unsafe") {
		t.Errorf("%s: policy %q", a.what, csp)
	}
	cache := a.Header.Get("Cache-Control")
	if cache != "no-store" && cache != "public, max-age=10" || cache != "no-store" && a.Header.Get("Set-Cookie") != "" {
		t.Errorf("%s: Cache-Control %q, Set-Cookie %q", a.what, cache, a.Header.Get("Set-Cookie"))
	}
	if bytes.Contains(a.Body, []byte("ZgotmplZ")) || bytes.Contains(a.Body, []byte("%!")) {
		t.Errorf("%s: a template filter or format gave up: %s", a.what, a.Body)
	}
}

// upload sends a plan as the staff page does.
func (b *browser) upload(event, field, doc string) *answer {
	b.h.t.Helper()
	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	if field == "file" {
		w, _ := m.CreateFormFile("file", "plan.csv") // a Buffer takes everything
		_, _ = io.WriteString(w, doc)
	} else {
		_ = m.WriteField(field, doc)
	}
	_ = m.Close()
	return b.send(http.MethodPost, "/admin/events/"+event+"/plan", m.FormDataContentType(), &body)
}
