package store

import (
	"os"
	"strings"
	"testing"
)

func TestB79KernelsThatMayDamageTheFileAreWarnedAbout(t *testing.T) {
	const on, off = "rw,relatime,fast_commit", "rw,relatime,nofast_commit"
	for _, c := range []struct {
		release, options string
		bad              bool
	}{
		{"5.9.16", on, false},
		{"5.10.0", on, true},
		{"5.10.0-21-amd64", on, true},
		{"5.10.93", on, true},
		{"5.10.94", on, false},
		{"5.10.209", on, false},
		{"5.11.5", on, true},
		{"5.14.21", on, true},
		{"5.15.0", on, true},
		{"5.15.26-generic", on, true},
		{"5.15.27", on, false},
		{"5.16.0", on, true},
		{"5.16.20", on, true},
		{"5.17.0", on, false},
		{"6.1.0-18-amd64", on, false},
		{"4.19.0", on, false},
		{"15.10.1", on, false},
		{"5.15", on, true},
		{"5.10.0", off, false},
		{"5.10.0", "", false},
		{"5.10.0", "rw\nfast_commit\nacl\n", true},
		{"5.10.0", "rw fast_commit", true},
		{"", on, false},
		{"unknown", on, false},
	} {
		got := hazard(c.release, c.options)
		if (got != "") != c.bad {
			t.Errorf("%s with %q: %q, want a warning: %v", c.release, c.options, got, c.bad)
		}
		if c.bad && (!strings.Contains(got, c.release) || !strings.Contains(got, "fast_commit") || !strings.Contains(got, "power")) {
			t.Errorf("%q does not say what and why", got)
		}
	}
}

func TestMountOfAFolderIsTheDeepestOne(t *testing.T) {
	const mounts = `22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
30 27 254:1 / /srv rw,noatime shared:5 - ext4 /dev/vdb rw,fast_commit
31 30 0:33 / /srv/tmp\040x rw - tmpfs tmpfs rw
broken line
`
	for dir, want := range map[string][2]string{
		"/var/lib/foyer": {"254:0", "rw,relatime,rw,discard"},
		"/srv":           {"254:1", "rw,noatime,rw,fast_commit"},
		"/srv/foyer":     {"254:1", "rw,noatime,rw,fast_commit"},
		"/srvx":          {"254:0", "rw,relatime,rw,discard"},
		"/srv/tmp x/y":   {"0:33", ""},
	} {
		if device, options := mountOf(mounts, dir); device != want[0] || options != want[1] {
			t.Errorf("%s: got %s with %q, want %v", dir, device, options, want)
		}
	}
	if device, _ := mountOf("", "/srv"); device != "" {
		t.Errorf("without mounts: %q", device)
	}
}

func TestLookingAtThisMachineFindsAMount(t *testing.T) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Skip("no Linux")
	}
	if device, _ := mountOf(string(mounts), "/"); device == "" {
		t.Error("the root folder has no device")
	}
	if h := diskHazard(t.TempDir()); strings.Contains(h, "%!") {
		t.Error(h)
	}
}
