package cql

import (
	"bytes"
	"errors"
	"fmt"
)

// Session is a connection for those who make load: who one is, and the statements to
// be prepared, and then executions of these. It moves no bytes by itself. After
// AppendStart come Hear and AppendNext in turn until it is Serving.
type Session struct {
	say        writer
	hear       *Reader
	account    Account
	statements []Statement
	ready      []prepared
	asked      string // of Query, before it serves
	answer     [][]string
	stage      stage
	owed       bool
	waiting    int // statements that were not prepared yet
}

// stage is how far a session is.
type stage uint8

const (
	silent stage = iota
	greeting
	proving
	preparing
	serving
)

// NewSession is a session that was not begun. Before is a query that is asked once it
// is, empty for none; Told has the answer.
func NewSession(v Version, a Account, statements []Statement, before string) *Session {
	return &Session{say: writer{version: v}, hear: newReader(v), account: a, statements: statements, ready: make([]prepared, len(statements)), asked: before}
}

// Next reads a message as Reader.Next does.
func (s *Session) Next(data []byte) (Message, int, error) { return s.hear.Next(data) }

// Begun reports whether AppendStart was called.
func (s *Session) Begun() bool { return s.stage != silent }

// Serving says that statements can be executed.
func (s *Session) Serving() bool { return s.stage == serving }

// Told is the answer to the query of NewSession.
func (s *Session) Told() [][]string { return s.answer }

// AppendStart appends the first message.
func (s *Session) AppendStart(b []byte) []byte {
	s.stage = greeting
	return s.say.startup(b)
}

// AppendNext appends what is to be said after what was heard.
func (s *Session) AppendNext(b []byte) []byte {
	if !s.owed {
		return b
	}
	s.owed = false
	switch s.stage {
	case proving:
		return s.say.plain(b, s.account)
	case preparing:
		if s.asked != "" {
			b = s.say.query(b, len(s.statements), s.asked, One)
			s.waiting++
		}
		for i, statement := range s.statements {
			b = s.say.prepare(b, i, statement.Text)
		}
		s.waiting += len(s.statements)
		if s.waiting == 0 {
			s.stage = serving
		}
	}
	return b
}

// Hear takes a message of a session that does not serve yet.
func (s *Session) Hear(m Message) error {
	if m.Stream < 0 {
		return nil
	}
	switch {
	case m.Failed():
		return s.refusal(ReadFault(m.Body))
	case s.stage == greeting && m.Opcode == opReady, s.stage == proving && m.Opcode == opAuthSuccess:
		s.stage = preparing
	case s.stage == greeting && m.Opcode == opAuthenticate:
		if s.account.User == "" {
			return errors.New("the server requires a user and a password: set user, and password by reference, as env:NAME or file:PATH")
		}
		s.stage = proving
	case s.stage == preparing && m.Opcode == opResult:
		return s.result(m)
	default:
		return fmt.Errorf("unexpected message type %d during the handshake", m.Opcode)
	}
	s.owed = true
	if s.say.version == V5 {
		s.say.framed = true
		s.hear.Frame()
	}
	return nil
}

func (s *Session) refusal(f *Fault) error {
	switch s.stage {
	case greeting, proving:
		return fmt.Errorf("the server refused: %w", f)
	}
	return fmt.Errorf("prepare the statements: %w", f)
}

func (s *Session) result(m Message) error {
	v := values{rest: m.Body}
	if m.Stream == len(s.statements) && s.asked != "" {
		var err error
		if s.answer, err = readTexts(m.Body); err != nil {
			return err
		}
	} else if kind := v.int(); kind != resultPrepared || m.Stream > len(s.statements) {
		return errors.New("unexpected response from the server")
	} else {
		p := prepared{id: bytes.Clone(v.shortBytes())}
		if s.say.version == V5 {
			p.result = bytes.Clone(v.shortBytes())
		}
		if v.bad {
			return errCut
		}
		s.say.ready(&p, s.statements[m.Stream])
		s.ready[m.Stream] = p
	}
	if s.waiting--; s.waiting == 0 {
		s.stage = serving
	}
	return nil
}

// AppendExecute begins an execution of a statement by its number, with the number that
// the answer is to have: the values of its parameters follow, in order, and then End.
func (s *Session) AppendExecute(b []byte, statement, stream int) (buffer []byte, place int) {
	place = len(b)
	b = append(b, s.ready[statement].head...)
	at := place + 2
	if s.say.framed {
		at += frameHead
	}
	b[at], b[at+1] = byte(stream>>8), byte(stream)
	return b, place
}

// End ends what AppendExecute began at a place.
func (s *Session) End(b []byte, place int) []byte { return s.say.end(b, place) }

// MostStreams is how many requests may be under way on a connection.
const MostStreams = 1 << 15
