package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// tall gives the busy house's file with trees of several pages, which lie in a
// bucket where nothing is wrong with rows that nobody knows.
func tall(t testing.TB, o *bolt.Options) (path string, content []byte) {
	t.Helper()
	path, _ = busy(t)
	db, err := bolt.Open(path, 0o600, o)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for n := range uint64(2000) {
			if err := tx.Bucket(bucketMeta).Put(append([]byte("z"), key64(n)...), key64(n)); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if content, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	p, err := openPages(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	return path, content[:int64(p.count)*p.pageSize]
}

// tree finds pages of the tall tree: its branch page, and the leaves below.
func tree(t testing.TB, content []byte) (branch page, leaves []page) {
	t.Helper()
	p, err := openPages(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	size := int(p.pageSize)
	at := func(id uint64) page {
		b := content[int(id)*size : int(id+1)*size]
		return page{id, b, int(native.Uint16(b[10:])), native.Uint16(b[8:]) == pageLeaf}
	}
	branch = at(native.Uint64(p.buckets()[string(bucketMeta)]))
	if branch.leaf || branch.count < 3 {
		t.Fatalf("page %d is no branch page of a tall tree", branch.id)
	}
	for n := range branch.count {
		_, _, _, child, _ := branch.element(n)
		leaves = append(leaves, at(child))
	}
	return branch, leaves
}

// refused wants the file found damaged below its rows, and not opened.
func refused(t *testing.T, path string, content []byte, code string) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	r := looked(t, path)
	if got := codesOf(r.Findings); !slices.Equal(got, []string{code}) {
		t.Errorf("found %v", r.Findings)
	}
	s, err := Open(filepath.Dir(path), Options{})
	if err == nil {
		_ = s.Close()
		t.Fatal("the file was opened")
	}
	if !errors.Is(err, ErrBadFile) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(after, content) {
		t.Error("the refused file was changed")
	}
}

func TestB80DamagedPagesAreFoundAndRefused(t *testing.T) {
	entry := func(pg page, n int) []byte { return pg.b[pageHead+pageElement*n:] }
	for name, damage := range map[string]func(branch page, leaves []page){
		"a page has another number":      func(_ page, l []page) { native.PutUint64(l[1].b, l[2].id) },
		"a page is of no kind":           func(_ page, l []page) { native.PutUint16(l[1].b[8:], 8) },
		"a page is of two kinds":         func(_ page, l []page) { native.PutUint16(l[1].b[8:], pageLeaf|pageBranch) },
		"a page is a head":               func(_ page, l []page) { native.PutUint16(l[1].b[8:], pageMeta) },
		"a page lists free pages":        func(_ page, l []page) { native.PutUint16(l[1].b[8:], pageFreelist) },
		"a page has too many rows":       func(_ page, l []page) { native.PutUint16(l[1].b[10:], 60000) },
		"a page goes on beyond the end":  func(_ page, l []page) { native.PutUint32(l[1].b[12:], 1<<30) },
		"a page goes on in another":      func(b page, _ []page) { native.PutUint32(b.b[12:], 1) },
		"a page is zero":                 func(_ page, l []page) { clear(l[1].b) },
		"a row reaches out of its page":  func(_ page, l []page) { native.PutUint32(entry(l[1], 3)[4:], 1<<31) },
		"a row begins in the table":      func(_ page, l []page) { native.PutUint32(entry(l[1], 3)[4:], 16) },
		"a row is too long":              func(_ page, l []page) { native.PutUint32(entry(l[1], 3)[12:], 1<<31) },
		"a row has no name":              func(_ page, l []page) { native.PutUint32(entry(l[1], 3)[8:], 0) },
		"a row is of no kind":            func(_ page, l []page) { native.PutUint32(entry(l[1], 3), 2) },
		"a row is a bucket without rows": func(_ page, l []page) { native.PutUint32(entry(l[1], 3), bucketFlag) },
		"two rows are exchanged":         func(_ page, l []page) { _, k, _, _, _ := l[1].element(3); k[len(k)-1] += 2 },
		"a row comes twice":              func(_ page, l []page) { _, k, _, _, _ := l[1].element(3); k[len(k)-1]++ },
		"a row belongs before its page":  func(_ page, l []page) { _, k, _, _, _ := l[1].element(0); k[0]-- },
		"a page begins later than is said above": func(_ page, l []page) {
			_, k, _, _, _ := l[1].element(0)
			k[len(k)-1]++
			_, k, _, _, _ = l[1].element(1)
			k[len(k)-1]++
		},
		"a leaf is empty":                func(_ page, l []page) { native.PutUint16(l[1].b[10:], 0) },
		"a row belongs behind its page":  func(_ page, l []page) { _, k, _, _, _ := l[1].element(l[1].count - 1); k[0]++ },
		"a branch is empty":              func(b page, _ []page) { native.PutUint16(b.b[10:], 0) },
		"a branch leads out of the file": func(b page, _ []page) { native.PutUint64(entry(b, 1)[8:], 1<<40) },
		"a branch leads to a head":       func(b page, _ []page) { native.PutUint64(entry(b, 1)[8:], 1) },
		"a branch leads to itself":       func(b page, _ []page) { native.PutUint64(entry(b, 1)[8:], b.id) },
		"a branch leads to a page twice": func(b page, l []page) { native.PutUint64(entry(b, 1)[8:], l[0].id) },
		"two branches are exchanged": func(b page, l []page) {
			native.PutUint64(entry(b, 1)[8:], l[2].id)
			native.PutUint64(entry(b, 2)[8:], l[1].id)
		},
		"the entries of a branch fall":    func(b page, _ []page) { _, k, _, _, _ := b.element(1); k[0]++ },
		"a branch has a name out of page": func(b page, _ []page) { native.PutUint32(entry(b, 1), 1<<31) },
	} {
		t.Run(name, func(t *testing.T) {
			path, content := tall(t, boltOptions)
			branch, leaves := tree(t, content)
			damage(branch, leaves)
			refused(t, path, content, "page")
		})
	}
}

func TestB80FileCutAnywhereIsRefused(t *testing.T) {
	path, content := tall(t, boltOptions)
	for _, n := range []int{len(content) - 1, len(content) - 4096, len(content) / 2, 3 * 4096, 2 * 4096} {
		refused(t, path, content[:n], "page")
	}
	for _, n := range []int{2*4096 - 1, 4096, 100, 1} { // no head is left, or one that leads nowhere
		if err := os.WriteFile(path, content[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if r := looked(t, path); len(r.Findings) == 0 || r.Findings[0].Note() {
			t.Errorf("cut to %d bytes: %v", n, r.Findings)
		}
		if s, err := Open(filepath.Dir(path), Options{}); !errors.Is(err, ErrBadFile) {
			t.Errorf("cut to %d bytes: got %v", n, err)
			if err == nil {
				_ = s.Close()
			}
		}
	}
}

// A file that keeps a list of its free pages comes from another writer, such as
// bbolt's own tool.
func TestB80ListOfFreePagesIsChecked(t *testing.T) {
	list := func(t *testing.T, content []byte) page {
		p, err := openPages(bytes.NewReader(content), int64(len(content)))
		if err != nil || p.freelist == noFreelist {
			t.Fatalf("there is no list: %v", err)
		}
		return page{id: p.freelist, b: content[int64(p.freelist)*p.pageSize:][:p.pageSize]}
	}
	for name, damage := range map[string]func(list, used page){
		"is whole":           nil,
		"is zero":            func(l, _ page) { clear(l.b) },
		"is another page":    func(l, _ page) { native.PutUint16(l.b[8:], pageLeaf) },
		"lists a used page":  func(l, used page) { native.PutUint64(l.b[pageHead:], used.id) },
		"lists a page twice": func(l, _ page) { copy(l.b[pageHead+8:], l.b[pageHead:pageHead+8]) },
		"lists a head":       func(l, _ page) { native.PutUint64(l.b[pageHead:], 1) },
		"lists what is not":  func(l, _ page) { native.PutUint64(l.b[pageHead:], 1<<50) },
		"is too long":        func(l, _ page) { native.PutUint16(l.b[10:], 0xfffe) },
		"is far too long":    func(l, _ page) { native.PutUint16(l.b[10:], 0xffff); native.PutUint64(l.b[pageHead:], 1<<40) },
	} {
		t.Run(name, func(t *testing.T) {
			path, content := tall(t, nil)
			branch, _ := tree(t, content)
			l := list(t, content)
			if native.Uint16(l.b[10:]) < 2 {
				t.Fatal("too few pages are free")
			}
			if damage != nil {
				damage(l, branch)
				refused(t, path, content, "page")
			} else if r := looked(t, path); len(r.Findings) > 0 {
				t.Errorf("found %v", r.Findings)
			}
		})
	}
}

func TestHeadsThatDoNotHold(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(content []byte)
		code   string
		opens  bool
	}{
		"the first was begun":      {func(b []byte) { b[pageHead+50]++ }, "note", true},
		"the second was begun":     {func(b []byte) { b[4096+pageHead+50]++ }, "note", true},
		"the first is not a head":  {func(b []byte) { clear(b[:4096]) }, "page", false},
		"the second is not a head": {func(b []byte) { clear(b[4096:8192]) }, "page", false},
		"both were begun":          {func(b []byte) { b[pageHead+50]++; b[4096+pageHead+50]++ }, "file", false},
	} {
		t.Run(name, func(t *testing.T) {
			path, content := tall(t, boltOptions)
			c.damage(content)
			if !c.opens {
				refused(t, path, content, c.code)
				return
			}
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := codesOf(looked(t, path).Findings); !slices.Equal(got, []string{c.code}) {
				t.Errorf("found %v", got)
			}
			s, err := Open(filepath.Dir(path), Options{})
			if err != nil {
				t.Fatal(err)
			}
			_ = s.Close()
		})
	}
}

// Small buckets lie in the row that names them.
func TestB80DamagedSmallBucketsAreFoundAndRefused(t *testing.T) {
	for name, damage := range map[string]func(inline []byte){
		"it is a branch":        func(b []byte) { native.PutUint16(b[8:], pageBranch) },
		"it is a page":          func(b []byte) { native.PutUint64(b, 9) },
		"it goes on":            func(b []byte) { native.PutUint32(b[12:], 1) },
		"it has too many rows":  func(b []byte) { native.PutUint16(b[10:], 900) },
		"its rows have no name": func(b []byte) { native.PutUint32(b[pageHead+8:], 0) },
	} {
		t.Run(name, func(t *testing.T) {
			path, content := tall(t, boltOptions)
			p, err := openPages(bytes.NewReader(content), int64(len(content)))
			if err != nil {
				t.Fatal(err)
			}
			row := p.buckets()[string(bucketCounts)]
			if native.Uint64(row) != 0 {
				t.Fatal("the counts are no small bucket")
			}
			found := 0
			for at := 0; ; found++ { // also in pages that are free by now
				n := bytes.Index(content[at:], row)
				if n < 0 {
					break
				}
				damage(content[at+n+bucketHead : at+n+len(row)])
				at += n + len(row)
			}
			if found == 0 {
				t.Fatal("the counts are nowhere")
			}
			refused(t, path, content, "page")
		})
	}
}

// badDisk cannot read one page.
type badDisk struct {
	*bytes.Reader
	page int64
}

func (d badDisk) ReadAt(b []byte, at int64) (int, error) {
	if at <= d.page*4096 && d.page*4096 < at+int64(len(b)) {
		return 0, errors.New("input/output error")
	}
	return d.Reader.ReadAt(b, at)
}

func TestPageThatCannotBeReadIsDamage(t *testing.T) {
	_, content := tall(t, boltOptions)
	_, leaves := tree(t, content)
	p, err := openPages(badDisk{bytes.NewReader(content), int64(leaves[1].id)}, int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.sound(); err == nil || !strings.Contains(err.Error(), "input/output error") {
		t.Errorf("got %v", err)
	}
}
