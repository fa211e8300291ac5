package tally

import (
	"errors"
	"fmt"
	"syscall"

	"plimsoll/internal/measure"
)

// ErrUncounted is the error of too many due operations that could not start.
var ErrUncounted = errors.New("too many due operations could not start: counting them took too long")

// advice is what the user can do about an error that the generator's own machine is
// the cause of. It is empty where the peer is.
func advice(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "no local port is free: ask for fewer new connections a second, or widen net.ipv4.ip_local_port_range"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "raise the limit of open files (ulimit -n), or lower connections"
	case errors.Is(err, syscall.ENOBUFS), errors.Is(err, syscall.ENOMEM):
		return "the kernel has no memory for more sockets: lower connections"
	case errors.Is(err, ErrUncounted):
		return "offer less"
	}
	return ""
}

// Advised is an error with the advice for it, if there is any.
func Advised(err error) error {
	if hint := advice(err); hint != "" {
		return fmt.Errorf("%w: %s", err, hint)
	}
	return err
}

// Note keeps the first trouble that operations had. What the peer does is counted
// and only told; what the generator lacks makes the stage invalid.
func (s *Sheet) Note(err error) {
	if s.trouble != nil && s.trouble.State == measure.Fail {
		return
	}
	hint := advice(err)
	switch {
	case hint != "":
		s.trouble = &measure.Check{Name: "connections", State: measure.Fail, Detail: fmt.Sprintf("the generator ran out: %s: %s", err, hint)}
	case s.trouble == nil:
		s.trouble = &measure.Check{Name: "connections", State: measure.Unknown, Detail: "first trouble: " + err.Error()}
	}
}

// worse is the one of two troubles that counts.
func worse(a, b *measure.Check) *measure.Check {
	if a == nil || b != nil && b.State == measure.Fail && a.State != measure.Fail {
		return b
	}
	return a
}
