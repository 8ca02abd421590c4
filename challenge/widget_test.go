package challenge

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestAProvidersVerdictIsRightWrongOrNone(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		status       int
		want         string // "right", "wrong" or "none"
	}{
		{"right", `{"success":true}`, 200, "right"},
		{"wrong", `{"success":false,"error-codes":["invalid-input-response"]}`, 200, "wrong"},
		{"used or old", `{"success":false,"error-codes":["timeout-or-duplicate"]}`, 200, "wrong"},
		{"wrong, as some say it", `{"success":false}`, 400, "wrong"},
		{"our secret is wrong", `{"success":false,"error-codes":["invalid-input-secret"]}`, 200, "none"},
		{"our site key is wrong", `{"success":false,"error-codes":["sitekey-secret-mismatch"]}`, 200, "none"},
		{"the provider is ill", `{"success":false,"error-codes":["internal-error"]}`, 200, "none"},
		{"a server error", `{"success":true}`, 503, "none"},
		{"no verdict", `{}`, 200, "none"},
		{"a page", `<html>`, 200, "none"},
		{"endless", strings.Repeat(" ", 2*maxVerdict) + `{"success":true}`, 200, "none"},
		{"a redirect", ``, 302, "none"},
		{"a redirect that says right", `{"success":true}`, 302, "none"},
		{"asked too often", `{"success":false}`, 429, "none"},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != "POST" || r.FormValue("secret") != "secret" || r.FormValue("response") != "token" {
				t.Errorf("%s: asked %s %v", c.name, r.Method, r.Form)
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.answer))
		}))
		got := "none"
		switch err := HCaptcha("site", "secret", srv.URL).Check(t.Context(), "token"); {
		case err == nil:
			got = "right"
		case errors.Is(err, ErrProof):
			got = "wrong"
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
		srv.Close()
	}
}

func TestAProviderThatHangsIsNoVerdict(t *testing.T) {
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer srv.Close()
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := Turnstile("site", "secret", srv.URL).Check(ctx, "token"); err == nil || errors.Is(err, ErrProof) {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsNoTokenIsNotAskedAbout(t *testing.T) {
	w := Turnstile("site", "secret", "http://127.0.0.1:1/never")
	for _, token := range []string{"", strings.Repeat("x", maxProof+1)} {
		if err := w.Check(t.Context(), token); !errors.Is(err, ErrProof) {
			t.Errorf("%d bytes: got %v", len(token), err)
		}
	}
}
