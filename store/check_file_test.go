package store_test

import (
	"testing"

	"foyer/store"
)

// soundFile looks at every page and every row, as foyer check does. path may be
// the folder.
func soundFile(t *testing.T, path string) {
	t.Helper()
	findings, err := store.Check(path, nil)
	if err != nil {
		t.Errorf("the file cannot be looked at: %v", err)
	}
	for _, f := range findings {
		if !f.Note() {
			t.Errorf("the file is not sound: %s %s", f.Code, f.What)
		}
	}
}
