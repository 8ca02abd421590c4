package sale_test

import (
	"fmt"

	"foyer/store"
)

// inspect looks at the closed file as foyer check does. Notes are no violations.
func (e *evening) inspect() (wrong []string) {
	findings, err := store.Check(e.dir, nil)
	if err != nil {
		return []string{fmt.Sprintf("file: it cannot be looked at: %v", err)}
	}
	for _, f := range findings {
		if f.Note() {
			e.t.Logf("noted: %s", f.What)
			continue
		}
		wrong = append(wrong, fmt.Sprintf("file %s: %s", f.Code, f.What))
	}
	return wrong
}

// sound looks at the closed file of a script as foyer check does.
func (h *house) sound() {
	h.Helper()
	findings, err := store.Check(h.dir, nil)
	h.ok(err)
	for _, f := range findings {
		if !f.Note() {
			h.Errorf("the file is not sound: %s %s", f.Code, f.What)
		}
	}
}
