package postgres

import (
	"bytes"
	"fmt"

	"plimsoll/internal/escape"
)

// Fault is an ErrorResponse or NoticeResponse.
type Fault struct {
	Code    string // SQLSTATE, five characters: 40P01 is a deadlock
	Message string
	Hint    string // the server's hint; often empty
	Fatal   bool   // the session is over
}

// SQLSTATEs with special handling.
const (
	SerializationFailure = "40001"
	DeadlockDetected     = "40P01"
	TooManyConnections   = "53300"
	UniqueViolation      = "23505"
	NoSuchDatabase       = "3D000"
)

// Error is the message and the code, on one line.
func (f *Fault) Error() string {
	if f.Hint != "" {
		return fmt.Sprintf("%s (%s; %s)", escape.Line(f.Message), escape.Line(f.Code), escape.Line(f.Hint))
	}
	return fmt.Sprintf("%s (%s)", escape.Line(f.Message), escape.Line(f.Code))
}

// ReadFault parses the body of an ErrorResponse or a NoticeResponse.
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

// Transient reports whether a retry of the transaction may succeed: it was the victim of a
// conflict.
func (f *Fault) Transient() bool {
	return f.Code == SerializationFailure || f.Code == DeadlockDetected
}
