package postgres

import (
	"fmt"

	"plimsoll/internal/wire"
)

// Session is how a session begins for those who make load: who one is, words of one's
// own, and the statements to be prepared. It moves no bytes by itself.
type Session struct {
	login      *login
	first      string
	statements []*Statement
	stage      stage
	words      []byte // to be sent
	parsed     int
}

// stage is how far a session is.
type stage uint8

const (
	silent stage = iota
	greeting
	preparing
	serving
)

// NewSession is a session that was not begun. First is SQL to run before anything
// else, empty for none.
func NewSession(a wire.Account, first string, statements []*Statement) *Session {
	return &Session{login: newLogin(a), first: first, statements: statements}
}

// Begun reports whether AppendStart was called.
func (s *Session) Begun() bool { return s.stage != silent }

// Serving says that the session has begun, and that its answers are the caller's.
func (s *Session) Serving() bool { return s.stage == serving }

// AppendStart appends the first message.
func (s *Session) AppendStart(b []byte) []byte {
	s.stage = greeting
	return s.login.AppendStart(b)
}

// AppendNext appends what is to be said after what was heard.
func (s *Session) AppendNext(b []byte) []byte {
	b = append(b, s.words...)
	s.words = nil
	return b
}

// Hear takes a message of a session that does not serve yet.
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
