package crash

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// change is one replacement in one file; old must be there exactly once.
type change struct{ file, old, new string }

// planted is a fault that a program like this one might have, as changes to its
// source, and the checks of the rig of which one at least must notice it. They
// must do without foyer check, which would find most of these faults first.
type planted struct {
	name    string
	changes []change
	checks  string // a regular expression
}

var faults = []planted{
	{"reply before commit", []change{
		{"store/writer.go", "// maxBatch bounds", "var reply func()\n\n// maxBatch bounds"},
		{"store/writer.go", "	edge(edgeTaken)\n", "	edge(edgeTaken)\n	reply = sync.OnceFunc(func() { close(b.done) })\n"},
		{"store/writer.go", "	close(b.done)\n", "	reply()\n"},
		{"store/writer.go", "	if t.dirty() {\n		edge(edgeDecided)\n", "	if s.mem.next.ordinal > 5 {\n		reply()\n	}\n	if t.dirty() {\n		edge(edgeDecided)\n"}}, "ledger|tasks|answer|linearizable"},
	{"memory changed and reply sent before the commit", []change{
		{"store/commit.go", "	return edgeError(edgeWritten)\n", "	t.applyTo(t.memory, map[string]struct{}{})\n	return nil\n"},
		{"store/writer.go", "// maxBatch bounds", "var reply func()\n\n// maxBatch bounds"},
		{"store/writer.go", "	edge(edgeTaken)\n", "	edge(edgeTaken)\n	reply = sync.OnceFunc(func() { close(b.done) })\n"},
		{"store/writer.go", "	close(b.done)\n", "	reply()\n"},
		{"store/writer.go", "		return s.writeRows(t, tx)\n", "		s.mu.Lock()\n		err := s.writeRows(t, tx)\n		s.mu.Unlock()\n		reply()\n		return errors.Join(err, edgeError(edgeWritten))\n"},
		{"store/commit.go", "	t.applyTo(s.mem, touched)\n", ""}}, "ledger|tasks|numbers|linearizable"},
	{"memory changed before the commit", []change{
		{"store/commit.go", "	return edgeError(edgeWritten)\n", "	t.applyTo(t.memory, map[string]struct{}{})\n	return nil\n"},
		{"store/writer.go", "		return s.writeRows(t, tx)\n", "		s.mu.Lock()\n		err := s.writeRows(t, tx)\n		s.mu.Unlock()\n		return errors.Join(err, edgeError(edgeWritten))\n"},
		{"store/commit.go", "	t.applyTo(s.mem, touched)\n", ""}}, "ledger|tasks|numbers|process"},
	{"journal row skipped", []change{
		{"store/commit.go", "		if !w.gone {\n			r.put(key, encodePlace", "		if !w.gone && w.place.Number%5 > 0 {\n			r.put(key, encodePlace"}}, "ledger"},
	{"row of a claimed turn skipped", []change{
		{"store/commit.go", "		if !w.gone {\n			r.put(key, encodePlace", "		if !w.gone && w.place.Turn.State != sale.TurnClaimed {\n			r.put(key, encodePlace"}}, "ledger|messages"},
	{"sweeper frees a seat taken over", []change{
		{"sale/hold.go", "	for _, l := range h.lapsed {\n		o.lapse(tx, l)\n	}\n", ""},
		{"store/tx.go", "} else if h, ok := t.Holder(o.Event, s.ID); ok && h.ID == o.ID {", "} else if _, ok := t.Holder(o.Event, s.ID); ok {"}}, "linearizable|ledger|seats|messages"},
	{"hold taken over a second early", []change{
		{"sale/order.go", "	return o.Status.Open() && !now.Before(o.HoldExpiresAt)\n", "	return o.Status.Open() && !now.Before(o.HoldExpiresAt.Add(-time.Second))\n"}}, "linearizable|ledger"},
	{"holds without payment forgotten at the start", []change{
		{"store/load.go", "; o.Keeps(i) && (h == nil", "; o.Keeps(i) && (o.Status == sale.Paid || o.Status == sale.Paying) && (h == nil"}}, "linearizable|ledger"},
	{"message deleted before it is delivered", []change{
		{"outbox/run.go", "	answer, err := r.deliver(tries, s.sink, m)\n", "	_ = r.cfg.Book.Settle([]Outcome{{Seq: m.Seq, Delivered: true}})\n	answer, err := r.deliver(tries, s.sink, m)\n"}}, "messages|tasks"},
	{"messages forgotten at the start", []change{
		{"store/lists.go", "		offer(msgs)\n", ""}}, "messages|tasks"},
	{"slots forgotten at the start", []change{
		{"serve.go", "	h.relay.Resume(slots)\n", "	_ = slots\n"}}, "tasks"},
	{"no lease after a kill", []change{
		{"store/lease.go", "		m.NextAt, m.Held = until, true\n", "		_ = until\n"}}, "tasks|messages"},
	{"new tasks pass those that may be under way", []change{
		{"outbox/lane.go", " && l.held == 0:", ":"}}, "tasks"},
	{"numbers begin anew at the start", []change{
		{"store/load.go", "			em.tally.next, em.tally.frontier, em.tally.owed = c.next, c.frontier, c.owed\n", "			em.tally.frontier, em.tally.owed = c.frontier, c.owed\n"},
		{"store/load.go", "		em.tally.next = max(em.tally.next, p.Number+1)\n", ""}}, "ledger|numbers|process"},
	{"pace begins anew at the start", []change{
		{"store/load.go", "		em.window.Add(moment(at), 1)\n", "		_ = at\n"}}, "turns"},
	{"confirmation record not written", []change{
		{"sale/order.go", "	Confirms      []Confirmed `json:\"confirms,omitempty\"`\n", "	Confirms      []Confirmed `json:\"-\"`\n"}}, "ledger"},
	{"receipts of money not written", []change{
		{"store/commit.go", "		r.put(key64(rc.Seq), encodeJSON(rc))\n", "		_ = rc\n"}}, "money"},
	{"turn not used up by the payment", []change{
		{"sale/pay.go", "			pl.Turn.State, pl.Turn.EndedAt = TurnConsumed, tx.Now()\n			tx.PutPlace(pl)\n", ""}}, "linearizable|ledger"},
	{"row of a use of a code skipped", []change{
		{"store/codes.go", "		if n, ok := t.ordinalOf(u.event); ok {\n", "		if n, ok := t.ordinalOf(u.event); ok && u.number%5 > 0 {\n"}}, "codes"},
	{"uses of codes forgotten at the start", []change{
		{"store/codes.go", "		if em := events[ordinal]; em != nil {\n			em.uses.add(c)\n		}\n", ""}}, "codes"},
	{"uses of codes in the same commit not counted", []change{
		{"store/codes.go", "	return t.reader.Uses(event, c) + n\n", "	_ = n\n	return t.reader.Uses(event, c)\n"}}, "codes"},
	{"class of a place not written", []change{
		{"store/rows.go", "	if p.Class != 0 || p.Links != 0 {\n", "	if p.Links != 0 {\n"}}, "ledger"},
	{"row of a shop's claim skipped", []change{
		{"store/commit.go", "		if !w.gone {\n			r.put(key, encodePlace", "		if !w.gone && (w.place.Turn.State != sale.TurnClaimed || w.place.Turn.Shop == nil) {\n			r.put(key, encodePlace"}}, "tokens"},
	{"shop's acts not written", []change{
		{"sale/shop.go", "`json:\"acts\"`", "`json:\"-\"`"}}, "tokens"},
	{"consume forgotten at the start", []change{
		{"store/load.go", "		p = drawn[ordinal].place(p)\n", "		p = drawn[ordinal].place(p)\n		if p.Turn.State == sale.TurnConsumed && p.Turn.Shop != nil {\n			p.Turn.State, p.Turn.EndedAt = sale.TurnClaimed, time.Time{}\n		}\n"}}, "tokens|linearizable"},
	{"a turn used up twice", []change{
		{"sale/shop.go", "		if err := t.claimedBy(&r); err != nil {\n			return err\n		}\n		t.State, t.EndedAt = TurnConsumed", "		if err := t.claimedBy(&r); err != nil && t.State != TurnConsumed {\n			return err\n		}\n		t.State, t.EndedAt = TurnConsumed"}}, "tokens|linearizable"},
	{"a claim does not keep others off", []change{
		{"sale/shop.go", "		if t.State != TurnReady {\n			return t.inUse()\n", "		if t.State != TurnReady && !t.byShop() {\n			return t.inUse()\n"}}, "tokens|linearizable"},
}

// stormFaults are noticed by the money storm.
var stormFaults = []planted{
	{"payments are never looked up", []change{
		{"serve.go", "	h.loops.Go(func() { repeat(ctx, func() time.Duration { return h.lookUp(ctx) }) })\n", ""}}, "money"},
	{"money of another sum is taken", []change{
		{"sale/receive.go", "f.Amount != n.Total ||", ""}}, "money"},
	{"a second payment is kept without a word", []change{
		{"sale/receive.go", "		rc.attend(tx, \"surplus_payment\", why)\n", ""}}, "money"},
	{"each try of a refund is a refund of its own", []change{
		{"sale/giveback.go", "	req = RefundRequest{ID: ref.Refund, Order: ref.Order}\n", "	req = RefundRequest{ID: uuid.New(), Order: ref.Order}\n"}}, "money|bank"},
	{"the answer about a refund is forgotten", []change{
		{"sale/giveback.go", "	return o.endRefund(ref, answer, err)\n", "	_ = answer\n	return nil\n"}}, "money"},
	{"a seat taken back stays sold", []change{
		{"sale/order.go", "return o.Status.Claims() && o.Seats[i].Refund == uuid.Nil }", "return o.Status.Claims() }"}}, "seats|money"},
	{"late money gets its seats whoever has them", []change{
		{"sale/pay.go", "		case h.Has(now):\n			return lateTaken\n", "		case h.Has(now):\n"}}, "seats|money|answer"},
}

// plant copies the source and puts a fault into it.
func (p *planted) plant(t *testing.T, dir string) {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS(*sourceFlag)); err != nil {
		t.Fatal(err)
	}
	for _, c := range p.changes {
		path := filepath.Join(dir, c.file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), c.old, c.new, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPlantedFaultsFitTheSource keeps the list true: a fault that cannot be
// planted any more is none.
func TestPlantedFaultsFitTheSource(t *testing.T) {
	for _, p := range slices.Concat(faults, stormFaults) {
		for _, c := range p.changes {
			text, err := os.ReadFile(filepath.Join(*sourceFlag, c.file))
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(text), c.old); n != 1 {
				t.Errorf("%s: %s has %d places for it, want 1:\n%s", p.name, c.file, n, c.old)
			}
		}
	}
}

// TestPlantedFaultsAreNoticed runs the rig, or the storm, over a copy of the
// source for each fault in turn, up to three times. It takes half an hour.
func TestPlantedFaultsAreNoticed(t *testing.T) {
	if !*faultsFlag {
		t.Skip("it takes half an hour; run it with -crash.faults")
	}
	for _, p := range faults {
		t.Run(strings.ReplaceAll(p.name, " ", "-"), func(t *testing.T) { p.isNoticed(t, "^TestB78") })
	}
	for _, p := range stormFaults {
		t.Run(strings.ReplaceAll(p.name, " ", "-"), func(t *testing.T) { p.isNoticed(t, "^TestB90") })
	}
}

// isNoticed runs a test of this package over a copy of the source with the fault.
func (p *planted) isNoticed(t *testing.T, test string) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	verdict := regexp.MustCompile(`seed \d+: (\w+): (.*)`)
	dir := t.TempDir()
	p.plant(t, dir)
	for try := 1; try <= 3; try++ {
		began := time.Now()
		out, err := exec.Command(self, "-test.run="+test, "-test.v", "-crash.blind", "-crash.source="+dir).CombinedOutput()
		if err == nil {
			continue
		}
		found := verdict.FindSubmatch(out)
		if found == nil || !regexp.MustCompile("^("+p.checks+")$").Match(found[1]) {
			t.Fatalf("the rig failed, but not by %s:\n%s", p.checks, out)
		}
		t.Logf("noticed in run %d after %v by %s: %.200s", try, time.Since(began).Round(time.Second), found[1], found[2])
		return
	}
	t.Error("three runs of the rig did not notice")
}
