package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// receiver takes webhooks (Standard Webhooks 1.0.0) and lets each message have its effect exactly once.
type receiver struct {
	db     *bolt.DB
	secret []byte                               // what stands behind whsec_, decoded from base64
	effect func(tx *bolt.Tx, body []byte) error // what a message does, in the transaction that remembers it
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, 1<<20))
	id := req.Header.Get("webhook-id")
	if err != nil || !r.genuine(req.Header, id, body) {
		http.Error(w, "bad signature", http.StatusUnauthorized)
		return
	}
	err = r.db.Update(func(tx *bolt.Tx) error { // the effect and the id reach the disk together, or neither does
		seen, err := tx.CreateBucketIfNotExists([]byte("seen"))
		if err != nil || seen.Get([]byte(id)) != nil { // a copy: it had its effect before
			return err
		}
		if err := seen.Put([]byte(id), []byte(time.Now().UTC().Format(time.RFC3339))); err != nil {
			return err
		}
		return r.effect(tx, body)
	})
	if err != nil { // nothing has happened; the sender tries again
		http.Error(w, "try again later", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent) // only now: if this answer is lost, a copy comes and is known
}

// genuine tells whether a body was signed with our secret, at most five minutes ago or ahead.
func (r *receiver) genuine(h http.Header, id string, body []byte) bool {
	at, err := strconv.ParseInt(h.Get("webhook-timestamp"), 10, 64)
	if age := time.Since(time.Unix(at, 0)); err != nil || id == "" || age.Abs() > 5*time.Minute {
		return false
	}
	sum := hmac.New(sha256.New, r.secret)
	sum.Write([]byte(id + "." + h.Get("webhook-timestamp") + "." + string(body)))
	right := "v1," + base64.StdEncoding.EncodeToString(sum.Sum(nil))
	for _, s := range strings.Fields(h.Get("webhook-signature")) { // several while the secret is being replaced
		if hmac.Equal([]byte(s), []byte(right)) {
			return true
		}
	}
	return false
}
