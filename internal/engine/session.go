package engine

import (
	"errors"
	"fmt"

	"plimsoll/internal/load"
	"plimsoll/internal/mysql"
	"plimsoll/internal/postgres"
)

// Session is a session of those who make load. Statements go in rounds: one or more that
// are sent at once and answered in order. It moves no bytes by itself, and allocates
// nothing for a statement.
type Session struct {
	book     *Book
	postgres *postgres.Session
	mysql    *mysql.Session
	failed   bool // a statement of the round
}

// NewSession is a session that was not begun, in a database of a server. First is SQL to
// run before anything else, empty for none.
func NewSession(who postgres.Account, first string, k *Book) *Session {
	if k.protocol == PostgreSQL {
		return &Session{book: k, postgres: postgres.NewSession(who, first, k.postgres)}
	}
	return &Session{book: k, mysql: mysql.NewSession(mysql.Account(who), first, k.mysql)}
}

// Begun says whether AppendStart was called, or is not needed: MariaDB has the first word
// itself.
func (s *Session) Begun() bool { return s.mysql != nil || s.postgres.Begun() }

// Serving says that statements can be said.
func (s *Session) Serving() bool {
	if s.mysql != nil {
		return s.mysql.Serving()
	}
	return s.postgres.Serving()
}

// AppendStart appends the first message of a session that was not begun.
func (s *Session) AppendStart(b []byte) []byte { return s.postgres.AppendStart(b) }

// AppendNext appends what is to be said after what was heard, while it does not serve.
func (s *Session) AppendNext(b []byte) []byte {
	if s.mysql != nil {
		return s.mysql.AppendNext(b)
	}
	return s.postgres.AppendNext(b)
}

// GoesOn says that statements of a round are done although one before them failed. A
// commit must then be in a round of its own, and the session begin with NoCommit, so that
// they are not committed by themselves.
func (s *Session) GoesOn() bool { return s.mysql != nil }

// NoCommit is what a session of MariaDB begins with whose rounds have several statements
// of a transaction. After a deadlock, which ends the transaction, the rest of a round
// then belongs to another, that can be rolled back.
const NoCommit = "SET autocommit = 0"

// Append appends the execution of the statement of the given number.
func (s *Session) Append(b []byte, n int, values ...Value) []byte {
	k := s.book
	if s.mysql == nil {
		b, place := k.postgres[n].AppendBind(b)
		for i, v := range values {
			if k.list[n].Parameters[i] == AsInt {
				b = postgres.AppendInt(b, v.n)
			} else {
				b = postgres.AppendText(b, v.text)
			}
		}
		return postgres.AppendExecute(b, place)
	}
	if k.list[n].Plain {
		return s.mysql.AppendQuery(b, k.list[n].SQL)
	}
	b, place := s.mysql.AppendBind(b, k.number[n])
	for _, i := range k.order[n] {
		if k.list[n].Parameters[i] == AsInt {
			b = mysql.AppendInt(b, values[i].n)
		} else {
			b = mysql.AppendText(b, values[i].text)
		}
	}
	return mysql.AppendExecute(b, place)
}

// AppendEnd appends the end of a round.
func (s *Session) AppendEnd(b []byte) []byte {
	s.failed = false
	if s.mysql != nil {
		return b
	}
	return postgres.AppendSync(b)
}

// Event is what a server said.
type Event struct {
	Row   bool  // a row came
	Done  bool  // a statement was done
	Fault error // it failed, and the session goes on
	// Conflict says that the fault came of others, and that the transaction may succeed when
	// it is tried again.
	Conflict bool
	Talk     bool // AppendNext has something to say
	Over     bool // the round
	Idle     bool // and no transaction is open
}

// Hear reads a message at the beginning of data, and how long it is: 0 where its end is
// still to come. An error ends the session; it wraps load.ErrRefused where the server
// gave a reason.
func (s *Session) Hear(data []byte) (Event, int, error) {
	if s.mysql != nil {
		p, used, err := s.mysql.Next(data)
		if err != nil || used == 0 {
			return Event{}, 0, err
		}
		e, err := s.packet(p)
		return e, used, refused(err)
	}
	m, used, err := postgres.Next(data)
	if err != nil || used == 0 {
		return Event{}, 0, err
	}
	e, err := s.message(m)
	return e, used, refused(err)
}

// refused says that a server gave its reasons for an end, where it did.
func refused(err error) error {
	if err == nil {
		return nil
	}
	var p *postgres.Fault
	var m *mysql.Fault
	if errors.As(err, &p) || errors.As(err, &m) {
		return fmt.Errorf("%w: %w", load.ErrRefused, err)
	}
	return err
}

// uniqueViolation is PostgreSQL's code of a key that is there already: of two transactions
// that write the same row again, the second finds that of the first.
const uniqueViolation = "23505"

func (s *Session) message(m postgres.Message) (e Event, err error) {
	switch {
	case m.Kind == postgres.Notice || m.Kind == postgres.ParameterStatus:
		return e, nil
	case !s.postgres.Serving():
		return Event{Talk: true}, s.postgres.Hear(m)
	}
	switch m.Kind {
	case postgres.Failure:
		f := postgres.ReadFault(m.Body)
		if f.Fatal {
			return e, f
		}
		e.Fault, e.Conflict = f, f.Code == uniqueViolation || postgres.Transient(m.Body)
	case postgres.DataRow:
		e.Row = true
	case postgres.CommandComplete:
		e.Done = true
	case postgres.Ready:
		var state postgres.State
		state, err = postgres.ReadyState(m.Body)
		e.Over, e.Idle = true, state == postgres.Idle
	}
	return e, err
}

func (s *Session) packet(p mysql.Packet) (e Event, err error) {
	if !s.mysql.Serving() {
		_, _, err = s.mysql.Hear(p)
		return Event{Talk: true}, err
	}
	asked := s.mysql.Pending() > 0
	what, _, err := s.mysql.Hear(p)
	switch what {
	case mysql.ARow:
		e.Row = true
	case mysql.Failed:
		f := mysql.ReadFault(p.Body)
		if !asked || f.Fatal() {
			return e, f
		}
		s.failed = true
		e.Fault, e.Conflict = f, f.Code == mysql.DuplicateKey || f.Transient()
	case mysql.Done:
		e.Done = true
	}
	if (e.Done || e.Fault != nil) && s.mysql.Pending() == 0 {
		// What failed may have left a transaction open, or begun another.
		e.Over, e.Idle = true, !s.failed && !s.mysql.Status().InTransaction()
	}
	return e, err
}
