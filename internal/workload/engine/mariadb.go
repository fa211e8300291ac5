package engine

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/mysql"
	"plimsoll/internal/wire"
)

var mariaDB = dialect{
	secure:  mysql.Secure,
	dial:    dialer(mysql.Dial),
	drop:    dropMariaDB,
	visible: visibleMariaDB,
	mayCreate: func(prefix string) (ask, grant string) {
		return "SELECT 1 FROM (SELECT privilege_type AS may FROM information_schema.user_privileges UNION ALL " +
				"SELECT privilege_type FROM information_schema.schema_privileges WHERE '" + prefix + "' LIKE table_schema) AS p WHERE may = 'CREATE' LIMIT 1",
			"GRANT ALL ON `" + prefix + "%`.* TO ..."
	},
	isolation: "SET SESSION TRANSACTION ISOLATION LEVEL ",
	limit: func(timeout time.Duration) string {
		return fmt.Sprintf("SET max_statement_time = %.3f", timeout.Seconds())
	},
	prepare: prepareMariaDB,
}

func visibleMariaDB(database string) string {
	return "SELECT 1 FROM information_schema.schemata WHERE schema_name = '" + database + "'"
}

// dropMariaDB skips a database on which the user has no privileges: it was never created by
// that user.
func dropMariaDB(ctx context.Context, at wire.Target, names ...string) error {
	s, err := mysql.Dial(ctx, at, "")
	if err != nil {
		return err
	}
	defer s.Close()
	for _, name := range names {
		err := s.Exec(ctx, "DROP DATABASE IF EXISTS "+name)
		if mysql.Denied(err) {
			if rows, unknown := s.Query(ctx, visibleMariaDB(name)); unknown == nil && len(rows) == 0 {
				continue
			}
		}
		if err != nil {
			return fmt.Errorf("remove the database %s: %w", name, err)
		}
	}
	return nil
}

var mysqlFormats = [...]mysql.Format{AsInt: mysql.AsInt, AsText: mysql.AsText, AsLong: mysql.AsLong, AsDecimal: mysql.AsDecimal}

// prepareMariaDB prepares one or more requests per statement. Those that are not prepared have
// negative numbers.
func prepareMariaDB(list []Statement) *Statements {
	k := &Statements{protocol: MariaDB, goesOn: true}
	var plain []string
	var prepared []*mysql.Statement
	var last []bool // of the requests of a statement, by their numbers
	for _, s := range list {
		var own []request
		switch {
		case s.Plain:
			own = []request{{number: ^len(plain)}}
			plain = append(plain, s.SQL)
		case s.MariaDB == nil:
			s.MariaDB = []string{s.SQL}
		}
		for n, sql := range s.MariaDB {
			r, formats := request{number: len(prepared)}, []mysql.Format(nil)
			sql, order := marks(sql)
			for _, i := range order {
				r.arguments = append(r.arguments, argument{i, mysqlInt + encoding(s.Parameters[i])})
				formats = append(formats, mysqlFormats[s.Parameters[i]])
			}
			own = append(own, r)
			prepared = append(prepared, mysql.NewStatement(sql, formats...))
			last = append(last, n == len(s.MariaDB)-1)
		}
		k.requests = append(k.requests, own)
	}
	k.session = func(who wire.Account, first string) protocol {
		s := &mariaSession{Session: mysql.NewSession(who, first, prepared), plain: plain, last: last}
		s.row.values = &s.values
		return s
	}
	return k
}

// marks turns $1 and the like into question marks, and says which parameter each is, from
// 0.
func marks(sql string) (string, []int) {
	var b strings.Builder
	var order []int
	for {
		before, after, found := strings.Cut(sql, "$")
		b.WriteString(before)
		if !found {
			return b.String(), order
		}
		digits := len(after) - len(strings.TrimLeft(after, "0123456789"))
		n, err := strconv.Atoi(after[:digits])
		if err != nil {
			b.WriteByte('$') // a dollar sign
		} else {
			b.WriteByte('?')
			order = append(order, n-1)
		}
		sql = after[digits:]
	}
}

// mariaSession is a session with MariaDB.
type mariaSession struct {
	*mysql.Session
	plain  []string
	last   []bool
	failed bool // a statement of the round
	values mariaRow
	row    Row
}

// mariaRow is a row whose integers are converted to text by Value.
type mariaRow struct {
	mysql.Row
	digits [20]byte
}

// Value is the next value as text.
func (r *mariaRow) Value() []byte { return r.Text(r.digits[:0]) }

// Begun is true: the server sends the first message.
func (s *mariaSession) Begun() bool { return true }

// AppendStart appends nothing.
func (s *mariaSession) AppendStart(b []byte) []byte { return b }

func (s *mariaSession) bind(b []byte, request int) ([]byte, int) {
	if request < 0 {
		return s.AppendQuery(b, s.plain[^request]), len(b)
	}
	return s.AppendBind(b, request)
}

func (s *mariaSession) execute(b []byte, at int) []byte { return mysql.AppendExecute(b, at) }

// end appends nothing: each request has its own response.
func (s *mariaSession) end(b []byte) []byte {
	s.failed = false
	return b
}

func (s *mariaSession) hear(data []byte, e *Event) (int, error) {
	p, used, err := s.Next(data)
	if err != nil || used == 0 {
		return 0, err
	}
	return used, s.packet(p, e)
}

func (s *mariaSession) packet(p mysql.Packet, e *Event) error {
	if !s.Serving() {
		e.Talk = true
		_, _, err := s.Hear(p)
		return err
	}
	asked := s.Pending() > 0
	what, row, err := s.Hear(p)
	switch what {
	case mysql.ARow:
		s.values.Row = row
		e.Row = &s.row
	case mysql.Failed:
		f := mysql.ReadFault(p.Body)
		if !asked || f.Fatal() {
			return f
		}
		s.failed = true
		e.Fault, e.Conflict, e.Duplicate = f, f.Transient(), f.Code == mysql.DuplicateKey
	case mysql.Done:
		n := s.Answered()
		e.Done = n == mysql.Plain || s.last[n]
	}
	if (e.Done || e.Fault != nil) && s.Pending() == 0 {
		// A failed statement may have left a transaction open, or started another.
		e.Over, e.Idle = true, !s.failed && !s.Status().InTransaction()
	}
	return err
}
