package reflector

import (
	"net"
	"os"
	"syscall"
	"unsafe"

	"plimsoll/internal/load/peer"
)

// Socket options that package syscall lacks.
const (
	soReusePort   = 15
	soMemInfo     = 55
	dropsOfSocket = 8 // index in the array of soMemInfo
)

// socketOf describes a socket to create.
type socketOf struct {
	local  *net.TCPAddr // of the control connection: data uses the same address
	test   peer.Test
	port   int // 0: any free port
	shared bool
}

// listen opens the thread's socket and describes it in ready.
func (th *thread) listen(s socketOf, ready *peer.Ready) error {
	address, family, err := peer.Sockaddr(&net.TCPAddr{IP: s.local.IP, Port: s.port, Zone: s.local.Zone})
	if err != nil {
		return err
	}
	kind := syscall.SOCK_STREAM
	if s.test.Network == "udp" {
		kind = syscall.SOCK_DGRAM
	}
	fd, err := syscall.Socket(family, kind|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	th.socket = fd
	if s.shared {
		if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, soReusePort, 1); err != nil {
			return os.NewSyscallError("share a port", err)
		}
	}
	if err := peer.SetBuffers(fd, s.test.SendBuffer, s.test.ReceiveBuffer); err != nil {
		return err
	}
	if s.test.Network == "tcp" {
		// Accepted connections inherit these.
		limit := syscall.NsecToTimeval(rest * 1e6)
		if err := syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &limit); err != nil {
			return os.NewSyscallError("limit how long to wait", err)
		}
	}
	if s.test.Network == "tcp" && s.test.NoDelay {
		if err := syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1); err != nil {
			return os.NewSyscallError("set TCP_NODELAY", err)
		}
	}
	if err := syscall.Bind(fd, address); err != nil {
		return os.NewSyscallError("bind", err)
	}
	if s.test.Network == "tcp" {
		if err := syscall.Listen(fd, 4096); err != nil {
			return os.NewSyscallError("listen", err)
		}
	}
	if err := watch(th.epoll, syscall.EPOLL_CTL_ADD, fd, syscall.EPOLLIN); err != 0 {
		return os.NewSyscallError("epoll_ctl", err)
	}
	return describe(fd, s.test, ready)
}

func describe(fd int, t peer.Test, ready *peer.Ready) (err error) {
	get := func(level, option int) int {
		n, e := syscall.GetsockoptInt(fd, level, option)
		if e != nil && err == nil {
			err = os.NewSyscallError("getsockopt", e)
		}
		return n
	}
	ready.SendBuffer = get(syscall.SOL_SOCKET, syscall.SO_SNDBUF)
	ready.ReceiveBuffer = get(syscall.SOL_SOCKET, syscall.SO_RCVBUF)
	if t.Network == "tcp" {
		ready.NoDelay = get(syscall.IPPROTO_TCP, syscall.TCP_NODELAY) != 0
	}
	own, e := syscall.Getsockname(fd)
	if e != nil {
		return os.NewSyscallError("getsockname", e)
	}
	switch a := own.(type) {
	case *syscall.SockaddrInet4:
		ready.Port = a.Port
	case *syscall.SockaddrInet6:
		ready.Port = a.Port
	}
	return err
}

// overflows is the number of datagrams that the kernel dropped at a socket with a full buffer.
func overflows(fd int) int64 {
	var info [9]uint32
	size := uint32(unsafe.Sizeof(info))
	_, _, err := syscall.RawSyscall6(syscall.SYS_GETSOCKOPT, uintptr(fd), syscall.SOL_SOCKET, soMemInfo, uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if err != 0 || size < 4*(dropsOfSocket+1) {
		return 0
	}
	return int64(info[dropsOfSocket])
}

// host is an address without its port, in the form of IPv6.
type host [16]byte

func hostOf(from *syscall.RawSockaddrAny) (h host) {
	switch from.Addr.Family {
	case syscall.AF_INET:
		a := (*syscall.RawSockaddrInet4)(unsafe.Pointer(from))
		h[10], h[11] = 0xff, 0xff
		copy(h[12:], a.Addr[:])
	case syscall.AF_INET6:
		h = (*syscall.RawSockaddrInet6)(unsafe.Pointer(from)).Addr
	}
	return h
}
