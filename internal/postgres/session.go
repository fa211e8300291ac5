package postgres

import (
	"fmt"

	"plimsoll/internal/wire"
)

// Session is the startup of a load's session: its login, initial SQL, and statements to
// prepare. It does no I/O.
type Session struct {
	login      *login
	first      string
	statements []*Statement
	stage      stage
	words      []byte // initial SQL
	parsed     int
}

// stage is the state of a session's start.
type stage uint8

const (
	silent stage = iota
	greeting
	preparing
	serving
)

// NewSession returns a session that has not started. First is SQL to execute at its start, or
// empty.
func NewSession(a wire.Account, first string, statements []*Statement) *Session {
	return &Session{login: newLogin(a), first: first, statements: statements}
}

// Begun reports whether AppendStart was called.
func (s *Session) Begun() bool { return s.stage != silent }

// Serving reports whether the session accepts statements.
func (s *Session) Serving() bool { return s.stage == serving }

// AppendStart appends the startup message.
func (s *Session) AppendStart(b []byte) []byte {
	s.stage = greeting
	return s.login.AppendStart(b)
}

// AppendNext appends the next message of the start, after Hear.
func (s *Session) AppendNext(b []byte) []byte {
	b = append(b, s.words...)
	s.words = nil
	return b
}

// Hear handles a message before the session is Serving.
func (s *Session) Hear(m Message) error {
	switch s.stage {
	case greeting:
		var done bool
		var err error
		if s.words, done, err = s.login.Hear(s.words, m); err != nil || !done {
			return err
		}
		s.stage = preparing
		if s.first != "" {
			s.words = appendQuery(s.words, s.first)
		}
		for _, statement := range s.statements {
			s.words = statement.AppendParse(s.words)
		}
		s.words = AppendSync(s.words)
		return nil
	case preparing:
		return s.prepared(m)
	}
	return fmt.Errorf("message from the server before the startup message")
}

func (s *Session) prepared(m Message) error {
	switch m.Kind {
	case Failure:
		return fmt.Errorf("prepare the statements: %w", ReadFault(m.Body))
	case ParseComplete:
		s.parsed++
	case Ready:
		if s.parsed == len(s.statements) {
			s.stage = serving
		}
	}
	return nil
}
