package mysql

import (
	"context"
	"errors"
	"net"
	"slices"

	"plimsoll/internal/wire"
)

func beginning() wire.Beginning[*Conn] {
	return wire.Beginning[*Conn]{
		Secure: Secure, Open: open,
		Busy: func(err error) bool { return failed(err, TooManyConnections) },
	}
}

// Dial connects to a server and begins a session in a database. One that has no session
// left gets a while. Its errors are one line that says what the user can do.
func Dial(ctx context.Context, p wire.Target, database string) (*Conn, error) {
	return beginning().Dial(ctx, p, database)
}

// On begins a session in the database of a target on a connection to it, which it owns.
func On(ctx context.Context, conn net.Conn, p wire.Target) (*Conn, error) {
	return beginning().On(ctx, conn, p, "")
}

// failed reports whether an error is one of those that the server reports by a code.
func failed(err error, codes ...uint16) bool {
	var f *Fault
	return errors.As(err, &f) && slices.Contains(codes, f.Code)
}

// Absent reports whether an error is that a database does not exist.
func Absent(err error) bool { return failed(err, NoSuchDatabase) }

// Denied reports whether an error is that the user may not do something to a database, be it
// there or not.
func Denied(err error) bool { return failed(err, DatabaseDenied) }

// Canceled reports whether an error is that a statement took longer than it may.
func Canceled(err error) bool { return failed(err, StatementTimeout) }
