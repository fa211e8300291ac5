package reflector

import (
	"syscall"

	"plimsoll/internal/load/peer"
)

// connection is a TCP flow of a test.
type connection struct {
	have int  // bytes of the incomplete request
	owe  int  // bytes of responses not written yet; reading pauses until they are
	full bool // the socket buffer is full: epoll reports when it has space
}

// accept accepts one connection and passes it to the next thread, whose first event announces
// it.
func (th *thread) accept() {
	fd, _, err := syscall.RawSyscall6(syscall.SYS_ACCEPT4, uintptr(th.socket), 0, 0, syscall.SOCK_CLOEXEC, 0, 0)
	if err != 0 {
		return // already closed, or too many open files: the listener reports it again
	}
	th.count.accepted.Add(1)
	heir := th.heirs[th.turn%len(th.heirs)]
	th.turn++
	if watch(heir.epoll, syscall.EPOLL_CTL_ADD, int(fd), syscall.EPOLLIN) != 0 {
		syscall.RawSyscall(syscall.SYS_CLOSE, fd, 0, 0)
	}
}

func (th *thread) connection(fd int) *connection {
	for fd >= len(th.connections) {
		th.connections = append(th.connections, make([]*connection, max(256, len(th.connections)))...)
	}
	c := th.connections[fd]
	if c != nil {
		return c
	}
	if last := len(th.free) - 1; last >= 0 {
		c, th.free = th.free[last], th.free[:last]
		*c = connection{}
	} else {
		c = new(connection)
	}
	th.connections[fd] = c
	th.open++
	return c
}

func (th *thread) drop(fd int) {
	th.free = append(th.free, th.connections[fd])
	th.connections[fd] = nil
	th.open--
	syscall.RawSyscall(syscall.SYS_CLOSE, uintptr(fd), 0, 0)
}

// stay is the number of exchanges on a thread's only connection before it polls for others.
const stay = 64

// serve handles an event of a connection. A thread with a single connection reads it directly,
// which saves one of three system calls and is visible in a ping-pong.
func (th *thread) serve(fd int, events uint32) {
	c := th.connection(fd)
	if c.owe > 0 {
		if events&(syscall.EPOLLERR|syscall.EPOLLHUP) != 0 {
			th.drop(fd)
			return
		}
		th.answer(fd, c)
		return
	}
	more := th.exchange(fd, c, syscall.MSG_DONTWAIT)
	for range stay {
		if !more || !th.alone || th.open > 1 || th.test.over.Load() {
			return
		}
		more = th.exchange(fd, c, 0)
	}
}

// exchange reads available data, or waits for it, and answers complete requests. It reports
// whether to continue at once.
func (th *thread) exchange(fd int, c *connection, flags uintptr) (more bool) {
	n, err := read(fd, th.buffer, flags)
	switch {
	case err == syscall.EAGAIN || err == syscall.EINTR:
		return false
	case err != 0 || n == 0:
		th.drop(fd)
		return false
	}
	size, response := th.test.asked.Message, 0
	if th.test.asked.Mode == peer.Echo {
		size, response = th.test.asked.Request, th.test.asked.Response
	}
	c.have += n
	whole := c.have / size
	c.have %= size
	th.count.bytes.Add(int64(n))
	if whole > 0 {
		th.count.messages.Add(int64(whole))
	}
	if c.owe = whole * response; c.owe > 0 {
		th.answer(fd, c)
	}
	return c.owe == 0 && th.connections[fd] == c
}

// answer writes responses of arbitrary content. Reading pauses if the client does not read
// them.
func (th *thread) answer(fd int, c *connection) {
	for c.owe > 0 {
		n, err := write(fd, th.buffer[:min(c.owe, len(th.buffer))])
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			if !c.full {
				c.full = true
				watch(th.epoll, syscall.EPOLL_CTL_MOD, fd, syscall.EPOLLOUT)
			}
			return
		case err != 0:
			th.drop(fd)
			return
		}
		c.owe -= max(0, n)
	}
	if c.full {
		c.full = false
		watch(th.epoll, syscall.EPOLL_CTL_MOD, fd, syscall.EPOLLIN)
	}
}
