package engine

import (
	"fmt"
	"time"

	"plimsoll/internal/postgres"
	"plimsoll/internal/wire"
)

var postgreSQL = dialect{
	secure:  postgres.Secure,
	dial:    dialer(postgres.Dial),
	drop:    postgres.Drop,
	visible: func(database string) string { return "SELECT 1 FROM pg_database WHERE datname = '" + database + "'" },
	mayCreate: func(string) (ask, grant string) {
		return "SELECT CASE WHEN rolcreatedb OR rolsuper THEN 1 END FROM pg_roles WHERE rolname = current_user", "ALTER ROLE ... CREATEDB"
	},
	isolation: "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL ",
	limit: func(timeout time.Duration) string {
		return fmt.Sprintf("SET statement_timeout = %d", timeout.Milliseconds())
	},
	prepare: preparePostgreSQL,
}

var postgresFormats = [...]postgres.Format{AsInt: postgres.AsBinary, AsText: postgres.AsText, AsLong: postgres.AsBinary, AsDecimal: postgres.AsText}

// preparePostgreSQL makes one request per statement.
func preparePostgreSQL(list []Statement) *Statements {
	k := &Statements{protocol: PostgreSQL}
	var prepared []*postgres.Statement
	for n, s := range list {
		formats := make([]postgres.Format, len(s.Parameters))
		r := request{number: n}
		for i, f := range s.Parameters {
			formats[i] = postgresFormats[f]
			r.arguments = append(r.arguments, argument{i, postgresInt + encoding(f)})
		}
		prepared = append(prepared, postgres.NewStatement(s.Name, s.SQL, formats...))
		k.requests = append(k.requests, []request{r})
	}
	k.session = func(who wire.Account, first string) protocol {
		s := &postgresSession{Session: postgres.NewSession(who, first, prepared), statements: prepared}
		s.row.values = &s.values
		return s
	}
	return k
}

// postgresSession is a session with PostgreSQL.
type postgresSession struct {
	*postgres.Session
	statements []*postgres.Statement
	open       int // statements of the round without a response
	values     postgres.Row
	row        Row
}

func (s *postgresSession) bind(b []byte, request int) ([]byte, int) {
	s.open++
	return s.statements[request].AppendBind(b)
}

func (s *postgresSession) execute(b []byte, at int) []byte { return postgres.AppendExecute(b, at) }

func (s *postgresSession) end(b []byte) []byte { return postgres.AppendSync(b) }

func (s *postgresSession) hear(data []byte, e *Event) (int, error) {
	m, used, err := postgres.Next(data)
	if err != nil || used == 0 {
		return 0, err
	}
	return used, s.message(m, e)
}

func (s *postgresSession) message(m postgres.Message, e *Event) error {
	switch {
	case m.Kind == postgres.Notice || m.Kind == postgres.ParameterStatus:
		return nil
	case !s.Serving():
		e.Talk = true
		return s.Hear(m)
	}
	switch m.Kind {
	case postgres.Failure:
		f := postgres.ReadFault(m.Body)
		if f.Fatal {
			return f
		}
		e.Fault, e.Conflict, e.Duplicate = f, f.Transient(), f.Code == postgres.UniqueViolation
		s.open = 0 // the server skips the rest of the round
	case postgres.DataRow:
		s.values = postgres.ReadRow(m.Body)
		e.Row = &s.row
	case postgres.CommandComplete:
		if e.Done = true; s.open == 0 {
			return errUnasked
		}
		s.open--
	case postgres.Ready:
		state, err := postgres.ReadyState(m.Body)
		e.Over, e.Idle = true, state == postgres.Idle
		return err
	}
	return nil
}
