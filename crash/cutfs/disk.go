package cutfs

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"
)

// sector is what a disk writes whole or not at all, in bytes.
const sector = 512

// Disk is one folder of files. Its methods may be called side by side.
type Disk struct {
	mu     sync.Mutex
	rng    *rand.Rand // of failed syncs
	gate   Gate
	nodes  map[uint64]*node
	next   uint64
	names  map[string]uint64 // as programs see them
	kept   map[string]uint64 // as of the last fsync of the folder
	moves  []move            // changes of names since then
	calls  []Call            // all but the reads
	counts [kinds]int
	dead   bool
	cut    chan struct{} // closed when dead
}

// node is a file, whatever its names.
type node struct {
	id     uint64
	data   *Content // as programs see it
	synced *Content // as of the last fsync
	log    []write  // changes since then
}

// write is a write, or a change of the size when data is nil.
type write struct {
	off  int64
	data []byte
}

// move is a change of names that happens whole or not at all: to becomes node,
// and from, if any, is gone. A node of 0 takes to away.
type move struct {
	from, to string
	node     uint64
}

// New makes a disk with the files of an image, all of them durable. The seed
// decides what failed syncs lose.
func New(m Image, seed uint64) *Disk {
	d := &Disk{
		rng: rand.New(rand.NewPCG(seed, 0)), gate: func(Call) Verdict { return Verdict{} },
		nodes: map[uint64]*node{}, next: 2, names: map[string]uint64{}, cut: make(chan struct{}),
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		n := d.newNode()
		n.data, n.synced = m[name].clone(), m[name].clone()
		d.names[name] = n.id
	}
	d.kept = maps.Clone(d.names)
	return d
}

func (d *Disk) newNode() *node {
	n := &node{id: d.next, data: ContentOf(nil), synced: ContentOf(nil)}
	d.next++
	d.nodes[n.id] = n
	return n
}

// Judge puts a gate before all later calls; nil lets them pass.
func (d *Disk) Judge(g Gate) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if g == nil {
		g = func(Call) Verdict { return Verdict{} }
	}
	d.gate = g
}

// Calls are all calls so far that were not reads, in order, also those that failed.
func (d *Disk) Calls() []Call {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls)
}

// Done is closed when the power is cut.
func (d *Disk) Done() <-chan struct{} { return d.cut }

// Cut cuts the power: from now on every call fails with EIO. A second cut does nothing.
func (d *Disk) Cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cutNow()
}

// Left is what a cut may have left of the files, one outcome for each loss and
// seed, and nil while there is power.
func (d *Disk) Left(l Loss, seed uint64) Image {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.dead {
		return nil
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	names := maps.Clone(d.kept)
	for _, v := range d.moves {
		if rng.Float64() < l.Names {
			v.apply(names)
		}
	}
	m := Image{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		m[name] = d.nodes[names[name]].remains(l, rng)
	}
	return m
}

// Written is what programs see, as it stays after a kill without a power cut.
func (d *Disk) Written() Image {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := Image{}
	for name, id := range d.names {
		m[name] = d.nodes[id].data.clone()
	}
	return m
}

func (d *Disk) cutNow() {
	if !d.dead {
		d.dead = true
		close(d.cut)
	}
}

func (v move) apply(names map[string]uint64) {
	if v.from != "" && names[v.from] == v.node {
		delete(names, v.from)
	}
	if v.node == 0 {
		delete(names, v.to)
	} else {
		names[v.to] = v.node
	}
}

// remains is what a disk without power has of a file: what was synced, and by
// chance parts of what was written since, in any order.
func (n *node) remains(l Loss, rng *rand.Rand) *Content {
	c, log := n.synced.clone(), slices.Clone(n.log)
	if l.Torn && len(log) > 0 && log[len(log)-1].data != nil {
		last := log[len(log)-1]
		c.write(last.off, last.data[:len(last.data)/2])
		log = log[:len(log)-1]
	}
	if l.Sectors < 1 { // kept whole, they are kept in order too
		rng.Shuffle(len(log), func(i, j int) { log[i], log[j] = log[j], log[i] })
	}
	for _, w := range log {
		if w.data == nil {
			if rng.Float64() < l.Sectors {
				c.resize(w.off)
			}
			continue
		}
		for i := 0; i < len(w.data); {
			end := min(len(w.data), i+sector-int((w.off+int64(i))%sector))
			if rng.Float64() < l.Sectors {
				c.write(w.off+int64(i), w.data[i:end])
			}
			i = end
		}
	}
	return c
}

func (w write) apply(c *Content) {
	if w.data == nil {
		c.resize(w.off)
	} else {
		c.write(w.off, w.data)
	}
}

// enter locks the disk, counts the call and lets the gate judge it. When it
// gives an error the call is over, otherwise the caller does it, with at most
// limit bytes of a write, and then calls leave with what is to be told.
func (d *Disk) enter(c Call) (v Verdict, errno syscall.Errno) {
	d.mu.Lock()
	if d.dead {
		d.mu.Unlock()
		return v, syscall.EIO
	}
	d.counts[c.Kind]++
	c.N = d.counts[c.Kind]
	if c.Kind != Read {
		c.Total = len(d.calls) + 1
		d.calls = append(d.calls, c)
	}
	v = d.gate(c)
	if v.Delay > 0 {
		d.mu.Unlock()
		time.Sleep(v.Delay)
		d.mu.Lock()
	}
	if v.Cut == Before {
		d.cutNow()
	}
	if d.dead {
		d.mu.Unlock()
		return v, syscall.EIO
	}
	if v.Fail != 0 && v.Through == 0 && c.Kind != Sync {
		d.mu.Unlock()
		return v, v.Fail
	}
	return v, 0
}

// leave ends what enter began.
func (d *Disk) leave(v Verdict) syscall.Errno {
	defer d.mu.Unlock()
	if v.Cut == After {
		d.cutNow()
		return syscall.EIO
	}
	return v.Fail
}
