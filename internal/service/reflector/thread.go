package reflector

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"plimsoll/internal/load/peer"
)

// rest is the maximum time of a thread in one system call, in milliseconds: the garbage
// collector and the end of a test wait as long.
const rest = 10

// chunk is the size of a read or write in bytes.
const chunk = 128 << 10

// counter is the counts of one thread. Others may read it at any time.
type counter struct {
	messages, bytes, missing, duplicates, reordered, thrown, strange, unsent, accepted atomic.Int64

	_ [64]byte // pads to separate cache lines
}

// thread serves a part of the sockets of a test.
type thread struct {
	test   *test
	client host // address, without port, of valid datagrams
	epoll  int
	socket int // for listening or receiving; -1: none
	heirs  []*thread
	turn   int // next thread to get a connection

	alone       bool          // it gets a single connection
	open        int           // open connections
	connections []*connection // by file descriptor
	free        []*connection
	buffer      []byte
	batch       *peer.Batch
	windows     []*window // by flow
	luck        *rand.Rand
	count       counter
}

func newThread(t *test, number int) (*thread, error) {
	epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("open an event queue: %w", err)
	}
	th := &thread{test: t, epoll: epoll, socket: -1, luck: rand.New(rand.NewPCG(t.server.Seed, uint64(number)))}
	if t.asked.Network == "tcp" {
		th.buffer = make([]byte, chunk)
		return th, nil
	}
	size := max(t.asked.Request, t.asked.Response, t.asked.Message)
	th.batch = peer.NewBatch(max(1, min(64, (1<<20)/size)), size)
	if t.asked.Mode == peer.Sink {
		th.windows = make([]*window, t.asked.Flows)
	}
	return th, nil
}

// run serves until the test is over.
func (th *thread) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer th.close()
	var events [64]syscall.EpollEvent
	for !th.test.over.Load() {
		n, _, err := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(th.epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), rest, 0, 0)
		if err != 0 && err != syscall.EINTR {
			return
		}
		if err != 0 || n == 0 {
			// A request to preempt this thread interrupts the system call, which the loop
			// would not notice: yield to the scheduler here.
			runtime.Gosched()
			continue
		}
		for _, e := range events[:n] {
			switch {
			case int(e.Fd) != th.socket:
				th.serve(int(e.Fd), e.Events)
			case th.batch == nil:
				th.accept()
			case th.windows != nil:
				th.take()
			default:
				th.reflect()
			}
		}
	}
}

func (th *thread) close() {
	for fd, c := range th.connections {
		if c != nil {
			syscall.Close(fd) //nolint:errcheck // the test is over
		}
	}
	if th.socket >= 0 {
		syscall.Close(th.socket) //nolint:errcheck // the test is over
	}
	syscall.Close(th.epoll) //nolint:errcheck // the test is over
}

// watch adds a socket to an epoll instance.
func watch(epoll, operation, socket int, events uint32) syscall.Errno {
	e := syscall.EpollEvent{Events: events, Fd: int32(socket)}
	_, _, err := syscall.RawSyscall6(syscall.SYS_EPOLL_CTL, uintptr(epoll), uintptr(operation), uintptr(socket), uintptr(unsafe.Pointer(&e)), 0, 0)
	return err
}

// read reads from a connection. Without MSG_DONTWAIT it waits, at most for a rest.
func read(fd int, into []byte, flags uintptr) (int, syscall.Errno) {
	n, _, err := syscall.RawSyscall6(syscall.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&into[0])), uintptr(len(into)), flags, 0, 0)
	return int(n), err
}

func write(fd int, from []byte) (int, syscall.Errno) {
	n, _, err := syscall.RawSyscall6(syscall.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&from[0])), uintptr(len(from)), syscall.MSG_NOSIGNAL|syscall.MSG_DONTWAIT, 0, 0)
	return int(n), err
}
