package engine

import (
	"errors"
	"fmt"

	"plimsoll/internal/load"
	"plimsoll/internal/mysql"
	"plimsoll/internal/postgres"
	"plimsoll/internal/wire"
)

// Session is a session of a load. Statements are sent in rounds: one or more at once, answered
// in order. It does no I/O, and allocates nothing per statement.
type Session struct {
	book     *Statements
	protocol protocol
	event    Event // the last
}

// NewSession is a session that has not started. First is SQL to execute at its start, or
// empty.
func NewSession(who wire.Account, first string, k *Statements) *Session {
	return &Session{book: k, protocol: k.session(who, first)}
}

// Begun reports whether AppendStart was called, or is not needed: MariaDB sends the first
// message itself.
func (s *Session) Begun() bool { return s.protocol.Begun() }

// Serving reports whether the session accepts statements.
func (s *Session) Serving() bool { return s.protocol.Serving() }

// AppendStart appends the startup message.
func (s *Session) AppendStart(b []byte) []byte { return s.protocol.AppendStart(b) }

// AppendNext appends the next message of the start of the session.
func (s *Session) AppendNext(b []byte) []byte { return s.protocol.AppendNext(b) }

// GoesOn reports whether the server executes the rest of a round after a failed statement. A
// commit must then be in a round of its own, and the session start with NoCommit, so that the
// rest is not committed.
func (s *Session) GoesOn() bool { return s.book.goesOn }

// NoCommit disables autocommit of a MariaDB session whose rounds have several statements of a
// transaction. After a deadlock, which rolls the transaction back, the rest of a round is then
// in another transaction, which can be rolled back.
const NoCommit = "SET autocommit = 0"

// Isolate is SQL that sets the isolation level of a session, named as in the SQL standard.
func Isolate(protocol, level string) string { return dialects[protocol].isolation + level }

// Append appends the execution of the statement of the given number.
func (s *Session) Append(b []byte, n int, values ...Value) []byte {
	for i := range s.book.requests[n] {
		r := &s.book.requests[n][i]
		var at int
		b, at = s.protocol.bind(b, r.number)
		for _, p := range r.arguments {
			b = p.as.append(b, &values[p.value])
		}
		b = s.protocol.execute(b, at)
	}
	return b
}

// AppendEnd appends the end of a round.
func (s *Session) AppendEnd(b []byte) []byte { return s.protocol.end(b) }

// Event is the meaning of a message.
type Event struct {
	Row   *Row  // valid until the next message
	Done  bool  // a statement completed
	Fault error // a statement failed, and the session continues
	// Conflict: the fault is a conflict with other transactions, such as a deadlock; a retry
	// may succeed.
	Conflict bool
	// Duplicate: a unique key already exists. Two concurrent transactions that insert the same
	// row also cause it.
	Duplicate bool
	Talk      bool // AppendNext has a message to send
	Over      bool // the round is complete
	Idle      bool // and no transaction is open
}

// Hear parses the message at the beginning of data and returns its length: 0 if it is
// incomplete. An error ends the session; it wraps load.ErrRefused if the server gave a reason.
func (s *Session) Hear(data []byte) (Event, int, error) {
	s.event = Event{}
	used, err := s.protocol.hear(data, &s.event)
	if err != nil {
		err = refused(err)
	}
	return s.event, used, err
}

// Answer parses messages up to one that ends an operation, for which hear returns an answer
// with a slot. It allocates nothing.
func (s *Session) Answer(data []byte, hear func(e Event) (load.Answer, error)) (load.Answer, int, error) {
	for used := 0; ; {
		e, n, err := s.Hear(data[used:])
		if err != nil || n == 0 {
			return load.Answer{Slot: load.NoSlot}, used, err
		}
		used += n
		a, err := hear(e)
		if err != nil || a.Slot != load.NoSlot {
			return a, used, err
		}
	}
}

// Unasked is the error for an event while no statement is in progress.
func (e Event) Unasked() error {
	switch {
	case e.Fault != nil:
		return fmt.Errorf("%w: %w", load.ErrRefused, e.Fault)
	case e.Row != nil || e.Done || e.Over:
		return errUnasked
	}
	return nil
}

// refused marks an error that the server reported.
func refused(err error) error {
	var p *postgres.Fault
	var m *mysql.Fault
	if errors.As(err, &p) || errors.As(err, &m) {
		return fmt.Errorf("%w: %w", load.ErrRefused, err)
	}
	return err
}

var errUnasked = errors.New("unexpected response from the server")
