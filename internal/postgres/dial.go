package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"

	"plimsoll/internal/wire"
)

func beginning() wire.Beginning[*Conn] {
	return wire.Beginning[*Conn]{
		Secure: Secure, Open: Open,
		Busy: func(err error) bool { return failed(err, notReady, TooManyConnections) },
	}
}

// Dial connects to a server and begins a session in a database. One that is starting, or
// that has no session left, gets a while. Its errors are one line that says what the
// user can do.
func Dial(ctx context.Context, p wire.Target, database string) (*Conn, error) {
	return beginning().Dial(ctx, p, database)
}

// On begins a session in the database of a target on a connection to it, which it owns.
func On(ctx context.Context, conn net.Conn, p wire.Target) (*Conn, error) {
	return beginning().On(ctx, conn, p, "")
}

// Secure asks the server at the other end of a connection for TLS.
func Secure(ctx context.Context, conn net.Conn, config *tls.Config) (net.Conn, error) {
	var answer [1]byte
	err := wire.Plainly(ctx, conn, func() error {
		_, err := conn.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47}) // SSLRequest
		if err == nil {
			_, err = io.ReadFull(conn, answer[:])
		}
		return err
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("request TLS: %w", err)
	case answer[0] != 'S':
		return nil, errors.New("the server does not support TLS: enable ssl there, or omit tls")
	}
	return wire.Handshake(ctx, conn, config)
}

// Lost reports whether an error is that a server ended or lost a session: it was stopped, it
// crashed, or it is about to begin anew.
func Lost(err error) bool {
	const stopped, crashed = "57P01", "57P02"
	return failed(err, stopped, crashed, notReady) || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// Absent reports whether an error is that a database does not exist.
func Absent(err error) bool { return failed(err, NoSuchDatabase) }

// Forbidden reports whether an error is that one lacks the right to do something.
func Forbidden(err error) bool { return failed(err, "42501") }

// Canceled reports whether an error is that a statement took longer than it may.
func Canceled(err error) bool { return failed(err, "57014") }

// notReady is the code of a server that starts or stops.
const notReady = "57P03"

// failed reports whether an error is one of those that the server reports by a code.
func failed(err error, codes ...string) bool {
	var f *Fault
	return errors.As(err, &f) && slices.Contains(codes, f.Code)
}
