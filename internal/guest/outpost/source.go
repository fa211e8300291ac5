package outpost

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"

	"plimsoll/internal/guest/pages"
)

// Source copies the memory of a guest there to a standby here. Methods as those of a pages.Copy.
type Source struct {
	qemu    *QEMU
	to      pages.Target
	tracked bool
	staged  [][]byte // frames of a commit that is not complete
}

// Copy begins to copy the memory to a target, which the copy closes.
func (q *QEMU) Copy(ctx context.Context, to pages.Target) (s *Source, err error) {
	s = &Source{qemu: q, to: to}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
			s = nil
		}
	}()
	touched, _, err := to.Touched()
	if err != nil {
		return s, err
	}
	q.mu.Lock()
	q.staged = func(frame []byte) error {
		s.staged = append(s.staged, frame)
		return nil
	}
	q.mu.Unlock()
	payload, err := q.ask(ctx, verbTrack, numbers(touched))
	if err != nil {
		return s, err
	}
	tracked, _, err := take(payload)
	s.tracked = tracked != 0
	return s, err
}

// Tracked reports whether the kernel there names the pages that changed.
func (s *Source) Tracked() bool { return s.tracked }

// Take takes the pages that changed since the last call, and returns their number.
func (s *Source) Take(ctx context.Context) (int, error) { return s.number(ctx, verbTake) }

// Commit writes all pages that were taken to the target, once all are here.
func (s *Source) Commit(ctx context.Context) (int, error) {
	n, err := s.number(ctx, verbCommit)
	if err != nil {
		return 0, err
	}
	for _, frame := range s.staged { // all came before the answer
		if err := eachPage(frame, s.to.Put); err != nil {
			return 0, err
		}
	}
	s.staged = nil
	return n, s.to.Flush()
}

func (s *Source) number(ctx context.Context, v verb) (int, error) {
	payload, err := s.qemu.ask(ctx, v, nil)
	if err != nil {
		return 0, err
	}
	n, _, err := take(payload)
	return n, err
}

// Close ends the copy.
func (s *Source) Close() error {
	s.qemu.mu.Lock()
	s.qemu.staged = nil
	s.qemu.mu.Unlock()
	return s.to.Close()
}

// pair is a pair of connected sockets.
func pair() (a, b net.Conn, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	ends := [2]net.Conn{}
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		c, failed := net.FileConn(f)
		ends[i], err = c, errors.Join(err, failed, f.Close())
	}
	if err != nil {
		for _, c := range ends {
			if c != nil {
				_ = c.Close()
			}
		}
		return nil, nil, err
	}
	return ends[0], ends[1], nil
}
