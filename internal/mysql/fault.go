package mysql

import (
	"encoding/binary"
	"fmt"

	"plimsoll/internal/escape"
)

// Fault is an error packet of a server.
type Fault struct {
	Code    uint16
	State   string // SQLSTATE, five characters; empty if absent
	Message string
}

// Error codes with special handling.
const (
	TooManyConnections = 1040
	DatabaseDenied     = 1044
	NoSuchDatabase     = 1049
	DuplicateKey       = 1062
	NoSuchTable        = 1146
	LockTimeout        = 1205
	DeadlockDetected   = 1213
	PrivilegeMissing   = 1227
	StatementTimeout   = 1969
	shuttingDown       = 1053
	killed             = 1927
	timedOut           = 4031 // idle session closed, in MySQL
)

// Error is the message and the code, on one line.
func (f *Fault) Error() string { return fmt.Sprintf("%s (%d)", escape.Line(f.Message), f.Code) }

// Fatal reports whether the session is over.
func (f *Fault) Fatal() bool {
	switch f.Code {
	case TooManyConnections, shuttingDown, killed, timedOut:
		return true
	}
	return false
}

// Transient reports whether a retry of the transaction may succeed: it was the victim of a
// conflict.
func (f *Fault) Transient() bool {
	// 1020: the row was changed since the snapshot (innodb_snapshot_isolation).
	return f.Code == DeadlockDetected || f.Code == LockTimeout || f.Code == 1020
}

// Forbidden reports whether the user lacks a privilege on a database, a table or the server.
func (f *Fault) Forbidden() bool {
	const tableDenied = 1142
	return f.Code == DatabaseDenied || f.Code == tableDenied || f.Code == PrivilegeMissing
}

// ReadFault parses the body of an error packet.
func ReadFault(body []byte) *Fault {
	f := &Fault{}
	if len(body) < 3 {
		f.Message = "the server reports a truncated error"
		return f
	}
	f.Code = binary.LittleEndian.Uint16(body[1:])
	body = body[3:]
	if len(body) >= 6 && body[0] == '#' {
		f.State, body = string(body[1:6]), body[6:]
	}
	f.Message = string(body)
	return f
}
