package classifier

import (
	"io"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// direct reads and writes a socket or a pipe that does not block, by system calls that bypass Go's
// scheduler: for calls that are this short, handing over the processor costs more than they do.
type direct struct{ raw syscall.RawConn }

func newDirect(c syscall.Conn) (direct, error) {
	raw, err := c.SyscallConn()
	return direct{raw}, err
}

// Read implements io.Reader.
func (d direct) Read(b []byte) (n int, err error) {
	if len(b) == 0 {
		return 0, nil
	}
	closed := d.raw.Read(func(fd uintptr) bool {
		n, err = call(syscall.SYS_READ, fd, b)
		return err != syscall.EAGAIN
	})
	switch {
	case closed != nil:
		return 0, closed
	case err == nil && n == 0:
		return 0, io.EOF
	}
	return n, err
}

// Write implements io.Writer.
func (d direct) Write(b []byte) (n int, err error) {
	closed := d.raw.Write(func(fd uintptr) bool {
		for n < len(b) {
			var some int
			if some, err = call(syscall.SYS_WRITE, fd, b[n:]); err != nil {
				return err != syscall.EAGAIN
			}
			n += some
		}
		return true
	})
	if closed != nil {
		err = closed
	}
	return n, err
}

// enlarge makes a pipe as large as a user may have it by default, and returns its size in bytes.
func enlarge(pipe direct) (size int) {
	const most = 1 << 20 // /proc/sys/fs/pipe-max-size
	err := pipe.raw.Control(func(fd uintptr) {
		for _, arguments := range [][2]uintptr{{unix.F_SETPIPE_SZ, most}, {unix.F_GETPIPE_SZ}} {
			if got, err := unix.FcntlInt(fd, int(arguments[0]), int(arguments[1])); err == nil {
				size = got
				return
			}
		}
	})
	if err != nil {
		return 0
	}
	return size
}

func call(number, fd uintptr, b []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall(number, fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
			continue
		}
		return 0, errno
	}
}
