package libvirt

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// callError is an error of a daemon.
type callError struct {
	Code    int // as libvirt numbers them: NoDomain and others
	Message string
}

// Error codes.
const (
	NoSupport = 3  // VIR_ERR_NO_SUPPORT
	ReadOnly  = 29 // VIR_ERR_OPERATION_DENIED
	NoDomain  = 42 // VIR_ERR_NO_DOMAIN
	Denied    = 88 // VIR_ERR_ACCESS_DENIED, by an access driver such as Polkit
)

// Error is the message of the daemon.
func (e *callError) Error() string {
	return fmt.Sprintf("libvirt: %s (code %d)", strings.Join(strings.Fields(e.Message), " "), e.Code)
}

// Is maps calls that a driver does not have to errors.ErrUnsupported, and those that this
// connection may not make to fs.ErrPermission.
func (e *callError) Is(target error) bool {
	switch e.Code {
	case NoSupport:
		return target == errors.ErrUnsupported
	case ReadOnly, Denied:
		return target == fs.ErrPermission
	}
	return false
}

// Missing is true if there is no such domain.
func Missing(err error) bool {
	var e *callError
	return errors.As(err, &e) && e.Code == NoDomain
}

func decodeError(body []byte) error {
	d := decoder{b: body}
	e := &callError{Code: int(d.int32())}
	d.int32() // the part of libvirt that it comes from
	e.Message = d.optional()
	if d.err != nil {
		return d.err
	}
	if e.Message == "" {
		e.Message = "no reason was given"
	}
	return e // the message has the remaining fields
}

// unsent is the error of a call that has not reached the daemon.
type unsent struct{ error }

func (u unsent) Unwrap() error { return u.error }

// lost reports whether a call that failed may have been carried out: it was sent, and not answered.
func lost(err error) bool {
	var before unsent
	return err != nil && code(err) == 0 && !errors.As(err, &before)
}

// Refused reports whether a daemon answered with an error, and names it.
func Refused(err error) (name string, refused bool) {
	number := code(err)
	if number == 0 {
		return "", false
	}
	if name, known := names[number]; known {
		return name, true
	}
	return fmt.Sprintf("error-%d", number), true
}

// names are those of libvirt for its errors, without VIR_ERR.
var names = map[int]string{
	1: "internal-error", NoSupport: "no-support", 8: "invalid-arg", 9: "operation-failed", 27: "xml-error", ReadOnly: "operation-denied", 38: "system-error",
	NoDomain: "no-domain", 49: "no-storage-pool", noVolume: "no-storage-volume", operationInvalid: "operation-invalid", 67: "config-unsupported", 68: "operation-timeout", 72: "no-domain-snapshot",
	78: "operation-aborted", 81: "migrate-unsafe", 86: "agent-unresponsive", 90: "storage-volume-exists", Denied: "access-denied",
}

// code is that of the daemon's error; 0 if it is none.
func code(err error) int {
	var e *callError
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}
