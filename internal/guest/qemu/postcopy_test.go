package qemu

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// An account without access to userfaultfd is refused before the migration, with the command
// for root.
func TestPostcopyIsRefusedWithoutUserfaultfd(t *testing.T) {
	err := mayPostcopy(func() (int, error) { return -1, unix.EPERM })
	if err == nil || !strings.Contains(err.Error(), "operation not permitted") || !strings.Contains(err.Error(), "vm.unprivileged_userfaultfd") {
		t.Errorf("got %v", err)
	}
	if err := mayPostcopy(func() (int, error) { return unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0) }); err != nil {
		t.Error(err)
	}
}
