//go:build linux || darwin

package store

import "syscall"

// freeSpace is how many bytes this process may still write to the file system
// of a path.
func freeSpace(path string) (n uint64, known bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return 0, false
	}
	return st.Bavail * uint64(st.Bsize), true
}
