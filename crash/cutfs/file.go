package cutfs

import (
	"bytes"
	"maps"
	"syscall"
)

// name gives one of a file's names, for gates and traces.
func (d *Disk) name(id uint64) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, n := range d.names {
		if n == id {
			return name
		}
	}
	return ""
}

// size is a file's size in bytes and the count of its names.
func (d *Disk) size(id uint64) (size int64, links int, errno syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.nodes[id]
	if n == nil {
		return 0, 0, syscall.ENOENT
	}
	for _, other := range d.names {
		if other == id {
			links++
		}
	}
	return n.data.size, links, 0
}

func (d *Disk) lookup(name string) (id uint64, errno syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return 0, syscall.EIO
	}
	id, ok := d.names[name]
	if !ok {
		return 0, syscall.ENOENT
	}
	return id, 0
}

func (d *Disk) list() map[string]uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.names)
}

func (d *Disk) read(id uint64, off int64, b []byte) (int, syscall.Errno) {
	v, errno := d.enter(Call{Kind: Read, Name: d.name(id), Off: off, Len: int64(len(b))})
	if errno != 0 {
		return 0, errno
	}
	n := d.nodes[id].data.read(off, b)
	return n, d.leave(v)
}

// write gives the bytes that were written, which may be fewer than asked.
func (d *Disk) write(id uint64, off int64, b []byte) (int, syscall.Errno) {
	v, errno := d.enter(Call{Kind: Write, Name: d.name(id), Off: off, Len: int64(len(b))})
	if errno != 0 {
		return 0, errno
	}
	if v.Through > 0 {
		b = b[:min(len(b), v.Through)]
	}
	d.nodes[id].change(write{off, bytes.Clone(b)})
	return len(b), d.leave(v)
}

func (d *Disk) resize(id uint64, size int64) syscall.Errno {
	old, _, errno := d.size(id)
	if errno != 0 {
		return errno
	}
	kind := Grow
	if size < old {
		kind = Shrink
	}
	v, errno := d.enter(Call{Kind: kind, Name: d.name(id), Len: size})
	if errno != 0 {
		return errno
	}
	d.nodes[id].change(write{off: size})
	return d.leave(v)
}

func (n *node) change(w write) {
	w.apply(n.data)
	n.log = append(n.log, w)
}

// sync makes a file's contents durable. When it fails some of them are, by
// chance, and the disk forgets that the rest was never written.
func (d *Disk) sync(id uint64) syscall.Errno {
	v, errno := d.enter(Call{Kind: Sync, Name: d.name(id)})
	if errno != 0 {
		return errno
	}
	n := d.nodes[id]
	if v.Fail != 0 {
		n.synced = n.remains(Loss{Sectors: v.Keep}, d.rng)
	} else {
		for _, w := range n.log {
			w.apply(n.synced)
		}
	}
	n.log = nil
	return d.leave(v)
}

func (d *Disk) syncFolder() syscall.Errno {
	v, errno := d.enter(Call{Kind: SyncFolder})
	if errno != 0 {
		return errno
	}
	d.kept, d.moves = maps.Clone(d.names), nil
	return d.leave(v)
}

func (d *Disk) change(v move) {
	v.apply(d.names)
	d.moves = append(d.moves, v)
}

// create gives the file of that name, and makes it when there is none.
func (d *Disk) create(name string, exclusive bool) (id uint64, errno syscall.Errno) {
	v, errno := d.enter(Call{Kind: Create, Name: name})
	if errno != 0 {
		return 0, errno
	}
	id, there := d.names[name]
	switch {
	case there && exclusive:
		v.Fail = syscall.EEXIST
	case !there:
		id = d.newNode().id
		d.change(move{to: name, node: id})
	}
	return id, d.leave(v)
}

func (d *Disk) link(id uint64, name string) syscall.Errno {
	v, errno := d.enter(Call{Kind: Link, Name: name})
	if errno != 0 {
		return errno
	}
	if _, there := d.names[name]; there {
		v.Fail = syscall.EEXIST
	} else {
		d.change(move{to: name, node: id})
	}
	return d.leave(v)
}

// rename moves a name; with noReplace it fails when the new one is there.
func (d *Disk) rename(from, to string, noReplace bool) syscall.Errno {
	v, errno := d.enter(Call{Kind: Rename, Name: to})
	if errno != 0 {
		return errno
	}
	id, there := d.names[from]
	other, taken := d.names[to]
	switch {
	case !there:
		v.Fail = syscall.ENOENT
	case taken && noReplace:
		v.Fail = syscall.EEXIST
	case other != id: // of two names of one file rename(2) leaves both
		d.change(move{from: from, to: to, node: id})
	}
	return d.leave(v)
}

func (d *Disk) unlink(name string) syscall.Errno {
	v, errno := d.enter(Call{Kind: Unlink, Name: name})
	if errno != 0 {
		return errno
	}
	if _, there := d.names[name]; !there {
		v.Fail = syscall.ENOENT
	} else {
		d.change(move{to: name})
	}
	return d.leave(v)
}
