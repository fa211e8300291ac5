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

// Dial connects to a server and starts a session in a database. It retries while the server
// has no free connection. Its errors are one line with a remedy.
func Dial(ctx context.Context, p wire.Target, database string) (*Conn, error) {
	return beginning().Dial(ctx, p, database)
}

// On starts a session in the target's database on a connection, which it owns.
func On(ctx context.Context, conn net.Conn, p wire.Target) (*Conn, error) {
	return beginning().On(ctx, conn, p, "")
}

// failed reports whether an error has one of the server's error codes.
func failed(err error, codes ...uint16) bool {
	var f *Fault
	return errors.As(err, &f) && slices.Contains(codes, f.Code)
}

// Absent reports whether an error means that a database does not exist.
func Absent(err error) bool { return failed(err, NoSuchDatabase) }

// Denied reports whether an error means that the user lacks a privilege on a database, whether
// or not it exists.
func Denied(err error) bool { return failed(err, DatabaseDenied) }

// Canceled reports whether an error means that a statement exceeded its timeout.
func Canceled(err error) bool { return failed(err, StatementTimeout) }
