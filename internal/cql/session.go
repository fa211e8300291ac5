package cql

import (
	"bytes"
	"errors"
	"fmt"
)

// Session is a connection of a load: its login, the prepared statements and their executions.
// It does no I/O. After AppendStart, Hear and AppendNext alternate until it is Serving.
type Session struct {
	say        writer
	hear       *Reader
	account    Account
	statements []Statement
	ready      []prepared
	asked      string // of Query, before statements are prepared
	answer     [][]string
	stage      stage
	owed       bool
	waiting    int // statements that are not prepared yet
}

// stage is the state of a session's start.
type stage uint8

const (
	silent stage = iota
	greeting
	proving
	preparing
	serving
)

// NewSession returns a session that has not started. Before is a query to execute after the
// login, or empty; Told has its result.
func NewSession(v Version, a Account, statements []Statement, before string) *Session {
	return &Session{say: writer{version: v}, hear: newReader(v), account: a, statements: statements, ready: make([]prepared, len(statements)), asked: before}
}

// Next parses a message as Reader.Next does.
func (s *Session) Next(data []byte) (Message, int, error) { return s.hear.Next(data) }

// Begun reports whether AppendStart was called.
func (s *Session) Begun() bool { return s.stage != silent }

// Serving reports whether statements can be executed.
func (s *Session) Serving() bool { return s.stage == serving }

// Told is the result of the query of NewSession.
func (s *Session) Told() [][]string { return s.answer }

// AppendStart appends the STARTUP message.
func (s *Session) AppendStart(b []byte) []byte {
	s.stage = greeting
	return s.say.startup(b)
}

// AppendNext appends the next message of the start, after Hear.
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

// Hear handles a message before the session is Serving.
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

// AppendExecute starts an EXECUTE of a statement by index, with the stream ID of the response;
// the parameter values and End follow.
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

// End completes the EXECUTE that started at a place.
func (s *Session) End(b []byte, place int) []byte { return s.say.end(b, place) }

// MostStreams is the largest number of requests in flight on a connection.
const MostStreams = 1 << 15
