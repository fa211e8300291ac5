// Package cli is what the commands share: where they print, and the exit status of an error.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"plimsoll/internal/document"
	"plimsoll/internal/lab"
)

// The exit statuses that scripts may rely on.
const (
	ExitDone    = 0
	ExitVerdict = 1 // a verdict or a gate went the wrong way
	ExitMistake = 2 // what was asked is wrong; nothing was touched
	ExitTrouble = 3 // trouble on a machine
	ExitOpen    = 4 // a gate could not be judged: too few runs, or no value for a limit
)

// Complain prints an error. Mistakes with a place in a file stand a line each,
// as compilers print them, so that editors find the place.
func Complain(w io.Writer, err error) {
	mistakes := document.Mistakes(err)
	if mistakes == nil {
		// What a machine lacks is said before that ending, which means the same.
		text := strings.ReplaceAll(err.Error(), ": "+errors.ErrUnsupported.Error(), "")
		fmt.Fprintf(w, "plimsoll: %s\n", text)
	}
	for _, m := range mistakes {
		if m.Line == 0 {
			fmt.Fprint(w, "plimsoll: ")
		}
		fmt.Fprintln(w, m)
	}
}

// Verdict is an outcome that scripts see as a status, with nothing broken.
func Verdict(text string) error { return verdict{text} }

type verdict struct{ text string }

func (v verdict) Error() string { return v.text }

// Undecided is a gate that could not be judged.
func Undecided(text string) error { return undecided{text} }

type undecided struct{ text string }

func (u undecided) Error() string { return u.text }

// Mistake is an error in the request: nothing was touched.
func Mistake(err error) error { return mistake{err} }

type mistake struct{ err error }

func (m mistake) Error() string { return m.err.Error() }
func (m mistake) Unwrap() error { return m.err }

// ExitStatus is the exit status for the error of a command.
func ExitStatus(err error) int {
	var v verdict
	var m mistake
	var u undecided
	var d *lab.DataError
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &v), errors.As(err, &d):
		return ExitVerdict
	case errors.As(err, &u):
		return ExitOpen
	case errors.Is(err, context.Canceled): // stopped while it looked for mistakes
		return ExitTrouble
	case errors.As(err, &m), lab.IsMistake(err):
		return ExitMistake
	}
	return ExitTrouble
}
