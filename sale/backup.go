package sale

// NoteBackup puts on record who took a copy of everything, secrets included.
func (o *Office) NoteBackup(actor, detail string) error {
	return o.store.Update(func(tx Tx) error {
		o.audit(tx, actor, "", "house.backup", detail)
		return nil
	})
}
