package boot

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// mounts in order. A guest serves without some of them, with fewer abilities.
var mounts = []struct {
	kind, point, options string
	needed               bool
}{
	{"proc", "/proc", "", true},
	{"sysfs", "/sys", "", true},
	{"devtmpfs", "/dev", "", true},
	{"devpts", "/dev/pts", "", false},
	{"tmpfs", "/dev/shm", "mode=1777", false},
	{"tmpfs", "/tmp", "mode=1777", true},
	{"tmpfs", "/run", "mode=0755", true},
	{"cgroup2", "/sys/fs/cgroup", "", false},
	{"debugfs", "/sys/kernel/debug", "", false},
	{"configfs", "/sys/kernel/config", "", false},
}

func mountAll() error {
	for _, m := range mounts {
		err := os.MkdirAll(m.point, 0o755)
		if err == nil {
			err = unix.Mount(m.kind, m.point, m.kind, 0, m.options)
		}
		// The kernel may have mounted /dev.
		if err != nil && m.needed && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("mount %s on %s: %w", m.kind, m.point, err)
		}
	}
	return nil
}

// link creates links to a program in /bin, for names that the guest lacks.
func link(self string, names []string) error {
	if err := os.MkdirAll("/bin", 0o755); err != nil {
		return err
	}
	for _, name := range names {
		err := os.Symlink(self, filepath.Join("/bin", name))
		if err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("create a link for program %s: %w", name, err)
		}
	}
	return nil
}
