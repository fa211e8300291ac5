// Package postgres is a client of PostgreSQL's wire protocol (version 3). For loads it parses
// and appends messages in the caller's buffers, without allocations; for everything else there
// is a synchronous session.
package postgres

import (
	"encoding/binary"
	"fmt"
)

// Message is a message from a server. Its body aliases the data that it was read from.
type Message struct {
	Kind byte
	Body []byte
}

// The types of messages from a server.
const (
	Authentication       = 'R'
	ParameterStatus      = 'S'
	BackendKey           = 'K'
	Ready                = 'Z'
	Failure              = 'E'
	Notice               = 'N'
	Notification         = 'A'
	ParseComplete        = '1'
	BindComplete         = '2'
	CloseComplete        = '3'
	CommandComplete      = 'C'
	EmptyQuery           = 'I'
	PortalSuspended      = 's'
	RowDescription       = 'T'
	DataRow              = 'D'
	NoData               = 'n'
	ParameterDescription = 't'
	CopyIn               = 'G'
	CopyOut              = 'H'
	CopyData             = 'd'
	CopyDone             = 'c'
	NegotiateVersion     = 'v'
)

// headLength is the length of a message's type and length fields.
const headLength = 5

// longest is above the size of any message of a server.
const longest = 1 << 30

// Next parses the message at the beginning of data, and returns its length: 0 if it is
// incomplete. An error means that the peer is not a PostgreSQL server.
func Next(data []byte) (m Message, used int, err error) {
	if len(data) == 0 {
		return m, 0, nil
	}
	if !known(data[0]) {
		return m, 0, fmt.Errorf("the peer does not speak the protocol of PostgreSQL: it sends %q", data[:min(len(data), 60)])
	}
	if len(data) < headLength {
		return m, 0, nil
	}
	length := binary.BigEndian.Uint32(data[1:])
	if length < 4 || length > longest {
		return m, 0, fmt.Errorf("the peer does not speak the protocol of PostgreSQL: message %q of %d bytes", data[:1], length)
	}
	used = 1 + int(length)
	if len(data) < used {
		return m, 0, nil
	}
	return Message{Kind: data[0], Body: data[headLength:used]}, used, nil
}

func known(kind byte) bool {
	switch kind {
	case Authentication, ParameterStatus, BackendKey, Ready, Failure, Notice, Notification, ParseComplete, BindComplete,
		CloseComplete, CommandComplete, EmptyQuery, PortalSuspended, RowDescription, DataRow, NoData, ParameterDescription,
		CopyIn, CopyOut, CopyData, CopyDone, NegotiateVersion:
		return true
	}
	return false
}

// State is the transaction status in ReadyForQuery.
type State byte

// The transaction states.
const (
	Idle    State = 'I' // no transaction
	Within  State = 'T' // in a transaction
	Aborted State = 'E' // in a failed transaction, until rollback
)

// ReadyState parses the body of ReadyForQuery.
func ReadyState(body []byte) (State, error) {
	if len(body) == 1 {
		switch s := State(body[0]); s {
		case Idle, Within, Aborted:
			return s, nil
		}
	}
	return 0, fmt.Errorf("ReadyForQuery with unknown transaction status %q", body)
}
