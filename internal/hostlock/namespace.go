package hostlock

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// NetworkNamespace names the network namespace of this process by its cookie. The kernel
// gives the inode of a namespace that is gone to another one, and its cookie to none.
func NetworkNamespace() (string, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	cookie, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	if errors.Is(err, unix.ENOPROTOOPT) { // before Linux 5.14
		inode, err := os.Readlink("/proc/self/ns/net")
		return inode, err
	}
	return fmt.Sprintf("network namespace %d", cookie), err
}

// within adds the network namespace to names of settings that each namespace has.
func within(space string, names []string) []string {
	names = slices.Clone(names)
	for i, name := range names {
		if !strings.HasPrefix(name, "/") || strings.HasPrefix(name, "/proc/sys/net/") || strings.HasPrefix(name, "/sys/class/net/") {
			names[i] += " in " + space
		}
	}
	return names
}
