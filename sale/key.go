package sale

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"
)

// Role is what a key may do.
type Role string

// The roles. Admin includes all others.
const (
	RoleAdmin     Role = "admin"
	RoleBoxOffice Role = "boxoffice"
	RoleDoor      Role = "door"
	RoleShop      Role = "shop"
)

// Includes tells whether a key of role r may act as other.
func (r Role) Includes(other Role) bool { return r == RoleAdmin || r == other }

func (r Role) valid() bool {
	return r == RoleAdmin || r == RoleBoxOffice || r == RoleDoor || r == RoleShop
}

// KeyHash is the SHA-256 of a key's secret, all that is kept of it. Secrets are
// 256 random bits (or chosen by the operator), so no slow hash is needed.
type KeyHash [sha256.Size]byte

// MarshalText writes the hash in hex.
func (h KeyHash) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h[:])), nil }

// UnmarshalText reads what MarshalText wrote.
func (h *KeyHash) UnmarshalText(b []byte) error {
	_, err := hex.Decode(h[:], b)
	return err
}

// Key lets staff or a machine in.
type Key struct {
	ID        string    `json:"id"`
	Role      Role      `json:"role"`
	Name      string    `json:"name"`
	Hash      KeyHash   `json:"hash"`
	CreatedAt time.Time `json:"createdAt"`
}

// presetKey is the id of the admin key that the operator chose.
const presetKey = "preset"

// CreateKey makes a key and returns its secret, which is shown this once.
func (o *Office) CreateKey(actor string, role Role, name string) (k *Key, secret string, err error) {
	if !role.valid() || utf8.RuneCountInString(name) > 100 || !plainText(name) {
		return nil, "", ErrBadKey
	}
	var raw [32]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return nil, "", err
	}
	secret = "foyer_" + string(role) + "_" + base64.RawURLEncoding.EncodeToString(raw[:])
	err = o.store.Update(func(tx Tx) error {
		k = &Key{ID: tx.NewID().String(), Role: role, Name: name, Hash: sha256.Sum256([]byte(secret)), CreatedAt: tx.Now()}
		tx.PutKey(k)
		o.audit(tx, actor, "", "key.create", strings.TrimSpace(string(role)+" "+k.ID+" "+name))
		return nil
	})
	return k, secret, err
}

// SetAdminKey makes secret the operator's own admin key, in place of the one
// set this way before.
func (o *Office) SetAdminKey(secret string) error {
	if len(secret) < 8 {
		return ErrBadKey.say("The admin key must have at least 8 characters.")
	}
	return o.store.Update(func(tx Tx) error {
		k := &Key{ID: presetKey, Role: RoleAdmin, Name: "preset by the operator", Hash: sha256.Sum256([]byte(secret)), CreatedAt: tx.Now()}
		for _, old := range tx.Keys() {
			if old.ID == presetKey && old.Hash != k.Hash {
				tx.RemoveKey(old)
			}
		}
		if old, ok := tx.Key(k.Hash); ok && old.Role == RoleAdmin {
			return nil
		}
		tx.PutKey(k)
		o.audit(tx, houseActor, "", "key.preset", "")
		return nil
	})
}

// Authenticate finds the key whose secret this is. Secrets are compared by
// their hashes, so the time it takes tells nothing about them.
func (o *Office) Authenticate(secret string) (k *Key, ok bool) {
	hash := KeyHash(sha256.Sum256([]byte(secret)))
	_ = o.store.View(func(r Reader) error {
		k, ok = r.Key(hash)
		return nil
	})
	return k, ok
}

// KeyByID finds a key by its id.
func (o *Office) KeyByID(id string) (*Key, bool) {
	for _, k := range o.Keys() {
		if k.ID == id {
			return k, true
		}
	}
	return nil, false
}

// Keys lists all keys in the order of their creation.
func (o *Office) Keys() (keys []*Key) {
	_ = o.store.View(func(r Reader) error {
		keys = r.Keys()
		return nil
	})
	return keys
}

// RemoveKey ends a key at once. The last admin key stays ([ErrLastAdmin]).
func (o *Office) RemoveKey(actor, id string) error {
	return o.store.Update(func(tx Tx) error {
		var found *Key
		admins := 0
		for _, k := range tx.Keys() {
			if k.ID == id {
				found = k
			}
			if k.Role == RoleAdmin {
				admins++
			}
		}
		if found == nil {
			return ErrNoSuchKey
		}
		if found.Role == RoleAdmin && admins == 1 {
			return ErrLastAdmin
		}
		tx.RemoveKey(found)
		o.audit(tx, actor, "", "key.remove", strings.TrimSpace(id+" "+found.Name))
		return nil
	})
}

// houseActor stands for what happens by itself.
const houseActor = "house"

func (o *Office) audit(tx Tx, actor, event, act, detail string) {
	tx.Audit(Entry{At: tx.Now(), Actor: actor, Event: event, Act: act, Detail: detail})
}
