// Package cutfs is a file system in user space for tests, whose power can be cut.
//
// kill -9 leaves the kernel's page cache as it is, so it never shows that a
// program forgot an fsync. A [Disk] keeps what a program wrote apart from what
// is durable: the contents of a file as of its last fsync, and the names in the
// folder as of the folder's last fsync. When its power is cut, each 512-byte
// sector and each name that was changed since then is kept or lost by chance, as
// POSIX allows and disks do. It also fails chosen calls, as a full or a worn disk
// would, and counts them all.
//
// A failed fsync throws away what it should have made durable, and a later one
// that succeeds does not bring it back, as on Linux (Rebello et al., Can
// Applications Recover from fsync Failures?, USENIX ATC 2020).
//
// A disk is one folder of regular files, served over FUSE on Linux. It has no
// folders within, no owners and no times. The process that serves it must not map
// its files: a page fault would wait for that same process.
package cutfs
