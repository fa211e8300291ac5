package network

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// header is the length of struct nlmsghdr.
const header = 16

// dumpRequest is a netlink message that asks for all objects.
func dumpRequest(kind uint16, body []byte) []byte {
	m := make([]byte, header, header+len(body))
	binary.NativeEndian.PutUint32(m, uint32(header+len(body)))
	binary.NativeEndian.PutUint16(m[4:], kind)
	binary.NativeEndian.PutUint16(m[6:], syscall.NLM_F_REQUEST|syscall.NLM_F_DUMP)
	return append(m, body...)
}

// attributes calls use for each attribute; a truncated one ends the list.
func attributes(b []byte, use func(kind uint16, value []byte)) {
	for len(b) >= 4 {
		n := int(binary.NativeEndian.Uint16(b))
		if n < 4 || n > len(b) {
			return
		}
		use(binary.NativeEndian.Uint16(b[2:])&^(1<<15), b[4:n])
		b = b[min(len(b), (n+3)&^3):]
	}
}

// messages calls use for each message of a datagram and reports whether the dump has ended.
func messages(b []byte, use func(kind uint16, body []byte)) (done bool, err error) {
	for len(b) >= header {
		n := int(binary.NativeEndian.Uint32(b))
		if n < header || n > len(b) {
			return true, errors.New("truncated netlink message")
		}
		kind, body := binary.NativeEndian.Uint16(b[4:]), b[header:n]
		switch kind {
		case syscall.NLMSG_DONE:
			return true, nil
		case syscall.NLMSG_ERROR:
			if len(body) >= 4 {
				if code := int32(binary.NativeEndian.Uint32(body)); code != 0 {
					return true, syscall.Errno(-code)
				}
			}
			return true, nil
		default:
			use(kind, body)
		}
		b = b[min(len(b), (n+3)&^3):]
	}
	return false, nil
}

// Local is the kernel of this host. It keeps a netlink socket per network namespace and protocol.
func Local() Kernel { return &local{conns: map[[2]int]int{}} }

type local struct {
	conns  map[[2]int]int // by process and protocol
	buffer []byte
}

// patience bounds the wait for an answer of the kernel, in seconds.
const patience = 5

func (l *local) Dump(pid, protocol int, request []byte, use func(kind uint16, body []byte)) error {
	fd, err := l.conn(pid, protocol)
	if err != nil {
		return err
	}
	if l.buffer == nil {
		l.buffer = make([]byte, 64<<10)
	}
	if err = syscall.Sendto(fd, request, 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err == nil {
		err = l.receive(fd, use)
	}
	if err != nil {
		_ = syscall.Close(fd)
		delete(l.conns, [2]int{pid, protocol})
		return fmt.Errorf("ask the kernel by netlink: %w", err)
	}
	return nil
}

func (l *local) receive(fd int, use func(kind uint16, body []byte)) error {
	for {
		n, _, err := syscall.Recvfrom(fd, l.buffer, 0)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if done, err := messages(l.buffer[:n], use); done || err != nil {
			return err
		}
	}
}

// conn is a socket in the namespace of a process. It closes those of processes that have ended,
// which would keep their namespaces alive.
func (l *local) conn(pid, protocol int) (int, error) {
	for key, fd := range l.conns {
		if key[0] != 0 {
			if _, err := os.Stat("/proc/" + strconv.Itoa(key[0])); err != nil {
				_ = syscall.Close(fd)
				delete(l.conns, key)
			}
		}
	}
	if fd, ok := l.conns[[2]int{pid, protocol}]; ok {
		return fd, nil
	}
	fd, err := open(pid, protocol)
	if err != nil {
		return -1, err
	}
	l.conns[[2]int{pid, protocol}] = fd
	return fd, nil
}

// open makes a netlink socket in the network namespace of a process.
func open(pid, protocol int) (int, error) {
	if pid == 0 {
		return newSocket(protocol)
	}
	type result struct {
		fd  int
		err error
	}
	made := make(chan result)
	go elsewhere(func() {
		fd, err := enter(pid, protocol)
		made <- result{fd, err}
	})
	r := <-made
	return r.fd, r.err
}

// elsewhere runs a function on a thread that ends with it. That cannot be the first thread of the
// process, which /proc/self shows.
func elsewhere(run func()) {
	runtime.LockOSThread()
	if syscall.Gettid() != os.Getpid() {
		run()
		return // not unlocked: the thread ends
	}
	defer runtime.UnlockOSThread()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		run()
	}()
	<-done
}

// enter moves this thread to the network namespace of a process and makes a socket there.
func enter(pid, protocol int) (int, error) {
	space, err := os.Open("/proc/" + strconv.Itoa(pid) + "/ns/net")
	if err != nil {
		return -1, err
	}
	defer space.Close() //nolint:errcheck // only read
	if err := unix.Setns(int(space.Fd()), unix.CLONE_NEWNET); err != nil {
		return -1, fmt.Errorf("enter the network namespace of process %d: %w", pid, err)
	}
	return newSocket(protocol)
}

func newSocket(protocol int) (int, error) {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, protocol)
	if err != nil {
		return -1, fmt.Errorf("open a netlink socket: %w", err)
	}
	if err := syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &syscall.Timeval{Sec: patience}); err != nil {
		_ = syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}
