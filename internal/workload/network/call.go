package network

import (
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"plimsoll/internal/load/peer"
)

// The threads of a stream make their system calls without telling the Go scheduler,
// which would else hand on their place at each of them. They never wait longer than a
// rest, so that what stops the world has to wait no longer either.
const rest = 10 * time.Millisecond

// Options of sockets and processes that package syscall does not name.
const (
	solUDP     = 17
	udpSegment = 103
	prSetSlack = 29
)

// opened makes a socket and sets its options. It does not wait in any call.
func opened(address string, n *network) (fd int, err error) {
	a, err := net.ResolveTCPAddr("tcp", address) // it serves UDP as well
	if err != nil {
		return 0, err
	}
	target, family, err := peer.Sockaddr(a)
	if err != nil {
		return 0, err
	}
	kind := syscall.SOCK_STREAM
	if n.protocol() == "udp" {
		kind = syscall.SOCK_DGRAM
	}
	if fd, err = syscall.Socket(family, kind|syscall.SOCK_CLOEXEC, 0); err != nil {
		return 0, os.NewSyscallError("socket", err)
	}
	if err = n.equip(fd); err == nil {
		err = os.NewSyscallError("connect", syscall.Connect(fd, target))
	}
	if err == nil {
		err = os.NewSyscallError("set a socket not to wait", syscall.SetNonblock(fd, true))
	}
	if err != nil {
		syscall.Close(fd) //nolint:errcheck // it was never used
		return 0, err
	}
	return fd, nil
}

// equip sets the options of a socket that is not connected yet.
func (n *network) equip(fd int) error {
	if n.protocol() == "tcp" {
		on := 0
		if n.NoDelay {
			on = 1
		}
		if err := syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, on); err != nil {
			return os.NewSyscallError("set TCP_NODELAY", err)
		}
	}
	return peer.SetBuffers(fd, int(n.Buffer), int(n.Buffer))
}

// equipment is what the kernel says of a socket.
type equipment struct {
	send, receive int // bytes; Linux counts twice what was asked
	noDelay       bool
}

func (n *network) equipment(fd int) (e equipment, err error) {
	if e.send, err = syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_SNDBUF); err != nil {
		return e, os.NewSyscallError("read a socket buffer", err)
	}
	if e.receive, err = syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUF); err != nil {
		return e, os.NewSyscallError("read a socket buffer", err)
	}
	if n.protocol() == "tcp" {
		on, err := syscall.GetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY)
		if err != nil {
			return e, os.NewSyscallError("read TCP_NODELAY", err)
		}
		e.noDelay = on != 0
	}
	return e, nil
}

// push gives bytes to a connected socket, without waiting.
func push(fd int, data []byte) (int, syscall.Errno) {
	n, _, err := syscall.RawSyscall6(syscall.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)), syscall.MSG_NOSIGNAL|syscall.MSG_DONTWAIT, 0, 0)
	if err != 0 {
		return 0, err
	}
	return int(n), 0
}

// pollFD is struct pollfd.
type pollFD struct {
	fd              int32
	events, revents int16
}

const pollOut = 4

// await waits until one of the sockets takes more, or for the time given.
//
//go:noinline
func await(sockets []pollFD, most time.Duration) {
	limit := syscall.NsecToTimespec(int64(max(0, min(most, rest))))
	var first *pollFD
	if len(sockets) > 0 {
		first = &sockets[0]
	}
	syscall.RawSyscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(first)), uintptr(len(sockets)), uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
}

// precise has the kernel wake this thread when it is told to, not up to 50 us later;
// 0 has it as it was.
func precise(slack uintptr) { syscall.RawSyscall(syscall.SYS_PRCTL, prSetSlack, slack, 0) }
