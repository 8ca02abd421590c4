package store

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hazard tells whether a Linux kernel may leave a bbolt file unreadable after a
// power cut: from 5.10, until it was mended in 5.10.94, 5.15.27 and 5.17, ext4's
// fast_commit could lose parts of what was synced (bbolt's README, "Known
// Issues"). release is as in uname -r, options are the file system's, separated
// by blanks, commas or lines. "" means no. Distributions that mend a kernel
// without counting it up are warned about too.
func hazard(release, options string) string {
	if !slices.Contains(strings.FieldsFunc(options, func(r rune) bool { return strings.ContainsRune(" ,\t\n", r) }), "fast_commit") {
		return ""
	}
	var major, minor, patch int
	if n, _ := fmt.Sscanf(release, "%d.%d.%d", &major, &minor, &patch); n < 2 || major != 5 {
		return ""
	}
	if minor == 10 && patch <= 93 || minor >= 11 && minor <= 14 || minor == 15 && patch <= 26 || minor == 16 {
		return "Linux " + release + " with ext4 fast_commit may damage the database when the power fails. " +
			"Update the kernel to 5.10.94, 5.15.27, 5.17 or later, or turn fast_commit off with tune2fs -O ^fast_commit."
	}
	return ""
}

// diskHazard looks at the kernel and at the file system of a folder, as far as
// Linux shows them; elsewhere it finds nothing.
func diskHazard(dir string) string {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return ""
	}
	device, options := mountOf(string(mounts), dir)
	if name, err := os.Readlink("/sys/dev/block/" + device); err == nil {
		if more, err := os.ReadFile("/proc/fs/ext4/" + filepath.Base(name) + "/options"); err == nil {
			options += " " + string(more)
		}
	}
	return hazard(strings.TrimSpace(string(release)), options)
}

// mountOf finds the mount that a folder lies in: its device as major:minor, and
// its options when it is ext4 (proc(5), mountinfo).
func mountOf(mountinfo, dir string) (device, options string) {
	best := -1
	for line := range strings.Lines(mountinfo) {
		left, right, _ := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if len(l) < 6 || len(r) < 3 {
			continue
		}
		point := strings.ReplaceAll(l[4], `\040`, " ")
		inside := point == "/" || dir == point || strings.HasPrefix(dir, point+"/")
		if inside && len(point) >= best { // a later mount hides an earlier one
			best, device, options = len(point), l[2], ""
			if r[0] == "ext4" {
				options = l[5] + "," + r[2]
			}
		}
	}
	return device, options
}
