package engine

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"plimsoll/internal/wire"
)

// dialect is what differs between the engines.
type dialect struct {
	secure func(ctx context.Context, conn net.Conn, config *tls.Config) (net.Conn, error)
	dial   func(ctx context.Context, at wire.Target, database string) (Conn, error)
	// drop removes databases, with the sessions in them.
	drop func(ctx context.Context, at wire.Target, names ...string) error
	// visible is SQL that returns a row if the user can see a database.
	visible func(database string) string
	// mayCreate is SQL that returns a row of 1 if the user may create databases with a prefix,
	// and the statement that grants it.
	mayCreate func(prefix string) (ask, grant string)
	isolation string // SQL before an isolation level for the session
	// limit is SQL that sets the statement timeout of a session; 0 disables it.
	limit   func(timeout time.Duration) string
	prepare func(list []Statement) *Statements
}

// dialects are those of the protocols.
var dialects = map[string]*dialect{PostgreSQL: &postgreSQL, MariaDB: &mariaDB}

// dialer is the dial of a dialect whose connections are of type C.
func dialer[C Conn](dial func(context.Context, wire.Target, string) (C, error)) func(context.Context, wire.Target, string) (Conn, error) {
	return func(ctx context.Context, at wire.Target, database string) (Conn, error) {
		c, err := dial(ctx, at, database)
		if err != nil {
			return nil, err // instead of a Conn with a nil C
		}
		return c, nil
	}
}

// protocol is a session in a dialect: see Session.
type protocol interface {
	opening
	// bind appends the beginning of a request, up to its parameter values, and execute its
	// end.
	bind(b []byte, request int) (buffer []byte, at int)
	execute(b []byte, at int) []byte
	end(b []byte) []byte
	// hear parses a message into an empty event; used is 0 if it is incomplete.
	hear(data []byte, e *Event) (used int, err error)
}

// opening is how a session begins.
type opening interface {
	Begun() bool
	AppendStart(b []byte) []byte
	AppendNext(b []byte) []byte
	Serving() bool
}

// values are those of a row in a dialect: see Row.
type values interface {
	More() bool
	Value() []byte
	Decimal(places int) int64
	End() error
}
