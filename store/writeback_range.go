//go:build linux && !arm

package store

import (
	"errors"
	"os"
	"syscall"
)

// writeBack brings a part of a file to the disk without a commit of the file
// system's journal (sync_file_range(2)): what is dirty stays little, and the
// writer's next fdatasync does not find hundreds of megabytes before it. It
// makes nothing durable.
func writeBack(f *os.File, off, n int64) error {
	const all = 1 | 2 | 4 // wait before, write, wait after
	err := syscall.SyncFileRange(int(f.Fd()), off, n, all)
	if errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ESPIPE) {
		return nil // a file system that has no such thing
	}
	return err
}
