package peer

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

// Sockaddr is an address as the kernel takes it, with the family of its sockets.
func Sockaddr(a *net.TCPAddr) (at syscall.Sockaddr, family int, err error) {
	if ip := a.IP.To4(); ip != nil {
		return &syscall.SockaddrInet4{Port: a.Port, Addr: [4]byte(ip)}, syscall.AF_INET, nil
	}
	six := &syscall.SockaddrInet6{Port: a.Port, Addr: [16]byte(a.IP.To16())}
	if a.Zone != "" {
		if i, err := net.InterfaceByName(a.Zone); err == nil {
			six.ZoneId = uint32(i.Index)
		} else if n, other := strconv.ParseUint(a.Zone, 10, 32); other == nil {
			six.ZoneId = uint32(n)
		} else {
			return nil, 0, fmt.Errorf("find network device %s: %w", a.Zone, err)
		}
	}
	return six, syscall.AF_INET6, nil
}

// Options of sockets that package syscall does not name.
const (
	soSndBufForce = 32
	soRcvBufForce = 33
)

// SetBuffers sets the buffer sizes of a socket, beyond the system's limit with the
// privilege; 0 keeps the default.
func SetBuffers(fd, send, receive int) error {
	for _, b := range []struct{ size, force, ask int }{
		{send, soSndBufForce, syscall.SO_SNDBUF}, {receive, soRcvBufForce, syscall.SO_RCVBUF},
	} {
		if b.size == 0 || syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, b.force, b.size) == nil {
			continue
		}
		if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, b.ask, b.size); err != nil {
			return os.NewSyscallError("set a socket buffer", err)
		}
	}
	return nil
}
