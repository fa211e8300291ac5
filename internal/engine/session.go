package engine

import (
	"errors"
	"fmt"

	"plimsoll/internal/load"
	"plimsoll/internal/mysql"
	"plimsoll/internal/postgres"
	"plimsoll/internal/wire"
)

// Session is a session of those who make load. Statements go in rounds: one or more that
// are sent at once and answered in order. It moves no bytes by itself, and allocates
// nothing for a statement.
type Session struct {
	book     *Book
	postgres *postgres.Session
	mysql    *mysql.Session
	failed   bool  // a statement of the round
	asked    []int // answers of MariaDB that are still to come, to each statement
	answered int   // statements of these
	open     int   // statements of the round that PostgreSQL has not answered
	row      Row
}

// NewSession is a session that was not begun, in a database of a server. First is SQL to
// run before anything else, empty for none.
func NewSession(who wire.Account, first string, k *Book) *Session {
	if k.protocol == PostgreSQL {
		return &Session{book: k, postgres: postgres.NewSession(who, first, k.postgres)}
	}
	return &Session{book: k, mysql: mysql.NewSession(who, first, k.mysql)}
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

// Isolate is SQL that has a session keep its transactions apart in a way: a level of the SQL
// standard.
func Isolate(protocol, level string) string {
	if protocol == MariaDB {
		return "SET SESSION TRANSACTION ISOLATION LEVEL " + level
	}
	return "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL " + level
}

// Append appends the execution of the statement of the given number.
func (s *Session) Append(b []byte, n int, values ...Value) []byte {
	k := s.book
	of := &k.list[n]
	if s.mysql == nil {
		s.open++
		b, place := k.postgres[n].AppendBind(b)
		for i, v := range values {
			b = v.appendPostgres(b, of.Parameters[i])
		}
		return postgres.AppendExecute(b, place)
	}
	s.expect(max(1, len(k.parts[n])))
	if of.Plain {
		return s.mysql.AppendQuery(b, of.SQL)
	}
	for _, p := range k.parts[n] {
		var place int
		b, place = s.mysql.AppendBind(b, p.number)
		for _, i := range p.order {
			b = values[i].appendMySQL(b, of.Parameters[i])
		}
		b = mysql.AppendExecute(b, place)
	}
	return b
}

// expect notes that a statement is answered so many times.
func (s *Session) expect(answers int) {
	if s.answered == len(s.asked) {
		s.asked, s.answered = s.asked[:0], 0
	}
	s.asked = append(s.asked, answers)
}

// whole says, after an answer, whether it was the last to its statement.
func (s *Session) whole() bool {
	left := &s.asked[s.answered]
	if *left--; *left > 0 {
		return false
	}
	s.answered++
	return true
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
	Row   *Row  // a row, where one came; valid until the next message
	Done  bool  // a statement was done
	Fault error // it failed, and the session goes on
	// Conflict says that the fault came of others, as a deadlock does, and that the
	// transaction may succeed when it is tried again.
	Conflict bool
	// Duplicate says that a key already exists, which may also come of others: of two
	// transactions that write the same row again, the second finds that of the first.
	Duplicate bool
	Talk      bool // AppendNext has something to say
	Over      bool // the round
	Idle      bool // and no transaction is open
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

var errUnasked = errors.New("unexpected response from the server")

// uniqueViolation is PostgreSQL's code of a key that already exists.
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
		e.Fault, e.Conflict, e.Duplicate = f, postgres.Transient(m.Body), f.Code == uniqueViolation
		s.open = 0 // what follows in the round is passed over
	case postgres.DataRow:
		s.row.postgres = postgres.ReadRow(m.Body)
		e.Row = &s.row
	case postgres.CommandComplete:
		if e.Done = true; s.open == 0 {
			return e, errUnasked
		}
		s.open--
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
	what, row, err := s.mysql.Hear(p)
	switch what {
	case mysql.ARow:
		s.row.maria, s.row.mysql = true, row
		e.Row = &s.row
	case mysql.Failed:
		f := mysql.ReadFault(p.Body)
		if !asked || f.Fatal() {
			return e, f
		}
		s.failed = true
		s.whole()
		e.Fault, e.Conflict, e.Duplicate = f, f.Transient(), f.Code == mysql.DuplicateKey
	case mysql.Done:
		e.Done = s.whole()
	}
	if (e.Done || e.Fault != nil) && s.mysql.Pending() == 0 {
		// What failed may have left a transaction open, or begun another.
		e.Over, e.Idle = true, !s.failed && !s.mysql.Status().InTransaction()
	}
	return e, err
}
