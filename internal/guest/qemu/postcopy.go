package qemu

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// MayPostcopy is why this user's QEMU cannot migrate by postcopy: it needs userfaultfd for
// faults in kernel mode, which most systems reserve to root.
func MayPostcopy() error { return mayPostcopy(userfaultfd) }

func mayPostcopy(open func() (int, error)) error {
	fd, err := open()
	if err != nil {
		return fmt.Errorf("postcopy needs userfaultfd: %w: run plimsoll as root, or have root set vm.unprivileged_userfaultfd to 1", err)
	}
	return unix.Close(fd)
}

func userfaultfd() (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|unix.O_NONBLOCK, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}
