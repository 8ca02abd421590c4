package store_test

import (
	"testing"

	"foyer/sale/storetest"
	"foyer/store"
)

func open(t storetest.T, dir string) storetest.Store {
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatalf("cannot open: %v", err)
	}
	return s
}

func TestStoreKeepsEveryPromise(t *testing.T) { storetest.Run(t, open) }
