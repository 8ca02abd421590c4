// Receiver is told of every ticket that Foyer sells, and counts each exactly once although each may be told more than once.
//
//	WEBHOOK_SECRET=whsec_... go run ./examples/receiver
//
// It listens on 127.0.0.1:9000, keeps its numbers in tickets.db and answers a GET with them.
package main

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

func main() {
	secret, err := parseSecret(os.Getenv("WEBHOOK_SECRET"))
	if err != nil {
		log.Fatal(err)
	}
	db, err := bolt.Open("tickets.db", 0o600, &bolt.Options{Timeout: time.Second})
	if err != nil {
		log.Fatal("tickets.db: ", err)
	}
	http.Handle("POST /", &receiver{db, secret, count})
	http.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { show(w, db) })
	log.Fatal(http.ListenAndServe("127.0.0.1:9000", nil))
}

// parseSecret reads whsec_ and base64, with or without padding.
func parseSecret(text string) ([]byte, error) {
	code, ok := strings.CutPrefix(text, "whsec_")
	secret, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(code, "="))
	if !ok || err != nil || len(secret) < 24 {
		return nil, errors.New("WEBHOOK_SECRET must hold the whsec_ secret that Foyer has as FOYER_WEBHOOK_SECRET")
	}
	return secret, nil
}

// count adds one to the number of tickets of an event.
func count(tx *bolt.Tx, body []byte) error {
	var m struct {
		Topic string
		Data  struct {
			EventID string `json:"eventId"`
		}
	}
	if err := json.Unmarshal(body, &m); err != nil || m.Topic != "ticket.issued" || m.Data.EventID == "" {
		return nil // not what we count, and no other try would make it so
	}
	tickets, err := tx.CreateBucketIfNotExists([]byte("tickets"))
	if err != nil {
		return err
	}
	n := make([]byte, 8)
	copy(n, tickets.Get([]byte(m.Data.EventID)))
	return tickets.Put([]byte(m.Data.EventID), binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(n)+1))
}

// show writes one line for each event.
func show(w http.ResponseWriter, db *bolt.DB) {
	_ = db.View(func(tx *bolt.Tx) error {
		tickets := tx.Bucket([]byte("tickets"))
		if tickets == nil {
			return nil
		}
		return tickets.ForEach(func(event, n []byte) error {
			_, err := fmt.Fprintf(w, "%s %d\n", event, binary.BigEndian.Uint64(n))
			return err
		})
	})
}
