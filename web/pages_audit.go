package web

import "foyer/sale"

// auditRow is an entry of the audit for people.
type auditRow struct {
	sale.Entry
	Who string // a key by its name
}

// auditRows are the newest entries, the last first.
func (s *Server) auditRows(n int) ([]auditRow, error) {
	list, err := s.office.Audit(0, n)
	if err != nil {
		return nil, err
	}
	rows := make([]auditRow, len(list))
	for i, e := range list {
		rows[i] = auditRow{e, s.operator(e.Actor)}
	}
	return rows, nil
}
