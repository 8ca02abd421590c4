package store_test

import "syscall"

// setfsuid changes the file system user of this thread alone.
func setfsuid(id int) error {
	_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, uintptr(id), 0, 0)
	if now, _, _ := syscall.RawSyscall(syscall.SYS_SETFSUID, ^uintptr(0), 0, 0); int(now) != id {
		return syscall.EPERM
	}
	return nil
}
