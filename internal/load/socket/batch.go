//go:build linux

package socket

import (
	"syscall"
	"time"
	"unsafe"
)

// batch has a thread sleep through a tick whatever arrives: one wake-up then sends all operations that are due and reads all responses that
// came. The kernel stamps what it receives, so that the sleep is no part of a response time. The zero value never sleeps so.
type batch struct {
	tick      time.Duration
	stamps    bool // the sockets ask for stamps
	stamped   bool // what was read last had one
	occupied  int  // links with operations in flight
	nextEvent bool // the next wait ends with the next event
	reader    stampedReader
}

// largeRead is the size of a read from which a sleep is too long for the connection: the peer may wait for room in the receive buffer.
const largeRead = 32 << 10

// wait waits for events. Where an operation is due within a tick, it sleeps until then and looks for them. Several operations in flight on a
// connection would have one stamp for all responses, and an operation that waits for a free slot must get it at once: it waits for events then.
func (b *batch) wait(poll *poller, most time.Duration, under int, full bool) []syscall.EpollEvent {
	if b.stamped && !b.nextEvent && most <= b.tick && under > 0 && under == b.occupied && !full {
		sleep(most)
		most = 0
	}
	events := poll.wait(most)
	b.nextEvent = len(events) == cap(events) // there may be more
	return events
}

// ended takes note that an operation of a link has ended.
func (b *batch) ended(l *link) {
	if l.under == 0 {
		b.occupied--
	}
}

// read reads what a link received, and returns the time and when the last of it arrived.
func (b *batch) read(l *link, buffer []byte, patient bool, c *clock) (n int, now, arrived time.Duration, errno syscall.Errno) {
	if !b.stamps {
		n, errno = read(l.fd, buffer, patient)
		now = c.now()
		return n, now, now, errno
	}
	n, stamp, errno := b.reader.read(l.fd, buffer)
	at := time.Now()
	now = at.Sub(c.origin)
	if n <= 0 || errno != 0 {
		return n, now, now, errno
	}
	b.stamps = n < largeRead
	if b.stamped = b.stamps && stamp != 0; !b.stamped {
		return n, now, now, 0
	}
	return n, now, now - time.Duration(at.UnixNano()-stamp), 0
}

const monotonic = 1 // CLOCK_MONOTONIC

// sleep suspends the thread. Like other waits it bypasses Go's scheduler only if it is brief.
func sleep(d time.Duration) {
	span := syscall.NsecToTimespec(int64(d))
	if d > brief {
		_, _, _ = syscall.Syscall6(syscall.SYS_CLOCK_NANOSLEEP, monotonic, 0, uintptr(unsafe.Pointer(&span)), 0, 0, 0)
		return
	}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_CLOCK_NANOSLEEP, monotonic, 0, uintptr(unsafe.Pointer(&span)), 0, 0, 0)
}

// stampArrivals has the kernel stamp what a socket receives (SO_TIMESTAMPNS, socket(7)).
func stampArrivals(fd int) error {
	return syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1)
}

// stampedReader reads with stamps. Its fields do not escape to the heap with each read.
type stampedReader struct {
	message syscall.Msghdr
	part    syscall.Iovec
	control [64]byte
}

// read reads available data, and returns when the last of it arrived, in nanoseconds of the wall clock; 0 without a stamp.
func (r *stampedReader) read(fd int, b []byte) (n int, stamp int64, errno syscall.Errno) {
	r.part.Base = &b[0]
	r.part.SetLen(len(b))
	r.message = syscall.Msghdr{Iov: &r.part, Control: &r.control[0]}
	r.message.Iovlen = 1
	r.message.SetControllen(len(r.control))
	got, _, errno := syscall.RawSyscall6(syscall.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&r.message)), syscall.MSG_DONTWAIT, 0, 0, 0)
	if errno != 0 {
		return 0, 0, errno
	}
	return int(got), stampIn(r.control[:r.message.Controllen]), 0
}

// stampIn finds the stamp in control messages (cmsg(3)).
func stampIn(control []byte) int64 {
	const wide = syscall.SizeofCmsghdr + 16 // two numbers of 64 bits
	for len(control) >= syscall.SizeofCmsghdr {
		h := (*syscall.Cmsghdr)(unsafe.Pointer(&control[0]))
		size := int(h.Len)
		if size < syscall.SizeofCmsghdr || size > len(control) {
			return 0
		}
		if h.Level == syscall.SOL_SOCKET && h.Type == syscall.SO_TIMESTAMPNS && size >= wide {
			at := (*[2]int64)(unsafe.Pointer(&control[syscall.SizeofCmsghdr]))
			return at[0]*int64(time.Second) + at[1]
		}
		control = control[min(len(control), (size+7)&^7):]
	}
	return 0
}
