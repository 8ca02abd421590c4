package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"foyer/outbox"
	"foyer/outbox/webhook"
)

var secret = []byte("a secret of 24 bytes or so")

func open(t *testing.T, path string) *bolt.DB {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// ticket is a message as Foyer sends it.
func ticket(t *testing.T, id, event string) outbox.Message {
	t.Helper()
	body, err := outbox.Envelope(id, "ticket.issued", "order:1", time.Now(), map[string]string{"eventId": event})
	if err != nil {
		t.Fatal(err)
	}
	return outbox.Message{ID: id, Topic: "ticket.issued", Body: body}
}

// send delivers as Foyer does.
func send(t *testing.T, url string, m outbox.Message, secrets ...webhook.Secret) error {
	t.Helper()
	if secrets == nil {
		secrets = []webhook.Secret{secret}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return webhook.New(webhook.Config{URL: url, Secrets: secrets}).Deliver(ctx, m)
}

// counts are the lines that the receiver shows.
func counts(db *bolt.DB) string {
	w := httptest.NewRecorder()
	show(w, db)
	return strings.Join(strings.Fields(w.Body.String()), " ")
}

func TestCopiesOfAMessageCountOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tickets.db")
	db := open(t, path)
	s := httptest.NewServer(&receiver{db, secret, count})
	defer s.Close()
	var senders sync.WaitGroup
	for i := range 20 {
		senders.Go(func() {
			if err := send(t, s.URL, ticket(t, fmt.Sprint("m", i%4), "gala")); err != nil {
				t.Error(err)
			}
		})
	}
	senders.Wait()
	if err := send(t, s.URL, ticket(t, "n", "talk")); err != nil {
		t.Error(err)
	}
	if err := send(t, s.URL, outbox.Message{ID: "p", Body: []byte(`{"topic":"order.paid"}`)}); err != nil {
		t.Error(err)
	}
	if got := counts(db); got != "gala 4 talk 1" {
		t.Errorf("counted %q", got)
	}
	_ = db.Close() // after a restart the ids are still known
	db = open(t, path)
	again := httptest.NewServer(&receiver{db, secret, count})
	defer again.Close()
	if err := send(t, again.URL, ticket(t, "m1", "gala")); err != nil {
		t.Error(err)
	}
	if got := counts(db); got != "gala 4 talk 1" {
		t.Errorf("after a restart counted %q", got)
	}
}

func TestEffectThatFailsIsForgottenWithItsID(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "tickets.db"))
	broken := true
	s := httptest.NewServer(&receiver{db, secret, func(tx *bolt.Tx, body []byte) error {
		if err := count(tx, body); err != nil || !broken {
			return err
		}
		return errors.New("the effect fails after it has written")
	}})
	defer s.Close()
	if err := send(t, s.URL, ticket(t, "m", "gala")); err == nil || !strings.Contains(err.Error(), "500") {
		t.Errorf("a failed effect is answered with %v", err)
	}
	if got := counts(db); got != "" {
		t.Errorf("counted %q", got)
	}
	broken = false
	if err := send(t, s.URL, ticket(t, "m", "gala")); err != nil {
		t.Error(err)
	}
	if got := counts(db); got != "gala 1" {
		t.Errorf("counted %q", got)
	}
}

// B163: what is not signed with the secret, or was signed long ago, has no effect.
func TestB163OnlyGenuineMessagesHaveAnEffect(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "tickets.db"))
	r := &receiver{db, secret, count}
	m := ticket(t, "m", "gala")
	post := func(at time.Time, stamp, signature string, body []byte) int {
		t.Helper()
		req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(string(body)))
		if stamp == "" {
			stamp = fmt.Sprint(at.Unix())
		}
		if signature == "" {
			signature = webhook.Sign([]webhook.Secret{secret}, m.ID, at, m.Body)
		}
		req.Header.Set("webhook-id", m.ID)
		req.Header.Set("webhook-timestamp", stamp)
		req.Header.Set("webhook-signature", signature)
		w := httptest.NewRecorder()
		r.ServeHTTP(w, req)
		return w.Code
	}
	now := time.Now()
	other := webhook.Secret(strings.Repeat("x", 24))
	for name, code := range map[string]int{
		"old":           post(now.Add(-301*time.Second), "", "", m.Body),
		"ahead":         post(now.Add(302*time.Second), "", "", m.Body),
		"a day":         post(now.Add(-24*time.Hour), "", "", m.Body),
		"no number":     post(now, "NaN", "", m.Body),
		"other time":    post(now, fmt.Sprint(now.Unix()+1), "", m.Body),
		"other body":    post(now, "", "", append([]byte(" "), m.Body...)),
		"other secret":  post(now, "", webhook.Sign([]webhook.Secret{other}, m.ID, now, m.Body), m.Body),
		"no signature":  post(now, "", "v1,", m.Body),
		"other version": post(now, "", strings.Replace(webhook.Sign([]webhook.Secret{secret}, m.ID, now, m.Body), "v1,", "v0,", 1), m.Body),
	} {
		if code != http.StatusUnauthorized {
			t.Errorf("%s: answered %d", name, code)
		}
	}
	if got := counts(db); got != "" {
		t.Fatalf("counted %q", got)
	}
	rotated := webhook.Sign([]webhook.Secret{other, secret}, m.ID, now, m.Body)
	for range 2 { // the second is a copy inside the tolerance
		if code := post(now, "", rotated, m.Body); code != http.StatusNoContent {
			t.Errorf("two signatures: answered %d", code)
		}
	}
	if got := counts(db); got != "gala 1" {
		t.Errorf("counted %q", got)
	}
}

const dieAt = "RECEIVER_TEST_DIES" // makes this test binary a receiver that kills itself, see init

// A receiver that is killed must be a process of its own.
func init() {
	at, path, _ := strings.Cut(os.Getenv(dieAt), "@")
	if at == "" {
		return
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: 5 * time.Second})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	r := &receiver{db, secret, func(tx *bolt.Tx, body []byte) error {
		err := count(tx, body)
		if at == "effect" {
			die()
		}
		return err
	}}
	fmt.Println(serve(func(w http.ResponseWriter, req *http.Request) {
		if at == "answer" {
			w = dying{w}
		}
		r.ServeHTTP(w, req)
	}))
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
	os.Exit(0)
}

func serve(h http.HandlerFunc) string { return httptest.NewServer(h).URL }

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// dying is an answer that is never written: the process is killed instead.
type dying struct{ http.ResponseWriter }

func (dying) WriteHeader(int)           { die() }
func (dying) Write([]byte) (int, error) { die(); return 0, nil }

// process starts a receiver and gives its address.
func process(t *testing.T, at, path string) (url string, ended func() error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), dieAt+"="+at+"@"+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close() })
	if _, err := fmt.Fscanln(out, &url); err != nil {
		t.Fatal(err)
	}
	return url, cmd.Wait
}

func TestMessageCountsOnceWhenTheReceiverIsKilled(t *testing.T) {
	for _, c := range []struct{ at, after string }{
		{"effect", ""},       // before the commit: nothing has happened
		{"answer", "gala 1"}, // after it: the effect is there, and the sender does not know
	} {
		path := filepath.Join(t.TempDir(), "tickets.db")
		url, ended := process(t, c.at, path)
		m := ticket(t, "m", "gala")
		if err := send(t, url, m); err == nil {
			t.Errorf("killed at the %s: the sender got an answer", c.at)
		}
		if err := ended(); err == nil {
			t.Errorf("killed at the %s: the process ended well", c.at)
		}
		db := open(t, path)
		if got := counts(db); got != c.after {
			t.Errorf("killed at the %s: counted %q, want %q", c.at, got, c.after)
		}
		s := httptest.NewServer(&receiver{db, secret, count})
		if err := send(t, s.URL, m); err != nil { // as Foyer does until somebody answers
			t.Error(err)
		}
		s.Close()
		if got := counts(db); got != "gala 1" {
			t.Errorf("killed at the %s: in the end counted %q", c.at, got)
		}
	}
}

func TestSecretIsReadAsFoyerReadsIt(t *testing.T) {
	written := "whsec_" + base64.StdEncoding.EncodeToString(secret)
	for text, good := range map[string]bool{
		written: true, strings.TrimRight(written, "="): true, "": false, "whsec_": false, "whsec_c2hvcnQ=": false, "whsec_?": false, strings.TrimPrefix(written, "whsec_"): false,
	} {
		ours, err := parseSecret(text)
		theirs, theirErr := webhook.ParseSecret(text)
		if (err == nil) != good || (theirErr == nil) != good || string(ours) != string(theirs) {
			t.Errorf("%q: read as %q, %v; by Foyer as %q, %v", text, ours, err, []byte(theirs), theirErr)
		}
	}
}
