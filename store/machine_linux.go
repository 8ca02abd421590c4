package store

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ThisMachine is the machine at hand. On Linux its boot clock counts sleep
// (clock_gettime(2), CLOCK_BOOTTIME) and each start has a name of its own
// (random(4), boot_id).
func ThisMachine() *Machine {
	m := &Machine{Boot: sinceBoot}
	if id, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		m.Run = strings.TrimSpace(string(id))
	}
	return m
}

func sinceBoot() (time.Duration, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts)
	return time.Duration(ts.Nano()), err
}
