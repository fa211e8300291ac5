package mysql

import (
	"encoding/binary"
	"errors"
	"fmt"

	"plimsoll/internal/wire"
)

// Session is a session of a load: its login, initial SQL, prepared statements and requests in
// flight. It does no I/O. Requests can be pipelined: the server executes them one by one, and
// continues after one that failed.
type Session struct {
	login      *login
	first      string
	statements []*Statement
	known      []known // of each statement
	stage      stage
	words      []byte // initial SQL
	answer     answer // being parsed
	prepared   int
	asked      []int // statements in flight, in order; Plain for a query
	answered   int   // number of answered ones
	status     Status
}

// known is a statement as prepared by the server.
type known struct {
	id    uint32
	types []byte // of the columns
}

// Plain stands for a text query.
const Plain = -1

// stage is the state of a session's start.
type stage uint8

const (
	silent   stage = iota
	greeting       // waiting for the handshake packet
	opening        // executing the initial SQL
	preparing
	serving
)

// NewSession returns a session that has not started. First is SQL to execute at its start, or
// empty.
func NewSession(a wire.Account, first string, statements []*Statement) *Session {
	return &Session{login: newLogin(a), first: first, statements: statements, known: make([]known, len(statements)), stage: greeting}
}

// Serving reports whether the session accepts statements.
func (s *Session) Serving() bool { return s.stage == serving }

// Pending is the number of requests in flight.
func (s *Session) Pending() int { return len(s.asked) - s.answered }

// Status is the server status of the last command.
func (s *Session) Status() Status { return s.status }

// Answered is the index of the statement that was answered last.
func (s *Session) Answered() int { return s.asked[s.answered-1] }

// AppendNext appends the next message of the start, after Hear.
func (s *Session) AppendNext(b []byte) []byte {
	b = append(b, s.words...)
	s.words = s.words[:0]
	return b
}

func (s *Session) ask(n int) {
	if s.answered == len(s.asked) {
		s.asked, s.answered = s.asked[:0], 0
	}
	s.asked = append(s.asked, n)
}

// AppendBind starts an execution of the statement with the given index; the parameter values
// and AppendExecute with the same place follow.
func (s *Session) AppendBind(b []byte, n int) (buffer []byte, place int) {
	s.ask(n)
	return s.statements[n].appendBind(b, s.known[n].id)
}

// AppendExecute completes the execution that AppendBind started.
func AppendExecute(b []byte, place int) []byte { return end(b, place) }

// AppendQuery appends a text query of one statement without rows.
func (s *Session) AppendQuery(b []byte, sql string) []byte {
	s.ask(Plain)
	return appendQuery(b, sql)
}

// Event is the meaning of a packet.
type Event uint8

// The events.
const (
	Nothing Event = iota // part of a response
	ARow                 // row of the current request
	Done                 // the current request has completed
	Failed               // it failed; ReadFault parses the body
)

// Next parses the packet at the beginning of data. It detects peers with another protocol
// early.
func (s *Session) Next(data []byte) (Packet, int, error) {
	if s.stage == greeting && !s.login.greeted {
		if err := strange(data); err != nil {
			return Packet{}, 0, err
		}
	}
	return next(data)
}

// Hear handles a packet. The row of an ARow is valid as long as the packet.
func (s *Session) Hear(p Packet) (Event, Row, error) {
	switch {
	case s.stage == greeting:
		var done bool
		var err error
		if s.words, done, err = s.login.Hear(s.words, p); err == nil && done {
			s.open()
		}
		return Nothing, Row{}, err
	case len(p.Body) == 0:
		return Nothing, Row{}, errors.New("empty response packet")
	case s.stage == opening:
		return Nothing, Row{}, s.opened(p.Body)
	case s.stage == preparing:
		return Nothing, Row{}, s.prepare(p.Body)
	case s.Pending() == 0:
		if p.Body[0] == headFailure {
			return Failed, Row{}, nil // it ends the session
		}
		return Nothing, Row{}, errors.New("unexpected response from the server")
	}
	of := s.asked[s.answered]
	var types []byte
	if of != Plain {
		types = s.known[of].types
	}
	event, types, err := s.answer.hear(p.Body, types)
	if of != Plain {
		s.known[of].types = types
	}
	switch {
	case err != nil:
		return Nothing, Row{}, err
	case event == ARow:
		return ARow, readRow(p.Body, types), nil
	case event == Done || event == Failed:
		s.answered++
		s.status = s.answer.status
	}
	return event, Row{}, nil
}

// open sends the initial SQL, or prepares the statements.
func (s *Session) open() {
	if s.stage == greeting && s.first != "" {
		s.stage, s.words = opening, appendQuery(s.words, s.first)
		return
	}
	s.stage = preparing
	for _, statement := range s.statements {
		s.words = statement.AppendPrepare(s.words)
	}
	if len(s.statements) == 0 {
		s.stage = serving
	}
}

func (s *Session) opened(body []byte) error {
	event, _, err := s.answer.hear(body, nil)
	switch {
	case err != nil:
		return err
	case event == Failed:
		return fmt.Errorf("start the session: %w", ReadFault(body))
	case event == Done:
		s.open()
	}
	return nil
}

// prepare handles the responses to COM_STMT_PREPARE: the statement ID, then its parameters and
// columns.
func (s *Session) prepare(body []byte) error {
	a, k := &s.answer, &s.known[s.prepared]
	switch {
	case a.parameters > 0:
		a.parameters--
	case a.columns > 0:
		var err error
		if k.types, err = appendType(k.types, body); err != nil {
			return err
		}
		a.columns--
	case body[0] == headFailure:
		return fmt.Errorf("prepare %q: %w", s.statements[s.prepared].sql, ReadFault(body))
	case body[0] != headOK || len(body) < 9:
		return errors.New("malformed response to a prepare")
	default:
		k.id = binary.LittleEndian.Uint32(body[1:])
		a.columns, a.parameters = int(binary.LittleEndian.Uint16(body[5:])), int(binary.LittleEndian.Uint16(body[7:]))
	}
	if a.parameters > 0 || a.columns > 0 {
		return nil
	}
	if s.prepared++; s.prepared == len(s.statements) {
		s.stage = serving
	}
	return nil
}
