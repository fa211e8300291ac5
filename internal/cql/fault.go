package cql

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/escape"
)

// Fault is an error response of a server.
type Fault struct {
	Code    int
	Message string
}

// Error codes with special handling.
const (
	ProtocolError   = 0x000a
	BadCredentials  = 0x0100
	Unavailable     = 0x1000
	Overloaded      = 0x1001
	Bootstrapping   = 0x1002
	WriteTimeout    = 0x1100
	ReadTimeout     = 0x1200
	Unauthorized    = 0x2100
	AlreadyThere    = 0x2400
	Unprepared      = 0x2500
	invalid         = 0x2200
	configuration   = 0x2300
	syntax          = 0x2000
	readFailure     = 0x1300
	functionFailure = 0x1400
	writeFailure    = 0x1500
)

// Error is the server's message, on one line, with the name of the code.
func (f *Fault) Error() string {
	if name := faultName(f.Code); name != "" {
		return fmt.Sprintf("%s (%s)", escape.Line(f.Message), name)
	}
	return fmt.Sprintf("%s (%#04x)", escape.Line(f.Message), f.Code)
}

// Kind is the name of the code.
func (f *Fault) Kind() string {
	if name := faultName(f.Code); name != "" {
		return name
	}
	return fmt.Sprintf("error %#04x", f.Code)
}

// Leaving reports whether the server is shutting down or bootstrapping, and rejects all
// requests.
func (f *Fault) Leaving() bool {
	return f.Code == Overloaded && strings.Contains(f.Message, "shutting down")
}

func faultName(code int) string {
	return map[int]string{
		ProtocolError: "protocol error", BadCredentials: "bad credentials", Unavailable: "too few replicas are up", Overloaded: "overloaded",
		Bootstrapping: "still starting", WriteTimeout: "write timed out at the server", ReadTimeout: "read timed out at the server",
		Unauthorized: "not allowed", AlreadyThere: "already there", Unprepared: "not prepared", invalid: "invalid", configuration: "configuration",
		syntax: "syntax", readFailure: "read failed", functionFailure: "function failed", writeFailure: "write failed",
	}[code]
}

// ReadFault parses the body of an ERROR message.
func ReadFault(body []byte) *Fault {
	v := values{rest: body}
	f := &Fault{Code: v.int(), Message: v.string()}
	if v.bad {
		f.Message = "a truncated error"
	}
	return f
}

// Is reports whether an error is a Fault with one of the codes.
func Is(err error, codes ...int) bool {
	var f *Fault
	return errors.As(err, &f) && slices.Contains(codes, f.Code)
}
