// Package sale holds the use cases of an evening, each exactly one transaction:
// join, admit, hold, release, pay, confirm, expire, refund, sell at the door,
// check in. It decides over the rules of
// queue (who is next), seats (the house) and outbox (what the outside is told),
// and declares the transaction it needs, [Tx].
//
// Invariants: without a valid turn nobody holds seats; without verified money
// nobody's order becomes PAID; order, seats, turn, idempotency record and
// messages of one act change together or not at all. Expiry is a comparison with
// the transaction's time, right at any instant; the sweep in [Office.Tick] only
// tidies up.
//
// It knows no HTTP, no file and no wall clock. A function handed to a
// transaction decides first and writes afterwards; a refusal ([Refusal]) writes
// nothing.
package sale

import (
	"crypto/aes"
	"crypto/cipher"

	"github.com/google/uuid"

	"foyer/outbox"
)

// Office runs the sale of every event of one house. Its methods may be called
// from any goroutine.
type Office struct {
	store       Store
	sinks       func(topic string) []string
	ticketCode  func(ticket uuid.UUID) string
	providers   map[string]Provider
	challenges  []string
	queueCipher cipher.Block
	relay       Relay
	deciding    chan struct{} // holds one while staff decide about messages: one after the other
	lanes       Lanes
	ruling      chan struct{} // holds one while a rule of lanes changes: one after the other
	wishes      wishes
	looks       looks
	steering    steering
	ticket      func(code string) (uuid.UUID, bool)
	tokens      *Signer
	returns     *Signer
	codes       *Signer
}

// Config wires an [Office].
type Config struct {
	Store Store
	// Secret is the house's 32-byte master secret; entry tokens, queue ids and
	// return codes are derived from it (HKDF, RFC 5869), so they survive a restart unstored.
	Secret []byte
	// Sinks names where messages of a topic go; nil sends nothing.
	Sinks func(topic string) []string
	// TicketCode gives the code a ticket shows at the door.
	TicketCode func(ticket uuid.UUID) string
	// Ticket finds the ticket of a code; nil knows none.
	Ticket func(code string) (uuid.UUID, bool)
	// Relay is told what staff decide about messages; nil tells nobody.
	Relay Relay
	// Lanes tells how lanes and tasks stand and takes their rules; nil is one where nothing ever goes.
	Lanes Lanes
	// Providers take money; "shop" (the venue's own server) needs none.
	Providers []Provider
	// Challenges are set up beside "altcha", which always is.
	Challenges []string
}

// New returns an office over a store.
func New(c Config) *Office {
	o := &Office{store: c.Store, challenges: c.Challenges, sinks: c.Sinks, ticketCode: c.TicketCode, relay: c.Relay, deciding: make(chan struct{}, 1), ruling: make(chan struct{}, 1), wishes: wishes{seats: map[wish]int{}}, providers: map[string]Provider{}}
	if o.lanes = c.Lanes; o.lanes == nil {
		o.lanes = still{}
	}
	if o.sinks == nil {
		o.sinks = func(string) []string { return nil }
	}
	if o.ticket = c.Ticket; o.ticket == nil {
		o.ticket = func(string) (uuid.UUID, bool) { return uuid.Nil, false }
	}
	for _, p := range c.Providers {
		o.providers[p.Name()] = p
	}
	block, err := aes.NewCipher(Subkey(c.Secret, "queue id"))
	if err != nil { // a subkey has 32 bytes
		panic(err)
	}
	o.queueCipher = block
	o.tokens = NewSigner(Subkey(c.Secret, "entry token"))
	o.returns = NewSigner(Subkey(c.Secret, "return code"))
	o.codes = NewSigner(Subkey(c.Secret, "join code"))
	return o
}

// send writes one message per sink of its topic into the transaction. All
// copies carry the same id.
func (o *Office) send(tx Tx, topic, key string, data any) {
	id := tx.NewID().String()
	for _, sink := range o.sinks(topic) {
		body, err := outbox.Envelope(id, topic, key, tx.Now(), data)
		if err != nil {
			panic(err) // our own structs always encode
		}
		tx.Send(outbox.Message{ID: id, Topic: topic, Key: key, Sink: sink, CreatedAt: tx.Now(), Body: body, State: outbox.Waiting})
	}
}
