// Package fault defines the errors that decide how far a run continues: void trials,
// refusals before any change, and caught panics.
package fault

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// VoidError voids one trial and lets the study go on.
type VoidError struct{ Err error }

// Error is why the trial is void.
func (v *VoidError) Error() string { return v.Err.Error() }

// Unwrap returns the cause.
func (v *VoidError) Unwrap() error { return v.Err }

// Void voids a trial for a reason.
func Void(format string, args ...any) error { return &VoidError{fmt.Errorf(format, args...)} }

// Voids makes an error one that voids the trial; nil stays nil.
func Voids(err error) error {
	if err == nil {
		return nil
	}
	return &VoidError{err}
}

// IsVoid finds the error that voids a trial, if it is one.
func IsVoid(err error) (*VoidError, bool) {
	var v *VoidError
	ok := errors.As(err, &v)
	return v, ok
}

// Refusal wraps the reason why something is not done. Nothing was changed.
type Refusal struct{ Err error }

// Error is the reason of the refusal.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap returns the reason.
func (r *Refusal) Unwrap() error { return r.Err }

// Refuse refuses for a reason.
func Refuse(format string, args ...any) error { return &Refusal{fmt.Errorf(format, args...)} }

// Caught turns a panic into an error: a bug in plimsoll must not keep it from putting the
// machine back.
func Caught(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error in plimsoll, please report it: %v\n%s", p, debug.Stack())
		}
	}()
	return do()
}
