package pace

import (
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// kernelTimer sleeps by a timerfd in Go's poller. Go's own timers wake an idle process up to 1
// ms late, since epoll_wait counts in milliseconds; clock_nanosleep is as accurate as a
// timerfd (median 20 us on a VM), but occupies a thread or a processor of the scheduler, and
// cannot be interrupted.
type kernelTimer struct {
	Clock
	file   *os.File
	fd     uintptr
	offset time.Duration // the kernel's clock at the origin
	buffer [8]byte       // number of expirations
}

const (
	monotonic   = 1 // CLOCK_MONOTONIC, which is also the clock of time.Now
	nonBlocking = syscall.O_NONBLOCK | syscall.O_CLOEXEC
	absolute    = 1 // TFD_TIMER_ABSTIME
)

func newTimer(c Clock) (timer, error) {
	fd, _, errno := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, monotonic, nonBlocking, 0)
	if errno == syscall.EMFILE || errno == syscall.ENFILE {
		return nil, fmt.Errorf("create a timer: %w: raise the limit (ulimit -n)", errno)
	}
	if errno != 0 {
		return nil, fmt.Errorf("create a timer: %w", errno)
	}
	return &kernelTimer{Clock: c, file: os.NewFile(fd, "timer"), fd: fd, offset: offset(c)}, nil
}

// offset is the kernel's clock at the origin: the reading with the narrowest bracket, since a
// thread may be preempted in any of them.
func offset(c Clock) time.Duration {
	var best, narrowest time.Duration
	for i := range 5 {
		var now syscall.Timespec
		before := c.Now()
		_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&now)), 0)
		after := c.Now()
		if i == 0 || after-before < narrowest {
			narrowest = after - before
			best = time.Duration(now.Nano()) - before - narrowest/2
		}
	}
	return best
}

func (t *kernelTimer) now() time.Duration { return t.Now() }

func (t *kernelTimer) sleep(until time.Duration) error {
	when := struct{ every, first syscall.Timespec }{first: syscall.NsecToTimespec(int64(max(1, until+t.offset)))} // 0 would disarm it
	_, _, errno := syscall.RawSyscall6(syscall.SYS_TIMERFD_SETTIME, t.fd, absolute, uintptr(unsafe.Pointer(&when)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("set a timer: %w", errno)
	}
	if _, err := t.file.Read(t.buffer[:]); err != nil {
		return fmt.Errorf("sleep: %w", err)
	}
	return nil
}

// interrupt ends the current sleep and all later ones.
func (t *kernelTimer) interrupt() { _ = t.file.SetReadDeadline(time.Unix(1, 0)) }

func (t *kernelTimer) close() error { return t.file.Close() }
