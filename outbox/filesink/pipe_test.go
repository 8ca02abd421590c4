//go:build unix

package filesink

import (
	"strings"
	"syscall"
	"testing"
)

func TestAPipeIsRefusedAndDoesNotHang(t *testing.T) {
	s, path := place(t)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if f := failure(t, s.Deliver(t.Context(), message("m1"))); !strings.Contains(f.Reason, "is no plain file") {
		t.Errorf("reason %q", f.Reason)
	}
}
