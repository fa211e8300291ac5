package libvirt

import (
	"errors"
	"fmt"
)

// callError is what a daemon answers instead of what it was asked for.
type callError struct {
	Code    int // as libvirt numbers them: NoDomain and others
	Domain  int // part of libvirt that it comes from
	Message string
}

// Codes that callers tell apart.
const (
	NoSupport = 3  // the driver does not have it
	NoDomain  = 42 // there is none of that name
)

// Error is the daemon's own sentence.
func (e *callError) Error() string { return fmt.Sprintf("libvirt: %s (code %d)", e.Message, e.Code) }

// Is tells calls that a driver does not have from those that failed.
func (e *callError) Is(target error) bool {
	return target == errors.ErrUnsupported && e.Code == NoSupport
}

// Missing says whether there is no domain of the name that was asked for.
func Missing(err error) bool {
	var e *callError
	return errors.As(err, &e) && e.Code == NoDomain
}

func decodeError(body []byte) error {
	d := decoder{b: body}
	e := &callError{Code: int(d.int32()), Domain: int(d.int32()), Message: d.optional()}
	if d.err != nil {
		return d.err
	}
	if e.Message == "" {
		e.Message = "no reason was given"
	}
	return e // domain, network and details follow, which the sentence has
}
