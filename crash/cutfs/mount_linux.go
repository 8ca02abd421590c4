package cutfs

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// ErrNoFUSE tells that this machine lets the process mount nothing: there is no
// /dev/fuse, or the process is not root.
var ErrNoFUSE = errors.New("cutfs: no file systems in user space here")

// room is the size of the disk that statfs tells, in blocks of 4096 bytes.
const room = 1 << 20

// Mount is a disk that shows at a folder.
type Mount struct {
	server *fuse.Server
	disk   *Disk
	dir    string
}

// Mount shows the disk at an empty folder until Unmount. It needs root and /dev/fuse.
func (d *Disk) Mount(dir string) (*Mount, error) {
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNoFUSE, err)
	}
	_ = f.Close()
	s, err := fuse.NewServer(&bridge{fuse.NewDefaultRawFileSystem(), d}, dir, &fuse.MountOptions{
		FsName: "cutfs", Name: "cutfs", DirectMountStrict: true, DisableXAttrs: true, DisableReadDirPlus: true,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNoFUSE, err)
	}
	go s.Serve()
	if err := s.WaitMount(); err != nil {
		return nil, fmt.Errorf("cutfs: mount %s: %w", dir, err)
	}
	return &Mount{s, d, dir}, nil
}

// Forget makes the kernel forget what it has read of a file, mappings included,
// as it does when memory is short: the next access reads from the disk.
func (m *Mount) Forget(name string) error {
	id, errno := m.disk.lookup(name)
	if errno != 0 {
		return fmt.Errorf("cutfs: %s: %w", name, errno)
	}
	if st := m.server.InodeNotify(id, 0, 0); !st.Ok() {
		return fmt.Errorf("cutfs: forget %s: %v", name, st)
	}
	return nil
}

// Unmount ends the service. The processes that have files open there must be
// gone, or go within five seconds; otherwise the folder is detached from under them.
func (m *Mount) Unmount() error {
	var err error
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if err = syscall.Unmount(m.dir, 0); !errors.Is(err, syscall.EBUSY) {
			break
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("cutfs: unmount %s: %w", m.dir, err), syscall.Unmount(m.dir, syscall.MNT_DETACH))
	}
	m.server.Wait()
	return nil
}

// bridge speaks FUSE for a disk. The root folder is node 1. Nothing is
// remembered by the kernel but pages.
type bridge struct {
	fuse.RawFileSystem
	*Disk
}

func (b *bridge) String() string { return "cutfs" }

func (b *bridge) attr(id uint64, a *fuse.Attr) fuse.Status {
	if id == fuse.FUSE_ROOT_ID {
		a.Ino, a.Mode, a.Nlink = id, syscall.S_IFDIR|0o700, 2
		return fuse.OK
	}
	size, links, errno := b.size(id)
	a.Ino, a.Mode, a.Nlink = id, syscall.S_IFREG|0o600, uint32(links)
	a.Size, a.Blocks, a.Blksize = uint64(size), uint64(size+511)/512, 4096
	return fuse.Status(errno)
}

func (b *bridge) entry(id uint64, errno syscall.Errno, out *fuse.EntryOut) fuse.Status {
	if errno != 0 {
		return fuse.Status(errno)
	}
	out.NodeId, out.Generation = id, 1
	return b.attr(id, &out.Attr)
}

func (b *bridge) Lookup(_ <-chan struct{}, _ *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	id, errno := b.lookup(name)
	return b.entry(id, errno, out)
}

func (b *bridge) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	return b.attr(in.NodeId, &out.Attr)
}

// SetAttr changes the size; modes and times are taken and forgotten.
func (b *bridge) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	if size, ok := in.GetSize(); ok {
		if errno := b.resize(in.NodeId, int64(size)); errno != 0 {
			return fuse.Status(errno)
		}
	}
	return b.attr(in.NodeId, &out.Attr)
}

func (b *bridge) Create(_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	id, errno := b.create(name, in.Flags&syscall.O_EXCL != 0)
	return b.entry(id, errno, &out.EntryOut)
}

func (b *bridge) Mknod(<-chan struct{}, *fuse.MknodIn, string, *fuse.EntryOut) fuse.Status {
	return fuse.Status(syscall.EPERM)
}

func (b *bridge) Mkdir(<-chan struct{}, *fuse.MkdirIn, string, *fuse.EntryOut) fuse.Status {
	return fuse.Status(syscall.EPERM)
}

func (b *bridge) Open(_ <-chan struct{}, in *fuse.OpenIn, _ *fuse.OpenOut) fuse.Status {
	_, _, errno := b.size(in.NodeId)
	return fuse.Status(errno)
}

func (b *bridge) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	buf = buf[:min(len(buf), int(in.Size))]
	n, errno := b.read(in.NodeId, int64(in.Offset), buf)
	return fuse.ReadResultData(buf[:n]), fuse.Status(errno)
}

func (b *bridge) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	n, errno := b.write(in.NodeId, int64(in.Offset), data)
	return uint32(n), fuse.Status(errno)
}

func (b *bridge) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return fuse.Status(b.sync(in.NodeId))
}

func (b *bridge) FsyncDir(<-chan struct{}, *fuse.FsyncIn) fuse.Status {
	return fuse.Status(b.syncFolder())
}

func (b *bridge) Link(_ <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	return b.entry(in.Oldnodeid, b.link(in.Oldnodeid, name), out)
}

func (b *bridge) Rename(_ <-chan struct{}, in *fuse.RenameIn, from, to string) fuse.Status {
	const noReplace = 1 // RENAME_NOREPLACE
	if in.Flags&^noReplace != 0 {
		return fuse.Status(syscall.EINVAL)
	}
	return fuse.Status(b.rename(from, to, in.Flags&noReplace != 0))
}

func (b *bridge) Unlink(_ <-chan struct{}, _ *fuse.InHeader, name string) fuse.Status {
	return fuse.Status(b.unlink(name))
}

func (b *bridge) OpenDir(<-chan struct{}, *fuse.OpenIn, *fuse.OpenOut) fuse.Status { return fuse.OK }

func (b *bridge) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	ids := b.list()
	names := slices.Sorted(maps.Keys(ids))
	for i := int(in.Offset); i < len(names); i++ {
		if !out.AddDirEntry(fuse.DirEntry{Name: names[i], Ino: ids[names[i]], Mode: syscall.S_IFREG, Off: uint64(i + 1)}) {
			break
		}
	}
	return fuse.OK
}

func (b *bridge) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	out.Blocks, out.Bfree, out.Bavail, out.Bsize, out.Frsize, out.NameLen = room, room/2, room/2, 4096, 4096, 255
	return fuse.OK
}
