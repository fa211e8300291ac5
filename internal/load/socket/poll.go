//go:build linux

package socket

import (
	"fmt"
	"syscall"
	"time"
	"unsafe"
)

// poller waits for sockets. It belongs to one locked thread.
//
// System calls of the loop bypass Go's scheduler (RawSyscall), because releasing the processor
// costs more than they do. A thread in such a call cannot be stopped for a garbage collection,
// so they must not block for long: a wait longer than brief goes through the scheduler. Where the last
// wait was brief, the next one probably is as well.
type poller struct {
	fd     int
	events [128]syscall.EpollEvent
	span   syscall.Timespec // timeout of the current wait, in a field so that it does not escape
	coarse bool             // the kernel has no epoll_pwait2: waits are whole milliseconds
	quick  bool             // the last wait ended with events before it was long
}

// brief is the longest wait outside the scheduler. It is longer than the scheduling-clock tick of usual kernels (4 ms at 250 Hz): a timer that is
// due before the tick is programmed into the hardware with each wait, which in a VM takes a sixth of the client's CPU time.
const brief = 5 * time.Millisecond

const epollPwait2 = 441 // the same number on every architecture

func newPoller() (*poller, error) {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create an epoll instance: %w", err)
	}
	return &poller{fd: fd}, nil
}

func (p *poller) close() { _ = syscall.Close(p.fd) }

// control adds a link's socket to epoll, or modifies it, with the index and generation of the
// link as data. It is level-triggered, so that a socket need not be drained each time.
func (p *poller) control(how int, l *link, writable bool) error {
	e := syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLRDHUP, Fd: l.index, Pad: l.generation}
	if writable {
		e.Events |= syscall.EPOLLOUT
	}
	return syscall.EpollCtl(p.fd, how, l.fd, &e)
}

// wait waits for events, up to a timeout, and returns them.
func (p *poller) wait(most time.Duration) []syscall.EpollEvent {
	if most <= brief || p.quick {
		events := p.once(min(most, brief))
		if most <= brief || len(events) > 0 {
			return events
		}
		most -= brief
	}
	from := time.Now()
	events := p.once(most)
	p.quick = len(events) > 0 && time.Since(from) < brief
	return events
}

func (p *poller) once(most time.Duration) []syscall.EpollEvent {
	n, errno := p.pwait(most)
	if errno == syscall.ENOSYS && !p.coarse {
		p.coarse = true
		n, errno = p.pwait(most)
	}
	if errno != 0 {
		return nil
	}
	return p.events[:n]
}

func (p *poller) pwait(most time.Duration) (int, syscall.Errno) {
	call, limit := uintptr(epollPwait2), uintptr(0)
	p.span = syscall.NsecToTimespec(int64(max(0, most)))
	if p.coarse {
		call, limit = syscall.SYS_EPOLL_PWAIT, uintptr(max(0, most)/time.Millisecond)
	} else {
		limit = uintptr(unsafe.Pointer(&p.span))
	}
	events := uintptr(unsafe.Pointer(&p.events[0]))
	if most > brief {
		n, _, errno := syscall.Syscall6(call, uintptr(p.fd), events, uintptr(len(p.events)), limit, 0, 0)
		return int(n), errno
	}
	n, _, errno := syscall.RawSyscall6(call, uintptr(p.fd), events, uintptr(len(p.events)), limit, 0, 0)
	return int(n), errno
}

// read reads available data. A patient one blocks for it, up to the socket's receive timeout.
func read(fd int, b []byte, patient bool) (int, syscall.Errno) {
	flags := uintptr(syscall.MSG_DONTWAIT)
	if patient {
		flags = 0
	}
	n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), flags, 0, 0)
	return int(n), errno
}

// patience is the timeout of a patient read, of which the scheduler is unaware.
const patience = 2 * time.Millisecond

// waits lets reads of a socket wait.
func waits(fd int) error {
	limit := syscall.NsecToTimeval(int64(patience))
	if err := syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &limit); err != nil {
		return err
	}
	return syscall.SetNonblock(fd, false)
}

func write(fd int, b []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), syscall.MSG_NOSIGNAL|syscall.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}

// precise sets the timer slack to the minimum, to avoid wake-ups that are up to 50 us late.
func precise() {
	const setTimerSlack = 29
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, 1, 0)
}

// prefer raises the priority of this thread if permitted: an open-loop generator needs little
// CPU, but needs it on time, also beside servers that use all of it. A thread that sleeps
// between ticks can be a real-time thread; a spinning one would starve others.
func prefer(sleeps bool) {
	const before = -15
	if sleeps && schedule(0, fifo) == 0 {
		return
	}
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, before)
}
