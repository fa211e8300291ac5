package postgres

import (
	"bytes"
	"fmt"

	"plimsoll/internal/escape"
)

// Fault is an error that a server reports.
type Fault struct {
	Code    string // of the SQL standard, five characters: 40P01 is a deadlock
	Message string
	Hint    string // what the server says one can do; often empty
	Fatal   bool   // the session is over
}

// The codes that callers look for.
const (
	SerializationFailure = "40001"
	DeadlockDetected     = "40P01"
	TooManyConnections   = "53300"
	UniqueViolation      = "23505"
	NoSuchDatabase       = "3D000"
)

// Error is the message and the code, on one line whatever the server says.
func (f *Fault) Error() string {
	if f.Hint != "" {
		return fmt.Sprintf("%s (%s; %s)", escape.Line(f.Message), escape.Line(f.Code), escape.Line(f.Hint))
	}
	return fmt.Sprintf("%s (%s)", escape.Line(f.Message), escape.Line(f.Code))
}

// ReadFault reads the body of a Failure or a Notice.
func ReadFault(body []byte) *Fault {
	f := &Fault{}
	fields(body, func(kind byte, value []byte) {
		switch kind {
		case 'C':
			f.Code = string(value)
		case 'M':
			f.Message = string(value)
		case 'H':
			f.Hint = string(value)
		case 'V':
			f.Fatal = string(value) == "FATAL" || string(value) == "PANIC"
		}
	})
	return f
}

func fields(body []byte, each func(kind byte, value []byte)) {
	for len(body) > 1 && body[0] != 0 {
		n := bytes.IndexByte(body[1:], 0)
		if n < 0 {
			return
		}
		each(body[0], body[1:1+n])
		body = body[n+2:]
	}
}

// Transient reports whether a failed transaction may succeed when it is tried again: it was a
// victim of others.
func (f *Fault) Transient() bool {
	return f.Code == SerializationFailure || f.Code == DeadlockDetected
}
