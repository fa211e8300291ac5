package remote

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os/exec"
	"strings"
	"syscall"

	"plimsoll/internal/platform"
)

// fault is an error on the wire: its text, and the sentinel error that it wraps.
type fault struct {
	Text string `json:"text"`
	Is   string `json:"is,omitempty"`
}

// sentinels are the errors that keep their identity across the connection.
var sentinels = []struct {
	name string
	err  error
}{
	{"not exist", fs.ErrNotExist},
	{"exist", fs.ErrExist},
	{"permission", fs.ErrPermission},
	{"unsupported", errors.ErrUnsupported},
	{"cancelled", context.Canceled},
	{"deadline", context.DeadlineExceeded},
	{"no program", exec.ErrNotFound},
	{"refused", syscall.ECONNREFUSED},
	{"reset", syscall.ECONNRESET},
	{"broken pipe", syscall.EPIPE},
	{"claimed", platform.ErrClaimed},
	{unresolved, &net.DNSError{Err: "it does not resolve", IsNotFound: true}},
}

// unresolved is a host name without an address.
const unresolved = "unresolved"

// mostText bounds the text of an error on the wire, in bytes.
const mostText = 8 << 10

func newFault(err error) *fault {
	if err == nil {
		return nil
	}
	f := &fault{Text: err.Error()}
	f.Text = f.Text[:min(len(f.Text), mostText)]
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			f.Is = s.name
			return f
		}
	}
	var name *net.DNSError
	var slow net.Error
	switch {
	case errors.As(err, &name) && !name.Timeout():
		f.Is = unresolved
	case errors.As(err, &slow) && slow.Timeout():
		f.Is = "deadline"
	}
	return f
}

// failure is an error that came from the far side.
type failure struct {
	text string
	is   error
}

// Error is the text. Its further lines are indented, so that none looks like a line of the lab.
func (f *failure) Error() string { return strings.ReplaceAll(f.text, "\n", "\n  ") }
func (f *failure) Unwrap() error { return f.is }

// err is nil for no fault.
func (f *fault) err() error {
	if f == nil {
		return nil
	}
	e := &failure{text: f.Text}
	for _, s := range sentinels {
		if s.name == f.Is {
			e.is = s.err
		}
	}
	return e
}
