// Package postgres speaks the wire protocol of PostgreSQL (version 3) as a client:
// messages read from and appended to buffers of the caller, without an allocation
// for each, for those who make load; and a plain connection for everything else.
package postgres

import (
	"encoding/binary"
	"fmt"
)

// Message is what a server sends. Its body lies in the data that it was read from.
type Message struct {
	Kind byte
	Body []byte
}

// The kinds of message that a server sends.
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

// headLength is that of the kind and the length of a message.
const headLength = 5

// longest is more than any server sends in one message.
const longest = 1 << 30

// Next reads the message at the beginning of data, and how long it is: 0 where its
// end is still to come. An error means that no PostgreSQL sent it.
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

// State is what a session says about its transaction when it is ready.
type State byte

// The states of a session.
const (
	Idle    State = 'I' // no transaction
	Within  State = 'T' // in a transaction
	Aborted State = 'E' // in one that failed, which only a rollback ends
)

// ReadyState reads the body of a Ready.
func ReadyState(body []byte) (State, error) {
	if len(body) == 1 {
		switch s := State(body[0]); s {
		case Idle, Within, Aborted:
			return s, nil
		}
	}
	return 0, fmt.Errorf("ReadyForQuery with unknown transaction status %q", body)
}
