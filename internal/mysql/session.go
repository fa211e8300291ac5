package mysql

import (
	"encoding/binary"
	"errors"
	"fmt"

	"plimsoll/internal/wire"
)

// Session is a session of those who make load: who one is, words of one's own, the
// statements that are prepared, and what was asked and not answered yet. It moves no bytes
// by itself. Requests may be sent without waiting for the answers to earlier ones: the
// server takes them one by one, and goes on with the next after one that failed.
type Session struct {
	login      *login
	first      string
	statements []*Statement
	known      []known // of each statement
	stage      stage
	words      []byte // to be sent
	answer     answer // that is being read
	prepared   int
	asked      []int // statements, in order; Plain for a query
	answered   int   // of these
	status     Status
}

// known is what the server said of a statement.
type known struct {
	id    uint32
	types []byte // of the columns
}

// Plain stands for a query as text.
const Plain = -1

// stage is how far a session is.
type stage uint8

const (
	silent   stage = iota
	greeting       // the server's turn comes first
	opening        // with SQL of one's own
	preparing
	serving
)

// NewSession is a session that was not begun. First is SQL to run before anything else,
// empty for none.
func NewSession(a wire.Account, first string, statements []*Statement) *Session {
	return &Session{login: newLogin(a), first: first, statements: statements, known: make([]known, len(statements)), stage: greeting}
}

// Serving says that the session has begun, and that its answers are the caller's.
func (s *Session) Serving() bool { return s.stage == serving }

// Pending is how many requests were not answered yet.
func (s *Session) Pending() int { return len(s.asked) - s.answered }

// Status is what the server said last about the session.
func (s *Session) Status() Status { return s.status }

// Answered is the number of the statement that was answered last.
func (s *Session) Answered() int { return s.asked[s.answered-1] }

// AppendNext appends what is to be said after what was heard, while it does not serve.
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

// AppendBind begins an execution of the statement of the given number: the values of its
// parameters follow, in order, and then AppendExecute with the same place.
func (s *Session) AppendBind(b []byte, n int) (buffer []byte, place int) {
	s.ask(n)
	return s.statements[n].appendBind(b, s.known[n].id)
}

// AppendExecute ends what AppendBind began, and has it executed.
func AppendExecute(b []byte, place int) []byte { return end(b, place) }

// AppendQuery appends a query as text, of one statement without rows.
func (s *Session) AppendQuery(b []byte, sql string) []byte {
	s.ask(Plain)
	return appendQuery(b, sql)
}

// Event is what a packet means.
type Event uint8

// The events.
const (
	Nothing Event = iota // it is a part of something
	ARow                 // of the request whose turn it is
	Done                 // the request whose turn it was has been answered
	Failed               // it was answered with an error; ReadFault reads the body
)

// Next reads the packet at the beginning of data, as the function Next does. What does
// not speak the protocol is noticed as early as can be.
func (s *Session) Next(data []byte) (Packet, int, error) {
	if s.stage == greeting && !s.login.greeted {
		if err := strange(data); err != nil {
			return Packet{}, 0, err
		}
	}
	return next(data)
}

// Hear takes a packet. The row is that of an ARow, and valid as long as the packet is.
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

// open says the first words, or goes on to the statements.
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

// prepare takes the answers to what prepares the statements: the number of one, and then
// its parameters and its columns.
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
