package tally

import (
	"errors"
	"fmt"
	"syscall"

	"plimsoll/internal/measure"
)

// ErrUncounted is the error of too many due operations that could not start.
var ErrUncounted = errors.New("too many due operations could not start: counting them took too long")

// advice is the remedy for errors caused by the generator's machine. It is empty for errors of
// the peer.
func advice(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "no local port is free: lower the rate of new connections, or widen net.ipv4.ip_local_port_range"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "raise the limit of open files (ulimit -n), or lower connections"
	case errors.Is(err, syscall.ENOBUFS), errors.Is(err, syscall.ENOMEM):
		return "the kernel has no memory for more sockets: lower connections"
	case errors.Is(err, ErrUncounted):
		return "offer less"
	}
	return ""
}

// Advised is an error with its remedy, if there is one.
func Advised(err error) error {
	if hint := advice(err); hint != "" {
		return fmt.Errorf("%w: %s", err, hint)
	}
	return err
}

// Note records the first error of operations. Errors of the peer are counted and reported;
// lack of resources of the generator makes the stage invalid.
func (s *Sheet) Note(err error) {
	if s.trouble != nil && s.trouble.State == measure.Fail {
		return
	}
	hint := advice(err)
	switch {
	case hint != "":
		s.trouble = &measure.Check{Name: "connections", State: measure.Fail, Detail: fmt.Sprintf("the generator ran out of resources: %s: %s", err, hint)}
	case s.trouble == nil:
		s.trouble = &measure.Check{Name: "connections", State: measure.Unknown, Detail: "first error: " + err.Error()}
	}
}

// worse is the more severe of two.
func worse(a, b *measure.Check) *measure.Check {
	if a == nil || b != nil && b.State == measure.Fail && a.State != measure.Fail {
		return b
	}
	return a
}
