package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"foyer/queue"
)

// toldDraw is a draw that a server tells of.
type toldDraw struct {
	seed []byte
	ids  []string // by number
	doc  map[string]any
}

// soundDraw is a draw among nine with which nothing is wrong.
func soundDraw() *toldDraw {
	d := &toldDraw{seed: bytes.Repeat([]byte{7}, 32)}
	for range 9 {
		d.ids = append(d.ids, uuid.NewString())
	}
	slices.SortFunc(d.ids, func(a, b string) int {
		x, y := queue.Lot(d.seed, []byte(a)), queue.Lot(d.seed, []byte(b))
		return bytes.Compare(x[:], y[:])
	})
	sum := sha256.Sum256(d.seed)
	d.doc = map[string]any{"commitment": hex.EncodeToString(sum[:]), "seed": hex.EncodeToString(d.seed), "entries": 9}
	d.publish()
	return d
}

// publish names the list as it is now.
func (d *toldDraw) publish() {
	sum := sha256.Sum256([]byte(strings.Join(d.ids, "\n") + "\n"))
	d.doc["digest"], d.doc["entries"] = hex.EncodeToString(sum[:]), len(d.ids)
}

func (d *toldDraw) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/api/v1/events/gala/draw":
		_ = json.NewEncoder(w).Encode(d.doc)
	case "/api/v1/events/gala/draw/entries":
		_, _ = w.Write([]byte(strings.Join(d.ids, "\n") + "\n"))
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"detail": "There is no event with this id."}`))
	}
}

func TestDrawVerify(t *testing.T) {
	shown := soundDraw().doc["commitment"].(string)
	for name, c := range map[string]struct {
		change func(*toldDraw)
		args   string
		wrong  string // "" is right
	}{
		"sound":                      {func(*toldDraw) {}, "", ""},
		"shown before":               {func(*toldDraw) {}, "--commitment " + strings.ToUpper(shown) + " ", ""},
		"another was shown":          {func(*toldDraw) {}, "--commitment " + strings.Repeat("00", 32) + " ", "another draw"},
		"nothing that was shown":     {func(*toldDraw) {}, "--commitment 00 ", "is no fingerprint"},
		"not held":                   {func(d *toldDraw) { delete(d.doc, "seed") }, "", "not held yet"},
		"another seed":               {func(d *toldDraw) { d.doc["seed"] = strings.Repeat("08", 32) }, "", "does not fit its fingerprint"},
		"a seed that is none":        {func(d *toldDraw) { d.doc["seed"] = "x" }, "", "does not fit its fingerprint"},
		"two exchanged":              {func(d *toldDraw) { d.ids[2], d.ids[5] = d.ids[5], d.ids[2]; d.publish() }, "", "stands before a smaller lot"},
		"one twice":                  {func(d *toldDraw) { d.ids = slices.Insert(d.ids, 4, d.ids[4]); d.publish() }, "", "twice"},
		"one removed":                {func(d *toldDraw) { d.ids = slices.Delete(d.ids, 4, 5) }, "", "8 entries, and 9"},
		"one exchanged for somebody": {func(d *toldDraw) { d.doc["digest"] = "00" }, "", "not the published one"},
		"no list":                    {func(d *toldDraw) { d.ids[0] = "nobody"; d.publish() }, "", "line 1 of the list is no queue id"},
		"a stranger":                 {func(*toldDraw) {}, "--place " + uuid.NewString() + " ", "did not take part"},
	} {
		t.Run(name, func(t *testing.T) {
			d := soundDraw()
			c.change(d)
			web := httptest.NewServer(d)
			defer web.Close()
			w := newWorld(t)
			code := w.run(strings.Fields("draw verify --server " + web.URL + " " + c.args + "gala")...)
			if c.wrong == "" && (code != exitOK || !strings.Contains(w.out.String(), "all lots are in order")) {
				t.Errorf("exit code %d\n%s%s", code, w.out.String(), w.err.String())
			}
			if c.wrong != "" && (code == exitOK || !strings.Contains(w.err.String(), c.wrong)) {
				t.Errorf("exit code %d, want %q\n%s%s", code, c.wrong, w.out.String(), w.err.String())
			}
		})
	}
}

// Whoever names another address reads what is there, and what to do.
func TestCommandsTellWhatIsNoAnswerOfFoyer(t *testing.T) {
	page := func(w http.ResponseWriter, status int) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		_, _ = w.Write([]byte("<!doctype html><p>Welcome"))
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		args   string
		say    string
	}{
		"a page":              {func(w http.ResponseWriter, _ *http.Request) { page(w, 200) }, "draw verify gala", "answered 200 OK with a web page that is not foyer's"},
		"a page for an error": {func(w http.ResponseWriter, _ *http.Request) { page(w, 404) }, "draw verify gala", "answered 404 Not Found with a web page"},
		"other JSON":          {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"hello":"world"}`)) }, "draw verify gala", "with something that is not foyer's"},
		"a page for the list": {func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/entries") {
				page(w, 200)
				return
			}
			soundDraw().ServeHTTP(w, r)
		}, "draw verify gala", "with a web page"},
		"a page for a list of lanes":   {func(w http.ResponseWriter, _ *http.Request) { page(w, 200) }, "lane list", "with a web page"},
		"a page for a lane":            {func(w http.ResponseWriter, _ *http.Request) { page(w, 200) }, "lane pause K", "with a web page"},
		"a page for a sheet":           {func(w http.ResponseWriter, _ *http.Request) { page(w, 200) }, "report --csv gala", "with a web page"},
		"no JSON for a list of lanes":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }, "lane list", "with something"},
		"a page for a key that is not": {func(w http.ResponseWriter, _ *http.Request) { page(w, 401) }, "outbox list", "answered 401 Unauthorized with a web page"},
	} {
		t.Run(name, func(t *testing.T) {
			web := httptest.NewServer(c.answer)
			defer web.Close()
			w := newWorld(t)
			w.env["FOYER_ADMIN_KEY"], w.env["FOYER_SERVER"] = "open sesame", web.URL
			code := w.run(strings.Fields(c.args)...)
			said := w.err.String()
			if code != exitFile || !strings.Contains(said, c.say) || !strings.Contains(said, web.URL) || !strings.Contains(said, "with --server") || strings.Contains(said, "invalid character") || strings.Count(said, "\n") != 1 {
				t.Errorf("exit code %d: %s%s", code, said, w.out.String())
			}
		})
	}
}

func TestDrawVerifyTellsOnesOwnNumber(t *testing.T) {
	d := soundDraw()
	web := httptest.NewServer(d)
	defer web.Close()
	w := newWorld(t)
	if code := w.run("draw", "verify", "--server", web.URL, "--place", strings.ToUpper(d.ids[6]), "gala"); code != exitOK || !strings.Contains(strings.ToLower(w.out.String()), "number of "+d.ids[6]+": 7") {
		t.Errorf("exit code %d\n%s%s", code, w.out.String(), w.err.String())
	}
	if code := w.run("draw", "verify", "--server", web.URL, "other"); code != exitFile || !strings.Contains(w.err.String(), "no event with this id") {
		t.Errorf("exit code %d\n%s", code, w.err.String())
	}
}
