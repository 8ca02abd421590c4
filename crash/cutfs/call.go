package cutfs

import (
	"fmt"
	"syscall"
	"time"
)

// Kind is what a program asks of the disk.
type Kind int

// The kinds of calls. Grow and Shrink are truncations; SyncFolder is the fsync
// of the folder, Sync that of a file, also when it is an fdatasync.
const (
	Read Kind = iota
	Create
	Write
	Grow
	Shrink
	Sync
	SyncFolder
	Link
	Rename
	Unlink
	kinds
)

func (k Kind) String() string {
	return [kinds]string{"read", "create", "write", "grow", "shrink", "sync", "syncfolder", "link", "rename", "unlink"}[k]
}

// Call is one call, before it is done.
type Call struct {
	Kind  Kind
	Name  string // of the file; the new one of a link or a rename
	Off   int64  // bytes; of reads and writes
	Len   int64  // bytes; of truncations the size that the file shall have
	N     int    // it is the n-th of its kind, from 1
	Total int    // and the n-th of all that are not reads, from 1; 0 for a read
}

func (c Call) String() string {
	return fmt.Sprintf("%s %d of %s at %d+%d", c.Kind, c.N, c.Name, c.Off, c.Len)
}

// Moment is when the power is cut.
type Moment int

// The moments. After means after the call took effect and before the program hears of it.
const (
	Never Moment = iota
	Before
	After
)

// Verdict is what becomes of a call; the zero value lets it pass.
type Verdict struct {
	Fail    syscall.Errno // what the program is told, 0 for success
	Through int           // bytes of a failing write that reach the file all the same; alone it makes a short write
	Keep    float64       // of a failing fsync: chance of each sector to be durable all the same
	Delay   time.Duration // before anything happens
	Cut     Moment
}

// Gate judges every call. It runs while the disk is locked and must not use it.
type Gate func(Call) Verdict

// FailNth fails the n-th call of a kind, and, when it is to last, all later ones of the kind.
func FailNth(k Kind, n int, errno syscall.Errno, lasts bool) Gate {
	return func(c Call) Verdict {
		if c.Kind == k && (c.N == n || lasts && c.N > n) {
			return Verdict{Fail: errno}
		}
		return Verdict{}
	}
}

// CutAt cuts the power at the n-th call that is not a read.
func CutAt(n int, m Moment) Gate {
	return func(c Call) Verdict {
		if c.Total == n {
			return Verdict{Cut: m}
		}
		return Verdict{}
	}
}

// Loss is what a power cut leaves of what was written and never synced.
type Loss struct {
	Sectors float64 // chance of each changed sector of 512 bytes to be kept, 0 to 1
	Names   float64 // chance of each change of a name to be kept
	Torn    bool    // of the last write its first half is kept and its second lost
}
