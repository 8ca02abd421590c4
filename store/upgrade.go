package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"foyer/sale"
)

// upgrades bring a file from the format that is their index to the next, each
// in one transaction together with the new number.
var upgrades = []func(*bolt.Tx) error{
	1: func(tx *bolt.Tx) error { // lanes with rules, and tasks
		var err error
		for _, name := range [][]byte{bucketRules, bucketSlots, bucketEnded} {
			_, e := tx.CreateBucket(name)
			err = errors.Join(err, e)
		}
		return err
	},
	2: func(*bolt.Tx) error { return nil }, // messages may say since when their patience counts
	3: func(tx *bolt.Tx) error { // draws; codes and members; and a turn may tell what a shop did with it
		_, err := tx.CreateBucket(bucketDraws)
		_, e := tx.CreateBucket(bucketUses)
		return errors.Join(err, e, shareTurns(tx))
	},
}

// shareTurns gives the events the share of members that new ones have.
func shareTurns(tx *bolt.Tx) error {
	share := sale.DefaultSettings().Rules.MemberShare
	r := &rows{bucket: bucketEvents}
	err := tx.Bucket(bucketEvents).ForEach(func(k, v []byte) error {
		e := &sale.Event{}
		if err := json.Unmarshal(v, e); err != nil {
			return fmt.Errorf("event: %w: %v", errDamaged, err)
		}
		e.Rules.MemberShare = share
		r.put(bytes.Clone(k), encodeJSON(e))
		return nil
	})
	return cmp.Or(err, r.write(tx))
}

// bucketsOf gives the buckets that a file of a format must have.
func bucketsOf(version uint64) [][]byte {
	switch {
	case version < 2:
		return buckets[:len(buckets)-5]
	case version < 4:
		return buckets[:len(buckets)-2]
	}
	return buckets
}

// upgrade brings a file of an older format to this program's.
func upgrade(db *bolt.DB) error {
	for {
		done := false
		err := db.Update(func(tx *bolt.Tx) error {
			meta := tx.Bucket(bucketMeta)
			version := binary.BigEndian.Uint64(meta.Get(keyFormat))
			if version >= format {
				done = true
				return errNothing
			}
			if version >= uint64(len(upgrades)) || upgrades[version] == nil {
				return fmt.Errorf("%w: %s has format %d, which this foyer does not know", ErrBadFile, db.Path(), version)
			}
			return errors.Join(upgrades[version](tx), meta.Put(keyFormat, binary.BigEndian.AppendUint64(nil, version+1)))
		})
		switch {
		case done:
			return nil
		case errors.Is(err, ErrBadFile):
			return err
		case err != nil:
			return fmt.Errorf("%w: %s cannot be brought to the format of this foyer (%v); see to the disk and its free space, and start foyer again", ErrUnwritable, db.Path(), err)
		}
	}
}

// errNothing ends a transaction that has nothing to write.
var errNothing = errors.New("store: nothing to write")
