package challenge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Widget is a check of visitors by a provider's script on the page, whose token
// the provider is asked about: Cloudflare Turnstile or hCaptcha.
type Widget struct {
	SiteKey string   // public
	Script  string   // the address of the provider's script
	Origins []string // what the page must be allowed to load from, for its Content-Security-Policy
	secret  string
	verify  string
	client  *http.Client
}

// The providers' addresses, as their documents have them.
const (
	turnstileVerify = "https://challenges.cloudflare.com/turnstile/v0/siteverify"
	hcaptchaVerify  = "https://api.hcaptcha.com/siteverify"
)

// maxVerdict bounds what is read of a provider's answer, in bytes.
const maxVerdict = 16 << 10

// Turnstile is Cloudflare's widget. An empty verify is Cloudflare's own address.
func Turnstile(siteKey, secret, verify string) *Widget {
	return newWidget(siteKey, secret, cmp.Or(verify, turnstileVerify), "https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit", "https://challenges.cloudflare.com")
}

// HCaptcha is hCaptcha's widget. An empty verify is hCaptcha's own address.
func HCaptcha(siteKey, secret, verify string) *Widget {
	return newWidget(siteKey, secret, cmp.Or(verify, hcaptchaVerify), "https://js.hcaptcha.com/1/api.js?render=explicit", "https://hcaptcha.com", "https://*.hcaptcha.com")
}

func newWidget(siteKey, secret, verify, script string, origins ...string) *Widget {
	return &Widget{SiteKey: siteKey, Script: script, Origins: origins, secret: secret, verify: verify, client: &http.Client{
		Timeout:       10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the secret goes nowhere else
	}}
}

// Check asks the provider whether the token is right; it takes each only once.
// [ErrProof] means that it is not; any other error, that the provider could not
// be asked or did not say.
func (w *Widget) Check(ctx context.Context, token string) error {
	if token == "" || len(token) > maxProof {
		return ErrProof
	}
	form := url.Values{"secret": {w.secret}, "response": {token}, "sitekey": {w.SiteKey}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.verify, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := w.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // read only
	var verdict struct {
		Success *bool    `json:"success"`
		Codes   []string `json:"error-codes"`
	}
	err = json.NewDecoder(io.LimitReader(answer.Body, maxVerdict)).Decode(&verdict)
	switch {
	case err != nil || verdict.Success == nil:
		return fmt.Errorf("siteverify answered %d without a verdict", answer.StatusCode)
	case *verdict.Success && answer.StatusCode == http.StatusOK:
		return nil
	case *verdict.Success || ours(verdict.Codes) || answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode >= http.StatusInternalServerError:
		return fmt.Errorf("siteverify answered %d: %.200q", answer.StatusCode, verdict.Codes)
	}
	return ErrProof
}

// ours tells that the provider has something against our request or is ill, and
// nothing against the token.
func ours(codes []string) bool {
	for _, c := range codes {
		if strings.Contains(c, "secret") || strings.Contains(c, "sitekey") || c == "internal-error" || c == "bad-request" {
			return true
		}
	}
	return false
}
