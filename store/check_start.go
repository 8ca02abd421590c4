package store

import "slices"

// findingsLogged bounds the lines about one file.
const findingsLogged = 20

// tellFindings keeps and logs what the rows of the file showed while they were
// loaded. Such a file is served all the same: what is wrong in one order is no
// reason to send the whole house home.
func (s *Store) tellFindings(found []Finding) {
	s.findings = slices.DeleteFunc(found, Finding.Note)
	for n, f := range s.findings {
		if n == findingsLogged {
			s.log.Error("the file is not sound, and there is more; make a backup and run foyer check on it", "more", len(s.findings)-n)
			break
		}
		s.log.Error("the file is not sound", "code", f.Code, "finding", f.What)
	}
}

// Findings are what was wrong with the file when it was opened, as far as a
// quick look shows; nil is nothing. [Inspect] sees more.
func (s *Store) Findings() []Finding { return s.findings }
